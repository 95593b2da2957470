"""An Optuna study shared by several processes, of which one at a time is killed (`kill -9`).

It counts workers that raised, trials that were lost or told twice, and pairs of trials that
measured the same configuration at the same time. For a storage of your own, run it with

    python -m surefoot_experiments.storms.optuna_storm sqlite:///storm.db --trials 240 --kills 5

and with `journal:///storm.log` or the URL of a server in place of the SQLite one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import optuna
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import FrozenTrial, Trial, TrialState

from surefoot.integrations.optuna import INTERRUPTED, SurefootSampler
from surefoot_experiments.storms.records import Event
from surefoot_experiments.storms.servers import STORAGES, case_of

BEGAN, PROCESS = "began", "process"
NAME = "storm"
SPACES = ("continuous", "discrete")
_JOURNAL = "journal:///"
TRIALS, KILLS = 120, 5  # of a study in a storm
_LIMIT = 600.0  # seconds without a new trial after which a storm has failed


@dataclass(frozen=True)
class Outcome:
    """Figures of a storm.

    Args:
        trials: Trials that completed.
        killed: Workers that were killed.
        raised: Workers that ended with an exception.
        lost: Trials that a worker reported and that the storage does not have, or not as reported.
        doubled: Trials that are in the storage, or were reported, more than once.
        simultaneous: Pairs of trials that were measured at the same time.
        identical: Those of them that measured the same configuration.
    """

    trials: int
    killed: int
    raised: int
    lost: int
    doubled: int
    simultaneous: int
    identical: int


def storage_of(location: str) -> BaseStorage:
    """The storage at a database URL, or at `journal:///FILE`."""
    if location.startswith(_JOURNAL):
        return JournalStorage(JournalFileBackend(location.removeprefix(_JOURNAL)))
    options = {"connect_args": {"timeout": 60}} if location.startswith("sqlite") else {}
    return RDBStorage(location, engine_kwargs=options)


def storm(
    location: str, *, trials: int, workers: int, kills: int, space: str, seed: int
) -> Outcome:
    """Run a study in several processes, and kill some of them at random times.

    Args:
        location: Where the storage is, without a study named "storm".
        trials: Number of trials to complete.
        workers: Number of processes.
        kills: Number of processes that are killed, each replaced by a new one.
        space: "continuous" or "discrete", with 12 configurations.
        seed: Seed of the samplers and of the times.

    Returns:
        The figures.
    """
    generator = random.Random(seed)
    study = optuna.create_study(study_name=NAME, storage=storage_of(location))
    killed = raised = started = 0
    running: list[subprocess.Popen[bytes]] = []
    with tempfile.TemporaryDirectory() as folder:
        due = sorted(generator.uniform(0.1, 0.9) * trials for _ in range(kills))
        last, done = time.monotonic(), 0
        while done < trials or running:
            number = len(study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,)))
            last, done = (time.monotonic() if number > done else last), number
            if time.monotonic() - last > _LIMIT:
                raised += len(running)
                break
            while len(running) < workers and done < trials and raised < workers:
                started += 1
                report = Path(folder) / f"{started}.jsonl"
                running.append(_start(location, trials, space, 1000 * seed + started, report))
            if due and done >= due[0] and running:
                victim = generator.choice(running)
                time.sleep(generator.uniform(0.0, 1.0))
                victim.send_signal(signal.SIGKILL)
                victim.wait()
                running.remove(victim)
                killed += 1
                due.pop(0)
                _interrupt(study, victim.pid)
            for worker in [one for one in running if one.poll() is not None]:
                raised += worker.returncode != 0
                running.remove(worker)
            if raised >= workers and not running:
                break
            time.sleep(0.05)
        for worker in running:
            worker.kill()
        reported = [
            tuple(json.loads(line))
            for report in Path(folder).glob("*.jsonl")
            for line in report.read_text().splitlines()
        ]
    return _outcome(study.get_trials(), reported, killed, raised)


def events(count: int, seed: int, workers: int, storage: str, done: set[int]) -> Iterator[Event]:
    """The events of a storm, a study of `TRIALS` trials and `KILLS` kills each.

    Args:
        count: Number of studies, in continuous and discrete spaces in turn.
        seed: Seed of the samplers and of the times.
        workers: Processes of a study.
        storage: A name of `servers.STORAGES`.
        done: Indices of events that took place before.
    """
    for index in sorted(set(range(count)) - done):
        started = time.monotonic()
        with (
            tempfile.TemporaryDirectory(prefix="storage-") as name,
            STORAGES[storage](Path(name)) as url,
        ):
            found = storm(
                url,
                trials=TRIALS,
                workers=workers,
                kills=KILLS,
                space=SPACES[index % len(SPACES)],
                seed=seed + index,
            )
        yield Event(
            "optuna",
            case_of(storage, workers),
            index,
            seed,
            count=found.killed,
            results=found.trials,
            lost=found.lost,
            doubled=found.doubled + found.identical,
            raw=found.raised + (found.trials < TRIALS),
            seconds=round(time.monotonic() - started, 2),
            detail="" if not found.identical else f"{found.identical} pairs are identical",
        )


def _start(
    location: str, trials: int, space: str, seed: int, report: Path
) -> subprocess.Popen[bytes]:
    arguments = ["--trials", str(trials), "--space", space, "--seed", str(seed)]
    command = [sys.executable, "-m", __spec__.name, location, *arguments, "--report", str(report)]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


def work(location: str, trials: int, space: str, seed: int, report: Path) -> None:
    """Run trials until the study has enough, and report each after it is told."""
    generator = random.Random(seed)

    def objective(trial: Trial) -> float:
        if space == "continuous":
            x, y = trial.suggest_float("x", 0.0, 1.0), trial.suggest_float("y", 0.0, 1.0)
        else:
            x = trial.suggest_int("x", 0, 5) / 5
            y = float(trial.suggest_categorical("y", ["a", "b"]) == "a")
        trial.set_user_attr(PROCESS, os.getpid())
        trial.set_user_attr(BEGAN, time.time())
        time.sleep(generator.uniform(0.1, 0.4))
        return (x - 0.3) ** 2 + y + generator.gauss(0.0, 0.05)

    def write(study: optuna.Study, trial: FrozenTrial) -> None:
        with report.open("a") as file:
            file.write(json.dumps([trial.number, trial.value]) + "\n")

    study = optuna.load_study(
        study_name=NAME, storage=storage_of(location), sampler=SurefootSampler(seed=seed)
    )
    enough = optuna.study.MaxTrialsCallback(trials, states=(TrialState.COMPLETE,))
    study.optimize(objective, callbacks=[write, enough])


def _interrupt(study: optuna.Study, process: int) -> None:
    """Mark the trial of a killed process as interrupted, as a supervisor does."""
    for trial in study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
        if trial.user_attrs.get(PROCESS) == process:
            study._storage.set_trial_user_attr(trial._trial_id, INTERRUPTED, True)
            study.tell(trial.number, state=TrialState.FAIL)


def _outcome(
    trials: Sequence[FrozenTrial],
    reported: Sequence[tuple[int, float]],
    killed: int,
    raised: int,
) -> Outcome:
    complete = {t.number: t for t in trials if t.state == TrialState.COMPLETE}
    lost = sum(n not in complete or complete[n].value != value for n, value in reported)
    numbers = Counter(trial.number for trial in trials)
    told = Counter(number for number, _ in reported)
    doubled = sum(count > 1 for counts in (numbers, told) for count in counts.values())
    measured = [
        (t.user_attrs[BEGAN], t.datetime_complete.timestamp(), t.params)
        for t in trials
        if BEGAN in t.user_attrs and t.datetime_complete is not None
    ]
    pairs = [
        left[2] == right[2]
        for i, left in enumerate(measured)
        for right in measured[:i]
        if left[0] < right[1] and right[0] < left[1]
    ]
    return Outcome(len(complete), killed, raised, lost, doubled, len(pairs), sum(pairs))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a storm and print its figures; 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("storage", help="database URL, or journal:///FILE")
    parser.add_argument("--trials", type=int, default=240)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--space", choices=SPACES, default="continuous")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--report", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    if given.report is not None:
        work(given.storage, given.trials, given.space, given.seed, given.report)
        return 0
    outcome = storm(
        given.storage,
        trials=given.trials,
        workers=given.workers,
        kills=given.kills,
        space=given.space,
        seed=given.seed,
    )
    for name, value in vars(outcome).items():
        print(f"{name:>12}  {value}")
    wrong = outcome.raised + outcome.lost + outcome.doubled + outcome.identical
    return int(wrong > 0 or outcome.trials < given.trials)


if __name__ == "__main__":
    sys.exit(main())
