"""Beliefs of the constraints of an optimization, and the probability that all of them hold."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.numbers import CONFIDENT, FEW_ENOUGH, OF_95, ROUNDING, TINY
from surefoot.beliefs.estimands import of_measured_sign
from surefoot.beliefs.intervals import Credible
from surefoot.beliefs.outcome import OutcomeBelief
from surefoot.beliefs.probability import Probability
from surefoot.regression.levels import levels_of
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import Predictive
from surefoot.regression.regression import OUTLIER_WEIGHT
from surefoot.regression.transforms import Affine, Chain
from surefoot.types import Constraint, Outcome

UNLIKELY = 0.05
"""Probability that all constraints hold, below which a point of the initial design is left out."""

_REPEATED = 2  # values equal to a limit, which is not by chance
_FAR_WITHIN = 8.0  # median absolute deviations of values on a level
_FEW = 2  # sites on a level, which outliers may share
_AGREED = 0.99  # probability that a limit holds where the values are on such a level


AT_ZERO = Constraint(maximum=0.0)
"""Limit of constraints that were not declared, as in Optuna."""


class PredictedLimit(NamedTuple):
    """A constraint without noise at n inputs, in its own units.

    Args:
        value: Posterior medians (n,).
        lower: Lower ends (n,) of the 95 % credible intervals.
        upper: Upper ends (n,).
        probability: Probabilities (n,) that it holds.
        contrary: Means (n,) of the measurements that contradict the model, of which the interval
            and the probability are, too; NaN where none do.
    """

    value: Tensor
    lower: Tensor
    upper: Tensor
    probability: Tensor
    contrary: Tensor


@dataclass(frozen=True, eq=False)
class ConstraintBelief:
    """Belief of one constraint, as the margin to its limit.

    Args:
        limit: The limit.
        margin: Belief of the margin, 0 at the limit and positive within it.
        pulls: Pending pulls, whose values are taken to be as predicted where it is searched.
    """

    limit: Constraint
    margin: OutcomeBelief
    pulls: Sequence[Pull] = ()

    def probability(self, points: Tensor) -> Tensor:
        """Probability (n,) that the constraint holds at inputs (n, d), without noise.

        Where all measurements of a site are on the other side of the limit than the model has it,
        by more than noise explains, they are outliers or the model is wrong, with even odds. They
        are neither where they agree with those of other sites on a level within the limit.
        """
        chance = self._prospect(points, self._stated)
        chance = torch.lerp(chance, torch.zeros_like(chance), self._doubt(points, holds=False))
        alike = (points[:, None] == self.margin.observations.sites[self._agreed]).all(-1).any(-1)
        return torch.where(alike, chance.clamp_min(_AGREED), chance)

    def prospect(self, points: Tensor) -> Tensor:
        """The probability (n,) to search by: measurements that break the limit are outliers.

        Near them there is most to learn of where the limit is; the model is wrong only where they
        keep it.
        """
        return self._prospect(points, self._searched)

    def _prospect(self, points: Tensor, posterior: Predictive) -> Tensor:
        """The same (n,) by a posterior of the margin."""
        chance = self._modelled(points, posterior)
        return torch.lerp(chance, torch.ones_like(chance), self._doubt(points, holds=True))

    def log_prospect(self, points: Tensor) -> Tensor:
        """Logarithm (n,) of the prospect, which tells apart what is all but impossible."""
        mean, deviation = _moments(self._searched, points)
        log_chance = torch.special.log_ndtr((mean - self._at_limit) / deviation)
        if not bool(self._disputed[True].any()):
            return log_chance
        doubt = self._doubt(points, holds=True)
        return torch.logaddexp(torch.log1p(-doubt) + log_chance, doubt.clamp_min(TINY).log())

    def shortfall(self, points: Tensor) -> Tensor:
        """How far the mean is beyond the limit (n,), in units of the posterior's output scale."""
        return (self._at_limit - self._known.mean(points)).clamp_min(0.0) / self._known.scale

    def assurance(self, points: Tensor) -> Tensor:
        """The probability (n,), on a scale where 0.95 is the confidence asked for.

        The probability p of a constraint of confidence c becomes p ** (log 0.95 / log c), so that a
        product of 0.95 implies p >= c for each, and with c = 0.95 for all, 0.95 for all of them.
        """
        return self._scaled(self.probability(points))

    def safety(self, points: Tensor) -> Tensor:
        """The probability (n,) to measure by where the limit must not be broken, on that scale.

        A site whose values break the limit where the model has it hold may be an outlier or beyond
        the edge of what is safe, with even odds, however large the noise is thought to be. That is
        so as far as the function is correlated with it, and not at other sites.
        """
        return self._scaled(self.prospect(points) * (1.0 - self._unsettled(points)))

    def _scaled(self, chance: Tensor) -> Tensor:
        power = math.log(CONFIDENT) / math.log(self.limit.confidence)
        return chance if power == 1.0 else chance.clamp_min(TINY).pow(power)

    def predict(self, points: Tensor) -> PredictedLimit:
        """The constraint without noise at inputs (n, d), in its own units.

        Where the limit is met with equality, all that holds by the posterior is within the limit.
        Where measurements contradict the model, the interval is that of both. It has the signs of
        the measurements, and of what would break the limit.
        """
        mean, deviation = _moments(self._stated, points)
        margin = Credible().width(self.margin) * deviation
        goal = goal_of(self.limit)
        units = goal.then(*self.margin.transform.parts)
        low, middle, high = (
            units.inverse(torch.where(value < self._at_limit, value, value.clamp_min(self._limit)))
            for value in (mean - margin, mean, mean + margin)
        )
        lower, upper = torch.minimum(low, high), torch.maximum(low, high)
        contrary = goal.inverse(self._contrary(points))
        lower, upper = torch.fmin(lower, contrary), torch.fmax(upper, contrary)
        margins = self.margin.observations.rewards
        signs = goal.inverse(torch.cat([margins, margins.new_tensor([-TINY])]))
        middle, lower, upper = of_measured_sign((middle, lower, upper), signs)
        return PredictedLimit(middle, lower, upper, self.probability(points), contrary)

    def _contrary(self, points: Tensor) -> Tensor:
        """Mean margin (n,) of the nearest site in dispute, if it is within a 95 % interval."""
        found = torch.full_like(points[:, 0], math.nan)
        observations = self.margin.at_reference
        for holds in (False, True):
            disputed = self._disputed[holds]
            if bool(disputed.any()):
                means = (observations.sums / observations.counts)[disputed]
                sites = observations.sites[disputed]
                near = kernels.correlation(self.margin.fitted.kernel, points, sites).argmax(-1)
                likely = self._doubt(points, holds=holds) > 0.5 * math.erfc(OF_95 / math.sqrt(2.0))
                found = torch.where(likely, means[near], found)
        return found

    def holds(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Whether the constraint holds (n, number) at inputs (n, d) in functions drawn."""
        return self._stated.draws(points, number, generator) >= self._at_limit

    @cached_property
    def _limit(self) -> float:
        """The margin 0, as it is transformed."""
        return float(self.margin.transform(self.margin.observations.rewards.new_zeros(())))

    @cached_property
    def _at_limit(self) -> float:
        """Value of the posterior from which on the constraint holds.

        That where the margin is 0; where the limit is met with equality, as by a quantity that is 0
        or 1, half way from there to the closest value that violates it. A single value that is
        equal to the limit may have been so by chance, if others are within it.
        """
        margins, units, limit = self.margin.observations.rewards, self.margin.transform, self._limit
        if int((margins == 0.0).sum()) < (_REPEATED if bool((margins > 0.0).any()) else 1):
            return limit
        below = margins[margins < 0.0]
        if not len(below):
            return limit - self.margin.posterior.scale
        return 0.5 * (limit + float(units(below.max())))

    @cached_property
    def _disputed(self) -> tuple[Tensor, Tensor]:
        """Masks (S,) of sites whose measurements all are where the model does not have them.

        Of those that break the limit where the model has it hold, and of the opposite.
        """
        margin, units, observations = self.margin, self.margin.transform, self.margin.at_reference
        rewards, noise = observations.rewards, margin.noise
        with torch.no_grad():
            mean = self._known.mean(observations.sites)
            modelled = mean >= self._at_limit
            # In its own units, since distances to outliers and other levels are transformed.
            expected = units.inverse(mean)[observations.site]
            distance = (rewards - expected).abs()
            slope = torch.maximum(units.log_slope(rewards), units.log_slope(expected)).exp()
            spread = (noise.variance + noise.errors) ** 0.5 / slope
        doubted, holds = distance > OF_95 * spread, rewards >= 0.0
        masks = []
        for held in (False, True):
            some = (doubted & (holds == held)).to(mean)
            all_of_them = torch.zeros_like(mean).index_add(0, observations.site, some)
            masks.append((all_of_them == observations.counts) & (modelled != held))
        return masks[0], masks[1]

    @cached_property
    def _agreed(self) -> Tensor:
        """Mask (S,) of sites all of whose values are on a level within the limit.

        A level has values of several sites, and the limit is in the gap below it: by its spread
        they are far within, and outliers do not agree. It is no level where noise explains the gap,
        as between counts, or where the fit takes most of its values for outliers.
        """
        observations = self.margin.at_reference
        rewards, site = observations.rewards, observations.site
        on_level = torch.zeros_like(rewards, dtype=torch.bool)
        gaps = levels_of(rewards).gaps
        ends = [low for low, _ in (*gaps[1:], (math.inf, math.inf))]
        for (low, high), end in zip(gaps, ends, strict=False):
            if low < 0.0 <= high:
                level = rewards[(rewards >= high) & (rewards <= end)]
                far = (level - level.median()).abs().median() * _FAR_WITHIN
                near = (rewards - level.median()).abs() <= far + ROUNDING * level.abs().max()
                steps = (high - low) * (rewards >= high).to(rewards)
                sides = self.margin.transform.log_slope(level.median()).exp() * steps.std()
                if (
                    float(level.median() - far) >= 0.0
                    and int(site[near].unique().numel()) > _FEW
                    and self.margin.noise.variance < 0.5 * float(sides) ** 2
                    and float(self.margin.weights[near].median()) >= OUTLIER_WEIGHT
                ):
                    on_level = near
        share = torch.zeros_like(observations.counts).index_add(0, site, on_level.to(rewards))
        return share == observations.counts

    def _doubt(self, points: Tensor, *, holds: bool) -> Tensor:
        """Probability (n,) that the model is wrong: half at a disputed site, 0 at any other.

        Args:
            points: Inputs (n, d).
            holds: Whether the constraint held in the measurements in dispute.
        """
        return self._even_odds(points, self._disputed[holds])

    def _even_odds(self, points: Tensor, disputed: Tensor) -> Tensor:
        """Half (n,) at disputed sites, as a mask (S,), and 0 at all others.

        In between it goes by the squares of the distances to both, so that it does not reach past
        the sites around, and as far as the function is correlated with a disputed site.
        """
        if not bool(disputed.any()):
            return points.new_zeros(len(points))
        kernel, sites = self.margin.fitted.kernel, self.margin.observations.sites
        alike, others = (
            kernels.correlation(kernel, points, some).amax(-1).clamp_min(TINY)
            for some in (sites[disputed], sites[~disputed])
        )
        near, other = alike.log().square(), others.log().square()
        return 0.5 * alike * other / (near + other).clamp_min(TINY)

    @cached_property
    def broken(self) -> Tensor:
        """Mask (S,) of measured sites of whose values half or more break the limit."""
        observations = self.margin.observations
        broke = (observations.rewards < 0.0).to(observations.counts)
        share = torch.zeros_like(observations.counts).index_add(0, observations.site, broke)
        return share >= 0.5 * observations.counts

    def _unsettled(self, points: Tensor) -> Tensor:
        """Probability (n,) that a site breaks the limit where the model has it hold."""
        with torch.no_grad():
            mean = self._known.mean(self.margin.observations.sites)
        unsettled = self.broken & (mean >= self._at_limit)
        if bool(unsettled.all()):
            return points.new_full((len(points),), 0.5)
        return self._even_odds(points, unsettled)

    def _modelled(self, points: Tensor, posterior: Predictive) -> Tensor:
        """Probability (n,) that the constraint holds by a posterior of the margin.

        Integrated over the hyperparameters it is the mean over their samples: the normal
        distribution of the moments of all has the tails of the one that knows least.
        """
        if posterior is self.margin.posterior or (
            posterior is self._searched and not self.limit.safe
        ):
            mean, deviation = _moments(posterior, points)
            return torch.special.ndtr((mean - self._at_limit) / deviation)
        means, covariances = posterior.components(points.unsqueeze(-2))
        deviations = covariances[..., 0, 0].clamp_min(0.0).sqrt()
        deviations = deviations.clamp_min(ROUNDING * posterior.scale)
        return torch.special.ndtr((means[..., 0] - self._at_limit) / deviations).mean(-1)

    @cached_property
    def _stated(self) -> Predictive:
        """What is said of the margin: integrated over the hyperparameters of few values.

        Not over an environment, at each of whose values a probability would be found.
        """
        many = len(self.margin.observations) > FEW_ENOUGH
        if many or self.margin.model.space.has_environment:
            return self.margin.posterior
        return self.margin.uncertainty.smooth.over(self.margin.posterior)

    @property
    def _known(self) -> Predictive:
        """What is searched by, pending queries aside: the likeliest, unless it must not break."""
        return self._stated if self.limit.safe else self.margin.posterior

    @cached_property
    def _searched(self) -> Predictive:
        """What is searched by; nothing that is not measured makes anything safer."""
        if self.limit.safe or not self.pulls:
            return self._known
        return self.margin.posterior.updated(self.pulls)


def _moments(posterior: Predictive, points: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and deviation (n,) of a margin at inputs (n, d), as it is transformed."""
    mean, deviation = posterior.mean_and_deviation(points)
    return mean, deviation.clamp_min(ROUNDING * posterior.scale)


@dataclass(frozen=True, eq=False)
class ConstraintBeliefs:
    """Beliefs of all constraints that have been measured.

    Constraints are taken to be independent, and to hold where their value without noise does. All
    probabilities are of those measured: of one that is `unmeasured` nothing is known.

    Args:
        limits: Declared limits by name.
        find: Function that returns the beliefs of all further outcomes by name, as goals that are
            maximised; called once, when they are asked for.
        measured: Names of the constraints with at least one value.
        objectives: Names of the further objectives with at least one value.
        pulls: Pending pulls.

    References:
        Gardner et al. 2014, "Bayesian optimization with inequality constraints".
    """

    limits: Mapping[str, Constraint] = field(default_factory=dict)
    find: Callable[[], Mapping[str, OutcomeBelief]] = dict
    measured: tuple[str, ...] = ()
    objectives: tuple[str, ...] = ()
    pulls: Sequence[Pull] = ()

    def __len__(self) -> int:
        return len(self.measured)

    @property
    def unmeasured(self) -> tuple[str, ...]:
        """Names of the declared limits without a value, which may hold nowhere."""
        return tuple(name for name in self.limits if name not in self.measured)

    @cached_property
    def outcomes(self) -> Mapping[str, OutcomeBelief]:
        """Belief of each further outcome that has been measured, as a goal that is maximised."""
        return self.find()

    @cached_property
    def beliefs(self) -> Mapping[str, ConstraintBelief]:
        """Belief of each constraint that has been measured."""
        return {
            name: ConstraintBelief(self.limits.get(name, AT_ZERO), self.outcomes[name], self.pulls)
            for name in self.measured
        }

    @cached_property
    def probability(self) -> Probability:
        """Probability that all constraints hold, as a function of inputs (n, d)."""
        return self._of_all(ConstraintBelief.probability)

    @cached_property
    def prospect(self) -> Probability:
        """The probability to search by, as a function of inputs (n, d)."""
        return self._of_all(ConstraintBelief.prospect)

    def log_prospect(self, points: Tensor) -> Tensor:
        """Logarithm (n,) of the prospect that all constraints hold at inputs (n, d)."""
        logs = (one.log_prospect(points) for one in self.beliefs.values())
        return sum(logs, points.new_zeros(len(points)))

    def shortfall(self, points: Tensor) -> Tensor:
        """How far the means are beyond their limits (n,), all constraints together."""
        return torch.stack([one.shortfall(points) for one in self.beliefs.values()]).sum(0)

    @cached_property
    def assurance(self) -> Probability:
        """The probability, on a scale where 0.95 is as much as the constraints ask for."""
        return self._of_all(ConstraintBelief.assurance)

    def suffices(self, assurance: Tensor) -> Tensor:
        """Whether values (n,) of `assurance` are as much as the constraints ask for."""
        return assurance >= CONFIDENT

    def rule_out(self, inputs: Tensor) -> bool:
        """Whether it is `UNLIKELY` that all constraints hold, on average over inputs (n, d).

        Only by those of which more values are known than the inputs have coordinates.
        """
        known = [
            one.prospect
            for one in self.beliefs.values()
            if len(one.margin.observations) > inputs.shape[-1]
        ]
        with torch.no_grad():
            return bool(known) and float(Probability(tuple(known))(inputs).mean()) < UNLIKELY

    def predict(self, points: Tensor) -> dict[str, PredictedLimit]:
        """Each constraint without noise at inputs (n, d), by name."""
        return {name: one.predict(points) for name, one in self.beliefs.items()}

    def draws(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Whether all constraints hold at inputs (n, d) in functions drawn from their posteriors.

        Args:
            points: Inputs (n, d).
            number: Number of functions of each constraint.
            generator: Source of the draws.

        Returns:
            Truth values (n, number).
        """
        holds = torch.ones(len(points), number, dtype=torch.bool, device=points.device)
        for one in self.beliefs.values():
            holds &= one.holds(points, number, generator)
        return holds

    def _of_all(self, of_one: Callable[[ConstraintBelief, Tensor], Tensor]) -> Probability:
        """Product over the constraints, whose beliefs are formed when it is evaluated."""
        return Probability(tuple(partial(self._factor, of_one, name) for name in self.measured))

    def _factor(
        self, of_one: Callable[[ConstraintBelief, Tensor], Tensor], name: str, points: Tensor
    ) -> Tensor:
        return of_one(self.beliefs[name], points)


def goal_of(outcome: Outcome) -> Chain:
    """Transformation of an outcome to a goal that is maximised: of a constraint, its margin."""
    return Chain((Affine(outcome.center, outcome.direction),))


NO_CONSTRAINTS = ConstraintBeliefs()
