"""The state of a run: observations, regression and estimate, kept up to date."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.threads import one_blas_thread
from surefoot.estimators import Constants, Estimate, Estimator, Sample
from surefoot.features import Features, PriorPaths
from surefoot.hyperparameters import (
    Contrast,
    Correction,
    CrossValidation,
    Fitted,
    TrainingData,
    Uncertainty,
)
from surefoot.optimizer.serialization import OUTSIDE, Decoder, is_whole
from surefoot.regression.observations import UNKNOWN, Conditions, Observations
from surefoot.regression.posterior import Posterior, Pull
from surefoot.regression.regression import Regression
from surefoot.spaces import Space
from surefoot.types import InvalidInput, NotReady
from surefoot.widths import Progress, Width

_MOST_LEVERAGE = 0.95  # of a reward: beyond, its residual is rounding


class Hyperparameters(Protocol):
    """Where kernel, noise and reward units come from."""

    @property
    def lasting(self) -> bool:
        """Whether kernel and noise stay for the whole run."""
        ...

    @property
    def effects(self) -> Sequence[str]:
        """Names of the effects of conditions that it looks for."""
        ...

    def is_due(self, number: int, fitted_at: int) -> bool:
        """Whether to fit after so many rewards, given those at the last fit."""
        ...

    def fit(self, data: TrainingData) -> Fitted:
        """Hyperparameters from observations; the same for the same data."""
        ...

    def contrasts(self, fitted: Fitted, data: TrainingData) -> dict[str, Contrast]:
        """The effects of conditions on the rewards by name, those that the data support."""
        ...

    def uncertainty(self, fitted: Fitted, data: TrainingData) -> Uncertainty:
        """What integrating over the hyperparameters changes at points (n, d)."""
        ...


@dataclass(eq=False)
class Outstanding:
    """Pulls that the posterior does not know of.

    Args:
        point: The point (d,) in the coordinates of the model.
        arm: Its index, on arms.
        count: How many pulls.
        missing: How many of them have no reward yet.
    """

    point: Tensor
    arm: int | None
    count: int
    missing: int


@dataclass(eq=False)
class Inference:
    """What follows from the rewards.

    Args:
        number: How many rewards it follows from.
        estimate: The estimate.
        posterior: The posterior.
        width: Multiplier of the standard deviation in the bounds.
        information_gain: Half the log determinant of I + K / ridge.
        dimension: Number of features.
    """

    number: int
    estimate: Estimate
    posterior: Posterior
    width: float
    information_gain: float
    dimension: int


@dataclass(eq=False)
class Model:
    """Keeps the posterior up to date as points are chosen and rewards arrive.

    `pull` says that a point was chosen, `observe` that a reward came from it, `release` that none
    will. A regression that works in batches keeps the estimate until its features are due.

    Args:
        space: Where the function is defined.
        hyperparameters: Where kernel, noise and reward units come from.
        features: The rule for the features.
        estimator: Estimator of the coefficients.
        width: The rule for the width.
        generator: Source of all random choices.
        initial: Size of the initial design.
    """

    space: Space = field(metadata={"saved": False})
    hyperparameters: Hyperparameters = field(metadata={"saved": False})
    features: Features = field(metadata={"saved": False})
    estimator: Estimator[Any] = field(metadata={"saved": False})
    width: Width = field(metadata={"saved": False})
    generator: torch.Generator = field(metadata={"saved": False})
    initial: int = field(default=0, metadata={"saved": False})
    observations: Observations = field(init=False)
    fitted: Fitted = field(init=False)
    fitted_at: int = 0
    prior: PriorPaths = field(init=False, metadata={"saved": False})
    regression: Regression = field(init=False)
    state: Any = field(init=False)  # of the estimator
    outstanding: list[Outstanding] = field(default_factory=list)
    _missing: dict[int | bytes, list[Outstanding]] = field(  # those with missing rewards
        default_factory=dict, metadata={"saved": False}
    )
    inference: Inference | None = None  # before the first reward
    _selection: Posterior | None = None
    _selected: int = 0  # outstanding pulls in it
    _look: Inference | None = field(default=None, metadata={"saved": False})
    _uncertainty: tuple[int, Uncertainty] | None = field(default=None, metadata={"saved": False})
    _residuals: tuple[Posterior, Tensor] | None = field(default=None, metadata={"saved": False})
    _copy: Model | None = field(default=None, metadata={"saved": False})  # fitted to all rewards

    def __post_init__(self) -> None:
        self.observations = Observations(self.space.dimension, self.space.lower.device)
        self._use(self._fit())
        self._check_width()

    def pull(self, point: Tensor, arm: int | None, count: int = 1) -> None:
        """A point was chosen, to be measured so many times."""
        one = Outstanding(point, arm, count, count)
        self.outstanding.append(one)
        self._missing.setdefault(_key(point, arm), []).append(one)
        if self.regression.batched:
            self.regression.update(Pull(point, arm, count))

    def observe(
        self,
        point: Tensor,
        arm: int | None,
        reward: float,
        sem: float = 0.0,
        conditions: Conditions = UNKNOWN,
    ) -> None:
        """A reward came from a point, whether it was chosen before or not.

        What follows from it is brought up to date by `infer`.
        """
        if _key(point, arm) not in self._missing:
            self.pull(point, arm)
        site = self.observations.append(point, reward, arm, sem, conditions)
        self.state = self._updated(self.state, site, self._last_reward(reward), sem)
        if self.regression.batched:
            self._settle(point, arm)
        else:
            self._take_back(point, arm)
            self.regression.update(Pull(point, arm, 1))

    def release(self, point: Tensor, arm: int | None, count: int = 1) -> None:
        """So many rewards will not come from a point that was chosen."""
        for _ in range(count):
            self._take_back(point, arm)
        if self.regression.batched:
            self.regression.update(Pull(point, arm, -count))

    def infer(self) -> Inference:
        """What follows from the rewards; within a batch, from those before it."""
        if self.inference is None or not self.regression.batched:
            self._renew()
        return self.latest

    def selection(self) -> Posterior:
        """The posterior that the next point is chosen by: outstanding pulls lower its variance."""
        if self.regression.is_due:
            self._renew()
        posterior = self.latest.posterior if self._selection is None else self._selection
        new = self.outstanding[self._selected :]
        if new:
            posterior = posterior.updated([Pull(one.point, one.arm, one.count) for one in new])
            self._selected = len(self.outstanding)
        self._selection = posterior
        return posterior

    @property
    def latest(self) -> Inference:
        """The inference in use; `NotReady` before the first reward."""
        if self.inference is None:
            raise NotReady("there are no rewards yet: call `ask` and `tell` first.")
        return self.inference

    def look(self) -> Inference:
        """What follows from all rewards so far, without a trace in the run."""
        if self.latest.number == len(self.observations):
            return self.latest
        if self._look is None or self._look.number != len(self.observations):
            regression, sample = self._current()
            estimate = self.estimator.estimate(copy.deepcopy(self.state), sample)[0]
            self._look = self._inference(regression, sample, estimate)
        return self._look

    def up_to_date(self) -> Model:
        """This model if fit and dictionary are of all rewards, as far as each is due; else a copy.

        Fits are rare while the initial design is measured, since nothing is chosen by them, and a
        batched dictionary is redrawn when a point is chosen. What is shown then does not depend on
        when the last one was.
        """
        number = len(self.observations)
        fitted = self.hyperparameters.lasting or self.fitted_at >= min(number, self.initial)
        if fitted and not self._is_overdue:
            return self
        if self._copy is None or len(self._copy.observations) != number:
            self._copy = None
            self._copy = copy.deepcopy(self)
            self._copy.initial = 0
            self._copy.fitted_at = 0
            for one in [one for one in self._copy.outstanding if one.missing]:
                self._copy.release(one.point, one.arm, one.missing)
            self._copy._renew()
        return self._copy

    @property
    def _is_overdue(self) -> bool:
        """Whether a batched dictionary is of few of the rewards, as where none was asked for."""
        if self.inference is None or not self.regression.batched:
            return False
        return len(self.observations) >= 2 * self.inference.number

    def weights(self) -> Tensor:
        """The weight in [0, 1] of each reward (t,) in the estimate from all of them."""
        weigh = getattr(self.estimator, "weights", None)
        if weigh is None or not len(self.observations):
            return torch.ones(len(self.observations), dtype=torch.float64)
        return weigh(self.look().estimate, self._current()[1])

    def residuals(self) -> Tensor:
        """Residuals (t,) of all rewards, as they are transformed and without effects of conditions.

        Each is divided by the square root of 1 - h, where its leverage h is the share of its own
        error that the posterior mean follows, so that its variance is that of the noise.

        References:
            Hoaglin and Welsch 1978, "The hat matrix in regression and ANOVA".
        """
        posterior = self.look().posterior
        if self._residuals is None or self._residuals[0] is not posterior:
            self._residuals = posterior, self._residuals_of(posterior)
        return self._residuals[1]

    def _residuals_of(self, posterior: Posterior) -> Tensor:
        observations, fitted = self.without_effects(), self.fitted
        site, rewards = observations.site, observations.rewards
        with torch.no_grad():
            mean, deviation = posterior.mean_and_deviation(observations.sites)
        noise = fitted.noise * posterior.scale**2 / self.weights().to(rewards)
        errors = fitted.units.error_variances(rewards, observations.sems) * fitted.scale**2
        leverage = deviation[site].square() / (noise + errors)
        residuals = fitted.warp(rewards) - mean[site]
        return residuals / (1.0 - leverage.clamp(0.0, _MOST_LEVERAGE)).sqrt()

    def _check_width(self) -> None:
        """`InvalidInput` unless the width is a function of `Progress` with values of at least 0."""
        try:
            width = self.width_at_start()
        except Exception as error:
            raise InvalidInput(
                f"`width` is {checks.shown(self.width)}, which cannot be called with a `Progress`: "
                f"{type(error).__name__}, {error}."
            ) from error
        checks.non_negative("what `width` gives", width)

    def width_at_start(self) -> float:
        """The width before the first reward."""
        return self.width(
            Progress(
                round=0,
                information_gain=0.0,
                dimension=0,
                ridge=self.fitted.noise,
                prior_variance=self._constants.prior_variance,
            )
        )

    def restore(self, values: Any, decoder: Decoder) -> None:
        """Go on from a saved model of the same parts."""
        fields = values["fields"]
        fitted = copy.copy(self.fitted)
        if self.hyperparameters.lasting:  # the kernel is a part that is here
            fields["fitted"]["fields"]["kernel"] = OUTSIDE
        decoder.fill(fitted, fields["fitted"])
        decoder.fill(self.observations, fields["observations"])
        self._use(fitted)
        decoder.fill(self.regression, fields["regression"])
        for name in ("fitted_at", "outstanding", "inference", "_selection", "_selected"):
            setattr(self, name, decoder.decode(fields[name]))
        for one in self.outstanding:
            if one.missing:
                self._missing.setdefault(_key(one.point, one.arm), []).append(one)
        if is_whole(fields["state"]):
            self.state = decoder.decode(fields["state"])
        else:
            self.state = self.replay(self.estimator.init(self._constants))
        if self.inference is not None:
            self._attach(self.inference)

    def _attach(self, inference: Inference) -> None:
        """What is not in a file: feature maps, and posteriors that follow from the estimate."""
        sample = self.regression.sample(self.without_effects(), self.fitted.units)
        kept = self.regression.kept(inference.posterior, sample, inference.estimate)
        if self._selection is inference.posterior or self._selection is None:
            self._selection, self._selected = None, 0
        else:
            self._selection = self.regression.kept(self._selection, sample, inference.estimate)
        inference.posterior = kept

    def replay(self, state: Any) -> Any:
        """A state of the estimator after all rewards."""
        observations = self.without_effects()
        columns = observations.site, observations.rewards, observations.sems
        for site, reward, sem in zip(*(column.tolist() for column in columns), strict=True):
            state = self._updated(state, site, reward, sem)
        return state

    def without_effects(self) -> Observations:
        """The observations with their rewards at the reference level of the effects."""
        observations = self.observations
        if self.fitted.effects.is_none:
            return observations
        columns = observations.rewards, observations.workers, observations.times
        return observations.with_rewards(self.fitted.without_effects(*columns))

    def _last_reward(self, reward: float) -> float:
        """The reward that was observed last, at the reference level of the effects."""
        if self.fitted.effects.is_none:
            return reward
        known = self.observations
        columns = known.rewards[-1:], known.workers[-1:], known.times[-1:]
        return float(self.fitted.without_effects(*columns))

    def _updated(self, state: Any, site: int, reward: float, sem: float) -> Any:
        """The state of the estimator after one more reward."""
        if sem == 0.0:
            return self.estimator.update(state, site, reward)
        update: Any = getattr(self.estimator, "update_with_error")  # noqa: B009
        return update(state, site, reward, sem)

    def _renew(self) -> None:
        """Fit, redraw and estimate from all rewards, as far as each is due."""
        if self._fit_is_due():
            self._use(self._fit())
            self.fitted_at = len(self.observations)
        if self.regression.batched:
            self.regression.redraw(self.observations)
            for one in self.outstanding:
                one.count = one.missing
            self.outstanding = [one for one in self.outstanding if one.missing]
        sample = self.regression.sample(self.without_effects(), self.fitted.units)
        estimate, self.state = self.estimator.estimate(self.state, sample)
        self.inference = self._inference(self.regression, sample, estimate)
        self._selection, self._selected = None, 0

    def _inference(self, regression: Regression, sample: Sample, estimate: Estimate) -> Inference:
        posterior = regression.posterior(sample, estimate)
        progress = Progress(
            round=len(self.observations),
            information_gain=sample.factor.information_gain,
            dimension=sample.factor.dimension,
            ridge=self.fitted.noise,
            effective_dimension=partial(self._effective_dimension, posterior),
            prior_variance=self._constants.prior_variance,
            threshold=estimate.threshold,
        )
        return Inference(
            len(self.observations),
            estimate,
            posterior,
            float(self.width(progress)),
            progress.information_gain,
            progress.dimension,
        )

    def _effective_dimension(self, posterior: Posterior) -> float:
        """Sum of sigma^2(x) / ridge over all pulls, with the variance of now."""
        deviation = posterior.deviation_at(self.observations)
        relative = (deviation / posterior.scale).square() / self.fitted.noise
        return float((self.observations.counts * relative).sum())

    def _current(self) -> tuple[Regression, Sample]:
        """The geometry of all rewarded pulls, and the rewards in the units that they call for."""
        due = self.hyperparameters.is_due(len(self.observations), self.fitted_at)
        units = (self._fit() if due else self.fitted).units
        regression = self.regression.current(self.observations)
        return regression, regression.sample(self.without_effects(), units)

    def _fit_is_due(self) -> bool:
        """Whether to fit: by the rule, and rarely while the initial design is measured."""
        number, before = len(self.observations), self.fitted_at
        if not self.hyperparameters.lasting and before < self.initial:
            return number >= min(2 * before, self.initial)
        return self.hyperparameters.is_due(number, before)

    def _fit(self) -> Fitted:
        """Hyperparameters from all rewards."""
        with one_blas_thread():
            return self.hyperparameters.fit(self._data())

    def _data(self) -> TrainingData:
        """What hyperparameters are fitted to."""
        span = self.space.upper - self.space.lower
        return TrainingData(
            self.observations.sites[self.observations.site],
            self.observations.rewards,
            self.space.lower,
            torch.where(span > 0.0, span, 1.0),
            self.space.shared,
            self.observations.sems,
            self.observations.workers,
            self.observations.times,
        )

    @property
    def uncertainty(self) -> Uncertainty:
        """What is not known of the hyperparameters, for the rewards at the time of asking."""
        return _CurrentUncertainty(self)

    def current_uncertainty(self) -> Uncertainty:
        """What is not known of the hyperparameters now."""
        number = len(self.observations)
        if self._uncertainty is None or self._uncertainty[0] != number:
            with one_blas_thread():
                found = self.hyperparameters.uncertainty(self.fitted, self._data())
            self._uncertainty = number, found
        return self._uncertainty[1]

    def contrasts(self) -> dict[str, Contrast]:
        """The effects of conditions on the rewards by name, those that the data support."""
        return self.hyperparameters.contrasts(self.fitted, self._data())

    def _use(self, fitted: Fitted) -> None:
        """Begin anew with a kernel that is not the one in use."""
        before, self.fitted = getattr(self, "fitted", None), fitted
        if before is not None and before.kernel is fitted.kernel:
            return
        self._begin()
        observations = self.observations
        arms: Sequence[int | None] = observations.arms or [None] * len(observations.sites)
        for point, arm, count in zip(
            observations.sites, arms, observations.counts.tolist(), strict=True
        ):
            self.regression.update(Pull(point, arm, int(count)))
        self.state = self.replay(self.state)

    def _begin(self) -> None:
        """Regression and state before the first reward, for the kernel in use."""
        fitted, space = self.fitted, self.space
        lasting = self.hyperparameters.lasting
        self.prior = PriorPaths(fitted.kernel, space)
        self.regression = self.features.init(
            fitted.kernel, space, fitted.noise, self.generator, lasting=lasting
        )
        points = space.examples(0, self.generator)
        self._constants = Constants(
            fitted.noise,
            float(kernels.diagonal(fitted.kernel, points).max()),
            self.regression.max_dimension,
            fitted.dof,
            fitted.weights,
        )
        self.state = self.estimator.init(self._constants)

    def _settle(self, point: Tensor, arm: int | None) -> Outstanding:
        """One reward of the first pulls of a point is no longer missing."""
        key = _key(point, arm)
        one = self._missing[key][0]
        one.missing -= 1
        if one.missing == 0:
            del self._missing[key][0]
            if not self._missing[key]:
                del self._missing[key]
        return one

    def _take_back(self, point: Tensor, arm: int | None) -> None:
        """One pull without a reward is no longer outstanding."""
        one = self._settle(point, arm)
        one.count -= 1
        if one.count == 0:
            self.outstanding.remove(one)
        self._selection, self._selected = None, 0


def _key(point: Tensor, arm: int | None) -> int | bytes:
    """What pulls of the same point have in common."""
    return point.cpu().numpy().tobytes() if arm is None else arm


@dataclass(frozen=True, eq=False)
class _CurrentUncertainty:
    """That of a model, which is found out only if it is asked for."""

    model: Model
    is_smooth: bool = False

    def __call__(self, points: Tensor) -> Correction:
        with one_blas_thread():
            return self._found(points)

    @property
    def smooth(self) -> _CurrentUncertainty:
        return replace(self, is_smooth=True)

    def covariance(self, points: Tensor) -> Tensor:
        with one_blas_thread():
            return self._found.covariance(points)

    def draws(
        self, posterior: Posterior, points: Tensor, number: int, generator: torch.Generator
    ) -> Tensor:
        with one_blas_thread():
            return self._found.draws(posterior, points, number, generator)

    def cross_validation(self) -> CrossValidation:
        with one_blas_thread():
            return self._found.cross_validation()

    @property
    def _found(self) -> Uncertainty:
        found = self.model.current_uncertainty()
        return found.smooth if self.is_smooth else found
