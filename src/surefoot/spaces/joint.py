"""Joint spaces of designs x and a random environment Z, for risk-averse optimisation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.spaces.arms import Arms
from surefoot.spaces.box import Box, as_space, no_space
from surefoot.spaces.environments import ContinuousEnvironment, Environment, FiniteEnvironment
from surefoot.spaces.locations import TRIED_AT, EnvironmentValue, Location, Where
from surefoot.types import InvalidInput

Perturbation = Callable[[Tensor, Tensor], Tensor]
"""Function of designs x (n, dx) and environments z (n, dz) that returns points (n, d)."""


@dataclass(frozen=True, eq=False)
class Joint:
    """Product of designs and a random environment, the space of a risk-averse optimisation.

    The unknown function is f(x, z) of the coordinates of x followed by those of z, or
    f(perturbation(x, z)).

    Args:
        design: Designs x, the decision: `Arms`, `Box` or `parameters.Space`.
        environment: Distribution of the environment Z: `FiniteEnvironment` or
            `ContinuousEnvironment`.
        observed: Whether z is drawn from the environment during a measurement, and passed to
            `tell` with the reward; otherwise the optimizer chooses it. The regret bounds of the
            algorithms require a chosen z (Nguyen et al. 2021, Remark 1).
        perturbation: Optional map from x and z to the point at which the function is evaluated.
            Control noise is `lambda x, z: x + z`; `lambda x, z: x + x * z` is noise in proportion
            to x. An environment whose density depends on x is a function of x and of one whose
            density does not, `lambda x, u: torch.cat([x, m(x) + s(x) * u], -1)`. It must be
            differentiable in x where the designs are a `Box`.

    Raises:
        InvalidInput: If the arguments do not fit each other.

    References:
        Nguyen et al. 2021, "Value-at-risk optimization with Gaussian processes".

    Example:
        >>> import torch
        >>> from surefoot.spaces import Box, FiniteEnvironment
        >>> space = Joint(Box([0.0], [1.0]), FiniteEnvironment([-1.0, 0.0, 1.0]))
        >>> space.points(torch.tensor([[0.5]]), torch.tensor([[-1.0], [1.0]])).tolist()
        [[[0.5, -1.0], [0.5, 1.0]]]
    """

    design: Arms | Box
    environment: Environment
    observed: bool = False
    perturbation: Perturbation | None = None
    has_environment: ClassVar[bool] = True
    is_elsewhere: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "design", as_space(self.design))
        if not isinstance(self.design, Arms | Box):
            raise no_space("design", self.design, "`Arms`, `Box` or `parameters.Space`")
        if not isinstance(self.environment, FiniteEnvironment | ContinuousEnvironment):
            raise InvalidInput(
                f"`environment` is {self.environment!r}, expected `FiniteEnvironment(points, "
                "weights)` or `ContinuousEnvironment(distribution)`."
            )
        if self.design.is_elsewhere:
            raise InvalidInput(
                "the table of the arms is `Sharded`, which is for arms without an environment: "
                "pass arms with another `storage`."
            )
        checks.truth("observed", self.observed)
        if self.weights_vary:
            self._check_weights(self.environment)  # type: ignore[arg-type]
        if self.perturbation is not None:
            self._check_perturbation(self.perturbation)
        elif not self.environment.finite and not self.design.has_coordinates:
            raise InvalidInput(
                "`Arms` without coordinates go with a `FiniteEnvironment`, whose points they "
                "are crossed with: pass `Arms(points)` with their coordinates."
            )

    @property
    def _indexed(self) -> bool:
        """Whether pairs are represented by their index, for arms without coordinates."""
        return self.perturbation is None and not self.design.has_coordinates

    @property
    def weights_vary(self) -> bool:
        """Whether the probabilities of the environment depend on the design."""
        return self.environment.weights_vary

    @property
    def dimension(self) -> int:
        """Number of coordinates dx of a design."""
        return self.design.dimension

    @cached_property
    def seen(self) -> Arms | Box:
        """Domain of f: all pairs as `Arms` if both factors are finite, a bounding `Box` otherwise.

        Design i and environment j of n are arm i * n + j. It is on the device of the designs.
        """
        return self._domain.to(self.design.lower.device)

    @property
    def _domain(self) -> Arms | Box:
        if isinstance(self.design, Arms) and isinstance(self.environment, FiniteEnvironment):
            if self._indexed:
                return Arms(len(self.design) * len(self.environment))
            pairs = self.points(self.design.points, self.environment.points)
            return Arms(pairs.reshape(-1, pairs.shape[-1]))
        if self.perturbation is not None:
            around = self._some_points()
            lower, upper = around.amin(0), around.amax(0)
        else:
            lower, upper = (
                torch.cat([own, z.to(own)])
                for own, z in (
                    (self.design.lower, self.environment.lower),
                    (self.design.upper, self.environment.upper),
                )
            )
        flat = (upper - lower <= 0.0).to(lower)  # coordinates with one value have no extent
        return Box(lower - 0.5 * flat, upper + 0.5 * flat)

    @property
    def discrete(self) -> Sequence[tuple[list[int], Tensor]]:
        """Columns of each discrete variable of the designs in points of f, and its values."""
        return self.design.discrete if self.perturbation is None or self.conditions else []

    @property
    def conditions(self) -> list[tuple[list[int], Tensor]]:
        """Columns of each variable of a finite environment in points of f, and its values."""
        if isinstance(self.seen, Arms) or not isinstance(self.environment, FiniteEnvironment):
            return []
        ends = torch.stack([self.design.lower, self.design.upper])
        seen, first = self.points(ends, self.environment.points), self.dimension  # (2, m, d)
        at = seen[0, :, first:]
        if at.shape[-1] != self.environment.dimension or not bool((seen[:, :, first:] == at).all()):
            return []  # it is the design that varies, as by control noise
        return [
            ([first + column], values.unique().unsqueeze(-1))
            for column, values in enumerate(at.unbind(-1))
        ]

    def condition(self, column: int, value: Tensor) -> tuple[int, float]:
        """Index of a variable of the environment and its value, from one of `conditions`."""
        known = self.environment.points  # type: ignore[union-attr]
        index = column - self.dimension
        seen = self.points(self.design.lower.unsqueeze(0), known)[0, :, column]
        return index, float(known[int((seen - value).abs().argmin()), index])

    def points(self, x: Tensor, z: Tensor) -> Tensor:
        """Points of f for every combination of designs and environments.

        Args:
            x: Designs (n, dx).
            z: Environments (m, dz).

        Returns:
            Points (n, m, d).
        """
        if self._indexed:
            return (x * len(self.environment) + self._indices(z)).unsqueeze(-1)  # type: ignore[arg-type]
        designs = x.unsqueeze(1).expand(-1, len(z), -1)
        environments = z.to(x).unsqueeze(0).expand(len(x), -1, -1)
        if self.perturbation is None:
            return torch.cat([designs, environments], -1)
        seen = self.perturbation(designs.reshape(-1, x.shape[1]), environments.flatten(0, 1))
        return seen.reshape(len(x), len(z), -1)

    def inputs(self, x: Tensor, z: Tensor) -> Tensor:
        """The same points in one list, (n * m, d): those of `seen` themselves where it has them."""
        if self.lists(x, z):
            return self.seen.points  # type: ignore[union-attr]
        return self.points(x, z).flatten(0, 1)

    def lists(self, x: Tensor, z: Tensor) -> bool:
        """Whether every design x under every value z is a point of `seen`, in their order."""
        return self.design.lists(x, z) and self.environment.lists(z)

    def pairs(self, x: Tensor, z: Tensor) -> Tensor:
        """Points of f for corresponding designs and environments.

        Args:
            x: Designs (n, dx).
            z: Environments (n, dz).

        Returns:
            Points (n, d).
        """
        if self._indexed:
            return x * len(self.environment) + self._indices(z).unsqueeze(-1)  # type: ignore[arg-type]
        if self.perturbation is None:
            return torch.cat([x, z.to(x)], -1)
        return self.perturbation(x, z.to(x))

    def _indices(self, z: Tensor) -> Tensor:  # (m, dz) -> (m,)
        """Indices of values in the finite environment."""
        return (self.environment.points.to(z) - z.unsqueeze(1)).abs().sum(-1).argmin(-1)  # type: ignore[union-attr]

    def pair(self, design_arm: int | None, z: Tensor) -> int | None:
        """Arm of `seen` for a pair.

        Args:
            design_arm: Index of the design, None if the designs are a `Box`.
            z: Environment (dz,).

        Returns:
            The index of the pair, None if `seen` is a `Box` or z not a value of the environment.
        """
        if design_arm is None:
            return None
        index = self.environment.index(z)
        return None if index is None else design_arm * len(self.environment) + index  # type: ignore[arg-type]

    def location(self, design: Tensor, arm: int | None, environment: Tensor) -> Location:
        """The location of a design (dx,), with its index on `Arms`, under a z (dz,)."""
        own = self.design.location(design, arm)
        design = own.design + 0.0  # no negative zeros: keys are bytes
        environment = environment.to(design) + 0.0
        pair = self.pair(arm, environment)
        point = (
            self.seen.points[pair]
            if pair is not None and isinstance(self.seen, Arms)
            else self.points(design.unsqueeze(0), environment.unsqueeze(0))[0, 0]
        )
        return Location(point, pair, design, arm, environment, own.params)

    def locate(self, where: Where, environment: EnvironmentValue = None) -> Location:
        """The location of a design, by its point (dx,) or its arm, under an environment (dz,).

        Raises:
            InvalidInput: If there is no such design or environment, or no environment is given.
        """
        design = self.design.locate(where)
        if environment is None:
            space = "a `Joint` space with `observed=True`" if self.observed else "a `Joint` space"
            raise InvalidInput(
                f"`environment` is required for the design {design.design.tolist()} on {space}: "
                "pass `environment=z` with the reward."
            )
        if isinstance(environment, bool):
            raise InvalidInput(f"`environment` is {environment!r}, expected numbers (dz,).")
        z = checks.vector("environment", checks.listed(environment), self.environment.dimension)
        return self.location(design.design, design.arm, self.environment.checked(z))

    def listed(self, arms: Tensor | Sequence) -> Sequence[Location]:
        """Designs, by indices (n,) or points (n, dx), without an environment yet."""
        return self.design.listed(arms)

    def spread(self, number: int, generator: torch.Generator) -> list[Location]:
        """An initial design: designs spread evenly, environments drawn from their distribution.

        Every arm comes once before any comes twice.
        """
        designs: list[Location] = []
        while len(designs) < number:
            designs += self.design.spread(number - len(designs), generator)
        if not designs:
            return []
        z = self.environment.sample_at(torch.stack([one.design for one in designs]), generator)
        return [self.location(x.design, x.arm, one) for x, one in zip(designs, z, strict=True)]

    def to(self, device: str | torch.device) -> Joint:
        """Move to a device.

        Args:
            device: A torch device.

        Returns:
            The same space with the designs on that device; environments are moved when used.

        Raises:
            InvalidInput: If the device cannot be used.
        """
        return Joint(self.design.to(device), self.environment, self.observed, self.perturbation)

    def _some_points(self) -> Tensor:
        generator = torch.Generator().manual_seed(0)
        x = self.design.examples(64, generator)
        return self.points(x, self.environment.examples(256, generator)).flatten(0, 1)

    def _check_weights(self, environment: FiniteEnvironment) -> None:
        """`InvalidInput` for weights that are no function of these designs."""
        x = self.design.examples(TRIED_AT, torch.Generator().manual_seed(0))
        try:
            environment.weights_at(x.clone().requires_grad_(not self.design.finite))
        except InvalidInput:
            raise
        except Exception as error:
            raise InvalidInput(
                f"`weights` of designs {tuple(x.shape)} failed, expected probabilities "
                f"({len(x)}, {len(environment)}) that are computed with torch: {error}"
            ) from error

    def _check_perturbation(self, perturbation: Perturbation) -> None:
        if not callable(perturbation):
            raise InvalidInput(
                f"`perturbation` is {perturbation!r}, expected a function of x (n, dx), z (n, dz)."
            )
        generator = torch.Generator().manual_seed(0)
        x = self.design.examples(0, generator)[:1].repeat(2, 1)
        z = self.environment.sample_at(x, generator)
        tracked = x.clone().requires_grad_(not self.design.finite)
        try:
            seen = perturbation(tracked, z.to(x))
            checks.matrix("perturbation(x, z)", seen.detach())
        except Exception as error:
            raise InvalidInput(
                f"`perturbation` of x {tuple(x.shape)} and z {tuple(z.shape)} failed, expected "
                f"finite points (2, d): {error}"
            ) from error
        if seen.ndim != 2 or len(seen) != 2:
            raise InvalidInput(
                f"`perturbation` of x {tuple(x.shape)} and z {tuple(z.shape)} has shape "
                f"{tuple(seen.shape)}, expected (2, d)."
            )
        if not self.design.finite and not seen.requires_grad:
            raise InvalidInput(
                "`perturbation` has no gradient in x, expected one that is differentiable: write "
                "it with torch, without `detach` or NumPy."
            )
        if not bool(torch.isfinite(self._some_points()).all()):
            raise InvalidInput(
                "`perturbation` gives values that are NaN or infinite for some designs and "
                "environments, expected finite points for all of them."
            )


def checked_space(space: object) -> Arms | Box | Joint:
    """The space, that of named parameters encoded; `InvalidInput` for anything else."""
    found = as_space(space)
    if not isinstance(found, Arms | Box | Joint):
        raise no_space("space", space, "`Arms`, `Box`, `parameters.Space` or `Joint`")
    return found
