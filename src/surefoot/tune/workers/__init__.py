"""Processes and clusters that measure."""
