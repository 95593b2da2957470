"""Nyström features on a dictionary that is given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.features.features import fixed_features
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.spaces import Space
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

    from surefoot.regression.regression import Regression


@dataclass(frozen=True, init=False)
class Dictionary:
    """Nyström features on inducing points that are fixed beforehand.

    The posterior variance includes the part of k(x, x) that the features do not represent, so that
    it is not underestimated far from the points.

    Args:
        points: The dictionary (m, d), in the coordinates of the space.

    Raises:
        InvalidInput: If the points are not a finite matrix.

    References:
        Quinonero-Candela and Rasmussen 2005, "A unifying view of sparse approximate Gaussian
        process regression" (DTC).

    Example:
        >>> import surefoot as sf
        >>> features = sf.Dictionary([[0.1], [0.5], [0.9]])
    """

    points: tuple[tuple[float, ...], ...]

    def __init__(self, points: Tensor | Sequence) -> None:
        rows = checks.matrix("points", points).cpu().tolist()
        object.__setattr__(self, "points", tuple(tuple(row) for row in rows))

    def init(
        self,
        kernel: Kernel,
        space: Space,
        ridge: float,
        generator: torch.Generator,
        *,
        lasting: bool = True,
    ) -> Regression:
        """The regression before the first measurement (see `Features.init`)."""
        points = torch.tensor(self.points, dtype=torch.float64, device=space.lower.device)
        if points.shape[1] != space.dimension:
            raise InvalidInput(
                f"the dictionary has {points.shape[1]} coordinates, the space has "
                f"{space.dimension}: pass points of the space."
            )
        embedding = NystromEmbedding.of(kernel, points)
        return fixed_features(embedding, kernel, space, ridge, lasting=lasting)
