"""Candidates: what policies read of the designs they choose from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor

from surefoot._internal.numbers import TINY, rows_at_once
from surefoot.beliefs.band import BandEnds
from surefoot.beliefs.estimands import Ends
from surefoot.beliefs.probability import LIKELY, Probability, Score
from surefoot.regression.draws import Path
from surefoot.regression.posterior import Posterior
from surefoot.risks.risk import support_only
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.finite_environment import NO_ENVIRONMENT, WeightFunction
from surefoot.spaces.locations import Location

if TYPE_CHECKING:
    from surefoot.beliefs.belief import Belief
    from surefoot.beliefs.outcome import OutcomeBelief


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


@dataclass(frozen=True, eq=False)
class Candidates:
    """Designs to choose from: bounds, risks and feasibility by a belief, for policies and scores.

    All values are in units of the posterior, those of the rewards as they are transformed.

    Args:
        belief: The belief.
        z: Values (m, dz) that represent the environment.
        weights_of_z: Their probabilities (m,), or a function of designs; see `weights_at`.

    Example:
        >>> import surefoot as sf
        >>> optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
        >>> info = optimizer.tell_all([[0.1], [0.5], [0.9]], [0.0, 1.0, 0.5])
        >>> candidates = optimizer.belief().candidates
        >>> x = torch.tensor([[0.2], [0.5]], dtype=torch.float64)
        >>> bool((candidates.bound(x, 2.0) > candidates.mean(x)).all())
        True
    """

    belief: Belief
    z: Tensor = NO_ENVIRONMENT.points
    weights_of_z: Tensor | WeightFunction = NO_ENVIRONMENT.weights

    @classmethod
    def sampled(cls, belief: Belief, number: int, generator: torch.Generator) -> Candidates:
        """Candidates with values of Z: all of a short list, else `number` that fill a density."""
        z, weights = belief.space.environment.values(number, generator, support_only(belief.risk))
        return cls(belief, z.to(belief.outcome.observations.sites.device), weights)

    def of(self, belief: Belief) -> Candidates:
        """The same values of Z under another belief."""
        return replace(self, belief=belief)

    @property
    def space(self) -> Arms | Box | Joint:
        """Domain to choose from."""
        return self.belief.space

    @property
    def posterior(self) -> Posterior:
        """Posterior of the transformed function, given pending queries too."""
        return self.belief.posterior

    @property
    def width(self) -> float:
        """Multiplier beta of the standard deviation in the bounds."""
        return self.belief.band.width

    @property
    def objectives(self) -> list[OutcomeBelief]:
        """Beliefs of the reward and of each outcome with the role objective that was measured."""
        known = self.belief.constraints
        return [self.belief.outcome, *(known.outcomes[name] for name in known.objectives)]

    def is_assured(self, x: Tensor) -> Tensor:
        """Whether the constraints hold with the confidence asked for (n,) at designs (n, dx)."""
        with torch.no_grad():
            chance = self.over_environment(self.belief.constraints.assurance, x)
            return self.belief.constraints.suffices(chance)

    @cached_property
    def feasible(self) -> Probability:
        """Probability (n,) that measuring at model inputs succeeds and all constraints hold."""
        return self.belief.failures.success & self.belief.constraints.prospect

    @property
    def round(self) -> int:
        """Number of rewards, told or pending."""
        return len(self.belief.outcome.observations) + self.belief.pending.missing

    @cached_property
    def sites(self) -> Tensor:
        """Distinct inputs of the model (S, d), measured or pending."""
        sites = self.belief.outcome.observations.sites
        if not len(self.belief.pending):
            return sites
        return torch.cat([sites, self.belief.pending.repeated(sites)[0]])

    @property
    def likely_sites(self) -> Tensor:
        """The sites where it is likely that all constraints hold; all if there are none."""
        if self.belief.constraints.probability.is_certain:
            return self.sites
        with torch.no_grad():
            holds = self.belief.constraints.prospect(self.sites) >= LIKELY
        return self.sites[holds] if bool(holds.any()) else self.sites

    @property
    def designs(self) -> Tensor:
        """Distinct designs (D, dx); on a `Joint` space those measured, else the sites."""
        return self.belief.measured if self.space.has_environment else self.sites

    def best_designs(self, number: int) -> Tensor:
        """The designs, or those of so many with the largest means that are known without search.

        Of many measured ones the mean follows from features that are known.
        """
        outcome, known = self.belief.outcome, self.belief.outcome.observations.sites
        if self.space.has_environment or len(known) <= number:
            return self.designs
        features, weights = outcome.sample.features, outcome.inferred.estimate.coefficients
        best = (features @ weights).topk(number).indices
        return torch.cat([known[best.to(known.device)], self.sites[len(known) :]])

    def weights_at(self, x: Tensor) -> Tensor:
        """Probabilities of the values of Z at designs x (n, dx): (m,), or (n, m) if they differ."""
        return (self.weights_of_z(x) if callable(self.weights_of_z) else self.weights_of_z).to(x)

    def bound(self, x: Tensor, width: float) -> Tensor:
        """The risk of mean + `width` * deviation (n,) at designs x (n, dx), differentiable.

        Where measurements have failed, a failure counts as the lowest value of any site: of mean -
        |width| * deviation, or of the lower bound where there is an environment. What an upper
        bound exceeds the best feasible design by counts with the probability that all constraints
        hold; see `constrained`. While no design probably satisfies them, it is `log_feasibility`.
        """
        if self.belief.constraints.probability.is_certain:
            return self._bound(x, width, self.belief.failures.success)
        if width <= 0.0:  # to recommend, where a violation is worse than any value
            return self._bound(x, width, self.feasible)
        if self.seeks_feasibility:
            return self.log_feasibility(x)
        return self.constrained(x, self._bound(x, width, self.belief.failures.success), self._means)

    def bound_at(self, location: Location, width: float) -> Tensor:
        """The same (1,) at the design of a location, looked up with those of all arms if known."""
        if not self.has_table:
            return self.bound(location.design.unsqueeze(0), width)
        return self.bound(self.space.design.points, width)[location.design_arm].reshape(1)  # type: ignore[union-attr]

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
        if self.belief.constraints.probability.is_certain:
            return values
        if self.seeks_feasibility:
            return self.log_feasibility(x)
        lowest = at_designs.min()
        best = (lowest + self._holds * (at_designs - lowest)).max()
        gain = values - best
        chance = self.over_environment(self.belief.constraints.prospect, x)
        return best + torch.where(gain > 0.0, chance * gain, gain)

    @cached_property
    def seeks_feasibility(self) -> bool:
        """Whether no measured design probably satisfies all constraints.

        The search is then for a first one that does, whatever its value.
        """
        certain = self.belief.constraints.probability.is_certain
        return not certain and bool((self._holds < LIKELY).all())

    def log_feasibility(self, x: Tensor) -> Tensor:
        """Logarithm (n,) of the probability that all is well at designs x (n, dx).

        All is well where the measurement succeeds and all constraints hold. Where nothing has held
        so far, that is most probable far from what was measured, or close to the limits. Beside
        values that are far beyond a limit and much alike, probabilities of their constraint differ
        by thousands of orders of magnitude, and more than the model knows: beside the probability
        of success that of the constraints counts with a tail of 2 degrees of freedom.

        References:
            Gelbart, Snoek and Adams 2014, "Bayesian optimization with unknown constraints",
            Section 3.2, for the search while nothing feasible is known.
        """
        points = self.space.inputs(x, self.z)
        logs = self.belief.constraints.log_prospect(points)
        if not self.belief.failures.success.is_certain:
            tailed = -torch.log1p(-logs)  # of Student's t(2), 1 / (1 + z²/2), for exp(-z²/2)
            logs = tailed + self.belief.failures.success(points).clamp_min(TINY).log()
        weights = self.weights_at(x).clamp_min(TINY).log()
        return (logs.reshape(len(x), len(self.z)) + weights).logsumexp(-1)

    def over_environment(self, chance: Score, x: Tensor) -> Tensor:
        """A probability at model inputs, (n, d) -> (n,), over Z at designs x (n, dx): (n,)."""
        chances = chance(self.space.inputs(x, self.z)).reshape(len(x), len(self.z))
        return (chances * self.weights_at(x)).sum(-1)

    def risk_of(self, function: Path, x: Tensor) -> Tensor:
        """The risk (n,) of a function of model inputs, (n, d) -> (n,), at designs x (n, dx)."""
        if not self.space.has_environment:
            return function(x)
        risks = [
            self.belief.risk(
                function(self.space.inputs(part, self.z)).reshape(len(part), len(self.z)),
                self.weights_at(part),
            )
            for part in self._chunks(x)
        ]
        return risks[0] if len(risks) == 1 else torch.cat(risks)

    def mean(self, x: Tensor) -> Tensor:
        """The risk of the posterior mean (n,) at designs x (n, dx), differentiable."""
        if self.space.has_environment:
            return self.bound(x, 0.0)
        return self.belief.band.predictive.mean(x)

    def bounds(self, x: Tensor, z: Tensor | None = None) -> Bounds:
        """Bounds for every design (n, dx) with every z (m, dz), differentiable in both."""
        points = self.space.inputs(x, self.z if z is None else z)
        bounds: Sequence[Tensor] = self.ends(points)
        if not self.feasible.is_certain:
            chance = self.feasible(points)
            bounds = [self._discounted(chance, one, self.width) for one in bounds]
        return Bounds(*(one.reshape(len(x), -1) for one in bounds))

    def bounds_at(self, location: Location) -> Bounds:
        """Bounds at a location, (1, 1), or of a design without an environment with every z, (1, m).

        They are looked up with those of all arms where these are known: on its own, a point costs a
        factorisation that rank-one updates spare.
        """
        z = location.environment
        if not self.has_table:
            x = location.design.unsqueeze(0)
            return self.bounds(x, None if z is None else z.unsqueeze(0).to(x))
        every = self.bounds(self.space.design.points)  # type: ignore[union-attr]
        if z is None:
            return Bounds(*(one[location.design_arm].unsqueeze(0) for one in every))
        return Bounds(*(one.reshape(-1, 1, 1)[location.arm] for one in every))

    @cached_property
    def has_table(self) -> bool:
        """Whether bounds at all designs with every z are looked up at once."""
        design = self.space.design
        if not isinstance(design, Arms):
            return False
        return self.belief.band.predictive.tabulates(self.space.inputs(design.points, self.z))

    def ends(self, points: Tensor) -> BandEnds:
        """Mean, lower and upper bound (n,) at model inputs (n, d), failures aside."""
        return self.belief.band.ends(points)

    def risks(self, x: Tensor) -> Ends:
        """The risks of mean, lower and upper bound (n,) at designs x (n, dx)."""
        risks = []
        for chunk in self._chunks(x):
            weights = self.weights_at(chunk)
            bounds = self.belief.band.clipped(self.bounds(chunk))
            risks.append(torch.stack([self.belief.risk(one, weights) for one in bounds]))
        mean, lower, upper = torch.cat(risks, -1)
        return mean, lower, upper

    @cached_property
    def _at_sites(self) -> tuple[Tensor, Tensor]:
        seen = self.space.seen
        if not isinstance(seen, Arms) or not self.belief.band.predictive.tabulates(seen.points):
            return self.belief.band.predictive.mean_and_deviation(self.sites)
        arms = torch.tensor([*self.belief.outcome.observations.arms, *self.belief.pending.arms])
        mean, deviation = self.belief.band.predictive.mean_and_deviation(seen.points)
        return mean[arms], deviation[arms]

    def _bound(self, x: Tensor, width: float, chance: Probability) -> Tensor:
        """The bound (n,) at designs x (n, dx), where `chance` is the probability of success."""
        if not self.space.has_environment:
            return self._shifted(x, width, abs(width), chance)
        return self.risk_of(lambda points: self._shifted(points, width, self.width, chance), x)

    def _shifted(self, points: Tensor, width: float, below: float, chance: Probability) -> Tensor:
        if width == 0.0:  # a small part of the time where it is integrated
            bound = self.belief.band.predictive.mean(points)
        else:
            share = width / self.width if self.width > 0.0 else 0.0
            bound = self.belief.band.bound(points, share)
        return bound if chance.is_certain else self._discounted(chance(points), bound, below)

    def _discounted(self, chance: Tensor, bound: Tensor, width: float) -> Tensor:
        """A bound (n,) where success has probability `chance` (n,), and failure is the lowest."""
        mean, deviation = self._at_sites
        return chance * bound + (1.0 - chance) * torch.add(mean, deviation, alpha=-width).min()

    @cached_property
    def _means(self) -> Tensor:
        """The bound of width 0 (D,) at the designs measured, constraints aside."""
        with torch.no_grad():
            return self._bound(self.designs, 0.0, self.belief.failures.success)

    @cached_property
    def _holds(self) -> Tensor:
        """Probability (D,) that all constraints hold at the designs measured."""
        with torch.no_grad():
            return self.over_environment(self.belief.constraints.prospect, self.designs)

    def _chunks(self, x: Tensor) -> tuple[Tensor, ...]:
        """Designs in chunks that bound the size of arrays over z's and features."""
        if self.has_table and self.space.lists(x, self.z):
            return (x,)
        return x.split(rows_at_once(len(self.z) * self.posterior.embedding.dimension))
