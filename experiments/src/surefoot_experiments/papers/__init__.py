"""The papers' experiments and our own, one module for each family of figures."""
