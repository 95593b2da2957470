"""Widths and oversampling of the published code, against its formulas."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

import surefoot as sf
from surefoot.widths import Progress
from surefoot_experiments.baselines.as_published import BKB, Adaptive, Truncated, oversampling

positive, alphas = st.floats(1e-6, 1e6), st.floats(0.01, 1.0)
counts = st.integers(1, 10**9)


def after(round_: int, dimension: int = 20, ridge: float = 1.0, **parts: object) -> Progress:
    return Progress(round_, information_gain=1.0, dimension=dimension, ridge=ridge, **parts)


@pytest.mark.long
@given(positive, positive, alphas, positive, counts)
def test_the_width_of_truncated_rewards(B: float, v: float, a: float, lam: float, t: int) -> None:
    """B sqrt(lam) + b_t sqrt(ln t), b_t of heavy-tailed payoffs, Theorem 1."""
    b_t = v ** (1 / (1 + a)) * t ** (1 / (2 * (1 + a)))
    expected = B * math.sqrt(lam) + b_t * math.sqrt(math.log(t))
    assert Truncated(sf.Moment(a, v), B)(after(t, ridge=lam)) == pytest.approx(expected, rel=1e-12)


@pytest.mark.long
@given(positive, positive, alphas, positive, counts, counts, counts)
def test_the_width_of_adaptive_truncation(
    B: float, v: float, a: float, lam: float, t: int, m: int, T: int
) -> None:
    """Heavy-tailed payoffs, Lemma 1, without the factor of 4 and with ln(m T)."""
    tail = v ** (1 / (1 + a)) * math.log(m * T) ** (a / (1 + a))
    expected = B + math.sqrt(m / lam) * tail * t ** ((1 - a) / (2 * (1 + a)))
    ours = Adaptive(sf.Moment(a, v), B, T)(after(t, m, lam))
    assert ours == pytest.approx(expected, rel=1e-12)


def test_before_the_first_reward_there_is_the_norm_alone() -> None:
    for moment in (sf.Moment(0.5, 3.0), sf.Moment(1.0, 3.0)):
        assert Adaptive(moment, 2.0, 50)(after(0, dimension=0)) == 2.0
        assert Truncated(moment, 2.0)(after(0, dimension=0)) == 2.0


def test_bkb_has_no_constants() -> None:
    progress = after(50, ridge=0.01, effective_dimension=lambda: 7.0)
    expected = 3.0 + 0.1 * math.sqrt((7.0 * math.log(50) + math.log(10)) / 0.01)
    assert BKB(3.0, 0.1)(progress) == pytest.approx(expected, rel=1e-12)


def test_the_oversampling() -> None:
    assert oversampling(12_000, 0.2) == pytest.approx(math.log(12_000) / 0.04, rel=1e-12)
    for horizon, accuracy in ((2, 0.1), (2.5, 0.1), (100, 0.0), (100, 1.0)):
        with pytest.raises(sf.InvalidInput):
            oversampling(horizon, accuracy)


@pytest.mark.parametrize("value", [0.0, -1.0, float("nan"), float("inf"), "1", True, None])
def test_bad_input_is_named(value: object) -> None:
    moment = sf.Moment(0.5, 3.0)
    with pytest.raises(sf.InvalidInput, match="`norm_bound`"):
        Truncated(moment, value)
    with pytest.raises(sf.InvalidInput, match="`norm_bound`"):
        Adaptive(moment, value, 9)
    with pytest.raises(sf.InvalidInput, match="`horizon`"):
        Adaptive(moment, 1.0, value)
    with pytest.raises(sf.InvalidInput, match="`noise`"):
        BKB(1.0, value)
    with pytest.raises(sf.InvalidInput, match="`delta`"):
        BKB(1.0, 1.0, value)
