"""Storms by name, bounded and resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from surefoot import InvalidInput
from surefoot_experiments.storms import study_files, tune_runs
from surefoot_experiments.storms.records import Event, Records, table

STORMS = ("kill", "terminate", "workers", "study-files")
BATCH = 500  # study files in one event


def run_storm(
    name: str,
    out: Path,
    *,
    count: int,
    seed: int = 0,
    workers: int = 1,
    storage: str = "sqlite",
    resume: bool = False,
    say: Callable[[str], None] = print,
) -> list[Event]:
    """Run a storm, and write its events and a table of all storms to a folder.

    Args:
        name: `kill`, `terminate`, `workers` or `study-files`.
        out: Folder of `events.jsonl` and `storms.md`.
        count: Number of kills, parents or study files.
        seed: Seed of all random choices.
        workers: Worker processes of a run, or of a parent.
        storage: `sqlite` or `journal`.
        resume: Continue an interrupted storm, or add another one to the folder.
        say: Shows what went wrong, and the table.

    Returns:
        The events of this call.

    Raises:
        InvalidInput: If an argument is invalid, or the folder has events and `resume` is false.
    """
    if name not in STORMS:
        raise InvalidInput(f"no storm is named {name!r}, expected one of {', '.join(STORMS)}")
    if storage not in tune_runs.STORAGES:
        raise InvalidInput(f"`storage` is {storage!r}, expected sqlite or journal")
    if count < 1 or workers < 1:
        raise InvalidInput(f"got --count {count} and --workers {workers}, expected at least 1")
    records = Records(out / "events.jsonl", resume)
    found = []
    if name == "study-files":
        produced = _study_files(count, seed, records)
    else:
        case = f"{storage}, {workers} worker" + "s" * (workers > 1)
        done = {
            one.index
            for one in records.events
            if (one.storm, one.case, one.seed) == (name, case, seed)
        }
        produced = tune_runs.events(name, count, seed, workers, storage, done)  # type: ignore[arg-type]
    for event in produced:
        records.add(event)
        found.append(event)
        if event.orphans or event.lost or event.doubled or event.raw:
            say(f"{event.storm} {event.index} ({event.case}): {event.detail}")
    text = table(records.events)
    (out / "storms.md").write_text(text)
    say(text.rstrip())
    return found


def _study_files(count: int, seed: int, records: Records) -> Iterator[Event]:
    """Study files in batches, each of which is one event."""
    for index in range(-(-count // BATCH)):
        size = min(BATCH, count - index * BATCH)
        event = Event("study-files", "malformed", index, seed, count=size)
        if records.has(event):
            continue
        first, started = seed * 10_000_000 + index * BATCH, time.monotonic()
        outcomes = study_files.read_many(range(first, first + size))
        wrong = {what: n for what, n in outcomes.items() if what not in ("valid", "refused")}
        yield Event(
            "study-files",
            "malformed",
            index,
            seed,
            count=size,
            raw=sum(wrong.values()),
            seconds=round(time.monotonic() - started, 2),
            detail="; ".join(wrong),
        )
