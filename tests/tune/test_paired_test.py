"""The paired test: exact under any noise, an interval that agrees with the decision, and power."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from surefoot.tune.comparison.paired_test import (
    FRACTIONS,
    MOST_PAIRS,
    decision_times,
    least_pairs,
    paired_test,
    pairs_to_decide,
    precisions,
)
from surefoot.types import InvalidInput

PAIRS, RUNS = 60, 600
ERROR = 1e-7  # probability that a test of a share fails though the promise is kept


def literal_evidence(
    differences: list[float], side: int, errors: list[float] | None = None
) -> float:
    """Average capital over fractions and weights, as in the module's docstring."""
    total = 0.0
    for ranked, fraction in itertools.product((False, True), FRACTIONS):
        capital = 1.0
        for i, d in enumerate(differences):
            earlier = [abs(e) for e in differences[: i + 1]]
            weight = sum(e <= abs(d) for e in earlier) / (i + 1) if ranked else 1.0
            if errors is not None:
                weight *= min(1.0, float(np.median(errors[: i + 1])) / errors[i])
            capital *= 1 + side * fraction * np.sign(d) * weight
        total += capital
    return total / (2 * len(FRACTIONS))


@pytest.mark.daily(2)
@pytest.mark.parametrize("count", [1, 2, 5, 7])
def test_the_evidence_is_a_martingale_under_random_signs(count):
    sizes = np.random.default_rng(0).pareto(1.0, count)
    for side in (-1, 1):
        all_signs = itertools.product((-1, 1), repeat=count)
        mean = np.mean([literal_evidence(list(sizes * signs), side) for signs in all_signs])
        assert mean == pytest.approx(1, rel=1e-12)


@pytest.mark.long
@given(st.lists(st.integers(-4, 4).map(float), min_size=1, max_size=12))
@settings(max_examples=60, deadline=None)
def test_decisions_follow_the_literal_evidence(differences):
    positive, negative = (literal_evidence(differences, side) for side in (1, -1))
    result = paired_test(np.array(differences))
    assert result.sign == int(positive >= 40) - int(negative >= 40)
    assert result.probability_positive == pytest.approx(positive / (positive + negative), rel=1e-9)
    first = [
        n
        for n in range(1, len(differences) + 1)
        if max(literal_evidence(differences[:n], side) for side in (-1, 1)) >= 40
    ]
    assert decision_times(np.array([differences]))[0] == (first[0] if first else 0)


@pytest.mark.long
@given(
    st.lists(st.one_of(st.floats(-9, 9), st.just(math.inf)), min_size=1, max_size=25),
    st.floats(-9, 9),
)
@settings(max_examples=60, deadline=None)
def test_the_interval_contains_what_is_not_rejected(differences, shift):
    d = np.array(differences)
    result = paired_test(d)
    assert result.lower <= result.upper
    rejected = paired_test(d - shift).sign
    if result.lower + 1e-6 < shift < result.upper - 1e-6:
        assert rejected == 0
    if shift < result.lower - 1e-6:
        assert rejected == 1
    if shift > result.upper + 1e-6:
        assert rejected == -1


def noise(kind: str, random: np.random.Generator) -> np.ndarray:
    """Measurements (runs, pairs, 2) in the order of time; both settings are the same."""
    shape = (RUNS, PAIRS, 2)
    time = np.arange(2 * PAIRS).reshape(PAIRS, 2) / (2 * PAIRS)
    factor = np.exp(0.1 * random.normal(size=shape))
    return {
        "gaussian": lambda: random.normal(size=shape),
        "log-normal": lambda: np.exp(random.normal(size=shape)),
        "pareto": lambda: random.pareto(1.5, size=shape),
        "drift": lambda: (1 + 0.3 * time) * factor,
        "steep drift": lambda: (1 + 30 * time) * factor,
        "step": lambda: np.where(time < 0.5, 1, 1.5) * factor,
        "second run slower": lambda: np.array([1, 1.5]) * factor,
        "ties": lambda: random.integers(3, size=shape).astype(float),
        "failures": lambda: np.where(random.uniform(size=shape) < 0.2, np.inf, factor),
    }[kind]()


KINDS = [
    *("gaussian", "log-normal", "pareto", "drift", "steep drift", "step", "second run slower"),
    *("ties", "failures"),
]


@pytest.mark.long
@pytest.mark.parametrize("kind", KINDS)
def test_equal_settings_are_called_different_in_at_most_5_percent(kind):
    random = np.random.default_rng(KINDS.index(kind))
    measured = noise(kind, random)
    b_first = random.integers(2, size=measured.shape[:2]).astype(bool)
    first, second = measured[..., 0], measured[..., 1]
    both_failed = np.isinf(first) & np.isinf(second)
    first, second = np.where(both_failed, 0, first), np.where(both_failed, 0, second)
    differences = np.where(b_first, first - second, second - first)
    different = (decision_times(differences) > 0).sum()
    assert different <= binom.isf(ERROR, RUNS, 0.05)


@pytest.mark.long
def test_the_interval_covers_a_constant_difference():
    random = np.random.default_rng(5)
    misses = 0
    for _ in range(300):
        noises = random.standard_t(1.5, size=(30, 2))
        result = paired_test(noises[:, 1] - noises[:, 0] + 2.0, 0.9)
        misses += not result.lower <= 2.0 <= result.upper
    assert misses <= binom.isf(ERROR, 300, 0.1)


def test_seven_clear_pairs_decide_and_six_do_not():
    d = np.array([-3.0, -2.0, -4.0, -1.0, -2.5, -3.5, -5.0])
    assert paired_test(d[:6]).sign == 0
    assert paired_test(-np.sort(-d)[::-1]).sign in (0, -1)
    assert decision_times(-np.ones((1, 9)))[0] == 7
    assert paired_test(np.full(9, -np.inf)).sign == -1


def test_a_real_difference_is_found_in_few_pairs():
    random = np.random.default_rng(2)
    base, faster = np.exp(0.1 * random.normal(size=(2, 300, 60)))
    times = decision_times(0.9 * faster - base)
    assert np.median(np.where(times > 0, times, 61)) <= 30


@pytest.mark.long
def test_missing_pairs_are_estimated():
    random = np.random.default_rng(3)
    d = random.normal(size=12) - 0.6
    assert paired_test(d).sign == 0
    more = pairs_to_decide(d)
    assert more is not None
    assert 1 <= more <= 200
    assert pairs_to_decide(-np.ones(12)) == 0
    assert pairs_to_decide(np.zeros(5)) is None
    balanced = np.tile([1.0, -1.0], 10)
    assert pairs_to_decide(balanced) is None or pairs_to_decide(balanced) > MOST_PAIRS // 20


def test_a_decision_that_was_lost_is_not_taken_for_a_small_difference():
    d = np.array([-3.0] * 7 + [-2.5, 1.5])
    assert paired_test(d[:7]).sign == -1
    assert paired_test(d).sign == 0
    assert list(decision_times(np.tile(d, (1, 2)), start=len(d))) == [10]
    more = pairs_to_decide(d)
    assert more is not None
    assert 1 <= more <= 10


def test_no_pairs_say_nothing():
    result = paired_test(np.array([]))
    assert (result.sign, result.probability_positive) == (0, 0.5)
    assert (result.lower, result.upper) == (-math.inf, math.inf)


def test_differences_of_any_size_have_an_interval():
    for size in (1e-300, 1e300):
        result = paired_test(np.full(9, size))
        assert (result.sign, result.estimate, result.lower, result.upper) == (1, *[size] * 3)
    result = paired_test(np.array([1.0, np.inf, -np.inf] * 3))
    assert (result.sign, result.estimate) == (0, 1.0)
    assert paired_test(np.full(9, -np.inf)).estimate == -np.inf


def test_invalid_input_is_refused():
    for bad in (np.array([1.0, np.nan]), np.ones((2, 2))):
        with pytest.raises(InvalidInput):
            paired_test(bad)
    for confidence in (0, 1, 1.5):
        with pytest.raises(InvalidInput):
            paired_test(np.ones(3), confidence)


@pytest.mark.daily(2)
@pytest.mark.parametrize("count", [1, 3, 6])
def test_the_evidence_with_errors_is_a_martingale_under_random_signs(count):
    random = np.random.default_rng(1)
    sizes, errors = random.pareto(1.0, count), random.lognormal(0.0, 1.0, count)
    for side in (-1, 1):
        all_signs = itertools.product((-1, 1), repeat=count)
        mean = np.mean([literal_evidence(list(sizes * s), side, list(errors)) for s in all_signs])
        assert mean == pytest.approx(1, rel=1e-12)


def test_decisions_with_errors_follow_the_literal_evidence():
    random = np.random.default_rng(2)
    errors = random.lognormal(0.0, 1.0, 12)
    d = 1.0 + errors * random.standard_normal(12)
    result = paired_test(d, errors=errors)
    positive, negative = (literal_evidence(list(d), side, list(errors)) for side in (1, -1))
    assert result.probability_positive == pytest.approx(positive / (positive + negative), rel=1e-9)
    assert result.sign == int(positive >= 40)
    times = decision_times(d[None], shares=precisions(errors)[None])
    assert (times[0] > 0) == (result.sign != 0)


def test_errors_that_are_alike_or_unknown_change_nothing():
    d = np.random.default_rng(3).normal(size=20) - 0.3
    assert paired_test(d, errors=np.full(20, 0.7)) == paired_test(d)
    assert paired_test(d, errors=np.zeros(20)) == paired_test(d)
    assert pairs_to_decide(d, errors=np.zeros(20)) == pairs_to_decide(d)


@pytest.mark.long
def test_errors_of_single_runs_that_went_wrong_save_pairs():
    random = np.random.default_rng(4)
    errors = np.where(random.random((200, 120)) < 0.3, 6.0, 1.0)
    d = 1.0 + errors * random.standard_normal((200, 120))
    plain, weighted = decision_times(d), decision_times(d, shares=precisions(errors))
    found = [np.median(np.where(times > 0, times, 121)) for times in (plain, weighted)]
    assert found[1] < 0.9 * found[0]


def test_as_many_errors_as_differences_are_expected():
    with pytest.raises(InvalidInput, match="errors"):
        paired_test(np.ones(3), errors=np.ones(2))


@pytest.mark.long
@pytest.mark.parametrize("confidence", [0.8, 0.9, 0.95, 0.99, 0.999])
def test_the_least_number_of_pairs_decides_whatever_their_sizes(confidence):
    least, random = least_pairs(confidence), np.random.default_rng(0)
    for d in (np.arange(least), np.arange(least)[::-1], np.ones(least), random.random(least)):
        assert paired_test(d + 500.0, confidence).sign == 1
        assert paired_test(d[:-2] + 500.0, confidence).sign == 0
