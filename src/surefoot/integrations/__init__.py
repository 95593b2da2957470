"""Surroundings that surefoot works in; each module needs the library that it is named after."""
