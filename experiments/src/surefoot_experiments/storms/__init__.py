"""Storms: many runs that are killed, and many malformed inputs, with counts of what went wrong."""
