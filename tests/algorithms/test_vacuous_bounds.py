"""A run whose bounds cannot separate any two arms says so before it begins."""

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot import algorithms, widths

LINE = np.linspace(0.0, 1.0, 40)[:, None]
ARMS, RISKY = sf.Arms(LINE), sf.Joint(sf.Arms(LINE), sf.FiniteEnvironment([[0.0], [1.0]]))
KERNEL = sf.kernels.squared_exponential(0.2)
MOMENT, LIGHT = sf.Moment(alpha=0.4, bound=12.0), sf.Moment(alpha=1.0, bound=0.04)
LOUD, QUIET = 100.0, 0.1  # sub-Gaussian constants, of a function of norm 2


def heavy(make: Any, **settings: Any) -> Callable[..., Any]:
    return lambda moment, _, **more: make(
        ARMS, KERNEL, **{"moment": moment, "norm_bound": 2.0} | settings | more
    )


def known(make: Any, **settings: Any) -> Callable[..., Any]:
    options = {"norm_bound": 2.0, **settings}
    return lambda _, noise, **more: make(ARMS, KERNEL, noise=noise, **options | more)


def bounded(make: Any, space: Any = ARMS, **settings: Any) -> Callable[..., Any]:
    return lambda _, noise, **theorem: make(
        space, KERNEL, width=widths.dual_mixture(2.0, noise, **theorem), **settings
    )


RUNS = {
    "tgp": heavy(algorithms.tgp_ucb),
    "tgp, unknown norm": heavy(algorithms.tgp_ucb, norm_bound=None),
    "ata": heavy(algorithms.ata_gp_ucb),
    "ata, nystrom": heavy(algorithms.ata_gp_ucb, features="nystrom"),
    "gp_ucb": bounded(algorithms.gp_ucb),
    "gp_ts": known(algorithms.gp_ts),
    "bkb": known(algorithms.bkb, oversampling=5.0),
    "bbkb": known(algorithms.bbkb, oversampling=5.0),
    "v_ucb": bounded(algorithms.v_ucb, RISKY, level=0.2),
    "stable_opt": bounded(algorithms.stable_opt, RISKY),
}


@pytest.mark.parametrize("make", RUNS.values(), ids=RUNS)
def test_bounds_wider_than_the_range_of_f_are_told(make: Any) -> None:
    with pytest.warns(UserWarning, match="cannot separate any two points in 10,000 rounds"):
        make(MOMENT, LOUD)


@pytest.mark.parametrize("name", RUNS)
def test_others_are_not(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if not name.startswith("tgp"):  # whose threshold grows, whatever the moment is
            RUNS[name](LIGHT, QUIET)
        RUNS[name](MOMENT, LOUD, scale=0.001)


def test_without_truncation_a_variance_is_enough() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        algorithms.gp_ucb(ARMS, KERNEL, width=sf.widths.self_normalised(LIGHT, norm_bound=2.0))


@pytest.mark.parametrize("line", [[[0.3]], [[0.3], [0.3]], np.linspace(0.0, 1.0, 10**6)[:, None]])
def test_arms_that_need_no_separation_or_are_many_are_not_told(line: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        algorithms.gp_ucb(
            sf.Arms(line), KERNEL, width=sf.widths.dual_mixture(norm_bound=1.0, noise=0.1)
        )


def test_the_horizon_is_that_of_the_run() -> None:
    with pytest.warns(UserWarning, match="in 400 rounds"):
        RUNS["ata"](MOMENT, LOUD, horizon=400)


@pytest.mark.long
def test_bounds_of_a_run_are_as_wide_as_is_said() -> None:
    """All rounds at one arm, where f is 0."""
    width = widths.dual_mixture(2.0, 200.0, shifts=[64.0])
    with pytest.warns(UserWarning, match="cannot separate") as told:
        optimizer = sf.Optimizer(ARMS, sf.Method(KERNEL, width=width))
    said = float(str(told[0].message).split("+-")[1].split()[0])
    errors = np.random.default_rng(0).standard_normal(10_000)
    optimizer.tell_all([20] * len(errors), 200.0 * (errors - errors.mean()))
    _, lower, upper = optimizer.belief().band.ends(ARMS.points[20:21])
    assert float(upper - lower) / 2.0 == pytest.approx(said, rel=0.01)
