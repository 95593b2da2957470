"""Local maxima of a score on the unit cube."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.threads import one_blas_thread


def ascend(
    score: Callable[[Tensor, Tensor], Tensor],
    starts: Tensor,
    free: Sequence[int],
    steps: int,
) -> Tensor:
    """Ascend from all starts at once by L-BFGS-B, in some of the coordinates.

    BoTorch's batched L-BFGS-B without `gen_candidates_scipy`, which looks for the libraries of this
    process at every call, for 10 ms.

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
    from botorch.optim.batched_lbfgs_b import fmin_l_bfgs_b_batched

    def points_at(values: Tensor, rows: Tensor) -> Tensor:
        return starts[rows].index_copy(1, columns, values)

    def loss(values: np.ndarray, batch_indices: list[int]) -> tuple[np.ndarray, np.ndarray]:
        rows = torch.tensor(batch_indices, device=starts.device)
        moved = torch.from_numpy(values).to(starts).requires_grad_()
        scores = score(points_at(moved, rows), rows).flatten()
        if not scores.requires_grad:  # constant
            return -scores.cpu().numpy(), np.zeros_like(values)
        (slopes,) = torch.autograd.grad(scores.sum(), moved)
        return -scores.detach().cpu().numpy(), -slopes.cpu().numpy()

    columns = torch.tensor(free, device=starts.device)
    with torch.enable_grad(), one_blas_thread():
        found, _, _ = fmin_l_bfgs_b_batched(
            loss,
            starts[:, columns].cpu().numpy(),
            bounds=[(0.0, 1.0)] * len(free),
            maxiter=steps,
            pass_batch_indices=True,
        )
    every = torch.arange(len(starts), device=starts.device)
    return points_at(torch.from_numpy(found).to(starts), every)
