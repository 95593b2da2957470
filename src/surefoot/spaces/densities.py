"""Truncated normal distribution, which torch lacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import torch
from torch import Tensor
from torch.distributions import Distribution, Independent, Normal, constraints

from surefoot._internal import checks
from surefoot.types import InvalidInput


def truncated_normal(
    mean: float | Sequence[float] | Tensor,
    std: float | Sequence[float] | Tensor,
    low: float | Sequence[float] | Tensor,
    high: float | Sequence[float] | Tensor,
) -> Distribution:
    """Normal distribution truncated to an interval, for `ContinuousEnvironment`.

    Each argument is one number, or (dz,) for independent coordinates.

    Args:
        mean: Mean before truncation.
        std: Standard deviation before truncation, above 0.
        low: Lower end of the interval.
        high: Upper end, above `low`.

    Returns:
        A torch distribution of vectors (dz,), with `sample`, `log_prob` and `icdf`.

    Raises:
        InvalidInput: If an argument is out of range, or the interval has probability below 1e-9.

    Example:
        >>> import torch
        >>> load = truncated_normal(0.5, 0.125, low=0.25, high=0.75)
        >>> load.base_dist.icdf(torch.tensor([0.5], dtype=torch.float64)).item()
        0.5
    """
    given = {"mean": mean, "std": std, "low": low, "high": high}
    vectors = [checks.vector(name, checks.listed(value)) for name, value in given.items()]
    try:
        location, deviation, lower, upper = torch.broadcast_tensors(*vectors)
    except RuntimeError as error:
        lengths = ", ".join(
            f"{name} {len(vector)}" for name, vector in zip(given, vectors, strict=True)
        )
        raise InvalidInput(
            f"the numbers of coordinates differ ({lengths}), expected one number each, or as many "
            "for all."
        ) from error
    if not bool((deviation > 0.0).all()):
        raise InvalidInput(f"`std` is {std!r}, expected numbers above 0.")
    if not bool((lower < upper).all()):
        raise InvalidInput(f"`low` is {low!r} and `high` {high!r}, expected low < high.")
    normal = Normal(location, deviation)
    if not bool((normal.cdf(upper) - normal.cdf(lower) > 1e-9).all()):
        raise InvalidInput(
            f"a normal with mean {mean!r} and std {std!r} has practically no probability between "
            f"{low!r} and {high!r}: move the mean or widen the interval."
        )
    return Independent(_TruncatedNormal(normal, lower, upper), 1)


class _TruncatedNormal(Distribution):
    """Quantiles of a normal at uniform probabilities between those of the two ends.

    A `TransformedDistribution` of `Uniform` by the inverse of `CumulativeDistributionTransform`
    has the same samples, but the whole line as its support, and density 0 at the upper end.
    """

    arg_constraints: ClassVar = {}

    def __init__(self, normal: Normal, low: Tensor, high: Tensor) -> None:
        super().__init__(low.shape, validate_args=False)
        self.normal, self.low, self.high = normal, low, high
        self._first, self._share = normal.cdf(low), normal.cdf(high) - normal.cdf(low)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        return constraints.interval(self.low, self.high)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        return self.icdf(torch.rand(*sample_shape, *self.batch_shape, dtype=torch.float64))

    def icdf(self, value: Tensor) -> Tensor:
        return self.normal.icdf(self._first + self._share * value).clamp(self.low, self.high)

    def log_prob(self, value: Tensor) -> Tensor:
        return self.normal.log_prob(value) - self._share.log()
