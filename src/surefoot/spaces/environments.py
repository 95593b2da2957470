"""What the world does: a random environment Z, finite or continuous, of known distribution."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, constraints

from surefoot._internal import checks
from surefoot.spaces.truncated_normal import truncated_normal
from surefoot.types import InvalidInput

__all__ = [
    "ContinuousEnvironment",
    "Environment",
    "FiniteEnvironment",
    "truncated_normal",
]

_MOST_VALUES = 1024  # of a finite environment up to which all of them are looked at
_ROUNDING = 1e-7  # of a value's magnitude: that of single precision
_MOST_CORNERS = 6  # coordinates up to which all corners are looked at
_LOOKS = 4096  # values that are looked at to learn the extent of an unbounded distribution


@dataclass(frozen=True, eq=False, init=False)
class FiniteEnvironment:
    """Z takes the values `points` (n, dz), or (n,) for one coordinate, with `weights` (n,).

    Without weights all values are equally likely. Raises `InvalidInput` for weights that are
    negative, do not sum to 1 or do not match the points.
    """

    points: Tensor  # (n, dz)
    weights: Tensor  # (n,)

    def __init__(self, points: Tensor | Sequence, weights: Tensor | Sequence | None = None) -> None:
        object.__setattr__(self, "points", _rows("points", points))
        number = len(self.points)
        if weights is None:
            shares = torch.full((number,), 1.0 / number, dtype=torch.float64)
        else:
            shares = checks.vector("weights", weights)
            if len(shares) != number:
                raise InvalidInput(
                    f"{len(shares)} `weights` came with {number} points, expected one for each: "
                    f"pass {number} of them."
                )
            if float(shares.min()) < 0.0:
                raise InvalidInput(
                    f"`weights` has {float(shares.min())}, expected probabilities of at least 0: "
                    "pass how likely each point is."
                )
            total = float(shares.sum())
            if not abs(total - 1.0) <= 1e-6:
                hint = ": pass `weights / weights.sum()`" if total > 0.0 else ": pass other than 0"
                raise InvalidInput(f"`weights` sum to {total:.6g}, expected 1{hint}.")
            shares = shares / total
        object.__setattr__(self, "weights", shares)

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

    def sample(self, number: int, generator: torch.Generator) -> Tensor:
        """Independent values (number, dz)."""
        drawn = torch.multinomial(self.weights, number, replacement=True, generator=generator)
        return self.points[drawn]

    def values(
        self, number: int, generator: torch.Generator, spread: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Values (n, dz) and their weights (n,): all of them up to 1,024.

        Of more, `number` drawn by their weights, evenly over the list; with `spread` all of them,
        since the worst case may be any.
        """
        if spread or len(self) <= max(number, _MOST_VALUES):
            return self.points, self.weights
        offset = torch.rand((), generator=generator, dtype=torch.float64)
        marks = (torch.arange(number, dtype=torch.float64) + offset) / number
        drawn = torch.searchsorted(self.weights.cumsum(0), marks).clamp_max(len(self) - 1)
        return self.points[drawn], torch.full((number,), 1.0 / number, dtype=torch.float64)

    def index(self, value: Tensor) -> int | None:
        """Which value this (dz,) is, up to rounding; None if it is none of them."""
        apart = ((self.points - value).abs() / self._room).amax(-1)
        nearest = int(apart.argmin())
        return nearest if float(apart[nearest]) <= 1.0 else None

    @cached_property
    def _room(self) -> Tensor:  # (n, dz)
        """How far off a value still counts, never so far that it might be another."""
        room = 1e-9 * (self.upper - self.lower) + _ROUNDING * self.points.abs()
        for coordinate, column in enumerate(self.points.T):
            gaps = column.unique().diff()
            if len(gaps) > 0:
                room[:, coordinate].clamp_(max=float(gaps.min()) / 3.0)
        return room.clamp_min(1e-300)


@dataclass(frozen=True, eq=False, init=False)
class ContinuousEnvironment:
    """Z has a torch distribution over (dz,), independent coordinates where that is its batch.

    `lower` and `upper` (dz,) say between which values it lies; by default they are those of its
    support, or of many draws where it has no end. Raises `InvalidInput` for a distribution that is
    discrete or gives values outside the bounds.
    """

    distribution: Distribution
    lower: Tensor  # (dz,)
    upper: Tensor  # (dz,)
    ends: tuple[Tensor, Tensor]  # beyond which there is nothing, infinite where there are none
    _somewhere: Tensor

    def __init__(
        self,
        distribution: Distribution,
        lower: Tensor | Sequence | float | None = None,
        upper: Tensor | Sequence | float | None = None,
    ) -> None:
        object.__setattr__(self, "distribution", _as_vector(distribution))
        drawn = self.sample(_LOOKS, torch.Generator().manual_seed(0))
        if not bool(torch.isfinite(drawn).all()):
            raise InvalidInput(f"{distribution} gives values that are not finite.")
        object.__setattr__(self, "_somewhere", drawn[0])
        ends, bounds = list(_support(distribution, drawn)), [drawn.amin(0), drawn.amax(0)]
        for side, (name, given) in enumerate((("lower", lower), ("upper", upper))):
            if given is not None:
                wanted = checks.vector(name, checks.listed(given), drawn.shape[1])
                ends[side] = (torch.minimum if side else torch.maximum)(ends[side], wanted)
            bounds[side] = torch.where(torch.isfinite(ends[side]), ends[side], bounds[side])
            object.__setattr__(self, name, bounds[side])
        object.__setattr__(self, "ends", tuple(ends))
        outside = (drawn < self.lower - 1e-9) | (drawn > self.upper + 1e-9)
        if bool(outside.any()):
            raise InvalidInput(
                f"the environment gives values from {drawn.amin(0).tolist()} to "
                f"{drawn.amax(0).tolist()}, expected from {self.lower.tolist()} to "
                f"{self.upper.tolist()}: truncate it, for instance with `truncated_normal`."
            )

    @property
    def dimension(self) -> int:
        return len(self.lower)

    def sample(self, number: int, generator: torch.Generator) -> Tensor:
        """Independent values (number, dz)."""
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        with torch.random.fork_rng(devices=[]):  # torch's distributions draw from the global one
            torch.default_generator.manual_seed(seed)  # not those of any GPU
            with torch.no_grad():
                drawn = self.distribution.sample((number,))
        return drawn.reshape(number, -1).to(torch.float64)

    def quasi(self, number: int, generator: torch.Generator) -> Tensor:
        """Values (number, dz) that fill the distribution evenly, where its quantiles are known.

        Scrambled Sobol points through the quantile functions of independent coordinates;
        independent draws for any other distribution.
        """
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        sobol = torch.quasirandom.SobolEngine(self.dimension, scramble=True, seed=seed)
        unit = sobol.draw(number, dtype=torch.float64).clamp(1e-12, 1.0 - 1e-12)
        whole = self.distribution
        base = whole.base_dist if isinstance(whole, Independent) else whole
        try:
            values = base.icdf(unit.reshape(number, *base.batch_shape)).reshape(number, -1)
        except (NotImplementedError, RuntimeError):
            return self.sample(number, generator)
        return values.to(torch.float64).clamp(*self.ends)

    def values(
        self, number: int, generator: torch.Generator, spread: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Values (n, dz) that stand for Z, and their weights (n,).

        With `spread`, what may come counts and not how often: they then fill the bounds as far as
        the support goes, and the corners are among them.
        """
        z = self.quasi(number, generator)
        if spread:
            sobol = torch.quasirandom.SobolEngine(self.dimension)
            cube = sobol.draw(number, dtype=torch.float64)
            if self.dimension <= _MOST_CORNERS:
                sides = [torch.tensor([0.0, 1.0], dtype=torch.float64)] * self.dimension
                cube = torch.cat([cube, torch.cartesian_prod(*sides).reshape(-1, self.dimension)])
            filling = self.lower + (self.upper - self.lower) * cube
            z = torch.cat([z, filling[self._possible(filling)]])
        return z, torch.full((len(z),), 1.0 / len(z), dtype=torch.float64)

    def log_prob(self, values: Tensor) -> Tensor:  # (n, dz) -> (n,)
        """Log density, differentiable, -inf outside; `InvalidInput` if there is none."""
        whole, inside = self.distribution, self._possible(values)
        shape = *whole.batch_shape, *whole.event_shape
        # Torch refuses to say of what cannot be that its density is 0.
        somewhere = self._somewhere.to(values).expand_as(values)
        shaped = torch.where(inside.unsqueeze(-1), values, somewhere).reshape(-1, *shape)
        try:
            density = whole.log_prob(shaped).reshape(len(values))
        except NotImplementedError as error:
            named = whole.base_dist if isinstance(whole, Independent) else whole
            raise InvalidInput(
                f"{type(named).__name__} has no `log_prob`, and values go by their density: pass "
                'lacing="unif" (`policy=acquisition.ScorePolicy(lacing="unif")` to `Optimizer`), '
                "or a distribution that has one."
            ) from error
        return torch.where(inside, density, -torch.inf)

    def _possible(self, values: Tensor) -> Tensor:  # (n, dz) -> (n,)
        """Whether each is between the ends and in the support, which need not be a box."""
        whole = self.distribution
        low, high = (end.to(values) for end in self.ends)
        inside = ((values >= low) & (values <= high)).all(-1)
        if whole.support is None or not len(values):
            return inside
        shape = *whole.batch_shape, *whole.event_shape
        possible = whole.support.check(values.detach().reshape(-1, *shape))
        return inside & possible.reshape(len(values), -1).all(-1)


Environment = FiniteEnvironment | ContinuousEnvironment


def _rows(name: str, values: Tensor | Sequence) -> Tensor:
    """(n, dz), also from (n,), which is one coordinate."""
    try:
        given = torch.as_tensor(np.asarray(values, dtype=np.float64))
    except (TypeError, ValueError):
        return checks.matrix(name, values)
    return checks.matrix(name, given.unsqueeze(-1) if given.ndim == 1 else given)


def _as_vector(distribution: Distribution) -> Distribution:
    """The distribution of a vector (dz,), or of a number where dz = 1."""
    if not isinstance(distribution, Distribution):
        raise InvalidInput(
            f"`distribution` is {distribution!r}, expected a torch Distribution: pass "
            "`FiniteEnvironment(points, weights)` for values of which there are few."
        )
    try:
        discrete = distribution.support is not None and distribution.support.is_discrete
    except NotImplementedError as error:
        raise InvalidInput(
            f"{type(distribution).__name__} has no `support`: give it one, such as "
            "`torch.distributions.constraints.real`."
        ) from error
    if discrete:
        raise InvalidInput(
            f"{distribution} is discrete, expected one with a density: pass "
            "`FiniteEnvironment(points, weights)`."
        )
    if len(distribution.batch_shape) + len(distribution.event_shape) > 1:
        raise InvalidInput(
            f"{distribution} has batch shape {tuple(distribution.batch_shape)} and event shape "
            f"{tuple(distribution.event_shape)}, expected that of one vector (dz,)."
        )
    return Independent(distribution, 1) if distribution.batch_shape else distribution


def _support(distribution: Distribution, drawn: Tensor) -> tuple[Tensor, Tensor]:
    """The ends of the support (dz,), infinite where there are none."""
    support = distribution.support
    while isinstance(support, constraints.independent):
        support = support.base_constraint
    ends = []
    for name, none in (("lower_bound", -torch.inf), ("upper_bound", torch.inf)):
        end = torch.as_tensor(getattr(support, name, none), dtype=torch.float64)
        ends.append(end.expand_as(drawn[0]).clone())
    return ends[0], ends[1]
