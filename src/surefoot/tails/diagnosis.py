"""Tail diagnosis of repeated measurements."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from surefoot._internal.numbers import LAST_DIGITS, MAD_TO_SD, OUTLYING
from surefoot.tails.exceedances import Array, TailIndex, checked_sample, tail_index
from surefoot.tails.moment import LEAST_ALPHA, Moment

SIMULATIONS = 2000


def normality(values: Array) -> tuple[float, float]:
    """Kolmogorov-Smirnov test of normality with fitted mean and standard deviation.

    The usual distribution of the statistic does not apply to fitted parameters (the test would
    hardly ever reject), so the p-value is simulated from normal samples, with a fixed seed. Samples
    of more than 500 values are compared with samples of 500 by Stephens's correction, under which
    the statistic hardly depends on the number of values. Where values are rounded, what is tested
    are values that would be rounded to them.

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
    distance = float(_ks_distance(_unrounded(values)[None, :])[0])
    exceeding = int(np.sum(_simulated(min(n, 500)) >= distance * _stephens(n) * (1 - LAST_DIGITS)))
    return distance, (exceeding + 1) / (SIMULATIONS + 1)


def _unrounded(values: Array) -> Array:
    """Values (n,) that would be rounded to those, in their steps as a fitted normal has them."""
    ordered = np.sort(values)
    apart = np.diff(ordered)
    steps = apart[apart > LAST_DIGITS * np.maximum(np.abs(ordered[1:]), np.abs(ordered[:-1]))]
    if len(steps) == len(apart) or not len(steps):
        return values
    half = 0.5 * float(steps.min())
    mean, deviation = values.mean(), math.sqrt(max(values.var() - half**2 / 3.0, half**2))
    low, high = (special.ndtr((ordered + end - mean) / deviation) for end in (-half, half))
    first, after = (np.searchsorted(ordered, ordered, side) for side in ("left", "right"))
    shares = (np.arange(len(values)) - first + 0.5) / (after - first)
    spread = mean + deviation * special.ndtri(low + shares * (high - low))
    return np.clip(spread, ordered - half, ordered + half)


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
    return _ks_distance(np.random.default_rng(0).standard_normal((SIMULATIONS, n))) * _stephens(n)


def _stephens(n: int) -> float:
    """Factor on the distance for n values (Stephens 1974, case of fitted mean and variance)."""
    return math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)


_SIGNIFICANT, _EXCESS = 0.05, 0.01  # p-values: of the distance, of the number of outliers


@dataclass(frozen=True)
class TailDiagnosis:
    """Diagnosis of the tails of a sample, with a recommended algorithm.

    Args:
        n: Number of values.
        ks: Kolmogorov-Smirnov distance to the normal with the same mean and standard deviation.
        p_value: P-value of that distance, with the fitted parameters taken into account.
        tail_index: The tail index, infinite for a tail that is lighter than any power.
        tail_lower: Lower end of its 95 % interval.
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
        return {name: None if one == math.inf else one for name, one in asdict(self).items()}

    @property
    def p_text(self) -> str:
        """The p-value as text, at the resolution of the simulation."""
        least = 1 / SIMULATIONS
        return f"p < {least:g}" if self.p_value < least else f"p = {self.p_value:.3f}"

    def facts(self) -> list[tuple[str, str]]:
        """Name and formatted value of each field."""
        return [
            ("Values", str(self.n)),
            ("Kolmogorov-Smirnov against the normal", f"{self.ks:.3f} ({self.p_text})"),
            ("Tail index", self._tail_text()),
            ("Largest deviation / median absolute deviation", f"{self.largest_over_mad:.1f}"),
            ("Share of outliers (beyond 3.5 robust sd)", f"{100 * self.outlier_share:.1f} %"),
            ("Suggested algorithm", f"surefoot.algorithms.{self.algorithm}"),
            ("Suggested moment", _moment_text(self.moment)),
        ]

    def _tail_text(self) -> str:
        of = f"from the {self.tail_count} largest deviations"
        if self.tail_lower == math.inf:
            return f"none seen ({of})"
        low, middle, high = (
            "infinity" if one == math.inf else f"{one:.2f}"
            for one in (self.tail_lower, self.tail_index, self.tail_upper)
        )
        return f"{middle} (95 % interval {low} to {high}, {of})"

    def __str__(self) -> str:
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        lines = [f"{name:<{width}}  {finding}" for name, finding in facts]
        return "\n".join([*lines, "", self.reason])


@np.errstate(under="ignore")  # whatever the caller has set
def diagnose(y: ArrayLike, name: str = "`y`") -> TailDiagnosis:
    """Diagnose the tails of repeated measurements of one quantity.

    From measurements of different configurations subtract the predictions of a model or the group
    means first; otherwise differences between configurations count as noise.

    Args:
        y: Measurements (n,), n >= 20.
        name: What they are, in messages.

    Returns:
        Test of normality, tail index, share of outliers, and a recommended algorithm.

    Raises:
        InvalidInput: For fewer than 20 values, constant or non-finite ones.

    Example:
        >>> import numpy as np
        >>> y = 10 + np.random.default_rng(0).standard_t(2, 200)
        >>> diagnosis = diagnose(y)
        >>> diagnosis.algorithm, round(diagnosis.tail_index, 2)
        ('robust_ucb', 1.3)
    """
    values = checked_sample(y, name)
    ks, p_value = normality(values)
    tail = tail_index(values)
    deviations = np.abs(values - np.median(values))
    mad = float(np.median(deviations))
    outliers = int(np.sum(deviations > OUTLYING * _robust_sd(deviations)))
    # A few normal values are that far out too; outliers are an excess over their number.
    chance = special.bdtrc(outliers - 1, len(values), 2 * special.ndtr(-OUTLYING))
    largest = float(deviations.max()) / mad if mad > 0 else math.inf
    normal = p_value >= _SIGNIFICANT and chance >= _EXCESS
    share = outliers / len(values)
    exists = tail.index >= 1 + LEAST_ALPHA  # moments exist up to the tail index
    moment = replace(Moment.estimate(values - np.median(values)), center="mean") if exists else None
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


def _robust_sd(deviations: NDArray[np.float64]) -> float:
    """1.4826 times the median of deviations (n,) from a median.

    Where that is 0, as of two values with a coarse clock, the deviation of a normal distribution of
    which as many are nearer to 0 than to the smallest deviation above 0.
    """
    if middle := float(np.median(deviations)):
        return MAD_TO_SD * middle
    equal = float(np.mean(deviations == 0.0)) + 0.5 / len(deviations)
    smallest = float(deviations[deviations > 0.0].min())
    return 0.5 * smallest / float(special.ndtri(0.5 * (1.0 + equal)))


def _moment_text(moment: Moment | None) -> str:
    if moment is None:
        return "none"
    return f"Moment(alpha={moment.alpha:.3g}, bound={moment.bound:.4g}), about the median"


def _order_text(tail: TailIndex, moment: Moment | None) -> str:
    """Moment that an algorithm may assume."""
    if moment is None:
        return (
            "No moment of an order above 1 can be assumed, as the tail index is below "
            f"{1 + LEAST_ALPHA:g}"
        )
    order = f"For an algorithm that requires a moment, assume one of order {1 + moment.alpha:.2f}"
    if moment.alpha == 1:
        return f"{order}, a finite variance"
    if moment.alpha == LEAST_ALPHA:
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
    if tail.lower == math.inf:
        variance = (
            "No tail is seen that decreases like a power, but least squares is still sensitive to "
            "single outliers"
        )
    elif tail.upper < 2:
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
            "The interval of the tail index contains 2, so it is open whether the variance is "
            "finite"
        )
    return (
        f"{' and '.join(findings).capitalize()}: use robust_ucb, which downweights outliers. "
        f"{variance}. {_order_text(tail, moment)}.{weak}"
    )
