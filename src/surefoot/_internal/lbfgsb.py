"""L-BFGS-B from several starts, whose losses are evaluated together."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from surefoot._internal.linalg import Floats

Losses = Callable[[Floats, list[int]], tuple[Floats, Floats]]
Step = Callable[..., None]

# The defaults of `scipy.optimize.minimize`, and the numbers by which its step says what comes next.
_CORRECTIONS, _TOLERANCE, _PGTOL, _LINE_SEARCH = 10, 1e7 * np.finfo(float).eps, 1e-5, 20
_ITERATED, _EVALUATE, _STOP = 1, 3, (5, 504)
_SAME = 3  # times that the least loss came twice in a row: further steps are those of rounding


class Limits(NamedTuple):
    """Between which values each of the parameters is.

    Args:
        lower: The smallest values (d,).
        upper: The largest values (d,).
    """

    lower: Floats
    upper: Floats


def minimise(
    losses: Losses, starts: Floats, limits: Limits, steps: int, tolerance: float = _TOLERANCE
) -> Floats:
    """`scipy.optimize.minimize` by L-BFGS-B from every start, evaluated together.

    An evaluation of six points may take little longer than one of a single point, but `minimize`
    asks for one at a time, and takes as long itself as the evaluation of a small problem. Where
    SciPy has the step that `minimize` itself calls, all searches take their steps side by side,
    with the same results up to rounding: they end where the least loss comes again and again.

    Args:
        losses: Losses (b,) and their slopes (b, d) at parameters (b, d), given the index of the
            start of each.
        starts: Parameters (s, d) to start from, moved within the limits.
        limits: Limits of the parameters.
        steps: Maximum number of iterations.
        tolerance: Relative decrease of the loss at which a search ends.

    Returns:
        Parameters (s, d).

    Example:
        >>> def losses(x, start):
        ...     return (x**2).sum(-1), 2.0 * x
        >>> limits = Limits(np.array([1.0]), np.array([9.0]))
        >>> minimise(losses, np.array([[4.0], [7.0]]), limits, 10)
        array([[1.],
               [1.]])
    """
    step = _scipy_step()
    if step is None:
        alone = [_alone(losses, i, one, limits, steps, tolerance) for i, one in enumerate(starts)]
        return np.stack(alone)
    searches = [_Search(step, start, limits, steps, tolerance) for start in starts]
    while running := [i for i, search in enumerate(searches) if search.asks]:
        points = np.stack([searches[i].x for i in running])
        for i, loss, slope in zip(running, *losses(points, running), strict=True):
            searches[i].go_on(float(loss), slope)
    return np.stack([search.x for search in searches])


def _alone(
    losses: Losses, index: int, start: Floats, limits: Limits, steps: int, tolerance: float
) -> Floats:
    """One search by `minimize`."""
    from scipy.optimize import minimize

    def loss(x: Floats) -> tuple[float, Floats]:
        values, slopes = losses(x[None], [index])
        return float(values[0]), slopes[0]

    options = {"maxiter": steps, "ftol": tolerance}
    bounds = list(zip(*limits, strict=True))
    start = np.clip(start, *limits)
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


@cache
def _scipy_step() -> Step | None:
    """The step of SciPy's L-BFGS-B, which is not documented; None unless it is that of 1.15."""
    try:
        from scipy.optimize._lbfgsb import setulb

        probe = _Search(setulb, np.array([0.25]), Limits(np.zeros(1), np.ones(1)), 1, _TOLERANCE)
        probe.go_on(0.25, np.array([1.0]))
    except (ImportError, TypeError, ValueError):
        return None
    return setulb if probe.asks and probe.x[0] == 0.0 else None


class _Search:
    """A search within limits whose loss is evaluated elsewhere.

    Args:
        step: The step of SciPy.
        start: Where it begins (d,).
        limits: Limits of the parameters.
        steps: Maximum number of iterations.
        tolerance: Relative decrease of the loss at which it ends.

    Attributes:
        x: The point (d,) whose loss is asked for, the minimum at the end.
        asks: Whether it asks for a loss.
    """

    def __init__(
        self, step: Step, start: Floats, limits: Limits, steps: int, tolerance: float
    ) -> None:
        d, m = len(start), _CORRECTIONS
        self.x = np.clip(start, *limits)
        self._step, self._left = step, steps
        self._limits = *limits, np.full(d, 2, dtype=np.int32)  # 2: both ends
        self._tolerances = tolerance / np.finfo(float).eps, _PGTOL
        self._work = np.zeros(2 * m * d + 5 * d + 11 * m * m + 8 * m), np.zeros(3 * d, np.int32)
        self._task, self._line_search = np.zeros(2, np.int32), np.zeros(2, np.int32)
        self._saved = np.zeros(4, np.int32), np.zeros(44, np.int32), np.zeros(29)
        self._best, self._before, self._same = (math.inf, self.x.copy()), math.nan, 0
        self.asks = True
        self._next(0.0, np.zeros(d))

    def go_on(self, loss: float, slope: Floats) -> None:
        """Search on with the loss and its slope (d,) at `x`."""
        self._same += loss == self._before == self._best[0]
        if loss < self._best[0]:
            self._best = loss, self.x.copy()
        self._before = loss
        if self._same < _SAME:
            self._next(loss, slope)
        else:  # a line search would go on among points that differ by rounding
            self.x, self.asks = self._best[1], False

    def _next(self, loss: float, slope: Floats) -> None:
        """Move to where the loss is needed next, if anywhere."""
        while True:
            self._step(
                _CORRECTIONS, self.x, *self._limits, loss, slope, *self._tolerances, *self._work,
                self._task, *self._saved, _LINE_SEARCH, self._line_search,
            )  # fmt: skip
            if self._task[0] == _EVALUATE:
                return
            if self._task[0] != _ITERATED:
                self.asks = False
                return
            self._left -= 1
            if self._left <= 0:
                self._task[:] = _STOP
