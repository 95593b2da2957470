"""Which storage a study file names, what kind of storage a file is, and the study in one."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

import optuna
from optuna.trial import FrozenTrial

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.plain_text import shown
from surefoot.tune.study.location import Location
from surefoot.tune.study.stored_file import SQLITE, JournalFile, SQLiteFile, StoredFile, begins
from surefoot.types import InvalidInput

_FILE = re.compile(r"(sqlite|sqlite\+pysqlite|journal):///([^?]+)", re.DOTALL)
_JOURNAL = b'{"op_code"'


def locate(study_file: StudyFile) -> Location:
    """The storage of a study file; relative paths start from its folder.

    Raises:
        StudyFileError: If the URL cannot be parsed.
    """
    given = study_file.study.storage
    if given is None:
        return SQLiteFile(study_file, _beside(study_file, f"{study_file.study.name}.db"))
    if (of_file := _FILE.fullmatch(given)) is not None:
        scheme, name = of_file.groups()
        kind = JournalFile if scheme == "journal" else SQLiteFile
        return kind(study_file, _beside(study_file, unquote(name)))
    # It imports SQLAlchemy, which takes half of the time in which a command starts.
    from surefoot.tune.study.server import server_of

    return server_of(study_file, given)


def stored_in(study_file: StudyFile, file: Path) -> StoredFile:
    """The storage in a file, by what the file begins with."""
    return (JournalFile if begins(file, _JOURNAL) else SQLiteFile)(study_file, file)


def is_storage(path: Path) -> bool:
    """Whether a file is an SQLite database or a journal of Optuna, rather than a table."""
    return begins(path, SQLITE, _JOURNAL)


def _beside(study_file: StudyFile, name: str) -> Path:
    """A file by its path from the study file; from the file that it links to if only that exists.

    So a study is found through a symbolic link to its study file.
    """
    here, there = (path.parent / name for path in (study_file.path, study_file.path.resolve()))
    # Unlike `Path.exists`, it is false of a name that no file can have.
    return there if os.path.exists(there) and not os.path.exists(here) else here


def study_in(study_file: StudyFile, file: Path) -> tuple[optuna.Study, list[FrozenTrial]]:
    """The study in a storage file, and its trials.

    Args:
        study_file: The study file of the study that it is read for.
        file: An SQLite file or a journal of Optuna, with one study or one of the same name.

    Raises:
        InvalidInput: If there are other studies only, or it has another direction.
        StorageFailed: If the storage cannot be read.
    """
    location = stored_in(study_file, file)
    with location.errors("reading"):
        opened = location.connect(create=False)
        names = location.study_names(opened)
        name = study_file.study.name if study_file.study.name in names else names[0]
        if len(names) != 1 and name != study_file.study.name:
            raise InvalidInput(
                f"{file}: contains the studies {', '.join(map(shown, names))}, expected one, or "
                f"one that is named {study_file.study.name!r}"
            )
        with location.readable("the study"):
            study = optuna.load_study(study_name=name, storage=opened)
        trials = location.trials(study)
    directions, wanted = [one.name.lower() for one in study.directions], study_file.study.direction
    if directions != [wanted]:
        raise InvalidInput(f"{file}: the study is to {', '.join(directions)}, expected {wanted}")
    return study, list(trials)
