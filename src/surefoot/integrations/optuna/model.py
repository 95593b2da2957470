"""Model of an Optuna study: predictions and recommendations, in its units and direction."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.estimands import ESTIMANDS, Estimand
from surefoot.acquisition.estimands import Ends, estimand_of
from surefoot.estimators.student_t import OUTLIER_WEIGHT
from surefoot.integrations.optuna.differences import difference_of, difference_of_transformed
from surefoot.integrations.optuna.predictions import (
    OverEnvironment,
    PredictedConstraint,
    StudyDrift,
    StudyRecommendation,
)
from surefoot.integrations.optuna.risk_over_environment import RiskOverEnvironment, crossed
from surefoot.optimizer.constraints import CONFIDENT
from surefoot.regression.units import BackTransformation
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.hyperparameters import Contrast, CrossValidation
    from surefoot.integrations.optuna.tracker import StudyTracker
    from surefoot.spaces import Box

_CHUNK = 2**16  # points predicted at once
_NORMAL = NormalDist()
_POSITIVE = (1e-300, 1e300)  # range of values whose logarithms are compared
_OF_95 = 1.96  # standard deviations of a 95 % interval
_DRAWS = 1024  # functions drawn from the posterior
_DRAWN = 384  # configurations at which they are drawn
_FILLING, _SURROUNDING = 2048, 512  # configurations of which these are chosen
_REACH = (0.1, 0.03, 0.01)  # of those that surround one, in the unit cube


class StudyBelief:
    """Model of a study at one time, in the units and direction of the study.

    It is returned by `SurefootSampler.belief`.

    Args:
        tracker: Optimizer that has read the trials of the study.
        constant: Values of the parameters that do not vary, by name.
        branches: Function that returns the models of the branches of a conditional search space,
            each with all parameters of its trials; None where all trials have the same ones.

    Example:
        >>> import optuna
        >>> from surefoot.integrations.optuna import SurefootSampler
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(sampler=SurefootSampler(seed=0, initial=3))
        >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=3)
        >>> mean, lower, upper = study.sampler.belief(study).predict([{"x": 0.1}, {"x": 0.9}])
        >>> mean.shape, bool((lower <= mean).all())
        ((2,), True)
    """

    def __init__(
        self,
        tracker: StudyTracker,
        constant: Mapping[str, Any] | None = None,
        branches: Callable[[], list[StudyBelief]] | None = None,
    ) -> None:
        optimizer = tracker.optimizer
        self._constant, self._branches = dict(constant or {}), branches
        self._encoding, self._sign, self._log = tracker.encoding, tracker.sign, tracker.log
        self._best = optimizer.recommend().point
        self._feasible, self._constraints = optimizer.feasible_designs, optimizer.constraints
        context = optimizer.context
        reported = optimizer.interval(context)
        self._posterior, self._width = reported.posterior, reported.width
        self._residuals = optimizer.residuals
        self._most_likely, self._uncertainty = context.posterior, context.hyperparameter_uncertainty
        self._warp, self._estimand = reported.warp, reported.estimand
        self._units = BackTransformation(self._warp, self._sign, self._log)
        self.cross_validation: CrossValidation = self._uncertainty.cross_validation()
        """How well the model predicts each value from the others, in its own units."""
        self._hyperparameters = optimizer.hyperparameters
        self._contrasts, known = optimizer.contrasts(), optimizer.history
        self._times, self._workers = known.times.cpu(), known.workers.cpu()
        self._names = list(known.worker_names)
        self.unstable: list[dict[str, Any]] = [
            {**tracker.configuration(point), **self._constant} for point in optimizer.unstable
        ]
        """Configurations whose measurements differ too much, as values by parameter name."""
        self._over = None
        if tracker.environment is not None and optimizer.risk is not None:
            self._over = RiskOverEnvironment(tracker.environment, optimizer.risk)
        self.trials: list[int] = list(tracker.numbers)
        """Numbers of the trials in the model, in the order in which they were read."""
        told = tracker.sign * optimizer.history.rewards.cpu().numpy()
        self.values: np.ndarray = np.exp(told) if self._log else told
        """Their values (n,)."""
        self.weights: np.ndarray = optimizer.weights.cpu().numpy().copy()
        """Weight of each value (n,), from 1 (full weight) to 0 (treated as an outlier)."""

    @property
    def estimand(self) -> Estimand:
        """What is predicted of the measurements of a configuration: location, median or mean."""
        return self._estimand.name

    def of_estimand(self, estimand: Estimand) -> StudyBelief:
        """The same model, predicting another estimand.

        Args:
            estimand: "location", "median" or "mean"; see `SurefootSampler`.

        Returns:
            A copy; without branches, it recommends the same configuration.

        Raises:
            InvalidInput: If it is none of these.
        """
        checks.choice("estimand", estimand, *ESTIMANDS)
        other, branches = copy.copy(self), self._branches
        other._estimand = estimand_of(estimand, self._residuals)
        if branches is not None:
            other._branches = lambda: [branch.of_estimand(estimand) for branch in branches()]
        return other

    @property
    def effects(self) -> tuple[str, ...]:
        """Effects of the conditions of trials that are taken out: "worker" and "drift"."""
        return tuple(self._contrasts)

    def drift(self, params: Mapping[str, Any]) -> StudyDrift | None:
        """Predict one configuration at the times of the trials.

        Args:
            params: A configuration, as values by parameter name.

        Returns:
            Predictions at the times that are known; None where no drift was found, and in a study
            with an environment. All other predictions are for the time of the latest trial.

        Raises:
            InvalidInput: If the configuration is not in the search space.
        """
        if "drift" not in self._contrasts or self._over is not None:
            return None
        known = [i for i in self._times.argsort().tolist() if not self._times[i].isnan()]
        ends = self._under(params, self._contrasts["drift"], known)
        return StudyDrift([self.trials[i] for i in known], *ends)

    def workers(self, params: Mapping[str, Any]) -> dict[str, tuple[float, float, float]]:
        """Predict one configuration on each worker, at the time of the latest trial.

        Args:
            params: A configuration, as values by parameter name.

        Returns:
            Predicted values by worker, with 95 % intervals of what differs from the average of
            the workers; empty where workers were not found to differ, and in a study with an
            environment.

        Raises:
            InvalidInput: If the configuration is not in the search space.
        """
        if "worker" not in self._contrasts or self._over is not None:
            return {}
        first = {worker: i for i, worker in reversed([*enumerate(self._workers.tolist())])}
        chosen = [first[index] for index in range(len(self._names))]
        ends = self._under(params, self._contrasts["worker"], chosen)
        rows = zip(*(end.tolist() for end in ends), strict=True)
        return dict(zip(self._names, rows, strict=True))

    @property
    def adjusted(self) -> np.ndarray:
        """The values (n,) as they would have been at the latest time and on the average worker.

        They are the values themselves where no effect of worker or time was found.
        """
        if not self._contrasts:
            return self.values
        told = torch.from_numpy(np.log(self.values) if self._log else self.values.astype(float))
        offsets = torch.stack([one.mean for one in self._contrasts.values()]).sum(0)
        return self._units(self._warp(self._sign * told) - offsets).numpy()

    def _under(
        self, params: Mapping[str, Any], contrast: Contrast, chosen: list[int]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Prediction of a configuration, with an effect of conditions, and 95 % intervals."""
        with torch.no_grad():
            level = self._posterior.mean(self._points([params]).to(self._best.device)).cpu()
        mean, margin = level + contrast.mean[chosen], _OF_95 * contrast.deviation[chosen]
        ends = (mean, mean - self._sign * margin, mean + self._sign * margin)
        middle, low, high = (self._estimand.values(end, self._units).numpy() for end in ends)
        return middle, low, high

    @property
    def outliers(self) -> np.ndarray:
        """Mask (n,) of the values with less than half their weight."""
        return self.weights < OUTLIER_WEIGHT

    @property
    def noise_scale(self) -> float:
        """Scale of the noise in the units of the model; for Gaussian noise its deviation."""
        fitted = self._hyperparameters
        return float("nan") if fitted is None else fitted.noise**0.5 * fitted.scale

    @property
    def assumed(self) -> str:
        """Description of the noise model."""
        fitted = self._hyperparameters
        dof = float("nan") if fitted is None else fitted.dof
        return (
            f"Student-t noise with {dof:g} degrees of freedom (fewer means heavier tails) and "
            f"scale {self.noise_scale:.4g}, both fitted to the data; homoscedastic"
            f"{', of the logarithm of the values' if self._log else ''}"
            f"{'' if self._warp.is_identity else '; values far from the best are compressed'}."
        )

    def on_model_scale(self, values: np.ndarray) -> np.ndarray:
        """Values in the units of the model: as they are transformed before they are modelled.

        Args:
            values: Values (n,) in the units of the study.

        Returns:
            Values (n,), of which the noise has the scale `noise_scale`.
        """
        told = np.log(values) if self._log else np.asarray(values, dtype=float)
        return self._sign * self._warp(torch.from_numpy(self._sign * told)).numpy()

    def recommend(self) -> StudyRecommendation:
        """Configuration with the best predicted value or risk.

        In a study with constraints it is the best of those for which all of them hold with the
        confidence asked for, 0.95 for those that were not declared. If no such configuration is
        known, it is the measured one for which that is most probable, and a warning says so.

        In a conditional search space, trials of the same parameters form a branch, of which there
        is a model with all of them. The configuration is that of the branch with the best end of
        the credible interval in the bad direction, and has all its parameters.

        Returns:
            The configuration, with its predicted value or risk and 95 % credible interval.
        """
        best = max(self._recommendations(), key=self._merit)
        if not best.feasible:
            warnings.warn(
                f"no configuration is known whose constraints hold with {self._asked()}: "
                f"the recommended one has {best.feasibility:.2g}.",
                stacklevel=2,
            )
        return best

    def _recommendations(self) -> list[StudyRecommendation]:
        """Of each branch, or the only one."""
        if self._branches is not None:
            return [one for branch in self._branches() for one in branch._recommendations()]
        return [self.assess(self._encoding.decode(self._best))]

    def assess(self, params: Mapping[str, Any]) -> StudyRecommendation:
        """Predict one configuration as if it were recommended.

        Args:
            params: A configuration, as values by parameter name.

        Returns:
            The configuration with its predicted value or risk, and its feasibility.

        Raises:
            InvalidInput: If the configuration is not in the search space.
        """
        mean, lower, upper = self.predict([params])
        chance, feasible = float(self.feasibility([params])[0]), True
        if self._feasible is not None:
            feasible = bool(self._feasible.is_assured(self._points([params]).to(self._best.device)))
        interval = float(mean[0]), float(lower[0]), float(upper[0])
        known, what = {**params, **self._constant}, self.estimand
        return StudyRecommendation(known, *interval, chance, feasible, what)

    def preference(self, one: StudyRecommendation) -> tuple[float, float]:
        """What orders configurations: feasibility, then the predicted value.

        Args:
            one: A configuration, as `assess` predicts it.

        Returns:
            A key, larger for a better configuration.
        """
        return float("inf") if one.feasible else one.feasibility, self._sign * one.value

    def is_worse(self, params: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether the interval of the difference says that a configuration is worse than another.

        Args:
            params: Values by parameter name.
            other: Those of the other configuration.

        Returns:
            Whether it is; False where the interval leaves it open.
        """
        _, lower, upper = self.difference(params, other)
        return upper < 0.0 if self._sign > 0 else lower > 0.0

    def expected_gains(
        self, settings: Sequence[Mapping[str, Any]], params: Mapping[str, Any]
    ) -> np.ndarray:
        """Expected improvement of configurations on another one, without noise.

        Args:
            settings: Configurations, as values by parameter name.
            params: The configuration to improve on.

        Returns:
            Expected improvements (n,), at least 0, in the units of the model; they count as far as
            the constraints of the study are likely to hold.
        """
        feasible, gains = self.feasibility(settings), []
        for one in settings:
            mean, deviation = self._change(one, params)
            z = mean / deviation
            gains.append(float(deviation * (z * _NORMAL.cdf(z) + _NORMAL.pdf(z))))
        return np.array(gains) * feasible

    def probability_of_gain(self, params: Mapping[str, Any], gain: float) -> float:
        """Probability that some configuration is better than another one by more than a share.

        Args:
            params: The configuration to improve on, as values by parameter name.
            gain: The share, of the magnitude of its predicted value.

        Returns:
            The probability: the share of `largest_gains` above it.

        Raises:
            InvalidInput: If the configuration is not in the search space, `gain` is no number, or
                the study has an environment.
        """
        share = checks.finite("gain", gain)
        return float((self.largest_gains(params) > share).mean())

    def largest_gains(self, params: Mapping[str, Any]) -> np.ndarray:
        """By how much the best configuration is better than another one, in functions drawn.

        The functions are drawn from the posterior integrated over the hyperparameters, and
        evaluated at those of many configurations that fill the space and surround the given one
        whose upper bound is largest.

        Args:
            params: The configuration to improve on, as values by parameter name.

        Returns:
            Shares (1024,) of the magnitude of its predicted value; negative where no other
            configuration is better. A configuration counts where the drawn constraints hold.

        Raises:
            InvalidInput: If the configuration is not in the search space, or the study has an
                environment.

        References:
            Wilson 2024, "Stopping Bayesian optimization with probabilistic regret bounds".
        """
        if self._over is not None:
            raise InvalidInput("the study has an environment, over whose risk no gain is known.")
        at = self._points([params]).to(self._best.device)
        generator = torch.Generator().manual_seed(0)
        points = _candidates(self._encoding.box, at.cpu(), generator).to(at.device)
        with torch.no_grad():
            mean, deviation = self._posterior.mean_and_deviation(points)
            best = (mean + 3.0 * deviation).topk(min(_DRAWN, len(points))).indices
            points = torch.cat([at, points[best]])
            drawn = self._uncertainty.draws(self._most_likely, points, _DRAWS, generator)
            drawn = self._compared(drawn)
            changes = drawn[1:] - drawn[:1]
            holds = self._constraints.draws(points[1:], _DRAWS, generator)
            if holds is not None:
                changes = torch.where(holds, changes, -torch.inf)
            largest = changes.amax(0).cpu()
            value = self._estimand.values(self._posterior.mean(at), self._units).abs().cpu()
        if self._log:
            return (self._sign * (self._sign * largest).expm1()).numpy()
        return (largest / value).nan_to_num(nan=0.0, posinf=torch.inf, neginf=-torch.inf).numpy()

    def _compared(self, function: Tensor) -> Tensor:
        """What is reported (...) where the transformed function is this, up to a constant.

        It is maximised, and the logarithm of the values where that is modelled.
        """
        if self._warp.is_identity:
            return function
        values = self._estimand.values(function, self._units)
        return self._sign * (values.clamp(*_POSITIVE).log() if self._log else values)

    def _change(self, params: Mapping[str, Any], other: Mapping[str, Any]) -> tuple[float, float]:
        """Mean and deviation of the improvement of a configuration on another one."""
        mean, covariance = self._jointly(self._points([params, other]).to(self._best.device))
        signs = mean.new_tensor([1.0, -1.0])
        deviation = float((signs @ covariance @ signs).clamp_min(0.0).sqrt())
        return float(signs @ mean), max(deviation, 1e-300)

    def _asked(self) -> str:
        declared = bool(self._constraints.limits)
        return "the confidence asked for" if declared else f"a probability of {CONFIDENT}"

    def _merit(self, one: StudyRecommendation) -> tuple[float, float]:
        pessimistic = one.lower if self._sign > 0 else -one.upper
        return float("inf") if one.feasible else one.feasibility, pessimistic

    def feasibility(self, settings: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Probability that all constraints of the study hold, without noise.

        Args:
            settings: Configurations, as values by parameter name.

        Returns:
            Probabilities (n,), over the environment if the study has one; 1 without constraints.

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        x = self._points(settings)
        if self._feasible is None or not len(x):
            return np.ones(len(x))
        return self._feasible.probability(x.to(self._best.device)).cpu().numpy()

    def constraints(self, params: Mapping[str, Any]) -> dict[str, PredictedConstraint]:
        """Predict the declared constraints that have been measured.

        Args:
            params: A configuration, as values by parameter name; the study has no environment.

        Returns:
            Predictions by name of the constraint.

        Raises:
            InvalidInput: If the configuration is not in the search space, or the study has an
                environment.
        """
        if self._over is not None:
            raise InvalidInput("the study has an environment, over which constraints vary.")
        with torch.no_grad():
            predicted = self._constraints.predict(self._points([params]).to(self._best.device))
        found = {}
        for name, one in predicted.items():
            if name in self._constraints.limits:
                found[name] = PredictedConstraint(self._constraints.limits[name], *map(float, one))
        return found

    def predict(
        self,
        settings: Sequence[Mapping[str, Any]],
        environments: Sequence[Mapping[str, Any]] | None = None,
        at: Sequence[int] | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predict values or risks without noise, at the time of the latest trial.

        Args:
            settings: Configurations, as values by parameter name.
            environments: One environment for each configuration, as values by variable name; the
                prediction is of the value under it then. Without them it is of the risk in a study
                with an environment, and of the value in any other.
            at: Number of a trial for each configuration, to predict it at the time of that trial,
                in a study without an environment.

        Returns:
            Posterior mean of the estimand (median, where values are transformed), lower and upper
            end of the 95 % credible interval, each (n,).

        Raises:
            InvalidInput: If a configuration is not in the search space, an environment not in the
                support, or a number not that of a trial in the model.
        """
        x, over = self._points(settings), self._over
        if over is None and environments is None:
            return self._predicted(x, self._drift_at(at, len(x)))
        if over is None:
            raise _no_environment()
        if environments is not None:
            return self._predicted(over.points(x, environments))
        z, weights = over.values()
        risks = []
        for chunk in x.split(max(1, _CHUNK // len(z))):
            bounds = self._bounds(crossed(chunk, z), BackTransformation(self._warp))
            risks.append([over.risk(each.reshape(len(chunk), len(z)), weights) for each in bounds])
        mean, *ends = (self._sign * torch.cat(each).numpy() for each in zip(*risks, strict=True))
        return mean, np.minimum(*ends), np.maximum(*ends)

    def difference(
        self, params: Mapping[str, Any], other: Mapping[str, Any]
    ) -> tuple[float, float, float]:
        """Predicted value of a configuration less that of another one, without noise.

        The interval is narrower than the two configurations' own where their values vary together.

        Args:
            params: Values by parameter name.
            other: Those of the other configuration.

        Returns:
            Posterior mean of the difference (median, where values are transformed), lower and
            upper end of its 95 % credible interval.

        Raises:
            InvalidInput: If a configuration is not in the search space, or the study has an
                environment.
        """
        if self._over is not None:
            raise InvalidInput(
                "the study has an environment, whose risks have no joint posterior: compare what "
                "`predict` gives for each."
            )
        points = self._points([params, other]).to(self._best.device)
        mean, covariance = self._jointly(points)
        covariance = covariance + self._uncertainty.covariance(points)
        if self._warp.is_identity:
            ends = difference_of(mean, covariance, self._width)
        else:
            ends = difference_of_transformed(mean, covariance, self._compared, self._width)
        middle, lower, upper = (self._sign * end for end in ends)
        lower, upper = min(lower, upper), max(lower, upper)
        if not self._log:
            return middle, lower, upper
        value = float(self.predict([other])[0][0])  # of which the ratio is predicted
        return value * math.expm1(middle), value * math.expm1(lower), value * math.expm1(upper)

    def _jointly(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Means (n,) and covariance (n, n) of the transformed function at points (n, d)."""
        with torch.no_grad():
            at = self._posterior.evaluate(points)
            return self._posterior.mean(points), self._posterior.covariance(at, at)

    def over_environment(self, params: Mapping[str, Any]) -> OverEnvironment:
        """Predict one configuration over the environment.

        Args:
            params: Values by parameter name.

        Returns:
            Predictions under each value of a finite environment, or under 1,024 quasi-random
            values of a continuous one.

        Raises:
            InvalidInput: If the study has no environment, or the configuration is not in the
                search space.
        """
        if self._over is None:
            raise _no_environment()
        z, weights = self._over.values()
        ends = self._predicted(crossed(self._points([params]), z))
        return OverEnvironment(z.numpy(), *ends, weights.numpy())

    def _points(self, settings: Sequence[Mapping[str, Any]]) -> Tensor:  # (n, dx)
        if isinstance(settings, Mapping | str) or not hasattr(settings, "__len__"):
            raise InvalidInput(
                f"`settings` is {checks.shown(settings)}, expected a list of configurations."
            )
        rows = []
        for params in settings:
            point = self._encoding.encode(params) if isinstance(params, Mapping) else None
            if point is None:
                raise InvalidInput(
                    f"{checks.shown(params)} is not a configuration of this study, expected values "
                    f"for {', '.join(self._encoding.distributions)} within their ranges."
                )
            rows.append(point)
        if not rows:
            return torch.zeros(0, self._encoding.box.dimension, dtype=torch.float64)
        return torch.stack(rows)

    def _drift_at(self, trials: Sequence[int] | None, number: int) -> Tensor | float:
        """How the drift has changed values at the times of trials, as they are transformed."""
        if trials is not None and (
            not hasattr(trials, "__len__")
            or len(trials) != number
            or any(one not in self.trials for one in trials)
        ):
            raise InvalidInput(
                f"`at` is {checks.shown(trials)}, expected the number of a trial in the model for "
                f"each of {number} configurations."
            )
        if trials is None or "drift" not in self._contrasts:
            return 0.0
        return self._contrasts["drift"].mean[[self.trials.index(number) for number in trials]]

    def _bounds(
        self, points: Tensor, units: BackTransformation, offset: Tensor | float = 0.0
    ) -> Ends:
        """The estimand (n,) at encoded points (n, d), lower and upper bounds, in some units."""
        if not len(points):
            return (torch.zeros(0, dtype=torch.float64),) * 3
        device = self._best.device
        with torch.no_grad():
            mean, deviation = self._posterior.mean_and_deviation(points.to(device))
            mean, margin = mean.cpu() + offset, self._width * deviation.cpu()
            ends = (mean, mean - margin, mean + margin)
            return self._estimand.interval(ends, units, self._width)

    def _predicted(
        self, points: Tensor, offset: Tensor | float = 0.0
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same in the units and the direction of the study."""
        mean, lower, upper = self._bounds(points, self._units, offset)
        return mean.numpy(), lower.numpy(), upper.numpy()


def _candidates(box: Box, at: Tensor, generator: torch.Generator) -> Tensor:
    """Points (n, d) that fill a box and surround a point (1, d)."""
    filling = box.sample(_FILLING, generator)
    reach = torch.tensor(_REACH, dtype=torch.float64).repeat_interleave(_SURROUNDING // 3)[:, None]
    noise = torch.randn(len(reach), box.dimension, dtype=torch.float64, generator=generator)
    return torch.cat([filling, box.snap(at + reach * noise)])


def _no_environment() -> InvalidInput:
    return InvalidInput(
        "the study has no environment: pass `environment` and `risk` to its sampler."
    )
