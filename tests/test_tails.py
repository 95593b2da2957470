"""The tail diagnosis, against scipy, published critical values and samples of known tails."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from surefoot import widths
from surefoot.tails import Moment, diagnose, normality, tail_index
from surefoot.types import InvalidInput


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(alpha=st.floats(0, 1, exclude_min=True), bound=st.floats(1e-300, 1e300))
def test_a_moment_holds_what_it_is_given(alpha, bound):
    moment = Moment(alpha, bound)
    assert (moment.alpha, moment.bound) == (alpha, bound)


@pytest.mark.parametrize("alpha", [0, -0.1, 1.01, float("nan"), "1", True, None])
def test_an_alpha_outside_its_range_is_refused(alpha):
    with pytest.raises(InvalidInput, match="`alpha` is"):
        Moment(alpha, 1.0)


@pytest.mark.parametrize("bound", [0, -1, float("inf"), float("nan"), "1"])
def test_a_bound_that_bounds_nothing_is_refused(bound):
    with pytest.raises(InvalidInput, match="`bound` is"):
        Moment(0.5, bound)


def test_the_distance_is_scipys():
    values = generator(0).standard_t(3, 80)
    distance, _ = normality(values)
    expected = stats.kstest(values, "norm", (values.mean(), values.std(ddof=1))).statistic
    assert distance == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("n", [20, 60, 200])
def test_the_p_value_agrees_with_scipys_simulation(n):
    values = generator(n).standard_normal(n) + 0.8 * generator(n + 1).exponential(1, n)
    _, p = normality(values)
    expected = stats.goodness_of_fit(
        stats.norm, values, statistic="ks", n_mc_samples=2000, random_state=0
    ).pvalue
    assert p == pytest.approx(expected, abs=0.04)


@pytest.mark.long
@pytest.mark.parametrize(("n", "critical"), [(20, 0.192), (30, 0.159), (1000, 0.0283)])
def test_the_p_value_is_five_percent_at_lilliefors_critical_distance(n, critical):
    """Tables of Lilliefors's test (Abdi & Molin 2007; Stephens 1974 for the large sample)."""
    samples = generator(7).standard_normal((600, n))
    rejected = np.mean([normality(row)[0] > critical for row in samples])
    small = np.mean([normality(row)[1] < 0.05 for row in samples])
    assert rejected == pytest.approx(0.05, abs=0.025)
    assert small == pytest.approx(0.05, abs=0.025)


@pytest.mark.parametrize("n", [50, 300, 2000])
@pytest.mark.parametrize("step", [0.1, 0.5])
def test_normal_values_that_are_rounded_are_normal(step, n):
    samples = np.random.default_rng(n).standard_normal((200, n))
    small = [normality(1e9 + step * np.round(row / step))[1] < 0.05 for row in samples]
    assert sum(small) <= 24  # 10 are expected; more by chance with a probability of 3e-5
    skewed = np.random.default_rng(n).exponential(size=max(n, 300))
    assert normality(step * np.round(skewed / step))[1] < 0.05


@pytest.mark.parametrize("size", [1e4, 1e9, 1e12, 1e100])
def test_rounded_values_with_an_outlier_are_not_normal_in_any_order(size):
    values = np.append(np.random.default_rng(0).normal(20.0, 1.0, 99).round(1), size)
    assert diagnose(values).algorithm == "robust_ucb"
    assert normality(values)[1] < 0.01
    assert normality(values[::-1]) == normality(values)


def test_a_value_that_is_there_twice_is_no_rounding():
    values = np.random.default_rng(0).standard_normal(60)
    twice = np.append(values, values[:2])
    apart = np.append(values, values[:2] + 1e-9)
    assert normality(twice)[0] == pytest.approx(normality(apart)[0], rel=0.02)


def test_the_p_value_is_the_same_every_time():
    values = generator(3).standard_normal(50)
    assert normality(values) == normality(values)


@pytest.mark.daily(6)
@pytest.mark.parametrize(
    ("index", "draw"),
    [
        (1.0, lambda random: random.standard_t(1, 200)),
        (2.0, lambda random: random.standard_t(2, 200)),
        (5.0, lambda random: random.standard_t(5, 200)),
        (1.7, lambda random: random.pareto(1.7, 200)),  # on one side, from 0
        (3.0, lambda random: 50.0 + random.pareto(3.0, 200)),
        (3.0, lambda random: random.pareto(3.0, 200) * random.choice([-1.0, 1.0], 200)),
        (math.inf, lambda random: random.standard_normal(200)),
        (math.inf, lambda random: random.uniform(size=200)),
        (2.0, lambda random: random.standard_t(2, 200).round()),
        (5.0, lambda random: random.standard_t(5, 200).round()),
        (3.0, lambda random: (10.0 * random.pareto(3.0, 200)).astype(int)),
        (math.inf, lambda random: random.standard_normal(200).round()),
        (3.0, lambda random: (50.0 + random.pareto(3.0, 200)).round(2)),
    ],
)
def test_the_interval_of_the_tail_index_holds_the_truth(index, draw):
    """Of Hill's estimate it holds 34 % with one-sided values of index 3, here 91 to 100 %."""
    tails = [tail_index(draw(generator(seed))) for seed in range(30)]
    assert all(one.lower <= one.cautious <= one.index <= one.upper for one in tails)
    assert np.mean([one.lower <= index <= one.upper for one in tails]) >= 0.88
    # What is said of the variance: rarely the contrary of the truth.
    wrong = [one.upper < 2.0 < index or one.lower > 2.0 > index for one in tails]
    assert np.mean(wrong) <= 0.1


def test_the_tail_index_is_the_posterior_of_a_generalised_pareto_distribution():
    """Integrated by scipy's density on another grid."""
    values = generator(1).standard_t(2, 100)
    tail = tail_index(values)
    largest = sorted(abs(values - np.median(values)), reverse=True)
    excess = np.array(largest[: tail.k]) - largest[tail.k]
    assert tail.k == 22
    shapes, scales = np.linspace(-0.49, 6.0, 400), np.exp(np.linspace(-6.0, 5.0, 300))
    density = np.zeros(len(shapes))
    for i, shape in enumerate(shapes):
        logs = stats.genpareto(shape, scale=scales[:, None]).logpdf(excess).sum(1)
        density[i] = np.exp(logs + 60.0).sum() * stats.norm(0.5, 0.5).pdf(shape)
    below = density.cumsum() / density.sum()
    for found, level in ((tail.lower, 0.975), (tail.cautious, 0.84), (tail.index, 0.5)):
        assert 1.0 / found == pytest.approx(np.interp(level, below, shapes), abs=0.03)
    assert tail_index(values * 1e6 - 5).index == pytest.approx(tail.index)


@pytest.mark.long
@pytest.mark.parametrize(
    ("draw", "alphas"),
    [
        (lambda random: random.standard_normal(400), (0.99, 1)),
        (lambda random: random.standard_t(3, 400), (0.6, 1)),
        (lambda random: random.standard_t(2, 400), (0.2, 0.95)),
        (lambda random: random.standard_t(1.3, 400), (0.1, 0.3)),
    ],
)
def test_an_estimated_moment_exists_and_bounds_the_real_one(draw, alphas):
    moments = [Moment.estimate(draw(generator(seed))) for seed in range(40)]
    assert alphas[0] <= np.median([moment.alpha for moment in moments]) <= alphas[1]
    population = np.concatenate([draw(generator(1000 + seed)) for seed in range(500)])
    real = np.array([np.mean(np.abs(population) ** (1 + one.alpha)) for one in moments])
    bounds = np.array([moment.bound for moment in moments])
    assert 0.8 < np.median(bounds / real) < 3


def test_one_wild_value_hardly_moves_the_bound():
    values = generator(2).standard_normal(200)
    wild = values.copy()
    wild[17] = 1e6
    assert np.mean(np.abs(wild) ** 1.1) > 1e4
    assert Moment.estimate(wild).bound < 1.5 * Moment.estimate(values).bound


def test_normal_noise_needs_no_robustness():
    found = diagnose(generator(4).normal(100, 5, 300))
    assert found.algorithm == "gp_ucb"
    assert found.p_value > 0.05
    assert found.largest_over_mad < 8
    assert found.moment.bound < 100  # about the median, so without the offset
    assert found.moment.center == found.as_dict()["moment"]["center"] == "mean"
    with pytest.raises(InvalidInput, match="expected one about zero"):
        widths.truncated(found.moment, 1.0)


@pytest.mark.parametrize(
    "values",
    [
        generator(5).standard_t(2, 300),
        generator(5).normal(size=60) + 30 * (np.arange(60) % 20 == 3),
        generator(5).pareto(1.5, 300),
    ],
)
def test_heavy_tails_and_spikes_need_it(values):
    found = diagnose(values)
    assert found.algorithm == "robust_ucb"
    assert found.outlier_share > 0
    assert "robust_ucb" in found.reason


@pytest.mark.parametrize("share", [0.1, 0.3, 0.49, 0.5, 0.51, 0.7, 0.9])
@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e6])
def test_none_of_two_tied_values_is_an_outlier(share, unit):
    values = unit * np.where(np.arange(100) < 100 * share, 30.0, 12.5)
    assert diagnose(generator(0).permutation(values)).outlier_share == 0.0


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0, 3.0])
def test_measurements_by_a_coarse_clock_have_no_outliers_but_those_that_are(step):
    values = step * np.round(generator(6).normal(10.3 * step, 1.0, 400) / step)
    assert diagnose(values).outlier_share < 0.01
    values[:12] += 40.0
    assert 0.03 <= diagnose(values).outlier_share < 0.04


@pytest.mark.parametrize("number", [2, 5])
def test_few_values_apart_from_equal_ones_are_outliers(number):
    values = np.full(100, 10.0)
    values[:number] = 60.0
    assert diagnose(generator(0).permutation(values)).outlier_share == number / 100


def test_timeouts_that_share_a_value_are_outliers_of_what_varies():
    values = generator(9).normal(10, 1, 100)
    values[:8] = 60.0
    assert diagnose(values).outlier_share == pytest.approx(0.08)
    values[:60] = 60.0  # most of them: then all others are apart, none far from another
    assert diagnose(values).outlier_share == 0.0


def test_a_large_normal_sample_has_far_values_by_right():
    found = diagnose(generator(11).standard_normal(50_000))
    assert found.outlier_share > 0
    assert found.algorithm == "gp_ucb"


def test_a_diagnosis_is_plain_text_and_plain_json():
    found = diagnose(generator(8).standard_t(2, 100))
    assert json.loads(json.dumps(found.as_dict()))["moment"]["alpha"] == found.moment.alpha
    text = str(found)
    for word in ("Kolmogorov-Smirnov", "Tail index", "95 % interval", "Moment(alpha=", "robust"):
        assert word in text


def test_no_moment_is_suggested_above_the_tail_index():
    values = generator(9).pareto(0.7, 400)
    found = diagnose(values)
    assert found.tail_index < 1
    assert found.moment is None
    assert found.as_dict()["moment"] is None
    assert "No moment of an order above 1 can be assumed" in found.reason
    assert ("Suggested moment", "none") in found.facts()
    heavier = diagnose(generator(3).pareto(1.2, 60))
    assert heavier.moment is not None
    assert heavier.moment.alpha == 0.1
    assert heavier.tail_index >= 1.1
    assert "order 1.10, the lowest that is considered" in heavier.reason


def test_mostly_equal_values_have_no_median_deviation():
    found = diagnose([0.0] * 80 + [1.0, 2.0, 4.0, -3.0, 5.0, 7.0, -8.0])
    assert found.largest_over_mad == float("inf")
    assert found.as_dict()["largest_over_mad"] is None
    assert json.dumps(found.as_dict(), allow_nan=False)


def test_two_valued_measurements_have_no_tail():
    found = diagnose([0.0, 1.0] * 30)
    assert found.tail_index == math.inf
    assert found.as_dict()["tail_index"] is None
    assert found.moment.alpha == 1


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (np.zeros((5, 5)), "has shape"),
        (np.arange(19.0), "expected at least 20"),
        ([1.0] * 25, "`y` has 1 only, expected values that vary"),
        ([1.0] * 25 + [2.0], "at most one of the values differs"),
        ([float("nan"), *range(25)], "NaN or infinite"),
        (["a"] * 25, "cannot be made an array"),
        ([*range(25), 10**400], "cannot be made an array"),
    ],
)
def test_what_has_no_tail_to_look_at_is_refused(values, message):
    for function in (diagnose, Moment.estimate):
        with pytest.raises(InvalidInput, match=message):
            function(values)


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=20, max_size=60))
def test_any_values_give_a_sound_diagnosis_or_a_reason(values):
    try:
        found = diagnose(values)
    except InvalidInput:
        return
    assert 0 <= found.ks <= 1
    assert 0 < found.p_value <= 1
    assert found.tail_lower <= found.tail_index <= found.tail_upper
    assert (found.moment is None) == (found.tail_index < 1.1)
    assert found.moment is None or 0 < found.moment.alpha <= 1
    json.dumps(found.as_dict(), allow_nan=False)


@pytest.mark.parametrize(
    ("wrap", "message"),
    [
        (lambda x: np.ma.array(x, mask=x > 1.0), "masked values"),
        (lambda x: x * (1 + 1j), "values of type complex128"),
        (lambda x: x > 0.0, "values of type bool"),
    ],
)
def test_what_are_no_numbers_is_refused(wrap, message):
    with pytest.raises(InvalidInput, match=message):
        diagnose(wrap(np.random.default_rng(0).normal(size=99)))


def test_a_single_value_far_out_is_a_heavy_tail():
    values = np.append(generator(0).standard_normal(99), 1e12)
    assert tail_index(values).upper < math.inf
    assert diagnose(values).tail_index < 2.0


def test_two_values_have_no_tail():
    facts = dict(diagnose(np.array([1.0, 2.0] * 30)).facts())
    assert facts["Tail index"] == "none seen (from the 60 largest deviations)"


def test_numpys_errors_of_the_caller_disturb_nothing():
    values = stats.t.rvs(2, size=300, random_state=0)
    known = diagnose(values), tail_index(np.abs(values))
    with np.errstate(all="raise"):
        assert (diagnose(values), tail_index(np.abs(values))) == known
