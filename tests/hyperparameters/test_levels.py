"""Levels that values agree on are structure, single values far from all others are outliers."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import surefoot as sf
from surefoot.hyperparameters import HyperparameterFit, TrainingData, standardisation
from surefoot.hyperparameters.fitted import Fitted
from surefoot.regression.levels import apart_from, levels_of
from surefoot.regression.transforms import ONE_LEVEL, Levels, Warp

NUMBER = 40


def _points(dimension: int, seed: int = 3) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(NUMBER, dimension, dtype=torch.float64, generator=generator)


def _noise(seed: int = 0) -> torch.Tensor:
    return torch.randn(NUMBER, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def _fitted(points: torch.Tensor, rewards: torch.Tensor) -> torch.Tensor:
    unit = torch.ones(points.shape[1], dtype=torch.float64)
    data = TrainingData(points, rewards, 0.0 * unit, unit)
    return HyperparameterFit(lengthscales="short", warped=True).fit(data).weights


GAPS = st.lists(
    st.tuples(st.floats(0.5, 10.0), st.floats(0.1, 100.0)), min_size=1, max_size=4
)  # distance from the gap before, and width


@pytest.mark.long
@given(GAPS, st.floats(0.01, 200.0), st.floats(-20.0, 500.0), st.floats(1e-6, 50.0))
def test_levels_keep_the_order_and_are_undone_by_their_inverse(widths, length, low, step):
    gaps, end = [], 0.0
    for distance, width in widths:
        gaps.append((end + distance, end + distance + width))
        end = gaps[-1][1]
    levels = Levels(tuple(gaps), length)
    values = torch.tensor([low, low + step], dtype=torch.float64)
    transformed = levels(values)
    assert float(transformed[0]) < float(transformed[1])
    torch.testing.assert_close(levels.inverse(transformed), values, rtol=0.0, atol=1e-7)


def test_the_slope_of_levels_is_their_derivative():
    levels = Levels(((1.0, 11.0), (12.0, 52.0)), 2.0)
    at = torch.tensor([0.5, 1.5, 6.0, 11.5, 12.2, 30.0, 60.0], dtype=torch.float64)
    at.requires_grad_()
    (slope,) = torch.autograd.grad(levels(at).sum(), at)
    torch.testing.assert_close(levels.log_slope(at).exp(), slope)


def test_levels_are_found_between_groups_and_not_between_single_values():
    groups = torch.tensor([0.0, 0.1, 0.2, 0.3, 5.0, 90.0, 90.1], dtype=torch.float64)
    assert levels_of(groups).gaps == ((0.3, 90.0),)
    assert levels_of(torch.tensor([0.0, 0.1, 0.2, 0.1, 90.0, 200.0])) is ONE_LEVEL
    assert levels_of(torch.linspace(0.0, 1.0, 30)) is ONE_LEVEL
    assert levels_of(torch.full((9,), 3.0)) is ONE_LEVEL


@pytest.mark.parametrize("power", [-200, 200])
def test_levels_are_those_of_any_unit(power):
    values = torch.where(_points(1)[:, 0] > 0.6, 5.0, 12.0) + 0.01 * _noise()
    found, other = levels_of(values), levels_of(values * 2.0**power)
    scaled = tuple((low * 2.0**power, high * 2.0**power) for low, high in found.gaps)
    assert other == Levels(scaled, found.length * 2.0**power)


def test_values_at_their_limit_are_kept_apart_from_those_below_it():
    clipped = torch.tensor([-1e-3, -0.5, -2.0, 0.0, 0.0], dtype=torch.float64)
    assert apart_from(0.0, clipped)(clipped).tolist() == [-1e-3, -0.5, -2.0, 0.499, 0.499]
    assert apart_from(0.0, torch.tensor([-1.0, 0.0, 1.0])) is ONE_LEVEL  # not clipped
    assert apart_from(0.0, torch.zeros(3)) is ONE_LEVEL


@pytest.mark.long
@pytest.mark.parametrize(("dimension", "edge"), [(1, 0.8), (2, 0.75), (4, 0.75), (6, 0.8)])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_few_values_on_another_level_are_no_outliers(dimension, edge, sign):
    points = _points(dimension)
    above = points[:, 0] > edge
    weights = _fitted(points, sign * torch.where(above, 2.65, -3.89) + 0.004 * _noise())
    assert float((weights[above] > 0.5).double().mean()) > 0.7


def test_values_far_from_all_others_stay_outliers_beside_levels():
    points = _points(2)
    rewards = torch.where(points[:, 0] > 0.6, 2.65, -3.89) + 0.05 * _noise()
    rewards[::13] -= torch.tensor([20.0, 35.0, 60.0, 90.0], dtype=torch.float64)
    weights = _fitted(points, rewards)
    assert float(weights[::13].max()) < 0.1
    assert float(weights.median()) > 0.5


@pytest.mark.long
@pytest.mark.parametrize("size", [5.0, -5.0])
def test_spikes_of_one_size_stay_outliers(size):
    points = _points(2, seed=5)
    rewards = torch.sin(3.0 * points[:, 0]) + 0.05 * _noise()
    rewards[::13] += size
    assert not levels_of(rewards).is_identity
    weights = _fitted(points, rewards)
    assert float(weights[::13].max()) < 0.1


@pytest.mark.long
@pytest.mark.parametrize("size", [100.0, -100.0])
@pytest.mark.parametrize(("number", "outliers"), [(20, 3), (40, 4)])
def test_a_few_outliers_of_one_size_are_neither_a_level_nor_compressed(number, outliers, size):
    for seed in range(6):
        generator = torch.Generator().manual_seed(seed)
        points = torch.rand(number, 2, dtype=torch.float64, generator=generator)
        function = (points - 0.4).square().sum(-1) + 0.5 * points[:, 0]
        noise = torch.randn(number, dtype=torch.float64, generator=generator)
        chosen = torch.randperm(number, generator=generator)[:outliers]
        rewards = function + 0.02 * noise
        rewards[chosen] += size
        assert float(_fitted(points, rewards)[chosen].max()) < 0.5


@pytest.mark.long
def test_a_function_that_grows_far_is_compressed_and_has_no_outliers():
    points = _points(2)
    rewards = -torch.exp(6.0 * points[:, 0] - 3.0 * points[:, 1]) * (1.0 + 0.1 * _noise())
    assert float((_fitted(points, rewards) > 0.5).double().mean()) > 0.9


def _has_levels(fitted: Fitted) -> bool:
    return any(isinstance(part, Levels) for part in fitted.warp.parts)


def _line(loads: tuple[float, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """Points, of which one coordinate has few values, and rewards that grow with it by 10."""
    points = _points(2)
    points[:, 1] = torch.tensor(loads, dtype=torch.float64).repeat(NUMBER)[:NUMBER]
    rewards = 10.0 * points[:, 1] + (points[:, 0] - points[:, 1] / 10.0).square() + 0.01 * _noise()
    return points, rewards


@pytest.mark.long
@pytest.mark.parametrize("steps", [None, 1.0])
@pytest.mark.parametrize("loads", [(2.0, 4.0, 6.0, 8.0), (2.0, 8.0), (2.0, 4.0, 5.0, 7.0, 9.0)])
def test_levels_of_a_coordinate_with_few_values_are_no_jumps_between_them(loads, steps):
    points, rewards = _line(loads)
    levels = {1: torch.arange(0.0, 11.0, steps).double()} if steps else {}
    box = sf.Box([0.0, 0.0], [1.0, 10.0], levels=levels)
    optimizer = sf.algorithms.robust_ucb(box, seed=0)
    optimizer.tell_all(points, rewards)
    between = torch.cartesian_prod(torch.tensor([0.3, 0.8]), torch.tensor([3.0, 6.0, 8.0]))
    between = between[between[:, 1] < max(loads)].double()
    truth = 10.0 * between[:, 1] + (between[:, 0] - between[:, 1] / 10.0).square()
    _, lower, upper = optimizer.belief().predict(between)
    assert bool(((lower <= truth) & (truth <= upper)).all())


@pytest.mark.long
@pytest.mark.parametrize("loads", [(2.0, 4.0, 6.0, 8.0), (2.0, 8.0)])
def test_where_nothing_may_be_between_them_they_stay_levels(loads):
    points, rewards = _line(loads)
    unit = torch.tensor([1.0, 10.0], dtype=torch.float64)
    known = TrainingData(points, rewards, 0.0 * unit, unit)
    rule = HyperparameterFit(warped=True)
    assert _has_levels(rule.fit(known))
    assert not _has_levels(rule.fit(replace(known, unfilled=(0, 1))))
    assert _has_levels(rule.fit(replace(known, unfilled=(0,))))


@pytest.mark.long
def test_a_jump_in_another_coordinate_is_one_beside_few_values():
    generator = torch.Generator().manual_seed(1)
    points = _points(2)
    points[:, 1] = torch.randint(0, 4, (NUMBER,), generator=generator) / 3.0
    rewards = 100.0 * (points[:, 0] > 0.5) + 0.1 * points[:, 1] + 0.01 * _noise()
    unit = torch.ones(2, dtype=torch.float64)
    data = TrainingData(points, rewards, 0.0 * unit, unit, unfilled=(0, 1))
    assert _has_levels(HyperparameterFit(warped=True).fit(data))
    converged = torch.cat([points, points[:1].expand(30, -1)])  # replicates of one point
    again = torch.cat([rewards, rewards[:1] + 0.01 * _noise(2)[:30]])
    data = TrainingData(converged, again, 0.0 * unit, unit, unfilled=(0, 1))
    assert _has_levels(HyperparameterFit(warped=True).fit(data))


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("unit", [(0.0, 1.0), (-3e5, 7.0)], ids=["0 and 1", "shifted"])
def test_two_values_are_not_compressed_as_any_transformation_of_them_is_affine(seed, unit):
    """Where a search for a pass has reached 20 to 80 measurements."""
    generator = torch.Generator().manual_seed(seed)
    points = torch.rand(20 + 12 * seed, 2, dtype=torch.float64, generator=generator)
    passed = ((points - 0.4).square().sum(-1) < 0.1).double()
    offset, scale = unit
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), seed=0)
    optimizer.tell_all(points, offset + scale * passed)
    belief = optimizer.belief()
    assert belief.outcome.transform.is_affine
    best = (optimizer.recommend().upper - offset) / scale
    assert best < 2.5  # before up to 42


@pytest.mark.parametrize("anchor", [0.0, 2.0])
def test_a_value_that_repeats_has_the_slope_between_its_neighbours(anchor):
    warp = Warp(anchor, 0.5)
    rewards = torch.tensor([2.0, 0.0, 1.0, 0.0, 2.0, 5.0, 1.0], dtype=torch.float64)
    found = standardisation._log_secants(warp, rewards).exp()
    low, middle, high, far = (float(warp(rewards[index])) for index in (1, 2, 0, 5))
    own = float(warp.log_slope(rewards[5]).exp())
    expected = {0.0: middle - low, 1.0: (high - low) / 2.0, 2.0: (far - middle) / 4.0, 5.0: own}
    assert found.tolist() == pytest.approx([expected[one] for one in rewards.tolist()])
    near = torch.tensor([0.1 + 0.2, 0.3, 0.3], dtype=torch.float64)  # apart by rounding
    assert bool(standardisation._log_secants(warp, torch.cat([rewards, near])).isfinite().all())
    for few in (rewards[:3], rewards[5:6], rewards[[1, 3]]):  # all differ, or none does
        assert torch.equal(standardisation._log_secants(warp, few), warp.log_slope(few))
