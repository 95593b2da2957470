"""Random environments with finitely many values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.brief import brief
from surefoot._internal.numbers import ROUNDING, SAMPLES, TINY
from surefoot.types import InvalidInput

WeightFunction = Callable[[Tensor], Tensor]
"""Function of designs x (q, dx) that returns the probabilities (q, n) of n environments."""

_ROUNDING = 1e-6  # by which the sum of probabilities may differ from 1
_SINGLE_PRECISION = 1e-7  # relative rounding error of a value that passed through float32


@dataclass(frozen=True, eq=False, init=False)
class FiniteEnvironment:
    """Random environment Z with finitely many values.

    Args:
        points: Values (n, dz) of Z, or (n,) for one coordinate.
        weights: Probabilities (n,) of the values; None for equal ones. Where they depend on the
            design, a function of designs (q, dx) that returns (q, n), written with torch and
            differentiable if designs fill a `Box` and the risk is not a quantile. Such an
            environment has at most 1,024 values, and is passed again to `Optimizer.load`.

    Raises:
        InvalidInput: If weights are negative, do not sum to 1 or do not match the points.

    Example:
        >>> environment = FiniteEnvironment([0.2, 0.5, 0.9], weights=[0.5, 0.3, 0.2])
        >>> len(environment), environment.dimension
        (3, 1)

        The second value is as likely as the design is large:

        >>> environment = FiniteEnvironment([0.0, 1.0], lambda x: torch.cat([1.0 - x, x], -1))
        >>> environment.weights_at(torch.tensor([[0.25]])).tolist()
        [[0.75, 0.25]]
    """

    points: Tensor
    """Values (n, dz)."""
    weights: Tensor | WeightFunction
    """Their probabilities (n,), which sum to 1, or a function of the designs."""
    finite: ClassVar[bool] = True

    __repr__ = brief

    def __init__(
        self,
        points: Tensor | Sequence,
        weights: Tensor | Sequence | WeightFunction | None = None,
    ) -> None:
        values = _rows("points", points)
        object.__setattr__(self, "points", values)
        if callable(weights) and len(values) > SAMPLES:
            raise InvalidInput(
                f"`weights` is a function and there are {len(values)} points, expected at most "
                f"{SAMPLES:,}: pass fewer points, or weights that are the same everywhere."
            )
        known = weights if callable(weights) else _probabilities(weights, len(values))
        object.__setattr__(self, "weights", known)

    def __len__(self) -> int:
        return len(self.points)

    @property
    def weights_vary(self) -> bool:
        """Whether the probabilities depend on the design."""
        return callable(self.weights)

    @property
    def dimension(self) -> int:
        """Number of coordinates dz."""
        return self.points.shape[1]

    @property
    def lower(self) -> Tensor:
        """Smallest coordinates (dz,)."""
        return self.points.amin(0)

    @property
    def upper(self) -> Tensor:
        """Largest coordinates (dz,)."""
        return self.points.amax(0)

    def sample(self, number: int, generator: torch.Generator) -> Tensor:
        """Draw independent values.

        Args:
            number: Number of values n.
            generator: Source of randomness.

        Returns:
            Values (n, dz).

        Raises:
            InvalidInput: If the weights depend on the design; see `sample_at`.
        """
        if callable(self.weights):
            raise InvalidInput(
                "the weights of this environment depend on the design: call "
                "`sample_at(designs, generator)`."
            )
        drawn = torch.multinomial(self.weights, number, replacement=True, generator=generator)
        return self.points[drawn]

    def sample_at(self, designs: Tensor, generator: torch.Generator) -> Tensor:
        """Draw one value for each design.

        Args:
            designs: Designs (q, dx).
            generator: Source of randomness.

        Returns:
            Values (q, dz).
        """
        if not callable(self.weights):
            return self.sample(len(designs), generator)
        weights = self.weights_at(designs).detach().cpu()
        return self.points[torch.multinomial(weights, 1, generator=generator)[:, 0]]

    def weights_at(self, designs: Tensor) -> Tensor:
        """Probabilities of the values at designs.

        Args:
            designs: Designs (q, dx).

        Returns:
            Probabilities (n,), or (q, n) where they depend on the design.

        Raises:
            InvalidInput: If the function of the weights does not return probabilities.
        """
        if not callable(self.weights):
            return self.weights
        weights = self.weights(designs)
        shape = (len(designs), len(self))
        if not isinstance(weights, Tensor) or weights.shape != shape:
            found = tuple(weights.shape) if isinstance(weights, Tensor) else repr(weights)
            raise InvalidInput(
                f"`weights` of {len(designs)} designs is {found}, expected a tensor {shape}."
            )
        rows = weights.detach()
        if not bool((rows >= 0.0).all() & ((rows.sum(-1) - 1.0).abs() <= _ROUNDING).all()):
            raise InvalidInput(
                "`weights` of designs has values below 0 or rows that do not sum to 1, expected "
                "probabilities: divide them by `weights.sum(-1, keepdim=True)`."
            )
        return weights.to(torch.float64)

    def values(
        self, number: int, generator: torch.Generator, spread: bool = False
    ) -> tuple[Tensor, Tensor | WeightFunction]:
        """Discretise the distribution, for the evaluation of a risk.

        Args:
            number: Number of values to draw if there are more than 1,024.
            generator: Source of randomness.
            spread: Whether the support matters rather than the probabilities, as for the worst
                case; all values are returned then.

        Returns:
            Values (n, dz) and their weights (n,): all values with their probabilities up to
            1,024; otherwise a systematic sample with equal weights. A function of designs in
            place of weights where they depend on the design.
        """
        if callable(self.weights):
            return self.points, self.weights_at
        if spread or len(self) <= max(number, SAMPLES):
            return self.points, self.weights
        offset = torch.rand((), generator=generator, dtype=torch.float64)
        marks = (torch.arange(number, dtype=torch.float64) + offset) / number
        drawn = torch.searchsorted(self.weights.cumsum(0), marks).clamp_max(len(self) - 1)
        return self.points[drawn], torch.full((number,), 1.0 / number, dtype=torch.float64)

    def examples(self, number: int, generator: torch.Generator) -> Tensor:
        """Values (n, dz) to try a function at: all of them."""
        return self.points

    def lists(self, z: Tensor) -> bool:
        """Whether values z (m, dz) that represent Z are all that there are."""
        return len(z) == len(self)

    def likelihood(self, z: Tensor, weights: Tensor) -> Tensor:
        """How likely values z (m, dz) of Z with these weights (m,) are: their weights."""
        return weights

    def checked(self, value: Tensor) -> Tensor:
        """The value of Z that a vector (dz,) is up to rounding.

        Raises:
            InvalidInput: If there is none.
        """
        index = self.index(value)
        if index is None:
            nearest = self.points[(self.points - value).square().sum(-1).argmin()]
            raise InvalidInput(
                f"the environment {value.tolist()} is none of the {len(self)} values it can take "
                f"(the nearest is {nearest.tolist()}): tell one of them, or describe it with "
                "`ContinuousEnvironment`."
            )
        return self.points[index].clone()

    def index(self, value: Tensor) -> int | None:
        """Find a value, up to rounding.

        Args:
            value: Value (dz,).

        Returns:
            Its index, None if it is not a value of Z.
        """
        distance = ((self.points - value.cpu()).abs() / self._tolerance).amax(-1)
        nearest = int(distance.argmin())
        return nearest if float(distance[nearest]) <= 1.0 else None

    @cached_property
    def _tolerance(self) -> Tensor:  # (n, dz)
        """Tolerance for each value, at most a third of the distance to the next one."""
        tolerance = ROUNDING * (self.upper - self.lower) + _SINGLE_PRECISION * self.points.abs()
        for coordinate, column in enumerate(self.points.T):
            gaps = column.unique().diff()
            if len(gaps) > 0:
                tolerance[:, coordinate].clamp_(max=float(gaps.min()) / 3.0)
        return tolerance.clamp_min(TINY)


def _no_environment() -> FiniteEnvironment:
    """One value without coordinates, which the constructor refuses."""
    environment = object.__new__(FiniteEnvironment)
    object.__setattr__(environment, "points", torch.zeros(1, 0, dtype=torch.float64))
    object.__setattr__(environment, "weights", torch.ones(1, dtype=torch.float64))
    return environment


NO_ENVIRONMENT = _no_environment()
"""The environment of a space that has none: a single value of no coordinates."""


def _rows(name: str, values: Tensor | Sequence) -> Tensor:
    """Convert to (n, dz), where (n,) is one coordinate."""
    given = checks.tensor(name, values)
    return checks.matrix(name, given.unsqueeze(-1) if given.ndim == 1 else given)


def _probabilities(weights: Tensor | Sequence | None, number: int) -> Tensor:
    """Check the weights of that many values, and remove rounding from their sum."""
    if weights is None:
        return torch.full((number,), 1.0 / number, dtype=torch.float64)
    given = checks.vector("weights", weights)
    if len(given) != number:
        raise InvalidInput(
            f"{len(given)} `weights` came with {number} points, expected one for each: "
            f"pass {number} of them."
        )
    if float(given.min()) < 0.0:
        raise InvalidInput(
            f"`weights` has {float(given.min())}, expected probabilities of at least 0: "
            "pass how likely each point is."
        )
    total = float(given.sum())
    if not abs(total - 1.0) <= _ROUNDING:
        hint = ": pass `weights / weights.sum()`" if total > 0.0 else ": pass other than 0"
        raise InvalidInput(f"`weights` sum to {total:.6g}, expected 1{hint}.")
    return given / total
