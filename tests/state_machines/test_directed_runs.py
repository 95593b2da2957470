"""What random calls seldom reach: very many rewards, and one fault at a time."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from support.feature_rules import sampled
from support.optimizers import optimizer_of
from surefoot import algorithms
from surefoot.hyperparameters import GivenHyperparameters

ARMS = torch.rand(60, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
MANY = 1100  # beyond 1,024 rewards robust estimators keep quantiles of them


def rough() -> Any:
    return sf.kernels.matern(1.5, 0.25)


def value(point: torch.Tensor, step: int) -> float:
    noise = np.random.default_rng(step).standard_t(2.0)
    return math.sin(5.0 * float(point[0])) + math.cos(4.0 * float(point[1])) + 0.3 * float(noise)


def tabulated(estimator: object, standardise: bool = False, **parts: Any) -> sf.Optimizer:
    given = GivenHyperparameters(rough(), 0.1, standardise)
    return optimizer_of(sf.Arms(ARMS), given, estimator=estimator, **parts)


def batched(estimator: object, standardise: bool = False) -> sf.Optimizer:
    return tabulated(estimator, standardise, features=sampled(3.0, "adaptive"))


def resampled(estimator: object, standardise: bool = False) -> sf.Optimizer:
    return tabulated(estimator, standardise, features=sampled(3.0))


def saved(optimizer: sf.Optimizer, path: Path) -> sf.Optimizer:
    optimizer.save(path)
    return sf.Optimizer.load(path)


def recommended(optimizer: sf.Optimizer, path: Path) -> sf.Optimizer:
    optimizer.recommend()
    return optimizer


def looked_at(optimizer: sf.Optimizer, path: Path) -> sf.Optimizer:
    optimizer.save(path)
    _ = optimizer.belief().posterior.mean(ARMS), optimizer.belief().weights, optimizer.width
    return optimizer


def told(optimizer: sf.Optimizer, seed: int, number: int = MANY) -> sf.Optimizer:
    arms = np.random.default_rng(seed).integers(len(ARMS), size=number).tolist()
    optimizer.tell_all(arms, [value(ARMS[arm], step) for step, arm in enumerate(arms)])
    return optimizer


ESTIMATORS = {
    "huber": sf.Huber(),
    "growing-huber": sf.Huber(growing=True),
    "student-t": sf.StudentT(),
    "adaptive-truncation": sf.AdaptiveTruncation(sf.Moment(0.9, 4.0)),
}
ROUNDS = {"batched": 60, "tabulated": 8, "resampled": 6}
INTERVAL = 3


class TestManyRewards:
    """A run does not depend on what is looked at, nor on being saved and loaded."""

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("build", "standardise", "estimator"),
        [
            (batched, True, "huber"),
            (batched, True, "adaptive-truncation"),
            (batched, True, "growing-huber"),
            (batched, True, "student-t"),
            (batched, False, "huber"),
            (batched, False, "adaptive-truncation"),
            *((tabulated, False, name) for name in ESTIMATORS),
            (tabulated, True, "huber"),
            (tabulated, True, "adaptive-truncation"),
            (resampled, True, "student-t"),
            (resampled, True, "adaptive-truncation"),
        ],
    )
    def test_the_run_stays_the_same(
        self,
        build: Callable[..., sf.Optimizer],
        standardise: bool,
        estimator: str,
        tmp_path: Path,
    ) -> None:
        alone, other = (
            told(build(ESTIMATORS[estimator], standardise=standardise), 0) for _ in range(2)
        )
        for step in range(ROUNDS[build.__name__]):
            if step % INTERVAL == 1:
                between = (saved, recommended, looked_at)[step // INTERVAL % 3]
                other = between(other, tmp_path / "run")
            queries = alone.ask(), other.ask()
            assert queries[0].arm == queries[1].arm, f"in round {step}"
            for optimizer, query in zip((alone, other), queries, strict=True):
                optimizer.tell(query, value(query.point, MANY + step))
        for name in ("mean", "variance"):
            ours, expected = (getattr(one.belief().posterior, name)(ARMS) for one in (other, alone))
            torch.testing.assert_close(ours, expected, rtol=0.0, atol=1e-10)

    @pytest.mark.daily(1)
    @pytest.mark.parametrize("build", [batched, tabulated])
    def test_the_fit_of_the_loaded_is_that_of_the_saved(
        self, build: Callable[..., sf.Optimizer], tmp_path: Path
    ) -> None:
        optimizer = told(build(sf.Huber()), 5)
        for step in range(10):
            query = optimizer.ask()
            optimizer.tell(query, value(query.point, step))
        loaded = saved(optimizer, tmp_path / "run")
        for name in ("mean", "variance"):
            ours, expected = (
                getattr(one.belief().posterior, name)(ARMS) for one in (loaded, optimizer)
            )
            torch.testing.assert_close(ours, expected, rtol=0.0, atol=1e-9)


def play(
    optimizer: sf.Optimizer, rounds: int, fails: int | None = None, failed: bool = True
) -> int:
    """The largest dictionary of the last third; the query of round `fails` has no reward."""
    seen = []
    for step in range(rounds):
        query = optimizer.ask()
        if step == fails:
            optimizer.forget(query, failed=failed)
        else:
            seen.append(optimizer.tell(query, value(query.point, step)).dimension)
    return max(seen[-rounds // 3 :])


class TestResampling:
    """A dictionary goes on growing after a query that came to nothing."""

    @pytest.mark.long
    @pytest.mark.parametrize(("name", "failed"), [("bbkb", True), ("bbkb", False), ("bkb", True)])
    def test_after_one_forgotten_query(self, name: str, failed: bool) -> None:
        def build() -> sf.Optimizer:
            make = getattr(algorithms, name)
            return make(sf.Arms(ARMS), rough(), noise=0.3, oversampling=3.0, ridge=0.1)

        assert play(build(), 150, 4, failed) >= 0.6 * play(build(), 150)

    @pytest.mark.long
    def test_failures_are_still_kept_away_from_in_batches(self) -> None:
        optimizer = batched(sf.LeastSquares())
        play(optimizer, 60)
        failed = []
        for step in range(8):
            query = optimizer.ask()
            assert query.arm not in failed, step
            failed.append(query.arm)
            optimizer.forget(query, failed=True)


ONE_OF_EACH: dict[str, Callable[[], sf.Optimizer]] = {
    "arms": lambda: algorithms.gp_ucb(sf.Arms(ARMS), rough()),
    "batches": lambda: batched(sf.LeastSquares()),
    "box": lambda: algorithms.gp_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), rough()),
}


class TestWhoseQueryItIs:
    """A reward settles the query that it came for, and no other."""

    @pytest.mark.parametrize("name", ONE_OF_EACH)
    def test_a_query_of_a_copy_does_not_settle_ones_own(self, name: str, tmp_path: Path) -> None:
        optimizer = ONE_OF_EACH[name]()
        optimizer.tell(ARMS[7], 0.5)
        other = saved(optimizer, tmp_path / "run")
        other.reseed(9)
        listed = [3, 20] if isinstance(optimizer.space, sf.Arms) else ARMS[[3, 20]]
        ours, theirs = optimizer.ask(arms=listed[:1]), other.ask(arms=listed[1:])
        optimizer.tell(theirs, 1.0)
        assert [query.id for query in optimizer.pending] == [ours.id]
        assert torch.equal(optimizer.history.sites[-1], ARMS[20])
        optimizer.tell(ours, 1.0)
        assert optimizer.pending == []

    def test_a_query_of_before_settles_that_of_the_loaded(self, tmp_path: Path) -> None:
        optimizer = ONE_OF_EACH["batches"]()
        optimizer.tell(7, 0.5)
        query = optimizer.ask()
        loaded = saved(optimizer, tmp_path / "run")
        loaded.tell(query, 1.0)
        assert loaded.pending == []

    @pytest.mark.parametrize("again", ["told", "forgotten"])
    def test_a_second_reward_is_a_pull_of_its_own(self, again: str) -> None:
        """Two queries of one arm: what comes for the one leaves the pull of the other."""
        left, right = (
            sf.Optimizer(
                sf.Arms(ARMS),
                sf.Method(
                    rough(),
                    features=sampled(1e9, "adaptive", ratio=1e9),
                    width=sf.widths.constant(1.0),
                    ridge=0.1,
                ),
            )
            for _ in range(2)
        )
        for optimizer in (left, right):
            optimizer.tell_all([0, 1, 2, 3], [0.0, 0.5, 1.0, 1.5])
            optimizer.ask()  # begins a batch
        first, second = left.expect(5), left.expect(5)
        others = [right.expect(5) for _ in range(3 if again == "told" else 2)]
        if again == "told":
            left.tell(first, 1.0)
            right.tell(others.pop(), 1.0)
        else:
            left.forget(first, failed=False)
        left.tell(first, 1.2)
        right.tell(others.pop(), 1.2)
        assert [query.id for query in left.pending][1:] == [second.id]
        assert [q.arm for q in left.ask_batch(12)] == [q.arm for q in right.ask_batch(12)]

    @pytest.mark.parametrize("again", ["told", "forgotten"])
    def test_the_variance_is_that_of_the_pulls(self, again: str) -> None:
        """Of a kernel of which the dictionary leaves nothing unexplained."""
        kernel, space = sf.kernels.linear(), sf.Arms(ARMS[:15])
        features = sampled(1e9, "adaptive")
        optimizer = sf.Optimizer(space, sf.Method(kernel, features=features, ridge=0.1))
        optimizer.tell_all([0, 1, 2, 3], [0.0, 0.5, 1.0, 1.5])
        optimizer.ask()
        optimizer.forget(optimizer.pending[0], failed=False)
        first, second = optimizer.expect(5), optimizer.expect(5)
        if again == "told":
            optimizer.tell(first, 1.0)
        else:
            optimizer.forget(first, failed=False)
        optimizer.tell(first, 1.2)
        assert [query.id for query in optimizer.pending] == [second.id]
        pulls = [0, 1, 2, 3, *[5] * (2 if again == "told" else 1)]
        exact = sf.Optimizer(space, sf.Method(kernel, ridge=0.1))
        exact.tell_all(pulls, [0.0] * len(pulls))
        of_rewards = exact.belief().posterior.variance(space.points)
        exact.tell(5, 0.0)
        of_all = exact.belief().posterior.variance(space.points)
        ours = optimizer.belief().posterior.variance(space.points)
        differences = [float((ours - expected).abs().max()) for expected in (of_rewards, of_all)]
        assert min(differences) < 1e-7, differences
