"""Test suites as tasks."""
