"""Whether the study in a storage is the one that a study file describes, so that it may go on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna import ENVIRONMENT
from surefoot.parameters.parameter import is_on_grid
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.measurement import unit_phrase
from surefoot.tune.measuring.quantity import VALUE
from surefoot.tune.measuring.unit_scales import factor
from surefoot.tune.plain_text import shown
from surefoot.tune.study.trial_attributes import OWNER, UNITS, study_units
from surefoot.tune.study.trial_owner import mismatch
from surefoot.types import InvalidInput

DEFINITION = "surefoot"  # the study's user attribute that holds `definition`
_CHANGEABLE = {"default", "guess", "unit", "inactive", "ordered"}  # keys of a parameter
TABLES = {
    "parameters": "no such parameter",
    **dict.fromkeys(("environment", "fidelity", "objectives", "risk"), "nothing"),
}
_DECLARED = "units"  # key of a definition, of which one more may be declared later
_READ = "read"  # what stands before each number in the output, by name
PARAMETER_UNITS = "parameter units"  # the same of parameters


def definition(study_file: StudyFile) -> dict[str, Any]:
    """Definition of a study, as JSON values: equal for equal studies, and stored with them."""
    objective = study_file.objective
    return {
        **study_file.scheme.definition,
        "direction": study_file.study.direction,
        "parameters": {
            name: one.model_dump(
                mode="json",
                exclude=_CHANGEABLE | (set() if one.special else {"special"}),
                exclude_none=True,
            )
            for name, one in study_file.parameters.items()
        },
        "objective": {"command": objective.command, "function": objective.function},
        _DECLARED: study_file.declared_units,
        _READ: {VALUE: objective.value, **{n: one.value for n, one in study_file.reported.items()}},
        PARAMETER_UNITS: dict(study_file.units.parameters),
    }


def continued(study_file: StudyFile, study: optuna.Study, trials: Sequence[FrozenTrial]) -> Any:
    """`definition` of a study that goes on: its numbers keep a unit that the file drops."""
    now, stored = definition(study_file), study.user_attrs.get(DEFINITION) or {}
    if _is_measured(trials):
        now[_DECLARED] = {**now[_DECLARED], **stored.get(_DECLARED, {})}
    if _has_values(trials):
        now[PARAMETER_UNITS] = {**now[PARAMETER_UNITS], **stored.get(PARAMETER_UNITS, {})}
    return now


def recorded_units(attributes: Mapping[str, Any], trials: Sequence[FrozenTrial]) -> dict[str, str]:
    """Units of a study's measurements by name, as declared or else printed, where there is one.

    Args:
        attributes: User attributes of the study.
        trials: Its trials.
    """
    if not _is_measured(trials):
        return {}
    stored = attributes.get(DEFINITION)
    declared = stored.get(_DECLARED) if isinstance(stored, dict) else None
    units = {**study_units(attributes), **study_units({UNITS: declared})}
    return {name: unit for name, unit in units.items() if unit}


def check_compatible(
    study_file: StudyFile, study: optuna.Study, trials: Sequence[FrozenTrial], label: str
) -> str:
    """Check that a stored study has this study file's definition; nothing is written.

    A changed objective is allowed, since a command that fails must be correctable, and so is
    another range of a number, in which all earlier trials are.

    Args:
        study_file: The study file.
        study: The stored study.
        trials: Its trials.
        label: The storage's name for messages.

    Returns:
        A note for the user on what has changed, else an empty text.

    Raises:
        StudyFileError: If direction, parameters, environment or risk differ, or the unit of what
            has been measured or of a parameter.
    """
    direction = study_file.study.direction
    # Asking for `direction` of a study with several objectives is an error of Optuna's own.
    found = [one.name.lower() for one in study.directions]
    if found != [direction]:
        raise _differs(study_file, "study.direction", direction, ", ".join(found), label)
    stored = study.user_attrs.get(DEFINITION)
    _check_attributes(study_file, trials, stored, label)
    chosen = stored.get(PARAMETER_UNITS, {}) if stored and _has_values(trials) else {}
    _check_units(study_file, recorded_units(study.user_attrs, trials), chosen, label)
    if stored is None:
        _check_foreign_trials(study_file, trials, label)
        return ""
    now = definition(study_file)
    notes, different = [], []
    for table, missing in TABLES.items():
        before, after = stored.get(table) or {}, now.get(table) or {}
        for key in dict.fromkeys([*before, *after]):
            old, new = before.get(key), after.get(key)
            if old == new:
                continue
            values = [one.params[key] for one in trials if key in one.params]
            if is_changed_range(old, new, values if table == "parameters" else None):
                notes.append(f"the range of {key}")
            else:
                different.append((f"{table}.{key}", _show(new, missing), _show(old, missing)))
        if table == "objectives" and [*before][:1] != [*after][:1]:  # the values of the trials
            new, old = (f"{shown(next(iter(one), ''))} first" for one in (after, before))
            different.append((table, new, old))
    if different:
        raise _differs(study_file, *different[0], label, [key for key, _, _ in different[1:]])
    read = {**now[_READ], **(stored.get(_READ) or {})}
    changed = [name for name, one in now[_READ].items() if read[name] != one]
    if stored["objective"] != now["objective"] or VALUE in changed:
        notes.insert(0, "the objective")
    notes += [f"what is read of {name}" for name in changed if name != VALUE]
    if not notes:
        return ""
    return (
        f"{', '.join(notes)} {'has' if len(notes) == 1 else 'have'} changed since {label} was "
        "created; earlier measurements stay in the model"
    )


def _is_measured(trials: Sequence[FrozenTrial]) -> bool:
    return any(trial.state == TrialState.COMPLETE for trial in trials)


def _has_values(trials: Sequence[FrozenTrial]) -> bool:
    return any(trial.params for trial in trials)


def _check_units(
    study_file: StudyFile,
    measured: Mapping[str, str],
    parameters: Mapping[str, str],
    label: str,
) -> None:
    """Check that no number that was measured or chosen in one unit is now said to be in another.

    Args:
        study_file: The study file.
        measured: Units of measurements, as they were recorded, by name.
        parameters: Those of values of parameters.
        label: Name of the storage.
    """
    given, limits = study_file.scheme.given, study_file.constraints
    for name, unit in study_file.declared_units.items():
        key, limit = _key_of_unit(study_file, name), " and the limit in it" * (name in limits)
        _check_unit(study_file, key, measured.get(name, unit), unit, "measurements", limit, label)
    for name, unit in study_file.units.parameters.items():
        key = f"{'environment' if name in given else 'parameters'}.{name}.unit"
        before, also = parameters.get(name, unit), " and the range in it"
        _check_unit(study_file, key, before, unit, "values", also, label)


def _check_unit(
    study_file: StudyFile, key: str, before: str, unit: str, what: str, also: str, label: str
) -> None:
    if factor(before, unit) != 1.0:
        there, restore = f"{what} {unit_phrase(before)}", f"write unit = {shown(before)}{also}"
        raise _differs(study_file, key, shown(unit), there, label, (), restore)


def _key_of_unit(study_file: StudyFile, name: str) -> str:
    objectives = study_file.scheme.objectives
    if name == VALUE and not objectives:
        return "objective.unit"
    name = next(iter(objectives)) if name == VALUE else name
    return f"{'objectives' if name in objectives else 'constraints'}.{name}.unit"


def is_changed_range(before: object, after: object, values: Sequence[Any] | None) -> bool:
    """Whether a number's range is another one that its values are in, on the same grid.

    Args:
        before: Its definition.
        after: That of now, with all else equal.
        values: The values that it had; None where all of the earlier range counts.
    """
    if not isinstance(before, dict) or not isinstance(after, dict):
        return False
    ends = ("low", "high")
    if any(
        not isinstance(one.get(end), int | float) for one in (before, after) for end in ends
    ) or {key: before[key] for key in before if key not in ends} != {
        key: after[key] for key in after if key not in ends
    }:
        return False
    known = [(before["low"], before["high"]), *([] if values is None else [values])]
    special = after.get("special") or ()
    wider = any(
        all(after["low"] <= one <= after["high"] or one in special for one in each)
        for each in known
    )
    step = before.get("step")
    return wider and (not step or is_on_grid(before["low"], after["low"], step))


def _check_attributes(
    study_file: StudyFile, trials: Sequence[FrozenTrial], stored: object, label: str
) -> None:
    """Check that surefoot's attributes have not been recorded by something else."""
    wrong = ""
    if stored is not None and (
        not isinstance(stored, dict)
        or not isinstance(stored.get("objective"), dict)
        or not all(
            isinstance(stored.get(one) or {}, dict)
            for one in (*TABLES, _DECLARED, PARAMETER_UNITS, _READ)
        )
    ):
        wrong = f"the user attribute {DEFINITION!r} is {shown(stored)}, expected a definition"
    for trial in () if wrong else trials:
        if (owner := trial.user_attrs.get(OWNER)) is not None and (mismatched := mismatch(owner)):
            wrong = f"the user attribute {OWNER!r} of trial {trial.number} {mismatched}"
            break
    if wrong:
        raise study_file.error(
            "study.storage",
            f"in {label} {wrong}, as surefoot records it; remove it, or choose another storage",
        )


def _check_foreign_trials(study_file: StudyFile, trials: Sequence[FrozenTrial], label: str) -> None:
    """Accept a study that surefoot did not create if its trials have the same parameters.

    In a study with an environment, each value must be recorded with its environment.
    """
    distributions, environment = study_file.distributions, study_file.scheme.environment
    for trial in trials:
        if environment is not None and trial.state == TrialState.COMPLETE:
            try:
                environment.encode(trial.user_attrs.get(ENVIRONMENT))
            except InvalidInput as error:
                raise study_file.error(
                    "environment",
                    f"trial {trial.number} of the study in {label} does not fit: {error}",
                ) from None
        for name, before in trial.distributions.items():
            after = distributions.get(name)
            if after != before:
                shown = "no such parameter" if after is None else str(after)
                raise _differs(study_file, f"parameters.{name}", shown, str(before), label)


def _differs(
    study_file: StudyFile,
    key: str,
    now: str,
    before: str,
    label: str,
    others: Sequence[str] = (),
    restore: str = "restore the old value",
) -> StudyFileError:
    also = f" ({', '.join(others)} differ{'s' * (len(others) == 1)} too)" if others else ""
    return study_file.error(
        key,
        f"got {now}, but the study in {label} has {before}{also}; {restore}, or choose another "
        "study.name or study.storage for a new study, to which `surefoot import` adds the old "
        "one's measurements",
    )


def _show(value: Any, missing: str) -> str:
    if value is None:
        return missing
    if not isinstance(value, dict):
        return shown(value)
    return "{ " + ", ".join(f"{key} = {shown(one)}" for key, one in value.items()) + " }"
