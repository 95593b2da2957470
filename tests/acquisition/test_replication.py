"""Replication of the best known point, and points whose replicates differ too much."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

import surefoot as sf
from support.optimizers import optimizer_of
from surefoot.acquisition import Instability, Plan, Replication, UpperConfidenceBound

LINE = torch.linspace(0.0, 1.0, 12, dtype=torch.float64).unsqueeze(-1)
KERNEL = sf.kernels.squared_exponential(0.2)
PLAN = Plan(instability=Instability(0.3))


def optimizer_on(space: sf.Arms | sf.Box, most: int, **options) -> sf.Optimizer:
    return optimizer_of(space, KERNEL, ridge=0.01, policy=Replication(most=most), **options)


def play(optimizer: sf.Optimizer, rounds: int) -> list[tuple[float, ...]]:
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        asked.append(tuple(query.point.tolist()))
        optimizer.tell(query, math.sin(3.0 * float(query.point)))
    return asked


def test_the_best_known_point_is_replicated_ever_more_rarely() -> None:
    """Other arms that were not measured have the larger bound."""
    kernel = sf.kernels.precomputed(torch.eye(40, dtype=torch.float64))
    optimizer = sf.Optimizer(sf.Arms(40), sf.Method(kernel, ridge=0.01, policy=Replication(most=6)))
    optimizer.tell(7, 1.0)
    due = []
    for step in range(1, 35):
        query = optimizer.ask()
        if query.arm == 7:
            due.append(step)
        optimizer.tell(query, 1.0 if query.arm == 7 else 0.0)
    assert due == [2, 5, 9, 14, 20]  # after 1, 2, 3, ... other queries, until there are six


@pytest.mark.long
def test_no_point_has_more_replicates_than_asked_for() -> None:
    asked = play(optimizer_on(sf.Box([0.0], [1.0]), most=4), 40)
    assert max(asked.count(point) for point in set(asked)) == 4


@pytest.mark.long
def test_with_one_measurement_of_each_point_nothing_is_replicated() -> None:
    space = sf.Box([0.0], [1.0])
    plain = sf.Optimizer(space, sf.Method(KERNEL, ridge=0.01, policy=UpperConfidenceBound()))
    assert play(optimizer_on(space, most=1), 12) == play(plain, 12)


@pytest.mark.long
def test_pending_replicates_count() -> None:
    optimizer = optimizer_on(sf.Box([0.0], [1.0]), most=3)
    optimizer.tell_all([[0.1], [0.6]], [0.0, 1.0])
    batch = [query.point.item() for query in optimizer.ask_batch(12)]
    assert batch.count(0.6) == 2


def test_among_given_arms_the_other_policy_chooses() -> None:
    optimizer = optimizer_on(sf.Arms(LINE), most=10)
    optimizer.tell_all([3, 9], [0.0, 1.0])
    assert optimizer.ask(arms=[2]).arm == 2


@pytest.mark.long
def test_save_and_load_go_on_the_same(tmp_path) -> None:
    optimizer = optimizer_on(sf.Box([0.0], [1.0]), most=10, plan=PLAN)
    play(optimizer, 9)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.method.plan == PLAN
    assert play(loaded, 8) == play(optimizer, 8)


def test_an_environment_is_refused() -> None:
    space = sf.Joint(sf.Box([0.0], [1.0]), sf.FiniteEnvironment([0.0, 1.0]))
    with pytest.raises(sf.InvalidInput, match="Joint"):
        sf.Optimizer(sf.Problem(space, risk=sf.VaR(0.1)), sf.Method(KERNEL, policy=Replication()))


@pytest.mark.parametrize("most", [0, -1, 2.5, "3", None, True])
def test_most_is_a_count(most: object) -> None:
    with pytest.raises(sf.InvalidInput, match="most"):
        Replication(most=most)  # type: ignore[arg-type]


@pytest.mark.parametrize("spread", [0.0, -0.2, math.nan, "0.2", None])
def test_a_spread_is_positive(spread: object) -> None:
    with pytest.raises(sf.InvalidInput, match="spread"):
        Instability(spread)  # type: ignore[arg-type]


def told(replicates: dict[int, list[float]], plan: Plan = Plan()) -> sf.Optimizer:
    optimizer = sf.Optimizer(sf.Arms(LINE), sf.Method(KERNEL, ridge=0.01, plan=plan))
    for arm, values in replicates.items():
        optimizer.tell_all([arm] * len(values), values)
    return optimizer


QUIET = [10.0, 10.2, 9.9, 10.1]


class TestInstability:
    def test_a_point_that_differs_from_the_others_is_found(self) -> None:
        history = told({0: QUIET, 4: [10.0, 15.0, 10.1, 6.0], 2: QUIET, 3: QUIET, 7: QUIET}).history
        assert Instability(0.2)(history, KERNEL).tolist() == [1]

    def test_outliers_everywhere_make_no_point_unstable(self) -> None:
        spiky = [*QUIET, 30.0]
        history = told(dict.fromkeys(range(8), spiky)).history
        assert not len(Instability(0.2)(history, KERNEL))

    def test_a_spread_that_is_usual_is_no_instability(self) -> None:
        wide = [6.0, 10.0, 14.0, 9.0]
        history = told(dict.fromkeys(range(8), wide)).history
        assert not len(Instability(0.2)(history, KERNEL))

    def test_a_smaller_difference_than_the_spread_is_none(self) -> None:
        points = {0: QUIET, 1: [10.0, 11.5, 10.1, 9.9], 2: QUIET, 3: QUIET, 7: QUIET}
        assert not len(Instability(0.2)(told(points).history, KERNEL))
        assert Instability(0.1)(told(points).history, KERNEL).tolist() == [1]

    def test_too_few_replicates_or_others_say_nothing(self) -> None:
        assert not len(Instability(0.2)(told({0: QUIET, 1: [5.0, 10.0, 15.0]}).history, KERNEL))
        points = dict.fromkeys(range(5), QUIET) | {5: [5.0, 15.0]}
        assert not len(Instability(0.2)(told(points).history, KERNEL))

    def test_of_logarithms_the_spread_is_absolute(self) -> None:
        points = {arm: list(np.log(QUIET)) for arm in range(5)} | {5: [0.0, 0.5, 0.01, -0.4]}
        rule = Instability(math.log1p(0.2), relative=False)
        assert rule(told(points).history, KERNEL).tolist() == [5]

    def test_a_region_is_unstable_by_the_points_elsewhere(self) -> None:
        """No point of it is unusual beside the others of it."""
        shaky = [10.0, 15.0, 10.1, 15.1, 9.9]
        region, elsewhere = dict.fromkeys((9, 10, 11), shaky), dict.fromkeys((0, 2, 4), QUIET)
        assert Instability(0.2)(told(elsewhere | region).history, KERNEL).tolist() == [3, 4, 5]

    def test_one_with_outliers_as_elsewhere_is_not(self) -> None:
        shaky = [10.0, 15.0, 10.1, 15.1, 9.9]
        points = dict.fromkeys((9, 10, 11), shaky) | dict.fromkeys((0, 2, 4), shaky[:4])
        assert not len(Instability(0.2)(told(points).history, KERNEL))

    def test_half_of_an_even_number_may_be_outlying(self) -> None:
        points = dict.fromkeys(range(5), QUIET) | {9: [10.0, 15.0, 10.1, 15.1]}
        assert Instability(0.3)(told(points).history, KERNEL).tolist() == [5]

    def test_pairs_tell_of_the_others_alone(self) -> None:
        pairs = dict.fromkeys(range(5), QUIET[:2]) | {7: [10.0, 15.0]}
        found = told(pairs | {9: [10.0, 15.0, 10.1]}).history
        assert Instability(0.2)(found, KERNEL).tolist() == [6]

    def test_it_is_avoided_and_not_recommended(self) -> None:
        points = dict.fromkeys(range(5), QUIET) | {9: [12.0, 18.0, 12.1, 7.0]}
        kept, avoided = told(points), told(points, Plan(instability=Instability(0.2)))
        assert kept.recommend().arm == 9
        assert avoided.recommend().arm != 9
        belief = avoided.belief()
        unstable = belief.outcome.observations.sites[belief.failures.unstable]
        assert unstable.tolist() == [LINE[9].tolist()]
        assert not len(kept.belief().failures.unstable)
