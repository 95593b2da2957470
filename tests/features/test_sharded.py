"""Arms whose table is in parts choose what those of one table choose."""

import copy
import gc
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import (
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
)
from concurrent.futures.thread import _global_shutdown_lock
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from support.optimizers import optimizer_of
from surefoot.features import exact
from surefoot.regression import shards
from surefoot.regression.shard import Command
from surefoot.regression.shards import LocalWorkers, Lost

NUMBER = 120
POINTS = np.random.default_rng(0).random((NUMBER, 2))
MOMENT = sf.Moment(alpha=1.0, bound=4.0)
WHOLE = sf.spaces.InMemory()
FEATURES: dict[str, Callable[[], Any]] = {
    "exact": sf.Exact,
    "dictionary": lambda: sf.Dictionary(POINTS[:20]),
    "quadrature": lambda: sf.QuadratureFourier(8),
    "random": lambda: sf.RandomFourier(16),
    "every round": lambda: sf.Nystrom(sf.LeverageSampling(5.0)),
    "adaptive": lambda: sf.Nystrom(sf.LeverageSampling(5.0, "adaptive")),
    "immediate": lambda: sf.Nystrom(sf.LeverageSampling(5.0, "adaptive", feedback="immediate")),
    "symmetric": lambda: sf.Nystrom(sf.LeverageSampling(5.0, root="symmetric")),
}
ESTIMATORS: dict[str, Callable[[], Any]] = {
    "truncation": lambda: sf.Truncation(MOMENT),
    "adaptive": lambda: sf.AdaptiveTruncation(MOMENT, 100),
    "huber": sf.Huber,
    "student-t": sf.StudentT,
}


class UnreliableWorkers(LocalWorkers):
    """Parts in this process, of which one is lost every few messages."""

    def __init__(self, every: int) -> None:
        self.every, self.messages = every, 0

    def submit(self, worker: Any, commands: list[Command]) -> Callable[[], Any]:
        self.messages += 1
        if self.messages % self.every == 0:
            worker._known.clear()
            if self.messages % (2 * self.every) == 0:
                raise Lost
            return self._lost
        return super().submit(worker, commands)

    @staticmethod
    def _lost() -> Any:
        raise Lost


class DistantWorkers(LocalWorkers):
    """Parts in this process that receive what they would in another one."""

    def __init__(self) -> None:
        self.parts: list[int] = []
        self.messages: list[int] = []

    def start(self, index: int, part: Any) -> Any:
        content = pickle.dumps(part)
        self.parts.append(len(content))
        return super().start(index, pickle.loads(content))

    def submit(self, worker: Any, commands: list[Command]) -> Callable[[], Any]:
        content = pickle.dumps(commands)
        self.messages.append(len(content))
        return super().submit(worker, pickle.loads(content))


@pytest.fixture(autouse=True)
def few_arms_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_LARGEST_TABLE", 10)


def optimizer(storage: Any, **parts: Any) -> sf.Optimizer:
    kernel = parts.pop("kernel", sf.kernels.squared_exponential(0.4))
    points = parts.pop("points", POINTS)
    return optimizer_of(sf.Arms(points, storage=storage), kernel, ridge=0.05, **parts)


def value(arm: int, step: int) -> float:
    noise = np.random.default_rng(step).standard_t(3.0)
    return float(np.sin(5.0 * POINTS[arm]).sum() + noise)


def played(run: sf.Optimizer, rounds: int = 8, first: int = 0) -> list[int]:
    """Arms of rounds, of some asked together or among some, and of the recommendation."""
    asked: list[Any] = []
    for step in range(first, first + rounds):
        several = run.ask_batch(3) if step % 5 == 4 else [run.ask(arms=_some(step))]
        for query in several:
            asked.append(query.arm)
            run.tell(query, value(query.arm, step))  # type: ignore[arg-type]
    return [*asked, run.recommend().arm, run.recommend("lower").arm]


def _some(step: int) -> list[int] | None:
    return [5, 60, 110] if step % 7 == 5 else None


@pytest.mark.long
@pytest.mark.parametrize("features", FEATURES)
def test_choices_are_those_of_one_table(features: str) -> None:
    make = FEATURES[features]
    parts = optimizer(sf.spaces.Sharded(3), features=make())
    assert played(parts) == played(optimizer(WHOLE, features=make()))


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_choices_of_an_estimator_are_those_of_one_table(estimator: str) -> None:
    make, features = ESTIMATORS[estimator], sf.Dictionary(POINTS[:20])
    parts = optimizer(sf.spaces.Sharded(3), features=features, estimator=make())
    assert played(parts) == played(optimizer(WHOLE, features=features, estimator=make()))


@pytest.mark.daily(2)
@pytest.mark.parametrize("features", ["exact", "adaptive", "every round", "dictionary"])
@pytest.mark.parametrize("every", [2, 5])
def test_lost_workers_change_no_choice(
    features: str, every: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "workers_of", lambda *_: UnreliableWorkers(every))
    make = FEATURES[features]
    parts = optimizer(sf.spaces.Sharded(3), features=make())
    assert played(parts) == played(optimizer(WHOLE, features=make()))
    assert _shards(parts).losses > 5


@pytest.mark.long
@pytest.mark.parametrize("features", ["exact", "adaptive", "every round", "dictionary"])
def test_messages_do_not_grow_with_the_arms(features: str, monkeypatch: pytest.MonkeyPatch) -> None:
    workers = DistantWorkers()
    monkeypatch.setattr(shards, "workers_of", lambda *_: workers)
    points = np.concatenate([POINTS, np.random.default_rng(1).random((10_000, 2))])
    make = FEATURES[features]
    run = optimizer(sf.spaces.Sharded(2), points=points, features=make())
    for step in range(4):
        for query in run.ask_batch(2):
            run.tell(query, value(query.arm % NUMBER, step))  # type: ignore[operator]
    run.recommend()
    assert max(workers.messages) < 40_000 < points.nbytes / 2
    assert max(workers.parts) < points.nbytes / 2 + 20_000


def test_workers_that_are_always_lost_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shards, "workers_of", lambda *_: UnreliableWorkers(1))
    run = optimizer(sf.spaces.Sharded(2), features=sf.Dictionary(POINTS[:5]))
    run.tell(run.ask(), 0.0)
    with pytest.raises(sf.InvalidInput, match=r"workers \[0, 1\] of 2 were lost 5 times"):
        run.ask()


def _shards(run: sf.Optimizer) -> shards.Shards:
    regression: Any = run._history.regressor.regression
    return (
        regression.tabulated.table.shards
        if hasattr(regression, "tabulated")
        else (regression.table.shards)
    )


@pytest.mark.long
@pytest.mark.parametrize("features", ["exact", "adaptive"])
def test_a_saved_run_goes_on_in_new_workers(features: str, tmp_path: Path) -> None:
    run = optimizer(sf.spaces.Sharded(2), features=FEATURES[features]())
    played(run, 8)
    run.save(tmp_path / "run")
    again = sf.Optimizer.load(tmp_path / "run")
    assert again.space.storage == run.space.storage  # type: ignore[union-attr]
    assert played(again, 8, 8) == played(run, 8, 8)


@pytest.mark.daily(1)
@pytest.mark.parametrize("storage", [sf.spaces.Sharded(2), sf.spaces.InFile()], ids=str)
@pytest.mark.parametrize("features", ["exact", "adaptive"])
def test_a_copy_goes_on_by_itself(features: str, storage: Any) -> None:
    run = optimizer(storage, features=FEATURES[features]())
    played(run, 6)
    other = copy.deepcopy(run)
    played(other, 3, 40)
    plain = optimizer(WHOLE, features=FEATURES[features]())
    played(plain, 6)
    assert played(run, 4, 6) == played(plain, 4, 6)


def test_a_copy_right_after_a_reward_asks_as_the_run_itself() -> None:
    kernel, arms = (
        sf.kernels.squared_exponential(0.2),
        sf.Arms(POINTS, storage=sf.spaces.Sharded(2)),
    )
    run = sf.algorithms.bbkb(arms, kernel, noise=0.1, oversampling=5.0, scale=0.3)
    run.tell(run.ask(), 1.0)
    for other in (copy.deepcopy(run), pickle.loads(pickle.dumps(run))):
        assert other.ask().arm == copy.deepcopy(run).ask().arm
    assert other.ask().arm == (run.ask(), run.ask())[1].arm


@pytest.mark.long
def test_former_beliefs_remain_what_they_were() -> None:
    features = sf.Nystrom(sf.LeverageSampling(2.0))
    run, plain = (optimizer(one, features=features) for one in (sf.spaces.Sharded(2), WHOLE))
    played(run, 10), played(plain, 10)
    before, expected = run.belief(), plain.belief()
    played(run, 10)
    assert before.posterior.best_arm(2.0) == expected.posterior.best_arm(2.0)
    for found, known in zip(before.predict(POINTS[:9]), expected.predict(POINTS[:9]), strict=True):
        np.testing.assert_allclose(found, known, atol=1e-9)


@pytest.mark.long
def test_workers_forget_what_nothing_refers_to() -> None:
    run = optimizer(sf.spaces.Sharded(2), features=FEATURES["every round"]())
    played(run, 15)
    gc.collect()
    run.tell(run.ask(), 0.0), run.ask()
    assert all(len(worker._known) < 12 for worker in _shards(run)._running)


def test_single_precision_parts_choose_alike() -> None:
    storage = sf.spaces.Sharded(2, storage=sf.spaces.InMemory("float32"))
    features = sf.Dictionary(POINTS[:20])
    assert played(optimizer(storage, features=features)) == played(
        optimizer(WHOLE, features=features)
    )


class TestIsRefused:
    def test_what_needs_all_arms(self) -> None:
        parts = sf.spaces.Sharded(2)
        for given in (
            {"policy": sf.acquisition.ThompsonSampling()},
            {"policy": lambda candidates, generator: candidates.mean},
            {"features": sf.Nystrom(sf.PivotedCholesky(16))},
            {"kernel": None},
            {"width": sf.widths.dual_mixture(3.0, 1.0)},
        ):
            with pytest.raises(sf.InvalidInput, match="`Sharded`"):
                optimizer(parts, **given)

    def test_a_failed_measurement_which_changes_nothing(self) -> None:
        run = optimizer(sf.spaces.Sharded(2))
        run.tell(run.ask(), 0.0)
        query = run.ask()
        failed = sf.Measurement(query, failed=True)
        for refused in (lambda: run.forget(query), lambda: run.record([failed])):
            with pytest.raises(sf.InvalidInput, match="no model of failures"):
                refused()
        assert run.pending == [query]
        run.forget(query, failed=False)
        run.tell(run.ask(), 1.0)

    def test_arms_of_an_environment(self) -> None:
        arms = sf.Arms(POINTS, storage=sf.spaces.Sharded(2))
        with pytest.raises(sf.InvalidInput, match="`Sharded`"):
            sf.Joint(arms, sf.FiniteEnvironment([[0.0], [1.0]]))

    @pytest.mark.parametrize(
        "executors", ["dask", 3, ThreadPoolExecutor(1)], ids=["a name", "a number", "an executor"]
    )
    def test_what_makes_no_executor(self, executors: Any) -> None:
        with pytest.raises(sf.InvalidInput, match=r"`executors` is .*, expected a function"):
            sf.spaces.Sharded(2, executors)


def thread(number: int) -> Executor:
    return ThreadPoolExecutor(1)


class Forgetful(ThreadPoolExecutor):
    """An executor whose process is another one, or that breaks, every few tasks."""

    def __init__(self) -> None:
        super().__init__(1)
        self.tasks = 0

    def submit(self, function: Any, *arguments: Any) -> Future:
        self.tasks += 1
        if self.tasks % 5 == 0:
            shards._parts.clear()
        if self.tasks % 7 == 0:
            raise BrokenExecutor
        return super().submit(function, *arguments)


@pytest.mark.long
@pytest.mark.parametrize("features", FEATURES)
def test_choices_of_executors_are_those_of_one_table(features: str) -> None:
    make = FEATURES[features]
    parts = optimizer(sf.spaces.Sharded(3, thread), features=make())
    assert played(parts) == played(optimizer(WHOLE, features=make()))
    assert _shards(parts).losses == 0


@pytest.mark.daily(1)
@pytest.mark.parametrize("features", ["exact", "adaptive"])
def test_executors_that_forget_or_break_change_no_choice(features: str) -> None:
    made: list[Forgetful] = []
    storage = sf.spaces.Sharded(3, lambda number: made.append(Forgetful()) or made[-1])
    parts = optimizer(storage, features=FEATURES[features]())
    assert played(parts) == played(optimizer(WHOLE, features=FEATURES[features]()))
    assert _shards(parts).losses == len(made) - 3 > 5


def test_a_run_that_is_collected_while_all_executors_are_locked_blocks_none() -> None:
    """Memory is collected anywhere, as within `submit`."""
    run = optimizer(sf.spaces.Sharded(1, thread))
    run.tell(run.ask(), 0.0)
    run.ask()
    dropped = [run]
    del run

    def locked() -> None:
        with _global_shutdown_lock:
            dropped.clear()
            gc.collect()

    collecting = threading.Thread(target=locked, daemon=True)
    collecting.start()
    collecting.join(20.0)
    assert not collecting.is_alive()


def test_a_part_is_forgotten_with_its_run() -> None:
    made: list[ThreadPoolExecutor] = []
    storage = sf.spaces.Sharded(2, lambda number: made.append(ThreadPoolExecutor(1)) or made[-1])
    before, run = {*shards._parts}, optimizer(storage)
    run.tell(run.ask(), 0.0)
    run.ask()
    parts = {*shards._parts} - before
    assert len(parts) == 2
    del run
    gc.collect()
    for _ in range(200):
        if not parts & {*shards._parts}:
            break
        time.sleep(0.05)
    assert not parts & {*shards._parts}


def test_an_error_in_a_part_is_raised_as_it_is() -> None:
    run = optimizer(sf.spaces.Sharded(2, thread))
    run.tell(run.ask(), 0.0)
    with pytest.raises(AttributeError, match="no_command"):
        _shards(run).ask(("no_command",), [])


def test_a_saved_run_of_executors_is_loaded_with_its_space(tmp_path: Path) -> None:
    run = optimizer(sf.spaces.Sharded(2, thread))
    played(run, 4)
    run.save(tmp_path / "run")
    with pytest.raises(sf.InvalidInput, match="pass it again"):
        sf.Optimizer.load(tmp_path / "run")
    again = sf.Optimizer.load(tmp_path / "run", space=run.space)
    assert played(again, 4, 4) == played(run, 4, 4)


def process(number: int) -> Executor:
    return ProcessPoolExecutor(1, get_context("spawn"))


@pytest.mark.long
@pytest.mark.parametrize("features", ["exact", "adaptive"])
def test_a_process_that_is_killed_is_replaced(features: str) -> None:
    run, plain = (
        optimizer(one, features=FEATURES[features]())
        for one in (sf.spaces.Sharded(2, process), WHOLE)
    )
    assert played(run, 6) == played(plain, 6)
    shards = _shards(run)
    os.kill(shards._running[0]._executor.submit(os.getpid).result(), signal.SIGKILL)
    assert played(run, 6, 6) == played(plain, 6, 6)
    assert shards.losses >= 1
