"""The scoreboard: surefoot and its rivals on test suites that others made."""
