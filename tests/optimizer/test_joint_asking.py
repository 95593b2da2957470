"""Queries of a design and an environment."""

import numpy as np
import pytest
import torch
from torch import Tensor

import surefoot as sf
from support.joint_cases import (
    JOINTS,
    LINE,
    RIDGE,
    build,
    drive,
    either,
    every,
    inform,
    noisy,
    of_the_space,
)
from support.optimizers import optimizer_of
from surefoot.acquisition import Plan, ScorePolicy


class TestAsking:
    """What a query is."""

    @pytest.mark.daily(4)
    @either
    @every
    def test_every_query_is_of_the_space(self, name: str, observed: bool) -> None:
        optimizer = build(name, observed=observed)
        assert of_the_space(optimizer.space, optimizer.ask())
        inform(optimizer)
        for query in optimizer.ask_batch(1 if "box" in name else 3):
            assert of_the_space(optimizer.space, query)

    @pytest.mark.long
    @pytest.mark.parametrize("name", ["box", "box-density"])
    def test_another_seed_gives_another_run(self, name: str) -> None:
        assert drive(build(name, 0), 2) != drive(build(name, 1), 2)

    def test_first_points_are_spread_over_designs(self) -> None:
        queries = build("arms", plan=Plan(8)).ask_batch(8)
        assert sorted(query.arm for query in queries) == [*range(8)]

    @pytest.mark.parametrize("name", ["arms", "bare", "arms-shifted"])
    def test_only_the_arms_that_are_listed(self, name: str) -> None:
        optimizer = inform(build(name))
        for query in (optimizer.ask(arms=[2, 1]), optimizer.ask(arms=torch.tensor([1, 2]))):
            assert query.arm in (1, 2)
            assert of_the_space(optimizer.space, query)
        assert optimizer.ask(arms=[3]).arm == 3

    @pytest.mark.parametrize("name", ["box", "box-density"])
    def test_only_the_designs_that_are_listed(self, name: str) -> None:
        optimizer = inform(build(name))
        query = optimizer.ask(arms=[[0.123], [0.456]])
        assert query.point.tolist() in ([0.123], [0.456])
        assert of_the_space(optimizer.space, query)

    def test_of_the_designs_listed_the_one_of_largest_upper_bound(self) -> None:
        optimizer = inform(build("arms"))
        _, _, upper = optimizer.belief().predict(LINE)
        among = [0, 3, 5, 6]
        assert optimizer.ask(arms=among).arm == among[int(upper[among].argmax())]

    @pytest.mark.long
    @pytest.mark.parametrize("name", ["arms", "arms-density", "box"])
    def test_a_batch_is_spread_out(self, name: str) -> None:
        optimizer = inform(build(name))
        pairs = [
            torch.cat([query.point, query.environment])
            for query in (optimizer.ask_batch(4) if name == "box" else optimizer.ask_batch(8))
        ]
        apart: list[Tensor] = []
        for pair in pairs:
            if all(float((pair - other).norm()) > 0.02 for other in apart):
                apart.append(pair)
        assert len(apart) >= 3

    def test_a_batch_is_spread_out_where_the_world_draws_the_environment(self) -> None:
        queries = inform(build("arms", observed=True)).ask_batch(8)
        assert len({query.arm for query in queries}) >= 3

    def test_a_pair_that_is_being_measured_is_not_measured_more(self) -> None:
        optimizer = inform(build("arms"))
        query = optimizer.ask()
        for _ in range(200):
            optimizer.expect(query.arm, query.environment)
        second = optimizer.ask()
        assert [second.arm, *second.environment] != [query.arm, *query.environment]

    def test_measured_until_the_variance_has_fallen(self) -> None:
        """By 1 + n variance / ridge = 3, and never more often than all before."""
        optimizer = inform(build("arms", plan=Plan(repeat_until=3.0)), 4)
        repeats = []
        for step in range(14):
            posterior, told = optimizer.belief().posterior, len(optimizer.history)
            query = optimizer.ask()
            pair = torch.cat([query.point, query.environment]).unsqueeze(0)
            wanted = int(np.ceil(2.0 * RIDGE / float(posterior.variance(pair))))
            assert query.repeats == max(1, min(wanted, told))
            repeats.append(query.repeats)
            for _ in range(query.repeats):
                assert [other.id for other in optimizer.pending] == [query.id]
                optimizer.tell(query, noisy(query.point, query.environment, step))
            assert optimizer.pending == []
        assert max(repeats) > 1
        assert len(optimizer.history) == 4 + sum(repeats)

    @pytest.mark.long
    @pytest.mark.parametrize("name", ["arms", "arms-density", "box"])
    def test_failed_pairs_are_kept_away_from(self, name: str) -> None:
        optimizer = inform(build(name))
        failed, times = [], 2 if name == "box" else 5
        for _ in range(times):
            query = optimizer.ask()
            failed.append([*query.point.tolist(), *query.environment.tolist()])
            optimizer.forget(query)
        assert len({tuple(pair) for pair in failed}) == times
        assert optimizer.pending == []
        assert len(optimizer.history) == 6

    def test_a_query_given_up_without_failing_is_asked_again(self) -> None:
        optimizer = inform(build("arms"))
        query = optimizer.ask()
        optimizer.forget(query, failed=False)
        second = optimizer.ask()
        assert second.arm == query.arm
        assert torch.equal(second.environment, query.environment)

    @pytest.mark.long
    @pytest.mark.parametrize("name", ["arms", "box", "box-density"])
    def test_every_measurement_so_far_has_failed(self, name: str) -> None:
        optimizer = build(name)
        for _ in range(10):
            query = optimizer.ask()
            assert of_the_space(optimizer.space, query)
            optimizer.forget(query)

    @pytest.mark.long
    @either
    @pytest.mark.parametrize("name", ["arms", "box", "arms-density"])
    def test_changing_a_query_changes_nothing(self, name: str, observed: bool) -> None:
        joint = JOINTS[name](observed=observed)
        given = {"risk": sf.VaR(0.3), "policy": ScorePolicy(values=16), "ridge": RIDGE}
        optimizer = inform(optimizer_of(joint, sf.kernels.squared_exponential(0.3), **given))
        z = joint.environment.upper
        before = LINE.clone(), z.clone()
        for query in (optimizer.ask(), optimizer.expect([0.0], z)):
            query.point.add_(5.0)
            if query.environment is not None:
                query.environment.add_(5.0)
        if isinstance(optimizer.space.design, sf.Arms):
            assert torch.equal(optimizer.space.design.points, before[0])
            assert torch.equal(joint.design.points, before[0])
        assert torch.equal(optimizer.space.environment.upper, before[1])
        assert torch.equal(joint.environment.upper, before[1])
