"""Running surefoot or the rivals on the tasks of the yardstick."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from surefoot import InvalidInput
from surefoot_experiments.answers import conditions, given
from surefoot_experiments.answers.tasks import halves_of, seed_of, selected
from surefoot_experiments.harness.backends import run_trials
from surefoot_experiments.harness.provenance import installed
from surefoot_experiments.harness.store import tables_of
from surefoot_experiments.harness.trial import Rows, Trial
from surefoot_experiments.scoreboard.catalogue import RANDOM, RIVALS
from surefoot_experiments.scoreboard.environments import build_line, python_of
from surefoot_experiments.scoreboard.task import Task
from surefoot_experiments.scoreboard.trials import RUNS, Run

Say = Callable[[str], None]
RANDOM_SEEDS = 5  # of random search, whose gaps are the unit
_OWN = (given.SUREFOOT, given.ROBUST_GP)
_MODELS = (given.PLAIN, given.INFORMED)
_SUITES = {given.GIVEN: given.run, conditions.CONDITIONS: conditions.run}  # others are searches


@dataclass(frozen=True)
class Work:
    """A search, or a model of a data set; a value that can be sent to a process."""

    searches: Run

    def __call__(self, trial: Trial) -> Rows:
        """The rows of a trial."""
        play = _SUITES.get(trial.case.partition("/")[0], self.searches)
        return play(trial)


def run_own(half: str, jobs: int, say: Say) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Surefoot on the tasks of a half, both if it is empty: tables and their origin."""
    return _run(half, [given.SUREFOOT], _OWN, jobs, say)


def run_rivals(
    names: Sequence[str], half: str, jobs: int, say: Say
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    """Rivals of the scoreboard, or models of the data sets, by name.

    Raises:
        InvalidInput: A name is unknown, or its environment has not been built.
    """
    known = {*RIVALS, *_MODELS}
    for name in names:
        if name not in known:
            raise InvalidInput(f"no rival is named {name!r}, expected some of {sorted(known)}.")
        if name in RIVALS and python_of(RIVALS[name].environment) is None:
            raise InvalidInput(f"{name} needs {build_line(RIVALS[name].environment)}")
    searching = [name for name in names if name in RIVALS]
    return _run(half, searching, [name for name in names if name in _MODELS], jobs, say)


def _run(
    half: str, rivals: Sequence[str], models: Sequence[str], jobs: int, say: Say
) -> tuple[dict[str, pd.DataFrame], dict[str, str]]:
    if jobs < 1:
        raise InvalidInput(f"`jobs` is {jobs}, expected at least 1.")
    tasks = selected(half)
    trials = [*_searches(tasks, rivals), *_conditions(half, rivals), *_data_sets(half, models)]
    work = Work(
        Run(
            {task.key: task for task in tasks},
            {name: replace(RIVALS[name], refit=False) for name in rivals},
        )
    )
    started = time.perf_counter()
    records = []
    for record in run_trials(work, trials, min(jobs, len(trials))):
        records.append(record)
        done = f"{len(records)}/{len(trials)}, {time.perf_counter() - started:.0f} s"
        say(f"{done}: {record.case} took {record.seconds:.1f} s")
    records.sort(key=lambda record: record.key)
    tables = tables_of(records, "answers")
    for row in tables.get(RUNS, pd.DataFrame(columns=["error"])).query("error != ''").itertuples():
        say(f"failed: {row.rival} on {row.task}: {row.error}")
    today = datetime.date.today().isoformat()
    origin = {name: f"{today}, {_versions(tables, name)}" for name in (*rivals, *models)}
    return tables, origin


def _searches(tasks: Sequence[Task], rivals: Sequence[str]) -> list[Trial]:
    return [
        Trial(seed_of(task.name) + number, task.budget, 0, case=f"{task.key} {name}")
        for task in tasks
        for name in rivals
        for number in range(RANDOM_SEEDS if name == RANDOM else 1)
    ]


def _conditions(half: str, rivals: Sequence[str]) -> list[Trial]:
    return [
        Trial(seed, conditions.ROUNDS, 0, case=f"{conditions.CONDITIONS}/{one.name} {name}")
        for one in conditions.ALL
        for name in (conditions.SUREFOOT, conditions.RANDOM)
        if name in rivals
        for each in halves_of(half)
        if each in one.halves
        for seed in conditions.SEEDS[each]
    ]


def _data_sets(half: str, models: Sequence[str]) -> list[Trial]:
    return [
        Trial(seed, 1, 0, case=f"{given.GIVEN}/{one.name} {model}")
        for one in given.SETS
        for model in models
        for each in halves_of(half)
        for seed in given.DATA_SEEDS[each]
    ]


def _versions(tables: dict[str, pd.DataFrame], name: str) -> str:
    """The versions that a rival named, or those of the packages of the models."""
    if RUNS in tables:
        found = tables[RUNS].loc[tables[RUNS]["rival"] == name, "versions"]
        if len(found):
            return str(found.iloc[0])
    return ", ".join(f"{one} {installed(one)}" for one in ("surefoot", "botorch", "torch"))
