"""Points that failed before there was any reward are kept away from."""

from collections.abc import Callable

import pytest
import torch

import surefoot as sf
from surefoot.algorithms import bkb, gp_ucb, robust_ucb

LINE = torch.linspace(0.0, 1.0, 6, dtype=torch.float64).unsqueeze(-1)
KERNEL = sf.kernels.squared_exponential(0.2)
ON_ARMS: dict[str, Callable[[], sf.Optimizer]] = {
    "gp": lambda: gp_ucb(sf.Arms(LINE), KERNEL),
    "bare": lambda: gp_ucb(sf.Arms(6), sf.kernels.precomputed(torch.eye(6))),
    "linear": lambda: gp_ucb(sf.Arms(LINE), sf.kernels.linear()),  # one arm varies most
    "bkb": lambda: bkb(sf.Arms(LINE), KERNEL, noise=0.1),
    "robust": lambda: robust_ucb(sf.Arms(LINE)),
}


@pytest.mark.parametrize("make", ON_ARMS.values(), ids=ON_ARMS)
def test_every_arm_is_tried_before_one_is_again(make: Callable[[], sf.Optimizer]) -> None:
    optimizer = make()
    asked = []
    for _ in range(6):
        query = optimizer.ask()
        asked.append(query.arm)
        optimizer.forget(query)
    assert sorted(asked) == list(range(6))
    assert optimizer.ask().arm in range(6)  # all failed, and one must be tried again


def test_a_measurement_that_was_given_up_may_come_again() -> None:
    optimizer = gp_ucb(sf.Arms(1), sf.kernels.precomputed(torch.eye(1)))
    optimizer.forget(optimizer.ask(), failed=False)
    assert optimizer.ask().arm == 0


@pytest.mark.parametrize("seed", range(5))
def test_on_a_box_failures_are_kept_away_from(seed: int) -> None:
    optimizer = gp_ucb(sf.Box([0.0], [1.0]), KERNEL, seed=seed)
    for point in torch.linspace(0.0, 0.5, 6, dtype=torch.float64):
        optimizer.forget([float(point)])
    assert float(optimizer.ask().point[0]) > 0.8
