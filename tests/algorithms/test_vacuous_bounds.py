"""A run whose bounds cannot separate any two arms says so before it begins."""

import warnings
from typing import Any

import numpy as np
import pytest

import surefoot as sf

ARMS = sf.Arms(np.linspace(0.0, 1.0, 40)[:, None])
KERNEL = sf.kernels.squared_exponential(0.2)
HEAVY = {"moment": sf.Moment(alpha=0.4, bound=12.0), "norm_bound": 2.0}


def truncated(*given: Any, scale: float = 1.0, **known: Any) -> sf.Optimizer:
    """TGP-UCB by its bounds alone."""
    width = sf.widths.truncated_uniform(known["moment"], known["norm_bound"], scale=scale)
    return sf.algorithms.tgp_ucb(*given, width=width, **known)


MAKES = [truncated, sf.algorithms.ata_gp_ucb]


@pytest.mark.parametrize("make", MAKES)
def test_bounds_wider_than_the_range_of_f_are_told(make: Any) -> None:
    with pytest.warns(UserWarning, match="cannot separate any two points in 10,000 rounds"):
        make(ARMS, KERNEL, **HEAVY)


def test_bounds_that_guard_a_heuristic_are_not_told() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.algorithms.tgp_ucb(ARMS, KERNEL, **HEAVY)


def test_the_horizon_is_that_of_the_run() -> None:
    with pytest.warns(UserWarning, match="in 400 rounds"):
        sf.algorithms.ata_gp_ucb(ARMS, KERNEL, horizon=400, **HEAVY)


@pytest.mark.parametrize("make", MAKES)
@pytest.mark.parametrize("settings", [{"scale": 0.01}, {"norm_bound": None}, {"ridge": 1e-6}])
def test_others_are_not(make: Any, settings: dict[str, Any]) -> None:
    if "ridge" in settings:
        settings = {"moment": sf.Moment(alpha=1.0, bound=1e-6), "norm_bound": 2.0}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make(ARMS, KERNEL, **HEAVY | settings)
