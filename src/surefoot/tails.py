"""How heavy the tails of measurements are, and the moment that heavy-tailed algorithms assume."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from surefoot.types import InvalidInput

Array = NDArray[np.float64]

LEAST = 20  # values below which no tail can be seen
LEAST_ALPHA = 0.1
BLOCKS, SHORTFALL = 9, 1.5  # of the median of means
OUTLIER = 3.5  # robust standard deviations, Iglewicz & Hoaglin (1993)
MAD_TO_SD = 1.4826
SIMULATIONS = 2000
SIGNIFICANT, TOO_MANY = 0.05, 0.01  # p-values: of the distance, of the number of outliers


@dataclass(frozen=True)
class Moment:
    """What a heavy-tailed algorithm may assume of the rewards: E|y|^(1 + alpha) <= bound.

    `alpha` is in (0, 1], `bound` in the unit of the rewards to the power 1 + alpha. It is a raw
    moment, about zero: far from zero the bound is all offset, so centre the rewards first.
    """

    alpha: float
    bound: float

    def __post_init__(self) -> None:
        for name, value in (("alpha", self.alpha), ("bound", self.bound)):
            if isinstance(value, bool) or not isinstance(value, int | float | np.number):
                raise InvalidInput(f"`{name}` is {value!r}, expected a number.")
        if not 0 < self.alpha <= 1:
            raise InvalidInput(
                f"`alpha` is {self.alpha!r}, expected a number above 0 and at most 1: the moment "
                "of order 1 + alpha is assumed, so 1 means a finite variance."
            )
        if not (math.isfinite(self.bound) and self.bound > 0):
            raise InvalidInput(
                f"`bound` is {self.bound!r}, expected a finite number above 0 that "
                "E|y|^(1 + alpha) does not exceed."
            )

    @classmethod
    def estimate(cls, y: ArrayLike) -> Moment:
        """A moment for values (n,) like these, n >= 20; an estimate, not a certificate.

        `alpha` is the tail index less one standard error, minus 1, within [0.1, 1]: moments exist
        up to the tail index, and the error of Hill's estimate is known. `bound` is 1.5 times the
        median of the means of |y|^(1 + alpha) over 9 interleaved blocks, which a few wild values
        cannot drive up as they can the mean (Bubeck, Cesa-Bianchi & Lugosi 2013, lemma 2). The
        factor makes up for a median's falling short of the mean of skewed values: here by none
        (normal) to a third (Student's t with 2 degrees of freedom). Raises `InvalidInput`.
        """
        values = _clean(y)
        tail = tail_index(values)
        alpha = float(np.clip(tail.index - tail.standard_error - 1, LEAST_ALPHA, 1))
        powers = np.abs(values) ** (1 + alpha)
        blocks = min(BLOCKS, len(values) // 4)
        middle = float(np.median([powers[start::blocks].mean() for start in range(blocks)]))
        return cls(alpha, SHORTFALL * (middle if middle > 0 else float(powers.mean())))


@dataclass(frozen=True)
class TailIndex:
    """P(|y - median| > x) falls as x^-index far out; `lower` and `upper` hold it with 95 %.

    It rests on the `k` largest deviations.
    """

    index: float
    lower: float
    upper: float
    k: int

    @property
    def standard_error(self) -> float:
        return self.index / math.sqrt(self.k)


@dataclass(frozen=True)
class TailDiagnosis:
    """How heavy the tails of `n` values are, and what to do about it.

    `ks` is the Kolmogorov-Smirnov distance to the normal of the same mean and standard deviation,
    `p_value` its significance with the fitting taken into account, `tail_index` Hill's estimate
    with its 95 % interval from the `tail_count` largest deviations, `largest_over_mad` the largest
    deviation from the median in units of the median absolute one (infinite if that is 0), and
    `outlier_share` the share of values more than 3.5 robust standard deviations out. `algorithm`
    names one of `surefoot.algorithms`; `moment` is for those that ask for one, and holds for the
    values less their median. `reason` explains both in plain words.
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
    moment: Moment
    reason: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values for JSON; what is infinite becomes None."""
        content = asdict(self)
        if not math.isfinite(self.largest_over_mad):
            content["largest_over_mad"] = None
        return content

    @property
    def p_text(self) -> str:
        """The p-value for people; the simulation tells none below its own grain."""
        least = 1 / SIMULATIONS
        return f"p < {least:g}" if self.p_value < least else f"p = {self.p_value:.3f}"

    def facts(self) -> list[tuple[str, str]]:
        """Each finding with its name, for people."""
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
            (
                "Suggested moment",
                f"Moment(alpha={self.moment.alpha:.3g}, bound={self.moment.bound:.4g}), about the "
                "median",
            ),
        ]

    def __str__(self) -> str:
        facts = self.facts()
        width = max(len(name) for name, _ in facts)
        lines = [f"{name:<{width}}  {finding}" for name, finding in facts]
        return "\n".join([*lines, "", self.reason])


def diagnose(y: ArrayLike) -> TailDiagnosis:
    """Look at the tails of repeated measurements (n,) of one thing, n >= 20.

    Measurements of different settings should have their model or group means taken off first, or
    the differences between settings pass for noise. Raises `InvalidInput`.
    """
    values = _clean(y)
    ks, p_value = normality(values)
    tail = tail_index(values)
    deviations = np.abs(values - np.median(values))
    mad = float(np.median(deviations))
    outliers = int(np.sum(deviations > OUTLIER * MAD_TO_SD * mad))
    # Normal values lie so far out now and then; more often than that makes outliers of them.
    chance = special.bdtrc(outliers - 1, len(values), 2 * special.ndtr(-OUTLIER))
    largest = float(deviations.max()) / mad if mad > 0 else math.inf
    normal = p_value >= SIGNIFICANT and chance >= TOO_MANY
    share = outliers / len(values)
    moment = Moment.estimate(values - np.median(values))
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
    """Distance to the normal with the values' own mean and standard deviation, and its p-value.

    The usual table of the Kolmogorov-Smirnov test does not apply once mean and deviation are fitted
    (Lilliefors 1967): it would hardly ever reject. So the p-value is simulated, from normal samples
    treated alike, always the same ones. Large samples are compared at 500 values by Stephens's
    (1974) correction, under which the distance hardly depends on their number.
    """
    n = len(values)
    distance = float(_distance(values[None, :])[0])
    simulated = _simulated(min(n, 500))
    exceeding = int(np.sum(simulated >= distance * _stephens(n) * (1 - 1e-12)))
    return distance, (exceeding + 1) / (SIMULATIONS + 1)


def tail_index(values: Array) -> TailIndex:
    """Hill's (1975) estimate from the k = n^(2/3) / 2 largest deviations from the median.

    The rate n^(2/3) balances bias and variance for tails like those of Student's t with 2 degrees
    of freedom; the half keeps the bulk out in small samples. The interval is that of an exact
    Pareto tail, for which k / index is a sum of k exponentials; towards a thin tail (of a normal,
    say) the estimate has no limit but grows with n.
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
        # All k are as far out as the next one: a bounded, two-valued sample. Its tail is thinner
        # than any; the number stands for that.
        return TailIndex(1e3, 1e3, 1e3, k)
    index = 1 / spread
    lower, upper = index * special.gammaincinv(k, [0.025, 0.975]) / k
    return TailIndex(index, float(lower), float(upper), k)


def _distance(samples: Array) -> Array:
    """Kolmogorov-Smirnov distance of each row (m, n) to the normal fitted to it."""
    ordered = np.sort(samples, axis=1)
    n = samples.shape[1]
    centred = ordered - ordered.mean(axis=1, keepdims=True)
    levels = special.ndtr(centred / centred.std(axis=1, ddof=1, keepdims=True))
    steps = np.arange(n + 1) / n
    return np.maximum(steps[1:] - levels, levels - steps[:-1]).max(axis=1)


@lru_cache(maxsize=8)
def _simulated(n: int) -> Array:
    """Corrected distances of normal samples of n values (SIMULATIONS,)."""
    samples = np.random.default_rng(0).standard_normal((SIMULATIONS, n))
    return _distance(samples) * _stephens(n)


def _stephens(n: int) -> float:
    return math.sqrt(n) - 0.01 + 0.85 / math.sqrt(n)


def _reason(
    n: int, p_value: float, tail: TailIndex, share: float, normal: bool, moment: Moment
) -> str:
    few = " With so few values this is a weak statement." if n < 60 else ""
    if normal:
        return (
            f"Nothing speaks against normal noise (p = {p_value:.2f}, no more far values than "
            "normal noise has), so gp_ucb suits it. robust_ucb costs little here and guards "
            f"against outliers still to come.{few}"
        )
    seen = []
    if p_value < SIGNIFICANT:
        seen.append("the values are not normally distributed")
    if share > 0:
        seen.append(f"{100 * share:.1f} % of them are outliers")
    if tail.upper < 2:
        meaning = (
            "The tail index lies below 2, so the variance is infinite, or as good as that for a "
            "sample of this size, and averages settle slowly"
        )
    elif tail.lower > 2:
        meaning = (
            "The tail index lies above 2, so the variance is finite, but least squares would still "
            "follow single far values"
        )
    else:
        meaning = (
            "The tail index may lie on either side of 2, so whether the variance is finite remains "
            "open"
        )
    return (
        f"{' and '.join(seen).capitalize()}: use robust_ucb, which gives far values less weight. "
        f"{meaning}. Where an algorithm asks for a moment, assume one of order "
        f"{1 + moment.alpha:.2f}, one standard error inside what the tail index allows.{few}"
    )


def _clean(y: ArrayLike) -> Array:
    try:
        values = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInput(f"`y` cannot be made an array of numbers: {error}.") from None
    if values.ndim != 1:
        raise InvalidInput(f"`y` has shape {values.shape}, expected (n,): pass `y.ravel()`.")
    if len(values) < LEAST:
        raise InvalidInput(
            f"`y` has {len(values)} values, expected at least {LEAST}: fewer show nothing of the "
            "tails."
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
