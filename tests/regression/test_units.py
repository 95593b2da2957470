"""Units of rewards, and transformations of them."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from surefoot.regression.transforms import UNCHANGED, UNWARPED, Chain, Warp
from surefoot.regression.units import RewardUnits

NUMBERS = st.floats(-1e6, 1e6)
KNEES = st.floats(1e-3, 1e6)


@given(anchor=NUMBERS, knee=KNEES, distance=st.floats(-50.0, 50.0))
def test_a_warp_is_undone_by_its_inverse(anchor, knee, distance):
    warp = Warp(anchor, knee)
    reward = torch.tensor([anchor + knee * math.sinh(distance)], dtype=torch.float64)
    error = float((warp.inverse(warp(reward)) - reward).abs())
    # Rounding of the warped value, which is near the anchor, grows with the inverse's slope.
    slope = math.exp(-float(warp.log_slope(reward)))
    assert error <= 1e-14 * slope * (abs(anchor) + knee * (1.0 + abs(distance))) * 4.0


@given(anchor=NUMBERS, knee=KNEES, first=NUMBERS, second=NUMBERS)
def test_a_warp_keeps_the_order(anchor, knee, first, second):
    low, high = sorted([first, second])
    warped = Warp(anchor, knee)(torch.tensor([low, high], dtype=torch.float64))
    assert float(warped[0]) <= float(warped[1])


def test_the_slope_of_a_warp_is_its_derivative():
    warp, at = Warp(2.0, 0.5), torch.tensor([-30.0, 1.9, 2.0, 7.0], dtype=torch.float64)
    at.requires_grad_()
    (slope,) = torch.autograd.grad(warp(at).sum(), at)
    torch.testing.assert_close(warp.log_slope(at).exp(), slope)


def test_without_a_knee_rewards_stay_as_they_are():
    rewards = torch.tensor([-1e9, 0.0, 3.0])
    assert UNWARPED(rewards) is rewards
    assert UNWARPED.inverse(rewards) is rewards
    assert not UNWARPED.log_slope(rewards).any()


@pytest.mark.parametrize("warp", [UNCHANGED, Chain((Warp(1.0, 2.0),))])
def test_one_reward_is_transformed_as_many_are(warp):
    units = RewardUnits(center=0.5, scale=3.0, warp=warp)
    rewards = torch.tensor([-1e12, -4.0, 0.0, 1e12], dtype=torch.float64)
    single = [units.transform_value(float(reward)) for reward in rewards]
    assert single == units.transform(rewards).tolist()
    assert units.within(0.0, 2.0).warp == warp


def test_the_largest_value_of_the_model_has_a_finite_reward():
    assert math.isfinite(float(Warp(0.0, 1e-3).inverse(torch.tensor(1e300, dtype=torch.float64))))
