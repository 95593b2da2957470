"""Findings of a study: recommendation, comparison with the defaults, warnings, counts."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from surefoot._internal.html import as_html
from surefoot._internal.numbers import TESTED
from surefoot.integrations.optuna.predictions import unmeasured_text
from surefoot.parameters import Choice, Space
from surefoot.tune.definition.constraint_text import (
    constraint_lines,
    constraints_as_json,
    describe,
)
from surefoot.tune.definition.schema import RiskDescription
from surefoot.tune.estimate_text import estimate_text, estimate_texts, quantity, setting_text
from surefoot.tune.plain_text import listed
from surefoot.tune.study.effects_text import effect_lines
from surefoot.tune.study.failures import failure_lines
from surefoot.tune.study.front_text import StudyFront
from surefoot.tune.study.model_checks import contradictions
from surefoot.tune.study.opened_study import OpenedStudy
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import IMPORTED
from surefoot.types import InvalidInput, NotReady

if TYPE_CHECKING:
    from surefoot.integrations.optuna import PredictedConstraint, StudyBelief, StudyRecommendation


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
        certain = self.lower * self.upper > 0.0
        shown = abs(self.change) if certain else max(map(abs, ends))
        # A value below 0 has no per cent, and little would be 0 %.
        if abs(self.change) >= 10.0 * self.value or shown <= 0.005 * self.value:
            return f"a difference of {self.change:+.4g} ({ends[0]:+.4g} to {ends[1]:+.4g})"
        change, *shares = (100.0 * one / self.value for one in (self.change, *sorted(ends)))
        return f"{change:+z.0f} % ({shares[0]:+z.0f} to {shares[1]:+z.0f} %)"


def _change(
    model: StudyBelief, params: Mapping[str, Any], other: Mapping[str, Any]
) -> tuple[float, float, float]:
    """The difference of two configurations and its interval, of logarithms that of their ratio.

    As a share of the other one's predicted value it is then the change that the ratio says.
    """
    predictions = model.belief.predictions
    if not predictions.is_ratio:
        return model.difference(params, other)
    level = float(model.predict([other])[0][0])
    ends = predictions.log_ratio(model.points([params, other]))
    middle, lower, upper = (level * math.expm1(float(end)) for end in ends)
    return middle, lower, upper


@dataclass(frozen=True, eq=False)
class Findings:
    """What a study has found at one time, in its own units and direction; each part is found once.

    Args:
        state: The study.
        checkpoints: Numbers of measurements after which recommendations are looked at again; by
            default half and three quarters, where there are enough.
    """

    state: StudyState
    checkpoints: Sequence[int] | None = None

    @property
    def trials(self) -> int:
        """Finished trials, failed ones included."""
        return self.state.finished

    @property
    def failed(self) -> int:
        """Finished trials without a measurement."""
        return self.state.failed

    @cached_property
    def recommended(self) -> StudyRecommendation | None:
        """The recommended configuration, None before the first measurement."""
        try:
            return self.state.recommendation
        except NotReady:
            return None

    @property
    def interval(self) -> tuple[float, float] | None:
        """Ends of the recommended value's interval, None before there are two measurements.

        The size of the noise cannot be estimated from one, nor from zeros alone.
        """
        best = self.recommended
        if best is None or self.trials - self.failed < 2 or best.lower == best.upper:
            return None
        return best.lower, best.upper

    @cached_property
    def front(self) -> StudyFront | None:
        """The Pareto front in a study with several objectives.

        The recommended configuration is a point of it, whose `value` is the first objective there.
        """
        if self.recommended is None or not self.state.study_file.scheme.objectives:
            return None
        return StudyFront.of_state(self.state)

    @cached_property
    def defaults(self) -> AgainstDefaults | None:
        """The recommendation against the default configuration, None where that does not apply.

        That is without defaults or where these fail, before the first measurement, and in a study
        with an environment.
        """
        best, study_file = self.recommended, self.state.study_file
        defaults = study_file.defaults
        if (
            best is None
            or defaults is None
            or not study_file.scheme.is_replayed
            or self.state.only_failed(defaults)
        ):
            return None
        belief = self.state.belief
        doubtful = {
            name: one
            for name, one in self.constraints_at(defaults).items()
            if one.probability < one.limit.confidence
        }
        return AgainstDefaults(
            defaults,
            float(belief.predict([defaults])[0][0]),
            *_change(belief, best.params, defaults),
            doubtful,
            study_file.units.reported,
        )

    @cached_property
    def constraints(self) -> dict[str, PredictedConstraint]:
        """The measured constraints at the recommendation, in a study without an environment."""
        return {} if self.recommended is None else self.constraints_at(self.recommended.params)

    def constraints_at(self, params: dict[str, Any]) -> dict[str, PredictedConstraint]:
        """The constraints at a configuration, in the order of the study file."""
        study_file = self.state.study_file
        if study_file.scheme.varies or not study_file.constraints:
            return {}
        known = self.state.belief.constraints(params)
        return {name: known[name] for name in study_file.constraints if name in known}

    @property
    def together(self) -> str:
        """The measured constraints in words, in a study with an environment.

        There they hold with the recommendation's `feasibility`; elsewhere each has its own.
        """
        declared = self.state.study_file.constraints
        names = [name for name in declared if name not in self.state.unmeasured]
        if not self.state.study_file.scheme.varies or not names:
            return ""
        every = "all" if len(names) == len(declared) else "all measured"
        return f"Over the environment, {every} constraints ({', '.join(names)})"

    @cached_property
    def warnings(self) -> tuple[str, ...]:
        """Contradictions between the measurements and the model, a sentence each."""
        if self.recommended is None:
            return ()
        state = self.state
        earlier = {count: state.recommended_after(count) for count in self._checkpoints()}
        found = (
            self.front.note if self.front is not None else "",
            unmeasured_objectives_note(state),
            *contradictions(state, earlier),
            unstable_note(state),
        )
        return tuple(filter(None, found))

    def _checkpoints(self) -> Sequence[int]:
        if self.checkpoints is not None:
            return self.checkpoints
        measured = self.measured
        if not self.state.study_file.scheme.is_replayed or measured // 2 < TESTED:
            return []
        # No model recommended anything after measurements that were imported later, at once.
        imported = sum(IMPORTED in trial.user_attrs for trial in self.state.measured)
        return [count for count in (measured // 2, 3 * measured // 4) if count > imported]

    @cached_property
    def statements(self) -> tuple[str, ...]:
        """What is known of the recommendation beside the model, a sentence each.

        It is what follows from the runs of the confirm stage alone, and what is proved under the
        assumptions of the study file, or why nothing is.
        """
        if (best := self.recommended) is None:
            return ()
        study_file, stage = self.state.study_file, self.state.confirm_stage
        found = ["" if stage is None else stage.statement(best.params)]
        if study_file.contents.assumed is not None:
            try:
                certificate = self.state.belief.certificate(best.params, study_file.units.value)
                found.append(f"Proved: {certificate}.")
            except InvalidInput as error:
                found.append(f"{str(error)[0].upper()}{str(error)[1:]}")
        return tuple(filter(None, found))

    @cached_property
    def effects(self) -> tuple[str, ...]:
        """Effects of worker and time, a sentence each; all predictions are without them."""
        return () if self.recommended is None else effect_lines(self.state)

    @cached_property
    def failures(self) -> tuple[str, ...]:
        """The first failure's reason and what failures share, a sentence each."""
        return failure_lines(self.state.trials)

    def lines(self, verdict: str = "") -> list[str]:
        """The findings in words; why there are none before the first measurement.

        Args:
            verdict: The comparison with the defaults as it was measured, if it was.
        """
        best, units, risk = self.recommended, self.state.study_file.units, self._risk
        if best is None:
            return list(self.failures)
        named = "Recommended" if best.feasible else "No feasible configuration yet; nearest"
        of = "" if best.estimand == "location" else f" of the {best.estimand} of measurements"
        meaning = (
            "" if risk is None else f"{risk.name[0].upper()}{risk.name[1:]}{of}: {risk.meaning}."
        )
        return [
            f"{named}, with {self._value(best)}:",
            *(f"  {n} = {units.of(n, one, setting_text(one))}" for n, one in best.params.items()),
            *constraint_lines(best, self.constraints, self.together, units.reported),
            *filter(None, [meaning, verdict, self._against(best, verdict)]),
            *self.statements,
            *([] if self.front is None else self.front.lines),
            *self.effects,
            *self.failures,
            *(f"Warning: {text}" for text in self.warnings),
        ]

    @property
    def measured(self) -> int:
        """Number of measurements in the model."""
        return len(self.state.belief.trials)

    @property
    def quantity(self) -> str:
        """Name of the recommended value."""
        risk = None if self._risk is None else f"{self._risk.name} of"
        return quantity(self.state.study_file.objective.estimand, risk)

    @property
    def estimate(self) -> str:
        """The recommended value with its unit, and its interval if there is one."""
        value, ends = self.state.recommendation.value, self.interval
        text = f"{value:.5g}" if ends is None else estimate_text(value, *ends)
        return self.state.study_file.units.of_value(text)

    @property
    def _risk(self) -> RiskDescription | None:
        return self.state.study_file.scheme.risk

    def _value(self, best: StudyRecommendation) -> str:
        """The predicted value with its interval, or the objectives."""
        if self.front is not None:
            return self.front.value
        few = "a single measurement has" if self.trials - self.failed < 2 else "zeros alone have"
        value, interval = f"{best.value:.5g}", f"({few} no interval)"
        if self.interval is not None:
            value, low, high = estimate_texts(best.value, *self.interval)
            interval = f"(95 % credible interval {low} to {high})"
        return f"{self.quantity} {self.state.study_file.units.of_value(value)} {interval}"

    def _against(self, best: StudyRecommendation, verdict: str) -> str:
        """The comparison with the defaults in words, empty where there is none.

        Where nothing is measured yet it ends with how to measure it.
        """
        if (known := self.defaults) is None:
            failed = not verdict and self.state.only_failed(self.state.study_file.defaults)
            return "The defaults have failed." * failed
        if best.params == known.params:
            return "These are the defaults."
        ends = (known.value + known.lower, known.value + known.upper)
        value = self.state.study_file.units.of_value(estimate_texts(known.value, *ends)[0])
        study_file = self.state.study_file
        parts = (
            f"Against the defaults, which the model predicts at {value}: {known}.",
            known.limits,
            f"`surefoot compare {study_file.as_word}` measures it."
            if study_file.objective.measures and not verdict
            else "",
        )
        return " ".join(filter(None, parts))

    def as_dict(self) -> dict[str, Any]:
        """JSON values, as `surefoot recommend --json` prints them.

        Raises:
            NotReady: If the study has no measurement yet.
        """
        best, limited = self.state.recommendation, self.state.study_file.constraints
        lower, upper = self.interval or (None, None)
        content: dict[str, Any] = {
            "params": best.params,
            "value": best.value,
            "lower": lower,
            "upper": upper,
            "estimand": best.estimand,
            "unit": self.state.study_file.units.value,
            "trials": self.trials,
            "failed": self.failed,
        }
        if (against := self.defaults) is not None:
            doubtful = {"doubtful": constraints_as_json(against.doubtful)} if limited else {}
            named = ("params", "value", "change", "lower", "upper")
            content["defaults"] = {name: getattr(against, name) for name in named} | doubtful
        for name in ("statements", "warnings", "effects", "failures"):
            content[name] = list(getattr(self, name))
        if limited:
            content |= {
                "feasible": best.feasible,
                "feasibility": None if best.unmeasured else best.feasibility,
                "unmeasured": list(best.unmeasured),
                "constraints": constraints_as_json(self.constraints),
            }
        if (risk := self._risk) is not None:
            described = ("measure", "level", "tail", "meaning")
            content["risk"] = {name: getattr(risk, name) for name in described}
        return content | ({} if self.front is None else self.front.as_json)

    def _repr_html_(self) -> str:
        rows: dict[str, Any] = {} if self.recommended is None else self.recommended.rows
        rows["against the defaults"] = None if self.defaults is None else str(self.defaults)
        rows["trials"] = f"{self.trials}, {self.failed} of them failed"
        limits = "" if self.defaults is None else self.defaults.limits
        notes = [*self.effects, *(f"Warning: {text}" for text in self.warnings)]
        title = f"Study {self.state.study_file.study.name}"
        return as_html(title, rows, [*filter(None, [limits]), *notes])


def summarise(
    opened: OpenedStudy,
    given: Mapping[str, Any] | None = None,
    limits: Mapping[str, float] | None = None,
) -> Findings:
    """Recommend a configuration and count the trials.

    Args:
        opened: The study, as `open_study` gives it.
        given: Values of the given variables to recommend under, by name; by default those of the
            latest trial.
        limits: Limits of some of several objectives, by name, that the recommendation is to keep.

    Returns:
        The findings at present.

    Raises:
        StorageFailed: If the storage cannot be read.
    """
    return Findings(replace(opened.state(), asked=given or {}, limits=limits or {}))


def unmeasured_objectives_note(state: StudyState) -> str:
    """A sentence on the objectives that the front is without; empty if it has all of them."""
    names = [one for one in state.unmeasured if one in state.study_file.scheme.further]
    if not names:
        return ""
    return f"{unmeasured_text(names)}: the front and the recommendation leave it open."


def unstable_note(state: StudyState) -> str:
    """A sentence on the unstable configurations; empty where there are none."""
    trials = unstable_trials(state)
    if not trials:
        return ""
    what = "configuration is" if len(trials) == 1 else "configurations are"
    text = (
        f"{len(trials)} {what} unstable, measured first in trial {listed(trials)}: the "
        "measurements differ more than those of other configurations"
    )
    if state.recommendation.params in state.belief.unstable:
        return f"{text}. The recommended one is among them, as no other is known to be better."
    return f"{text}, and the recommendation avoids them."


def unstable_trials(state: StudyState) -> list[int]:
    """Numbers of the first trials of the unstable configurations, in ascending order."""
    first: dict[int, int] = {}
    for trial in sorted(state.measured, key=lambda one: one.number):
        for index, one in enumerate(state.belief.unstable):
            if index not in first and all(trial.params.get(name) == one[name] for name in one):
                first[index] = trial.number
    return sorted(first.values())


def exhausted_note(state: StudyState) -> str:
    """A sentence once every configuration was measured; empty before."""
    number = configurations(state.study_file.space)
    if not 1.0 < number <= len(state.measured):
        return ""
    space, values = state.study_file.space, defaultdict[Any, list[tuple[float, ...]]](list)
    for trial in state.measured:
        values[tuple(sorted(space.restricted(trial.params).items()))].append(tuple(trial.values))
    if len(values) < number:
        return ""
    repeated = [one for one in values.values() if len(one) > 1]
    exact = repeated and all(len({*one}) == 1 for one in repeated)
    nothing = "and tell nothing new where values have no noise; Ctrl-C ends the run"
    gain = nothing if exact else "for narrower intervals"
    return f"all {number:g} configurations have been measured: further rounds repeat them, {gain}"


def configurations(space: Space) -> float:
    """The number of configurations; infinite with a continuous parameter.

    Conditions and rules make it smaller, so that it is an upper bound then.
    """
    count = 1.0
    for one in space.parameters.values():
        if isinstance(one, Choice):
            count *= len(one.choices)
        else:
            count *= one.levels + len(one.special) if one.levels else math.inf
    return count
