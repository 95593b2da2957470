"""Hill's estimate of the tail index of a sample."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from surefoot.types import InvalidInput

Array = NDArray[np.float64]
LARGEST_INDEX = 1e3  # where the largest deviations are equal: there is no tail
_MIN_VALUES = 20  # for any statement about the tails


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
        return TailIndex(LARGEST_INDEX, LARGEST_INDEX, LARGEST_INDEX, k)
    index = 1 / spread
    lower, upper = index * special.gammaincinv(k, [0.025, 0.975]) / k
    return TailIndex(index, float(lower), float(upper), k)


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
