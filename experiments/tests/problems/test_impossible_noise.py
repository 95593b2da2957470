"""Noise and rewards that no measurement could have are refused when they are named."""

import math

import pytest
import torch

from surefoot import InvalidInput
from surefoot_experiments import problems

FAMILIES = {
    problems.Gaussian: {"scale": 1.0},
    problems.StudentT: {"dof": 3.0, "scale": 1.0},
    problems.Spikes: {"probability": 0.1, "size": 3.0, "scale": 1.0},
    problems.WideSpikes: {"probability": 0.1, "smallest": 1.0, "largest": 9.0, "scale": 1.0},
    problems.Stable: {"index": 1.5, "scale": 1.0},
    problems.CenteredPareto: {"shape": 1.5, "scale": 1.0},
    problems.ParetoRewards: {"shape": 2.0},
    problems.CorruptedArm: {"arm": 1, "size": 10.0},
}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    ("family", "name"), [(family, name) for family in FAMILIES for name in FAMILIES[family]]
)
def test_every_parameter_is_finite(family, name, value):
    family(**FAMILIES[family])
    with pytest.raises(InvalidInput, match=f"`{name}` is {value}, expected"):
        family(**{**FAMILIES[family], name: value})


def test_the_corrupted_arm_is_one_of_the_arms():
    means = torch.zeros(100, dtype=torch.float64)
    assert problems.CorruptedArm(99).moment(2.0, means) == 100.0
    with pytest.raises(InvalidInput, match="`arm` is 200, expected one of 100 arms, 0 to 99"):
        problems.CorruptedArm(200).moment(2.0, means)
    with pytest.raises(InvalidInput, match="`arm` is -1, expected an integer of at least 0"):
        problems.CorruptedArm(-1)
