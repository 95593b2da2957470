"""Optimizers from the parts of a problem and of a method by their names."""

from typing import Any

import surefoot as sf

_OF_PROBLEM = ("outcomes", "risk", "safe")


def optimizer_of(space: Any, kernel: Any = None, *, seed: int = 0, **parts: Any) -> sf.Optimizer:
    """The optimizer of a problem, of which `parts` has some fields, and a method of the others."""
    problem = {name: parts.pop(name) for name in _OF_PROBLEM if name in parts}
    return sf.Optimizer(sf.Problem(space, **problem), sf.Method(kernel, **parts), seed=seed)
