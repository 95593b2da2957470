"""The compared optimisers, one module each, served in processes of their own.

A module has a function `create(space, seed, budget, **settings)` that returns a `Rival`, and a
tuple `PACKAGES` of the packages whose versions are recorded. It may import this package's modules
that need NumPy only, and what its own environment provides.
"""
