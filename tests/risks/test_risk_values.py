"""Risks against the paper's definitions in whole numbers, `reference.risk`.

Chances are ratios there, so that a level may stand exactly on the end of an atom, where a running
sum of floats misses it by rounding.
"""

import math
import re
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import surefoot as sf
from reference import risk as reference
from support.risk_cases import Case, equal, examples, random_case, random_level, seeds, tensor
from surefoot.risks import CVaR, Mean, Risk, VaR, WorstCase
from surefoot.spaces import FiniteEnvironment
from surefoot.types import InvalidInput


@st.composite
def small_case(draw: st.DrawFn) -> Case:
    """One that Hypothesis can make smaller when a test fails."""
    n = draw(st.integers(1, 6))
    whole = st.lists(st.integers(0, 6), min_size=n, max_size=n)
    masses = np.array(draw(whole.filter(any)))
    parts = int(masses.sum()) * draw(st.sampled_from([1, 2]))
    level = Fraction(draw(st.integers(1, max(1, parts - 1))), max(2, parts))
    return Case(np.array([draw(whole)]), masses, level)


def check_values(case: Case) -> None:
    """Values at risk and worst cases are values, and equal; means to rounding."""
    # Rounding of running sums is relative to the level that a tail is divided by.
    room = 1e-14 * (1.0 + np.abs(case.values).max()) / float(case.level)
    for risk, expected in case.risks.items():
        found = risk(tensor(case.values), case.weights).numpy()
        allowed = 0.0 if isinstance(risk, VaR | WorstCase) else room
        assert np.abs(found - expected).max() <= allowed, (risk, case)


class TestValues:
    @pytest.mark.long
    @seeds
    @examples(10)
    def test_every_risk_is_its_definition(self, seed: int) -> None:
        """40,000 functions of Z, on 2,000 environments."""
        rng = np.random.default_rng(seed)
        for _ in range(200):
            check_values(random_case(rng, rows=20))

    @pytest.mark.long
    @given(case=small_case())
    @examples(100)
    def test_every_risk_is_its_definition_in_small(self, case: Case) -> None:
        check_values(case)

    @pytest.mark.long
    @given(case=small_case())
    @examples(100)
    def test_both_definitions_of_the_conditional_value_at_risk_agree(self, case: Case) -> None:
        integral = reference.cvar_as_integral(case.values[0], case.masses, case.level)
        tail = reference.cvar(case.values, case.masses, case.level)
        assert tail[0] == pytest.approx(float(integral), abs=1e-12)

    def test_level_of_25_values_where_floats_round_the_index_up(self) -> None:
        assert math.ceil(25 * 0.28) == 8  # in floats; the seventh value is the right one
        values, weights = torch.arange(25, 0, -1, dtype=torch.float64), equal(25)
        assert VaR(0.28)(values, weights) == 7.0
        assert float(CVaR(0.28)(values, weights)) == pytest.approx(4.0, abs=1e-13)

    @pytest.mark.long
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

    @pytest.mark.long
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
    @pytest.mark.long
    @seeds
    @examples(10)
    def test_monotone_translated_scaled_and_ordered(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        for _ in range(20):
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

    @pytest.mark.long
    @seeds
    @examples(10)
    def test_bounds_pass_through(self, seed: int) -> None:
        """Lemma 2, exactly where a risk is one of the values."""
        rng = np.random.default_rng(seed)
        for _ in range(20):
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
        for _ in range(20):
            case = random_case(rng, rows=5)
            low, high = sorted([float(case.level), float(random_level(rng, case.masses))])
            for measure, room in ((VaR, 0.0), (CVaR, 1e-13 / low * np.abs(case.values).max())):
                less = measure(low)(tensor(case.values), case.weights)
                more = measure(high)(tensor(case.values), case.weights)
                assert bool((less <= more + room).all())


class TestGradients:
    @pytest.mark.daily(4)
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
        for _ in range(10):
            case = random_case(rng, rows=3)
            for risk in case.risks:
                f = tensor(case.values).clone().requires_grad_()
                (gradient,) = torch.autograd.grad(risk(f, case.weights).sum(), f)
                assert bool((gradient >= 0.0).all())
                assert bool((gradient[:, case.weights == 0.0] == 0.0).all()), (risk, case)
                torch.testing.assert_close(gradient.sum(-1), torch.ones(3).double())


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
            ([[0.2, 0.3, 0.5]], "`weights` has shape (1, 3)", "(n,)"),
            ([], "`weights` has shape (0,)", "(n,)"),
            ([0.5, 0.5, math.nan], "`weights` has values that are NaN or infinite", "finite"),
            ([0.5, math.inf, 0.5], "`weights` has values that are NaN or infinite", "finite"),
            (["a", "b", "c"], "`weights` has values of type str", "real numbers"),
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
