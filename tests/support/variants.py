"""Named algorithms of which some parts are others."""

from dataclasses import fields, replace
from typing import Any

import surefoot as sf

OF_PROBLEM = {one.name for one in fields(sf.Problem)}


def variant(optimizer: sf.Optimizer, **parts: Any) -> sf.Optimizer:
    """The optimizer before its first reward, with other parts of its method."""
    method = replace(optimizer.method, **parts)
    return sf.Optimizer(optimizer.problem, method, seed=optimizer.seed)


def default_on(space: Any, *kernel: Any, **parts: Any) -> sf.Optimizer:
    """`robust_ucb` of options of the problem, of the method and of the run alike."""
    given = {name: parts.pop(name) for name in OF_PROBLEM & {*parts}}
    return sf.algorithms.robust_ucb(sf.Problem(space, **given), *kernel, **parts)
