"""Nyström features on a dictionary that is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.features.nystrom import NystromEmbedding
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.embedding import Embedding


@dataclass(frozen=True, init=False)
class Dictionary:
    """The dictionary is `points` (m, d), whatever is measured (inducing points fixed beforehand).

    Variance far from them does not starve: what the dictionary does not explain of k(x, x) stays
    (DTC, Quinonero-Candela and Rasmussen 2005).
    """

    points: tuple[tuple[float, ...], ...]

    def __init__(self, points: Tensor | Sequence) -> None:
        rows = checks.matrix("points", points).cpu().tolist()
        object.__setattr__(self, "points", tuple(tuple(row) for row in rows))

    def embed(
        self, kernel: Kernel, sites: Tensor, dictionary: Tensor | None = None, fresh: int = 0
    ) -> Embedding:
        points = torch.tensor(self.points, dtype=torch.float64, device=sites.device)
        if points.shape[1] != sites.shape[1]:
            raise InvalidInput(
                f"the dictionary has {points.shape[1]} coordinates, the space "
                f"{sites.shape[1]}: pass points of the space."
            )
        return NystromEmbedding.of(kernel, points)
