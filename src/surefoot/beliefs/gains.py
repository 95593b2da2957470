"""Improvement of some designs on another one, by the posterior of the function."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.spaces import Arms
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.beliefs.belief import Belief
    from surefoot.spaces import Box

_DRAWS = 1024  # functions drawn from the posterior
_DRAWN = 384  # designs at which they are drawn
_FILLING, _SURROUNDING = 2048, 512  # designs of which these are chosen
_REACH = (0.1, 0.03, 0.01)  # of those that surround one, in the unit cube
_LEAST = 1e-300  # deviation


def expected(belief: Belief, designs: Tensor, over: Tensor) -> Tensor:
    """Expected improvements (n,) of designs (n, dx) on another one (1, dx), without noise."""
    _check_no_environment(belief)
    with torch.no_grad():
        pairs = torch.stack([designs, over.expand_as(designs)], 1)  # (n, 2, dx)
        at = belief.outcome.integrated.joint(pairs)
        signs = designs.new_tensor([1.0, -1.0])
        mean = at.mean @ signs
        deviation = ((at.covariance @ signs) @ signs).clamp_min(0.0).sqrt().clamp_min(_LEAST)
        z = mean / deviation
        density = (-0.5 * z.square()).exp() / (2.0 * torch.pi) ** 0.5
        gains = deviation * (z * torch.special.ndtr(z) + density)
        return gains * belief.feasibility(designs)


def largest(belief: Belief, over: Tensor) -> Tensor:
    """Improvement (1024,) of the best design on one (1, dx) in functions drawn, as shares."""
    _check_no_environment(belief)
    generator = torch.Generator().manual_seed(0)
    points = candidates(belief.space.design, over.cpu(), generator).to(over.device)
    if not bool(belief.is_assured(over)):
        return torch.full((_DRAWS,), torch.inf, dtype=torch.float64)
    reported = belief.reported
    with torch.no_grad():
        mean, deviation = reported.band.predictive.mean_and_deviation(points)
        best = (mean + 3.0 * deviation).topk(min(_DRAWN, len(points))).indices
        points = torch.cat([over, points[best]])
        drawn = belief.outcome.integrated.draws(points, _DRAWS, generator)
        values = belief.comparable(drawn)
        changes = values[1:] - values[:1]
        holds = belief.constraints.draws(points[1:], _DRAWS, generator)
        largest = torch.where(holds, changes, -torch.inf).amax(0).cpu()
        if belief.is_ratio:
            sign = 1.0 if belief.units.is_increasing else -1.0
            return sign * (sign * largest).expm1()
        value = belief.at_inputs(over)[0].abs().cpu()
    return (largest / value).nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf)


def candidates(space: Arms | Box, at: Tensor, generator: torch.Generator) -> Tensor:
    """Designs (n, dx) that fill a space and surround one (1, dx); all arms."""
    if isinstance(space, Arms):
        return space.points.cpu()
    filling = space.sample(_FILLING, generator)
    reach = torch.tensor(_REACH, dtype=torch.float64).repeat_interleave(_SURROUNDING // 3)[:, None]
    noise = torch.randn(len(reach), at.shape[1], dtype=torch.float64, generator=generator)
    return torch.cat([filling.cpu(), space.snap(at + reach * noise * space.span).cpu()])


def _check_no_environment(belief: Belief) -> None:
    if belief.space.has_environment:
        raise InvalidInput("the space has an environment, over whose risk no gain is known.")
