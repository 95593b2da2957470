"""Keeping or discarding proposed changes, one after the other, with one error for all of them."""
