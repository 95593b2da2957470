"""A choice that bounds certify, literally, on arms (A,) or on a grid (A, n) with values of Z.

`low` and `high` are the bounds with a proof, `risk` maps a row of a grid to its risk.
"""

from collections.abc import Callable

import numpy as np

Array = np.ndarray
Risk = Callable[[Array], float]


def regret_bound(low: Array, high: Array, risk: Risk, x: int) -> float:
    """max over x' of risk(u(x', Z)), less risk(l(x, Z))."""
    return max(risk(row) for row in high) - risk(low[x])


def is_certified(low: Array, high: Array, risk: Risk, x: int, z: int, c: float) -> bool:
    """Whether that is at most (1 + c) (u(x, z) - l(x, z))."""
    return bool(regret_bound(low, high, risk, x) <= (1 + c) * (high[x, z] - low[x, z]))


def guarded_arm(mean: Array, deviation: Array, width: float, heuristic: float, c: float) -> int:
    """The arm of largest mean + min(heuristic, width) deviation, if that is certified."""
    low, high = mean - width * deviation, mean + width * deviation
    practical = int(np.argmax(mean + min(heuristic, width) * deviation))
    grid = low[:, None], high[:, None]
    certified = is_certified(*grid, lambda row: float(row[0]), practical, 0, c)
    return practical if certified else int(np.argmax(high))
