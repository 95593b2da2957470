"""Runs of `surefoot tune` that get signals or lose their terminal at random moments, and resume."""

from __future__ import annotations

import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time
import uuid
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Literal

from optuna import Study

from surefoot.tune import NoStudy, is_round, open_study
from surefoot_experiments.storms.processes import MARK, marked, survivors
from surefoot_experiments.storms.records import Event
from surefoot_experiments.storms.servers import STORAGES, case_of
from surefoot_experiments.storms.study_text import study_text

Kind = Literal["kill", "terminate", "signals", "terminal", "workers"]
_INT, _TERM, _HUP = signal.SIGINT, signal.SIGTERM, signal.SIGHUP
SEQUENCES: dict[str, tuple[tuple[int, ...], ...]] = {
    "kill": ((signal.SIGKILL,),),
    "terminate": ((_TERM,),),
    "signals": (
        *((_INT,), (_INT, _INT), (_INT, _INT, _INT), (_INT, _TERM), (_TERM, _TERM), (_HUP,)),
        (signal.SIGSTOP, signal.SIGCONT, _TERM),
    ),
    "terminal": ((_HUP,),),  # by closing it
}
ROUNDS = 100_000  # more than a storm reaches
STARTING = 6.0  # seconds in which a run is starting
LATEST_RESULT = 90.0  # seconds until the first result, at the latest
MEASURING = 4.0  # seconds after it
PATIENCE = 10.0  # seconds until a surviving process counts as an orphan
LATEST_END = 30.0  # seconds for a terminated run to end
# A value that no other measurement has, from a file that counts, in a trial that leaves a process.
BENCH = """
sleep 0.0$(($$ % 9))
echo $$ $1 >> begun
sleep 30 &
echo "$(date +%s%N | tail -c 13).$$"
"""
SETUP = 'setup = "sh ledger.sh up"\nteardown = "sh ledger.sh down"\n'
LEDGER = "echo $1 >> ledger\n"
TABLES = """
[parameters]
x = { type = "float", low = 0, high = 1 }
mode = { type = "categorical", choices = ["a", "b"] }
"""
_REPORTED = re.compile(r"^trial (\d+): (\S+)  \|", re.MULTILINE)


def events(
    kind: Kind, count: int, seed: int, workers: int, storage: str, done: set[int]
) -> Iterator[Event]:
    """The events of a storm, each after it took place.

    Args:
        kind: `kill` (kill -9), `terminate` (SIGTERM), `signals` (a sequence of signals) or
            `terminal` (its terminal is closed) of a run, which the next event resumes; `workers`
            for the death of the parent of workers that are starting.
        count: Number of events.
        seed: Seed of the moments.
        workers: Worker processes.
        storage: A name of `servers.STORAGES`.
        done: Indices of events that took place before.
    """
    with (
        tempfile.TemporaryDirectory(prefix="storm-") as name,
        tempfile.TemporaryDirectory(prefix="storage-") as files,
        STORAGES[storage](Path(files)) as url,
    ):
        folder = Path(name)
        (folder / "bench.sh").write_text(BENCH)
        (folder / "ledger.sh").write_text(LEDGER)
        text = study_text(TABLES, rounds=ROUNDS, storage=url)
        (folder / "study.toml").write_text(text.replace("timeout = 20\n", f"timeout = 20\n{SETUP}"))
        case = case_of(storage, workers)
        reported: dict[int, float] = {}
        for index in range(count):
            if index in done:
                continue
            random = Random(f"{seed} {index} {kind} {case}")
            started = time.monotonic()
            if kind == "workers":
                found = _end_parent(folder, random, workers)
            else:
                numbers = random.choice(SEQUENCES[kind])
                found = _end_run(folder, random, workers, numbers, reported, kind == "terminal")
            yield Event(
                kind,
                case,
                index,
                seed,
                count=workers if kind == "workers" else 1,
                seconds=round(time.monotonic() - started, 2),
                **found,
            )


def _end_run(
    folder: Path,
    random: Random,
    workers: int,
    numbers: Sequence[int],
    reported: dict[int, float],
    in_terminal: bool,
) -> dict:
    """Start a run, end it by signals at a random moment, and check what it leaves."""
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "surefoot", "tune", "study.toml", "--workers", str(workers)]
    with (folder / "out").open("wb") as out, (folder / "err").open("wb") as err:
        terminal, own = pty.openpty() if in_terminal else (None, out.fileno())
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**os.environ, MARK: mark},
            stdin=own if in_terminal else subprocess.DEVNULL,
            stdout=own,
            stderr=err,
            preexec_fn=partial(_lead, in_terminal),
        )
        if terminal is None:
            _wait_at_random(process, folder / "out", random, workers)
            for index, number in enumerate(numbers):
                time.sleep(random.uniform(0.0, 1.0) if index else 0.0)
                process.send_signal(number)
        else:
            os.close(own)
            _read_for(terminal, random.uniform(0.0, STARTING * (1 + workers / 4) + MEASURING))
            os.close(terminal)
        try:
            code = process.wait(LATEST_END)
        except subprocess.TimeoutExpired:
            code = None
    left = survivors(mark, PATIENCE)
    shown = _REPORTED.findall((folder / "out").read_text(errors="replace"))
    reported.update((int(trial), float(value)) for trial, value in shown)
    problems = [f"{name} ({pid}) survived" for pid, name in left.items()]
    # A process that is terminated before its handlers are installed ends by the signal itself.
    ending = [number for number in numbers if number not in (signal.SIGSTOP, signal.SIGCONT)]
    expected = {*(-number for number in ending), *(128 + number for number in ending)}
    raw = int(code not in expected) + (folder / "err").read_text(errors="replace").count(
        "Traceback"
    )
    ledger = folder / "ledger"
    steps = ledger.read_text().split() if ledger.exists() else []
    ledger.unlink(missing_ok=True)
    if len(ending) == 1 and ending != [signal.SIGKILL] and "up" in steps and "down" not in steps:
        raw += 1
        problems.append("no teardown")
    if raw:
        how = f"no end within {LATEST_END:g} s" if code is None else f"exit code {code}"
        problems.append(f"{how}: {(folder / 'err').read_text(errors='replace')[-300:]}")
    lost = doubled = 0
    try:
        lost, doubled = compare(open_study(folder / "study.toml").study, reported)
    except NoStudy:
        lost = len(reported)
    except Exception as error:
        raw += 1
        problems.append(repr(error)[:300])
    return {
        "results": len(shown),
        "orphans": len(left),
        "lost": lost,
        "doubled": doubled,
        "raw": raw,
        "detail": "; ".join(problems),
    }


def _lead(in_terminal: bool) -> None:
    """In a new process: default signals, and the terminal as the one that controls it."""
    for number in (signal.SIGINT, signal.SIGHUP):  # ignored under nohup, and in the background
        signal.signal(number, signal.SIG_DFL)
    if in_terminal:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)


def _read_for(terminal: int, seconds: float) -> None:
    """Read what is shown in a terminal for some seconds, or until its last user ends."""
    deadline = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while (left := deadline - time.monotonic()) > 0:
            if select.select([terminal], [], [], left)[0] and not os.read(terminal, 65536):
                return


def _wait_at_random(process: subprocess.Popen, out: Path, random: Random, workers: int) -> None:
    """Wait for a random moment of the start, or of the time after the first result."""
    if random.random() < 0.3:
        time.sleep(random.uniform(0.0, STARTING * (1 + workers / 4)))
        return
    deadline = time.monotonic() + LATEST_RESULT
    while not _REPORTED.search(out.read_text(errors="replace")) and time.monotonic() < deadline:
        if process.poll() is not None:
            return
        time.sleep(0.02)
    time.sleep(random.uniform(0.0, MEASURING))


def compare(study: Study, reported: dict[int, float]) -> tuple[int, int]:
    """How many reported values are not in the study, and how many are there twice."""
    trials = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    values = {number: trial.value for number, trial in trials.items() if is_round(trial)}
    lost = 0
    for number, shown in reported.items():
        value = values.get(number)
        lost += value is None or f"{value:.5g}" != f"{shown:.5g}"
    repeated = Counter(value for value in values.values() if value is not None)
    return lost, sum(times - 1 for times in repeated.values())


def _end_parent(folder: Path, random: Random, workers: int) -> dict:
    """Kill a run within three seconds of its first worker, and count the workers that live on."""
    mark = uuid.uuid4().hex
    command = [sys.executable, "-m", "surefoot", "tune", "study.toml", "--workers", str(workers)]
    with (folder / "err").open("wb") as err:
        parent = subprocess.Popen(
            [*command, "--quiet"], cwd=folder, env={**os.environ, MARK: mark}, stderr=err
        )
        deadline = time.monotonic() + LATEST_RESULT
        while marked(mark).keys() <= {parent.pid} and time.monotonic() < deadline:
            time.sleep(0.02)
        time.sleep(random.uniform(0.0, 3.0))
        parent.kill()
        parent.wait()
    left = survivors(mark, PATIENCE)
    errors = (folder / "err").read_text(errors="replace")
    return {
        "orphans": len(left),
        "raw": errors.count("Traceback"),
        "detail": "; ".join([*(f"{name} survived" for name in left.values()), errors[-300:]]),
    }
