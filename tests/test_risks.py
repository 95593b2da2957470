"""Risks and their lacing values against the paper's definitions in whole numbers, `reference.risk`.

Chances are ratios there, so that a level may stand exactly on the end of an atom, where a running
sum of floats misses it by rounding.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from reference import covariance
from reference import risk as reference
from surefoot.risks import CVaR, Mean, Risk, VaR, WorstCase
from surefoot.spaces import FiniteEnvironment
from surefoot.types import InvalidInput

seeds = given(seed=st.integers(0, 2**32 - 1))


def examples(number: int) -> Callable:
    return settings(max_examples=number, deadline=None, database=None, derandomize=True)


@dataclass(frozen=True)
class Case:
    """An environment of whole-number masses, a level, and functions of it (rows, n)."""

    values: np.ndarray
    masses: np.ndarray  # (n,)
    level: Fraction

    @property
    def weights(self) -> torch.Tensor:
        return torch.as_tensor(self.masses / self.masses.sum())

    @property
    def risks(self) -> dict[Risk, np.ndarray]:
        """What each risk of the values is by definition."""
        values, masses, level = self.values, self.masses, self.level
        return {
            Mean(): reference.mean(values, masses),
            VaR(float(level)): reference.var(values, masses, level),
            CVaR(float(level)): reference.cvar(values, masses, level),
            WorstCase(): reference.worst_case(values, masses),
        }

    def bounds(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (rows, n) about the values; some z are known for certain."""
        kind = rng.integers(3)
        if kind == 0:  # of whole numbers, with ties
            apart = rng.integers(0, 4, size=(2, *self.values.shape))
        elif kind == 1:  # as wide everywhere, where the mean of the widths is met by rounding alone
            apart = np.ones((2, *self.values.shape), dtype=int) * rng.integers(0, 4)
        else:
            apart = rng.exponential(size=(2, *self.values.shape))
        return self.values - apart[0], self.values + apart[1]


def random_masses(rng: np.random.Generator, most: int) -> np.ndarray:
    """Masses (n,) of 1 to `most` z: alike, few and nothing at some, any, or one of them big."""
    n, kind = int(rng.integers(1, most + 1)), rng.integers(4)
    masses = rng.integers(0, 4 if kind == 1 else 1000, size=n) if kind else np.ones(n, dtype=int)
    masses[rng.integers(n)] += 1 if kind < 3 else 10_000
    return masses


def random_level(rng: np.random.Generator, masses: np.ndarray) -> Fraction:
    """The end of an atom, a hair beside it, a hundredth, or any ratio; all in (0, 1)."""
    kind, level = rng.integers(4), Fraction(0)
    if kind < 2:
        level = Fraction(int(rng.permutation(masses)[: rng.integers(1, len(masses) + 1)].sum()))
        level = level / int(masses.sum()) + kind * int(rng.choice([-1, 1])) * Fraction(1, 10**6)
    elif kind == 2:
        level = Fraction(int(rng.integers(1, 100)), 100)
    return level if 0 < level < 1 else Fraction(int(rng.integers(1, 997)), 997)


def random_case(rng: np.random.Generator, rows: int, most: int = 60) -> Case:
    masses = random_masses(rng, most)
    shape, kind = (rows, len(masses)), rng.integers(3)
    if kind == 0:  # many ties
        values = rng.integers(-3, 4, size=shape)
    elif kind == 1:
        values = rng.permuted(np.tile(np.arange(shape[1]), (rows, 1)), axis=1)
    else:
        values = rng.normal(size=shape)
    return Case(values, masses, random_level(rng, masses))


@st.composite
def small_case(draw: st.DrawFn) -> Case:
    """One that Hypothesis can make smaller when a test fails."""
    n = draw(st.integers(1, 6))
    whole = st.lists(st.integers(0, 6), min_size=n, max_size=n)
    masses = np.array(draw(whole.filter(any)))
    parts = int(masses.sum()) * draw(st.sampled_from([1, 2]))
    level = Fraction(draw(st.integers(1, max(1, parts - 1))), max(2, parts))
    return Case(np.array([draw(whole)]), masses, level)


def tensor(values: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float64)


def equal(n: int) -> torch.Tensor:
    """The weights (n,) of an environment that names none."""
    return FiniteEnvironment(range(n)).weights


def check_values(case: Case) -> None:
    """Values at risk and worst cases are values, and equal; means to rounding."""
    # Rounding of running sums is relative to the level that a tail is divided by.
    room = 1e-14 * (1.0 + np.abs(case.values).max()) / float(case.level)
    for risk, expected in case.risks.items():
        found = risk(tensor(case.values), case.weights).numpy()
        allowed = 0.0 if isinstance(risk, VaR | WorstCase) else room
        assert np.abs(found - expected).max() <= allowed, (risk, case)


class TestValues:
    @seeds
    @examples(25)
    def test_every_risk_is_its_definition(self, seed: int) -> None:
        """100,000 functions of Z, on 5,000 environments."""
        rng = np.random.default_rng(seed)
        for _ in range(200):
            check_values(random_case(rng, rows=20))

    @given(case=small_case())
    @examples(200)
    def test_every_risk_is_its_definition_in_small(self, case: Case) -> None:
        check_values(case)

    @given(case=small_case())
    @examples(200)
    def test_both_definitions_of_the_conditional_value_at_risk_agree(self, case: Case) -> None:
        integral = reference.cvar_as_integral(case.values[0], case.masses, case.level)
        tail = reference.cvar(case.values, case.masses, case.level)
        assert tail[0] == pytest.approx(float(integral), abs=1e-12)

    def test_level_of_25_values_where_floats_round_the_index_up(self) -> None:
        assert math.ceil(25 * 0.28) == 8  # in floats; the seventh value is the right one
        values, weights = torch.arange(25, 0, -1, dtype=torch.float64), equal(25)
        assert VaR(0.28)(values, weights) == 7.0
        assert float(CVaR(0.28)(values, weights)) == pytest.approx(4.0, abs=1e-13)

    def test_every_number_of_equal_weights_and_every_hundredth(self) -> None:
        """And numpy's `inverted_cdf`, which multiplies n by the level in floats.

        It is left out where that product is on the wrong side of a whole number, at 13 of the
        9,900 pairs, (25, 0.28) one of them: whole numbers decide there alone.
        """
        levels = [k / 100 for k in range(1, 100)]
        left_out = []
        for n in range(1, 101):
            values, weights = np.random.default_rng(n).normal(size=n), equal(n)
            found = np.array([float(VaR(level)(tensor(values), weights)) for level in levels])
            exact = np.array([-(-n * k // 100) for k in range(1, 100)])
            assert (found == np.sort(values)[exact - 1]).all(), n
            agrees = np.array([math.ceil(n * level) for level in levels]) == exact
            theirs = np.quantile(values, levels, method="inverted_cdf")
            assert (found == theirs)[agrees].all(), n
            left_out += [(n, levels[i]) for i in np.flatnonzero(~agrees)]
        assert len(left_out) == 13
        assert (25, 0.28) in left_out

    def test_every_number_of_equal_weights_and_every_end_of_an_atom(self) -> None:
        for n in range(2, 101):
            values, weights = tensor(np.random.default_rng(n).permutation(n)), equal(n)
            found = [float(VaR(k / n)(values, weights)) for k in range(1, n)]
            assert found == list(range(n - 1)), n

    @pytest.mark.parametrize("level", [1e-300, 1e-15, 1e-13, 1e-9, 1e-3])
    @pytest.mark.parametrize("measure", [VaR, CVaR])
    def test_at_a_tiny_level_both_are_the_worst_case(self, measure: type, level: float) -> None:
        """Theorem 2. The worst case is that of the support: what never comes does not count."""
        values = torch.tensor([[-9.0, 3.0, 1.0, 2.0], [5.0, 4.0, 6.0, 7.0]]).double()
        weights = torch.tensor([0.0, 0.5, 0.3, 0.2], dtype=torch.float64)
        assert WorstCase()(values, weights).tolist() == [1.0, 4.0]
        assert measure(level)(values, weights).tolist() == [1.0, 4.0]

    @pytest.mark.parametrize("n", [3, 7, 49, 60, 1000])
    def test_at_a_level_next_to_one(self, n: int) -> None:
        """The largest value that may come, not the larger one that never does; and the mean."""
        level = math.nextafter(1.0, 0.0)
        values = torch.arange(float(n + 1)).double()
        weights = torch.cat([equal(n), torch.zeros(1, dtype=torch.float64)])
        assert VaR(level)(values, weights) == n - 1
        mean = Mean()(values, weights)
        torch.testing.assert_close(CVaR(level)(values, weights), mean, rtol=1e-12, atol=0.0)

    @pytest.mark.parametrize("n", [999, 4096, 10_000, 30_000])
    def test_many_values(self, n: int) -> None:
        """As many as draws of a continuous environment: running sums gather their rounding."""
        values, weights = tensor(np.random.default_rng(n).permutation(n)), equal(n)
        for k in (1, 2, n // 10, n // 3, n // 2, n - 2, n - 1):
            assert VaR(k / n)(values, weights) == k - 1

    @pytest.mark.parametrize("risk", [Mean(), VaR(0.3), CVaR(0.3), WorstCase()])
    def test_leading_dimensions_are_a_loop(self, risk: Risk) -> None:
        rng = np.random.default_rng(0)
        values, weights = tensor(rng.normal(size=(3, 2, 9))), tensor(rng.dirichlet(np.ones(9)))
        found = risk(values, weights)
        upper = values + tensor(rng.exponential(size=values.shape))
        lacing = risk.lacing(values, upper, weights)
        assert found.shape == (3, 2)
        assert (lacing.shape, lacing.dtype) == ((3, 2, 9), torch.bool)
        for i, j in np.ndindex(3, 2):
            alone = risk(values[i, j], weights)
            assert alone.shape == ()
            torch.testing.assert_close(found[i, j], alone, rtol=1e-14, atol=1e-14)
            assert torch.equal(lacing[i, j], risk.lacing(values[i, j], upper[i, j], weights))
        assert risk(values[:0], weights).shape == (0, 2)

    def test_they_are_values_that_compare(self) -> None:
        assert sf.VaR(0.1) == VaR(0.1) != VaR(0.2)
        assert {sf.Mean(), sf.WorstCase(), sf.CVaR(0.1)} == {Mean(), WorstCase(), CVaR(0.1)}


class TestProperties:
    @seeds
    @examples(10)
    def test_monotone_translated_scaled_and_ordered(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(40):
            case = random_case(rng, rows=5)
            values, weights = tensor(case.values), case.weights
            larger = values + tensor(rng.exponential(size=values.shape).round(1))
            shift, factor = float(rng.normal()), float(rng.exponential())
            room = 1e-13 * (1.0 + float(larger.abs().max())) / float(case.level)
            for risk in case.risks:
                found = risk(values, weights)
                assert bool((found <= risk(larger, weights) + room).all())
                assert bool((found >= values.amin(-1) - room).all())
                assert bool((found <= values.amax(-1) + room).all())
                moved = risk(factor * values + shift, weights)
                torch.testing.assert_close(moved, factor * found + shift, rtol=1e-9, atol=room)
            mean, var, cvar, worst = (risk(values, weights) for risk in case.risks)
            assert bool((worst <= cvar + room).all())
            assert bool((cvar <= var + room).all())
            assert bool((cvar <= mean + room).all())

    @seeds
    @examples(10)
    def test_bounds_pass_through(self, seed: int) -> None:
        """Lemma 2, exactly where a risk is one of the values."""
        rng = np.random.default_rng(seed)
        for _ in range(40):
            case = random_case(rng, rows=5)
            lower, upper = map(tensor, case.bounds(rng))
            for risk in case.risks:
                room = 0.0 if isinstance(risk, VaR | WorstCase) else 1e-9
                found = risk(tensor(case.values), case.weights)
                assert bool((risk(lower, case.weights) <= found + room).all())
                assert bool((risk(upper, case.weights) >= found - room).all())

    @seeds
    @examples(10)
    def test_larger_levels_are_worth_more(self, seed: int) -> None:
        """Lemma 4 of the paper; CVaR is a mean of VaR over levels."""
        rng = np.random.default_rng(seed)
        for _ in range(40):
            case = random_case(rng, rows=5)
            low, high = sorted([float(case.level), float(random_level(rng, case.masses))])
            for measure, room in ((VaR, 0.0), (CVaR, 1e-13 / low * np.abs(case.values).max())):
                less = measure(low)(tensor(case.values), case.weights)
                more = measure(high)(tensor(case.values), case.weights)
                assert bool((less <= more + room).all())


class TestGradients:
    @pytest.mark.parametrize("level", [0.28, 0.1, 0.5, 0.97])
    @pytest.mark.parametrize("n", [1, 25])
    def test_finite_differences(self, level: float, n: int) -> None:
        """Distinct values, 0.01 apart at least; equal weights, and random ones with a zero."""
        rng = np.random.default_rng(0)
        values = tensor(np.stack([rng.permutation(n) for _ in range(3)]))
        values = (values + 0.4 * torch.rand(3, n, generator=torch.Generator().manual_seed(0))) * 0.1
        shares = rng.dirichlet(np.ones(n)) * (np.arange(n) != 1)
        for weights in (equal(n), tensor(shares / shares.sum())):
            for risk in (Mean(), VaR(level), CVaR(level), WorstCase()):
                f = values.clone().requires_grad_()
                assert torch.autograd.gradcheck(lambda v, r=risk, w=weights: r(v, w), (f,))

    @seeds
    @examples(5)
    def test_shares_of_the_values_also_under_ties(self, seed: int) -> None:
        """Each risk shifts with its values, so that a gradient is shares that sum to 1."""
        rng = np.random.default_rng(seed)
        for _ in range(20):
            case = random_case(rng, rows=3)
            for risk in case.risks:
                f = tensor(case.values).clone().requires_grad_()
                (gradient,) = torch.autograd.grad(risk(f, case.weights).sum(), f)
                assert bool((gradient >= 0.0).all())
                assert bool((gradient[:, case.weights == 0.0] == 0.0).all()), (risk, case)
                torch.testing.assert_close(gradient.sum(-1), torch.ones(3).double())


class TestLacing:
    @seeds
    @examples(10)
    def test_lacing_values_are_those_of_the_paper(self, seed: int) -> None:
        """Definition 1 for VaR, the minimisers of l for the worst case."""
        rng = np.random.default_rng(seed)
        for _ in range(50):
            case = random_case(rng, rows=10)
            lower, upper = case.bounds(rng)
            bounds = tensor(lower), tensor(upper), case.weights
            expected = reference.lacing(lower, upper, case.masses, case.level)
            assert (VaR(float(case.level)).lacing(*bounds).numpy() == expected).all(), case
            expected = reference.stable_lacing(lower, case.masses)
            assert (WorstCase().lacing(*bounds).numpy() == expected).all(), case

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

    @seeds
    @examples(10)
    def test_there_is_one_and_it_is_as_uncertain_as_the_risk(self, seed: int) -> None:
        """Theorem 1, and the step of Lemma 3 that keeps regret low."""
        rng = np.random.default_rng(seed)
        for _ in range(40):
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
        for _ in range(40):
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


class TestBadInput:
    @pytest.mark.parametrize("measure", [VaR, CVaR])
    @pytest.mark.parametrize(
        "level",
        [0, 1, 0.0, 1.0, -0.1, 1.5, 10, math.nan, math.inf, -math.inf, "0.1", None, True, []],
    )
    def test_level(self, measure: type, level: object) -> None:
        expected = f"`level` is {level!r}, expected a number strictly between 0 and 1"
        with pytest.raises(InvalidInput, match=re.escape(expected)):
            measure(level)

    @pytest.mark.parametrize("level", [0.1, np.float64(0.1), Fraction(1, 10), torch.tensor(0.1)])
    def test_level_of_any_kind_of_number(self, level: float) -> None:
        assert VaR(level).level == pytest.approx(0.1)
        assert type(CVaR(level).level) is float

    @pytest.mark.parametrize(
        ("weights", "came", "expected"),
        [
            ([0.5, 0.6, -0.1], "`weights` has -0.1", "at least 0"),
            ([0.5, 0.3, 0.1], "`weights` sum to 0.9", "1: pass `weights / weights.sum()`"),
            ([1.0, 1.0, 1.0], "`weights` sum to 3", "1: pass `weights / weights.sum()`"),
            ([0.0, 0.0, 0.0], "`weights` sum to 0", "1"),
            ([0.5, 0.5], "2 `weights` came with 3 points", "one for each"),
            ([0.25] * 4, "4 `weights` came with 3 points", "one for each"),
            ([[0.2, 0.3, 0.5]], "`weights` has shape (1, 3)", "(d,)"),
            ([], "`weights` has shape (0,)", "(d,)"),
            ([0.5, 0.5, math.nan], "`weights` has values that are NaN or infinite", "finite"),
            ([0.5, math.inf, 0.5], "`weights` has values that are NaN or infinite", "finite"),
            (["a", "b", "c"], "`weights` is a list", "float64"),
        ],
    )
    def test_weights(self, weights: list, came: str, expected: str) -> None:
        with pytest.raises(InvalidInput) as caught:
            FiniteEnvironment([[0.1], [0.2], [0.3]], weights)
        assert came in str(caught.value)
        assert expected in str(caught.value)

    def test_sum_of_no_weight_at_all_is_not_divided_by(self) -> None:
        """Dividing by a sum of 0 is no way out."""
        with pytest.raises(InvalidInput) as caught:
            FiniteEnvironment([[0.1], [0.2]], [0.0, 0.0])
        assert "weights.sum()" not in str(caught.value)

    def test_weights_that_are_fine(self) -> None:
        points = [[0.1], [0.2], [0.3]]
        assert FiniteEnvironment(points).weights.tolist() == [1 / 3] * 3
        assert FiniteEnvironment(points, [0.0, 1.0, 0.0]).weights.tolist() == [0.0, 1.0, 0.0]
        rounded = torch.tensor([0.1, 0.2, 0.7], dtype=torch.float32)
        assert float(FiniteEnvironment(points, rounded).weights.sum()) == pytest.approx(
            1, abs=1e-15
        )

    @pytest.mark.parametrize("risk", [Mean(), VaR(0.2), CVaR(0.2), WorstCase()], ids=repr)
    def test_values_and_weights_that_do_not_go_together(self, risk: Risk) -> None:
        weights = torch.full((4,), 0.25, dtype=torch.float64)
        for values in (torch.zeros(3), torch.zeros(4, 3), torch.tensor(1.0)):
            with pytest.raises(InvalidInput, match=r"expected \(\.\.\., n\) and \(n,\)"):
                risk(values, weights)
        with pytest.raises(InvalidInput, match="expected a tensor"):
            risk([1.0, 2.0, 3.0, 4.0], weights)  # type: ignore[arg-type]

    @pytest.mark.parametrize("risk", [Mean(), VaR(0.2), CVaR(0.2), WorstCase()], ids=repr)
    def test_whole_numbers_are_values_too(self, risk: Risk) -> None:
        weights = torch.full((4,), 0.25, dtype=torch.float64)
        whole = torch.tensor([3, 1, 4, 2])
        assert float(risk(whole, weights)) == float(risk(whole.double(), weights))

    @pytest.mark.parametrize("kind", [list, tuple, np.array, torch.tensor])
    def test_points_of_one_coordinate_are_a_column(self, kind: Callable) -> None:
        environment = FiniteEnvironment(kind([0.25, 0.5]), kind([0.75, 0.25]))
        assert environment.points.tolist() == [[0.25], [0.5]]
        assert environment.weights.tolist() == [0.75, 0.25]
