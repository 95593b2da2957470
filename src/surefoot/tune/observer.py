"""Observers of a run, the trials that are new to them, and the log of its events."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from surefoot._internal.user_warnings import warn
from surefoot.tune.output_file import WriteFailed, append_line, check_output, read_lines
from surefoot.tune.plain_text import LONGEST_INPUT
from surefoot.tune.study.stored_file import is_storage
from surefoot.tune.study.trial_attributes import is_interrupted, record_of
from surefoot.tune.study.trials import StudyTrials
from surefoot.types import InvalidInput

_SIDES = "-journal", "-wal", "-shm", ".lock"  # of files that belong to a storage


def _nothing(*_: object) -> None:
    return None


@dataclass(frozen=True)
class Observer:
    """Observes a run; by default it does nothing.

    Args:
        began: Called when this process is about to measure a trial.
        finished: Called when trials may have been recorded.
        note: Called with a message for the user.
    """

    began: Callable[[], object] = _nothing
    finished: Callable[[], None] = _nothing
    note: Callable[[str], None] = _nothing

    @classmethod
    def all_of(cls, observers: Sequence[Observer]) -> Observer:
        """Several observers as one, in the order in which they are called."""

        def each(name: str) -> Callable[..., None]:
            def call(*given: Any) -> None:
                for one in observers:
                    getattr(one, name)(*given)

            return call

        return cls(each("began"), each("finished"), each("note"))


SILENT = Observer()


class NewTrials:
    """The trials that have ended since the last look.

    Args:
        trials: The trials of a run; those that have ended before are known.
    """

    def __init__(self, trials: StudyTrials) -> None:
        self._trials, self.state, self.seen = trials, trials.opened.state(), set[int]()
        self._new()

    def look(self) -> list[FrozenTrial]:
        """New trials of the study, in order of their ends; `state` is the study."""
        self.state = self._trials.opened.state()
        return sorted(self._new(), key=lambda trial: trial.datetime_complete or datetime.min)

    def _new(self) -> list[FrozenTrial]:
        ended = (one for one in self.state.trials if one.state.is_finished())
        new = [one for one in ended if one.number not in self.seen]
        self.seen.update(one.number for one in new)
        return new


@contextlib.contextmanager
def event_log(trials: StudyTrials, path: Path | None) -> Iterator[Observer]:
    """An observer that appends the events of a run to a file, within the block.

    Each line is an object with `time`, `event` and what belongs to it: `started`, `measured`,
    `failed`, `interrupted`, `note` and `ended`.

    Args:
        trials: The trials of the run.
        path: The file, which is created if it does not exist; None for no log.

    Raises:
        InvalidInput: If it has something else, or belongs to a storage.
        WriteFailed: If it cannot be written.
    """
    if path is None:
        yield SILENT
        return
    check_log(path)  # the storage may have been created in the meantime
    new, study, failed = NewTrials(trials), trials.study_file.study, list[WriteFailed]()

    def append(event: str, **content: Any) -> None:
        now = datetime.now().isoformat(timespec="milliseconds")
        append_line(path, {"time": now, "event": event, **content})

    def write(event: str, **content: Any) -> None:
        try:
            if not failed:
                append(event, **content)
        except WriteFailed as error:
            failed.append(error)
            warn(f"{error}; the run goes on without it")

    def finished() -> None:
        for trial in new.look():
            write(_event(trial), **_content(trial))

    new.seen -= _left_out(path, study.name, new.state.trials)
    append("started", study=study.name, direction=study.direction, rounds=trials.rounds)
    finished()
    try:
        yield Observer(finished=finished, note=lambda text: write("note", text=text))
    finally:
        finished()
        write("ended", finished=new.state.finished, failed=new.state.failed)


def _left_out(path: Path, study: str, trials: Sequence[FrozenTrial]) -> set[int]:
    """Trials that have ended since the study's first run with this log, and are not in it.

    A run that was killed has recorded them. A line that it has begun is removed.
    """
    logged, since, own = set[object](), "", False
    for line in read_lines(path, repair=True) if path.exists() else []:
        with contextlib.suppress(ValueError, TypeError, KeyError):  # a line of something else
            event = json.loads(line)
            if event["event"] == "started":
                own = event["study"] == study
                since = since or str(event["time"]) * own
            elif own:
                logged.add(event.get("number"))
    ends = {one.number: one.datetime_complete for one in trials if one.datetime_complete}
    return {number for number, end in ends.items() if since and end.isoformat() >= since} - logged


def check_log(path: Path) -> None:
    """Raise `InvalidInput` where a file has something else than events, or belongs to a storage."""
    check_output(path)
    try:
        with path.open("rb") as file:
            first = file.readline(LONGEST_INPUT).decode()
        is_log = not first or "event" in json.loads(first)
    except FileNotFoundError:
        is_log = not any(is_storage(path.with_name(path.name.removesuffix(end))) for end in _SIDES)
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror or error}") from None
    except (ValueError, TypeError):
        is_log = False
    if not is_log:
        raise InvalidInput(
            f"{path}: has something else than events, or belongs to a storage; expected a log of "
            "events, or the name of a new file"
        )


def _event(trial: FrozenTrial) -> str:
    if is_interrupted(trial):
        return "interrupted"
    return "measured" if trial.state == TrialState.COMPLETE else "failed"


def _content(trial: FrozenTrial) -> dict[str, Any]:
    """Record of a trial, without the parts that it has none of."""
    known = {"value": trial.value, **record_of(trial)}
    given = {name: one for name, one in known.items() if one is not None}
    return {"number": trial.number, "params": trial.params, **given}
