"""A test problem under risk: a known function of designs and a random environment, and noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from scipy.optimize import OptimizeResult, minimize
from torch import Tensor
from torch.quasirandom import SobolEngine

from surefoot import Box, FiniteEnvironment, InvalidInput, Joint
from surefoot.risks import Risk, support_only
from surefoot_experiments.problems.arguments import matrix
from surefoot_experiments.problems.moments import Bounded, largest_magnitude
from surefoot_experiments.problems.noise import Generator, Noise, uniform

_VALUES = 2**12  # that stand for a continuous environment
_PAIRS = 2**18  # of a design and an environment, at once
_LOOKED_AT = (512, 2048, 4096)  # designs, by dimension, before the best of them are refined
_ANCHORS = 8  # of which so many are

Function = Callable[[Tensor], Tensor]
Summary = Callable[[Tensor, Tensor], Tensor]
"""Of values (k, m) at designs (k, dx) under every environment, (k,)."""


@dataclass(frozen=True, eq=False)
class RiskProblem(Bounded):
    """A function f(x, Z) whose risk over Z is to be maximised in x, from noisy measurements of f.

    `function` takes points (n, dx + dz), those of x followed by those of z, and gives (n,) without
    noise. `initial` is how many first points an experiment measures before it chooses. Where
    `function` is slow, `approximation` of it is what risks are worked out from.
    """

    name: str
    joint: Joint  # designs in a `Box`
    function: Function
    noise: Noise
    risk: Risk
    initial: int
    approximation: Function | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.joint.design, Box):
            raise InvalidInput(f"`joint.design` is {self.joint.design!r}, expected a `Box`.")

    def value(
        self,
        x: Tensor,  # (n, dx)
        z: Tensor,  # (m, dz)
    ) -> Tensor:  # (n, m)
        """The function without noise, of every x with every z; `InvalidInput` for wrong shapes."""
        return self._values(self.function, x, z)

    def measure(
        self,
        x: Tensor,  # (dx,)
        z: Tensor,  # (dz,)
        generator: Generator,
    ) -> float:
        """One noisy measurement. As many draws whatever x and z, so methods can share the noise."""
        value = self.value(x.unsqueeze(0), z.unsqueeze(0))[0, 0]
        return float(value + self.noise.sample(1, generator)[0])

    def first_points(self, generator: Generator) -> tuple[Tensor, Tensor]:
        """`initial` random designs (n, dx) and environments (n, dz) to measure first.

        Designs are uniform in the box. Environments are uniform among a finite number of values,
        however likely these are, and uniform between the bounds of a continuous environment, as in
        the experiments of Nguyen et al. 2021.
        """
        box, environment = self._box, self.joint.environment
        unit = torch.from_numpy(uniform((self.initial, box.dimension), generator))
        if isinstance(environment, FiniteEnvironment):
            chosen = torch.from_numpy(uniform((self.initial,), generator)) * len(environment)
            z = environment.points[chosen.long().clamp_max(len(environment) - 1)]
        else:
            share = torch.from_numpy(uniform((self.initial, environment.dimension), generator))
            z = environment.lower + (environment.upper - environment.lower) * share
        return box.lower + box.span * unit, z

    def risk_of(
        self,
        designs: Tensor,  # (n, dx)
    ) -> Tensor:  # (n,)
        """The risk of f(x, Z) at each design.

        Exact over finitely many values, and from 2^12 quasi-random ones, always the same, where
        the environment is continuous. `InvalidInput` for a wrong shape.
        """
        _, weights = self.environments

        def risk(values: Tensor, x: Tensor) -> Tensor:
            return self.risk(values, weights(x) if callable(weights) else weights)

        return self._over_environments(designs, risk)

    @cached_property
    def environments(self) -> tuple[Tensor, Tensor | Function]:
        """The values of Z (m, dz) that risks are computed from, with their weights (m,).

        A function of designs in place of the weights where they depend on the design.
        """
        return self.joint.environment.values(
            _VALUES, torch.Generator().manual_seed(0), support_only(self.risk)
        )

    @cached_property
    def best(self) -> Tensor:  # (dx,)
        """The design of largest risk.

        The best 8 of many Sobol points (512 in one dimension, 4,096 in three), each refined by
        Nelder and Mead's simplex, and the best of these once more. It needs no derivative, which
        a value at risk has not everywhere.
        """
        box = self._box
        number = _LOOKED_AT[min(box.dimension, len(_LOOKED_AT)) - 1]
        sobol = SobolEngine(box.dimension).draw(number, dtype=torch.float64)
        order = self.risk_of(box.lower + box.span * sobol).argsort(descending=True)
        spacing = number ** (-1.0 / box.dimension)
        refined = [self._refined(start, spacing) for start in sobol[order[:_ANCHORS]].numpy()]
        highest = min(refined, key=lambda found: found.fun)
        unit = torch.from_numpy(self._refined(highest.x, 0.1 * spacing).x)
        return box.lower + box.span * unit

    @cached_property
    def optimum(self) -> float:
        """The largest risk, that of `best`; found once, which takes seconds where f is slow."""
        return float(self.risk_of(self.best.unsqueeze(0)))

    def regret(
        self,
        designs: Tensor,  # (n, dx)
    ) -> Tensor:  # (n,)
        """How far the risk of each design lies below the largest."""
        return self.optimum - self.risk_of(designs)

    @cached_property
    def largest(self) -> float:  # type: ignore[override]  # worked out when asked for
        """max|f| over designs and environments, as far as a search finds it."""

        def magnitude(designs: Tensor) -> Tensor:
            return self._over_environments(designs, lambda values, _: values.abs().amax(1))

        return largest_magnitude(magnitude, self._box.lower, self._box.upper)

    def _over_environments(
        self,
        designs: Tensor,  # (n, dx)
        summary: Summary,
    ) -> Tensor:  # (n,)
        z, _ = self.environments
        function = self.approximation or self.function
        parts = designs.split(max(1, _PAIRS // len(z)))
        return torch.cat([summary(self._values(function, part, z), part) for part in parts])

    def _refined(self, start: np.ndarray, reach: float) -> OptimizeResult:
        """A maximum near a point of the unit cube."""
        box = self._box

        def loss(unit: np.ndarray) -> float:
            return -float(self.risk_of(box.lower + box.span * torch.from_numpy(unit)[None]))

        # Steps lead into the cube, else points on its faces would have no extent.
        corners = np.vstack([start, start + reach * np.diag(np.where(start < 0.5, 1.0, -1.0))])
        return minimize(
            loss,
            start,
            method="Nelder-Mead",
            bounds=[(0.0, 1.0)] * box.dimension,
            options={"initial_simplex": corners, "xatol": 1e-7, "fatol": 1e-9},
        )

    @property
    def _box(self) -> Box:
        return self.joint.design  # type: ignore[return-value]  # checked on making it

    def _values(self, function: Function, x: Tensor, z: Tensor) -> Tensor:
        x, z = matrix("x", x), matrix("z", z)
        shapes = (x.shape[1], z.shape[1])
        wanted = (self.joint.dimension, self.joint.environment.dimension)
        if shapes != wanted:
            raise InvalidInput(
                f"`x` has {shapes[0]} coordinates and `z` {shapes[1]}, expected {wanted[0]} and "
                f"{wanted[1]}."
            )
        return function(self.joint.points(x, z).flatten(0, 1)).reshape(len(x), len(z))
