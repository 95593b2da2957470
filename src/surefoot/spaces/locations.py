"""Where a measurement is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

import torch
from torch import Tensor

from surefoot.types import InvalidInput, Query

Where = Query | int | Tensor | Sequence[float] | Mapping[str, Any]
TRIED_AT = 8  # locations that a function of the user is tried at
EnvironmentValue = Tensor | Sequence[float] | float | None


@dataclass(frozen=True, eq=False, slots=True)
class Location:
    """Where a measurement is made, for the model and for the user.

    On `Arms` and `Box` the design is the point itself. On a `Joint` space the point is what the
    model sees of the design under the environment.

    Args:
        point: Input of the model, (d,).
        arm: Index of the point where the model's inputs are finitely many, else None.
        design: What the optimizer chooses, (dx,), in the units of the space.
        design_arm: Index of the design on `Arms`, else None.
        environment: The value z (dz,) of the environment, None on a space without one.
        params: Configuration of the design, as values by parameter name; empty on a space without
            named parameters.
    """

    point: Tensor
    arm: int | None
    design: Tensor
    design_arm: int | None
    environment: Tensor | None = None
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Listed(Sequence[Location]):
    """Locations of points that come together, each made when it is looked at.

    A choice among a thousand points needs the location of one.

    Args:
        designs: The points (n, d).
    """

    designs: Tensor

    def __len__(self) -> int:
        return len(self.designs)

    @overload
    def __getitem__(self, index: int) -> Location: ...
    @overload
    def __getitem__(self, index: slice) -> Listed: ...
    def __getitem__(self, index: int | slice) -> Location | Listed:
        if isinstance(index, slice):
            return Listed(self.designs[index])
        point = self.designs[index].clone()  # which does not keep the others in memory
        return Location(point, None, point, None)


def designs_of(locations: Sequence[Location]) -> Tensor:
    """The designs (n, dx) of locations."""
    if isinstance(locations, Listed):
        return locations.designs
    return torch.stack([location.design for location in locations])


def check_no_environment(environment: object) -> None:
    """Refuse an environment on a space that has none.

    Raises:
        InvalidInput: If `environment` is not None.
    """
    if environment is not None:
        raise InvalidInput(
            f"an environment {environment!r} came, but the space has none: pass "
            "`Joint(design, environment)` as the space, or leave it out."
        )
