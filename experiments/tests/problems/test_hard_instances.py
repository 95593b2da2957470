"""The hard instances are what the lower bound's proof requires of them."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from surefoot import InvalidInput, kernels
from surefoot_experiments.problems import HardFamily, RareRewards, hard_family

CASES = [(alpha, nu) for alpha in (0.25, 0.5, 1.0) for nu in (math.inf, 2.5)]
cases = pytest.mark.parametrize(("alpha", "nu"), CASES)


def values(family: HardFamily) -> torch.Tensor:  # (M, A)
    return torch.stack([function.values for function in family.functions])


@pytest.mark.long
@cases
def test_every_arm_is_good_for_one_function_at_most(alpha: float, nu: float) -> None:
    family = hard_family(500, alpha=alpha, nu=nu)
    f = values(family)
    assert len(family) > 2
    torch.testing.assert_close(f.max(-1).values, torch.full((len(f),), 2 * family.gap).double())
    regret = 2 * family.gap - f
    assert int((regret < family.gap).sum(0).max()) == 1
    assert len({int(each.argmax()) for each in f}) == len(family)
    assert float(f.abs().max()) <= 2 * family.gap * (1 + 1e-12)


@pytest.mark.long
@cases
@pytest.mark.parametrize("moment", [0.5, 3.0])
def test_moments_and_norms_are_within_their_bounds(alpha: float, nu: float, moment: float) -> None:
    family = hard_family(300, alpha=alpha, nu=nu, moment=moment, norm_bound=2.0)
    size = family.law.size
    for function in family.functions:
        chance = function.values.abs() / size
        assert float(chance.max()) < 1.0
        assert float((chance * size ** (1 + alpha)).max()) <= moment * (1 + 1e-12)
        assert function.norm <= 2.0
        # The least norm of any function with these values at a few arms.
        some = torch.arange(3, len(function.values), 9)
        points = function.space.points[some]
        gram = kernels.block(function.kernel, points, points) + 1e-10 * torch.eye(len(some))
        f = function.values[some]
        assert float(f @ torch.linalg.solve(gram, f)) ** 0.5 <= function.norm * 1.001
    assert family.problem(0).moment.bound == pytest.approx(moment)
    assert family.problem(0).moment.alpha == alpha


def test_rewards_are_as_often_and_as_large_as_said() -> None:
    law, means = RareRewards(4.0), torch.tensor([0.8, -0.4, 0.0], dtype=torch.float64)
    random = np.random.default_rng(0)
    for arm, (mean, sign) in enumerate(zip(means.tolist(), (1.0, -1.0, 0.0), strict=True)):
        arms = torch.full((20_000,), arm)
        y = law.draw(arms, means[arms], random)
        assert set(y.tolist()) <= {0.0, 4.0 * sign}
        hits = int((y != 0.0).sum())
        assert stats.binomtest(hits, 20_000, abs(mean) / 4.0).pvalue > 1e-6
    assert law.moment(1.5, means) == pytest.approx(0.8 * 4.0**0.5)
    with pytest.raises(InvalidInput, match="none above"):
        law.draw(torch.tensor([0]), torch.tensor([5.0]).double(), random)


@pytest.mark.parametrize("alpha", [0.25, 1.0])
def test_no_rule_has_less_regret_than_the_bound(alpha: float) -> None:
    """Rules that would do well: round robin over the peaks, then the first that paid."""
    family = hard_family(200, alpha=alpha)
    f, T, M = values(family).numpy(), family.horizon, len(family)
    regret = 2 * family.gap - f
    round_robin = f.argmax(-1)[np.arange(T) % M]
    random = np.random.default_rng(0)
    totals = []
    for j in np.arange(M).repeat(200):
        paid = random.random(T) < f[j, round_robin] / family.law.size
        first = int(paid.argmax()) if paid.any() else T
        found = regret[j, round_robin[min(first, T - 1)]]
        totals.append(regret[j, round_robin[: first + 1]].sum() + found * max(T - first - 1, 0))
    error = np.std(totals) / math.sqrt(len(totals))
    assert family.lower_bound < np.mean(totals) + 4.0 * error
    assert 0.0 < np.mean(totals) < regret.mean() * T  # it does learn
    assert 0.0 < family.lower_bound < regret.mean() * T


@pytest.mark.long
def test_the_bound_grows_with_the_rate_of_the_theorem() -> None:
    horizons = np.array([10**k for k in range(3, 9)])
    for alpha in (0.25, 0.5, 1.0):
        bounds = [hard_family(int(T), alpha=alpha).lower_bound for T in horizons]
        slope = np.polyfit(np.log(horizons), np.log(bounds), 1)[0]
        assert 1 / (1 + alpha) - 0.02 < slope < 1 / (1 + alpha) + 0.06


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ({"horizon": 0}, "horizon"),
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": 1.5}, "alpha"),
        ({"moment": -1.0}, "moment"),
        ({"norm_bound": 0.0}, "norm_bound"),
        ({"lengthscale": float("nan")}, "lengthscale"),
        ({"nu": 0.0}, "nu"),
        ({"lengthscale": 50.0}, "no two peaks fit"),
    ],
    ids=str,
)
def test_arguments_out_of_range(parts: dict, match: str) -> None:
    with pytest.raises(InvalidInput, match=match):
        hard_family(**{"horizon": 100, **parts})
