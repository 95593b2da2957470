"""Pairs of a design and an environment as the points of one box."""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot.spaces import Arms, Box, FiniteEnvironment, Joint

_REACH = (0.0, 0.1, 0.1, 0.02, 0.02)  # standard deviations of perturbations, of the box


class Pairs:
    """Pairs (x, z) as points of one box: coordinates of x, then of z.

    What is listed (arms, the values of a finite environment) has its number as the only
    coordinate.

    Args:
        joint: The space.
        z: Values (m, dz) that represent the environment.
        among: The only designs (n, dx) to choose from, None for all of the space.
    """

    def __init__(self, joint: Joint, z: Tensor, among: Tensor | None) -> None:
        design, environment = joint.design, joint.environment
        arms = design.points if isinstance(design, Arms) else None
        self.designs = arms if among is None else among  # (A, dx), None where they fill a box
        self.environments = z if isinstance(environment, FiniteEnvironment) else None
        if isinstance(design, Box) and self.designs is None:
            first = design
        else:
            first = _numbers(len(self.designs))  # type: ignore[arg-type]
        if self.environments is None:
            second = Box(environment.lower, environment.upper)
        else:
            second = _numbers(len(z))
        self._split = first.dimension
        levels = dict(first.levels) | {self._split + c: v for c, v in second.levels.items()}
        self.box = Box(
            torch.cat([first.lower.cpu(), second.lower.cpu()]),
            torch.cat([first.upper.cpu(), second.upper.cpu()]),
            levels={c: values.cpu() for c, values in levels.items()},
            choices=first.choices,
            arcs=first.arcs,
            active=first.active,
            region=first.region,
        ).to(z.device)

    def __call__(self, points: Tensor) -> tuple[Tensor, Tensor]:  # (b, e) -> (b, dx), (b, dz)
        """Designs and environments, differentiable where they are not listed."""
        x, z = points[:, : self._split], points[:, self._split :]
        if self.designs is not None:
            x = self.designs[x[:, 0].round().long()]
        if self.environments is not None:
            z = self.environments[z[:, 0].round().long()]
        return x, z

    @property
    def all(self) -> Tensor | None:
        """Every pair (A m, 2) if they are finitely many, else None."""
        if self.designs is None or self.environments is None:
            return None
        numbers = (torch.arange(len(part)) for part in (self.designs, self.environments))
        return torch.cartesian_prod(*numbers).to(self.box.lower)

    def under_all(self, point: Tensor) -> Tensor:  # (e,) -> (m, e)
        """The design of a pair with every environment, if they are listed; else the pair itself."""
        if self.environments is None:
            return point.unsqueeze(0)
        number = len(self.environments)
        every = point.repeat(number, 1)
        every[:, -1] = torch.arange(number).to(point)
        return every

    def around(self, designs: Tensor, generator: torch.Generator) -> Tensor:
        """Designs (a, dx) and perturbed copies of them, each under a random environment."""
        reach = torch.tensor(_REACH).to(designs).repeat_interleave(len(designs))
        points = self.box.sample(len(reach), generator)
        noise = torch.randn(len(reach), self._split, dtype=torch.float64, generator=generator)
        span = self.box.span[: self._split]
        moved = designs.repeat(len(_REACH), 1) + reach.unsqueeze(-1) * span * noise.to(designs)
        return self.box.snap(torch.cat([moved, points[:, self._split :]], -1))


def _numbers(number: int) -> Box:
    """The numbers from 0 to `number` - 1 as the levels of one coordinate."""
    return Box([-0.5], [number - 0.5], levels={0: torch.arange(number, dtype=torch.float64)})
