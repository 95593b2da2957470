"""Ordinary long use, as a user types it."""
