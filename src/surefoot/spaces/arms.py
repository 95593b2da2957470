"""A finite set of arms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.types import InvalidInput


@dataclass(frozen=True, eq=False, init=False)
class Arms:
    """A finite set of arms: `Arms(points)` with coordinates (A, d), or `Arms(29)` without.

    Arms without coordinates have their index as their only coordinate, and need
    `kernels.precomputed`.
    """

    points: Tensor  # (A, d)
    has_coordinates: bool

    def __init__(self, points: Tensor | Sequence | int) -> None:
        has_coordinates = checks.integer(points) is None
        if has_coordinates:
            coordinates = checks.matrix("points", points)  # type: ignore[arg-type]
        else:
            number = checks.count("points", points)  # type: ignore[arg-type]
            coordinates = torch.arange(number, dtype=torch.float64).unsqueeze(-1)
        object.__setattr__(self, "points", coordinates)
        object.__setattr__(self, "has_coordinates", has_coordinates)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def dimension(self) -> int:
        return self.points.shape[1]

    @property
    def lower(self) -> Tensor:
        return self.points.amin(0)

    @property
    def upper(self) -> Tensor:
        return self.points.amax(0)

    def to(self, device: str | torch.device) -> Arms:
        """The same arms on a device."""
        moved = Arms(len(self)) if not self.has_coordinates else Arms(self.points.cpu())
        object.__setattr__(moved, "points", self.points.to(device))
        return moved

    def index(self, arm: int) -> int:
        """The arm's index, checked; `InvalidInput` when there is no such arm."""
        if not 0 <= arm < len(self):
            raise InvalidInput(f"arm {arm} does not exist, expected 0 to {len(self) - 1}.")
        return arm
