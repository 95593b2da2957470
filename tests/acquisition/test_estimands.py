"""Location, median and mean of rewards, from the transformed function and its residuals."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import surefoot as sf
from surefoot._internal import numbers
from surefoot.beliefs import estimands
from surefoot.beliefs.estimands import LOCATION, Mean, Median, Residuals, Scales
from surefoot.regression.transforms import Affine, Chain, Log, Warp

REVERSED = Affine(scale=-1.0)
WARP = Warp(anchor=3.0, knee=0.7)
UNITS = {
    "rewards": Scales(),
    "minimised": Scales(Chain((REVERSED,))),
    "warped": Scales(transform=Chain((WARP,))),
    "warped and minimised": Scales(Chain((REVERSED,)), Chain((WARP,))),
    "logarithms": Scales(Chain((Log(), REVERSED))),
    "warped logarithms": Scales(Chain((Log(),)), Chain((WARP,))),
}
RESIDUALS = torch.from_numpy(np.random.default_rng(0).exponential(0.4, size=41)) - 0.1
FUNCTION = torch.tensor([2.0, 2.8, 3.4], dtype=torch.float64)
WIDTH = 1.96


def noise(residuals: torch.Tensor = RESIDUALS) -> Residuals:
    """Residuals that are alike as they are transformed, and never too large."""
    return Residuals(residuals, 1e9 * residuals.sign())


def ends(margin: float) -> estimands.Ends:
    return FUNCTION, FUNCTION - margin, FUNCTION + margin


def test_the_mean_of_warped_rewards_is_that_of_its_closed_form() -> None:
    """By sinh(u + v) = sinh u cosh v + cosh u sinh v."""
    z, r = (FUNCTION.numpy() - 3.0) / 0.7, RESIDUALS.numpy() / 0.7
    expected = 3.0 + 0.7 * (np.sinh(z) * np.cosh(r).mean() + np.cosh(z) * np.sinh(r).mean())
    found = Mean(noise).values(FUNCTION, UNITS["warped"])
    assert np.allclose(found.numpy(), expected, rtol=1e-12)


def test_the_mean_of_logarithms_is_the_smearing_estimate() -> None:
    """Duan 1983: exp of the prediction times the average of exp of the residuals."""
    expected = np.exp(-FUNCTION.numpy()) * np.exp(-RESIDUALS.numpy()).mean()
    found = Mean(noise).values(FUNCTION, UNITS["logarithms"])
    assert np.allclose(found.numpy(), expected, rtol=1e-12)


def test_the_interval_of_a_mean_has_the_error_of_the_average_too() -> None:
    middle, lower, upper = Mean(noise).interval(ends(0.3), UNITS["rewards"], WIDTH)
    average, error = RESIDUALS.numpy().mean(), stats.sem(RESIDUALS.numpy())
    lean = stats.skew(RESIDUALS.numpy()) * WIDTH / (3.0 * len(RESIDUALS) ** 0.5)
    assert np.allclose(middle.numpy(), FUNCTION.numpy() + average)
    above, below = (np.hypot(0.3, WIDTH * error * one) for one in (1.0 + lean, 1.0))
    assert np.allclose(upper.numpy(), middle.numpy() + above)
    assert np.allclose(lower.numpy(), middle.numpy() - below)


@pytest.mark.parametrize("units", UNITS)
def test_the_slope_is_the_derivative(units: str) -> None:
    at = FUNCTION.clone().requires_grad_()
    chain = UNITS[units].whole
    chain.inverse(at).sum().backward()
    slope = (-chain.log_slope(chain.inverse(FUNCTION))).exp()
    assert torch.allclose(slope if chain.is_increasing else -slope, at.grad, rtol=1e-12)


@pytest.mark.parametrize("units", UNITS)
def test_the_error_of_an_average_is_its_standard_error_to_first_order(units: str) -> None:
    """Of a function that is known."""
    certain, width = (FUNCTION, FUNCTION, FUNCTION), 1e-4
    middle, lower, upper = Mean(noise).interval(certain, UNITS[units], width)
    rewards = UNITS[units].reported(FUNCTION[:, None] + RESIDUALS).numpy()
    expected = width * stats.sem(rewards, axis=-1)
    assert np.allclose((upper - middle).numpy(), expected, rtol=1e-3)
    assert np.allclose((middle - lower).numpy(), expected, rtol=1e-3)


def test_the_mean_of_positive_values_has_a_positive_interval() -> None:
    units = UNITS["logarithms"]
    _, lower, _ = Mean(lambda: noise(3.0 * RESIDUALS)).interval(ends(3.0), units, WIDTH)
    assert bool((lower > 0.0).all())


@pytest.mark.parametrize("units", UNITS)
def test_the_median_is_that_of_the_rewards_that_the_residuals_give(units: str) -> None:
    rewards = UNITS[units].reported(FUNCTION[:, None] + RESIDUALS).numpy()
    found = Median(noise).values(FUNCTION, UNITS[units])
    assert np.allclose(found.numpy(), np.median(rewards, axis=-1), rtol=1e-12)


@pytest.mark.parametrize("number", [6, 7, 12, 41, 100, 1000])
def test_the_interval_of_a_median_has_at_least_its_level(number: int) -> None:
    """The number of residuals below the median is binomial (David and Nagaraja 2003, eq. 7.1.1)."""
    residuals = torch.arange(number, dtype=torch.float64)
    function = torch.zeros(1, dtype=torch.float64)
    certain = (function, function, function)
    _, lower, upper = Median(lambda: noise(residuals)).interval(certain, UNITS["rewards"], WIDTH)
    below, above = float(lower), number - 1 - float(upper)
    law = stats.binom(number, 0.5)
    assert 1.0 - law.cdf(below) - law.cdf(above) >= 0.95
    assert 1.0 - law.cdf(below + 1) - law.cdf(above + 1) < 0.95  # of the next one


@pytest.mark.parametrize("units", UNITS)
@pytest.mark.parametrize("estimand", [LOCATION, Median(noise), Mean(noise)])
def test_intervals_contain_their_value_and_grow_with_what_is_not_known(units, estimand) -> None:
    narrow = estimand.interval(ends(0.1), UNITS[units], WIDTH)
    wide = estimand.interval(ends(0.5), UNITS[units], WIDTH)
    assert torch.allclose(narrow[0], estimand.values(FUNCTION, UNITS[units]), rtol=1e-12)
    assert bool(torch.stack([wide[1] < narrow[1], narrow[1] < narrow[0]]).all())
    assert bool(torch.stack([wide[2] > narrow[2], narrow[2] > narrow[0]]).all())


@pytest.mark.parametrize("kind", [Median, Mean])
def test_symmetric_residuals_around_zero_change_no_value(kind) -> None:
    """Where a function is at the anchor of a warp, an odd function, or not transformed."""
    residuals = torch.cat([RESIDUALS, -RESIDUALS])
    anchor = torch.tensor([3.0], dtype=torch.float64)
    for units in ("rewards", "minimised", "warped"):
        found = kind(lambda: noise(residuals)).values(anchor, UNITS[units])
        assert torch.allclose(found, LOCATION.values(anchor, UNITS[units]), atol=1e-12)


def test_a_mean_over_many_values_is_the_same_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    function = torch.linspace(1.0, 5.0, 24, dtype=torch.float64).reshape(4, 6)
    whole = Mean(noise).values(function, UNITS["warped"])
    monkeypatch.setattr(numbers, "NUMBERS_AT_ONCE", 100)
    assert torch.equal(Mean(noise).values(function, UNITS["warped"]), whole)


@pytest.mark.long
@given(
    shift=st.floats(-5.0, 5.0),
    knee=st.floats(0.1, 20.0),
    sign=st.sampled_from([1.0, -1.0]),
    kind=st.sampled_from([Median, Mean]),
)
def test_configurations_have_the_same_order_by_every_estimand(shift, knee, sign, kind) -> None:
    units = Scales(Chain((Affine(scale=sign),)), Chain((Warp(0.0, knee),)))
    function = torch.tensor([shift, shift + 0.5], dtype=torch.float64)
    low, high = kind(noise).values(function, units)
    assert sign * float(high - low) > 0.0


@given(
    level=st.floats(-500.0, 500.0),
    knee=st.floats(0.01, 20.0),
    units=st.sampled_from([Chain(), Chain((REVERSED,)), Chain((Affine(scale=10.0),))]),
    is_additive=st.booleans(),
)
def test_no_reward_is_off_by_more_than_any_was(level, knee, units, is_additive) -> None:
    """Spikes of 50 at the best values, carried to where the transformation compresses most."""
    rewards = torch.full((40,), -20.0, dtype=torch.float64)
    rewards[::2] -= torch.linspace(0.0, 30.0, 20, dtype=torch.float64)
    warp = Chain((Warp(-20.0, knee),))
    spiked = rewards - torch.tensor([50.0, 0.0, 0.1, 0.0], dtype=torch.float64).repeat(10)
    found = Residuals.of(warp(rewards), spiked, torch.ones(40), warp)
    assert found.offsets.numpy() == pytest.approx((spiked - rewards).numpy(), abs=1e-6)
    found = Residuals(found.transformed, found.offsets, is_additive)
    function = warp(torch.tensor([level], dtype=torch.float64))
    scales = Scales(units, warp)
    mean = float(scales.units(Mean(lambda: found).values(function, scales)))
    assert level - 50.0 - 1e-6 <= mean <= level + 1e-6


@pytest.mark.long
def test_spikes_of_one_size_are_of_that_size_everywhere() -> None:
    """Whose compression, which on their own they would be explained by, predicts none of them."""
    optimizer = sf.algorithms.robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), estimand="mean"), seed=0)
    random = np.random.default_rng(2)
    x = np.concatenate([random.random(10), 0.4 + 0.05 * random.standard_normal(30)])
    values = -20.0 - 30.0 * (x - 0.4) ** 2 + 0.3 * random.standard_normal(40)
    values[::8] -= 50.0
    optimizer.tell_all(x[:, None], values)
    mean, lower, upper = optimizer.belief().predict([[0.4], [0.0], [1.0]])
    truth = -20.0 - 30.0 * (np.array([0.4, 0.0, 1.0]) - 0.4) ** 2 - 6.25
    assert bool(((lower.numpy() < truth) & (truth < upper.numpy())).all())
    assert np.abs(mean.numpy() - truth).max() < 10.0  # far from nearly all of them


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_one_outlier_alone_does_not_move_a_mean_off_the_location(sign: float) -> None:
    """One outlier may come by chance: its rate is not above 0 with the level of the interval."""
    spiked = torch.cat([0.01 * RESIDUALS[:30] - 0.003, torch.tensor([sign * 40.0]).double()])
    _, lower, upper = Mean(lambda: noise(spiked)).interval(ends(0.01), UNITS["rewards"], WIDTH)
    assert bool(((lower < FUNCTION) & (upper > FUNCTION)).all())


def test_a_value_beyond_zero_is_predicted_as_one() -> None:
    """Where measurements of one sign fall towards 0, a line may go on; else intervals end there."""
    ends = torch.tensor([[-0.02, 0.03], [-0.04, -0.01], [0.001, 0.07]]).double()
    found = torch.stack(estimands.of_measured_sign((*ends,), torch.linspace(0.05, 0.95, 15)))
    assert torch.equal(found, torch.tensor([[-0.02, 0.03], [-0.04, 0.0], [0.001, 0.07]]).double())
    mirrored = estimands.of_measured_sign((-ends[0], -ends[2], -ends[1]), torch.tensor([-1.0]))
    assert torch.equal(torch.stack(mirrored)[[0, 2, 1]], -found)
