"""Copies of a sampler: of one without a seed each draws values of its own."""

from __future__ import annotations

import copy
import multiprocessing
import os
import pickle
from collections.abc import Callable
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution

from surefoot.integrations.optuna import SurefootSampler

LINE = {"x": FloatDistribution(0.0, 1.0)}
Copies = Callable[[SurefootSampler], list[SurefootSampler]]

COPIES: dict[str, Copies] = {
    "pickled": lambda one: [pickle.loads(pickle.dumps(one)) for _ in range(3)],
    "copied": lambda one: [copy.deepcopy(one), copy.deepcopy(one), one],
    "of a copy": lambda one: [
        pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(one)))) for _ in range(3)
    ],
}


def study_of(sampler: SurefootSampler, trials: int) -> optuna.Study:
    study = optuna.create_study(sampler=sampler, study_name="one")
    for number in range(trials):
        x = (number + 0.5) / max(trials, 1)
        done = optuna.trial.create_trial(params={"x": x}, distributions=LINE, value=x)
        study.add_trial(done)
    return study


def asked(sampler: SurefootSampler, trials: int) -> float:
    return float(study_of(sampler, trials).ask(LINE).params["x"])


@pytest.mark.daily(2)
@pytest.mark.parametrize("given", [{}, {"search_space": LINE}], ids=["", "of a space"])
@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize("name", COPIES)
def test_copies_without_a_seed_differ(name: str, used: bool, given: dict[str, Any]) -> None:
    sampler = SurefootSampler(**given)
    if used:
        asked(sampler, 1)
    assert len({asked(one, 0) for one in COPIES[name](sampler)}) == 3


@pytest.mark.parametrize("name", COPIES)
def test_copies_with_a_seed_are_alike(name: str) -> None:
    sampler = SurefootSampler(seed=3)
    assert len({asked(one, 0) for one in COPIES[name](sampler)}) == 1


@pytest.mark.parametrize("name", ["pickled", "of a copy"])
def test_copies_of_a_run_without_a_seed_differ(name: str) -> None:
    sampler = SurefootSampler(search_space=LINE, initial=12)
    asked(sampler, 6)
    assert len({asked(one, 6) for one in COPIES[name](sampler)}) == 3


@pytest.mark.long
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.parametrize("used", [False, True])
def test_forked_workers_without_a_seed_differ(used: bool) -> None:
    sampler, context = SurefootSampler(), multiprocessing.get_context("fork")
    if used:
        asked(sampler, 0)
    queue = context.SimpleQueue()
    workers = [context.Process(target=lambda: queue.put(asked(sampler, 0))) for _ in range(3)]
    for worker in workers:
        worker.start()
    points = {queue.get() for _ in workers}
    for worker in workers:
        worker.join()
    assert len(points) == 3
