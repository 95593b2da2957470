"""Benchmarks of surefoot, and of its peers, whose tables are in the documentation."""
