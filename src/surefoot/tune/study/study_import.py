"""Measurements of another study become trials of a study, as after a change of its parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState, create_trial

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measured_units import declared_units, unit_phrase
from surefoot.tune.measuring.measurement import MEASUREMENT, VALUE
from surefoot.tune.measuring.unit_scales import factor, scaled
from surefoot.tune.plain_text import shown
from surefoot.tune.study.compatibility import recorded_units
from surefoot.tune.study.location import NoStudy
from surefoot.tune.study.opened_study import open_study
from surefoot.tune.study.other_storage import study_in
from surefoot.tune.study.table_import import Imported, add_trials
from surefoot.tune.study.trial_attributes import (
    IMPORTED,
    OWNER,
    is_round,
    trial_environment,
    trial_start,
)
from surefoot.tune.study.trial_units import attributes_in_units
from surefoot.types import InvalidInput


def import_study(
    path: Path | str, storage: Path | str, note: Callable[[str], None] = lambda text: None
) -> Imported:
    """Add the finished trials of the study in a storage to a study, which is created if need be.

    A parameter that a trial lacks has its default. Measurements in another unit are converted to
    that of the study, which has theirs if it has none. Trials with values outside the present
    ranges are left out, and so are those that the study has already.

    Args:
        path: The study file.
        storage: An SQLite file or a journal of Optuna, with one study or one of the same name.
        note: Shows every few seconds how far it is.

    Returns:
        How many trials were added.

    Raises:
        StudyFileError: If the study file is invalid or its storage holds another study.
        InvalidInput: If the other study has another direction, a unit that cannot be converted or a
            parameter that the study file lacks, or one that is new has no default; nothing is
            added.
        StorageFailed: If a storage cannot be read or written.
    """
    study_file, file = StudyFile.load(path), Path(storage).absolute()
    study, trials = study_in(study_file, file)
    name = study.study_name
    theirs = recorded_units(study, trials)
    units = {**theirs, **_own_units(study_file)}
    sizes = {name: _size(study_file, name, one, units[name], file) for name, one in theirs.items()}
    rounds = [trial for trial in trials if is_round(trial) and trial.state != TrialState.PRUNED]
    adopted = [
        _adopted(study_file, trial, f"{name} {trial.number}", file, sizes) for trial in rounds
    ]
    fitting = [(one, trial_start(one)) for one in adopted if one is not None]
    skipped, outside = len(trials) - len(rounds), len(rounds) - len(fitting)
    return add_trials(study_file, fitting, skipped, outside, units, note=note)


def _own_units(study_file: StudyFile) -> dict[str, str]:
    """The units of a study file, and where it has none those of its measurements."""
    try:
        opened = open_study(study_file.path)
    except NoStudy:
        return declared_units(study_file)
    return {**recorded_units(opened.study, opened.state().trials), **declared_units(study_file)}


def _size(study_file: StudyFile, name: str, theirs: str, unit: str, file: Path) -> float:
    """Factor of a measured number in the unit of the study."""
    size = factor(theirs, unit)
    if size is None:
        what = MEASUREMENT if name == VALUE else name
        raise InvalidInput(
            f"{file}: {what} is {unit_phrase(theirs)}, and that of {study_file.path.name} is "
            f"{unit_phrase(unit)}, expected a unit that can be converted to it"
        )
    return size


def _adopted(
    study_file: StudyFile,
    trial: FrozenTrial,
    identity: str,
    file: Path,
    sizes: Mapping[str, float],
) -> FrozenTrial | None:
    """A trial as one of the study; None if its values are outside the present ranges."""
    space, params = study_file.space, dict(trial.params)
    if unknown := [name for name in params if name not in space.scales]:
        raise InvalidInput(
            f"{file}: trial {trial.number} has the parameter {shown(unknown[0])}, which "
            f"{study_file.path.name} lacks: its measurements depend on it"
        )
    while missing := [name for name in space.active(params) if name not in params]:
        params[missing[0]] = _default(study_file, missing[0], file)
    params = space.restricted(params)
    distributions = {name: space.distributions[name] for name in params}
    known = space.named.parameters
    if not all(known[name].contains(value) for name, value in params.items()):
        return None
    if space.violated(params):
        return None
    attributes: dict[str, Any] = {
        key: value
        for key, value in attributes_in_units(trial.user_attrs, sizes).items()
        if key != OWNER
    }
    value = trial.value if trial.state == TrialState.COMPLETE else None
    adopted = create_trial(
        state=trial.state,
        value=None if value is None else scaled(value, sizes.get(VALUE, 1.0)),
        params=params,
        distributions=distributions,
        user_attrs=attributes | {IMPORTED: identity},
    )
    adopted.datetime_start, adopted.datetime_complete = (
        trial.datetime_start,
        trial.datetime_complete,
    )
    environment = study_file.scheme.environment
    if environment is not None and trial.state == TrialState.COMPLETE:
        environment.encode(trial_environment(trial))  # refuses one that is not of the study
    return adopted


def _default(study_file: StudyFile, name: str, file: Path) -> Any:
    default = study_file.parameters[name].default
    if default is None:
        raise InvalidInput(
            f"{study_file.path.name}: parameters.{name} is new to the study in {file}, expected a "
            "`default`: the value that it had in the earlier measurements"
        )
    return default
