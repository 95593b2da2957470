"""Workers that share a study: what each knows of the others' running trials."""

import math
from typing import Any

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial

import surefoot as sf
from support.samplers import sampler_of
from surefoot.integrations.optuna import StudyEnvironment
from surefoot.integrations.optuna import sampler as sampler_module
from surefoot.integrations.optuna.reservation import RESERVATION

LINE = {"x": FloatDistribution(0.0, 1.0)}
SMALL = {"k": IntDistribution(0, 1), "mode": CategoricalDistribution(["a", "b"])}


class Workers:
    """Several workers of one study, each with a sampler of its own."""

    def __init__(self, space: dict, number: int, trials: int = 0, **given: Any) -> None:
        self.study = optuna.create_study()
        self.samplers = [sampler_of(seed=0, search_space=space, **given) for _ in range(number)]
        self.study.sampler = self.samplers[0]
        self.space = space
        for _ in range(trials):
            trial = self.study.ask(space)
            self.study.tell(trial, self.value(trial))

    @staticmethod
    def value(trial: Trial) -> float:
        return sum(value for value in trial.params.values() if not isinstance(value, str))

    def ask(self, worker: int) -> dict[str, Any]:
        """Parameters that a worker chooses, none of which its trial has yet."""
        self.study.sampler = self.samplers[worker]
        return self.study.ask().relative_params


@pytest.mark.long
@pytest.mark.parametrize("trials", [0, 5, 9])
@pytest.mark.parametrize("space", [LINE, SMALL])
def test_no_worker_measures_what_another_one_does(space: dict, trials: int) -> None:
    workers = Workers(space, 4, trials)
    chosen = [workers.ask(worker) for worker in range(4)]
    assert all(left != right for i, left in enumerate(chosen) for right in chosen[:i])


@pytest.mark.long
def test_in_a_finite_space_everything_may_be_running() -> None:
    workers = Workers(SMALL, 6, 9)
    chosen = [tuple(workers.ask(worker).items()) for worker in range(6)]
    assert len({*chosen}) == 4


@pytest.mark.daily(1)
@pytest.mark.parametrize("space", [LINE, SMALL])
def test_workers_that_choose_at_once_part(space: dict, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = Workers(space, 2, 9)
    write, others = sampler_module.write_reservation, []

    def while_another_one_chooses(*arguments: Any) -> None:
        if not others:  # it has read the storage, and writes before this one does
            others.append(None)
            others[0] = workers.ask(1)
        write(*arguments)

    monkeypatch.setattr(sampler_module, "write_reservation", while_another_one_chooses)
    assert workers.ask(0) != others[0]


@pytest.mark.long
def test_a_reservation_is_pending_and_a_moved_one_moves() -> None:
    workers = Workers(LINE, 2, 9)
    chosen = [workers.ask(0)["x"], workers.ask(1)["x"]]
    assert pending(workers, 1) == pytest.approx(sorted(chosen))
    chosen[0] = 0.123
    reserve(workers.study, 9, {"params": {"x": 0.123}, "environment": None})
    chosen.append(workers.ask(1)["x"])
    assert pending(workers, 1) == pytest.approx(sorted(chosen))


@pytest.mark.long
def test_a_value_counts_for_its_own_trial_and_no_other_one_there() -> None:
    workers = Workers(LINE, 2, 9)
    x = workers.ask(0)["x"]
    other = workers.ask(1)["x"]
    workers.study.enqueue_trial({"x": x})
    trial = workers.study.ask(LINE)
    workers.study.tell(trial, 1.0)
    last = workers.ask(1)["x"]
    assert pending(workers, 1) == pytest.approx(sorted([x, other, last]))


def pending(workers: Workers, worker: int) -> list[float]:
    queries = workers.samplers[worker]._tracker.optimizer.pending
    return sorted(float(query.point) for query in queries)


def reserve(study: optuna.Study, number: int, value: object) -> None:
    study._storage.set_trial_system_attr(study.trials[number]._trial_id, RESERVATION, value)


@pytest.mark.daily(4)
@pytest.mark.parametrize(
    "foreign",
    [
        None,
        7,
        "text",
        [1],
        {},
        {"params": None},
        {"params": [0.5]},
        {"params": {"x": "text"}},
        {"params": {"x": math.nan}},
        {"params": {"x": 10**400}},
        {"params": {"x": 3.0}},
        {"params": {"x": True}},
        {"params": {"x": 0.5}, "environment": {"load": 10**400}},
        {"params": {"x": 0.5}, "environment": "text"},
    ],
)
def test_foreign_reservations_are_passed_over(foreign: object) -> None:
    environment = StudyEnvironment(["load"], sf.FiniteEnvironment([0.2, 0.8]))
    workers = Workers(LINE, 1, environment=environment, risk=sf.Mean())
    running = workers.study.ask()
    reserve(workers.study, running.number, foreign)
    workers.ask(0)
    assert len(workers.samplers[0]._tracker.optimizer.pending) == 1


def test_the_environment_is_reserved_too() -> None:
    environment = StudyEnvironment(["load"], sf.FiniteEnvironment([0.2, 0.8]))
    workers = Workers(LINE, 2, environment=environment, risk=sf.Mean())
    workers.ask(0)
    reserved = workers.study.trials[0].system_attrs[RESERVATION]["environment"]
    workers.ask(1)
    pending = workers.samplers[1]._tracker.optimizer.pending
    assert [reserved["load"]] in [query.environment.tolist() for query in pending]


def test_workers_of_the_same_seed_do_not_share_an_initial_design() -> None:
    workers = Workers(LINE, 3, 0, initial=4)
    chosen = [workers.ask(i % 3)["x"] for i in range(9)]
    assert len({*chosen}) == 9
