r"""A sequential test of paired differences that is exact for any noise and any stopping time.

Two configurations are measured in pairs, in random order within each pair. Let :math:`d_i` be the
difference of pair :math:`i`, :math:`s_i` its sign, and :math:`r_i = \#\{j \le i : |d_j| \le
|d_i|\} / i` its sequential rank. For a fraction :math:`\lambda \in (0, 1)` the two capitals

.. math:: K_n^\pm(\lambda) = \prod_{i \le n} (1 \pm \lambda s_i w_i), \qquad
    w_i = g_i \text{ or } g_i r_i

bet on positive and on negative differences. The evidence :math:`M_n^\pm` is their average over
:math:`\lambda` and over both weights: with :math:`g_i = 1`, :math:`w_i = 1` is the sign test and
:math:`w_i = r_i` the signed-rank test. Where runs have standard errors, :math:`e_i` is that of the
difference and :math:`g_i = \min(1, \operatorname{median}_{j \le i} e_j / e_i)`, so that a pair of
larger error has less weight.

*Exactness.* If both configurations are the same, then so is the distribution of a pair's two
measurements whichever of them is called A. The order is drawn by a fair coin, independent of the
two measurements and of all that came before. So, given the past, :math:`|d_i|` and :math:`e_i`
(which do not depend on the labels), both signs are equally likely, while :math:`w_i` is known, and
:math:`E[1 \pm \lambda s_i w_i] = 1`: each capital is a non-negative martingale that starts at 1,
and so is an average of them. By Ville's inequality
:math:`P(\exists n : M_n^+ \ge 2/\alpha \text{ or } M_n^- \ge 2/\alpha) \le \alpha`.
Nothing is assumed of the noise: it may be heavy-tailed, drift, jump, and depend on the past. A tie
(:math:`s_i = 0`) and a pair that is left out whichever label is which keep the capital as it is.

*Interval.* If B differs from A by a constant :math:`m`, the argument holds for :math:`d_i - m`.
The values of :math:`m` that are not rejected are a confidence sequence: all intervals together
contain the difference with probability :math:`1 - \alpha`. :math:`s_i(m) w_i(m)` does not increase
with :math:`m`, since the rank counts the :math:`d_j` between :math:`d_i` and its mirror image
:math:`2m - d_i`; so they form an interval, whose ends are means of two differences.

References:
    - Ville, Étude critique de la notion de collectif (1939).
    - Robbins, Statistical methods related to the law of the iterated logarithm, Annals of
      Mathematical Statistics 41 (1970): mixtures of martingales.
    - Howard, Ramdas, McAuliffe, Sekhon, Time-uniform, nonparametric, nonasymptotic confidence
      sequences, Annals of Statistics 49 (2021).
    - Waudby-Smith, Ramdas, Estimating means of bounded random variables by betting, JRSS B 86
      (2024, online 2023): the hedged capital process.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from surefoot._internal import checks
from surefoot._internal.html import at_least
from surefoot._internal.numbers import CONFIDENT
from surefoot.tune.estimate_text import measured_text
from surefoot.types import InvalidInput

Floats = NDArray[np.float64]

NODES = 24
# Mass near 0 for small differences, and near 1, so that eight pairs with the same sign decide at
# 95 %, seven if they are of one size; an exponent of 2 would be Beta(1/2, 1/2).
FRACTIONS: Floats = np.sin(np.pi / 2 * (np.arange(NODES) + 0.5) / NODES) ** 1.9
PATHS = 100  # continuations simulated to estimate how many pairs are missing
MOST_PAIRS = 1000  # of a continuation


@dataclass(frozen=True)
class PairedTest:
    """State of the test after some pairs.

    Args:
        sign: 1 if differences are positive, -1 if negative, 0 if undecided.
        probability_positive: Posterior probability that differences tend to be positive, if
            positive and negative are equally likely beforehand. (The capitals are likelihood ratios
            of models in which the sign is positive with probability (1 ± lambda w) / 2.)
        estimate: Typical difference: the shift for which the evidence on both sides is equal.
        lower: Lower end of the confidence sequence of the difference; may be infinite.
        upper: Upper end.
    """

    sign: int
    probability_positive: float
    estimate: float
    lower: float
    upper: float


def paired_test(
    differences: Floats, confidence: float = CONFIDENT, errors: Floats | None = None
) -> PairedTest:
    """Test whether paired differences are centred at zero, at any number of pairs.

    Args:
        differences: Differences (n,) in the order of their measurement, where the order within each
            pair was random. Infinite ones, of pairs in which one run failed, count with their sign.
        confidence: One minus the probability of ever rejecting a true hypothesis.
        errors: Standard errors (n,) of the differences, 0 where they are unknown; None for none.

    Returns:
        Decision, posterior probability and confidence interval.

    Raises:
        InvalidInput: If a difference is NaN, the confidence is not between 0 and 1, or there are
            not as many errors as differences.

    References:
        Ville (1939), Robbins (1970), Howard et al. (2021), Waudby-Smith and Ramdas (2023); see the
        module.

    Example:
        >>> import numpy as np
        >>> random = np.random.default_rng(0)
        >>> result = paired_test(-1.0 + 0.5 * random.standard_t(2, size=30))
        >>> result.sign, round(result.lower, 1), round(result.upper, 1)
        (-1, -1.6, -0.6)
    """
    d = np.asarray(differences, dtype=np.float64)
    if d.ndim != 1 or np.isnan(d).any():
        raise InvalidInput(f"`differences` has shape {d.shape} or NaN, expected (n,) without NaN.")
    shares = np.ones_like(d) if errors is None else precisions(errors)
    if shares.shape != d.shape:
        raise InvalidInput(f"`errors` has shape {shares.shape}, expected {d.shape}.")
    threshold = _log_threshold(confidence)
    positive, negative = _log_evidence(d, shares)
    sign = int(positive >= threshold) - int(negative >= threshold)
    probability = float(1 / (1 + np.exp(np.clip(negative - positive, -700, 700))))
    return PairedTest(sign, probability, *_invert(d, shares, threshold))


@cache
def sign_test(above: int, below: int, confidence: float = CONFIDENT) -> int:
    """Decision of the test about differences of one size: 1 or -1, 0 if it is open.

    Where they are of a fixed value from each of a series, such as samples from a limit, the error
    holds if each is above it with probability 1/2 at most, or at least, whatever came before: then
    the capital that bets against that is a supermartingale.

    Args:
        above: Number of positive differences.
        below: Number of negative ones.
        confidence: One minus the probability of either decision where there is no difference.

    Example:
        >>> sign_test(6, 0), sign_test(7, 0), sign_test(20, 20), sign_test(1, 12)
        (0, 1, 0, -1)
    """
    from scipy.special import logsumexp

    counts, threshold = np.array([[above, below], [below, above]]), _log_threshold(confidence)
    both = counts @ np.log1p(np.stack([FRACTIONS, -FRACTIONS]))
    positive, negative = logsumexp(both, axis=1) - np.log(NODES) >= threshold
    return int(positive) - int(negative)


def median_interval(values: Floats, confidence: float = CONFIDENT) -> tuple[float, float]:
    """Confidence sequence of the median of one series: the values that `sign_test` does not reject.

    It is exact at any number of values, whichever comes when, if each has this median given all
    that came before. Above a number below the median are at least half of the values; so it is
    rejected where few enough are at most it.

    Args:
        values: Values (n,), infinite ones included.
        confidence: One minus the probability that some interval does not contain the median.

    Returns:
        Both ends, which are values; infinite while there are too few.

    Example:
        >>> median_interval(np.arange(6.0)), median_interval(np.arange(20.0))
        ((-inf, inf), (3.0, 16.0))
    """
    ordered, number = np.sort(values), len(values)
    most = sum(sign_test(number - n, n, confidence) > 0 for n in range(number // 2 + 1))
    return (float(ordered[most - 1]), float(ordered[-most])) if most else (-np.inf, np.inf)


def medians_text(
    one: tuple[str, Floats],
    other: tuple[str, Floats],
    minimize: bool,
    unit: str,
    confidence: float = CONFIDENT,
    number: int = 2,
) -> str:
    """The median of a series, and how much better it is than that of another, in a sentence.

    Args:
        one: Name of the median, and the values (n,) of the series.
        other: Those of the other series.
        minimize: Whether smaller values are better.
        unit: Unit of the values.
        confidence: One minus the probability that any sentence of any of the series is ever false.
        number: Number of series that it may be of, the other one included: more than two where the
            one was chosen by them.

    Returns:
        The sentence, with what is assumed; empty while there are too few values.

    Example:
        >>> values = 10.0 + 0.1 * np.arange(20)
        >>> medians_text(("its median", values), ("that of A", 2.0 * values), True, "ms")
        'Its median is between 10.2 and 11.7 ms, at least 42.6 % below that of A, at 95 % ...'
    """
    each, sign = 1.0 - (1.0 - confidence) / number, 1.0 if minimize else -1.0
    ends, further = (np.array(median_interval(values, each)) for _, values in (one, other))
    if not np.isfinite(ends).all():
        return ""
    far, unit = (sign * further).min(), f" {unit}" if unit else ""
    gain = far - (sign * ends).max()  # minus infinity while the other has too few values
    # Beside a median that is infinite, as of runs that have failed, there is no size to say.
    share = (
        np.floor(1000.0 * gain / abs(far)) / 10.0
        if min(*ends, *further) > 0.0 and gain < np.inf
        else 0.0
    )
    size = f"at least {f'{share:g} %' if share > 0.0 else f'{at_least(gain)}{unit}'} "
    better = f", {size if gain < np.inf else ''}{'below' if minimize else 'above'} {other[0]}"
    return (
        f"{one[0][0].upper()}{one[0][1:]} is between {measured_text(ends[0])} and "
        f"{measured_text(ends[1])}{unit}{better if gain > 0.0 else ''}, at "
        f"{100 * confidence:g} % confidence, if runs of a configuration have one median whatever "
        "came before; nothing else is assumed of their noise."
    )


def precisions(errors: Floats) -> Floats:
    """Weights of pairs whose differences have standard errors.

    Args:
        errors: Standard errors (..., n) in the order of the pairs, 0 where they are unknown.

    Returns:
        Weights (..., n): 1 for an error of at most the median of the known ones so far, otherwise
        in inverse proportion to it.

    Example:
        >>> precisions(np.array([0.1, 0.1, 0.4, 0.0]))
        array([1.  , 1.  , 0.25, 1.  ])
    """
    known = np.where(errors > 0.0, errors, np.nan)
    shares = np.ones(known.shape)
    for i in range(known.shape[-1]):
        now = known[..., i]
        if np.isfinite(now).any():
            median = np.nanmedian(known[..., : i + 1][np.isfinite(now)], axis=-1)
            shares[np.isfinite(now), i] = np.minimum(1.0, median / now[np.isfinite(now)])
    return shares


def decision_times(
    differences: Floats,
    confidence: float = CONFIDENT,
    shares: Floats | None = None,
    start: int = 0,
) -> NDArray[np.int64]:
    """When the test first decides, for many sequences of differences.

    Args:
        differences: Sequences (k, n) of differences.
        confidence: One minus the probability of ever rejecting a true hypothesis.
        shares: Weights (k, n) of the pairs, such as their `precisions`; 1 by default.
        start: Number of pairs after which decisions count.

    Returns:
        Numbers of pairs (k,), more than `start`; 0 where n pairs decide nothing.

    Example:
        >>> decision_times(np.ones((1, 20)))
        array([7])
    """
    from scipy.special import logsumexp

    threshold = _log_threshold(confidence)
    size = np.abs(differences)
    capital = np.zeros((2, 2, len(differences), NODES))  # side, weight
    times = np.zeros(len(differences), dtype=np.int64)
    for i in range(differences.shape[1]):
        rank = (size[:, : i + 1] <= size[:, i : i + 1]).mean(-1)
        sign = np.sign(differences[:, i])
        if shares is not None:
            sign = sign * shares[:, i]
        bets = np.stack([sign, sign * rank])[:, :, None] * FRACTIONS
        capital += np.log1p(np.stack([bets, -bets]))
        evidence = logsumexp(capital, axis=(1, 3)) - np.log(2 * NODES)
        if i >= start:
            times[(times == 0) & (evidence.max(0) >= threshold)] = i + 1
        if times.all():
            break
    return times


def least_pairs(confidence: float) -> int:
    """Number of pairs of one sign that decide the test, whatever the sizes of the differences.

    Args:
        confidence: One minus the probability of ever rejecting a true hypothesis.

    Example:
        >>> least_pairs(0.95), least_pairs(0.99)
        (8, 11)
    """
    # Of values of which each has the lowest rank of all so far.
    return int(decision_times(-np.arange(MOST_PAIRS, 0.0, -1.0)[None], confidence)[0])


def pairs_to_decide(
    differences: Floats, confidence: float = CONFIDENT, errors: Floats | None = None
) -> int | None:
    """Estimate how many more pairs decide the test, if they are like those so far.

    Args:
        differences: Differences (n,) so far.
        confidence: One minus the probability of ever rejecting a true hypothesis.
        errors: Standard errors (n,) of the differences, 0 where they are unknown; None for none.

    Returns:
        The median over the continuations, 0 if it is decided, None if it is more than 1,000.
    """
    count = len(differences)
    if paired_test(differences, confidence, errors).sign:
        return 0
    if not np.any(differences):
        return None
    drawn = np.random.default_rng(0).choice(count, (PATHS, MOST_PAIRS))
    rows = np.concatenate([np.tile(np.arange(count), (PATHS, 1)), drawn], axis=1)
    shares = None if errors is None else precisions(errors)[rows]
    # The evidence of the pairs so far may have been enough once, and have fallen since.
    more = decision_times(differences[rows], confidence, shares, start=count) - count
    more = np.where(more > 0, more, MOST_PAIRS + 1)
    median = int(np.ceil(np.median(more)))
    return median if median <= MOST_PAIRS else None


def _log_threshold(confidence: float) -> float:
    return float(np.log(2 / (1 - checks.probability("confidence", confidence))))


def _log_evidence(differences: Floats, shares: Floats) -> tuple[float, float]:
    """Logarithms of the evidence for positive and for negative differences."""
    from scipy.special import logsumexp

    size = np.abs(differences)
    ranks = np.tril(size[None, :] <= size[:, None]).sum(-1) / np.arange(1, len(size) + 1)
    sign = np.sign(differences) * shares
    bets = np.stack([sign, sign * ranks])[:, :, None] * FRACTIONS  # (weights, n, fractions)
    both = np.stack([np.log1p(bets), np.log1p(-bets)]).sum(2)
    positive, negative = logsumexp(both, axis=(1, 2)) - np.log(2 * NODES)
    return float(positive), float(negative)


def _invert(d: Floats, shares: Floats, threshold: float) -> tuple[float, float, float]:
    """Estimate, lower and upper end, by bisection over the cells in which the evidence is constant.

    The evidence for positive differences from m falls with m, and changes at means of two
    differences only.
    """
    finite = d[np.isfinite(d)]
    first, second = np.triu_indices(len(finite))
    ends = np.unique(finite[first] + (finite[second] - finite[first]) / 2)
    edges = np.concatenate([[-np.inf], ends, [np.inf]])  # cell k is between edges k and k + 1
    margin = 1.0 + float(np.abs(ends).max(initial=0))
    outer = np.concatenate([ends[:1] - margin, ends, ends[-1:] + margin])
    middles = outer[:-1] + np.diff(outer) / 2 if len(ends) else np.zeros(1)

    def first_cell(holds: Callable[[float, float], bool]) -> int:
        low, high = 0, len(middles)
        while low < high:
            cell = (low + high) // 2
            if holds(*_log_evidence(d - middles[cell], shares)):
                high = cell
            else:
                low = cell + 1
        return low

    lower = edges[first_cell(lambda positive, negative: positive < threshold)]
    upper = edges[first_cell(lambda positive, negative: negative >= threshold)]
    left = edges[first_cell(lambda positive, negative: positive <= negative)]
    right = edges[first_cell(lambda positive, negative: positive < negative)]
    if left != right:  # the evidence is equal in between
        known = [end for end in (left, right) if np.isfinite(end)]
        left = np.mean(known) if known else 0.0
    return float(left), float(lower), float(upper)
