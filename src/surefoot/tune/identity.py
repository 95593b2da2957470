"""What makes a study the one a study file describes, stored with it and compared on resuming."""

from __future__ import annotations

from typing import Any

import optuna
from optuna.trial import TrialState

from surefoot.integrations.optuna import ENVIRONMENT
from surefoot.tune.study_file import StudyFile, StudyFileError
from surefoot.types import InvalidInput

KEY = "surefoot"  # the study's user attribute


def describe(study_file: StudyFile) -> dict[str, Any]:
    """Direction, parameters, objective, environment and risk, as JSON values."""
    objective, environment, risk = study_file.objective, study_file.environment, study_file.risk
    beside = {} if environment is None else {"environment": environment.model_dump(mode="json")}
    beside |= {} if risk is None else {"risk": risk.model_dump(mode="json")}
    return {
        **beside,
        "direction": study_file.study.direction,
        "parameters": {
            name: one.model_dump(mode="json") for name, one in study_file.parameters.items()
        },
        "objective": {"command": objective.command, "function": objective.function},
    }


def check_same(study_file: StudyFile, study: optuna.Study, place: str) -> str | None:
    """See that the storage holds this study; a note if only its objective has changed.

    A changed objective is allowed, since a command that fails must be correctable. Raises
    `StudyFileError` for another direction, or other parameters, environment or risk; nothing is
    written.
    """
    direction = study_file.study.direction
    # Asking for `direction` of a study with several objectives is an error of Optuna's own.
    found = [one.name.lower() for one in study.directions]
    if found != [direction]:
        raise _changed(study_file, "study.direction", direction, ", ".join(found), place)
    stored = study.user_attrs.get(KEY)
    now = describe(study_file)
    if stored is None:
        _check_trials(study_file, study, place)
        return None
    for name in [*stored["parameters"], *now["parameters"]]:
        before, after = stored["parameters"].get(name), now["parameters"].get(name)
        if before != after:
            raise _changed(
                study_file,
                f"parameters.{name}",
                _show(after, "no such parameter"),
                _show(before, "no such parameter"),
                place,
            )
    for name in ("environment", "risk"):
        _check_table(study_file, name, stored.get(name) or {}, now.get(name) or {}, place)
    if stored["objective"] != now["objective"]:
        return (
            f"the objective has changed since {place} was begun; what was measured before stays "
            "in the model"
        )
    return None


def _check_table(
    study_file: StudyFile, table: str, before: dict[str, Any], now: dict[str, Any], place: str
) -> None:
    for key in [*before, *now]:
        was, one = before.get(key), now.get(key)
        if was != one:
            raise _changed(study_file, f"{table}.{key}", _show(one), _show(was), place)


def _check_trials(study_file: StudyFile, study: optuna.Study, place: str) -> None:
    """A study that surefoot did not begin is welcome if its trials have the same parameters.

    Beside an environment, each value must say what it was measured under.
    """
    wanted, environment = study_file.distributions, study_file.study_environment
    for trial in study.get_trials(deepcopy=False):
        if environment is not None and trial.state == TrialState.COMPLETE:
            try:
                environment.encode(trial.user_attrs.get(ENVIRONMENT))
            except InvalidInput as error:
                raise study_file.error(
                    "environment",
                    f"trial {trial.number} of the study in {place} does not fit: {error}",
                ) from None
        for name, before in trial.distributions.items():
            after = wanted.get(name)
            if after != before:
                shown = "no such parameter" if after is None else str(after)
                raise _changed(study_file, f"parameters.{name}", shown, str(before), place)


def _changed(study_file: StudyFile, key: str, now: str, before: str, place: str) -> StudyFileError:
    return study_file.error(
        key,
        f"got {now}, but the study in {place} has {before}; put it back, or choose another "
        "study.name or study.storage for a new study",
    )


def _show(parameter: Any, missing: str = "nothing") -> str:
    if parameter is None:
        return missing
    if not isinstance(parameter, dict):
        return repr(parameter)
    return "{ " + ", ".join(f"{key} = {value!r}" for key, value in parameter.items()) + " }"
