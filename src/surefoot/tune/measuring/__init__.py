"""Measurements by commands and functions."""
