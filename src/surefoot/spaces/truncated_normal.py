"""A normal distribution between two ends, which torch does not have."""

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
    """A normal distribution cut off below `low` and above `high`, for `ContinuousEnvironment`.

    Each is one number, or (dz,) for independent coordinates. Raises `InvalidInput` where there is
    next to no probability between the two.
    """
    given = {"mean": mean, "std": std, "low": low, "high": high}
    parts = [checks.vector(name, checks.listed(value)) for name, value in given.items()]
    try:
        centre, deviation, lower, upper = torch.broadcast_tensors(*parts)
    except RuntimeError as error:
        lengths = ", ".join(f"{name} {len(part)}" for name, part in zip(given, parts, strict=True))
        raise InvalidInput(
            f"the numbers of coordinates differ ({lengths}), expected one number each, or as many "
            "for all."
        ) from error
    if not bool((deviation > 0.0).all()):
        raise InvalidInput(f"`std` is {std!r}, expected numbers above 0.")
    if not bool((lower < upper).all()):
        raise InvalidInput(f"`low` is {low!r} and `high` {high!r}, expected low < high.")
    normal = Normal(centre, deviation)
    shares = normal.cdf(lower), normal.cdf(upper)
    if not bool((shares[1] - shares[0] > 1e-9).all()):
        raise InvalidInput(
            f"a normal with mean {mean!r} and std {std!r} is practically never between {low!r} "
            f"and {high!r}: move the mean or widen the range."
        )
    return Independent(_TruncatedNormal(normal, lower, upper), 1)


class _TruncatedNormal(Distribution):
    """The quantiles of normals at uniform shares between those of two ends."""

    arg_constraints: ClassVar = {}

    def __init__(self, normal: Normal, low: Tensor, high: Tensor) -> None:
        super().__init__(low.shape, validate_args=False)
        self.normal, self.low, self.high = normal, low, high
        self._first, self._share = normal.cdf(low), normal.cdf(high) - normal.cdf(low)

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self) -> constraints.Constraint:
        """Between the ends."""
        return constraints.interval(self.low, self.high)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Values of shape (*sample_shape, dz)."""
        return self.icdf(torch.rand(*sample_shape, *self.batch_shape, dtype=torch.float64))

    def icdf(self, value: Tensor) -> Tensor:
        """Quantiles."""
        return self.normal.icdf(self._first + self._share * value).clamp(self.low, self.high)

    def log_prob(self, value: Tensor) -> Tensor:
        """Log density, between the ends."""
        return self.normal.log_prob(value) - self._share.log()
