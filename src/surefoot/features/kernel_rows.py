"""Rows of the kernel matrix of the arms, each computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot import kernels

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_ROOM = 2**29  # bytes of kernel rows that are kept


class KernelRows:
    """k(x, .) at all arms for arms x, computed once each as far as memory allows.

    Rows are computed one at a time, so that they do not depend on what else is asked for.

    Args:
        kernel: The kernel.
        points: The arms (A, d).
    """

    def __init__(self, kernel: Kernel, points: Tensor) -> None:
        self._kernel = kernel
        self._points = points
        self._row: dict[int, int] = {}
        self._known = points.new_zeros(0, len(points))

    def need(self, arms: Tensor) -> None:
        """Have the rows of arms (n,); others are let go when there is no more room."""
        keys = arms.tolist()
        missing = [arm for arm in keys if arm not in self._row]
        if missing and (len(self._row) + len(missing)) * len(self._points) * 8 > _ROOM:
            kept = [arm for arm in keys if arm in self._row]
            self._known = self._known[self._rows_of(kept)]
            self._row = {arm: row for row, arm in enumerate(kept)}
        for arm in missing:
            row = self._row[arm] = len(self._row)
            if row == len(self._known):
                spare = self._known.new_zeros(max(8, row // 2), len(self._points))
                self._known = torch.cat([self._known, spare])
            self._known[row] = kernels.block(
                self._kernel, self._points[arm : arm + 1], self._points
            )[0]

    def at(self, arms: Tensor) -> Tensor:
        """Rows (n, A) of arms (n,) that are there."""
        return self._known[self._rows_of(arms.tolist())]

    def gram(self, arms: Tensor) -> Tensor:
        """Kernel matrix (n, n) of arms (n,) whose rows are there."""
        columns = arms.to(self._known.device)
        return self._known[self._rows_of(arms.tolist())[:, None], columns[None, :]]

    def _rows_of(self, arms: list[int]) -> Tensor:
        rows = [self._row[arm] for arm in arms]
        return torch.tensor(rows, dtype=torch.int64, device=self._known.device)
