"""Local maxima of a score on the unit cube."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.threads import one_blas_thread

Losses = Callable[[np.ndarray, list[int]], tuple[np.ndarray, np.ndarray]]
Step = Callable[..., None]

# The defaults of `scipy.optimize.minimize`, and the numbers by which its step says what comes next.
_CORRECTIONS, _FACTR, _PGTOL, _LINE_SEARCH = 10, 1e7, 1e-5, 20
_ITERATED, _EVALUATE, _STOP = 1, 3, (5, 504)
_GENTLE = 0.01  # of the steepest start: a start that is close to a maximum has a slope of 0


def ascend(
    score: Callable[[Tensor, Tensor], Tensor],
    starts: Tensor,
    free: Sequence[int],
    steps: int,
) -> Tensor:
    """Ascend from all starts at once by L-BFGS-B, in some of the coordinates.

    The tolerances of L-BFGS-B are absolute. So each start searches in its own units, in which its
    score is 0 and its slope about 1: multiplied by a constant or moved by one, a score has the same
    local maxima to the last bit, up to rounding of the score itself.

    Args:
        score: Function (b, d), (b,) -> (b,) of points and of the index of the start of each, whose
            rows do not depend on each other.
        starts: Points (s, d) of the unit cube.
        free: Coordinates that change.
        steps: Maximum number of iterations.

    Returns:
        Points (s, d), with the scores at least those of the starts.

    Example:
        >>> starts = torch.tensor([[0.0, 0.2], [0.9, 0.7]], dtype=torch.float64)
        >>> found = ascend(lambda x, start: -(x - 0.5).square().sum(-1), starts, [0], 10)
        >>> found.round(decimals=3).tolist()
        [[0.5, 0.2], [0.5, 0.7]]
    """

    def points_at(values: Tensor, rows: Tensor) -> Tensor:
        return starts[rows].index_copy(1, columns, values)

    def scores(values: np.ndarray, running: list[int]) -> tuple[np.ndarray, np.ndarray]:
        rows = torch.tensor(running, device=starts.device)
        moved = torch.from_numpy(values).to(starts).requires_grad_()
        found = score(points_at(moved, rows), rows).flatten()
        if not found.requires_grad:  # constant
            return found.cpu().numpy(), np.zeros_like(values)
        (slopes,) = torch.autograd.grad(found.sum(), moved)
        return found.detach().cpu().numpy(), slopes.cpu().numpy()

    columns = torch.tensor(free, device=starts.device)
    with torch.enable_grad(), one_blas_thread():
        first = starts[:, columns].cpu().numpy()
        center, slopes = scores(first, [*range(len(first))])
        unit = _sizes(slopes)

        def losses(values: np.ndarray, running: list[int]) -> tuple[np.ndarray, np.ndarray]:
            found, slopes = scores(values, running)
            return (center[running] - found) / unit[running], -slopes / unit[running, None]

        found = _minimise(losses, first, steps)
    every = torch.arange(len(starts), device=starts.device)
    return points_at(torch.from_numpy(found).to(starts), every)


def _sizes(slopes: np.ndarray) -> np.ndarray:
    """Largest components (s,) of slopes (s, d), none much smaller than that of another start."""
    sizes = np.nan_to_num(np.abs(slopes), nan=0.0, posinf=0.0).max(-1, initial=0.0)
    largest = float(sizes.max(initial=0.0))
    return np.maximum(sizes, _GENTLE * largest) if largest > 0.0 else np.ones_like(sizes)


def _minimise(losses: Losses, starts: np.ndarray, steps: int) -> np.ndarray:
    """`scipy.optimize.minimize` by L-BFGS-B from every start (s, d), evaluated together.

    An evaluation of six points takes little longer than one of a single point, but `minimize` asks
    for one at a time. Where SciPy has the step that `minimize` itself calls, all searches take
    their steps side by side, with the same results.
    """
    step = _scipy_step()
    if step is None:
        return np.stack([_alone(losses, i, start, steps) for i, start in enumerate(starts)])
    searches = [_Search(step, start, steps) for start in starts]
    while running := [i for i, search in enumerate(searches) if search.asks]:
        points = np.stack([searches[i].x for i in running])
        for i, loss, slope in zip(running, *losses(points, running), strict=True):
            searches[i].go_on(float(loss), slope)
    return np.stack([search.x for search in searches])


def _alone(losses: Losses, index: int, start: np.ndarray, steps: int) -> np.ndarray:
    """One search by `minimize`."""
    from scipy.optimize import minimize

    def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
        values, slopes = losses(x[None], [index])
        return float(values[0]), slopes[0]

    bounds, options = [(0.0, 1.0)] * len(start), {"maxiter": steps}
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options)
    return np.asarray(found.x)


@cache
def _scipy_step() -> Step | None:
    """The step of SciPy's L-BFGS-B, which is not documented; None unless it is that of 1.15."""
    try:
        from scipy.optimize._lbfgsb import setulb

        probe = _Search(setulb, np.array([0.25]), 1)
        probe.go_on(0.25, np.array([1.0]))
    except (ImportError, TypeError, ValueError):
        return None
    return setulb if probe.asks and probe.x[0] == 0.0 else None


class _Search:
    """A search in the unit cube whose loss is evaluated elsewhere.

    Args:
        step: The step of SciPy.
        start: Where it begins (d,).
        steps: Maximum number of iterations.

    Attributes:
        x: The point (d,) whose loss is asked for, the minimum at the end.
        asks: Whether it asks for a loss.
    """

    def __init__(self, step: Step, start: np.ndarray, steps: int) -> None:
        d, m = len(start), _CORRECTIONS
        self.x = np.clip(start, 0.0, 1.0)
        self._step, self._left = step, steps
        self._limits = np.zeros(d), np.ones(d), np.full(d, 2, dtype=np.int32)  # 2: both ends
        self._work = np.zeros(2 * m * d + 5 * d + 11 * m * m + 8 * m), np.zeros(3 * d, np.int32)
        self._task, self._line_search = np.zeros(2, np.int32), np.zeros(2, np.int32)
        self._saved = np.zeros(4, np.int32), np.zeros(44, np.int32), np.zeros(29)
        self.asks = True
        self.go_on(0.0, np.zeros(d))

    def go_on(self, loss: float, slope: np.ndarray) -> None:
        """Search on with the loss and its slope (d,) at `x`."""
        while True:
            self._step(
                _CORRECTIONS, self.x, *self._limits, loss, slope, _FACTR, _PGTOL, *self._work,
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
