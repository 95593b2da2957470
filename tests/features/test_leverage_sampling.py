"""Ridge leverage score sampling: inclusion probabilities and their arguments."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import surefoot as sf
from reference import budgeted
from reference.agreement import agree
from support.budgeted_runs import (
    ACCURACY,
    CASES,
    ERROR,
    PLANE,
    Run,
    bkb_on,
    dictionary,
    inclusions,
    line,
    mean,
)
from surefoot.features import oversampling
from surefoot.types import InvalidInput


def chances(inclusion: str, papers: np.ndarray, counts: np.ndarray, q: float) -> np.ndarray:
    """The chance of each arm, given the paper's variance of it and its pulls."""
    p = budgeted.inclusion(papers, q)
    if inclusion == "once":
        return p * (counts > 0)
    if inclusion == "per-arm":
        return np.minimum(counts * p, 1.0)
    return budgeted.inclusion_of_arm(p, counts)


class TestChances:
    """Who enters the dictionary, and how often."""

    @pytest.mark.long
    @inclusions
    @given(
        st.lists(st.tuples(st.floats(0.0, 10.0), st.integers(1, 10**6)), min_size=1, max_size=9),
        st.floats(1.0, 1e6),
    )
    def test_are_the_formulas(
        self, inclusion: Any, arms: list[tuple[float, int]], q: float
    ) -> None:
        papers, counts = (np.array(column, dtype=float) for column in zip(*arms, strict=True))
        rule = sf.LeverageSampling(q, inclusion=inclusion)
        ours = rule.chances(torch.from_numpy(papers), torch.from_numpy(counts)).numpy()
        np.testing.assert_allclose(
            ours, chances(inclusion, papers, counts, q), rtol=1e-7, atol=1e-10
        )
        assert ((ours >= 0) & (ours <= 1)).all()

    @pytest.mark.long
    @given(
        st.lists(st.floats(0.0, 1e-3), min_size=1, max_size=5),
        st.integers(1, 10**6),
        st.integers(1, 10**5),
        st.floats(0.01, 0.99),
        st.floats(0.01, 0.99),
    )
    def test_without_an_oversampling_take_that_of_theorem_1(
        self, papers: list[float], pulls: int, T: int, delta: float, epsilon: float
    ) -> None:
        q = budgeted.oversampling(T, delta, epsilon)
        assert oversampling(T, delta, epsilon) == pytest.approx(q, rel=1e-12)
        relative, counts = torch.tensor(papers).double(), torch.full((len(papers),), float(pulls))
        rule = sf.LeverageSampling(
            None, horizon=T, delta=delta, accuracy=epsilon, inclusion="per-arm"
        )
        expected = chances("per-arm", relative.numpy(), np.array(pulls), q)
        np.testing.assert_allclose(rule.chances(relative, counts), expected, rtol=1e-9)

    @given(st.integers(1, 10**6), st.floats(0.01, 0.99))
    def test_without_a_horizon_double_the_guess_and_share_delta_out(
        self, pulls: int, delta: float
    ) -> None:
        guess = 0
        while 1024 * 2**guess < pulls + 1:
            guess += 1
        share = delta / ((guess + 1) * (guess + 2))
        q = budgeted.oversampling(1024 * 2**guess, share, ACCURACY)
        rule = sf.LeverageSampling(None, delta=delta, accuracy=ACCURACY, inclusion="per-arm")
        small = torch.tensor([1e-9 / pulls], dtype=torch.float64)
        ours = rule.chances(small, torch.tensor([float(pulls)], dtype=torch.float64))
        assert float(ours) == pytest.approx(1e-9 * q, rel=1e-9)

    @pytest.mark.long
    @inclusions
    def test_draws_keep_to_them_and_are_independent(self, inclusion: Any) -> None:
        """Exact binomial tests of each arm, and of each pair being in together."""
        papers = np.array([1e-4, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 2.0])
        counts = np.array([900.0, 3.0, 40.0, 1.0, 4.0, 3.0, 1.0, 1.0])
        expected = chances(inclusion, papers, counts, 2.0)
        rule, generator = (
            sf.LeverageSampling(2.0, inclusion=inclusion),
            torch.Generator().manual_seed(5),
        )
        relative, pulls = torch.from_numpy(papers), torch.from_numpy(counts)
        draws = 4000
        drawn = torch.stack([rule.draw(relative, pulls, generator) for _ in range(draws)])
        together = (drawn.double().T @ drawn.double()).numpy().astype(int)
        tests = 36  # of 8 arms and 28 pairs
        for i in range(8):
            for j in range(i, 8):
                p = expected[i] if i == j else expected[i] * expected[j]
                assert stats.binomtest(together[i, j], draws, p).pvalue > ERROR / tests, (i, j)

    @pytest.mark.long
    @inclusions
    def test_next_dictionary_of_a_fixed_history(self, inclusion: str, tmp_path: Path) -> None:
        """One more reward told to many copies of one optimiser, each with a seed of its own."""
        case, ridge, q, copies = line(14, 0.5), 0.5, 1.5, 150
        run = Run(bkb_on(case, oversampling=q, inclusion=inclusion, ridge=ridge), case, ridge)
        for arm in [0, 0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 10, 10, 11, 12]:
            run.tell(arm)
        run.optimizer.save(tmp_path / "run")
        papers = run.sketched.variance()
        counts = np.bincount([*run.pulled, 10], minlength=14).astype(float)
        expected = chances(inclusion, papers, counts, q)
        none = float(np.prod(1 - expected))
        expected[10] += none  # where the draw is empty the last pull is taken in

        found = np.zeros(14, dtype=int)
        for seed in range(copies):
            copy = sf.Optimizer.load(tmp_path / "run")
            copy.reseed(seed)
            copy.tell(10, 1.0)
            found[dictionary(copy)] += 1
        assert found[13] == 0  # never pulled
        assert 0.1 < expected[:13].min() < 0.5
        for arm in range(13):
            p = min(expected[arm], 1.0)
            assert stats.binomtest(found[arm], copies, p).pvalue > ERROR / 13, arm

    @pytest.mark.long
    @inclusions
    @pytest.mark.parametrize("space", [None, sf.Box([0.0], [1.0])], ids=["arms", "box"])
    def test_every_round_of_a_run(self, space: sf.Box | None, inclusion: str) -> None:
        """Over the rounds, arms in the dictionary less their chances are a martingale.

        The chance of round t + 1 follows from the dictionary of round t. Arms are put together by
        their chance, and each sum is within Freedman's bound but with probability `ERROR`.
        """
        # One chance an arm, whatever its pulls, leaves more draws empty.
        case, ridge, q = line(40, 0.6), 1.0, 10.0 if inclusion == "once" else 4.0
        optimizer = bkb_on(case, space, oversampling=q, inclusion=inclusion, ridge=ridge)
        run = Run(optimizer, case, ridge)
        choice = np.random.default_rng(2)
        often = choice.dirichlet(np.full(40, 0.7))
        edges = np.linspace(0.0, 1.0, 9)
        excess, spread, empty = np.zeros(8), np.zeros(8), 0.0
        run.tell(0)
        for _ in range(180):
            papers = run.sketched.variance()
            run.tell(int(choice.choice(40, p=often)))
            counts = np.bincount(run.pulled, minlength=40).astype(float)
            p = chances(inclusion, papers, counts, q)
            inside = np.zeros(40)
            inside[run.dictionary] = 1.0
            assert (inside[p == 0.0] == 0).all()
            assert (inside[p == 1.0] == 1).all()
            bins = np.clip(np.digitize(p, edges) - 1, 0, 7)
            np.add.at(excess, bins, inside - p)
            np.add.at(spread, bins, p * (1 - p))
            empty += float(np.prod(1 - p))
        assert empty < 1e-8  # an empty draw takes in the last pull, which these chances leave out
        assert (spread > 10).sum() >= 6
        for x, v in zip(np.abs(excess), spread, strict=True):
            assert x <= freedman(v, ERROR / 8)

        sketched = run.sketched
        v = sketched.variance()
        agree(
            optimizer.belief().posterior.mean(case.points).numpy(),
            sketched.mean(np.array(run.rewards)),
        )
        ours = optimizer.belief().posterior.variance(case.points).numpy()
        np.testing.assert_allclose(ours, ridge * v, rtol=1e-7)
        assert optimizer.width == pytest.approx(run.beta(v) / math.sqrt(ridge), rel=1e-7)


def freedman(variance: float, error: float) -> float:
    """What a martingale of steps at most 1 stays within, at this predictable variance.

    P(|M| >= x and V <= v) <= 2 exp(-x^2 / (2 (v + x / 3))) (Freedman 1975, Theorem 1.6), for
    v = 1, 2, 4, ..., 2^15 at once.
    """
    v = 2.0 ** math.ceil(math.log2(max(variance, 1.0)))
    assert v <= 2**15
    logarithm = math.log(2 * 16 / error)
    return logarithm / 3 + math.sqrt(logarithm**2 / 9 + 2 * v * logarithm)


class TestBadInput:
    """Values that no rule can have."""

    @pytest.mark.parametrize("value", [0.99, 0.0, -1.0, math.nan, math.inf, "2", True])
    @pytest.mark.parametrize("name", ["oversampling", "ratio"])
    def test_oversampling_and_ratio_are_numbers_of_at_least_one(
        self, name: str, value: Any
    ) -> None:
        with pytest.raises(InvalidInput, match=f"`{name}` is .*expected a"):
            sf.LeverageSampling(**{name: value})

    @pytest.mark.long
    @given(st.floats(max_value=1.0, exclude_max=True, allow_nan=False))
    def test_no_oversampling_below_one(self, value: float) -> None:
        with pytest.raises(InvalidInput, match="`oversampling`"):
            bkb_on(CASES["se"], oversampling=value)

    @given(st.floats(1.0, 1e300))
    def test_any_oversampling_from_one_on(self, value: float) -> None:
        assert sf.LeverageSampling(value, "adaptive", value).oversampling == value

    @pytest.mark.parametrize("name", ["resample", "inclusion"])
    @pytest.mark.parametrize("word", ["never", "", "EVERY-ROUND", None, 1])
    def test_unknown_words(self, name: str, word: Any) -> None:
        with pytest.raises(InvalidInput, match=f"`{name}` is {word!r}, expected '"):
            sf.LeverageSampling(**{name: word})

    @pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 1.5, math.nan, "0.1"])
    @pytest.mark.parametrize("name", ["delta", "accuracy"])
    def test_delta_and_accuracy_are_strictly_between_0_and_1(self, name: str, value: Any) -> None:
        for make in (
            lambda: sf.LeverageSampling(**{name: value}),
            lambda: oversampling(10, **{name: value}),
            lambda: bkb_on(CASES["se"], **{name: value}),
        ):
            with pytest.raises(InvalidInput, match=f"`{name}`"):
                make()

    @pytest.mark.parametrize("value", [0, -3, 2.5, "10", True])
    def test_a_horizon_is_a_count(self, value: Any) -> None:
        for make in (
            lambda: oversampling(value),
            lambda: sf.LeverageSampling(None, horizon=value),
        ):
            with pytest.raises(InvalidInput, match="`horizon`"):
                make()

    def test_a_dictionary_is_drawn_by_a_kernel_that_is_given(self) -> None:
        with pytest.raises(InvalidInput, match="`LeverageSampling` needs a kernel that is given"):
            sf.Optimizer(sf.Arms(PLANE), sf.Method(features=sf.LeverageSampling()))

    @pytest.mark.parametrize("points", [0, [], [[]], [[math.nan]]])
    def test_a_set_of_arms_is_not_empty(self, points: Any) -> None:
        with pytest.raises(InvalidInput, match="`points`"):
            sf.Arms(points)

    @pytest.mark.parametrize("arm", [-1, 30, 2.5])
    def test_a_wrong_tell_changes_nothing(self, arm: Any) -> None:
        run = Run(bkb_on(CASES["se"]), CASES["se"], 1.0)
        run.ask_and_tell(5)
        before = run.dictionary.tolist(), mean(run.optimizer), run.optimizer.width
        for where, reward in ((arm, 1.0), (0, math.nan), (0, math.inf)):
            with pytest.raises(InvalidInput):
                run.optimizer.tell(where, reward)
        assert run.dictionary.tolist() == before[0]
        assert (mean(run.optimizer) == before[1]).all()
        assert run.optimizer.width == before[2]


def test_rewards_that_were_not_asked_for_renew_the_dictionary() -> None:
    arms, kernel = sf.Arms(np.linspace(0.0, 1.0, 60)[:, None]), sf.kernels.squared_exponential(0.2)
    draw = np.random.default_rng(0)
    chosen = draw.integers(0, 60, 200)
    rewards = np.sin(6.0 * chosen / 59.0) + 0.1 * draw.normal(size=200)
    optimizer, at_once = (
        sf.algorithms.bbkb(arms, kernel, noise=0.1, oversampling=5.0, ridge=0.05) for _ in range(2)
    )
    for arm, reward in zip(chosen.tolist(), rewards.tolist(), strict=True):
        optimizer.tell(arm, reward)
    at_once.tell_all(chosen.tolist(), rewards.tolist())
    found, expected = optimizer.recommend(), at_once.recommend()
    assert found.lower < expected.value < found.upper
    assert found.upper - found.lower < 2.0 * (expected.upper - expected.lower)
