"""The study in the storage file of another study."""

from __future__ import annotations

from pathlib import Path

import optuna
from optuna.trial import FrozenTrial

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.plain_text import shown
from surefoot.tune.study.storage import stored_in
from surefoot.types import InvalidInput


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
