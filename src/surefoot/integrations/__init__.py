"""Adapters to other optimisation libraries, one package for each; it requires that library."""
