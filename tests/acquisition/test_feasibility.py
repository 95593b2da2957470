"""What failures say of points does not depend on when somebody looked, and can be copied."""

import copy

import pytest
import torch

import surefoot as sf
from surefoot.algorithms import gp_ucb
from surefoot.beliefs.success import Feasibility

LINE = torch.linspace(0.0, 1.0, 30, dtype=torch.float64).unsqueeze(-1)


def chances(look: bool) -> torch.Tensor:
    optimizer = gp_ucb(sf.Arms(LINE), sf.kernels.squared_exponential(0.3))
    for step in range(12):
        query = optimizer.ask()
        if step in (2, 5):
            optimizer.forget(query)
        else:
            optimizer.tell(query, float(torch.sin(9.0 * query.point).sum()))
        if look and step > 0:
            optimizer.recommend()
    assert not optimizer.belief().candidates.feasible.is_certain
    return optimizer.belief().candidates.feasible(optimizer.space.points)


@pytest.mark.long
def test_looking_leaves_every_bit_as_it_is() -> None:
    assert torch.equal(chances(look=False), chances(look=True))


@pytest.mark.long
def test_an_optimizer_with_failures_in_a_box_can_be_copied() -> None:
    optimizer = gp_ucb(sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.3))
    optimizer.tell([0.2], 1.0)
    optimizer.forget([0.8])
    optimizer.ask()
    assert torch.equal(copy.deepcopy(optimizer).ask().point, optimizer.ask().point)


def test_the_sums_over_arms_are_those_of_any_points() -> None:
    generator = torch.Generator().manual_seed(0)
    sites = torch.rand(9, 1, dtype=torch.float64, generator=generator)
    kernel, arms = sf.kernels.squared_exponential(0.3), LINE.clone()
    counts = torch.ones(9, dtype=torch.float64)
    chance = Feasibility([kernel], arms)
    for count in range(1, 7):
        failed = sites[6 : 7 + count // 3]
        counts[count // 2] += 1.0
        ones = torch.ones(len(failed), dtype=torch.float64)
        chance = chance.updated([kernel], sites[:count], counts[:count], failed, ones)
        assert torch.allclose(chance(arms), chance(arms.clone()), rtol=1e-7)
        anew = Feasibility([kernel], arms)
        anew = anew.updated([kernel], sites[:count], counts[:count], failed, ones)
        assert torch.equal(chance(arms), anew(arms))
    before = [kernel], sites[:2], counts[:2], sites[6:7], ones[:1]
    fewer = chance.updated(*before)  # a reward was taken back
    anew = Feasibility([kernel], arms).updated(*before)
    assert torch.equal(fewer(arms), anew(arms))


def feasibility(succeeded: list[float], failed: list[float], times: float = 1.0) -> Feasibility:
    """On the line, with so many successes at each site."""
    kernel, sites, failures = (
        sf.kernels.squared_exponential(0.3),
        on_line(succeeded),
        on_line(failed),
    )
    counts = torch.full((len(sites),), times, dtype=torch.float64)
    ones = torch.ones(len(failures), dtype=torch.float64)
    return Feasibility([kernel], sites[:0]).updated([kernel], sites, counts, failures, ones)


def on_line(values: list[float]) -> torch.Tensor:
    return torch.tensor(values, dtype=torch.float64).unsqueeze(-1)


def chance_of(
    at: list[float], succeeded: list[float], failed: list[float], times: float = 1.0
) -> list[float]:
    """Of points to recommend."""
    return feasibility(succeeded, failed, times).of_recommendation(on_line(at)).tolist()


def test_failures_by_chance_leave_all_points_but_their_own_as_they_are() -> None:
    sites = torch.linspace(0.0, 1.0, 21).tolist()
    assert chance_of(sites, sites, [0.11, 0.52, 0.83]) == pytest.approx([1.0] * 21)
    alone, among = chance_of([0.52], [0.0, 1.0], [0.52]), chance_of([0.52], sites, [0.52])
    assert max(alone[0], among[0]) < 0.03


def test_a_point_that_has_also_succeeded_is_not_excluded() -> None:
    at_once, later = (chance_of([0.5], [0.2, 0.5], [0.5], times)[0] for times in (1.0, 9.0))
    assert at_once > 0.5
    assert later == pytest.approx(1.0)


def test_the_point_of_a_failure_is_recommended_if_it_succeeds_but_not_tried_again() -> None:
    optimizer = gp_ucb(sf.Arms(LINE[::6]), sf.kernels.squared_exponential(0.1))
    for arm, reward in enumerate([0.0, 0.1, 5.0, 0.2, 0.1]):
        optimizer.tell_all([arm] * 9, [reward] * 9)
    optimizer.forget(2)
    assert optimizer.recommend().arm == 2
    assert optimizer.ask().arm != 2


def test_several_failures_exclude_a_region() -> None:
    inside, border, outside = chance_of([0.8, 0.5, 0.2], [0.1, 0.2, 0.3], [0.7, 0.75, 0.85, 0.9])
    assert inside < 0.05
    assert 0.1 < border < 0.8
    assert outside == pytest.approx(1.0)


def test_in_the_search_doubt_ends_halfway_to_the_nearest_success() -> None:
    others, success = [0.1, 0.3, 0.7], 0.5 - 1e-4
    points = on_line([0.5, 0.5 - 2e-5, 0.5 - 6e-5])
    chances = feasibility([*others, success], [0.5])(points).tolist()
    assert chances[0] < 0.03
    assert chances[1] < 0.1
    assert chances[2] > 0.5


def test_an_edge_may_be_anywhere_on_the_way_to_a_failure() -> None:
    succeeded = [0.0, 0.1, 0.2, 0.3, 0.4]
    measured, close, farther, between = chance_of([0.4, 0.405, 0.42, 0.5], succeeded, [0.6])
    assert measured == pytest.approx(1.0)
    assert measured > close > farther > between
    assert between < 0.6
    assert 1.0 - close == pytest.approx(0.25 * (1.0 - farther), rel=0.2)  # by their distances


def test_failures_are_told_apart_by_what_any_objective_depends_on() -> None:
    first, second = (
        sf.kernels.squared_exponential(torch.tensor(each, dtype=torch.float64))
        for each in ([0.3, 30.0], [30.0, 0.3])
    )
    succeeded = torch.tensor([[0.2, 0.9], [0.8, 0.8], [0.5, 0.7]], dtype=torch.float64)
    failed = torch.tensor([[0.2, 0.1], [0.8, 0.2], [0.5, 0.3]], dtype=torch.float64)
    ones = torch.ones(3, dtype=torch.float64)
    for kernels, apart in (([first], False), ([first, second], True), ([second, first], True)):
        chance = Feasibility(kernels, succeeded[:0]).updated(kernels, succeeded, ones, failed, ones)
        good, bad = chance(torch.tensor([[0.3, 0.8], [0.3, 0.2]], dtype=torch.float64)).tolist()
        assert (good > 3.0 * bad) is apart


@pytest.mark.long
@pytest.mark.parametrize("edge", [0.05, 0.3, 0.62])
@pytest.mark.parametrize("slope", [1.0, 30.0])
def test_what_is_recommended_beside_an_edge_was_measured(edge: float, slope: float) -> None:
    """The value is best at the edge of what succeeds, which is anywhere between two points."""
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    measured = [one / 12.0 for one in range(13)]
    for x in measured:
        if x > edge:
            optimizer.tell([x], slope * (1.0 - x) ** 2)
        else:
            optimizer.forget([x])
    first = min(x for x in measured if x > edge)
    assert float(optimizer.recommend().point) == pytest.approx(first)
