"""Finite sets of arms, with or without coordinates."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.brief import SHOWN
from surefoot._internal.numbers import rows_at_once
from surefoot.spaces.finite_environment import NO_ENVIRONMENT, FiniteEnvironment
from surefoot.spaces.locations import EnvironmentValue, Location, Where, check_no_environment
from surefoot.spaces.storage import InMemory, Storage, mapped_points
from surefoot.types import InvalidInput

_IN_MEMORY = InMemory()


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Arms:
    """Finite set of arms, the space of a kernel bandit.

    Arms without coordinates are represented by their index, and require `kernels.precomputed` or
    `kernels.custom`.

    Args:
        points: Coordinates (A, d) of the arms, or the number A of arms without coordinates. Those
            of a file, given by its path (.npy, or .safetensors with one tensor) or as an array
            that NumPy has mapped, stay there.
        storage: Where the features of all arms are kept, `spaces.InMemory()` or
            `spaces.InFile()`, or in parts, `spaces.Sharded(2, executors)`.

    Raises:
        InvalidInput: If the coordinates are not a finite matrix, or the number is below 1.

    Example:
        >>> arms = Arms([[0.0, 1.0], [0.5, 1.0], [1.0, 1.0]])
        >>> len(arms), arms.dimension
        (3, 2)
        >>> Arms(29).has_coordinates
        False
    """

    points: Tensor
    """Coordinates (A, d); for arms without coordinates their indices (A, 1)."""
    has_coordinates: bool
    """Whether the arms were given by coordinates."""
    storage: Storage = _IN_MEMORY
    """Where the features of all arms are kept."""
    is_mapped: bool = False
    """Whether the coordinates are in a file."""
    observed: ClassVar[bool] = False
    finite: ClassVar[bool] = True
    has_environment: ClassVar[bool] = False
    discrete: ClassVar[tuple[()]] = ()
    conditions: ClassVar[tuple[()]] = ()
    environment: ClassVar[FiniteEnvironment] = NO_ENVIRONMENT
    shared: ClassVar[tuple[tuple[int, ...], ...]] = ()

    def __init__(
        self,
        points: Tensor | Sequence | int | str | PathLike[str] | np.memmap,
        *,
        storage: Storage = _IN_MEMORY,
    ) -> None:
        mapped = mapped_points("points", points)
        has_coordinates = mapped is not None or checks.integer(points) is None
        if mapped is not None:
            for part in mapped.split(rows_at_once(mapped.shape[1])):
                checks.coordinates("points", checks.finite_values("points", part))
            coordinates = mapped
        elif has_coordinates:
            coordinates = checks.coordinates("points", checks.matrix("points", points))  # type: ignore[arg-type]
        else:
            number = checks.count("points", points)  # type: ignore[arg-type]
            coordinates = torch.arange(number, dtype=torch.float64).unsqueeze(-1)
        if not hasattr(storage, "scratch") or isinstance(storage, type):
            raise InvalidInput(
                f"`storage` is {checks.shown(storage)}, expected `spaces.InMemory()`, "
                "`spaces.InFile()` or `spaces.Sharded(2)`."
            )
        object.__setattr__(self, "points", coordinates)
        object.__setattr__(self, "has_coordinates", has_coordinates)
        object.__setattr__(self, "storage", storage)
        object.__setattr__(self, "is_mapped", mapped is not None)

    def __len__(self) -> int:
        return len(self.points)

    def __repr__(self) -> str:
        """The arms if they are few, else their number."""
        if not self.has_coordinates:
            return f"Arms({len(self)})"
        if self.points.numel() <= SHOWN:
            return f"Arms({self.points.tolist()})"
        return f"Arms(<{len(self)} points of {self.dimension} coordinates>)"

    def unfilled(self, points: Tensor) -> list[int]:
        """None: there is nothing between arms."""
        return []

    @property
    def dimension(self) -> int:
        """Number of coordinates d."""
        return self.points.shape[1]

    @cached_property
    def lower(self) -> Tensor:
        """Smallest coordinates (d,)."""
        return self.points.amin(0)

    @cached_property
    def upper(self) -> Tensor:
        """Largest coordinates (d,)."""
        return self.points.amax(0)

    def to(self, device: str | torch.device) -> Arms:
        """Move to a device.

        Args:
            device: A torch device.

        Returns:
            The same arms on that device.

        Raises:
            InvalidInput: If the device cannot be used.
        """
        device = checks.device(device)
        if self.points.device == device:
            return self
        moved = copy.copy(self)
        object.__setattr__(moved, "points", self.points.to(device))
        object.__setattr__(moved, "is_mapped", False)
        for name in ("lower", "upper"):
            moved.__dict__.pop(name, None)
        return moved

    def part(self, first: int, last: int, storage: Storage) -> Arms:
        """The arms from one index to another, exclusive, with a storage of their own."""
        part = copy.copy(self)
        object.__setattr__(part, "points", self.points[first:last])
        object.__setattr__(part, "storage", storage)
        for name in ("lower", "upper"):
            part.__dict__.pop(name, None)
        return part

    def at(self, point: Tensor) -> Tensor:
        """Indices (n,) of the arms at a point (d,)."""
        step = rows_at_once(self.dimension)
        found = [(part == point).all(-1).nonzero()[:, 0] for part in self.points.split(step)]
        return torch.cat([one + number * step for number, one in enumerate(found)])

    def index(self, arm: int) -> int:
        """Check an arm index.

        Args:
            arm: Index of an arm.

        Returns:
            The same index.

        Raises:
            InvalidInput: If there is no such arm.
        """
        if not 0 <= arm < len(self):
            raise InvalidInput(
                f"arm {checks.shown(arm)} does not exist, expected 0 to {len(self) - 1}."
            )
        return arm

    @property
    def is_elsewhere(self) -> bool:
        """Whether the table of their features is in other processes."""
        return self.storage.is_elsewhere

    @property
    def design(self) -> Arms:
        """Designs to choose from: these arms."""
        return self

    @property
    def seen(self) -> Arms:
        """Inputs of the model: these arms."""
        return self

    def inputs(self, x: Tensor, z: Tensor) -> Tensor:
        """Inputs of the model at designs (n, d), which are the designs."""
        return x

    def lists(self, x: Tensor, z: Tensor) -> bool:
        """Whether designs x are these arms, in their order."""
        return x is self.points

    def allows(self, points: Tensor) -> Tensor:
        """Whether points (n, d) satisfy known constraints (n,): there are none."""
        return torch.ones(len(points), dtype=torch.bool, device=points.device)

    def brought_inside(self, points: Tensor) -> Tensor:
        """Points (n, d) of the space: themselves."""
        return points

    def examples(self, number: int, generator: torch.Generator) -> Tensor:
        """Points (n, d) to try a function at: all arms."""
        return self.points

    def location(self, design: Tensor, arm: int | None = None) -> Location:
        """The location of an arm and its point (d,)."""
        return Location(design, arm, design, arm)

    def locate(
        self, where: Where, environment: EnvironmentValue = None, name: str = "point"
    ) -> Location:
        """The location of an arm, by its index or its point (d,).

        Raises:
            InvalidInput: If there is no such arm, or an environment is given.
        """
        check_no_environment(environment)
        arm = checks.integer(where)
        if arm is None:
            point = checks.vector(name, where, self.dimension, self.points.device)  # type: ignore[arg-type]
            found = self.at(point)
            if len(found) == 0:
                raise InvalidInput(
                    f"the point {point.tolist()} is not one of the arms, expected a row of "
                    "`arms.points`; `tell` takes the arm's index, too."
                )
            return self.location(point, int(found[0]))
        return self.location(self.points[self.index(arm)], arm)

    def listed(self, arms: Tensor | Sequence) -> Sequence[Location]:
        """The locations of arms (n,); `InvalidInput` if there are none."""
        return [self.locate(arm) for arm in checks.indices("arms", arms)]

    def spread(self, number: int, generator: torch.Generator) -> list[Location]:
        """An initial design: distinct arms in random order, at most all of them."""
        order = torch.randperm(len(self), generator=generator)[:number]
        return [self.location(self.points[arm], arm) for arm in order.tolist()]
