"""Running a selection of tasks and rivals; everything that was ever run in a folder is kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pandas as pd

from surefoot import InvalidInput
from surefoot_experiments.harness.backends import LOCAL, run_trials
from surefoot_experiments.harness.runner import Notify
from surefoot_experiments.harness.store import (
    Key,
    Record,
    TrialStore,
    locked,
    records_of,
    tables_of,
)
from surefoot_experiments.harness.trial import Trial
from surefoot_experiments.scoreboard.catalogue import SUITES, SUREFOOT, rival
from surefoot_experiments.scoreboard.environments import build_line, python_of
from surefoot_experiments.scoreboard.rival import Rival
from surefoot_experiments.scoreboard.task import HALVES, Task
from surefoot_experiments.scoreboard.trials import CHECKPOINTS, LIMIT, RUNS, Run

_RECORDS = "records"
_LONGEST = 10**9  # seconds that the system can wait for a reply


@dataclass(frozen=True)
class Selection:
    """Tasks, rivals and seeds.

    Args:
        suite: Name of the suite.
        half: `DEVELOPMENT`, `CONFIRMATION`, or "" for both.
        rivals: Names of rivals; "surefoot:LABEL" keeps results of surefoot under a label.
        seeds: Number of seeds for each task.
        evaluations: Numbers of measurements, such as "60" or "100d"; the suite's own if empty.
        dimensions: Dimensions; all if empty.
        kinds: Kinds of noise, or systems; all if empty.
        names: Tasks by the beginning of their name, such as "f106" or "f106-d2"; all if empty.

    Raises:
        InvalidInput: There is no such suite, half or rival, there is no seed, or nothing is left.
    """

    suite: str
    half: str
    rivals: Sequence[str]
    seeds: int
    evaluations: Sequence[str] = ()
    dimensions: Sequence[int] = ()
    kinds: Sequence[str] = ()
    names: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.seeds < 1:
            raise InvalidInput(f"`seeds` is {self.seeds}, expected at least 1.")

    def tasks(self) -> list[Task]:
        """The selected tasks."""
        if self.suite not in SUITES:
            raise InvalidInput(f"no suite is named {self.suite!r}, expected {', '.join(SUITES)}.")
        if self.half not in ("", *HALVES):
            raise InvalidInput(f"`half` is {self.half!r}, expected {' or '.join(HALVES)}.")
        chosen = [each for each in SUITES[self.suite](self.evaluations) if self._includes(each)]
        if not chosen:
            raise InvalidInput(f"no task of {self.suite} has these properties.")
        return chosen

    def _includes(self, task: Task) -> bool:
        return (
            self.half in ("", task.half)
            and (not self.dimensions or task.dimension in self.dimensions)
            and (not self.kinds or task.kind in self.kinds)
            and (not self.names or f"{task.name}-".startswith(tuple(f"{n}-" for n in self.names)))
        )

    def available(
        self, tasks: Sequence[Task], say: Callable[[str], None], known: Container[Key] = ()
    ) -> dict[str, Rival]:
        """The rivals that can be run, or need not be; the others are named with the reason."""
        found: dict[str, Rival] = {}
        for name in self.rivals:
            one = rival(name)
            if one.boxes_only and not all(task.space.is_box for task in tasks):
                say(f"{name}: skipped, since it needs a space of real numbers")
            elif python_of(one.environment) is None and not all(
                (f"{task.key} {name}", seed) in known
                for task in tasks
                for seed in range(self.seeds)
            ):
                say(f"{name}: skipped: build its environment: {build_line(one.environment)}")
            else:
                found[name] = one
        return found


def run(
    selection: Selection,
    out: Path,
    jobs: int = 1,
    limit: float = LIMIT,
    say: Callable[[str], None] = print,
    notify: Notify = lambda finished, trials: None,
    known: Path | None = None,
) -> Mapping[str, pd.DataFrame]:
    """Run what is missing, and return the tables of the selection.

    Finished runs are kept in `out`, so that an interrupted call continues where it ended. Runs of
    surefoot without a label are kept by the state of its source files, and are run again when they
    change.

    Args:
        selection: What to run.
        out: Folder of the results.
        jobs: Number of processes.
        limit: Seconds that a rival may take for one request.
        say: Called with a line for each rival that cannot be run.
        notify: Called with the number of finished runs, and of all.
        known: A folder with tables of other results, whose runs are not made again; but for those
            of surefoot without a label.

    Raises:
        InvalidInput: Nothing can be run, another process runs in the same folder, `known` has no
            tables of this suite, or `jobs` or `limit` is out of range.
    """
    if jobs < 1:
        raise InvalidInput(f"`jobs` is {jobs}, expected at least 1.")
    if not 0.0 < limit <= _LONGEST:
        raise InvalidInput(f"`limit` is {limit:g}, expected seconds above 0, at most {_LONGEST:,}.")
    tasks = selection.tasks()
    records = {} if known is None else runs_in(known, selection.suite)
    rivals = selection.available(tasks, say, records)
    if not rivals:
        raise InvalidInput("none of the rivals can be run.")
    stores = {
        (task.suite, name): TrialStore(out / _RECORDS / task.suite / folder_of(name))
        for task in tasks
        for name in rivals
    }
    with locked(out / f"{selection.suite}.lock", f"{out}: another process runs this suite there"):
        for store in stores.values():
            records |= store.read()
        wanted = [
            Trial(seed, task.budget, 0, case=f"{task.key} {name}")
            for seed in range(selection.seeds)
            for task in tasks
            for name in rivals
        ]
        missing = [trial for trial in wanted if (trial.case, trial.number) not in records]
        finished = len(wanted) - len(missing)
        notify(finished, len(wanted))
        work = Run({task.key: task for task in tasks}, rivals, limit)
        for record in run_trials(work, missing, min(jobs, max(len(missing), 1)), LOCAL):
            key, name = record.case.split(" ")
            stores[key.partition("/")[0], name].write(record)
            records[record.key] = record
            finished += 1
            notify(finished, len(wanted))
    return tables_of((records[each.case, each.number] for each in wanted), "scoreboard")


def runs_in(folder: Path, suite: str) -> dict[Key, Record]:
    """The runs in the tables below a folder, but for those of surefoot without a label.

    Raises:
        InvalidInput: There are no tables of the suite.
    """
    found = sorted(folder.rglob(f"{suite}/{CHECKPOINTS}.parquet"))
    if not found:
        raise InvalidInput(
            f"{folder} has no tables of {suite}, expected {suite}/{CHECKPOINTS}.parquet below it."
        )
    records: dict[Key, Record] = {}
    for path in found:
        records |= records_of((path, path.with_name(f"{RUNS}.parquet")))
    return {key: one for key, one in records.items() if not key[0].endswith(f" {SUREFOOT}")}


def folder_of(name: str) -> str:
    """The folder of a rival's runs: its name, with the state of surefoot's source files."""
    return f"{name}-{_source()}" if name == SUREFOOT else name.replace(":", "-")


@cache
def _source() -> str:
    """A fingerprint of surefoot's files."""
    import surefoot

    package = Path(surefoot.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
