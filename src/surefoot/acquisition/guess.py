"""A guess of where the optimum is, which fades with the evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition.policy import UpperConfidenceBound
from surefoot.acquisition.scores import ScoreRule
from surefoot.beliefs import Candidates
from surefoot.beliefs.probability import Score
from surefoot.spaces import Box
from surefoot.types import InvalidInput

_WIDTH = 0.15  # standard deviation of the optimum about the guess, in extents of the box
_FARTHEST = 8.0  # log densities below that of the guess, beyond which all is as improbable
_NEAR = 2.0  # log densities, within which a design is near the guess
_STRENGTH = 4.0  # rounds, after which a log density weighs a standard deviation of the rewards


@dataclass(frozen=True)
class Guess:
    r"""Prior density of the optimum, normal about guessed coordinates and flat in the others.

    Args:
        values: Guessed values by the index of a coordinate.

    Raises:
        InvalidInput: If a value is not a finite number.
    """

    values: Mapping[int, float]

    def __post_init__(self) -> None:
        for column, value in self.values.items():
            checks.finite(f"values[{column}]", value)

    def log_density(self, x: Tensor, box: Box) -> Tensor:
        """Log density (n,) of the optimum at points (n, d) of a box, less that at the guess."""
        columns, at = self._on(x)
        squared = 0.5 * ((x[:, columns] - at) / box.span[columns]).square().sum(-1) / _WIDTH**2
        # bounded, so that no evidence is outweighed for ever
        return -_FARTHEST * (1.0 - (-squared / _FARTHEST).exp())

    def moved(self, points: Tensor, box: Box, generator: torch.Generator) -> Tensor:
        """Points (n, d) of a design: the guess, then every second point drawn about it."""
        columns, at = self._on(points)
        noise = torch.randn(len(points), len(columns), dtype=torch.float64, generator=generator)
        noise[:1] = 0.0
        near = points.clone()
        near[:, columns] = at + _WIDTH * box.span[columns] * noise.to(points)
        chosen = torch.arange(len(points)).to(points.device) % 2 == 0
        moved = torch.stack([box.on_boundary(point) for point in box.snap(near)])
        return torch.where(chosen[:, None], moved, points)

    def _on(self, like: Tensor) -> tuple[list[int], Tensor]:
        at = torch.tensor([*self.values.values()], dtype=like.dtype, device=like.device)
        return [*self.values], at


@dataclass(frozen=True)
class NearGuess:
    r"""A score of designs, weighted by the density of a guess with an exponent that fades.

    After n rounds, :math:`\log \pi(x)` counts with :math:`4 s p^2 / n`: s is the scale of the
    rewards, and p the probability that the best design measured near the guess is better than the
    best one elsewhere, so that a guess counts fully once it has proved good.
    So a wrong guess fades as soon as what was measured contradicts it, any guess with the rounds.

    Args:
        guess: The guess.
        score: Function of candidates and a generator that returns a score of designs.

    References:
        Hvarfner et al. 2022, "piBO: augmenting acquisition functions with user beliefs for Bayesian
        optimization", for the exponent that falls as 1 / n.
    """

    guess: Guess
    score: ScoreRule = field(default_factory=lambda: UpperConfidenceBound(integrated=True))

    def __call__(self, candidates: Candidates, generator: torch.Generator) -> Score:
        score, box = self.score(candidates, generator), candidates.space.design
        if not isinstance(box, Box):
            raise InvalidInput("a guess is for a `Box`, or a `parameters.Space`.")
        with torch.no_grad():
            share = self._support(candidates, box)
        weight = _STRENGTH * candidates.posterior.scale * share**2 / max(candidates.round, 1)
        return lambda x: score(x) + weight * self.guess.log_density(x, box)

    def _support(self, candidates: Candidates, box: Box) -> float:
        """Probability that the best design near the guess is better than the best one elsewhere."""
        designs = candidates.designs
        values = candidates.mean(designs)
        near = self.guess.log_density(designs, box) > -_NEAR
        if not bool(near.any()) or bool(near.all()):
            return 1.0
        pair = [int(values.masked_fill(out, -torch.inf).argmax()) for out in (~near, near)]
        inputs = candidates.space.inputs(designs[pair], candidates.z[-1:])
        mean, covariance = candidates.posterior.joint(inputs)
        deviation = (covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]).clamp_min(0.0)
        gap = float((mean[0] - mean[1]) / deviation.sqrt().clamp_min(1e-300))
        return float(torch.special.ndtr(torch.tensor(gap, dtype=torch.float64)))
