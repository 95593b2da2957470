"""The tail index of a sample, by how far its largest deviations exceed the next one."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from surefoot._internal.numbers import TINY
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


def tail_index(values: Array) -> TailIndex:
    """The tail index by the k = n^(2/3) largest deviations from the median.

    Where they exceed the next largest one, they have nearly a generalised Pareto distribution,
    whose shape, the reciprocal of the index, is not changed by where the deviations are taken from,
    as Hill's estimate is. Its prior is normal with mean and deviation 1/2, and that of the
    logarithmic scale flat; a tail of shape 0 or less is lighter than any power.

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
    k = min(max(5, math.ceil(len(values) ** (2 / 3))), int(np.sum(deviations > 0)) - 1)
    if k < 1:
        raise InvalidInput(
            "at most one of the values differs from their median, expected values that vary."
        )
    excess = deviations[:k] - deviations[k]
    if excess[0] == 0.0:  # a bounded, two-valued sample
        return TailIndex(math.inf, math.inf, math.inf, math.inf, k)
    middle, steps = np.median(excess[excess > 0.0]), np.linspace(-6.0, 6.0, 61) / math.sqrt(k)
    shapes = np.linspace(-0.49, 6.01, 326)
    evidence = np.empty(len(shapes))
    for i, shape in enumerate(shapes):  # the median excess is scale (2^shape - 1) / shape
        scales = middle * shape / (2.0**shape - 1.0) * np.exp((1.0 + abs(shape)) * steps)
        inner = 1.0 + shape * excess / scales[:, None]
        logs = np.log(np.maximum(inner, TINY)).sum(1)
        density = math.log1p(abs(shape)) - k * np.log(scales) - (1.0 / shape + 1.0) * logs
        possible = np.where((inner > 0.0).all(1), density, -np.inf)
        evidence[i] = special.logsumexp(possible) - 2.0 * (shape - 0.5) ** 2
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
