"""What is recommended after failures, and beside points that are not of the space."""

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.algorithms import robust_ucb


@pytest.mark.slow
@pytest.mark.parametrize("box", [sf.Box([0.0], [10.0], levels={0: [1, 2, 5, 10]}), None])
def test_a_measured_point_that_is_not_of_the_space_is_not_recommended(box: sf.Box | None) -> None:
    if box is None:
        box, points = sf.Box([0.0, 0.0], [1.0, 1.0], choices=[[0, 1]]), [[0.5, 0.5], [0, 1], [1, 1]]
    else:
        points = [[3.3], [1.0], [10.0]]
    optimizer = robust_ucb(box)
    for point, reward in zip(points, (3.0, 1.0, 0.0), strict=True):
        optimizer.tell(point, reward)
    best = optimizer.recommend().point
    assert torch.equal(best, box.snap(best[None])[0])


@pytest.mark.slow
@pytest.mark.parametrize("rewards", [(5.0, 5.0), (5.0,)])
def test_an_arm_that_always_failed_is_not_recommended(rewards: tuple[float, ...]) -> None:
    optimizer = robust_ucb(sf.Arms([[0.0], [0.5], [1.0]]), seed=0)
    for _ in range(6):
        optimizer.forget(0)
    for arm, reward in enumerate(rewards, 1):
        optimizer.tell(arm, reward)
    assert optimizer.recommend().arm != 0


@pytest.mark.slow
@pytest.mark.parametrize("designs", [sf.Box([0.0], [1.0]), sf.Arms(np.linspace(0, 1, 11)[:, None])])
def test_a_single_failure_hides_no_design(designs: sf.Arms | sf.Box) -> None:
    world = sf.FiniteEnvironment([0.3, 0.4, 0.5, 0.6, 0.7])
    kernel = sf.kernels.squared_exponential([0.3, 0.3])
    optimizer = sf.algorithms.v_ucb(sf.Joint(designs, world), kernel, level=0.1, ridge=1e-4)
    for x in np.linspace(0.0, 1.0, 11):
        for z in (0.3, 0.5, 0.7):
            optimizer.tell([x], -((x - z) ** 2), environment=z)
    optimizer.forget([0.5], environment=0.6)
    assert float(optimizer.recommend().point) == 0.5
    assert float(optimizer.recommend(by="lower").point) == 0.5
    for x in np.linspace(0.0, 1.0, 11)[4:7]:
        for z in (0.3, 0.4, 0.5, 0.6, 0.7) * 4:
            optimizer.forget([x], environment=z)
    assert not 0.35 < float(optimizer.recommend().point) < 0.65
