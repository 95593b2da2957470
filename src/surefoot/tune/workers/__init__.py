"""Processes that measure, and executors."""
