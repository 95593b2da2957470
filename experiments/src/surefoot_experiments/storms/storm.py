"""Storms by name, bounded and resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from surefoot import InvalidInput
from surefoot_experiments.storms import (
    circumstances,
    event_sequences,
    foreign_values,
    hostile_calls,
    hosts,
    optuna_storm,
    saved_files,
    storages,
    study_files,
    tune_runs,
)
from surefoot_experiments.storms.records import Event, Records, table
from surefoot_experiments.storms.servers import STORAGES, case_of

STORMS = (
    "kill",
    "terminate",
    "signals",
    "terminal",
    "workers",
    "study-files",
    "calls",
    "events",
    "saved-files",
    "storages",
    "foreign-values",
    "optuna",
    "hosts",
    *circumstances.CIRCUMSTANCES,
)


def run_storm(
    name: str,
    out: Path,
    *,
    count: int,
    seed: int = 0,
    workers: int = 1,
    storage: str = "sqlite",
    url: str | None = None,
    resume: bool = False,
    say: Callable[[str], None] = print,
) -> list[Event]:
    """Run a storm, and write its events and a table of all storms to a folder.

    Args:
        name: One of `STORMS`.
        out: Folder of `events.jsonl` and `storms.md`.
        count: Number of kills, parents, files, calls, sequences or studies.
        seed: Seed of all random choices.
        workers: Worker processes of a run, or of a parent.
        storage: A name of `servers.STORAGES`.
        url: URL of a database of your own in its place, for `hosts`.
        resume: Continue an interrupted storm, or add another one to the folder.
        say: Shows what went wrong, and the table.

    Returns:
        The events of this call.

    Raises:
        InvalidInput: If an argument is invalid, or the folder has events and `resume` is false.
    """
    if name not in STORMS:
        raise InvalidInput(f"no storm is named {name!r}, expected one of {', '.join(STORMS)}")
    if storage not in STORAGES:
        raise InvalidInput(f"`storage` is {storage!r}, expected one of {', '.join(STORAGES)}")
    if count < 1 or workers < 1:
        raise InvalidInput(f"got --count {count} and --workers {workers}, expected at least 1")
    if seed < 0:
        raise InvalidInput(f"`seed` is {seed}, expected an integer of at least 0")
    if url is not None and name != "hosts":
        raise InvalidInput(f"got --url with the storm {name!r}, expected it with 'hosts' only")
    if name == "hosts" and url is None and storage != "postgresql":
        raise InvalidInput(f"`storage` is {storage!r}, expected postgresql for the storm 'hosts'")
    records = Records(out / "events.jsonl", resume)
    found = []
    if name in BATCHED:
        produced = _in_batches(name, count, seed, records)
    else:
        case = (hosts.case_of if name == "hosts" else case_of)(storage, workers)
        circumstance = circumstances.CIRCUMSTANCES.get(name)
        case = case if circumstance is None else circumstance.case
        done = {
            one.index
            for one in records.events
            if (one.storm, one.case, one.seed) == (name, case, seed)
        }
        if name == "optuna":
            produced = optuna_storm.events(count, seed, workers, storage, done)
        elif circumstance is not None:
            produced = circumstances.events(name, count, seed, done)
        elif name == "hosts":
            produced = hosts.events(count, seed, workers, storage, url, done)
        else:
            produced = tune_runs.events(name, count, seed, workers, storage, done)  # type: ignore[arg-type]
    for event in produced:
        records.add(event)
        found.append(event)
        if not event.is_clean:
            say(f"{event.storm} {event.index} ({event.case}): {event.detail}")
    text = table(records.events)
    (out / "storms.md").write_text(text)
    say(text.rstrip())
    return found


def _in_batches(name: str, count: int, seed: int, records: Records) -> Iterator[Event]:
    """Files, calls or sequences in batches, each of which is one event."""
    batched = BATCHED[name]
    for index in range(-(-count // batched.size)):
        size = min(batched.size, count - index * batched.size)
        event = Event(name, batched.case, index, seed, count=size)
        if records.has(event):
            continue
        started = time.monotonic()
        found = batched.play(seed * 10_000_000 + index * batched.size, size)
        yield replace(
            event,
            differing=len(found.differing),
            raw=len(found.raw),
            seconds=round(time.monotonic() - started, 2),
            detail="; ".join([*found.differing, *found.raw])[:2000],
        )


class Found(NamedTuple):
    """What went wrong in a batch."""

    raw: list[str]
    differing: list[str]


class Batched(NamedTuple):
    """A storm of many small tries; `play` takes the seed of the first and how many."""

    case: str
    size: int
    play: Callable[[int, int], Found]


def _study_files(seed: int, size: int) -> Found:
    outcomes = study_files.read_many(range(seed, seed + size))
    wrong = {what: n for what, n in outcomes.items() if what not in ("valid", "refused")}
    return Found([what for what, n in wrong.items() for _ in range(n)], [])


def _calls(seed: int, size: int) -> Found:
    figures = hostile_calls.call(size, seed)
    raw = [f"{call}: {error}" for call, error in figures.raw.items()]
    return Found(raw, figures.changed)


def _events(seed: int, size: int) -> Found:
    figures = event_sequences.play(size, seed)
    return Found(figures.raw, [*figures.differing, *figures.accepted])


def _saved_files(seed: int, size: int) -> Found:
    return Found(saved_files.damage(size, seed), [])


def _storages(seed: int, size: int) -> Found:
    return Found(storages.damage(size, seed), [])


def _foreign_values(seed: int, size: int) -> Found:
    return Found(foreign_values.change(size, seed), [])


BATCHED = {
    "study-files": Batched("malformed", 500, _study_files),
    "calls": Batched("wrong arguments", 500, _calls),
    "events": Batched("random compositions", 10, _events),
    "saved-files": Batched("damaged", 200, _saved_files),
    "storages": Batched("damaged", 100, _storages),
    "foreign-values": Batched("changed cells", 50, _foreign_values),
}
