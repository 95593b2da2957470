"""The study in the storage file of another study."""

from __future__ import annotations

from pathlib import Path

import optuna
from optuna.trial import FrozenTrial

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.plain_text import shown
from surefoot.tune.study.storage import (
    Location,
    connect,
    readable,
    readable_trials,
    storage_errors,
    study_names,
)
from surefoot.types import InvalidInput

_SQLITE, _JOURNAL = b"SQLite format 3\0", b'{"op_code"'


def is_storage(path: Path) -> bool:
    """Whether a file is an SQLite database or a journal of Optuna, rather than a table."""
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)).startswith((_SQLITE, _JOURNAL))
    except OSError:
        return False


def study_in(study_file: StudyFile, file: Path) -> tuple[optuna.Study, list[FrozenTrial]]:
    """The study in a storage file, and its trials.

    Args:
        study_file: The study file of the study that it is read for.
        file: An SQLite file or a journal of Optuna, with one study or one of the same name.

    Raises:
        InvalidInput: If there are other studies only, or it has another direction.
        StorageFailed: If the storage cannot be read.
    """
    journal = is_storage(file) and not file.read_bytes().startswith(_SQLITE)
    location = Location(study_file, file, journal)
    with storage_errors(location, "reading"):
        opened = connect(location, create=False)
        names = study_names(opened, location)
        name = study_file.study.name if study_file.study.name in names else names[0]
        if len(names) != 1 and name != study_file.study.name:
            raise InvalidInput(
                f"{file}: contains the studies {', '.join(map(shown, names))}, expected one, or "
                f"one that is named {study_file.study.name!r}"
            )
        with readable(location, "the study"):
            study = optuna.load_study(study_name=name, storage=opened)
        trials = readable_trials(study, location)
    directions, wanted = [one.name.lower() for one in study.directions], study_file.study.direction
    if directions != [wanted]:
        raise InvalidInput(f"{file}: the study is to {', '.join(directions)}, expected {wanted}")
    return study, list(trials)
