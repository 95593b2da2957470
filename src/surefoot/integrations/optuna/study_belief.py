"""Belief of an Optuna study: predictions and recommendations, in its units and direction."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.estimands import Estimand
from surefoot._internal.html import as_html, at_least, at_most
from surefoot._internal.numbers import CONFIDENT
from surefoot._internal.process_settings import with_own_settings
from surefoot._internal.user_warnings import warn
from surefoot.acquisition.recommendation import By, recommend
from surefoot.acquisition.scores import PolicyState
from surefoot.beliefs import Belief, gains
from surefoot.beliefs.belief import rows
from surefoot.beliefs.constraints import goal_of
from surefoot.integrations.optuna.choosable import Part, choosable, encoded
from surefoot.integrations.optuna.common_space import CommonSpace, nearest_in
from surefoot.integrations.optuna.fitted_values import Arrays, FittedValues, as_array
from surefoot.integrations.optuna.predicted import VALUE, Environments, Predicted
from surefoot.integrations.optuna.predictions import (
    OverEnvironment,
    PredictedConstraint,
    StudyDrift,
    StudyRecommendation,
    unmeasured_text,
)
from surefoot.optimizer.arguments import part_of
from surefoot.parameters.parameter import shared_name
from surefoot.regression.regression import OUTLIER_WEIGHT
from surefoot.types import InvalidInput, Objective, Outcome

if TYPE_CHECKING:
    from surefoot.parameters.encoding import Encoding
    from surefoot.spaces import Joint


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
        common: Space of the parameters that vary, and their ranges by now.
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
    common: CommonSpace
    predicted: Predicted = VALUE
    constant: Mapping[str, Any] = field(default_factory=dict)
    branches: Callable[[], list[StudyBelief]] = list
    declared: Mapping[str, Objective] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        with warnings.catch_warnings(action="ignore"):  # of what the row about constraints says
            best = self.recommend()
        return as_html("Belief of the study", {**best.rows, **rows(self.belief)})

    @cached_property
    def fitted(self) -> FittedValues:
        """The values of the trials in the model, and the noise that was fitted to them."""
        return FittedValues(self.belief, self.trials)

    @property
    def weights(self) -> np.ndarray:
        """Weight of each value (n,), from 1 (full weight) to 0 (treated as an outlier)."""
        return as_array(self.belief.weights).copy()

    @property
    def unstable(self) -> list[dict[str, Any]]:
        """Configurations whose measurements differ too much, as values by parameter name."""
        points = self.belief.outcome.observations.sites[self.belief.failures.unstable]
        return [{**self.configuration(point), **self.constant} for point in points]

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

    def of_outcome(self, name: str, declared: Outcome) -> StudyBelief:
        """The same belief, of a further objective or a limited quantity that trials have recorded.

        Args:
            name: Its name.
            declared: What it was declared as.

        Returns:
            A copy, in its units and direction.
        """
        further = self.belief.of(outcome=name, units=goal_of(declared))
        return replace(self, belief=further, branches=list)

    @property
    def is_maximised(self) -> bool:
        """Whether larger values are better."""
        return self.belief.reported.units.is_increasing

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
        """Effects of the conditions of trials that are taken out: "worker", "drift" and "level"."""
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
        return self.fitted.drift(self.points([params])) if self.predicted.has_effects else None

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
        return self.fitted.workers(self.points([params])) if self.predicted.has_effects else {}

    @property
    def outliers(self) -> np.ndarray:
        """Mask (n,) of the values with less than half their weight."""
        return self.weights < OUTLIER_WEIGHT

    @with_own_settings
    def recommend(self, given: Mapping[str, Any] | None = None) -> StudyRecommendation:
        """Configuration with the best predicted value or risk.

        In a study with constraints it is the best of those for which all of them hold with the
        confidence asked for, 0.95 for those that were not declared. If no such configuration is
        known, it is the measured one for which that is most probable, and a warning says so.

        In a conditional search space, trials of the same parameters form a branch, of which there
        is a model with all of them. The configuration is that of the branch with the best end of
        the credible interval in the bad direction, and has all its parameters. Where nothing
        explains which trials are of which branch, it is one that was measured.

        Args:
            given: Values by name of parameters that are not to be chosen, such as the load under
                which the configuration will run; the best of those with these values, where they
                are active, is recommended.

        Returns:
            The configuration, with its predicted value or risk and 95 % credible interval.

        Raises:
            InvalidInput: If a given value is none of its parameter, or a name none of a parameter
                that all trials have.
        """
        best = max(_recommendations(self, given or {}), key=partial(_merit, self))
        if not best.feasible:
            limits = self.belief.constraints.limits
            asked = "the confidence asked for" if limits else f"a probability of {CONFIDENT}"
            warn(
                "no configuration is known whose constraints hold: "
                f"{unmeasured_text(best.unmeasured)}."
                if best.unmeasured
                else f"no configuration is known whose constraints hold with {asked}: "
                f"the recommended one has {best.feasibility:.2g}.",
            )
        return best

    @with_own_settings
    def assess(self, settings: Sequence[Mapping[str, Any]]) -> list[StudyRecommendation]:
        """Predict configurations as if they were recommended, at the cost of little more than one.

        Args:
            settings: Configurations, as values by parameter name.

        Returns:
            The configurations with their predicted values or risks, and their feasibility.

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        unmeasured, what = self.belief.constraints.unmeasured, self.estimand
        assured = self.belief.candidates.is_assured(self.points(settings)).tolist()
        predicted = np.stack([*self.predict(settings), self.feasibility(settings)], -1).tolist()
        known = [{**params, **self.constant} for params in settings]
        return [
            StudyRecommendation(params, v, a, b, chance, holds and not unmeasured, what, unmeasured)
            for params, (v, a, b, chance), holds in zip(known, predicted, assured, strict=True)
        ]

    @with_own_settings
    def certificate(self, params: Mapping[str, Any], unit: str = "") -> str:
        """What is proved of a configuration under the assumptions of `SurefootSampler.assume`.

        Args:
            params: Values by parameter name.
            unit: Unit of the values.

        Returns:
            A bound of its mean or risk, and of how far it is from the best, in words.

        Raises:
            InvalidInput: If nothing is proved, or the configuration is not in the search space.
        """
        if self._branches:
            raise InvalidInput("there is no certificate: the search space is conditional.")
        found, unit = self.belief.certificate(design=self.points([params])[0]), unit and f" {unit}"
        bound = float(self.belief.reported.units.inverse(torch.tensor(found.lower)))
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

    def probability_of_gain(self, params: Mapping[str, Any], gain: float) -> float:
        """Probability that some configuration is better than another one by more than a share.

        Args:
            params: The configuration to improve on, as values by parameter name.
            gain: The share, of the magnitude of its predicted value.

        Returns:
            The probability: the share of `surefoot.beliefs.gains.largest` above it.

        Raises:
            InvalidInput: If the configuration is not in the search space, `gain` is no number, or
                the study has an environment.
        """
        share = checks.finite("gain", gain)
        return float((gains.largest(self.belief, self.points([params])[0]) > share).double().mean())

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
        x = self.points(settings)
        return as_array(self.belief.feasibility(x)) if len(x) else np.ones(0)

    @with_own_settings
    def constraints(self, params: Mapping[str, Any]) -> dict[str, PredictedConstraint]:
        """Predict the declared constraints that have been measured.

        Args:
            params: A configuration, as values by parameter name.

        Returns:
            Predictions by name of the constraint; with a fidelity at its last level.

        Raises:
            InvalidInput: If the configuration is not in the search space, or the study has an
                environment of several values.
        """
        limits = self.belief.constraints.limits
        with torch.no_grad():
            inputs = self.predicted.inputs(self.belief, self.points([params]))
            predicted = self.belief.constraints.predict(inputs)
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
    ) -> Arrays:
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
        x = self.points(settings)
        offset = self.fitted.drift_at(at, len(x)) if self.predicted.has_effects else 0.0
        return self.fitted.possible(self.predicted.at(self.belief, x, environments, offset))

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
        ends: Any = self.belief.difference(*self.points([params, other]))
        if not self.belief.predictions.is_ratio:  # else the signs are right by themselves
            ends = self.fitted.possible(ends, -float(self.predict([other])[0][0]))
        middle, lower, upper = map(float, ends)
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
        inputs = joint.points(self.points([params]), z)[0]
        ends = self.fitted.possible(self.belief.predictions.at_inputs(inputs))
        return OverEnvironment(z.numpy(), *ends, weights.numpy())

    def points(self, settings: Sequence[Mapping[str, Any]]) -> Tensor:
        """Designs of `belief` that configurations are.

        Args:
            settings: Configurations, as values by parameter name.

        Returns:
            Points (n, d).

        Raises:
            InvalidInput: If a configuration is not in the search space.
        """
        found = encoded(self.encoding, settings)
        known = {*map(shared_name, self.encoding.parameters), *self.constant}
        if unknown := {name for one in settings for name in one} - known:
            warn(
                f"predictions do not depend on {', '.join(sorted(map(str, unknown)))}, which the "
                "model of all trials does not have: where some trials have it, ask a belief of "
                "`parts`, each of trials with the same parameters."
            )
        return found.to(self.belief.space.design.lower.device)


def _standing(one: StudyRecommendation) -> float:
    """Feasibility of a configuration, above all others where it is as much as is asked for.

    What has no measurement is the same for all configurations, and tells none from another.
    """
    known = one.feasible or (one.unmeasured and one.feasibility >= CONFIDENT)
    return float("inf") if known else one.feasibility


def _recommendations(
    model: StudyBelief, given: Mapping[str, Any], *, alone: bool = True
) -> list[StudyRecommendation]:
    """Of each branch, or the only one."""
    if branches := model._branches:
        alone = len(branches) == 1
        return [one for each in branches for one in _recommendations(each, given, alone=alone)]
    state, belief = PolicyState(torch.Generator().manual_seed(0)), model.belief
    ranges = model.common.ranges
    if model.common.unclear or not alone:  # of others it is unknown whether they can be asked for
        designs = belief.outcome.observations.sites[:, : model.encoding.unrestricted.dimension]
        measured = [*map(model.configuration, designs)]
        if not alone:
            model.encoding.part(model.encoding.box, given)  # refuses what it has not
            measured = [{n: nearest_in(ranges[n], v) for n, v in one.items()} for one in measured]
        fitting = [one for one in measured if given.items() <= one.items()]
        settings = fitting or [{**one, **given} for one in measured]
        return [max(model.assess(settings), key=model.preference)]
    now = Part(choosable(model.encoding, {}, ranges), given, ranges)
    if given or now.box is not model.encoding.box:
        belief = replace(belief, space=part_of(belief.space, model.encoding.part(now.box, given)))
    best = now.values(model.configuration(recommend(belief, model.by, state).point))
    known = {**best, **given}
    active = {shared_name(name) for name in model.encoding.space.restricted(known)}
    return model.assess([{name: value for name, value in known.items() if name in active}])


def _merit(model: StudyBelief, one: StudyRecommendation) -> tuple[float, float, float]:
    standing, value = model.preference(one)
    return standing, one.lower if model.is_maximised else -one.upper, value
