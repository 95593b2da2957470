"""The tail index of a sample, by how far its largest deviations exceed the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from surefoot._internal.numbers import LAST_DIGITS, TINY
from surefoot.types import InvalidInput

Array = NDArray[np.float64]
_MIN_VALUES = 20  # for any statement about the tails


@dataclass(frozen=True)
class TailIndex:
    """Estimated tail index: P(|y - median| > x) decays like x^-index, faster if it is infinite.

    Args:
        index: Its posterior median. The variance is finite only above 2, the mean only above 1.
        lower: Lower end of its 95 % interval.
        upper: Upper end.
        cautious: What it exceeds with probability 0.84, one standard error below it.
        k: Number of largest deviations that it is estimated from.
    """

    index: float
    lower: float
    upper: float
    cautious: float
    k: int


@np.errstate(under="ignore")  # whatever the caller has set
def tail_index(values: Array) -> TailIndex:
    """The tail index by about n^(2/3) of the largest deviations from the median.

    Where they exceed the next largest one, they have nearly a generalised Pareto distribution,
    whose shape, the reciprocal of the index, is not changed by where the deviations are taken from,
    as Hill's estimate is. Each is known to the smallest difference of two values, to which they may
    be rounded, and equal ones are all counted or none. The prior of the shape is normal with mean
    and deviation 1/2, and that of the logarithmic scale flat; a tail of shape 0 or less is lighter
    than any power, and so is one of equal values.

    Args:
        values: Finite values (n,).

    Returns:
        The estimate with its 95 % interval.

    Raises:
        InvalidInput: If at most one value differs from the median.

    References:
        Pickands 1975, "Statistical inference using extreme order statistics"; Davison and Smith
        1990, "Models for exceedances over high thresholds".

    Example:
        >>> import numpy as np
        >>> tail = tail_index(np.random.default_rng(0).standard_t(df=2, size=5000))
        >>> tail.lower < 2.0 < tail.upper
        True
    """
    deviations = np.sort(np.abs(values - np.median(values)))[::-1]
    if np.sum(deviations > 0) < 2:
        raise InvalidInput(
            "at most one of the values differs from their median, expected values that vary."
        )
    ordered = np.sort(values)
    apart = np.diff(ordered)
    apart = apart[apart > LAST_DIGITS * np.abs(ordered[1:])]
    step = float(apart.min(initial=deviations[0]))  # to which the values are rounded
    ends = np.flatnonzero(-np.diff(deviations) > 0.25 * step) + 1  # of equal ones all are counted
    k = int(ends[np.abs(ends - len(values) ** (2 / 3)).argmin()]) if len(ends) else len(values)
    least = (deviations[:k] - deviations[min(k, len(values) - 1)] - step).clip(min=0.0)
    if least[0] < 0.25 * step:  # all are equal
        return TailIndex(math.inf, math.inf, math.inf, math.inf, k)
    middle = float(np.median(least)) + 0.5 * step
    steps, shapes = np.linspace(-6.0, 6.0, 61) / math.sqrt(k), np.linspace(-0.49, 6.01, 326)
    evidence = np.empty(len(shapes))
    for i, shape in enumerate(shapes):  # the median is scale (2^shape - 1) / shape
        scales = middle * shape / (2.0**shape - 1.0) * np.exp((1.0 + abs(shape)) * steps[:, None])
        above, beyond = (
            -np.log(np.maximum(1.0 + shape * one / scales, TINY)) / shape
            for one in (least, least + step)
        )  # logarithms of the probabilities to exceed what a value was at least, and at most
        each = above + np.log(np.maximum(-np.expm1(beyond - above), TINY))
        prior = math.log1p(abs(shape)) - 2.0 * (shape - 0.5) ** 2
        evidence[i] = special.logsumexp(each.sum(1)) + prior
    below = np.exp(evidence - special.logsumexp(evidence)).cumsum()
    found = shapes[np.searchsorted(below, (0.975, 0.84, 0.5, 0.025))].tolist()
    lower, cautious, index, upper = (1.0 / shape if shape > 0.0 else math.inf for shape in found)
    return TailIndex(index, lower, upper, cautious, k)


def checked_sample(y: ArrayLike, name: str = "`y`") -> Array:
    """A sample (n,) as an array; `InvalidInput` by its name where it cannot show the tails."""
    try:
        given = np.asarray(y)
        if np.ma.is_masked(y) or given.dtype.kind in "cb":
            what = "masked values" if np.ma.is_masked(y) else f"values of type {given.dtype}"
            raise InvalidInput(f"{name} has {what}, expected real numbers.")
        values = given.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidInput(f"{name} cannot be made an array of numbers: {error}.") from None
    if values.ndim != 1:
        raise InvalidInput(f"{name} has shape {values.shape}, expected (n,): pass `y.ravel()`.")
    if len(values) < _MIN_VALUES:
        raise InvalidInput(
            f"{name} has {len(values)} values, expected at least {_MIN_VALUES}: fewer do not "
            "show the tails."
        )
    if not np.isfinite(values).all():
        raise InvalidInput(
            f"{name} has values that are NaN or infinite, expected finite ones: leave failed "
            "measurements out."
        )
    if values.min() == values.max():
        raise InvalidInput(f"{name} has {values[0]:g} only, expected values that vary.")
    with np.errstate(over="ignore", under="ignore"):
        spread = float(values.std())
    if not 0 < spread < 1e150:
        raise InvalidInput(
            f"the values have standard deviation {spread:g}, expected one that float64 can square: "
            "measure in another unit."
        )
    return values
