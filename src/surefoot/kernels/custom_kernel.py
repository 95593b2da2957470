"""A GPyTorch kernel whose values come from a function of the user's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot.types import InvalidInput

_CHUNK = 64  # points at a time where only the diagonal is wanted

Block = Callable[[Tensor, Tensor], Tensor]  # (n, d), (m, d) -> (n, m)


class CustomKernel(Kernel):
    """k(x, x') = block(x, x'), a dense matrix for points (n, d) and (m, d)."""

    def __init__(self, block: Block) -> None:
        super().__init__()
        self.block = block

    def forward(self, x1: Tensor, x2: Tensor, diag: bool = False, **params: Any) -> Tensor:
        if diag:
            pairs = zip(x1.split(_CHUNK), x2.split(_CHUNK), strict=True)
            return torch.cat([self._values(*pair).diagonal() for pair in pairs])
        return self._values(x1, x2)

    def _values(self, left: Tensor, right: Tensor) -> Tensor:
        values = torch.as_tensor(self.block(left, right)).to(left)
        if values.shape != (len(left), len(right)):
            raise InvalidInput(
                f"the kernel gave a block of shape {tuple(values.shape)} for {len(left)} and "
                f"{len(right)} points, expected ({len(left)}, {len(right)})."
            )
        if not bool(torch.isfinite(values).all()):
            raise InvalidInput("the kernel gave values that are NaN or infinite.")
        return values
