"""The summary of a study: recommendation, comparison with the defaults, warnings, counts."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from optuna.trial import TrialState

from surefoot._internal.html import as_html
from surefoot.integrations.optuna import CONSTRAINTS
from surefoot.tune.definition.constraint_text import describe
from surefoot.tune.definition.schema import RiskDescription
from surefoot.tune.study.effects_text import effect_lines
from surefoot.tune.study.failures import failure_lines
from surefoot.tune.study.front_text import StudyFront
from surefoot.tune.study.model_checks import contradictions
from surefoot.tune.study.opened_study import OpenedStudy
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import IMPORTED
from surefoot.tune.study.unmeasured import unmeasured_objectives_note
from surefoot.tune.study.unstable import unstable_note
from surefoot.tune.units import Units
from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.integrations.optuna import PredictedConstraint, StudyRecommendation

_LEAST_MEASURED = 20  # measurements, from which on earlier models are compared


@dataclass(frozen=True)
class AgainstDefaults:
    """The recommendation compared with the default configuration of the study file.

    Args:
        params: The default configuration.
        value: Its predicted value.
        change: The recommendation's value less that one, as predicted jointly.
        lower: Lower end of the confidence interval of the change.
        upper: Upper end.
        doubtful: Constraints that the defaults do not satisfy with the confidence asked for, as
            predicted, by name.
        units: Units of the constraints by name.
    """

    params: dict[str, Any]
    value: float
    change: float
    lower: float
    upper: float
    doubtful: Mapping[str, PredictedConstraint] = field(default_factory=dict)
    units: Mapping[str, str] = field(default_factory=dict)

    @property
    def limits(self) -> str:
        """The limits that the defaults do not keep, in a sentence; empty if they keep all."""
        if not self.doubtful:
            return ""
        plural = "s" * (len(self.doubtful) > 1)
        verb = (
            "break" if all(one.probability < 0.5 for one in self.doubtful.values()) else "may break"
        )
        each = "; ".join(
            describe(name, one, self.units.get(name)) for name, one in self.doubtful.items()
        )
        return f"The defaults {verb} the limit{plural} of {each}."

    def __str__(self) -> str:
        ends = (self.lower, self.upper)
        share = abs(self.change / self.value) if self.value else math.inf
        certain = self.lower * self.upper > 0.0
        shown = share if certain else max(map(abs, ends)) / (abs(self.value) or 1.0)
        if share > 10.0 or shown <= 0.005:  # which would be 0 %
            return f"a difference of {self.change:+.4g} ({ends[0]:+.4g} to {ends[1]:+.4g})"
        change, *shares = (100.0 * one / abs(self.value) for one in (self.change, *sorted(ends)))
        return f"{change:+z.0f} % ({shares[0]:+z.0f} to {shares[1]:+z.0f} %)"


@dataclass(frozen=True)
class Summary:
    """The results of a study, in its own units and direction.

    Args:
        trials: Finished trials, failed ones included.
        failed: Finished trials without a measurement.
        recommended: The recommended configuration, None before the first measurement.
        risk: Meaning of the recommended value, in a study with an environment.
        defaults: The recommendation against the default configuration, None where the study file
            has none, before the first measurement, and in a study with an environment.
        constraints: Measured constraints of the study file at the recommendation, by name, in a
            study without an environment.
        warnings: Contradictions between the measurements and the model, a sentence each.
        units: Units of the objective and of the parameters.
        effects: Effects of worker and time, a sentence each; all predictions are without them.
        failures: The first failure's reason and what failures share, a sentence each.
        together: The constraints that were measured, in words, in a study with an environment or
            a fidelity, where they hold with the recommendation's `feasibility`.
        front: The Pareto front in a study with several objectives, of which the recommended
            configuration is a point; `value` is the first objective there.
    """

    trials: int
    failed: int
    recommended: StudyRecommendation | None
    risk: RiskDescription | None = None
    defaults: AgainstDefaults | None = None
    constraints: Mapping[str, PredictedConstraint] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    units: Units = field(default_factory=Units)
    effects: tuple[str, ...] = ()
    failures: tuple[str, ...] = ()
    together: str = ""
    front: StudyFront | None = None

    def html(self, name: str) -> str:
        """The summary as HTML, for notebooks.

        Args:
            name: Name of the study.
        """
        rows: dict[str, Any] = {} if self.recommended is None else self.recommended.rows
        rows["against the defaults"] = None if self.defaults is None else str(self.defaults)
        rows["trials"] = f"{self.trials}, {self.failed} of them failed"
        limits = [] if self.defaults is None or not self.defaults.limits else [self.defaults.limits]
        notes = [*limits, *self.effects, *(f"Warning: {text}" for text in self.warnings)]
        return as_html(f"Study {name}", rows, notes)

    @property
    def interval(self) -> tuple[float, float] | None:
        """Ends of the recommended value's interval, None before there are two measurements.

        From one measurement the size of the noise cannot be estimated.
        """
        if self.recommended is None or self.trials - self.failed < 2:
            return None
        return self.recommended.lower, self.recommended.upper


def summarise(
    opened: OpenedStudy,
    given: Mapping[str, Any] | None = None,
    limits: Mapping[str, float] | None = None,
) -> Summary:
    """Recommend a configuration and count the trials.

    Args:
        opened: The study, as `open_study` gives it.
        given: Values of the given variables to recommend under, by name; by default those of the
            latest trial.
        limits: Limits of some of several objectives, by name, that the recommendation is to keep.

    Returns:
        The recommendation and the numbers of trials.

    Raises:
        StorageFailed: If the storage cannot be read.
    """
    state, study_file = opened.state(), opened.study_file
    state = replace(state, asked=given or {}, limits=limits or {})
    found: dict[str, Any] = {}
    with contextlib.suppress(NotReady):
        front = StudyFront.of_state(state) if study_file.scheme.objectives else None
        not_kept = (front.note,) if front is not None and front.note else ()
        found = {
            "recommended": state.recommendation,
            "defaults": against_defaults(state),
            "constraints": predicted_constraints(state),
            "warnings": (*not_kept, *warnings_of(state, _checkpoints(state))),
            "effects": effect_lines(state),
            "front": front,
        }
    return Summary(
        state.finished,
        state.failed,
        **{"recommended": None, **found},
        risk=study_file.scheme.risk,
        units=study_file.units,
        failures=failure_lines(state.trials),
        together=constraints_together(state),
    )


def _checkpoints(state: StudyState) -> list[int]:
    """Half and three quarters of the measurements, where there are enough.

    No model recommended anything after measurements that were imported later, at once.
    """
    measured = len(state.belief.trials)
    if not state.study_file.scheme.is_replayed or measured < _LEAST_MEASURED:
        return []
    imported = sum(IMPORTED in trial.user_attrs for trial in state.measured)
    return [count for count in (measured // 2, 3 * measured // 4) if count > imported]


def warnings_of(state: StudyState, checkpoints: list[int]) -> tuple[str, ...]:
    """Contradictions between the measurements and the model, and unstable configurations.

    Args:
        state: The study.
        checkpoints: Numbers of measurements after which recommendations are looked at again.

    Returns:
        A sentence each.
    """
    found = contradictions(state, {count: state.recommended_after(count) for count in checkpoints})
    without = unmeasured_objectives_note(state.study_file, state.trials)
    return tuple(text for text in (without, *found, unstable_note(state)) if text)


def predicted_constraints(state: StudyState) -> dict[str, PredictedConstraint]:
    """The constraints at the recommendation, in the order of the study file."""
    return constraints_at(state, state.recommendation.params)


def constraints_at(state: StudyState, params: dict[str, Any]) -> dict[str, PredictedConstraint]:
    """The constraints at a configuration, in the order of the study file."""
    study_file = state.study_file
    if study_file.scheme.variables or not study_file.constraints:
        return {}
    known = state.belief.constraints(params)
    return {name: known[name] for name in study_file.constraints if name in known}


def constraints_together(state: StudyState) -> str:
    """The measured constraints in words, in the order of the study file.

    Empty in a study without an environment or fidelity, where each has a prediction of its own.
    """
    scheme = state.study_file.scheme
    measured = {
        name
        for trial in state.trials
        if trial.state == TrialState.COMPLETE
        for name in trial.user_attrs.get(CONSTRAINTS, ())
    }
    names = [name for name in state.study_file.constraints if name in measured]
    if not scheme.variables or not names:
        return ""
    where = f"{scheme.where[0].upper()}{scheme.where[1:]}"
    every = "all" if len(names) == len(state.study_file.constraints) else "all measured"
    return f"{where}, {every} constraints ({', '.join(names)})"


def against_defaults(state: StudyState) -> AgainstDefaults | None:
    """The recommendation against the default configuration, None where that does not apply."""
    defaults, belief = state.study_file.defaults, state.belief
    study_file = state.study_file
    if defaults is None or not study_file.scheme.is_replayed:
        return None
    value, best = float(belief.predict([defaults])[0][0]), state.recommendation
    change = belief.difference(best.params, defaults)
    doubtful = {
        name: one
        for name, one in constraints_at(state, defaults).items()
        if one.probability < one.limit.confidence
    }
    units = study_file.units.reported
    return AgainstDefaults(defaults, value, *change, doubtful, units)
