"""Belief: all that follows from a history of measurements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.brief import brief
from surefoot._internal.estimands import ESTIMANDS, Estimand
from surefoot._internal.html import as_html
from surefoot._internal.process_settings import with_own_settings
from surefoot.beliefs import certificate as certificates
from surefoot.beliefs import gains
from surefoot.beliefs.band import Band, BandEnds
from surefoot.beliefs.constraints import NO_CONSTRAINTS, ConstraintBeliefs
from surefoot.beliefs.differences import difference_of, difference_of_transformed
from surefoot.beliefs.estimands import LOCATION, Ends, RewardFunctional, Scales, estimand_of
from surefoot.beliefs.intervals import CONFIDENCE_BOUNDS, Interval
from surefoot.beliefs.probability import CERTAIN, Probability, Score
from surefoot.beliefs.shared_values import NOTHING_SHARED, SharedValues
from surefoot.estimators.student_t import OUTLIER_WEIGHT
from surefoot.regression.draws import Path
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import Moments, Posterior
from surefoot.regression.transforms import UNCHANGED, Chain
from surefoot.risks.on_space import on_space
from surefoot.risks.risk import Risk, support_only
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.finite_environment import NO_ENVIRONMENT, WeightFunction
from surefoot.spaces.listed_designs import Designs, located_designs, named_rows, rows_of
from surefoot.spaces.locations import Location
from surefoot.spaces.pending import PendingQueries
from surefoot.types import Assumptions, Certificate, InvalidInput

if TYPE_CHECKING:
    from surefoot.beliefs.outcome import OutcomeBelief
    from surefoot.hyperparameters import Contrast, CrossValidation, Fitted, Uncertainty
    from surefoot.regression.observations import Observations

_STRIP = 2**18  # numbers in temporary arrays: larger ones do not fit the cache
_VALUES = 1024  # that represent a continuous environment where a risk is reported
_PROBABLE = 0.5  # probability that constraints hold, from which a design is likely to be feasible
_POSITIVE = (1e-300, 1e300)  # range of values whose logarithms are compared
_NONE = torch.zeros(0, 0, dtype=torch.float64)
_NO_SITES = torch.zeros(0, dtype=torch.int64)


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
class Belief:
    """Posterior of the objective and of all other outcomes, given a history of measurements.

    A policy is a function of it, a recommendation too, and so is every prediction. It is frozen:
    later measurements do not change it, and nothing that is asked of it changes the run.

    A space without an environment is treated as one whose environment has a single value of no
    coordinates, so that a risk over it is the function itself, and its designs are its points.

    Where designs (n, dx) or a design (dx,) are an argument, they may be configurations by parameter
    name, where the space has such, and queries; designs also one of these alone, or a data frame.

    `bound`, `bounds`, `risks`, `mean` and `joint` are in units of the posterior, those of the
    rewards as they are transformed; `predict`, `difference` and `draws` are in reward units.

    Args:
        space: Domain to choose from.
        risk: Risk over the environment that is maximised, `Mean()` without one.
        outcome: Belief of the objective.
        band: Its posterior with bounds, conditioned on pending queries if there are any.
        pending: Pending queries that the posterior is conditioned on.
        measured: Distinct designs (D, dx) that were measured, on a `Joint` space; else empty.
        success: Probability (n,) that measuring at model inputs (n, d) succeeds.
        constraints: Beliefs of the constraints.
        interval: Rule for the ends of reported intervals.
        estimand: Functional of the rewards at a design that is reported.
        units: Transformation from the units to report in to reward units.
        unstable_sites: Indices (k,) of the sites whose replicates differ too much.
        shared_failures: Values that failed measurements share, and no success has.
        shared_conditions: Values of the environment under which no measurement succeeds: failures
            there say nothing about designs, and what is predicted there is extrapolated.
        z: Values (m, dz) that represent the environment; see `sampled`.
        weights_of_z: Their probabilities (m,), or a function of designs; see `weights_at`.
        assumed: What certificates rest on; None where the bounds themselves have a theorem.

    Example:
        >>> import surefoot as sf
        >>> optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
        >>> info = optimizer.tell_all([[0.1], [0.5], [0.9]], [0.0, 1.0, 0.5])
        >>> belief = optimizer.belief()
        >>> value, lower, upper = belief.predict([[0.5], [0.7]])
        >>> bool((lower < value).all()), belief.weights.shape
        (True, torch.Size([3]))
    """

    space: Arms | Box | Joint
    risk: Risk
    outcome: OutcomeBelief
    band: Band
    pending: PendingQueries = field(default_factory=PendingQueries)
    measured: Tensor = _NONE
    success: Probability = CERTAIN
    constraints: ConstraintBeliefs = NO_CONSTRAINTS
    interval: Interval = CONFIDENCE_BOUNDS
    estimand: RewardFunctional = LOCATION
    units: Chain = UNCHANGED
    unstable_sites: Tensor = _NO_SITES
    shared_failures: SharedValues = NOTHING_SHARED
    shared_conditions: SharedValues = NOTHING_SHARED
    z: Tensor = NO_ENVIRONMENT.points
    weights_of_z: Tensor | WeightFunction = NO_ENVIRONMENT.weights
    assumed: Assumptions | None = None

    __repr__ = brief

    def _repr_html_(self) -> str:
        return as_html("Belief", self.rows)

    @property
    def rows(self) -> dict[str, Any]:
        """Rows of a table about the measurements and their noise, by name."""
        fitted, weights = self.hyperparameters, self.weights
        outliers = int((weights < OUTLIER_WEIGHT).sum())
        noise = fitted.noise**0.5 * fitted.scale
        return {
            "measurements": f"{len(weights)}, {outliers} treated as outliers",
            "noise": f"Student-t, scale {noise:.3g}, {fitted.dof:.3g} degrees of freedom",
            "effects taken out": list(self.effects),
            "unstable configurations": len(self.unstable) or None,
            "pending queries": len(self.pending) or None,
        }

    @property
    def posterior(self) -> Posterior:
        """Posterior of the transformed function, at the most likely hyperparameters."""
        return self.band.posterior

    @property
    def width(self) -> float:
        """Multiplier beta of the standard deviation in the bounds."""
        return self.band.width

    # Predictions

    @with_own_settings
    def predict(
        self,
        designs: Designs,
        *,
        risk: Risk | None = None,
        estimand: Estimand | None = None,
    ) -> Ends:
        """Value of the estimand at designs, without noise, with an interval of it.

        On a space with an environment it is the risk of it. Failures and constraints are left
        aside.

        Args:
            designs: Designs (n, dx).
            risk: Risk in place of the belief's, on a `Joint` space.
            estimand: "location", "median" or "mean" in place of the belief's.

        Returns:
            Values (n,), lower and upper ends of their intervals (see `interval`).

        Raises:
            InvalidInput: If the space has no such designs, `risk` is given without an environment,
                or there is no such estimand.
        """
        return self.reporting(risk, estimand).at_designs(self._located(designs))

    def at_designs(self, x: Tensor) -> Ends:
        """Value of the estimand and its interval, as `predict`, at located designs (n, dx)."""
        with torch.no_grad():
            reported = self.reported
            ends = reported.represented.risks(x)
            return self.estimand.interval(ends, self.scales, reported.width)

    def at_inputs(self, points: Tensor, offset: Tensor | float = 0.0) -> Ends:
        """Value of the estimand and its interval at model inputs (n, d), whatever the risk.

        Args:
            points: Designs, each followed by its environment on a `Joint` space.
            offset: Added to the posterior mean (n,), such as an effect of conditions.
        """
        if not len(points):
            return (points.new_zeros(0).cpu(),) * 3
        with torch.no_grad():
            reported = self.reported
            bounds = reported.band.clipped(reported.ends(points))
            mean, lower, upper = (end.cpu() + offset for end in bounds)
            ends = (mean, lower, upper)
            return self.estimand.interval(ends, self.scales, reported.width)

    def joint(self, points: Tensor) -> Moments:
        """Joint posterior of the transformed function, differentiable in the points.

        Args:
            points: Inputs (..., q, d) of the model: designs, each followed by its environment.

        Returns:
            Means (..., q) and covariances (..., q, q), without noise.
        """
        return self.posterior.joint(points)

    def components(self, points: Tensor) -> Moments:
        """Joint posteriors under samples of the hyperparameters, differentiable in the points.

        Their mixture, with equal probabilities, is the posterior integrated over the
        hyperparameters, from which `draws` are.

        Args:
            points: Inputs (..., q, d) of the model: designs, each followed by its environment.

        Returns:
            Means (..., s, q) and covariances (..., s, q, q) of the transformed function, without
            noise; s is 1 where the hyperparameters are taken as known.
        """
        return self.outcome.integrated.components(points)

    @with_own_settings
    def draws(self, designs: Designs, number: int, seed: int = 0) -> Tensor:
        """Functions drawn from the posterior, integrated over the hyperparameters.

        Args:
            designs: Designs (n, dx); on a `Joint` space inputs (n, dx + dz) of the model.
            number: Number of functions.
            seed: Seed of the draws.

        Returns:
            Values (n, number), in reward units.
        """
        points, number = self._inputs(designs), checks.count("number", number)
        own = torch.Generator().manual_seed(checks.count("seed", seed, least=0))
        drawn = self.outcome.integrated.draws(points, number, own)
        return self.estimand.values(drawn, self.scales)

    @with_own_settings
    def difference(self, design: Designs, other: Designs) -> Ends:
        """Value at a design less that at another, without noise, with an interval.

        The interval is narrower than those of the two values where these vary together.

        Args:
            design: The design (dx,).
            other: The other design (dx,).

        Returns:
            Posterior mean of the difference (median, where rewards are transformed), lower and
            upper end of its interval.

        Raises:
            InvalidInput: If the space has no such designs, or it has an environment.
        """
        if self.space.has_environment:
            raise InvalidInput(
                "the space has an environment, whose risks have no joint posterior: compare what "
                "`predict` gives for each design."
            )
        ends = torch.tensor(self.compared(self._located([design, other])), dtype=torch.float64)
        if not self.is_ratio:
            return ends[0], ends[1], ends[2]
        value = float(self.at_designs(self._located([other]))[0])  # of which the ratio is predicted
        middle, lower, upper = value * ends.expm1()
        return middle, lower, upper

    def compared(self, pair: Tensor) -> tuple[float, float, float]:
        """Difference between two designs (2, dx), of logarithms where `is_ratio`; its interval."""
        reported = self.reported
        with torch.no_grad():
            covariance = self.outcome.integrated.joint(pair).covariance
            # Each alone, so that a design does not differ from itself by rounding.
            mean = torch.cat([reported.band.predictive.mean(one) for one in pair.split(1)])
            if self.outcome.transform.is_affine:
                ends = difference_of(mean, covariance, reported.width)
            else:
                ends = difference_of_transformed(mean, covariance, self.comparable, reported.width)
        sign = 1.0 if self.units.is_increasing else -1.0
        middle, lower, upper = (sign * end for end in ends)
        return middle, min(lower, upper), max(lower, upper)

    @property
    def is_ratio(self) -> bool:
        """Whether logarithms of the reported values are modelled, so that ratios are compared."""
        return not self.units.is_affine

    def comparable(self, function: Tensor) -> Tensor:
        """Reward (...) where the transformed function is this, up to a constant; larger is better.

        Of the estimand; the logarithms of reported values where these are modelled.
        """
        if self.outcome.transform.is_affine:
            return function
        values = self.estimand.values(function, self.scales)
        return self.units(values.clamp(*_POSITIVE) if self.is_ratio else values)

    @with_own_settings
    def expected_gains(self, designs: Designs, over: Designs) -> Tensor:
        """Expected improvement of designs on another one, without noise.

        Args:
            designs: Designs (n, dx).
            over: The design (dx,) to improve on.

        Returns:
            Expected improvements (n,) of at least 0, in units of the posterior; they count as far
            as all constraints are likely to hold.
        """
        return gains.expected(self, self._located(designs), self._located([over]))

    @with_own_settings
    def largest_gains(self, over: Designs) -> Tensor:
        """Improvement of the best design on another one, in functions drawn.

        The functions are drawn from the posterior integrated over the hyperparameters, at many
        designs that fill the space and surround the given one.

        Args:
            over: The design (dx,) to improve on.

        Returns:
            Shares (1024,) of the magnitude of its predicted value; negative where no other design
            is better. A design counts where the drawn constraints hold. Where it is not known that
            they hold at the given one, there is nothing to improve on yet: all are infinite.

        Raises:
            InvalidInput: If the space has no such design, or it has an environment.

        References:
            Wilson 2024, "Stopping Bayesian optimization with probabilistic regret bounds".
        """
        return gains.largest(self, self._located([over]))

    @with_own_settings
    def certificate(
        self, delta: float | None = None, *, design: Designs | None = None
    ) -> Certificate:
        """What is proved of a design: a lower bound of its value, and how far it is from the best.

        Args:
            delta: Probability that it is false; by default that of the width or of `assumed`.
            design: The design (dx,); by default that of the largest lower bound.

        Returns:
            The certificate, in reward units; on a `Joint` space, of the risk.

        Raises:
            InvalidInput: If something that the proof needs is not assumed, such as a norm bound,
                or the kernel is fitted; and if the space has no such design.
        """
        at = None if design is None else self._located([design])[0]
        return certificates.certificate(self, delta, at)

    @with_own_settings
    def feasibility(self, designs: Designs) -> Tensor:
        """Probability (n,) that all constraints hold at designs (n, dx), without noise.

        It is averaged over the environment, if there is one.
        """
        with torch.no_grad():
            x = self._located(designs)
            return self.represented.over_environment(self.constraints.probability, x)

    def is_assured(self, x: Tensor) -> Tensor:
        """Whether the constraints hold with the confidence asked for (n,) at designs (n, dx)."""
        with torch.no_grad():
            chance = self.represented.over_environment(self.constraints.assurance, x)
            return self.constraints.suffices(chance)

    # The rewards

    @property
    def observations(self) -> Observations:
        """The rewards of the objective, by distinct inputs of the model."""
        return self.outcome.observations

    @property
    def outcomes(self) -> Mapping[str, OutcomeBelief]:
        """Beliefs of the outcomes beside the objective by name, as goals that are maximised.

        Of a constraint the goal is the margin to its limit; of an objective that is minimised, the
        value with the opposite sign.
        """
        return self.constraints.outcomes

    @property
    def objectives(self) -> list[OutcomeBelief]:
        """Beliefs of the reward and of each outcome with the role objective that was measured."""
        return [self.outcome, *(self.outcomes[name] for name in self.constraints.objectives)]

    @property
    def hyperparameters(self) -> Fitted:
        """Kernel, noise and units of the objective's model."""
        return self.outcome.fitted

    @property
    def unstable(self) -> Tensor:
        """Measured points (k, d) whose replicates differ too much."""
        return self.observations.sites[self.unstable_sites]

    @property
    def weights(self) -> Tensor:
        """Weight in [0, 1] of each reward (t,) in the estimate, in order of arrival."""
        return self.outcome.weights

    @property
    def residuals(self) -> Tensor:
        """Rewards less the posterior mean (t,), standardised for leverage; see `OutcomeBelief`."""
        return self.outcome.residuals

    @property
    def effects(self) -> dict[str, Contrast]:
        """Effects of conditions on each reward by name, less those at the reference level."""
        return self.outcome.effects

    @property
    def cross_validation(self) -> CrossValidation:
        """Leave-one-out predictions of the rewards."""
        return self.outcome.cross_validation

    @with_own_settings
    def bias_near(self, designs: Designs) -> Tensor:
        """How much larger rewards near designs are than predicted from the others.

        Beyond two or three an interval there is too low, as where the function has a maximum that
        is too narrow for the lengthscales of the model; below minus two or three it is too high.

        Args:
            designs: Designs (n, dx).

        Returns:
            Differences (n,) in standard errors, of the eight nearest rewards each; 0 for fewer than
            30 rewards, and for hyperparameters that are known.

        Raises:
            InvalidInput: If the space has no such designs, or it has an environment.

        Example:
            >>> import surefoot as sf
            >>> optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
            >>> x = torch.linspace(0.0, 1.0, 40, dtype=torch.float64)[:, None]
            >>> info = optimizer.tell_all(x, torch.sin(5.0 * x[:, 0]))
            >>> bool(optimizer.belief().bias_near(x[:1]).abs() < 3.0)
            True
        """
        if self.space.has_environment:
            raise InvalidInput(
                "the space has an environment, and rewards are of designs and its values: "
                "look at `cross_validation`."
            )
        return self.outcome.bias_near(self._located(designs))

    # Other beliefs

    @with_own_settings
    def conditioned(self, points: Designs, rewards: Tensor | Sequence) -> Belief:
        """The belief after more rewards, under the same hyperparameters.

        Args:
            points: Designs (k, dx); on a `Joint` space inputs (k, dx + dz) of the model.
            rewards: Rewards (k,).

        Returns:
            The belief; the one at hand stays as it is.
        """
        x, y = self._inputs(points), torch.tensor(checks.rewards(rewards), dtype=torch.float64)
        if len(x) != len(y):
            raise InvalidInput(f"{len(x)} points came with {len(y)} rewards, expected as many.")
        seen = self.space.seen
        arms = [seen.locate(point).arm for point in x]
        outcome = self.outcome.conditioned(x, y, arms)
        return replace(self, outcome=outcome, band=outcome.band)

    def with_pending(self, pulls: Sequence[Pull]) -> Belief:
        """The belief whose variance is conditioned on measurements without rewards."""
        return replace(self, band=self.band.with_pending(pulls))

    def integrated(self, uncertainty: Uncertainty) -> Belief:
        """The belief whose mean and deviation are integrated over the hyperparameters."""
        return replace(self, band=replace(self.band, uncertainty=uncertainty))

    def of_width(self, width: float) -> Belief:
        """The belief whose bounds have another width."""
        return replace(self, band=self.band.of_width(width))

    def of_estimand(self, name: Estimand) -> Belief:
        """The belief that reports another estimand, "location", "median" or "mean"."""
        checks.choice("estimand", name, *ESTIMANDS)
        return replace(self, estimand=estimand_of(name, lambda: self.outcome.noise_sample))

    def reporting(self, risk: Risk | None = None, estimand: Estimand | None = None) -> Belief:
        """The belief that reports another risk or estimand, where they are given."""
        risk = self.risk if risk is None else on_space(self.space, risk)
        belief = self if risk is self.risk else replace(self, risk=risk)
        return belief if estimand is None else belief.of_estimand(estimand)

    def of_outcome(self, name: str, units: Chain = UNCHANGED) -> Belief:
        """The belief whose objective is another outcome, as a goal that is maximised.

        Args:
            name: Name of an outcome that was measured.
            units: Transformation from the units to report in to those of the goal.
        """
        outcome = self.outcomes[name]
        return replace(
            self,
            outcome=outcome,
            band=outcome.band,
            units=units,
            estimand=estimand_of(self.estimand.name, lambda: outcome.noise_sample),
        )

    def in_units(self, units: Chain) -> Belief:
        """The belief that reports in the units of which rewards are the transformed values."""
        return replace(self, units=units)

    @property
    def alone(self) -> Belief:
        """The belief without failures and constraints."""
        return replace(self, success=CERTAIN, constraints=NO_CONSTRAINTS)

    def sampled(self, number: int, generator: torch.Generator) -> Belief:
        """The belief with values of Z: all of a short list, else `number` that fill a density."""
        z, weights = self.space.environment.values(number, generator, support_only(self.risk))
        return replace(self, z=z.to(self.designs.device), weights_of_z=weights)

    @cached_property
    def represented(self) -> Belief:
        """The belief with values of Z that are the same in every call."""
        return self.sampled(_VALUES, torch.Generator().manual_seed(0))

    # Scores of designs

    @cached_property
    def feasible(self) -> Probability:
        """Probability (n,) that measuring at model inputs succeeds and all constraints hold."""
        return self.success & self.constraints.prospect

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
    def likely_sites(self) -> Tensor:
        """The sites where it is likely that all constraints hold; all if there are none."""
        if self.constraints.probability.is_certain:
            return self.sites
        with torch.no_grad():
            holds = self.constraints.prospect(self.sites) >= _PROBABLE
        return self.sites[holds] if bool(holds.any()) else self.sites

    @property
    def designs(self) -> Tensor:
        """Distinct designs (D, dx); on a `Joint` space those measured, else the sites."""
        return self.measured if self.space.has_environment else self.sites

    def best_designs(self, number: int) -> Tensor:
        """The designs, or those of so many with the largest means that are known without search.

        Of many measured ones the mean follows from features that are known.
        """
        known = self.outcome.observations.sites
        if self.space.has_environment or len(known) <= number:
            return self.designs
        best = self.outcome.means_of_features.topk(number).indices
        return torch.cat([known[best.to(known.device)], self.sites[len(known) :]])

    def weights_at(self, x: Tensor) -> Tensor:
        """Probabilities of the values of Z at designs x (n, dx): (m,), or (n, m) if they differ."""
        known = self.weights_of_z(x) if callable(self.weights_of_z) else self.weights_of_z
        return known.to(x)

    def bound(self, x: Tensor, width: float) -> Tensor:
        """The risk of mean + `width` * deviation (n,) at designs x (n, dx), differentiable.

        Where measurements have failed, a failure counts as the lowest value of any site: of mean -
        |width| * deviation, or of the lower bound where there is an environment. What an upper
        bound exceeds the best feasible design by counts with the probability that all constraints
        hold; see `constrained`. While no design probably satisfies them, it is `log_feasibility`.
        """
        if self.constraints.probability.is_certain:
            return self._bound(x, width, self.success)
        if width <= 0.0:  # to recommend, where a violation is worse than any value
            return self._bound(x, width, self.feasible)
        if self.seeks_feasibility:
            return self.log_feasibility(x)
        return self.constrained(x, self._bound(x, width, self.success), self._means)

    def bound_at(self, location: Location, width: float) -> Tensor:
        """The same (1,) at the design of a location, looked up with those of all arms if known."""
        if not self.has_table:
            return self.bound(location.design.unsqueeze(0), width)
        every = self.bound(self.space.design.points, width)  # type: ignore[union-attr]
        return every[location.design_arm].reshape(1)

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
        if self.constraints.probability.is_certain:
            return values
        if self.seeks_feasibility:
            return self.log_feasibility(x)
        lowest = at_designs.min()
        best = (lowest + self._holds * (at_designs - lowest)).max()
        gain = values - best
        chance = self.over_environment(self.constraints.prospect, x)
        return best + torch.where(gain > 0.0, chance * gain, gain)

    @cached_property
    def seeks_feasibility(self) -> bool:
        """Whether no measured design probably satisfies all constraints.

        The search is then for a first one that does, whatever its value.
        """
        certain = self.constraints.probability.is_certain
        return not certain and bool((self._holds < _PROBABLE).all())

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
        logs = self.constraints.log_prospect(points)
        if not self.success.is_certain:
            tailed = -torch.log1p(-logs)  # of Student's t(2), 1 / (1 + z²/2), for exp(-z²/2)
            logs = tailed + self.success(points).clamp_min(_POSITIVE[0]).log()
        weights = self.weights_at(x).clamp_min(_POSITIVE[0]).log()
        return (logs.reshape(len(x), -1) + weights).logsumexp(-1)

    def over_environment(self, chance: Score, x: Tensor) -> Tensor:
        """A probability at model inputs, (n, d) -> (n,), over Z at designs x (n, dx): (n,)."""
        chances = chance(self.space.inputs(x, self.z)).reshape(len(x), -1)
        return (chances * self.weights_at(x)).sum(-1)

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
        return self.bound(x, 0.0) if self.space.has_environment else self.band.predictive.mean(x)

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
        inputs = self.space.inputs(design.points, self.z)
        return self.band.predictive.tabulates(inputs)

    def ends(self, points: Tensor) -> BandEnds:
        """Mean, lower and upper bound (n,) at model inputs (n, d), failures aside."""
        return self.band.ends(points)

    def risks(self, x: Tensor) -> Ends:
        """The risks of mean, lower and upper bound (n,) at designs x (n, dx)."""
        risks = []
        for chunk in self._chunks(x):
            weights = self.weights_at(chunk)
            bounds = self.band.clipped(self.bounds(chunk))
            risks.append(torch.stack([self.risk(one, weights) for one in bounds]))
        mean, lower, upper = torch.cat(risks, -1)
        return mean, lower, upper

    @cached_property
    def reported(self) -> Belief:
        """The belief whose bounds are the ends of reported intervals, failures aside."""
        return self.interval(self.alone)

    @cached_property
    def scales(self) -> Scales:
        """Scales of the posterior, the rewards and the reported values."""
        return Scales(self.units, self.outcome.transform)

    @cached_property
    def to_posterior(self) -> Chain:
        """Transformation from reported values to the units of the posterior."""
        return self.scales.whole

    @cached_property
    def _at_sites(self) -> tuple[Tensor, Tensor]:
        seen = self.space.seen
        if not isinstance(seen, Arms) or not self.band.predictive.tabulates(seen.points):
            return self.band.predictive.mean_and_deviation(self.sites)
        arms = torch.tensor([*self.observations.arms, *self.pending.arms])
        mean, deviation = self.band.predictive.mean_and_deviation(seen.points)
        return mean[arms], deviation[arms]

    def _bound(self, x: Tensor, width: float, chance: Probability) -> Tensor:
        """The bound (n,) at designs x (n, dx), where `chance` is the probability of success."""
        if not self.space.has_environment:
            return self._shifted(x, width, abs(width), chance)
        return self.risk_of(lambda points: self._shifted(points, width, self.width, chance), x)

    def _shifted(self, points: Tensor, width: float, below: float, chance: Probability) -> Tensor:
        if width == 0.0:  # a small part of the time where it is integrated
            bound = self.band.predictive.mean(points)
        else:
            share = width / self.width if self.width > 0.0 else 0.0
            bound = self.band.bound(points, share)
        return bound if chance.is_certain else self._discounted(chance(points), bound, below)

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
            return self.over_environment(self.constraints.prospect, self.designs)

    def _chunks(self, x: Tensor) -> tuple[Tensor, ...]:
        """Designs in chunks that bound the size of arrays over z's and features."""
        if self.has_table and self.space.lists(x, self.z):
            return (x,)
        each = len(self.z) * max(self.posterior.embedding.dimension, 1)
        return x.split(max(1, _STRIP // each))

    def _located(self, designs: Designs) -> Tensor:
        """Designs (n, dx) of the space."""
        return located_designs(self.space, designs, "designs")

    def _inputs(self, points: Designs) -> Tensor:
        """Inputs (n, d) of the model: designs, where there is no environment."""
        if named_rows(self.space, points) is None:
            rows = rows_of(self.space, points)
            return checks.matrix("points", rows, self.space.seen.lower.device)
        if self.space.has_environment:
            raise InvalidInput(
                f"`points` is {checks.shown(points)}, expected inputs (n, dx + dz) of the model: "
                "pass each design as a point, such as `space.encoding.point(params)`, with the "
                "environment behind it."
            )
        return located_designs(self.space, points, "points")
