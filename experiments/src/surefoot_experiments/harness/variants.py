"""Named algorithms of which some parts are others."""

from dataclasses import replace
from typing import Any

import surefoot as sf


def variant(optimizer: sf.Optimizer, **parts: Any) -> sf.Optimizer:
    """The optimizer before its first reward, with other parts of its method."""
    method = replace(optimizer.method, **parts)
    return sf.Optimizer(optimizer.problem, method, seed=optimizer.seed)
