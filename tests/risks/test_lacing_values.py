"""Lacing values against the paper's definitions in whole numbers, `reference.risk`."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from reference import covariance
from reference import risk as reference
from support.risk_cases import equal, examples, random_case, seeds, tensor
from surefoot.risks import CVaR, Mean, VaR, WorstCase


class TestLacing:
    @seeds
    @examples(10)
    def test_lacing_values_are_those_of_the_paper(self, seed: int) -> None:
        """Definition 1 for VaR, the minimisers of l for the worst case."""
        rng = np.random.default_rng(seed)
        for _ in range(25):
            case = random_case(rng, rows=10)
            lower, upper = case.bounds(rng)
            bounds = tensor(lower), tensor(upper), case.weights
            expected = reference.lacing(lower, upper, case.masses, case.level)
            assert (VaR(float(case.level)).lacing(*bounds).numpy() == expected).all(), case
            expected = reference.stable_lacing(lower, case.masses)
            assert (WorstCase().lacing(*bounds).numpy() == expected).all(), case

    @pytest.mark.long
    @seeds
    @examples(10)
    def test_lacing_values_of_the_widest_level(self, seed: int) -> None:
        """CVaR: those of a level that is widest, any where several are. In whole numbers."""
        rng = np.random.default_rng(seed)
        for _ in range(20):
            case = random_case(rng, rows=3, most=12)
            values = np.round(10 * case.values).astype(int)
            lower = values - rng.integers(0, 9, size=values.shape)
            upper = values + rng.integers(0, 9, size=values.shape)
            found = CVaR(float(case.level)).lacing(tensor(lower), tensor(upper), case.weights)
            for one, low, high in zip(found.numpy(), lower, upper, strict=True):
                allowed = reference.cvar_lacing(low, high, case.masses, case.level)
                assert any((one == widest).all() for widest in allowed), (case, low, high)

    @pytest.mark.long
    @seeds
    @examples(10)
    def test_there_is_one_and_it_is_as_uncertain_as_the_risk(self, seed: int) -> None:
        """Theorem 1, and the step of Lemma 3 that keeps regret low."""
        rng = np.random.default_rng(seed)
        for _ in range(20):
            case = random_case(rng, rows=10)
            lower, upper = map(tensor, case.bounds(rng))
            room = 1e-13 * (1.0 + float((upper - lower).max())) / float(case.level)
            for risk in case.risks:
                lacing = risk.lacing(lower, upper, case.weights)
                assert bool(lacing.any(-1).all()), (risk, case)
                assert not bool(lacing[:, case.weights == 0.0].any()), "outside the support of Z"
                interval = risk(upper, case.weights) - risk(lower, case.weights)
                assert bool((interval[:, None] <= upper - lower + room)[lacing].all()), (risk, case)

    @seeds
    @examples(5)
    def test_the_mean_is_laced_where_the_interval_is_as_wide(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
            case = random_case(rng, rows=10)
            apart = rng.integers(0, 4, size=case.values.shape)
            expected = apart * case.masses.sum() >= (apart * case.masses).sum(-1, keepdims=True)
            found = Mean().lacing(tensor(0 * apart), tensor(apart), case.weights)
            assert (found.numpy() == (expected & (case.masses > 0))).all()

    @seeds
    @examples(10)
    def test_at_a_tiny_level_they_are_those_of_the_worst_case(self, seed: int) -> None:
        """Corollary 2.2."""
        rng = np.random.default_rng(seed)
        for level in (1e-300, 1e-13, 1e-9, 1e-6):
            case = random_case(rng, rows=10)
            lower, upper = map(tensor, case.bounds(rng))
            worst = WorstCase().lacing(lower, upper, case.weights)
            for risk in (VaR(level), CVaR(level)):
                assert torch.equal(risk.lacing(lower, upper, case.weights), worst)


class TestAlgorithmOne:
    """The risks in the algorithm: bounds of an exact Gaussian process on 12 designs times 9 z."""

    level = Fraction(1, 5)
    masses = np.array([3, 1, 4, 1, 5, 0, 2, 6, 3])
    grid = np.array([(x, z) for x in np.linspace(0, 1, 12) for z in np.linspace(0, 1, 9)])
    K = covariance.gram(covariance.squared_exponential(np.full(2, 0.3)), grid, grid)

    def test_what_it_asks(self) -> None:
        """V-UCB and StableOpt in each of 40 rounds, and the regret of Lemma 3."""
        rng = np.random.default_rng(0)
        f = rng.multivariate_normal(np.zeros(len(self.K)), self.K, method="eigh").reshape(12, 9)
        worth = reference.var(f, self.masses, self.level)
        weights = tensor(self.masses / self.masses.sum())
        risks = VaR(float(self.level)), WorstCase()
        pairs, y = [0], [f[0, 0]]
        for t in range(1, 41):
            known = reference.Round(self.K, np.array(pairs), np.array(y), 0.01, t, self.masses)
            lower, upper = known.bounds()
            assert (lower <= f).all()
            assert (f <= upper).all()
            asked = known.v_ucb(self.level), known.stable_opt()
            for risk, (x, lacing) in zip(risks, asked, strict=True):
                assert int(risk(tensor(upper), weights).argmax()) == x
                found = risk.lacing(tensor(lower[x]), tensor(upper[x]), weights)
                assert (found.numpy() == lacing).all()
                assert lacing.any()
            x, lacing = asked[0]
            assert worth.max() - worth[x] <= (upper - lower)[x][lacing].min()
            z = int(rng.choice(np.flatnonzero(lacing)))
            pairs.append(9 * x + z)
            y.append(f[x, z] + 0.1 * rng.normal())

    def test_at_a_tiny_level_it_is_stable_opt(self) -> None:
        """Corollary 2.2."""
        rng = np.random.default_rng(1)
        pairs, y = rng.integers(len(self.K), size=30), rng.normal(size=30)
        known = reference.Round(self.K, pairs, y, 0.01, 5, self.masses)
        x, lacing = known.v_ucb(Fraction(1, 10**6))
        worst, minimisers = known.stable_opt()
        assert (x, lacing.tolist()) == (worst, minimisers.tolist())


class TestExampleOne:
    """Figure 1: z0, z1, z2 alike, level 0.4, f known at z1 and z2; VaR lies between those two."""

    risk = VaR(0.4)
    weights = equal(3)
    lower = torch.tensor([0.0, 1.0, 2.0]).double()
    upper = torch.tensor([3.0, 1.0, 2.0]).double()

    def interval(self, lower: torch.Tensor, upper: torch.Tensor) -> tuple[float, float]:
        return float(self.risk(lower, self.weights)), float(self.risk(upper, self.weights))

    def after(self, z: int, f: float, left: float) -> tuple[torch.Tensor, torch.Tensor]:
        """Bounds when so much is left of the interval at z, about f, by measuring there."""
        lower, upper = self.lower.clone(), self.upper.clone()
        lower[z] = f - left * (f - lower[z])
        upper[z] = f + left * (upper[z] - f)
        return lower, upper

    def test_lacing_value(self) -> None:
        assert self.interval(self.lower, self.upper) == (self.lower[1], self.upper[2])
        lacing = self.risk.lacing(self.lower, self.upper, self.weights)
        assert lacing.tolist() == [True, False, False]

    @pytest.mark.parametrize("z", [1, 2])
    @pytest.mark.parametrize("left", [0.5, 0.1, 0.0])
    def test_measuring_where_the_bounds_lie_gains_nothing(self, z: int, left: float) -> None:
        bounds = self.after(z, float(self.lower[z]), left)
        assert self.interval(*bounds) == self.interval(self.lower, self.upper)

    @pytest.mark.parametrize("f", [0.0, 0.5, 1.2, 1.5, 1.9, 2.5, 3.0])
    def test_measuring_the_lacing_value_laces_up(self, f: float) -> None:
        widths = [2.0 - 1.0]
        for left in (0.5, 0.25, 0.1, 0.0):
            low, high = self.interval(*self.after(0, f, left))
            assert low <= min(max(f, 1.0), 2.0) <= high
            widths.append(high - low)
        assert widths == sorted(widths, reverse=True)
        assert widths[-1] == 0.0

    def test_figure_1c(self) -> None:
        """u(z0) falls below u(z2), and becomes the upper end."""
        assert self.interval(*self.after(0, 1.3, 0.2)) == pytest.approx((1.04, 1.64))
