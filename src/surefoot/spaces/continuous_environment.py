"""Random environments with a density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, constraints

from surefoot._internal import checks
from surefoot._internal.brief import brief
from surefoot._internal.numbers import LAST_DIGITS, ROUNDING
from surefoot.types import InvalidInput

_MAX_CORNER_DIMENSION = 6  # coordinates up to which all corners of the support are included
_HALVINGS = 16  # of draws that have the quantiles of a distribution without `icdf`


@dataclass(frozen=True, eq=False, init=False)
class ContinuousEnvironment:
    """Random environment Z with a torch distribution.

    Args:
        distribution: Distribution of vectors (dz,), or a batch (dz,) of independent coordinates.
        lower: Lower bounds (dz,) of Z. By default those of the support or, where it is unbounded,
            the minimum of 4,096 draws.
        upper: Upper bounds (dz,), likewise.

    Raises:
        InvalidInput: If the distribution is discrete, lacks a support or draws values outside the
            bounds.

    Example:
        >>> import torch
        >>> environment = ContinuousEnvironment(torch.distributions.Beta(2.0, 5.0))
        >>> environment.lower.item(), environment.upper.item()
        (0.0, 1.0)
        >>> environment.sample(3, torch.Generator().manual_seed(0)).shape
        torch.Size([3, 1])
    """

    distribution: Distribution
    """Distribution of vectors (dz,)."""
    lower: Tensor
    """Lower bounds (dz,)."""
    upper: Tensor
    """Upper bounds (dz,)."""
    ends: tuple[Tensor, Tensor]
    """Ends (dz,) of the support, infinite where it is unbounded."""
    _inside: Tensor  # (dz,), some value of positive density
    finite: ClassVar[bool] = False
    weights_vary: ClassVar[bool] = False

    __repr__ = brief

    def __init__(
        self,
        distribution: Distribution,
        lower: Tensor | Sequence | float | None = None,
        upper: Tensor | Sequence | float | None = None,
    ) -> None:
        object.__setattr__(self, "distribution", _as_vector(distribution))
        drawn = self.sample(4096, torch.Generator().manual_seed(0))  # of which the bounds are
        if not bool(torch.isfinite(drawn).all()):
            raise InvalidInput(f"{distribution} gives values that are not finite.")
        object.__setattr__(self, "_inside", drawn[0])
        ends, bounds = list(_support(distribution, drawn)), [drawn.amin(0), drawn.amax(0)]
        for side, (name, given) in enumerate((("lower", lower), ("upper", upper))):
            if given is not None:
                wanted = checks.vector(name, checks.listed(given), drawn.shape[1])
                ends[side] = (torch.minimum if side else torch.maximum)(ends[side], wanted)
            bounds[side] = torch.where(torch.isfinite(ends[side]), ends[side], bounds[side])
            object.__setattr__(self, name, bounds[side])
        object.__setattr__(self, "ends", tuple(ends))
        room = ROUNDING * (self.upper - self.lower)
        if bool(((drawn < self.lower - room) | (drawn > self.upper + room)).any()):
            raise InvalidInput(
                f"the environment gives values from {drawn.amin(0).tolist()} to "
                f"{drawn.amax(0).tolist()}, expected from {self.lower.tolist()} to "
                f"{self.upper.tolist()}: truncate it, for instance with `truncated_normal`."
            )

    @property
    def dimension(self) -> int:
        """Number of coordinates dz."""
        return len(self.lower)

    def sample(self, number: int, generator: torch.Generator) -> Tensor:
        """Draw independent values.

        Args:
            number: Number of values n.
            generator: Source of randomness.

        Returns:
            Values (n, dz).
        """
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        with torch.random.fork_rng(devices=[]):  # torch distributions use the global one
            torch.default_generator.manual_seed(seed)  # leaves those of GPUs alone
            with torch.no_grad():
                drawn = self.distribution.sample((number,))
        return drawn.reshape(number, -1).to(torch.float64)

    def sample_at(self, designs: Tensor, generator: torch.Generator) -> Tensor:
        """Draw one value for each design, on which the distribution does not depend.

        Args:
            designs: Designs (q, dx).
            generator: Source of randomness.

        Returns:
            Values (q, dz).
        """
        return self.sample(len(designs), generator)

    def quasi(self, number: int, generator: torch.Generator) -> Tensor:
        """Draw quasi-random values.

        Args:
            number: Number of values n.
            generator: Source of the scrambling.

        Returns:
            Values (n, dz): scrambled Sobol points mapped by the quantile functions (`icdf`) of the
            coordinates; those of 65,536 draws from a distribution without them, which are halved
            at medians of the coordinates in turn (of the others given the halves so far).
        """
        seed = int(torch.randint(2**31 - 1, (), generator=generator))
        sobol = torch.quasirandom.SobolEngine(self.dimension, scramble=True, seed=seed)
        unit = sobol.draw(number, dtype=torch.float64).clamp(LAST_DIGITS, 1.0 - LAST_DIGITS)
        base = _base(self.distribution)
        try:
            values = base.icdf(unit.reshape(number, *base.batch_shape)).reshape(number, -1)
        except (NotImplementedError, RuntimeError):
            index = torch.zeros(number, dtype=torch.int64)
            for halving in range(_HALVINGS):
                at = unit[:, halving % self.dimension].mul_(2.0)
                index = 2 * index + (at >= 1.0)
                at.remainder_(1.0)
            values = self._halved[index]
        return values.to(torch.float64).clamp(*self.ends)

    @cached_property
    def _halved(self) -> Tensor:  # (2**_HALVINGS, dz)
        """Draws, sorted within halves of halves along the coordinates in turn."""
        cells = self.sample(2**_HALVINGS, torch.Generator().manual_seed(0)).unsqueeze(0)
        for halving in range(_HALVINGS):
            order = cells[..., halving % self.dimension].argsort(1).unsqueeze(-1)
            cells = cells.gather(1, order.expand_as(cells)).reshape(
                2 * len(cells), -1, self.dimension
            )
        return cells.squeeze(1)

    def values(
        self, number: int, generator: torch.Generator, spread: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Discretise the distribution, for the evaluation of a risk.

        Args:
            number: Number of quasi-random values.
            generator: Source of the scrambling.
            spread: Whether the support matters rather than the probabilities, as for the worst
                case; values that fill the support evenly, with its corners, are added then.

        Returns:
            Values (n, dz) and their weights (n,), which are equal.
        """
        z = self.quasi(number, generator)
        if spread:
            cube = torch.quasirandom.SobolEngine(self.dimension).draw(number, dtype=torch.float64)
            if self.dimension <= _MAX_CORNER_DIMENSION:
                sides = [torch.tensor([0.0, 1.0], dtype=torch.float64)] * self.dimension
                cube = torch.cat([cube, torch.cartesian_prod(*sides).reshape(-1, self.dimension)])
            filling = self.lower + (self.upper - self.lower) * cube
            z = torch.cat([z, filling[self._in_support(filling)]])
        return z, torch.full((len(z),), 1.0 / len(z), dtype=torch.float64)

    def examples(self, number: int, generator: torch.Generator) -> Tensor:
        """Values (number, dz) to try a function at: independent draws."""
        return self.sample(number, generator)

    def lists(self, z: Tensor) -> bool:
        """Whether values z (m, dz) that represent Z are all that there are: never."""
        return False

    def index(self, value: Tensor) -> None:
        """Index of a value (dz,) in a list of values: there is none."""

    def checked(self, value: Tensor) -> Tensor:
        """A value (dz,) of Z.

        Raises:
            InvalidInput: If it is outside the range of Z.
        """
        room, (low, high) = ROUNDING * (self.upper - self.lower), self.ends
        if bool(((value < low - room) | (value > high + room)).any()):
            raise InvalidInput(
                f"the environment {value.tolist()} is outside its range from {low.tolist()} to "
                f"{high.tolist()}: give the environment a distribution that reaches there."
            )
        return value

    def likelihood(self, z: Tensor, weights: Tensor) -> Tensor:
        """How likely values z (m, dz) of Z with these weights (m,) are: their log densities.

        Raises:
            InvalidInput: If the distribution has no `log_prob`.
        """
        return self.log_prob(z.cpu()).to(weights.device)

    def log_prob(self, values: Tensor) -> Tensor:
        """Log density, differentiable.

        Args:
            values: Values (n, dz).

        Returns:
            Log densities (n,), -inf outside the support.

        Raises:
            InvalidInput: If the distribution has no `log_prob`.
        """
        distribution, inside = self.distribution, self._in_support(values)
        shape = *distribution.batch_shape, *distribution.event_shape
        # Torch raises an error for values outside the support.
        inner = self._inside.to(values).expand_as(values)
        shaped = torch.where(inside.unsqueeze(-1), values, inner).reshape(-1, *shape)
        try:
            density = distribution.log_prob(shaped).reshape(len(values))
        except NotImplementedError as error:
            name = type(_base(distribution)).__name__
            raise InvalidInput(
                f"{name} has no `log_prob`, by which lacing values are chosen: pass "
                'lacing="unif" (`policy=acquisition.ScorePolicy(lacing="unif")` to `Optimizer`), '
                "or a distribution that has one."
            ) from error
        return torch.where(inside, density, -torch.inf)

    def _in_support(self, values: Tensor) -> Tensor:  # (n, dz) -> (n,)
        """Whether each is within the ends and in the support, which need not be a box."""
        distribution = self.distribution
        low, high = (end.to(values) for end in self.ends)
        inside = ((values >= low) & (values <= high)).all(-1)
        if distribution.support is None or not len(values):
            return inside
        shape = *distribution.batch_shape, *distribution.event_shape
        possible = distribution.support.check(values.detach().reshape(-1, *shape))
        return inside & possible.reshape(len(values), -1).all(-1)


def _as_vector(distribution: Distribution) -> Distribution:
    """Check a distribution and reinterpret a batch (dz,) as a vector."""
    if not isinstance(distribution, Distribution):
        raise InvalidInput(
            f"`distribution` is {distribution!r}, expected a torch Distribution: pass "
            "`FiniteEnvironment(points, weights)` for finitely many values."
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
    """Ends of the support (dz,), infinite where it is unbounded."""
    support = distribution.support
    while isinstance(support, constraints.independent):
        support = support.base_constraint
    lower, upper = (
        torch.as_tensor(getattr(support, name, none), dtype=torch.float64)
        for name, none in (("lower_bound", -torch.inf), ("upper_bound", torch.inf))
    )
    return lower.expand_as(drawn[0]).clone(), upper.expand_as(drawn[0]).clone()


def _base(distribution: Distribution) -> Distribution:
    """The distribution of the coordinates, if they are independent."""
    return distribution.base_dist if isinstance(distribution, Independent) else distribution
