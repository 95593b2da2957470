"""The largest bound of all arms is found without the bounds of most of them."""

from dataclasses import replace
from typing import Any

import pytest
import torch

import surefoot as sf
from surefoot.acquisition import UpperConfidenceBound
from surefoot.acquisition.argmax import ArmBound

POINTS = torch.rand(700, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
KERNEL = sf.kernels.squared_exponential(0.3)

MEMORY, SINGLE = sf.spaces.InMemory(), sf.spaces.InMemory("float32")


def run(number: int, storage: Any, **parts: Any) -> sf.Optimizer:
    arms = sf.Arms(POINTS, storage=storage)
    optimizer = sf.algorithms.bkb(
        arms, KERNEL, noise=0.3, norm_bound=3.0, oversampling=3.0, choose="guarded", **parts
    )
    noise = torch.Generator().manual_seed(number)
    for _ in range(number):
        query = optimizer.ask()
        error = 0.3 * float(torch.randn((), generator=noise, dtype=torch.float64))
        optimizer.tell(query, float(torch.sin(5.0 * query.point).sum()) + error)
    return optimizer


@pytest.mark.daily(2)
@pytest.mark.parametrize("storage", [MEMORY, SINGLE], ids=["double", "single"])
@pytest.mark.parametrize("number", [1, 2, 10, 65])
def test_the_best_arm_is_the_best_of_all(number: int, storage: Any) -> None:
    belief = run(number, storage, ridge=0.1).belief()
    tolerance = 1e-9 if storage is MEMORY else 1e-4
    for width in (0.0, 0.3, 1.0, 3.0, belief.band.width):
        narrow = replace(belief, band=belief.band.of_width(width))
        bound = UpperConfidenceBound()(narrow.candidates, torch.Generator())
        assert isinstance(bound, ArmBound)
        every = narrow.candidates.bound(POINTS, width)
        best = bound.best(None).arm
        assert float(every[best]) == pytest.approx(float(every.max()), abs=tolerance)
        assert bool((bound.ceiling >= every - tolerance).all())
        some = torch.tensor([0, 3, 699, best])
        ends, all_ends = bound.ends(some), narrow.band.ends(POINTS)
        for ours, expected in zip(ends, all_ends, strict=True):
            torch.testing.assert_close(ours, expected[some], rtol=0.0, atol=tolerance)
        among = [belief.space.location(POINTS[arm], arm) for arm in (5, 7, 11)]
        chosen = bound.best(among).arm
        assert float(every[chosen]) == pytest.approx(float(every[[5, 7, 11]].max()), abs=1e-9)


def test_bounds_that_are_not_those_of_the_theorem_are_found_at_all_arms() -> None:
    belief = run(3, MEMORY, ridge=0.1, scale=0.5).belief()
    assert not isinstance(UpperConfidenceBound()(belief.candidates, torch.Generator()), ArmBound)
