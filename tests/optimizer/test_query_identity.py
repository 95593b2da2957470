"""A query is matched by its identity: only the optimizer that asked it can settle it."""

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from support.optimizers import optimizer_of

LINE = np.linspace(0.0, 1.0, 6)[:, None]
KERNEL = sf.kernels.squared_exponential(0.3)
PAIRS = sf.kernels.squared_exponential([0.3, 0.5])
WORLD = sf.FiniteEnvironment([0.2, 0.8])


def plain(space: sf.Arms | sf.Box, **parts: object) -> sf.Optimizer:
    return optimizer_of(space, KERNEL, ridge=0.1, plan=sf.acquisition.Plan(2), **parts)


def joint(design: sf.Arms | sf.Box, observed: bool = False) -> sf.Optimizer:
    space = sf.Joint(design, WORLD, observed=observed)
    return sf.Optimizer(
        sf.Problem(space, risk=sf.Mean()), sf.Method(PAIRS, ridge=0.1, plan=sf.acquisition.Plan(2))
    )


BUILDS: dict[str, Callable[[], sf.Optimizer]] = {
    "arms": lambda: plain(sf.Arms(LINE)),
    "box": lambda: plain(sf.Box([0.0], [1.0])),
    "batched": lambda: sf.algorithms.bbkb(sf.Arms(LINE), KERNEL, noise=0.1, oversampling=5.0),
    "joint": lambda: joint(sf.Arms(LINE)),
    "joint box": lambda: joint(sf.Box([0.0], [1.0])),
    "observed": lambda: joint(sf.Arms(LINE), observed=True),
}
every = pytest.mark.parametrize("name", BUILDS)


def tell(optimizer: sf.Optimizer, query: sf.Query, reward: float = 0.5) -> None:
    observed = isinstance(optimizer.space, sf.Joint) and optimizer.space.observed
    optimizer.tell(query, reward, environment=WORLD.points[0] if observed else None)


@every
def test_a_query_of_another_optimizer_counts_as_its_point(name: str) -> None:
    ours, theirs = BUILDS[name](), BUILDS[name]()
    query, foreign = ours.ask(), theirs.ask()
    assert foreign.id == query.id
    assert torch.equal(foreign.point, query.point)
    tell(ours, foreign)
    assert ours.pending == [query]
    assert len(ours.history) == 1
    tell(ours, query)
    assert ours.pending == []
    ours.forget(replace(theirs.ask(), id=ours.ask().id), failed=False)
    assert len(ours.pending) == 1


@every
def test_many_rewards_at_once_are_matched_alike(name: str) -> None:
    ours, theirs = BUILDS[name](), BUILDS[name]()
    query, foreign = ours.ask(), theirs.ask()
    z = [WORLD.points[0]] * 3 if name == "observed" else None
    ours.tell_all([foreign, query, query], [0.1, 0.2, 0.3], z)
    assert ours.pending == []
    assert len(ours.history) == 3


@every
def test_a_reseeded_copy_has_queries_of_its_own(name: str) -> None:
    ours = BUILDS[name]()
    before = ours.ask()
    theirs = copy.deepcopy(ours)
    theirs.reseed(7)
    query, foreign = ours.ask(), theirs.ask()
    assert query.id == foreign.id
    tell(ours, foreign)
    assert ours.pending == [before, query]
    tell(theirs, before)
    assert [other.id for other in theirs.pending] == [foreign.id]


@every
def test_a_second_reward_settles_no_other_query(name: str) -> None:
    optimizer = BUILDS[name]()
    first = optimizer.ask()
    other = optimizer.expect(
        first.point if first.arm is None else first.arm, environment=first.environment
    )
    tell(optimizer, first, 0.1)
    tell(optimizer, first, 0.2)
    assert optimizer.pending == [other]
    tell(optimizer, other, 0.3)
    assert optimizer.pending == []
    assert optimizer.history.counts.sum() == 3


def test_a_second_reward_is_a_pull_of_its_own() -> None:
    """The variance of a batched sketch counts it beside the pull of a pending query."""
    kernel = sf.kernels.squared_exponential(0.05)
    twice, once = (
        sf.algorithms.bbkb(sf.Arms(LINE), kernel, noise=0.1, oversampling=50.0, ratio=1e6)
        for _ in range(2)
    )
    for optimizer in (twice, once):
        query = optimizer.ask()
        optimizer.expect(query.arm)
        optimizer.tell(query, 0.1)
        if optimizer is twice:
            optimizer.tell(query, 0.1)
        else:
            optimizer.tell(0, 0.1) if query.arm else optimizer.tell(5, 0.1)
    point = twice.space.points[query.arm].unsqueeze(0)
    after, before = (float(one.belief().posterior.variance(point)) for one in (twice, once))
    assert after < before


def test_a_point_settles_the_first_query_there() -> None:
    optimizer = plain(sf.Arms(LINE))
    first, second = optimizer.expect(3), optimizer.expect(3)
    optimizer.tell(3, 0.5)
    assert optimizer.pending == [second]
    optimizer.tell(first, 0.5)
    assert optimizer.pending == [second]


@every
def test_copies_of_a_query_are_the_query(name: str, tmp_path: Path) -> None:
    optimizer = BUILDS[name]()
    query, other = optimizer.ask_batch(2)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    tell(loaded, query)
    assert [left.id for left in loaded.pending] == [other.id]
    moved = pickle.loads(pickle.dumps(optimizer))
    tell(moved, pickle.loads(pickle.dumps(other)))
    assert [left.id for left in moved.pending] == [query.id]


def test_a_query_made_by_hand_is_a_point() -> None:
    optimizer = plain(sf.Arms(LINE))
    query = optimizer.ask()
    optimizer.tell(sf.Query(query.id, query.point, query.arm), 0.5)
    assert optimizer.pending == [query]
    elsewhere = sf.Query(0, torch.tensor([0.4], dtype=torch.float64), arm=0)
    optimizer.tell(elsewhere, 0.5)
    assert optimizer.history.arms[-1] == 2


def test_what_a_user_does_with_a_query_stays_outside() -> None:
    optimizer = plain(sf.Box([0.0], [1.0]))
    query = optimizer.ask()
    point = query.point.clone()
    query.point.fill_(0.9)
    optimizer.tell(query, 0.5)
    assert torch.equal(optimizer.history.sites[0], point)


def test_a_reward_told_by_its_arm_is_that_of_the_query() -> None:
    """Nothing is released and chosen again, which would begin the batch anew."""
    by_query, by_arm = BUILDS["batched"](), BUILDS["batched"]()
    most = 0
    for turn in range(12):
        query, same = by_query.ask(), by_arm.ask()
        assert same.arm == query.arm
        by_query.tell(query, 0.1 * turn)
        by_arm.tell(int(same.arm), 0.1 * turn)
        assert by_arm._history._selected == by_query._history._selected
        most = max(most, by_arm._history._selected)
    assert most > 0
