"""Model of one measured quantity: its parts, and the regression that they make of a history."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any, Protocol

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal.lock import Lock, one_at_a_time
from surefoot.beliefs.band import SYMMETRIC, Shape, self_normalised_of
from surefoot.beliefs.outcome import Inferred, OutcomeBelief, at_reference
from surefoot.beliefs.self_normalised import warn_contradicted
from surefoot.estimators import Constants, Estimator, LeastSquares
from surefoot.features import Exact, Features, PriorPaths, QuadratureFourier, RandomFourier
from surefoot.hyperparameters import (
    Fitted,
    GivenHyperparameters,
    HyperparameterFit,
    TrainingData,
)
from surefoot.models.bands import BandRule, ShiftedRegressions, misfit, narrowed, unexplained
from surefoot.regression.noise import Contrast, KnownNoise
from surefoot.regression.observations import Observations, Pull
from surefoot.regression.posterior import Posterior, no_trend
from surefoot.regression.refitted import Refitted
from surefoot.regression.regression import Estimate, Regression
from surefoot.regression.sample import Sample
from surefoot.regression.uncertainty import Uncertainty
from surefoot.spaces import Space
from surefoot.tails.moment import Moment
from surefoot.types import Assumptions, InvalidInput
from surefoot.widths import Progress, Width, dual_mixture, self_normalised
from surefoot.widths.assumptions import Theorem

FIT_OF_OUTCOMES = HyperparameterFit(lengthscales="scaled", warped=True)
"""Fit of outcomes beside the objective, whose intervals have to be wide where little is known.

But of many parameters, all with short lengthscales, a constraint is unknown a step away from any
configuration that keeps it, and the search stays there.
"""

_SIDES = replace(FIT_OF_OUTCOMES, limit=0.0, warped=False)  # as of a constraint, of two values
_RECENT = 2  # fits that are known: that of the run, and that of a look with further measurements


class Hyperparameters(Protocol):
    """Rule for kernel, noise and reward units."""

    @property
    def lasting(self) -> bool:
        """Whether kernel and noise stay for the whole run."""

    @property
    def effects(self) -> Sequence[str]:
        """Names of the effects of conditions that it includes if the data support them."""

    @property
    def known_noise(self) -> KnownNoise:
        """Known part of the noise, in addition to what is fitted or given."""

    def next_due(self, fitted_at: int) -> float:
        """Number of rewards, above that at the last fit, at which the next one is due.

        It is 1 where there was none, infinite where none is due any more.
        """

    def fit(self, data: TrainingData) -> Fitted:
        """Hyperparameters from observations; the same for the same data."""

    def contrasts(self, fitted: Fitted, data: TrainingData) -> dict[str, Contrast]:
        """Effects of conditions on the rewards by name, those that the data support."""

    def alternative(self, fitted: Fitted, data: TrainingData) -> tuple[Hyperparameters, Fitted]:
        """A rule with another prior and its fit; itself and `fitted` where there is none."""

    def uncertainty(self, fitted: Fitted, data: TrainingData) -> Uncertainty:
        """Change of the posterior by integration over the hyperparameters, at points (n, d)."""


class FitStore(Protocol):
    """Fits of other processes to the same data by the same rule."""

    def read(self, rule: Hyperparameters, data: TrainingData) -> Fitted | None:
        """The fit to observations, None where there is none."""

    def write(self, rule: Hyperparameters, data: TrainingData, fitted: Fitted) -> None:
        """Keep a fit."""


class _Recent:
    """Results of pure functions that were asked for last."""

    def __init__(self) -> None:
        self._results: dict[Any, Any] = {}
        self._lock = Lock()

    @one_at_a_time
    def get(self, key: Any, function: Callable[[], Any]) -> Any:
        """The known result of a key, or that of the function."""
        if key not in self._results:
            self._results[key] = function()
            while len(self._results) > _RECENT:
                del self._results[next(iter(self._results))]
        return self._results[key]


@dataclass(frozen=True, eq=False)
class Model:
    """Parts of the model of one measured quantity.

    Args:
        space: Domain of the function.
        hyperparameters: Rule for kernel, noise and reward units.
        features: Rule for the features.
        estimator: Estimator of the coefficients.
        width: Rule for the width of the bounds.
        stores: Where fits are looked for first, and kept.
    """

    space: Space
    hyperparameters: Hyperparameters
    features: Features
    estimator: Estimator[Any]
    width: Width
    stores: list[FitStore] = field(default_factory=list, repr=False)
    _fits: _Recent = field(default_factory=lambda: _Recent(), init=False, repr=False)
    _uncertainties: _Recent = field(default_factory=lambda: _Recent(), init=False, repr=False)

    def fit(self, observations: Observations) -> Fitted:
        """Hyperparameters from observations; fitted once for the same ones."""

        def fit() -> Fitted:
            rule, data = self.hyperparameters, self.data(observations)
            found = (store.read(rule, data) for store in self.stores)
            if (known := next(filter(None, found), None)) is not None:
                return known
            fitted = rule.fit(data)
            for store in self.stores:
                store.write(rule, data, fitted)
            return fitted

        # A digest takes longer than the fit where the kernel is given.
        return fit() if self.hyperparameters.lasting else self._fits.get(observations.digest, fit)

    def uncertainty(self, fitted: Fitted, observations: Observations) -> Uncertainty:
        """Uncertainty of fitted hyperparameters; found once for the same ones."""
        return self._uncertainties.get(
            (observations.digest, id(fitted.kernel), fitted.noise),
            lambda: self.hyperparameters.uncertainty(fitted, self.data(observations)),
        )

    def data(self, observations: Observations) -> TrainingData:
        """Observations as hyperparameters are fitted to them."""
        span, points = self.space.upper - self.space.lower, observations.sites[observations.site]
        return TrainingData(
            points,
            observations.rewards,
            self.space.lower,
            torch.where(span > 0.0, span, 1.0),
            self.space.shared,
            observations.sems,
            observations.workers,
            observations.times,
            self.space.unfilled(points),
        )

    @cached_property
    def band_rules(self) -> Sequence[BandRule | self_normalised]:
        """The width, if its bounds are those of several regularisations."""
        return (self.width,) if isinstance(self.width, BandRule | self_normalised) else ()

    @cached_property
    def theorem(self) -> Theorem | None:
        """What is assumed of function and noise, where the width is that of a theorem."""
        return self.width if isinstance(self.width, Theorem) else None

    def other_ridges(self, fitted: Fitted) -> tuple[float, ...]:
        """Regularisations whose bounds narrow the band, beside that of the model."""
        return self.width.ridges(fitted.noise) if isinstance(self.width, BandRule) else ()

    def regressor(
        self, fitted: Fitted, observations: Observations, generator: torch.Generator
    ) -> Regressor:
        """Regression under fitted hyperparameters, with all observations counted.

        Args:
            fitted: The hyperparameters.
            observations: The rewards.
            generator: Source of random features.
        """
        regression = self.features.init(
            fitted.kernel,
            self.space,
            fitted.noise,
            generator,
            lasting=self.hyperparameters.lasting,
        )
        if self.space.is_elsewhere:
            self._check_elsewhere(regression)
        constants = Constants(
            fitted.noise,
            float(kernels.diagonal(fitted.kernel, self.space.examples(0, generator)).max()),
            regression.max_dimension,
            fitted.dof,
            fitted.weights,
        )
        prior = PriorPaths(fitted.kernel, self.space)
        shifted = ShiftedRegressions(self.other_ridges(fitted))
        regressor = Regressor(self, fitted, regression, constants, prior, shifted)
        pulls = observations.pulls
        for left, pull in enumerate(pulls, 1 - len(pulls)):
            regression.update(pull._replace(more=left < 0))
        regressor.state = regressor.replayed(observations)
        return regressor

    def _check_elsewhere(self, regression: Regression) -> None:
        """`InvalidInput` unless workers can hold the table of the arms."""
        if isinstance(regression, Refitted):
            what = f"features {self.features!r} with this kernel are computed anew for each reward"
        elif self.band_rules:
            what = f"the bounds of {self.width!r} are found at all arms"
        else:
            return
        raise InvalidInput(
            f"{what}, and the arms' table is `Sharded`: pass a kernel that stays, features such as "
            "`Exact()` or `Nystrom(LeverageSampling())`, a width such as `widths.srinivas()`, or "
            "another `storage`."
        )

    def belief(
        self, observations: Observations, fitted: Fitted, generator: torch.Generator
    ) -> OutcomeBelief:
        """Belief from observations alone, under fitted hyperparameters.

        Args:
            observations: The rewards, at least one.
            fitted: The hyperparameters.
            generator: Source of random features; its state is left as it is.
        """
        own = generator.clone_state()
        return (
            self.regressor(fitted, observations, own).redrawn(observations, own).infer(observations)
        )

    def fitted_belief(self, observations: Observations) -> OutcomeBelief:
        """Belief from observations alone, under hyperparameters that are fitted to them.

        The model goes on to know its own last fits.
        """
        other = replace(self)
        return other.belief(observations, other.fit(observations), torch.Generator().manual_seed(0))

    def of_sides(self, sides: Observations) -> OutcomeBelief:
        """Belief of the side of an edge that points are on, from rewards of 1 and -1."""
        return replace(self, hyperparameters=_SIDES).fitted_belief(sides)

    def conditioned(
        self, fitted: Fitted, weights: Tensor, observations: Observations
    ) -> OutcomeBelief:
        """Belief from observations, under hyperparameters and weights (t,) of the first."""
        fitted = replace(fitted, weights=weights)
        return self.belief(observations, fitted, torch.Generator().manual_seed(0))

    def alternative(self, fitted: Fitted, observations: Observations) -> OutcomeBelief | None:
        """Belief with another prior of the lengthscales; None where there is none."""
        rule, other = self.hyperparameters.alternative(fitted, self.data(observations))
        if other is fitted:
            return None
        own = torch.Generator().manual_seed(0)
        return replace(self, hyperparameters=rule).belief(observations, other, own)

    def contrasts(self, fitted: Fitted, observations: Observations) -> dict[str, Contrast]:
        """Effects of conditions on the rewards by name, those that the data support."""
        return self.hyperparameters.contrasts(fitted, self.data(observations))

    def weights(self, estimate: Estimate, sample: Sample) -> Tensor:
        """Weight in [0, 1] of each reward (t,) in an estimate, in order of arrival."""
        weigh = getattr(self.estimator, "weights", None)
        if weigh is None:
            return torch.ones(len(sample.observations), dtype=torch.float64)
        return weigh(estimate, sample)

    def unproved(self, outcome: OutcomeBelief) -> str:
        """Why the bounds of a belief of this model have no proof; empty if they have one."""
        if (theorem := self.theorem) is None:
            return (
                f"the width {self.width!r} has no theorem: pass one with a proof, such as "
                "`widths.dual_mixture(norm_bound, noise)`, or `assume` to the `Problem`"
            )
        name, estimator = f"`widths.{type(theorem).__name__}`", type(self.estimator).__name__
        reasons = {
            f"the bounds of {name} are not proved: {theorem.unproved}": bool(theorem.unproved),
            "the norm of f is not known, and one that is found by doubling may be too small: pass "
            "`norm_bound`": theorem.norm_bound is None,
            f"no theorem holds for `scale` = {theorem.scale!r}: pass 1": theorem.scale < 1.0,
            "the kernel is fitted to the rewards, or these are standardised: pass a kernel": not (
                self.hyperparameters.lasting and outcome.fitted.units.is_identity
            ),
            f"{name} is for `LeastSquares`, not `{estimator}`": estimator != "LeastSquares",
            "the features approximate the kernel, with an error that no bound includes: pass "
            "`Exact()` or `Nystrom(...)`": isinstance(
                self.features, QuadratureFourier | RandomFourier
            ),
            f"{name} is for features that represent the kernel: pass `Exact()`": (
                theorem.exact and unexplained(outcome.sample, outcome.prior_variance) > 0.0
            ),
        }
        return next((reason for reason, holds in reasons.items() if holds), "")

    def with_theorem(self, theorem: Theorem) -> Model:
        """The model with the bounds of a theorem."""
        return replace(self, width=theorem)

    def assuming(
        self, observations: Observations, known: Assumptions, lengthscale: float, center: float
    ) -> OutcomeBelief:
        """Belief from the rewards less a constant, with the bounds of what is assumed.

        Args:
            observations: The rewards.
            known: What is assumed.
            lengthscale: Lengthscale as a share of the extents.
            center: The constant.
        """
        span = self.space.upper - self.space.lower
        kernel = kernels.matern(2.5, lengthscale * torch.where(span > 0.0, span, 1.0))
        noise: float = known.noise or known.deviation  # type: ignore[assignment]
        moment = Moment(known.order - 1.0, noise**known.order, "mean")
        width = (
            self_normalised(moment, known.norm, known.delta, misfit=known.misfit)
            if known.noise is None
            else dual_mixture(known.norm, noise, known.delta)
        )
        rule = GivenHyperparameters(kernel, noise**2)
        rewards = observations.with_rewards(observations.rewards - center)
        return Model(self.space, rule, Exact(), LeastSquares(), width).fitted_belief(rewards)


@dataclass(eq=False)
class Regressor:
    """Regression and estimator under given hyperparameters, kept up to date as rewards arrive.

    Args:
        model: The parts of the model.
        fitted: The hyperparameters.
        regression: The geometry of the pulls.
        constants: Constants of the estimator.
        prior: Draws functions from the prior.
        shifted: The regression with the other regularisations of the band.
        state: State of the estimator.
    """

    model: Model = field(metadata={"saved": False})
    fitted: Fitted
    regression: Regression
    constants: Constants = field(metadata={"saved": False})
    prior: PriorPaths = field(metadata={"saved": False})
    shifted: ShiftedRegressions
    state: Any = None

    def replayed(self, observations: Observations) -> Any:
        """State of the estimator after all rewards of observations."""
        state = self.model.estimator.init(self.constants)
        modelled = self.modelled(observations)
        columns = modelled.site, modelled.rewards, modelled.sems
        for site, reward, sem in zip(*(column.tolist() for column in columns), strict=True):
            state = self._updated(state, site, reward, sem)
        return state

    def count(self, pull: Pull) -> None:
        """Count pulls of one point in the geometry."""
        self.regression.update(pull)
        self.shifted.update(pull)

    def take(self, observations: Observations) -> None:
        """Take in the last reward of observations."""
        site, reward, sem = observations.last_row
        if not (self.fitted.effects.is_none and self.fitted.trend.is_none):
            reward = float(self.modelled(observations.last).rewards)
        self.state = self._updated(self.state, site, reward, sem)

    def modelled(self, observations: Observations) -> Observations:
        """Observations with their rewards at the reference level, less the trend."""
        known, trend = at_reference(self.fitted, observations), self.fitted.trend
        if trend.is_none:
            return known
        with torch.no_grad():
            return known.with_rewards(
                known.rewards - trend(known.sites)[known.site].to(known.rewards)
            )

    def redrawn(self, observations: Observations, generator: torch.Generator) -> Regressor:
        """The same with batched features chosen again, from all pulls so far."""
        if not self.regression.batched:
            return self
        return self._in(self.regression.redrawn(observations, generator))

    def infer(self, observations: Observations) -> OutcomeBelief:
        """Belief from all observations that were counted and taken in."""
        known = observations.frozen  # what follows later must not change the belief
        sample = self.regression.sample(self.modelled(known), self.fitted.units)
        estimate, self.state = self.model.estimator.estimate(self.state, sample)
        posterior = self._about(self.regression.posterior(sample, estimate))
        progress = self._progress(known, sample, estimate, posterior)
        inferred = Inferred(
            len(known),
            estimate,
            posterior,
            float(self.model.width(progress)),
            progress.information_gain,
            progress.dimension,
        )
        return self._with(known, sample, inferred, progress)

    def current(self, observations: Observations, fitted: Fitted) -> OutcomeBelief:
        """Belief from all observations in the features in use, without a change of the run.

        Args:
            observations: The rewards.
            fitted: Hyperparameters with this kernel, in whose units rewards are standardised.
        """
        own = replace(self._in(self.regression.current(observations)), fitted=fitted)
        return own.infer(observations)

    def restored(self, observations: Observations, inferred: Inferred) -> OutcomeBelief:
        """A belief that was saved, from the first observations."""
        sample = self.regression.sample(self.modelled(observations), self.fitted.units)
        posterior = self._about(self.regression.kept(inferred.posterior, sample, inferred.estimate))
        progress = self._progress(observations, sample, inferred.estimate, posterior)
        return self._with(observations, sample, replace(inferred, posterior=posterior), progress)

    def width_at_start(self) -> float:
        """Width of the bounds before the first reward."""
        return self.model.width(
            Progress(
                round=0,
                information_gain=0.0,
                dimension=0,
                ridge=self.fitted.noise,
                prior_variance=self.constants.prior_variance,
            )
        )

    def _about(self, posterior: Posterior) -> Posterior:
        """The posterior about the trend."""
        trend = self.fitted.prior_mean
        return posterior if trend is no_trend else replace(posterior, trend=trend)  # type: ignore[type-var]

    def _with(
        self,
        observations: Observations,
        sample: Sample,
        inferred: Inferred,
        progress: Progress,
    ) -> OutcomeBelief:
        return OutcomeBelief(
            self.model,
            self.fitted,
            observations,
            sample,
            inferred,
            self.prior,
            self._shape(sample, inferred.posterior, progress),
            self.constants.prior_variance,
        )

    def _shape(self, sample: Sample, posterior: Posterior, progress: Progress) -> Shape:
        ridges = self.shifted.ridges
        for rule in self.model.band_rules:
            if isinstance(rule, self_normalised):
                shape = self_normalised_of(rule, sample, posterior, progress)
            else:
                regressions = self.shifted.of(self.regression, sample.version)
                shape = narrowed(rule, ridges, regressions, sample, posterior, progress)
            if shape.contradicted:
                warn_contradicted(rule)
            return shape
        return SYMMETRIC

    def _in(self, regression: Regression) -> Regressor:
        """The same with another regression."""
        return replace(self, regression=regression, shifted=ShiftedRegressions(self.shifted.ridges))

    def _progress(
        self, observations: Observations, sample: Sample, estimate: Estimate, posterior: Posterior
    ) -> Progress:
        return Progress(
            round=len(observations),
            information_gain=sample.factor.information_gain,
            dimension=sample.factor.dimension,
            ridge=self.fitted.noise,
            effective_dimension=partial(self._effective_dimension, posterior, observations),
            prior_variance=self.constants.prior_variance,
            threshold=estimate.threshold,
            unexplained=cache(partial(unexplained, sample, self.constants.prior_variance)),
            misfit=cache(partial(misfit, sample)),
            weighted_noise=sample.weighted_noise,
        )

    def _effective_dimension(self, posterior: Posterior, observations: Observations) -> float:
        """Sum of sigma^2(x) / ridge over all pulls, with the variance of now."""
        deviation = posterior.deviation_at(observations)
        relative = (deviation / posterior.scale).square() / self.fitted.noise
        return float((observations.counts * relative).sum())

    def _updated(self, state: Any, site: int, reward: float, sem: float) -> Any:
        """State of the estimator after one more reward."""
        estimator: Any = self.model.estimator
        if sem == 0.0:
            return estimator.update(state, site, reward)
        return estimator.update_with_error(state, site, reward, sem)
