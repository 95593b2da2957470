"""What a storm has found, kept after every event, so that it can be resumed; and its table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from surefoot import InvalidInput
from surefoot_experiments.harness.store import explained


@dataclass(frozen=True)
class Event:
    """One event of a storm, such as one kill.

    Args:
        storm: Its name.
        case: What distinguishes its events, such as the storage and the number of workers.
        index: Number of the event within its case.
        seed: Seed of the storm.
        count: Runs or files in this event.
        results: Results that were reported in it.
        orphans: Processes that survived.
        lost: Results that had been reported and are not in the storage.
        doubled: Results that are in the storage twice, and rounds too many.
        differing: Runs that were not the same after what must not change them.
        raw: Errors that are not surefoot's own.
        seconds: How long it took.
        detail: What went wrong.
    """

    storm: str
    case: str
    index: int
    seed: int
    count: int = 1
    results: int = 0
    orphans: int = 0
    lost: int = 0
    doubled: int = 0
    differing: int = 0
    raw: int = 0
    seconds: float = 0.0
    detail: str = ""

    @property
    def is_clean(self) -> bool:
        """Whether nothing went wrong."""
        return not (self.orphans or self.lost or self.doubled or self.differing or self.raw)


FIGURES = ("count", "results", "orphans", "lost", "doubled", "differing", "raw")


class Records:
    """A file with a line of JSON for each event."""

    def __init__(self, file: Path, resume: bool) -> None:
        self._file = file
        if file.exists() and not resume:
            raise InvalidInput(f"{file} exists: continue with --resume, or choose another --out")
        with explained(file):
            file.parent.mkdir(parents=True, exist_ok=True)
        self.events = self._read() if file.exists() else []

    def has(self, event: Event) -> bool:
        """Whether this event took place before."""
        key = (event.storm, event.case, event.index, event.seed)
        return any((one.storm, one.case, one.index, one.seed) == key for one in self.events)

    def add(self, event: Event) -> None:
        """Keep an event."""
        self.events.append(event)
        with explained(self._file), self._file.open("a", encoding="utf-8") as file:
            file.write(json.dumps(asdict(event)) + "\n")

    def _read(self) -> list[Event]:
        names = {field.name for field in fields(Event)}
        events = []
        for line in self._file.read_text(encoding="utf-8").splitlines():
            try:
                content = json.loads(line)
            except json.JSONDecodeError:
                continue  # begun by a process that was killed
            events.append(Event(**{key: one for key, one in content.items() if key in names}))
        return events


def table(events: Iterable[Event]) -> str:
    """A Markdown table with a row for each case of each storm."""
    rows: dict[tuple[str, str], list[Event]] = {}
    for event in events:
        rows.setdefault((event.storm, event.case), []).append(event)
    head = ("storm", "case", *FIGURES)
    lines = [_line(head), _line(["---"] * len(head))]
    for (storm, case), some in rows.items():
        sums = [sum(getattr(one, name) for one in some) for name in FIGURES]
        lines.append(_line([storm, case, *(f"{total:,}" for total in sums)]))
    return "\n".join(lines) + "\n"


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
