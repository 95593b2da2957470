"""What a policy knows when it chooses where to measure next."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import torch
from torch import Tensor

from surefoot.acquisition.estimands import LOCATION, RewardFunctional
from surefoot.acquisition.integrated import Integrated
from surefoot.hyperparameters.uncertainty import Certain, Uncertainty
from surefoot.regression.draws import Path
from surefoot.regression.observations import Observations
from surefoot.regression.posterior import Posterior
from surefoot.regression.units import IDENTITY, Warp
from surefoot.risks.risk import Risk, support_only
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.finite_environment import NO_ENVIRONMENT, WeightFunction
from surefoot.spaces.pending import PendingQueries
from surefoot.types import InvalidInput

Score = Callable[[Tensor], Tensor]  # designs (n, dx) -> (n,), differentiable, larger is better

ScoreRule = Callable[["Context"], Score]  # an acquisition function

_STRIP = 2**18  # numbers in temporary arrays: larger ones do not fit the cache
_NONE = torch.zeros(0, 0, dtype=torch.float64)
_KNOWN = Certain()


def _no_prior(generator: torch.Generator) -> Path:
    raise InvalidInput("functions are to be drawn, but this `Context` has no `prior`: pass one.")


class Bounds(NamedTuple):
    """Bounds of the function for every design with every environment, in reward units.

    Args:
        mean: Posterior mean (n, m).
        lower: Lower confidence bound (n, m).
        upper: Upper confidence bound (n, m).
    """

    mean: Tensor
    lower: Tensor
    upper: Tensor


@dataclass(eq=False)  # not frozen, which takes two microseconds of each round
class Context:
    """The state of an optimization at one round; a policy is a function of it.

    A space without an environment is treated as one whose environment has a single value of no
    coordinates, so that a risk over it is the function itself, and its designs are its points.

    Args:
        space: The space to choose from.
        risk: What is maximised over the environment, `Mean()` without one.
        posterior: Posterior of the function, conditioned on pending queries.
        width: The multiplier beta of the standard deviation in the bounds.
        observations: The rewards, by distinct inputs of the model.
        pending: The pending queries.
        generator: Source of all randomness.
        measured: Distinct designs (D, dx) that were measured, on a `Joint` space; else empty.
        success: Probability (n,) that measuring at model inputs (n, d) succeeds; None if no
            measurement has failed.
        constraints: Probability (n,) that all constraints hold at model inputs (n, d); None without
            constraints.
        prior: Draws a function of the prior, model inputs (n, d) -> (n,), in the model's units.
        z: Values (m, dz) that stand for the environment; see `sampled`.
        weights: Their probabilities (m,), or a function of designs; see `weights_at`.
        memory: What the policy keeps from one choice to the next: numbers, tensors, and lists and
            dicts of them. It is saved with the run; only `choose` may change it.
        warp: Transformation of the rewards that the posterior is of.
        hyperparameter_uncertainty: What is not known of the hyperparameters.
        estimand: What is reported of the rewards at a design.
    """

    space: Arms | Box | Joint
    risk: Risk
    posterior: Posterior
    width: float
    observations: Observations
    pending: PendingQueries
    generator: torch.Generator
    measured: Tensor = _NONE
    success: Score | None = None
    constraints: Score | None = None
    prior: Callable[[torch.Generator], Path] = _no_prior
    z: Tensor = NO_ENVIRONMENT.points
    weights: Tensor | WeightFunction = NO_ENVIRONMENT.weights
    memory: dict[str, Any] = field(default_factory=dict)
    warp: Warp = IDENTITY
    hyperparameter_uncertainty: Uncertainty = _KNOWN
    estimand: RewardFunctional = LOCATION

    @cached_property
    def feasible(self) -> Score | None:
        """Probability (n,) that measuring at model inputs succeeds and all constraints hold."""
        return both(self.success, self.constraints)

    @property
    def round(self) -> int:
        """Number of rewards, told or pending."""
        return len(self.observations) + self.pending.missing

    @cached_property
    def sites(self) -> Tensor:
        """Distinct inputs of the model (S, d), measured or pending."""
        sites = self.observations.sites
        if not len(self.pending):
            return sites
        return torch.cat([sites, self.pending.repeated(sites)[0]])

    @property
    def designs(self) -> Tensor:
        """Distinct designs (D, dx); on a `Joint` space those measured, else the sites."""
        return self.measured if self.space.has_environment else self.sites

    def sampled(self, number: int, generator: torch.Generator | None = None) -> Context:
        """The same with values of Z: all of a short list, else `number` that fill a density."""
        z, weights = self.space.environment.values(
            number, generator or self.generator, support_only(self.risk)
        )
        device = self.designs.device
        known = weights if callable(weights) else weights.to(device)
        return replace(self, z=z.to(device), weights=known)

    def integrated(self, uncertainty: Uncertainty) -> Context:
        """The same with the posterior integrated over what is not known of the hyperparameters."""
        return replace(self, posterior=Integrated(self.posterior, uncertainty))

    def under(self, risk: Risk) -> Context:
        """The same for another risk."""
        return self if risk is self.risk else replace(self, risk=risk)

    def weights_at(self, x: Tensor) -> Tensor:
        """Probabilities of the values of Z at designs x (n, dx): (m,), or (n, m) if they differ."""
        return self.weights(x) if callable(self.weights) else self.weights

    def bound(self, x: Tensor, width: float) -> Tensor:
        """The risk of mean + `width` * deviation (n,) at designs x (n, dx), differentiable.

        Where measurements have failed, a failure counts as the lowest value of any site: of mean -
        |width| * deviation, or of the lower bound where there is an environment. What an upper
        bound exceeds the best feasible design by counts with the probability that all constraints
        hold; see `constrained`.
        """
        if self.constraints is None:
            return self._bound(x, width, self.success)
        if width <= 0.0:  # to recommend, where a violation is worse than any value
            return self._bound(x, width, self.feasible)
        return self.constrained(x, self._bound(x, width, self.success), self._means)

    def constrained(self, x: Tensor, values: Tensor, at_designs: Tensor) -> Tensor:
        """Values, whose gain over the best feasible design counts with its probability.

        The best design for which the constraints probably hold remains what is recommended if they
        do not hold at the one measured next, so that one loses nothing by trying.

        Args:
            x: Designs (n, dx).
            values: Upper bounds or draws (n,) at these designs.
            at_designs: Means or draws (D,) at the designs measured.

        References:
            Schonlau et al. 1998, "Global versus local search in constrained optimization of
            computer models", for the product of improvement and probability.
        """
        if self.constraints is None:
            return values
        lowest = at_designs.min()
        best = (lowest + self._holds * (at_designs - lowest)).max()
        gain = values - best
        chance = self.over_environment(self.constraints, x)
        return best + torch.where(gain > 0.0, chance * gain, gain)

    def over_environment(self, chance: Score, x: Tensor) -> Tensor:
        """A probability at model inputs, (n, d) -> (n,), over Z at designs x (n, dx): (n,)."""
        chances = chance(self.space.inputs(x, self.z)).reshape(len(x), -1)
        return (chances * self.weights_at(x).to(chances)).sum(-1)

    def risk_of(self, function: Path, x: Tensor) -> Tensor:
        """The risk (n,) of a function of model inputs, (n, d) -> (n,), at designs x (n, dx)."""
        if not self.space.has_environment:
            return function(x)
        risks = []
        for part in self._chunks(x):
            values = function(self.space.inputs(part, self.z)).reshape(len(part), -1)
            risks.append(self.risk(values, self.weights_at(part)))
        return risks[0] if len(risks) == 1 else torch.cat(risks)

    def mean(self, x: Tensor) -> Tensor:
        """The risk of the posterior mean (n,) at designs x (n, dx), differentiable."""
        return self.bound(x, 0.0) if self.space.has_environment else self.posterior.mean(x)

    def bounds(self, x: Tensor, z: Tensor | None = None) -> Bounds:
        """Bounds for every design (n, dx) with every z (m, dz), differentiable in both."""
        points = self.space.inputs(x, self.z if z is None else z)
        mean, deviation = self.posterior.mean_and_deviation(points)
        reach = self.width * deviation
        bounds = [mean, mean - reach, mean + reach]
        if self.feasible is not None:
            chance = self.feasible(points)
            bounds = [self._discounted(chance, one, self.width) for one in bounds]
        return Bounds(*(one.reshape(len(x), -1) for one in bounds))

    def risks(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The risks of mean, lower and upper bound (n,) at designs x (n, dx)."""
        risks = []
        for chunk in self._chunks(x):
            weights = self.weights_at(chunk).to(self.designs)
            risks.append(torch.stack([self.risk(one, weights) for one in self.bounds(chunk)]))
        mean, lower, upper = torch.cat(risks, -1)
        return mean, lower, upper

    @cached_property
    def _at_sites(self) -> tuple[Tensor, Tensor]:
        seen = self.space.seen
        if not isinstance(seen, Arms) or not self.posterior.tabulates(seen.points):
            return self.posterior.mean_and_deviation(self.sites)
        arms = torch.tensor([*self.observations.arms, *self.pending.arms])
        mean, deviation = self.posterior.mean_and_deviation(seen.points)
        return mean[arms], deviation[arms]

    def _bound(self, x: Tensor, width: float, chance: Score | None) -> Tensor:
        """The bound (n,) at designs x (n, dx), where `chance` is the probability of success."""
        if not self.space.has_environment:
            return self._shifted(x, width, abs(width), chance)
        return self.risk_of(lambda points: self._shifted(points, width, self.width, chance), x)

    def _shifted(self, points: Tensor, width: float, below: float, chance: Score | None) -> Tensor:
        mean, deviation = self.posterior.mean_and_deviation(points)
        bound = torch.add(mean, deviation, alpha=width)
        return bound if chance is None else self._discounted(chance(points), bound, below)

    def _discounted(self, chance: Tensor, bound: Tensor, width: float) -> Tensor:
        """A bound (n,) where success has probability `chance` (n,), and failure is the lowest."""
        mean, deviation = self._at_sites
        worst = torch.add(mean, deviation, alpha=-width).min()
        return chance * bound + (1.0 - chance) * worst

    @cached_property
    def _means(self) -> Tensor:
        """The bound of width 0 (D,) at the designs measured, constraints aside."""
        with torch.no_grad():
            return self._bound(self.designs, 0.0, self.success)

    @cached_property
    def _holds(self) -> Tensor:
        """Probability (D,) that all constraints hold at the designs measured."""
        with torch.no_grad():
            return self.over_environment(self.constraints, self.designs)  # type: ignore[arg-type]

    def _chunks(self, x: Tensor) -> tuple[Tensor, ...]:
        """Designs in chunks that bound the size of arrays over z's and features."""
        space = self.space
        if space.lists(x, self.z) and self.posterior.tabulates(space.inputs(x, self.z)):
            return (x,)
        each = len(self.z) * max(self.posterior.embedding.dimension, 1)
        return x.split(max(1, _STRIP // each))


def both(left: Score | None, right: Score | None) -> Score | None:
    """The product of two probabilities, either of which may be missing."""
    if left is None or right is None:
        return right if left is None else left
    return lambda points: left(points) * right(points)
