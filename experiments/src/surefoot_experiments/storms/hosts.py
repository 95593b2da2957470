"""Several `surefoot tune` of different machines on one database, some of them killed (`kill -9`).

A machine is a folder of its own with a copy of the study file and, for every second process, also
a host name and process ids of its own (Linux, `unshare`), so that its processes cannot be looked
up. What each measurement does is in a log that all of them append to.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import NamedTuple

from optuna.trial import FrozenTrial, TrialState

from surefoot.tune import is_round, open_study
from surefoot_experiments.storms.processes import MARK, survivors
from surefoot_experiments.storms.records import Event
from surefoot_experiments.storms.servers import STORAGES
from surefoot_experiments.storms.study_text import study_text

KILLS = 20  # of a study
LIMIT = 600.0  # seconds without a new round, after which a storm has failed
PATIENCE = 10.0  # seconds until a surviving process counts as an orphan
PROCESS = "SUREFOOT_STORM_PROCESS"  # the variable that numbers the processes
CONTAINER = ("unshare", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc")
# The times and the configuration of a measurement, and a value that no other one has.
BENCH = """
began=$(date +%s%N)
sleep $((SECONDS * ($$ % 4))).0$(($$ % 10))
value=$(date +%s%N | tail -c 13).$$
echo "$began $(date +%s%N) $1 $2 $value $PROCESS" >> LOG
echo $value
"""
RUN = """
import optuna
from surefoot.tune import run
optuna.logging.set_verbosity(optuna.logging.WARNING)
run("study.toml", quiet=True, sampler=SAMPLER)
"""
TABLES = """
[parameters]
x = { type = "int", low = 0, high = 19 }
mode = { type = "categorical", choices = ["a", "b", "c"] }

[confirm]
share = 0.0
every = 0
"""


class Search(NamedTuple):
    """How configurations are chosen, and how long measurements take.

    With surefoot's sampler some take seconds, so that many overlap while the next configuration is
    being chosen. Optuna's random sampler is fast, but does not look at pending configurations.
    """

    rounds: int
    sampler: str
    seconds: int


SEARCHES = {
    "random": Search(2000, "optuna.samplers.RandomSampler()", 0),
    "surefoot": Search(200, "None", 2),
}


@dataclass(frozen=True)
class Machine:
    """What processes are started by: a folder, and a prefix of the command."""

    folder: Path
    prefix: tuple[str, ...] = ()

    def start(self, mark: str, number: int, out: Path) -> subprocess.Popen[bytes]:
        """Start a run of the study, with its output added to a file."""
        command = [*self.prefix, sys.executable, "run.py"]
        environment = {**os.environ, MARK: mark, PROCESS: str(number), "OMP_NUM_THREADS": "1"}
        with out.open("ab") as file:
            return subprocess.Popen(
                command, cwd=self.folder, env=environment, stdout=file, stderr=file
            )


@dataclass(frozen=True)
class Outcome:
    """Figures of a storm.

    Args:
        rounds: Rounds in the storage.
        killed: Processes that were killed.
        lost: Measurements that ended and are not in the storage, though their process was not
            killed then; and missing rounds.
        doubled: Values that are in the storage twice, or with another configuration than in the
            log; and rounds too many.
        simultaneous: Pairs of measurements that overlapped.
        identical: Those of them with the same configuration.
        running: Trials that are still running though no process is.
        orphans: Processes that survived.
        raw: Processes that ended with an error.
        detail: The last output.
    """

    rounds: int
    killed: int
    lost: int
    doubled: int
    simultaneous: int
    identical: int
    running: int
    orphans: int
    raw: int
    detail: str


def storm(
    url: str, folder: Path, *, search: Search, processes: int, kills: int, random: Random
) -> Outcome:
    """Run a study by several processes, kill some of them at random, and compare the records.

    Args:
        url: URL of a database.
        folder: An empty folder.
        search: The rounds of the study, and how they are chosen.
        processes: Number of processes, on two machines in turn.
        kills: Number of processes that are killed, each replaced by a new one.
        random: Chooses them and the moments.

    Returns:
        The figures.
    """
    name, mark = f"storm-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
    log, out = folder / "log", folder / "out"
    log.touch()
    machines = _machines(folder, name, url, search, log)
    due = sorted(random.uniform(0.02, 0.98) * search.rounds for _ in range(kills))
    running: dict[int, tuple[Machine, subprocess.Popen[bytes]]] = {}
    killed: set[int] = set()
    started = raw = measured = 0

    def start(machine: Machine) -> None:
        nonlocal started
        started += 1
        running[started] = (machine, machine.start(mark, started, out))

    for index in range(processes):
        start(machines[index % len(machines)])
    last = time.monotonic()
    while running and time.monotonic() - last < LIMIT:
        time.sleep(0.1)
        count = len(log.read_text().splitlines())
        last, measured = (time.monotonic() if count > measured else last), count
        for number, (_, process) in list(running.items()):
            if process.poll() is not None:
                raw += process.returncode != 0
                del running[number]
        if due and measured >= due[0] and running:
            due.pop(0)
            time.sleep(random.uniform(0.0, 1.0))
            victim = random.choice(list(running))
            machine, process = running.pop(victim)
            process.kill()
            process.wait()
            killed.add(victim)
            start(machine)
    for _, process in running.values():
        process.kill()
        process.wait()
    orphans = len(survivors(mark, PATIENCE))
    study = open_study(machines[0].folder / "study.toml").study
    found = compare(study.get_trials(), log.read_text(), search.rounds, killed)
    return Outcome(
        **found,
        killed=len(killed),
        orphans=orphans,
        raw=raw + len(running),
        detail=out.read_text()[-300:],
    )


def compare(
    trials: Sequence[FrozenTrial], log: str, rounds: int, killed: Collection[int]
) -> dict[str, int]:
    """What the trials of a study and the log of its measurements say of each other.

    Args:
        trials: The trials in the storage.
        log: A line for each measurement that ended: when it began and ended, its configuration,
            its value, and the number of its process.
        rounds: Rounds of the study.
        killed: Numbers of the processes that were killed.
    """
    rows = [line.split() for line in log.splitlines()]
    measured = {float(value): (int(x), mode) for _, _, x, mode, value, _ in rows}
    recorded = [trial for trial in trials if is_round(trial)]
    values = Counter(trial.value for trial in recorded)
    last = {number: value for *_, value, number in rows if int(number) in killed}
    excused = {float(value) for value in last.values()}
    wrong = sum(
        trial.value not in measured
        or measured[trial.value] != (trial.params["x"], trial.params["mode"])
        for trial in recorded
    )
    pairs = [
        left[2:4] == right[2:4]
        for index, left in enumerate(rows)
        for right in rows[max(0, index - 50) : index]
        if int(left[0]) < int(right[1]) and int(right[0]) < int(left[1])
    ]
    return {
        "rounds": len(recorded),
        "lost": len(measured.keys() - values.keys() - excused) + max(0, rounds - len(recorded)),
        "doubled": sum(n - 1 for n in values.values()) + wrong + max(0, len(recorded) - rounds),
        "simultaneous": len(pairs),
        "identical": sum(pairs),
        "running": sum(trial.state == TrialState.RUNNING for trial in trials),
    }


def events(
    count: int, seed: int, processes: int, storage: str, url: str | None, done: set[int]
) -> Iterator[Event]:
    """The events of a storm, a study with `KILLS` kills each, with the searches in turn.

    Args:
        count: Number of studies.
        seed: Seed of the moments.
        processes: Processes of a study.
        storage: A name of `servers.STORAGES`.
        url: URL of a database of your own instead, if any.
        done: Indices of events that took place before.
    """
    for index in sorted(set(range(count)) - done):
        started = time.monotonic()
        name_of_search = list(SEARCHES)[index % len(SEARCHES)]
        with (
            tempfile.TemporaryDirectory(prefix="storm-") as name,
            tempfile.TemporaryDirectory(prefix="storage-") as files,
            STORAGES[storage](Path(files)) if url is None else nullcontext(url) as database,
        ):
            found = storm(
                database,
                Path(name),
                search=SEARCHES[name_of_search],
                processes=processes,
                kills=KILLS,
                random=Random(f"{seed} {index} hosts"),
            )
        yield Event(
            "hosts",
            case_of(storage, processes),
            index,
            seed,
            count=found.killed,
            results=found.rounds,
            orphans=found.orphans + found.running,
            lost=found.lost,
            doubled=found.doubled + found.identical * (name_of_search == "surefoot"),
            raw=found.raw,
            seconds=round(time.monotonic() - started, 2),
            detail=f"{name_of_search}: {found.identical} of {found.simultaneous} pairs of "
            f"measurements at the same time are identical; {found.detail}",
        )


def case_of(storage: str, processes: int) -> str:
    """A storage and a number of processes in words."""
    return f"{storage}, {processes} process" + "es" * (processes > 1)


def has_containers() -> bool:
    """Whether processes can have a host name and process ids of their own here."""
    try:
        done = subprocess.run([*CONTAINER, "true"], capture_output=True, check=False)
    except OSError:
        return False
    return done.returncode == 0


def _machines(folder: Path, name: str, url: str, search: Search, log: Path) -> list[Machine]:
    prefix: tuple[str, ...] = ()
    if has_containers():
        prefix = (*CONTAINER, "sh", "-c", 'hostname elsewhere; exec "$@"', "sh")
    machines = [Machine(folder / "here"), Machine(folder / "there", prefix)]
    bench = BENCH.replace("LOG", str(log)).replace("SECONDS", str(search.seconds))
    for machine in machines:
        machine.folder.mkdir()
        study = study_text(TABLES, rounds=search.rounds, storage=url, name=name)
        (machine.folder / "study.toml").write_text(study)
        (machine.folder / "bench.sh").write_text(bench.replace("$PROCESS", f"${PROCESS}"))
        (machine.folder / "run.py").write_text(RUN.replace("SAMPLER", search.sampler))
    return machines
