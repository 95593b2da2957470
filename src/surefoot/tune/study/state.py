"""The state of a study at one time: its trials, and the model and recommendation they lead to."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna.predictions import unmeasured_text
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.compatibility import recorded_units
from surefoot.tune.study.confirm_stage import ConfirmStage, recommended
from surefoot.tune.study.trial_attributes import (
    ended_as,
    is_failed_round,
    is_round,
    trial_constraints,
    trial_environment,
)
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from surefoot.integrations.optuna import (
        Front,
        MultiObjectiveBelief,
        ParetoPoint,
        StudyBelief,
        StudyRecommendation,
    )
    from surefoot.tune.study.opened_study import OpenedStudy


@dataclass(frozen=True, eq=False)
class StudyState:
    """The trials of a study from one reading; everything said of the study follows from them.

    Args:
        opened: The study.
        trials: Its trials in order.
        attributes: Its user attributes.
        asked: Values of the given variables to recommend under, by name; by default those of the
            latest trial.
        limits: Limits of some of several objectives, by name, that a recommendation is to keep.
    """

    opened: OpenedStudy
    trials: tuple[FrozenTrial, ...]
    attributes: Mapping[str, Any]
    asked: Mapping[str, Any] = field(default_factory=dict)
    limits: Mapping[str, float] = field(default_factory=dict)

    @cached_property
    def study_file(self) -> StudyFile:
        """The checked study file, with the units that its measurements have."""
        return self.opened.study_file.measured_in(recorded_units(self.attributes, self.trials))

    @cached_property
    def finished(self) -> int:
        """Number of rounds: finished trials, except interrupted ones."""
        return sum(map(is_round, self.trials))

    @cached_property
    def failed(self) -> int:
        """Number of rounds without a measurement."""
        return sum(map(is_failed_round, self.trials))

    @cached_property
    def unmeasured(self) -> tuple[str, ...]:
        """Constraints and further objectives without a value, once a trial has a measurement."""
        complete = [trial for trial in self.trials if trial.state == TrialState.COMPLETE]
        known = {name for trial in complete for name in trial_constraints(trial)}
        return tuple(name for name in self.study_file.reported if complete and name not in known)

    @cached_property
    def belief(self) -> StudyBelief:
        """The model of the study, in its units and direction; `NotReady` without a measurement."""
        return self.opened.belief(self.trials)

    @cached_property
    def measured(self) -> list[FrozenTrial]:
        """The trials in the model, in its order."""
        by_number = {trial.number: trial for trial in self.trials}
        return [by_number[number] for number in self.belief.trials]

    def only_failed(self, params: Mapping[str, Any] | None) -> bool:
        """Whether a configuration was measured, and has failed each time."""
        return {*ended_as(params, self.trials)} == {TrialState.FAIL}

    def at_measured(self, belief: StudyBelief) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Predictions of a belief where it was measured, each under its environment."""
        under = [trial_environment(trial) for trial in self.measured]
        environments = None if self.study_file.scheme.environment is None else under
        return belief.predict([trial.params for trial in self.measured], environments)

    @property
    def given(self) -> Mapping[str, Any]:
        """Values of the given variables to recommend under; empty without such variables."""
        names = self.study_file.scheme.given
        latest = (one.params for one in reversed(self.trials) if names.keys() <= one.params.keys())
        last: Mapping[str, Any] = next(latest, {}) if names else {}
        return self.asked or {name: last[name] for name in names if name in last}

    @cached_property
    def objectives(self) -> MultiObjectiveBelief:
        """The models of several objectives, by their names in the study file."""
        from surefoot.integrations.optuna.multi_objective import MultiObjectiveBelief, with_further

        first = next(iter(self.study_file.scheme.objectives))
        return MultiObjectiveBelief(with_further(first, self.belief), self.measured)

    @cached_property
    def front(self) -> Front:
        """The Pareto front of several objectives."""
        return replace(self.objectives.front(), units=self.study_file.units.reported)

    @property
    def preferred(self) -> ParetoPoint:
        """The point of the front that keeps the limits, or a compromise without any.

        Raises:
            InvalidInput: If a limit is of an objective that no trial has measured.
        """
        if missing := [name for name in self.limits if name not in self.front.names]:
            raise InvalidInput(
                f"--prefer: {unmeasured_text(missing)}; leave its limit out until a trial has it"
            )
        return self.front.prefer(self.limits) if self.limits else self.front.knee()

    @property
    def confirm_stage(self) -> ConfirmStage | None:
        """The confirm stage that the study is in or has ended with."""
        return ConfirmStage.current(self.study_file, self.attributes, self.trials)

    @cached_property
    def recommendation(self) -> StudyRecommendation:
        """The recommended configuration, with parameters in the order of the study file.

        It is the best candidate of the confirm stage, before it the configuration that the model
        prefers; of several objectives, a point of the front.
        """
        if self.study_file.scheme.objectives:
            with warnings.catch_warnings(action="ignore"):
                (best,) = self.belief.assess([self.preferred.params])
            return replace(best, params=self.study_file.space.restricted(best.params))
        stage = self.confirm_stage
        best = (
            recommended(self.belief, self.given) if stage is None else stage.recommend(self.belief)
        )
        return replace(best, params=self.study_file.space.restricted(best.params))

    def with_attribute(self, name: str, value: Any) -> StudyState:
        """The state with a user attribute, which is recorded with the study."""
        self.opened.study.set_user_attr(name, value)
        return replace(self, attributes={**self.attributes, name: value})

    def after(self, count: int) -> StudyState:
        """The state after so many measurements, with a model fitted to no others.

        Args:
            count: The number of measurements, at most those of now.

        Returns:
            The state of that time.
        """
        ended = sorted(
            (trial for trial in self.trials if trial.state.is_finished()),
            key=lambda one: (one.datetime_complete is None, one.datetime_complete, one.number),
        )
        measured = [n for n, one in enumerate(ended) if one.state == TrialState.COMPLETE]
        past = sorted(ended[: measured[count - 1] + 1], key=lambda one: one.number)
        return replace(self, opened=self.opened.modelled_anew(), trials=tuple(past))

    def recommended_after(self, count: int) -> StudyRecommendation:
        """The recommendation after so many measurements: of this process, or made anew."""
        known = self.opened.recommended.get(count)
        return self.after(count).recommendation if known is None else known
