"""Local maxima of a score on the unit cube."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.lbfgsb import Limits, minimise

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
        return values if free == every else starts[rows].index_copy(1, columns, values)

    def scores(values: np.ndarray, running: list[int]) -> tuple[np.ndarray, np.ndarray]:
        rows = torch.tensor(running, device=starts.device)
        moved = torch.from_numpy(values).to(starts).requires_grad_()
        found = score(points_at(moved, rows), rows).flatten()
        if not found.requires_grad:  # constant
            return found.cpu().numpy(), np.zeros_like(values)
        (slopes,) = torch.autograd.grad(found.sum(), moved)
        return found.detach().cpu().numpy(), slopes.cpu().numpy()

    free, every = list(free), [*range(starts.shape[1])]
    columns = torch.tensor(free, device=starts.device)
    with torch.enable_grad():
        first = starts[:, columns].cpu().numpy()
        center, slopes = scores(first, [*range(len(first))])
        unit = _sizes(slopes)

        def losses(values: np.ndarray, running: list[int]) -> tuple[np.ndarray, np.ndarray]:
            found, slopes = scores(values, running)
            return (center[running] - found) / unit[running], -slopes / unit[running, None]

        found = minimise(losses, first, Limits(np.zeros(len(free)), np.ones(len(free))), steps)
    rows = torch.arange(len(starts), device=starts.device)
    return points_at(torch.from_numpy(found).to(starts), rows)


def _sizes(slopes: np.ndarray) -> np.ndarray:
    """Largest components (s,) of slopes (s, d), none much smaller than that of another start."""
    sizes = np.nan_to_num(np.abs(slopes), nan=0.0, posinf=0.0).max(-1, initial=0.0)
    largest = float(sizes.max(initial=0.0))
    return np.maximum(sizes, _GENTLE * largest) if largest > 0.0 else np.ones_like(sizes)
