"""Tail diagnosis of repeated measurements, and the moment that heavy-tailed algorithms assume."""

from __future__ import annotations

import math
import sys
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from surefoot._internal import checks
from surefoot.types import InvalidInput

Array = NDArray[np.float64]

__all__ = [
    "MAD_TO_SD",
    "Moment",
    "TailDiagnosis",
    "TailIndex",
    "diagnose",
    "normality",
    "tail_index",
]

MAD_TO_SD = 1.4826
"""Standard deviation of a normal distribution over its median absolute deviation."""

_MIN_VALUES = 20  # for any statement about the tails
_MIN_ALPHA = 0.1
_BLOCKS, _CORRECTION = 9, 1.5  # of the median of means
_OUTLIER = 3.5  # robust standard deviations, Iglewicz and Hoaglin 1993
_SIMULATIONS = 2000
_SIGNIFICANT, _EXCESS = 0.05, 0.01  # p-values: of the distance, of the number of outliers


def check_moment(value: object) -> None:
    """`InvalidInput` unless a value is a `Moment`."""
    if not isinstance(value, Moment):
        raise InvalidInput(
            f"`moment` is {checks.shown(value)}, expected `Moment(alpha, bound)` or "
            "`Moment.estimate(rewards)`."
        )


@dataclass(frozen=True)
class Moment:
    """Moment assumption on the rewards, E|y|^(1 + alpha) <= bound.

    It must hold at every point, given the past (E[|y_t|^(1 + alpha) | F_{t-1}] <= bound), for the
    raw moment, about zero. For rewards far from zero the offset dominates it: centre them first.

    Args:
        alpha: Order of the moment less 1, in (0, 1]; 1 means a finite variance.
        bound: Bound v on the moment, in reward units to the power 1 + alpha; above 0.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        Bubeck, Cesa-Bianchi and Lugosi 2013, "Bandits with heavy tail".

    Example:
        >>> Moment(alpha=0.5, bound=4.0)
        Moment(alpha=0.5, bound=4.0)
    """

    alpha: float
    bound: float

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("bound", self.bound)):
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise InvalidInput(f"`{name}` is {checks.shown(value)}, expected a number.")
        if not 0 < self.alpha <= 1:
            raise InvalidInput(
                f"`alpha` is {checks.shown(self.alpha)}, expected a number above 0 and at most 1: "
                "the moment of order 1 + alpha is assumed, so 1 means a finite variance."
            )
        if not (0 < self.bound <= sys.float_info.max):
            raise InvalidInput(
                f"`bound` is {checks.shown(self.bound)}, expected a finite number above 0 that "
                "E|y|^(1 + alpha) does not exceed."
            )

    @classmethod
    def estimate(cls, y: ArrayLike) -> Moment:
        """Estimate a moment from a sample; there is no guarantee that it holds.

        `alpha` is the tail index less one standard error, minus 1, clipped to [0.1, 1]: moments
        exist up to the tail index. `bound` is 1.5 times the median of the means of
        |y|^(1 + alpha) over 9 interleaved blocks, which is robust to a few outliers. The factor
        corrects the bias of the median for skewed values, which is between 0 (normal) and a third
        (Student's t with 2 degrees of freedom).

        Args:
            y: Values (n,), n >= 20, in reward units.

        Returns:
            The estimated moment.

        Raises:
            InvalidInput: For fewer than 20 values, constant or non-finite ones.

        References:
            Bubeck, Cesa-Bianchi and Lugosi 2013, Lemma 2, for the median of means.
        """
        values = _clean(y)
        tail = tail_index(values)
        alpha = float(np.clip(tail.index - tail.standard_error - 1, _MIN_ALPHA, 1))
        powers = np.abs(values) ** (1 + alpha)
        blocks = min(_BLOCKS, len(values) // 4)
        middle = float(np.median([powers[start::blocks].mean() for start in range(blocks)]))
        return cls(alpha, _CORRECTION * (middle if middle > 0 else float(powers.mean())))


@dataclass(frozen=True)
class TailIndex:
    """Estimated tail index: P(|y - median| > x) decays like x^-index.

    Args:
        index: Hill's estimate. The variance is finite only above 2, the mean only above 1.
        lower: Lower end of its 95 % confidence interval.
        upper: Upper end.
        k: Number of largest deviations that it is estimated from.
    """

    index: float
    lower: float
    upper: float
    k: int

    @property
    def standard_error(self) -> float:
        """Asymptotic standard error of Hill's estimate."""
        return self.index / math.sqrt(self.k)


@dataclass(frozen=True)
class TailDiagnosis:
    """Diagnosis of the tails of a sample, with a recommended algorithm.

    Args:
        n: Number of values.
        ks: Kolmogorov-Smirnov distance to the normal with the same mean and standard deviation.
        p_value: P-value of that distance, with the fitted parameters taken into account.
        tail_index: Hill's estimate of the tail index.
        tail_lower: Lower end of its 95 % confidence interval.
        tail_upper: Upper end.
        tail_count: Number of largest deviations that it is estimated from.
        largest_over_mad: Largest deviation from the median in median absolute deviations, infinite
            if these are 0.
        outlier_share: Share of values more than 3.5 robust standard deviations from the median.
        algorithm: Name of the recommended function in `surefoot.algorithms`.
        moment: Estimated moment of the values less their median; None where the tail index is below
            1.1, as no moment of a usable order exists.
        reason: Explanation of the recommendation.
    """

    n: int
    ks: float
    p_value: float
    tail_index: float
    tail_lower: float
    tail_upper: float
    tail_count: int
    largest_over_mad: float
    outlier_share: float
    algorithm: str
    moment: Moment | None
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Fields as JSON-compatible values, with None for an infinite one."""
        content = asdict(self)
        if not math.isfinite(self.largest_over_mad):
            content["largest_over_mad"] = None
        return content

    @property
    def p_text(self) -> str:
        """The p-value as text, at the resolution of the simulation."""
        least = 1 / _SIMULATIONS
        return f"p < {least:g}" if self.p_value < least else f"p = {self.p_value:.3f}"

    def facts(self) -> list[tuple[str, str]]:
        """Name and formatted value of each field."""
        return [
            ("Values", str(self.n)),
            ("Kolmogorov-Smirnov against the normal", f"{self.ks:.3f} ({self.p_text})"),
            (
                "Tail index",
                f"{self.tail_index:.2f} (95 % interval {self.tail_lower:.2f} to "
                f"{self.tail_upper:.2f}, from the {self.tail_count} largest deviations)",
            ),
            ("Largest deviation / median absolute deviation", f"{self.largest_over_mad:.1f}"),
            ("Share of outliers (beyond 3.5 robust sd)", f"{100 * self.outlier_share:.1f} %"),
            ("Suggested algorithm", f"surefoot.algorithms.{self.algorithm}"),
            ("Suggested moment", _moment_text(self.moment)),
        ]

    def __str__(self) -> str:
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        lines = [f"{name:<{width}}  {finding}" for name, finding in facts]
        return "\n".join([*lines, "", self.reason])


def diagnose(y: ArrayLike) -> TailDiagnosis:
    """Diagnose the tails of repeated measurements of one quantity.

    From measurements of different configurations subtract the predictions of a model or the group
    means first; otherwise differences between configurations count as noise.

    Args:
        y: Measurements (n,), n >= 20.

    Returns:
        Test of normality, tail index, share of outliers, and a recommended algorithm.

    Raises:
        InvalidInput: For fewer than 20 values, constant or non-finite ones.

    Example:
        >>> import numpy as np
        >>> y = 10 + np.random.default_rng(0).standard_t(2, 200)
        >>> diagnosis = diagnose(y)
        >>> diagnosis.algorithm, round(diagnosis.tail_index, 2)
        ('robust_ucb', 1.65)
    """
    values = _clean(y)
    ks, p_value = normality(values)
    tail = tail_index(values)
    deviations = np.abs(values - np.median(values))
    mad = float(np.median(deviations))
    outliers = int(np.sum(deviations > _OUTLIER * MAD_TO_SD * mad))
    # A few normal values are that far out too; outliers are an excess over their number.
    chance = special.bdtrc(outliers - 1, len(values), 2 * special.ndtr(-_OUTLIER))
    largest = float(deviations.max()) / mad if mad > 0 else math.inf
    normal = p_value >= _SIGNIFICANT and chance >= _EXCESS
    share = outliers / len(values)
    exists = tail.index >= 1 + _MIN_ALPHA  # moments exist up to the tail index
    moment = Moment.estimate(values - np.median(values)) if exists else None
    return TailDiagnosis(
        n=len(values),
        ks=ks,
        p_value=p_value,
        tail_index=tail.index,
        tail_lower=tail.lower,
        tail_upper=tail.upper,
        tail_count=tail.k,
        largest_over_mad=largest,
        outlier_share=share,
        algorithm="gp_ucb" if normal else "robust_ucb",
        moment=moment,
        reason=_reason(len(values), p_value, tail, share, normal, moment),
    )


def normality(values: Array) -> tuple[float, float]:
    """Kolmogorov-Smirnov test of normality with fitted mean and standard deviation.

    The usual distribution of the statistic does not apply to fitted parameters (the test would
    hardly ever reject), so the p-value is simulated from normal samples, with a fixed seed. Samples
    of more than 500 values are compared with samples of 500 by Stephens's correction, under which
    the statistic hardly depends on the number of values.

    Args:
        values: Finite values (n,) that are not all equal.

    Returns:
        The distance and its p-value.

    References:
        Lilliefors 1967; Stephens 1974.

    Example:
        >>> import numpy as np
        >>> distance, p_value = normality(np.random.default_rng(0).normal(size=100))
        >>> p_value > 0.05
        True
    """
    # scipy.stats.monte_carlo_test gives the same p-value, but simulates anew at each call, and
    # importing scipy.stats would add a second to the import of every algorithm.
    n = len(values)
    distance = float(_ks_distance(values[None, :])[0])
    simulated = _simulated(min(n, 500))
    exceeding = int(np.sum(simulated >= distance * _stephens(n) * (1 - 1e-12)))
    return distance, (exceeding + 1) / (_SIMULATIONS + 1)


def tail_index(values: Array) -> TailIndex:
    """Hill's estimate of the tail index, from the k = n^(2/3) / 2 largest deviations.

    The rate n^(2/3) balances bias and variance for tails like those of Student's t with 2 degrees
    of freedom; the factor 1/2 excludes the bulk of small samples. The interval is exact for a
    Pareto tail, where k / index is a sum of k exponentials. For light tails, such as those of a
    normal, the estimate grows with n.

    Args:
        values: Finite values (n,).

    Returns:
        The estimate with its 95 % confidence interval.

    Raises:
        InvalidInput: If at most one value differs from the median.

    References:
        Hill 1975, "A simple general approach to inference about the tail of a distribution".

    Example:
        >>> import numpy as np
        >>> tail = tail_index(np.random.default_rng(0).standard_t(df=2, size=5000))
        >>> tail.lower < 2.0 < tail.upper
        True
    """
    deviations = np.sort(np.abs(values - np.median(values)))[::-1]
    k = max(5, math.ceil(len(values) ** (2 / 3) / 2))
    k = min(k, int(np.sum(deviations > 0)) - 1)
    if k < 1:
        raise InvalidInput(
            "at most one of the values differs from their median, expected values that vary."
        )
    spread = float(np.mean(np.log(deviations[:k] / deviations[k])))
    if spread == 0:
        # All k deviations equal the next one: a bounded, two-valued sample. Its tail is lighter
        # than any power; a large number represents that.
        return TailIndex(1e3, 1e3, 1e3, k)
    index = 1 / spread
    lower, upper = index * special.gammaincinv(k, [0.025, 0.975]) / k
    return TailIndex(index, float(lower), float(upper), k)


def _ks_distance(samples: Array) -> Array:
    """Kolmogorov-Smirnov distance of each row (m, n) to the normal fitted to it."""
    ordered = np.sort(samples, axis=1)
    n = samples.shape[1]
    centered = ordered - ordered.mean(axis=1, keepdims=True)
    levels = special.ndtr(centered / centered.std(axis=1, ddof=1, keepdims=True))
    steps = np.arange(n + 1) / n
    return np.maximum(steps[1:] - levels, levels - steps[:-1]).max(axis=1)


@lru_cache(maxsize=8)
def _simulated(n: int) -> Array:
    """Corrected distances (s,) of simulated normal samples of n values."""
    samples = np.random.default_rng(0).standard_normal((_SIMULATIONS, n))
    return _ks_distance(samples) * _stephens(n)


def _stephens(n: int) -> float:
    """Factor on the distance for n values (Stephens 1974, case of fitted mean and variance)."""
    return math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)


def _moment_text(moment: Moment | None) -> str:
    if moment is None:
        return "none"
    return f"Moment(alpha={moment.alpha:.3g}, bound={moment.bound:.4g}), about the median"


def _order_text(tail: TailIndex, moment: Moment | None) -> str:
    """Which moment an algorithm may assume."""
    if moment is None:
        return (
            "No moment of an order above 1 can be assumed, as the tail index is below "
            f"{1 + _MIN_ALPHA:g}"
        )
    order = f"For an algorithm that requires a moment, assume one of order {1 + moment.alpha:.2f}"
    if moment.alpha == 1:
        return f"{order}, a finite variance"
    if moment.alpha == _MIN_ALPHA:
        return f"{order}, the lowest that is considered"
    return f"{order}, one standard error below the tail index"


def _reason(
    n: int, p_value: float, tail: TailIndex, share: float, normal: bool, moment: Moment | None
) -> str:
    weak = " With fewer than 60 values this is weak evidence." if n < 60 else ""
    if normal:
        return (
            f"No evidence against normal noise (p = {p_value:.2f}, no excess of outliers), so "
            "gp_ucb is suitable. robust_ucb costs little here and protects against outliers in "
            f"later rewards.{weak}"
        )
    findings = []
    if p_value < _SIGNIFICANT:
        findings.append("the values are not normally distributed")
    if share > 0:
        findings.append(f"{100 * share:.1f} % of them are outliers")
    if tail.upper < 2:
        variance = (
            "The tail index is below 2, so the variance is infinite, or practically so at this "
            "sample size, and averages converge slowly"
        )
    elif tail.lower > 2:
        variance = (
            "The tail index is above 2, so the variance is finite, but least squares is still "
            "sensitive to single outliers"
        )
    else:
        variance = (
            "The confidence interval of the tail index contains 2, so it is open whether the "
            "variance is finite"
        )
    return (
        f"{' and '.join(findings).capitalize()}: use robust_ucb, which downweights outliers. "
        f"{variance}. {_order_text(tail, moment)}.{weak}"
    )


def _clean(y: ArrayLike) -> Array:
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"`y` cannot be made an array of numbers: {error}.") from None
    if values.ndim != 1:
        raise InvalidInput(f"`y` has shape {values.shape}, expected (n,): pass `y.ravel()`.")
    if len(values) < _MIN_VALUES:
        raise InvalidInput(
            f"`y` has {len(values)} values, expected at least {_MIN_VALUES}: fewer do not "
            "show the tails."
        )
    if not np.isfinite(values).all():
        raise InvalidInput(
            "`y` has values that are NaN or infinite, expected finite ones: leave failed "
            "measurements out."
        )
    if values.min() == values.max():
        raise InvalidInput(f"all values are {values[0]:g}, expected values that vary.")
    with np.errstate(over="ignore", under="ignore"):
        spread = float(values.std())
    if not 0 < spread < 1e150:
        raise InvalidInput(
            f"the values have standard deviation {spread:g}, expected one that float64 can square: "
            "measure in another unit."
        )
    return values
