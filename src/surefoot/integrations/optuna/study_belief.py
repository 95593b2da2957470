"""Belief of an Optuna study: predictions and recommendations, in its units and direction."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.estimands import Estimand
from surefoot._internal.html import as_html, at_least, at_most
from surefoot._internal.numbers import CONFIDENT, OF_95
from surefoot._internal.process_settings import with_own_settings
from surefoot._internal.user_warnings import warn
from surefoot.acquisition.recommendation import By, recommend
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief, gains
from surefoot.beliefs.belief import rows
from surefoot.beliefs.constraints import goal_of
from surefoot.beliefs.estimands import Ends, of_measured_sign
from surefoot.integrations.optuna.choosable import Part, choosable
from surefoot.integrations.optuna.common_space import Ranges
from surefoot.integrations.optuna.predicted import VALUE, Environments, Predicted
from surefoot.integrations.optuna.predictions import (
    OverEnvironment,
    PredictedConstraint,
    SharedFailure,
    StudyDrift,
    StudyRecommendation,
    unmeasured_text,
)
from surefoot.optimizer.arguments import part_of
from surefoot.regression.regression import OUTLIER_WEIGHT
from surefoot.regression.transforms import Chain
from surefoot.types import InvalidInput, Objective

if TYPE_CHECKING:
    from surefoot.parameters.encoding import Encoding
    from surefoot.regression.cross_validation import CrossValidation
    from surefoot.regression.noise import Contrast
    from surefoot.spaces import Joint


_Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class StudyBelief:
    """Belief of a study at one time, in its parameters, units and direction.

    It is returned by `SurefootSampler.belief`.

    Args:
        belief: Belief of the optimizer that has read the trials, in the units of the study.
        encoding: Encoding of the search space.
        trials: Numbers of the trials in the model, in the order in which they were read.
        configuration: Function that returns the configuration of a point (d,).
        by: Rule of the recommendation.
        ranges: Distributions that the objective function has asked for last, by name.
        predicted: Quantity of a configuration that is predicted.
        constant: Values of the parameters that do not vary, by name.
        branches: Function that returns the beliefs of the branches of a conditional search space,
            each with all parameters of its trials; none where all trials have the same ones.
        declared: Further objectives by name.

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

    belief: Belief
    encoding: Encoding
    trials: list[int]
    configuration: Callable[[Tensor], dict[str, Any]]
    by: By
    ranges: Ranges
    predicted: Predicted = VALUE
    constant: Mapping[str, Any] = field(default_factory=dict)
    branches: Callable[[], list[StudyBelief]] = list
    declared: Mapping[str, Objective] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        with warnings.catch_warnings():  # of what the row about constraints says
            warnings.simplefilter("ignore")
            best = self.recommend()
        return as_html("Belief of the study", {**best.rows, **rows(self.belief)})

    @cached_property
    def values(self) -> np.ndarray:
        """Values (n,) of the trials in the model."""
        return self._array(self._units.inverse(self.belief.outcome.observations.rewards)).copy()

    @property
    def weights(self) -> np.ndarray:
        """Weight of each value (n,), from 1 (full weight) to 0 (treated as an outlier)."""
        return self._array(self.belief.weights).copy()

    @property
    def cross_validation(self) -> CrossValidation:
        """Leave-one-out predictions of the values, in the units of the model."""
        return self.belief.outcome.cross_validation

    @property
    def log_density_left_out(self) -> float:
        """Sum of the log density of each value, as it is predicted from the others.

        In the units of the values, so that models of different transformations can be compared.
        """
        validation, steps = self.cross_validation, 1e-6 * np.maximum(np.abs(self.values), 1e-300)
        below, above = (self.on_model_scale(self.values + sign * steps) for sign in (-1.0, 1.0))
        slopes = np.abs(above - below) / (2.0 * steps) / self.belief.outcome.fitted.scale
        z = self._array((validation.rewards - validation.predicted) / validation.deviations)
        return float((np.log(slopes / self._array(validation.deviations)) - 0.5 * z**2).sum())

    def bias_near(self, params: Mapping[str, Any]) -> float:
        """How much better trials near a configuration are than predicted from the others.

        Args:
            params: The configuration, as values by parameter name.

        Returns:
            The difference in standard errors, of the eight nearest trials; 0 for fewer than 30.
            Beyond two or three, what is predicted there cannot be relied on.

        Raises:
            InvalidInput: If it is no configuration of the study.
        """
        self.predicted.check_single("errors of predictions")
        return float(self.belief.outcome.bias_near(self._points([params])))

    @property
    def unstable(self) -> list[dict[str, Any]]:
        """Configurations whose measurements differ too much, as values by parameter name."""
        points = self.belief.outcome.observations.sites[self.belief.failures.unstable]
        return [{**self.configuration(point), **self.constant} for point in points]

    @property
    def seeks_feasibility(self) -> bool:
        """Whether no measured configuration probably satisfies all constraints.

        The sampler then searches for a first one that does, whatever its value.
        """
        return self.belief.candidates.seeks_feasibility

    @property
    def shared_failures(self) -> list[SharedFailure]:
        """Values with which every trial seems to fail, whatever the other parameters are."""
        parameters = self.encoding.parameters.items()
        return [
            SharedFailure(name, parameter.decode(one.value.cpu()), one.failures, one.probability)
            for one in self.belief.failures.shared.found
            for name, parameter in parameters
            if parameter.columns == one.columns
        ]

    @property
    def shared_conditions(self) -> list[SharedFailure]:
        """Values of the environment under which no trial seems to succeed, whatever it is of."""
        space, found = self.belief.space, self.belief.failures.conditions.found
        return [
            SharedFailure(
                *self.predicted.variable(*space.condition(one.columns[0], one.value)),  # type: ignore[union-attr]
                one.failures,
                one.probability,
            )
            for one in found
        ]

    @property
    def estimand(self) -> Estimand:
        """Predicted functional of the measurements of a configuration."""
        return self.belief.reported.estimand.name

    def of_estimand(self, estimand: Estimand) -> StudyBelief:
        """The same belief, predicting another estimand.

        Args:
            estimand: "location", "median" or "mean"; see `SurefootSampler`.

        Returns:
            A copy; without branches, it recommends the same configuration.

        Raises:
            InvalidInput: If it is none of these.
        """
        return replace(
            self,
            belief=self.belief.of(estimand=estimand),
            branches=lambda: [branch.of_estimand(estimand) for branch in self._branches],
        )

    def of_objective(self, name: str) -> StudyBelief:
        """The same belief, of a further objective that every trial has recorded.

        Args:
            name: Its name among the `objectives` of the sampler.

        Returns:
            A copy, in the units and the direction of that objective.
        """
        further = self.belief.of(outcome=name, units=goal_of(self.declared[name]))
        return replace(self, belief=further, branches=list)

    @property
    def is_maximised(self) -> bool:
        """Whether larger values are better."""
        return self._units.is_increasing

    @cached_property
    def parts(self) -> list[tuple[StudyBelief, list[int]]]:
        """Beliefs of the branches, and numbers of the trials that each is about; at least this one.

        Of a conditional search space this one is about the trials of branches without a model.
        """
        branches = self._branches
        covered = {number for branch in branches for number in branch.trials}
        others = [number for number in self.trials if number not in covered]
        return [*((one, one.trials) for one in branches), (replace(self, branches=list), others)]

    @cached_property
    def _branches(self) -> list[StudyBelief]:
        return self.branches()

    @property
    def effects(self) -> tuple[str, ...]:
        """Effects of the conditions of trials that are taken out: "worker" and "drift"."""
        return tuple(self.belief.outcome.effects)

    @with_own_settings
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
        if "drift" not in self.belief.outcome.effects or not self.predicted.has_effects:
            return None
        times = self.belief.outcome.observations.times.cpu()
        known = [i for i in times.argsort().tolist() if not times[i].isnan()]
        ends = self._under(params, self.belief.outcome.effects["drift"], known)
        return StudyDrift([self.trials[i] for i in known], *ends)

    @with_own_settings
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
        if "worker" not in self.belief.outcome.effects or not self.predicted.has_effects:
            return {}
        workers, names = (
            self.belief.outcome.observations.workers,
            self.belief.outcome.observations.worker_names,
        )
        first = {worker: i for i, worker in reversed([*enumerate(workers.tolist())])}
        chosen = [first[index] for index in range(len(names))]
        ends = self._under(params, self.belief.outcome.effects["worker"], chosen)
        return dict(zip(names, zip(*(end.tolist() for end in ends), strict=True), strict=True))

    @property
    def adjusted(self) -> np.ndarray:
        """The values (n,) as they would have been at the latest time and on the average worker.

        They are the values themselves where no effect of worker or time was found.
        """
        effects, outcome = self.belief.outcome.effects, self.belief.outcome
        if not effects:
            return self.values
        offsets = torch.stack([one.mean for one in effects.values()]).sum(0)
        adjusted = outcome.transform(outcome.observations.rewards.cpu()) - offsets
        return self._array(self.belief.predictions.scales.whole.inverse(adjusted))

    def _under(self, params: Mapping[str, Any], contrast: Contrast, chosen: list[int]) -> _Arrays:
        """Prediction of a configuration, with an effect of conditions, and 95 % intervals."""
        with torch.no_grad():
            level = self.belief.predictions.belief.band.predictive.mean(
                self._points([params])
            ).cpu()
        mean, margin = level + contrast.mean[chosen], OF_95 * contrast.deviation[chosen]
        sign = 1.0 if self.is_maximised else -1.0
        ends = (mean, mean - sign * margin, mean + sign * margin)
        estimand, scales = self.belief.reported.estimand, self.belief.predictions.scales
        middle, low, high = (estimand.values(end, scales) for end in ends)
        return self._possible((middle, low, high))

    @property
    def outliers(self) -> np.ndarray:
        """Mask (n,) of the values with less than half their weight."""
        return self.weights < OUTLIER_WEIGHT

    @property
    def noise_scale(self) -> float:
        """Scale of the noise in the units of the model; for Gaussian noise its deviation."""
        fitted = self.belief.outcome.fitted
        return fitted.noise**0.5 * fitted.scale

    @property
    def assumed(self) -> str:
        """Description of the noise model."""
        dof, is_log = self.belief.outcome.fitted.dof, not self._units.is_affine
        compressed = not self.belief.outcome.transform.is_identity
        return (
            f"Student-t noise with {dof:g} degrees of freedom (fewer means heavier tails) and "
            f"scale {self.noise_scale:.4g}, both fitted to the data; homoscedastic"
            f"{', of the logarithm of the values' if is_log else ''}"
            f"{'; values far from the best are compressed' if compressed else ''}."
        )

    @with_own_settings
    def on_model_scale(self, values: np.ndarray) -> np.ndarray:
        """Values in the units of the model: as they are transformed before they are modelled.

        Args:
            values: Values (n,) in the units of the study.

        Returns:
            Values (n,), of which the noise has the scale `noise_scale`.
        """
        told = torch.from_numpy(np.asarray(values, dtype=float))
        sign = 1.0 if self.is_maximised else -1.0
        return sign * self._array(self.belief.predictions.scales.whole(told))

    @with_own_settings
    def recommend(self, given: Mapping[str, Any] | None = None) -> StudyRecommendation:
        """Configuration with the best predicted value or risk.

        In a study with constraints it is the best of those for which all of them hold with the
        confidence asked for, 0.95 for those that were not declared. If no such configuration is
        known, it is the measured one for which that is most probable, and a warning says so.

        In a conditional search space, trials of the same parameters form a branch, of which there
        is a model with all of them. The configuration is that of the branch with the best end of
        the credible interval in the bad direction, and has all its parameters.

        Args:
            given: Values by name of parameters that are not to be chosen, such as the load under
                which the configuration will run; the best of those with these values is
                recommended.

        Returns:
            The configuration, with its predicted value or risk and 95 % credible interval.

        Raises:
            InvalidInput: If a given value is none of its parameter, or a name none of a parameter
                that all trials have.
        """
        best = max(self._recommendations(given or {}), key=self._merit)
        if not best.feasible:
            warn(
                "no configuration is known whose constraints hold: "
                f"{unmeasured_text(best.unmeasured)}."
                if best.unmeasured
                else f"no configuration is known whose constraints hold with {self._asked()}: "
                f"the recommended one has {best.feasibility:.2g}.",
            )
        return best

    def _recommendations(self, given: Mapping[str, Any]) -> list[StudyRecommendation]:
        """Of each branch, or the only one."""
        if self._branches:
            return [one for branch in self._branches for one in branch._recommendations(given)]
        state, belief = PolicyState(torch.Generator().manual_seed(0)), self.belief
        now = Part(choosable(self.encoding, {}, self.ranges), given, self.ranges)
        if given or now.box is not self.encoding.box:
            part = self.encoding.part(now.box, given)
            belief = replace(belief, space=part_of(belief.space, part))
        best = now.values(self.configuration(recommend(belief, self.by, state).point))
        return [self.assess({**best, **given})]

    @with_own_settings
    def assess(self, params: Mapping[str, Any]) -> StudyRecommendation:
        """Predict one configuration as if it were recommended.

        Args:
            params: A configuration, as values by parameter name.

        Returns:
            The configuration with its predicted value or risk, and its feasibility.

        Raises:
            InvalidInput: If the configuration is not in the search space.
        """
        return self.assess_all([params])[0]

    @with_own_settings
    def assess_all(self, settings: Sequence[Mapping[str, Any]]) -> list[StudyRecommendation]:
        """Predict configurations as if they were recommended, at the cost of little more than one.

        Args:
            settings: Configurations, as values by parameter name.

        Returns:
            What `assess` returns for each.

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        unmeasured, what = self.belief.constraints.unmeasured, self.estimand
        assured = self.belief.candidates.is_assured(self._points(settings)).tolist()
        predicted = zip(*self.predict(settings), self.feasibility(settings), strict=True)
        found = []
        for params, ends, holds in zip(settings, predicted, assured, strict=True):
            value, lower, upper, chance = map(float, ends)
            known, holds = {**params, **self.constant}, holds and not unmeasured
            found.append(
                StudyRecommendation(known, value, lower, upper, chance, holds, what, unmeasured)
            )
        return found

    @with_own_settings
    def certificate(self, params: Mapping[str, Any], unit: str = "") -> str:
        """What is proved of a configuration under the assumptions of `SurefootSampler.assume`.

        Args:
            params: Values by parameter name.
            unit: Unit of the values.

        Returns:
            A bound of its mean or risk, and of how far it is from the best, in words.

        Raises:
            InvalidInput: If nothing was assumed or can be proved, or the configuration is not in
                the search space.
        """
        if self._branches:
            raise InvalidInput("there is no certificate: the search space is conditional.")
        found, unit = self.belief.certificate(design=self._points([params])[0]), unit and f" {unit}"
        bound = float(self._units.inverse(torch.tensor(found.lower)))
        side = f"least {at_least(bound)}" if self.is_maximised else f"most {at_most(bound)}"
        return found.text(f"its {found.risk or 'mean'} is at {side}{unit}", unit)

    def preference(self, one: StudyRecommendation) -> tuple[float, float]:
        """Key that orders configurations: feasibility, then the predicted value.

        Args:
            one: A configuration, as `assess` predicts it.

        Returns:
            A key, larger for a better configuration.
        """
        return _standing(one), one.value if self.is_maximised else -one.value

    def is_worse(self, params: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether the interval of the difference says that a configuration is worse than another.

        Args:
            params: Values by parameter name.
            other: Those of the other configuration.

        Returns:
            Whether it is; False where the interval leaves it open.
        """
        _, lower, upper = self.difference(params, other)
        return upper < 0.0 if self.is_maximised else lower > 0.0

    @with_own_settings
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
        points, over = self._points(settings), self._points([params])[0]
        if not len(points):
            return np.zeros(0)
        return self._array(gains.expected(self.belief, points, over))

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

    @with_own_settings
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
        return self._array(gains.largest(self.belief, self._points([params])[0]))

    def _asked(self) -> str:
        declared = bool(self.belief.constraints.limits)
        return "the confidence asked for" if declared else f"a probability of {CONFIDENT}"

    def _merit(self, one: StudyRecommendation) -> tuple[float, float, float]:
        standing, value = self.preference(one)
        return standing, one.lower if self.is_maximised else -one.upper, value

    @with_own_settings
    def feasibility(self, settings: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Probability that all constraints with a measurement hold, without noise.

        Args:
            settings: Configurations, as values by parameter name.

        Returns:
            Probabilities (n,), over the environment if the study has one; 1 without constraints.

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        x = self._points(settings)
        return self._array(self.belief.feasibility(x)) if len(x) else np.ones(0)

    @with_own_settings
    def log_feasibility(self, settings: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Logarithm of the probability to search by, which tells apart what is all but impossible.

        It is that of `feasibility`, but where measurements break a limit that the model has hold:
        there `feasibility` is half of it or more.

        Args:
            settings: Configurations, as values by parameter name; the study has no environment.

        Returns:
            Logarithms (n,); 0 without constraints.

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        x, constraints = self._points(settings), self.belief.constraints
        if not len(constraints):
            return np.zeros(len(x))
        with torch.no_grad():
            return self._array(constraints.log_prospect(x))

    @with_own_settings
    def is_assured(self, settings: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Whether all constraints with a measurement hold with the confidence asked for.

        Args:
            settings: Configurations, as values by parameter name.

        Returns:
            Truth values (n,).

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        return self._array(self.belief.candidates.is_assured(self._points(settings)))

    @with_own_settings
    def allows(self, settings: Sequence[Mapping[str, Any]]) -> np.ndarray:
        """Whether the rules of the search space hold.

        Args:
            settings: Configurations, as values by parameter name.

        Returns:
            Truth values (n,).

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        return self._array(self.belief.space.design.allows(self._points(settings)))

    @with_own_settings
    def draws(
        self, settings: Sequence[Mapping[str, Any]], number: int, seed: int = 0
    ) -> np.ndarray:
        """Values at configurations in functions drawn from the posterior, without noise.

        Args:
            settings: Configurations, as values by parameter name; the study has no environment.
            number: Number of functions.
            seed: Seed of the draws.

        Returns:
            Values (n, number), drawn jointly and integrated over the hyperparameters.

        Raises:
            InvalidInput: If a configuration is not in the search space, or the study has an
                environment.
        """
        self.predicted.check_single("values")
        return self._array(self.belief.draws(self._points(settings), number, seed))

    @with_own_settings
    def constraint_draws(
        self, settings: Sequence[Mapping[str, Any]], number: int, seed: int = 0
    ) -> np.ndarray:
        """Whether all constraints hold at configurations in functions drawn from their posteriors.

        Args:
            settings: Configurations, as values by parameter name; the study has no environment.
            number: Number of functions of each constraint.
            seed: Seed of the draws.

        Returns:
            Truth values (n, number).

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        own = torch.Generator().manual_seed(seed)
        return self._array(self.belief.constraints.draws(self._points(settings), number, own))

    @with_own_settings
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
        self.predicted.check_single("constraints")
        limits = self.belief.constraints.limits
        with torch.no_grad():
            predicted = self.belief.constraints.predict(self._points([params]))
        return {
            name: PredictedConstraint(limits[name], *map(float, one))
            for name, one in predicted.items()
            if name in limits
        }

    @with_own_settings
    def predict(
        self,
        settings: Sequence[Mapping[str, Any]],
        environments: Environments | None = None,
        at: Sequence[int] | None = None,
    ) -> _Arrays:
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
        x = self._points(settings)
        offset = self._drift_at(at, len(x)) if self.predicted.has_effects else 0.0
        return self._possible(self.predicted.at(self.belief, x, environments, offset))

    @with_own_settings
    def interval_of_run(self, params: Mapping[str, Any]) -> tuple[float, float]:
        """The central 95 % interval of one more measurement of a configuration.

        It allows for the noise that is fitted, beside what is not known of the value, and not for
        the standard error that the measurement states itself.

        Args:
            params: A configuration, as values by parameter name; the study has no environment.

        Returns:
            Lower and upper end.

        Raises:
            InvalidInput: If the configuration is not in the search space.
        """
        from scipy import stats

        middle, *ends = self.on_model_scale(np.concatenate(self.predict([params])))
        noise = float(stats.t.ppf(0.975, self.belief.outcome.fitted.dof)) * self.noise_scale
        signs = np.sign(np.array(ends) - middle)
        far = middle + signs * np.hypot(np.array(ends) - middle, noise)
        sign = 1.0 if self.is_maximised else -1.0
        found = self._array(
            self.belief.predictions.scales.whole.inverse(torch.from_numpy(sign * far))
        )
        return float(found.min()), float(found.max())

    @with_own_settings
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
        ends = self.belief.difference(*self._points([params, other]))
        level = float(self.predict([other])[0][0])
        middle, lower, upper = map(float, self._possible(ends, -level))
        return middle, lower, upper

    @with_own_settings
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
        z, weights = self.predicted.values()
        joint: Joint = self.belief.space  # type: ignore[assignment]
        inputs = joint.points(self._points([params]), z)[0]
        ends = self._possible(self.belief.predictions.at_inputs(inputs))
        return OverEnvironment(z.numpy(), *ends, weights.numpy())

    def _points(self, settings: Sequence[Mapping[str, Any]]) -> Tensor:  # (n, dx)
        if isinstance(settings, Mapping | str) or not hasattr(settings, "__len__"):
            raise InvalidInput(
                f"`settings` is {checks.shown(settings)}, expected a list of configurations."
            )
        points = []
        for params in settings:
            point = self.encoding.encode(params) if isinstance(params, Mapping) else None
            if point is None:
                raise InvalidInput(
                    f"{checks.shown(params)} is not a configuration of this study, expected values "
                    f"for {', '.join(self.encoding.space.parameters)} within their ranges: "
                    f"{self._what_is_wrong(params)}"
                )
            points.append(point)
        box = self.encoding.box
        device = self.belief.space.design.lower.device
        return torch.stack(points).to(device) if points else box.lower.new_zeros(0, box.dimension)

    def _what_is_wrong(self, params: object) -> str:
        space = self.encoding.space
        known = params.items() if isinstance(params, Mapping) else ()
        try:
            space.checked({name: one for name, one in known if name in space.parameters})
        except InvalidInput as error:
            return str(error)
        return "it is none."

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
        if trials is None or "drift" not in self.belief.outcome.effects:
            return 0.0
        return self.belief.outcome.effects["drift"].mean[
            [self.trials.index(number) for number in trials]
        ]

    @property
    def _units(self) -> Chain:
        """Transformation from values of the study to rewards."""
        return self.belief.reported.units

    def _possible(self, ends: Ends, zero: float = 0.0) -> _Arrays:
        """A prediction (n,) and its interval by `of_measured_sign`, given the values."""
        possible = of_measured_sign(ends, torch.from_numpy(self.values), zero)
        middle, lower, upper = (self._array(one) + 0.0 for one in possible)  # of minus zero, too
        return middle, lower, upper

    @staticmethod
    def _array(values: Tensor) -> np.ndarray:
        return values.detach().cpu().numpy()


def _standing(one: StudyRecommendation) -> float:
    """Feasibility of a configuration, above all others where it is as much as is asked for.

    What has no measurement is the same for all configurations, and tells none from another.
    """
    known = one.feasible or (one.unmeasured and one.feasibility >= CONFIDENT)
    return float("inf") if known else one.feasibility
