"""Pulls without rewards lower the variance by one update, however many there are."""

import pytest
import torch

import surefoot as sf
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import Posterior
from surefoot.regression.ridge import RidgeFactor

POINTS = torch.linspace(0.0, 1.0, 40, dtype=torch.float64).unsqueeze(-1)
KERNEL = sf.kernels.squared_exponential(0.2)
LISTS = {
    "none": [],
    "one": [(3, 1)],
    "an arm twice": [(3, 1), (20, 4), (3, 2)],
    "as many as arms": [(arm, 1 + arm % 3) for arm in range(40)],
    "more than features": [(7 * number % 40, 1) for number in range(64)],
}


def posterior(resample: bool) -> Posterior:
    sampling = sf.LeverageSampling(5.0, "adaptive")
    features = sf.Nystrom(sampling) if resample else sf.QuadratureFourier(32)
    optimizer = sf.Optimizer(sf.Arms(POINTS), sf.Method(KERNEL, features=features, ridge=0.1))
    optimizer.tell_all([0, 10, 20, 30], [1.0, 2.0, 0.0, 3.0])
    return optimizer.belief().posterior


@pytest.mark.parametrize("resample", [False, True], ids=["lasting", "a dictionary"])
@pytest.mark.parametrize("name", LISTS)
def test_together_they_are_what_they_are_one_by_one(name: str, resample: bool) -> None:
    pulls = [Pull(POINTS[arm], arm, times) for arm, times in LISTS[name]]
    one_by_one = before = posterior(resample)
    for pull in pulls:
        one_by_one = one_by_one.updated([pull])
    together = before.updated(pulls)
    for ours, expected in zip(
        together.mean_and_deviation(POINTS), one_by_one.mean_and_deviation(POINTS), strict=True
    ):
        torch.testing.assert_close(ours, expected, rtol=0.0, atol=1e-10)
    fresh = together.of_rewards.mean_and_deviation(POINTS)
    torch.testing.assert_close(fresh, before.mean_and_deviation(POINTS), rtol=0.0, atol=0.0)


@pytest.mark.parametrize("number", [0, 1, 2, 10, 64, 65, 100, 300])
def test_the_factor_after_pulls_is_the_factor_of_all(number: int) -> None:
    generator = torch.Generator().manual_seed(number)
    first, more = (torch.rand(n, 12, dtype=torch.float64, generator=generator) for n in (5, number))
    counts = torch.arange(number, dtype=torch.float64) % 4 + 1.0
    ours, directions = RidgeFactor.of(first, 0.3).after(more, counts)
    ones = torch.ones(5, dtype=torch.float64)
    expected = RidgeFactor.of(torch.cat([first, more]), 0.3, torch.cat([ones, counts]))
    torch.testing.assert_close(ours.gram, expected.gram)
    torch.testing.assert_close(ours.inverse, expected.inverse, rtol=1e-9, atol=1e-10)
    assert ours.information_gain == pytest.approx(expected.information_gain)
    fallen = RidgeFactor.of(first, 0.3).leverage(more) - expected.leverage(more)
    torch.testing.assert_close((more @ directions).square().sum(-1), fallen, rtol=0.0, atol=1e-10)
