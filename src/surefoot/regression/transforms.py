"""Monotone transformations of measured values, and chains of them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

_MAX_KNEES = 300.0  # of a warped value, whose inverse would overflow


class Transform(Protocol):
    """Strictly monotone transformation of values, elementwise."""

    @property
    def is_identity(self) -> bool:
        """Whether values stay as they are."""
        ...

    @property
    def is_affine(self) -> bool:
        """Whether equal differences of values become equal differences."""
        ...

    def __call__(self, values: Tensor) -> Tensor:
        """Transformed values (...)."""
        ...

    def inverse(self, transformed: Tensor) -> Tensor:
        """The values (...) that become these."""
        ...

    def log_slope(self, values: Tensor) -> Tensor:
        """Logarithm of the absolute derivative at values (...)."""
        ...

    def errors(self, values: Tensor, errors: Tensor) -> Tensor:
        """Standard errors (...) of the transformed values, to first order, from those of values."""
        ...


@dataclass(frozen=True)
class Affine:
    """Values less a center, in units of a scale.

    Args:
        center: The value that becomes 0.
        scale: Unit of the transformed values; below 0 where the order is reversed.
    """

    center: float = 0.0
    scale: float = 1.0

    is_affine = True

    @property
    def is_identity(self) -> bool:
        """Whether values stay as they are."""
        return self.center == 0.0 and self.scale == 1.0

    def __call__(self, values: Tensor) -> Tensor:
        """(values - center) / scale, as (...)."""
        return (values - self.center) / self.scale

    def inverse(self, transformed: Tensor) -> Tensor:
        """The values (...) that become these."""
        return self.center + self.scale * transformed

    def log_slope(self, values: Tensor) -> Tensor:
        """Logarithm of 1 / |scale|, as (...)."""
        return torch.full_like(values, -math.log(abs(self.scale)))

    def errors(self, values: Tensor, errors: Tensor) -> Tensor:
        """errors / |scale|, as (...)."""
        return errors / abs(self.scale)


REVERSED = Affine(scale=-1.0)
"""Values with the opposite sign: what is minimised becomes what is maximised."""


@dataclass(frozen=True)
class Log:
    """Natural logarithm of values above 0."""

    is_affine = False
    is_identity = False

    def __call__(self, values: Tensor) -> Tensor:
        """Logarithms (...)."""
        return values.log()

    def inverse(self, transformed: Tensor) -> Tensor:
        """Exponentials (...)."""
        return transformed.exp()

    def log_slope(self, values: Tensor) -> Tensor:
        """Logarithm of 1 / value, as (...)."""
        return -values.log()

    def errors(self, values: Tensor, errors: Tensor) -> Tensor:
        """Relative errors (...)."""
        return errors / values


@dataclass(frozen=True)
class Warp:
    r"""Compression of values far from an anchor.

    .. math:: w(y) = a + b \operatorname{asinh}((y - a) / b)

    Close to the anchor a it is the identity, and logarithmic beyond the knee b, so that rewards
    that span decades, or whose noise grows with their size, become alike.

    Args:
        anchor: The value a that stays as it is.
        knee: The distance b from the anchor at which compression begins; infinite for none.

    References:
        Burbidge, Magee and Robb 1988, "Alternative transformations to handle extreme values of
        the dependent variable"; Snelson, Rasmussen and Ghahramani 2004, "Warped Gaussian
        processes".

    Example:
        >>> import torch
        >>> warp = Warp(anchor=10.0, knee=1.0)
        >>> warp(torch.tensor([10.0, -990.0], dtype=torch.float64)).round(decimals=2).tolist()
        [10.0, 2.4]
        >>> round(warp.inverse(torch.tensor([2.4], dtype=torch.float64)).item())
        -989
    """

    anchor: float = 0.0
    knee: float = math.inf

    @property
    def is_identity(self) -> bool:
        """Whether values stay as they are."""
        return self.knee == math.inf

    @property
    def is_affine(self) -> bool:
        """Whether nothing is compressed."""
        return self.is_identity

    def __call__(self, values: Tensor) -> Tensor:
        """Compressed values (...)."""
        if self.is_identity:
            return values
        return self.anchor + self.knee * torch.asinh((values - self.anchor) / self.knee)

    def inverse(self, transformed: Tensor) -> Tensor:
        """The values (...) that become these."""
        if self.is_identity:
            return transformed
        knees = ((transformed - self.anchor) / self.knee).clamp(-_MAX_KNEES, _MAX_KNEES)
        return self.anchor + self.knee * torch.sinh(knees)

    def log_slope(self, values: Tensor) -> Tensor:
        """Logarithm of the derivative at values (...)."""
        if self.is_identity:
            return torch.zeros_like(values)
        return -0.5 * torch.log1p(((values - self.anchor) / self.knee).square())

    def errors(self, values: Tensor, errors: Tensor) -> Tensor:
        """Errors (...) times the slope."""
        return self.log_slope(values).exp() * errors


UNWARPED = Warp()


@dataclass(frozen=True)
class Chain:
    """Transformations one after the other, from the values of a user to those of a model.

    Args:
        parts: The transformations, in the order in which they are applied.

    Example:
        >>> import torch
        >>> minimised = Chain((Log(), REVERSED))
        >>> told = minimised(torch.tensor([1.0, 10.0], dtype=torch.float64))
        >>> told.round(decimals=2).tolist(), minimised.inverse(told).round().tolist()
        ([-0.0, -2.3], [1.0, 10.0])
    """

    parts: tuple[Transform, ...] = ()

    def __post_init__(self) -> None:
        changing = tuple(part for part in self.parts if not part.is_identity)
        object.__setattr__(self, "parts", changing)

    @property
    def is_identity(self) -> bool:
        """Whether values stay as they are."""
        return not self.parts

    @property
    def is_affine(self) -> bool:
        """Whether equal differences of values become equal differences."""
        return all(part.is_affine for part in self.parts)

    @property
    def is_increasing(self) -> bool:
        """Whether larger values become larger."""
        low, high = self.inverse(torch.tensor([0.0, 1.0], dtype=torch.float64)).tolist()
        return low < high

    def then(self, *parts: Transform) -> Chain:
        """This chain, and further transformations after it."""
        return Chain((*self.parts, *parts))

    def __call__(self, values: Tensor) -> Tensor:
        """Transformed values (...)."""
        for part in self.parts:
            values = part(values)
        return values

    def inverse(self, transformed: Tensor) -> Tensor:
        """The values (...) that become these."""
        for part in reversed(self.parts):
            transformed = part.inverse(transformed)
        return transformed

    def log_slope(self, values: Tensor) -> Tensor:
        """Logarithm of the absolute derivative at values (...)."""
        total = torch.zeros_like(values)
        for part in self.parts:
            total = total + part.log_slope(values)
            values = part(values)
        return total

    def errors(self, values: Tensor, errors: Tensor) -> Tensor:
        """Standard errors (...) of transformed values, to first order.

        Args:
            values: Values (...).
            errors: Their standard errors (...), in the same units.
        """
        for part in self.parts:
            values, errors = part(values), part.errors(values, errors)
        return errors


UNCHANGED = Chain()
