"""User attributes of trials that surefoot records, and their meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from optuna.trial import FrozenTrial, Trial, TrialState

from surefoot.integrations.optuna import (
    BLAMELESS,
    CONSTRAINTS,
    ENVIRONMENT,
    INTERRUPTED,
    STANDARD_ERROR,
    STANDARD_ERRORS,
    TIME,
    WORKER,
)
from surefoot.integrations.optuna.attributes import FAILURE
from surefoot.integrations.optuna.endings import is_ignored_failure
from surefoot.tune.plain_text import storable

OWNER = "surefoot:process"
UNITS = "surefoot:units"  # of the study: units of the first measurement, by name
ASKED = "surefoot:asked"  # of a trial that is measured from outside, until its value is told
LATE = "surefoot:late"  # of a trial that has the value of a forgotten one: which one
OUTPUT, SECONDS = "output", "seconds"
IMPORTED = "imported"  # identifies a row of an imported table
LEFT_BEHIND = "left behind"  # a line about processes that had to be ended
_OF_RECORD = {  # attributes with the parts of a `Measurement.record`
    "sem": STANDARD_ERROR,
    "worker": WORKER,
    "seconds": SECONDS,
    "failure": FAILURE,
    "output": OUTPUT,
    "environment": ENVIRONMENT,
    "constraints": CONSTRAINTS,
    "sems": STANDARD_ERRORS,
    "blameless": BLAMELESS,
    "left behind": LEFT_BEHIND,
}


def attributes_of(record: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a trial with the record of a measurement, which `record_of` reads."""
    return {key: record[name] for name, key in _OF_RECORD.items() if name in record}


def study_units(attributes: Mapping[str, Any]) -> dict[str, str]:
    """The units of a study's first measurement by name, from its attributes; empty before it."""
    recorded = attributes.get(UNITS)
    items = recorded.items() if isinstance(recorded, dict) else ()
    return {str(name): unit for name, unit in items if isinstance(unit, str)}


def is_round(trial: FrozenTrial) -> bool:
    """Whether a trial counts as one of the study's rounds: finished, and not interrupted.

    Args:
        trial: The trial.
    """
    return trial.state.is_finished() and not trial.user_attrs.get(INTERRUPTED)


def is_failed_round(trial: FrozenTrial) -> bool:
    """Whether a trial is a round without a measurement."""
    return is_round(trial) and trial.state == TrialState.FAIL


def ended_as(params: Mapping[str, Any] | None, trials: Sequence[FrozenTrial]) -> list[TrialState]:
    """How the runs of a configuration have ended, but for those that say nothing about it."""
    return [
        one.state
        for one in trials
        if one.params == params and is_round(one) and not is_ignored_failure(one)
    ]


def is_interrupted(trial: FrozenTrial) -> bool:
    """Whether a trial was interrupted, which says nothing about its configuration."""
    return trial.state == TrialState.FAIL and bool(trial.user_attrs.get(INTERRUPTED))


def is_asked(trial: FrozenTrial) -> bool:
    """Whether a trial was asked for, and its value has not been told."""
    return trial.state == TrialState.RUNNING and bool(trial.user_attrs.get(ASKED))


def asked_id(trial: FrozenTrial | Trial) -> int:
    """The id under which a configuration was asked for: of the forgotten trial, if it is late."""
    late = trial.user_attrs.get(LATE)
    return late if isinstance(late, int) else trial.number


def failure_reason(trial: FrozenTrial) -> str:
    """Why a trial failed, in one line; empty if it did not."""
    if trial.state != TrialState.FAIL:
        return ""
    return storable(str(trial.user_attrs.get(FAILURE, "failed, without a reason recorded")))


def trial_output(trial: FrozenTrial) -> str:
    """The end of what a failed trial printed; empty if there is none."""
    return storable(str(trial.user_attrs.get(OUTPUT, "")))


def trial_environment(trial: FrozenTrial | Trial) -> dict[str, Any]:
    """The environment of a trial's measurement, by name; empty if there is none, or none yet."""
    return _table(trial, ENVIRONMENT)


def trial_constraints(trial: FrozenTrial | Trial) -> dict[str, float]:
    """The values of a trial's constraints, by name."""
    return _table(trial, CONSTRAINTS)


def trial_worker(trial: FrozenTrial) -> str | None:
    """Name of who or what measured a trial, None where it is unknown."""
    recorded = trial.user_attrs.get(WORKER)
    return None if recorded is None else storable(str(recorded))


def record_of(trial: FrozenTrial) -> dict[str, Any]:
    """Record of a trial's measurement beside its value; None for what it has none of."""
    return {
        "sem": _number(trial.user_attrs.get(STANDARD_ERROR)),
        "worker": trial_worker(trial),
        "seconds": trial_seconds(trial),
        "failure": failure_reason(trial) or None,
        "environment": trial_environment(trial) or None,
        "constraints": trial_constraints(trial) or None,
        "sems": _table(trial, STANDARD_ERRORS) or None,
    }


def trial_start(trial: FrozenTrial) -> datetime | None:
    """When a trial began, None where it is unknown, as in a table without times."""
    unknown = TIME in trial.user_attrs and trial.user_attrs[TIME] is None
    return None if unknown else trial.datetime_start


def trial_seconds(trial: FrozenTrial) -> float | None:
    """Duration of the measurement, or of the trial if surefoot did not measure or import it."""
    recorded, unknown = _number(trial.user_attrs.get(SECONDS)), IMPORTED in trial.user_attrs
    if recorded is not None or unknown or is_interrupted(trial) or trial.duration is None:
        return recorded
    return trial.duration.total_seconds()


def _table(trial: FrozenTrial | Trial, name: str) -> dict[str, Any]:
    """A table that was recorded, empty for anything else."""
    recorded = trial.user_attrs.get(name)
    return dict(recorded) if isinstance(recorded, dict) else {}


def _number(recorded: object) -> float | None:
    """A number that was recorded, None for anything else."""
    is_number = isinstance(recorded, int | float) and not isinstance(recorded, bool)
    return float(recorded) if is_number else None  # type: ignore[arg-type]
