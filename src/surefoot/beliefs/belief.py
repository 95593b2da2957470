"""Belief: all that follows from a history of measurements, as it is reported or proved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.brief import brief
from surefoot._internal.estimands import ESTIMANDS, Estimand
from surefoot._internal.html import as_html
from surefoot._internal.numbers import SAMPLES, TINY
from surefoot._internal.process_settings import with_own_settings
from surefoot._internal.tensors import NO_ROWS
from surefoot.beliefs.band import Band
from surefoot.beliefs.candidates import Candidates
from surefoot.beliefs.constraints import NO_CONSTRAINTS, ConstraintBeliefs
from surefoot.beliefs.estimands import (
    LOCATION,
    Ends,
    RewardFunctional,
    Scales,
    difference_of,
    difference_of_transformed,
    estimand_of,
)
from surefoot.beliefs.failure import NO_FAILURES, FailureBelief
from surefoot.beliefs.intervals import CONFIDENCE_BOUNDS, Interval
from surefoot.beliefs.self_normalised import SelfNormalised
from surefoot.regression.posterior import Posterior
from surefoot.regression.regression import OUTLIER_WEIGHT
from surefoot.regression.transforms import UNCHANGED, Chain
from surefoot.risks import Mean
from surefoot.risks.functionals import on_space
from surefoot.risks.risk import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.listed_designs import Designs, located_designs, named_rows, rows_of
from surefoot.spaces.pending import PendingQueries
from surefoot.spaces.representatives import filling
from surefoot.types import Assumptions, Certificate, InvalidInput

if TYPE_CHECKING:
    from surefoot.beliefs.outcome import OutcomeBelief


@dataclass(frozen=True)
class Reported:
    """What is reported of the rewards at a design.

    Args:
        interval: Rule for the ends of intervals.
        estimand: Functional of the rewards.
        units: Transformation from the units to report in to reward units.
        assumed: What certificates rest on; None where the bounds themselves have a theorem.
    """

    interval: Interval = CONFIDENCE_BOUNDS
    estimand: RewardFunctional = LOCATION
    units: Chain = UNCHANGED
    assumed: Assumptions | None = None


AS_MODELLED = Reported()


@dataclass(frozen=True, eq=False)
class Belief:
    """Posterior of the objective and of all other outcomes, given a history of measurements.

    A policy is a function of it, a recommendation too, and so is every prediction. It is frozen:
    later measurements do not change it, and nothing that is asked of it changes the run.

    A space without an environment is treated as one whose environment has a single value of no
    coordinates, so that a risk over it is the function itself, and its designs are its points.

    Where designs (n, dx) or a design (dx,) are an argument, they may be configurations by parameter
    name, where the space has such, and queries; designs also one of these alone, or a data frame.

    Args:
        space: Domain to choose from.
        risk: Risk over the environment that is maximised, `Mean()` without one.
        outcome: Belief of the objective: its rewards, hyperparameters and diagnostics.
        band: Its posterior with bounds, conditioned on pending queries if there are any.
        pending: Pending queries that the posterior is conditioned on.
        measured: Distinct designs (D, dx) that were measured, on a `Joint` space; else empty.
        failures: What failed measurements say.
        constraints: Beliefs of the constraints, and of all outcomes beside the objective.
        reported: What is reported: interval, estimand and units.

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
    measured: Tensor = NO_ROWS
    failures: FailureBelief = NO_FAILURES
    constraints: ConstraintBeliefs = NO_CONSTRAINTS
    reported: Reported = AS_MODELLED

    __repr__ = brief

    def _repr_html_(self) -> str:
        return as_html("Belief", rows(self))

    @property
    def posterior(self) -> Posterior:
        """Posterior of the transformed function, at the most likely hyperparameters."""
        return self.band.posterior

    @property
    def weights(self) -> Tensor:
        """Weight in [0, 1] of each reward (t,) in the estimate, in order of arrival."""
        return self.outcome.weights.clone()

    @cached_property
    def candidates(self) -> Candidates:
        """Designs to choose from, with values of Z that are the same in every call."""
        alone = replace(self)  # a copy: no cycle keeps it alive
        if not self.space.has_environment:
            return Candidates(alone)
        return Candidates.sampled(alone, SAMPLES, torch.Generator().manual_seed(0))

    @cached_property
    def predictions(self) -> Predictions:
        """Predictions at points of the model, as they are reported."""
        return Predictions(replace(self))

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
            Values (n,), lower and upper ends of their intervals.

        Raises:
            InvalidInput: If the space has no such designs, `risk` is given without an environment,
                or there is no such estimand.
        """
        return self.of(risk=risk, estimand=estimand).predictions.at_designs(self._located(designs))

    @with_own_settings
    def draws(self, designs: Designs, number: int, seed: int = 0) -> Tensor:
        """Functions drawn from the posterior, integrated over the hyperparameters.

        With few rewards they vary less than the intervals of `predict` allow for, whose quantiles
        are Student's, since samples of hyperparameters have light tails.

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
        return self.reported.estimand.values(drawn, self.predictions.scales)

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
        return self.predictions.difference(self._located([design, other]))

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
                or the kernel is fitted, if the rewards contradict what is assumed, and if the
                space has no such design.
        """
        found = certificate_of(self, delta, None if design is None else self._located([design])[0])
        if isinstance(found, str):
            raise InvalidInput(f"there is no certificate: {found}.")
        return found

    @with_own_settings
    def feasibility(self, designs: Designs) -> Tensor:
        """Probability (n,) that all constraints hold at designs (n, dx), without noise.

        It is averaged over the environment, if there is one.
        """
        with torch.no_grad():
            x, candidates = self._located(designs), self.candidates
            return candidates.over_environment(self.constraints.probability, x)

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
        outcome = self.outcome.conditioned(x, y, [seen.locate(point).arm for point in x])
        return replace(self, outcome=outcome, band=outcome.band)

    def of(
        self,
        *,
        outcome: str | None = None,
        risk: Risk | None = None,
        estimand: Estimand | None = None,
        units: Chain | None = None,
    ) -> Belief:
        """The belief of something else, where that is given.

        Args:
            outcome: Name of an outcome that was measured, as a goal that is maximised: of a
                constraint the margin to its limit. Units and assumptions are not those of the
                objective.
            risk: Another risk, on a `Joint` space.
            estimand: What is reported: "location", "median" or "mean".
            units: Transformation from the units to report in to reward units.

        Raises:
            InvalidInput: If `risk` is given without an environment, there is no such estimand, or
                the outcome was not measured.
        """
        belief, reported = self, self.reported
        if outcome is not None:
            other = (known := self.constraints.outcomes)[checks.choice("outcome", outcome, *known)]
            belief = replace(self, outcome=other, band=other.band)
            reported = replace(reported, units=UNCHANGED, assumed=None)
        if risk is not None:
            belief = replace(belief, risk=on_space(self.space, risk))
        if units is not None:
            reported = replace(reported, units=units)
        if outcome is not None or estimand is not None:
            name = reported.estimand.name if estimand is None else estimand
            checks.choice("estimand", name, *ESTIMANDS)
            functional = estimand_of(name, lambda: belief.outcome.noise_sample)
            reported = replace(reported, estimand=functional)
        return belief if reported is self.reported else replace(belief, reported=reported)

    def _located(self, designs: Designs) -> Tensor:
        """Designs (n, dx) of the space."""
        return located_designs(self.space, designs, "designs")

    def _inputs(self, points: Designs) -> Tensor:
        """Inputs (n, d) of the model: designs, where there is no environment."""
        if named_rows(self.space, points) is None:
            rows, lower = rows_of(self.space, points), self.space.seen.lower
            return checks.matrix("points", rows, lower.device, len(lower))
        if self.space.has_environment:
            raise InvalidInput(
                f"`points` is {checks.shown(points)}, expected inputs (n, dx + dz) of the model: "
                "pass each design as a point, such as `space.encoding.point(params)`, with the "
                "environment behind it."
            )
        return located_designs(self.space, points, "points")


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of a belief.

    Args:
        of: The belief.
    """

    of: Belief

    @cached_property
    def belief(self) -> Belief:
        """The belief whose bounds are the ends of reported intervals, failures aside."""
        band = self.of.reported.interval(self.of.outcome, self.of.band)
        return replace(self.of, failures=NO_FAILURES, constraints=NO_CONSTRAINTS, band=band)

    @cached_property
    def scales(self) -> Scales:
        """Scales of the posterior, the rewards and the reported values."""
        return Scales(self.of.reported.units, self.of.outcome.transform)

    def at_designs(self, x: Tensor) -> Ends:
        """Value of the estimand and its interval, at located designs (n, dx)."""
        with torch.no_grad():
            return self._interval(self.belief.candidates.risks(x))

    def at_inputs(self, points: Tensor, offset: Tensor | float = 0.0) -> Ends:
        """Value of the estimand and its interval at model inputs (n, d), whatever the risk.

        Args:
            points: Designs, each followed by its environment on a `Joint` space.
            offset: Added to the posterior mean (n,), such as an effect of conditions.
        """
        if not len(points):
            return (points.new_zeros(0).cpu(),) * 3
        with torch.no_grad():
            band, offset = self.belief.band, offset + self.of.outcome.fitted.offsets(points)
            mean, lower, upper = (end.cpu() + offset for end in band.clipped(band.ends(points)))
            return self._interval((mean, lower, upper))

    def _interval(self, ends: Ends) -> Ends:
        return self.of.reported.estimand.interval(ends, self.scales, self.belief.band.width)

    def difference(self, pair: Tensor) -> Ends:
        """Difference between the values at two designs (2, dx), and its interval."""
        of, sign = self.of.reported.estimand, self._sign
        return self._compared(
            pair, (lambda f: sign * of.values(f, self.scales)) if self.is_ratio else None
        )

    def log_ratio(self, pair: Tensor) -> Ends:
        """Logarithm of the ratio of the values at two designs (2, dx) where `is_ratio`."""
        return self._compared(pair, None)

    def _compared(self, pair: Tensor, values: Callable[[Tensor], Tensor] | None) -> Ends:
        """Difference between two designs of values that increase, by default comparable ones."""
        outcome, band = self.of.outcome, self.belief.band
        with torch.no_grad():
            covariance = outcome.integrated.joint(pair).covariance
            # Each alone, so that a design does not differ from itself by rounding.
            mean = torch.cat([band.predictive.mean(one) for one in pair.split(1)])
            if values is None and outcome.transform.is_affine:
                ends = difference_of(mean, covariance, band.width)
            else:
                ends = difference_of_transformed(
                    mean, covariance, values or self.comparable, band.width
                )
        middle, lower, upper = torch.tensor([self._sign * end for end in ends], dtype=torch.float64)
        return middle, torch.minimum(lower, upper), torch.maximum(lower, upper)

    @property
    def _sign(self) -> float:
        return 1.0 if self.of.reported.units.is_increasing else -1.0

    @property
    def is_ratio(self) -> bool:
        """Whether logarithms of the reported values are modelled, so that ratios are compared."""
        return not self.of.reported.units.is_affine

    def comparable(self, function: Tensor) -> Tensor:
        """Reward (...) where the transformed function is this, up to a constant; larger is better.

        Of the estimand; the logarithms of reported values where these are modelled.
        """
        if self.of.outcome.transform.is_affine:
            return function
        values = self.of.reported.estimand.values(function, self.scales)
        return self.of.reported.units(values.clamp(TINY, 1.0 / TINY) if self.is_ratio else values)


def _missing(belief: Belief) -> str:
    """What a certificate lacks, and what to pass; empty if it lacks nothing."""
    if belief.reported.assumed is None and (
        reason := belief.outcome.model.unproved(belief.outcome)
    ):
        return reason
    environment = belief.space.environment
    reasons = {
        "measurements failed or there are constraints": not belief.candidates.feasible.is_certain,
        "the table of the arms is `Sharded`": belief.space.seen.is_elsewhere,
        "the environment has a density, or more values than are evaluated: a `FiniteEnvironment` "
        "of at most 1,024 values has one": not environment.lists(belief.candidates.z),
        "the measurements differ between workers or drift, which is no noise": bool(
            belief.outcome.effects
        ),
    }
    return next((reason for reason, holds in reasons.items() if holds), "")


def certificate_of(belief: Belief, delta: float | None, design: Tensor | None) -> Certificate | str:
    """The certificate of a design (dx,), by default that of largest lower bound, or why none is.

    Args:
        belief: The belief.
        delta: Probability that it is false; None for that of the width, or of what is assumed.
        design: The design.
    """
    if reason := _missing(belief):
        return reason
    known, center = belief.reported.assumed, 0.0
    if known is None:
        tried = [_proved(belief, belief.outcome, delta)]
    else:
        center = float(belief.reported.units(torch.tensor(known.center, dtype=torch.float64)))
        # that one is contradicted, which is said where all are
        with catch_warnings(action="ignore"):
            model, observations = belief.outcome.model, belief.outcome.observations
            lengthscales: Any = known.lengthscale
            outcomes = [model.assuming(observations, known, one, center) for one in lengthscales]
            tried = [_proved(belief, outcome, delta) for outcome in outcomes]
    if not (proved := [one for one in tried if not one.band.shape.contradicted]):
        rest = " and ".join(tried[0].outcome.model.theorem.assumptions)  # type: ignore[union-attr]
        return (
            f"the measurements contradict what is assumed, that {rest}: no such function is close "
            "to them, so that one of these is too small"
        )
    space = belief.space.design
    with torch.no_grad():
        if isinstance(space, Arms):
            x = space.points
        else:
            designs = belief.candidates.designs
            others = filling(space, designs[:1], torch.Generator().manual_seed(0))
            given = designs[:0] if design is None else design.unsqueeze(0)
            x = torch.cat([others.to(designs), designs, given.to(designs)])
        ends = [one.candidates.risks(x)[1:] for one in proved]  # of each lengthscale
        lower = torch.stack([low for low, _ in ends]).amin(0)
        arm = int(lower.argmax()) if design is None else space.locate(design).arm
        row = len(x) - 1 if arm is None else arm
        within = [_within(one, *each, x, row) for one, each in zip(proved, ends, strict=True)]
    theorem: Any = proved[0].outcome.model.theorem
    named = " or ".join(_kernel_name(one.outcome.fitted.kernel) for one in proved)
    assumptions = [*theorem.assumptions, f"that kernel is {named}"]
    if known is not None and known.center:
        assumptions.append(f"f is the mean less {known.center:g} in these")
    if not isinstance(space, Arms):
        assumptions.append(f"no design is above the bounds of {len(x):,} that fill the space")
    return Certificate(
        x[row].cpu(),
        space.locate(x[row]).arm,
        float(lower[row]) + center,
        max(float(high.max()) for _, high in ends) + center,
        max(within),
        theorem.delta,
        tuple(assumptions),
        "" if isinstance(belief.risk, Mean) else repr(belief.risk),
    )


def _proved(belief: Belief, outcome: OutcomeBelief, delta: float | None) -> Belief:
    """The belief of an outcome whose bounds hold with probability 1 - delta."""
    theorem: Any = outcome.model.theorem
    if delta is not None and checks.probability("delta", delta) != theorem.delta:
        theorem = replace(theorem, delta=delta)
        model, own = outcome.model.with_theorem(theorem), torch.Generator().manual_seed(0)
        outcome = model.belief(outcome.observations, outcome.fitted, own)
    return replace(
        belief,
        outcome=outcome,
        band=outcome.band,
        reported=replace(belief.reported, interval=CONFIDENCE_BOUNDS),
        pending=PendingQueries(),
    )


def _within(proved: Belief, lower: Tensor, upper: Tensor, x: Tensor, row: int) -> float:
    """Most that a design (n, dx) is better by than one of them, given the bounds (n,) of all."""
    within = upper - lower[row]
    bands = getattr(proved.band.shape, "others", None)
    if isinstance(bands, SelfNormalised) and not proved.space.has_environment:
        within = torch.minimum(within, bands.excess(x, row))
    within[row] = 0.0
    return max(float(within.max()), 0.0)


def _kernel_name(kernel: Any) -> str:
    """Names and lengthscales of the parts of a kernel."""
    parts = [part for part in kernel.modules() if hasattr(part, "has_lengthscale")]
    lengths = [getattr(part, "lengthscale", None) for part in parts]
    shown = (
        "" if one is None else " with lengthscale " + ", ".join(map("{:.4g}".format, one.flatten()))
        for one in lengths
    )
    return " of ".join(type(part).__name__ + one for part, one in zip(parts, shown, strict=True))


def rows(belief: Belief) -> dict[str, Any]:
    """Rows of a table about the measurements and their noise, by name."""
    fitted, weights = belief.outcome.fitted, belief.weights
    outliers = int((weights < OUTLIER_WEIGHT).sum())
    noise = fitted.noise**0.5 * fitted.scale
    return {
        "measurements": f"{len(weights)}, {outliers} treated as outliers",
        "noise": f"Student-t, scale {noise:.3g}, {fitted.dof:.3g} degrees of freedom",
        "effects taken out": list(belief.outcome.effects),
        "unstable configurations": len(belief.failures.unstable) or None,
        "pending queries": len(belief.pending) or None,
    }
