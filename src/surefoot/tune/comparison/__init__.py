"""Comparing two configurations."""
