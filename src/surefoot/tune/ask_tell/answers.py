"""Answers of a study to those who measure it: as lines for a shell, and as JSON."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Self

from optuna.trial import FrozenTrial, Trial

from surefoot._internal.html import as_html, value_text
from surefoot.integrations.optuna.predictions import unmeasured_text
from surefoot.tune.estimate_text import ends_as_json, estimate_text, estimate_texts
from surefoot.tune.study.trial_attributes import asked_id, failure_reason, trial_environment

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyRecommendation
    from surefoot.tune.estimate_text import Units


@dataclass(frozen=True)
class Asked:
    """A configuration to measure.

    Args:
        id: Its id, the number of the trial in which it was asked for first.
        params: Values by parameter name.
        environment: Values of the environment to measure under, by name; empty if there is none or
            it is observed.
        since: When it was asked for.
    """

    id: int
    params: Mapping[str, Any]
    environment: Mapping[str, Any]
    since: datetime | None

    @classmethod
    def of(cls, trial: Trial | FrozenTrial) -> Self:
        """The configuration of a trial."""
        return cls(asked_id(trial), trial.params, trial_environment(trial), trial.datetime_start)

    @property
    def line(self) -> str:
        """The id and `name=value` for each parameter, quoted for a shell."""
        values = {**self.params, **self.environment}
        return " ".join([str(self.id), *(shlex.quote(f"{n}={v}") for n, v in values.items())])

    def as_dict(self) -> dict[str, Any]:
        """JSON values; `environment` only where there is one."""
        found: dict[str, Any] = {"id": self.id, "params": dict(self.params)}
        return found | ({"environment": dict(self.environment)} if self.environment else {})


@dataclass(frozen=True)
class Told:
    """The recorded outcome of a configuration.

    Args:
        id: Its id.
        trial: Number of the trial that has the outcome: another one if it came after `forget`.
        value: The measurement, None for a failure.
        failure: Why there is none; empty for a measurement.
        finished: Rounds of the study that are measured.
        rounds: Rounds of the study.
        units: Units of the study.
    """

    id: int
    trial: int
    value: float | None
    failure: str
    finished: int
    rounds: int
    units: Units

    @classmethod
    def of(cls, trial: FrozenTrial, finished: int, rounds: int, units: Units) -> Self:
        """The outcome of a finished trial."""
        reason = failure_reason(trial)
        return cls(asked_id(trial), trial.number, trial.value, reason, finished, rounds, units)

    @property
    def outcome(self) -> str:
        """The value or the failure, in words."""
        if self.value is None:
            return f"failed: {self.failure}"
        return f"the value {self.units.of_value(f'{self.value:g}')}"

    @property
    def line(self) -> str:
        """The outcome, and how far the study is."""
        late = f", as trial {self.trial}" if self.trial != self.id else ""
        progress = f"{self.finished} of {self.rounds} rounds"
        return f"trial {self.id} has {self.outcome}{late} ({progress})"

    def as_dict(self) -> dict[str, Any]:
        """JSON values; `failure` only where there is one."""
        found: dict[str, Any] = {
            "id": self.id,
            "trial": self.trial,
            "value": self.value,
            "finished": self.finished,
            "rounds": self.rounds,
        }
        return found | ({"failure": self.failure} if self.failure else {})


@dataclass(frozen=True)
class Status:
    """The progress of a study.

    Args:
        name: Name of the study.
        direction: "minimize" or "maximize", of several objectives by name.
        rounds: Rounds to reach.
        finished: Rounds that are measured, failed ones included.
        failed: Rounds without a measurement.
        measured: Configurations that `surefoot tune` is measuring.
        asked: Configurations that were asked for and have no outcome.
        unmeasured: Constraints and further objectives that no trial has measured.
    """

    name: str
    direction: str | dict[str, str]
    rounds: int
    finished: int
    failed: int
    measured: int
    asked: tuple[Asked, ...]
    unmeasured: tuple[str, ...] = ()

    @property
    def lines(self) -> list[str]:
        """The progress, what is not measured, and a line for each one without an outcome."""
        failed = f", {self.failed} of them failed" if self.failed else ""
        measured = f"; {self.measured} being measured" if self.measured else ""
        first = f"{self.name}: {self.finished} of {self.rounds} rounds{failed}{measured}"
        missing = [unmeasured_text(self.unmeasured)] if self.unmeasured else []
        return [first, *missing, *(f"asked for: {one.line}{_since(one)}" for one in self.asked)]

    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        asked = [
            one.as_dict() | {"since": one.since and one.since.isoformat(timespec="seconds")}
            for one in self.asked
        ]
        return {**vars(self), "asked": asked}


def _since(one: Asked) -> str:
    return "" if one.since is None else f"  (since {one.since:%Y-%m-%d %H:%M})"


@dataclass(frozen=True)
class Prediction:
    """Prediction of the model for a configuration.

    Args:
        value: The predicted value or risk with its interval; of several objectives, the first.
        objectives: Several objectives by name.
        units: Units of the study.
        unmeasured: Further objectives that no trial has measured.
    """

    value: StudyRecommendation
    objectives: Mapping[str, StudyRecommendation]
    units: Units
    unmeasured: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The value with its interval, or those of all objectives, and the configuration."""
        one = self.value
        shown, low, high = estimate_texts(one.value, one.lower, one.upper)
        value = (
            f"{self.units.of_value(shown)}{f' ({low} to {high})' if one.lower < one.upper else ''}"
        )
        several = [
            f"{name} {estimate_text(one.value, one.lower, one.upper)} "
            f"{self.units.reported.get(name, '')}".rstrip()
            for name, one in self.objectives.items()
        ]
        chance = f", constraints hold with probability {one.feasibility:.2g}"
        chance = "" if one.feasible else chance
        if unmeasured := (*one.unmeasured, *self.unmeasured):
            chance = f", {unmeasured_text(unmeasured)}"
        params = " ".join(shlex.quote(f"{name}={given}") for name, given in one.params.items())
        return f"{', '.join(several) or value}{chance}: {params}"

    @property
    def rows(self) -> dict[str, Any]:
        """Rows of a table about the answer, by name."""
        several = {
            name: f"{value_text(one.value, one.lower, one.upper)} "
            f"{self.units.reported.get(name, '')}".rstrip()
            for name, one in self.objectives.items()
        }
        rows = self.value.rows
        if not several:
            return rows
        limits = {
            "constraints hold": rows["constraints hold"],
            "not measured yet": ", ".join((*self.value.unmeasured, *self.unmeasured)),
        }
        return {"configuration": rows["configuration"], **several, **limits}

    def _repr_html_(self) -> str:
        return as_html("Prediction", self.rows)

    @property
    def as_dict(self) -> dict[str, Any]:
        """JSON values."""
        several = {
            name: {"value": one.value, **ends_as_json(one.lower, one.upper)}
            for name, one in self.objectives.items()
        }
        found = recommendation_as_dict(self.value) | ({"objectives": several} if several else {})
        found["unmeasured"] += self.unmeasured
        return found


def recommendation_as_dict(one: StudyRecommendation) -> dict[str, Any]:
    """JSON values."""
    return {
        **vars(one),
        **ends_as_json(one.lower, one.upper),
        "params": dict(one.params),
        "feasibility": None if one.unmeasured else one.feasibility,
        "unmeasured": list(one.unmeasured),
    }
