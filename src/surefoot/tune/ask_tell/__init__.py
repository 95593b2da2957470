"""Measuring a study from outside: ask for configurations, tell their values, from any process."""
