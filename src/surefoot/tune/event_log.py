"""A log of a run: one JSON object a line, appended as things happen."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from surefoot.tune.observer import SILENT, NewTrials, Observer
from surefoot.tune.output_file import WriteFailed
from surefoot.tune.study.trial_attributes import is_interrupted, record_of
from surefoot.tune.study.trials import StudyTrials


@contextmanager
def event_log(trials: StudyTrials, path: Path | None) -> Iterator[Observer]:
    """An observer that appends the events of a run to a file, within the block.

    Each line is an object with `time`, `event` and what belongs to it: `started`, `measured`,
    `failed`, `interrupted`, `note` and `ended`.

    Args:
        trials: The trials of the run.
        path: The file, which is created if it does not exist; None for no log.

    Raises:
        WriteFailed: If it cannot be written.
    """
    if path is None:
        yield SILENT
        return
    try:
        stream = path.open("a", encoding="utf-8")
    except OSError as error:
        raise WriteFailed(f"{path}: cannot be written: {error.strerror or error}") from None
    new, study = NewTrials(trials), trials.study_file.study

    def write(event: str, **content: Any) -> None:
        now = datetime.now().isoformat(timespec="milliseconds")
        stream.write(json.dumps({"time": now, "event": event, **content}) + "\n")
        stream.flush()

    def finished() -> None:
        for trial in new.look():
            write(_event(trial), **_content(trial))

    with stream:
        write("started", study=study.name, direction=study.direction, rounds=trials.rounds)
        try:
            yield Observer(finished=finished, note=lambda text: write("note", text=text))
        finally:
            finished()
            write("ended", finished=new.state.finished, failed=new.state.failed)


def _event(trial: FrozenTrial) -> str:
    if is_interrupted(trial):
        return "interrupted"
    return "measured" if trial.state == TrialState.COMPLETE else "failed"


def _content(trial: FrozenTrial) -> dict[str, Any]:
    """Record of a trial, without the parts that it has none of."""
    known = {"value": trial.value, **record_of(trial)}
    given = {name: one for name, one in known.items() if one is not None}
    return {"number": trial.number, "params": trial.params, **given}
