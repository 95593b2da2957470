"""Monotone transformations of measured values, and chains of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

_KEPT_MARGIN = 0.45  # of a shortened gap
_MAX_KNEES = 300.0  # of a warped value, whose inverse would overflow


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
class Levels:
    r"""Gaps of other lengths between levels that values agree on.

    A quantity that jumps, such as the memory of a program by the encoding that it chooses, has
    values on a few levels, whose distance may be hundreds of times their spread. A stationary
    process with a jump that large is rough everywhere, and outliers of a constant explain the
    values better. Where no value lies, a distance carries no information: each gap becomes
    `length`, and all else keeps its differences. In a gap that becomes shorter the slope is 1 near
    the levels, too, so that a value just off a level stays off it.

    Args:
        gaps: Lower and upper end of each gap, in increasing order.
        length: Length of each gap in transformed values.
        resolution: Standard error of every value, for levels without any spread of their own.

    References:
        Snelson, Rasmussen and Ghahramani 2004, "Warped Gaussian processes".

    Example:
        >>> import torch
        >>> levels = Levels(gaps=((1.0, 101.0),), length=4.0)
        >>> levels(torch.tensor([0.5, 101.0, 103.0], dtype=torch.float64)).tolist()
        [0.5, 5.0, 7.0]
    """

    gaps: tuple[tuple[float, float], ...] = ()
    length: float = 0.0
    resolution: float = 0.0

    @property
    def is_identity(self) -> bool:
        """Whether there is one level only."""
        return not self.gaps

    @property
    def is_affine(self) -> bool:
        """Whether there is one level only."""
        return self.is_identity

    @property
    def log_shortening(self) -> float:
        """Sum of the logarithms of the factors by which gaps are shorter."""
        return sum(math.log((high - low) / self.length) for low, high in self.gaps)

    def index(self, values: Tensor) -> Tensor:
        """Index (...) of the level of values (...), of those between two that of the nearer one."""
        middles = values.new_tensor([0.5 * (low + high) for low, high in self.gaps])
        return torch.bucketize(values, middles)

    def joined(self, values: Tensor) -> Tensor:
        """Values (...) as they would be on one level: only those off all levels are far away."""
        for low, high in reversed(self.gaps):
            values = torch.where(values > low, low + (values - high).clamp_min(0.0), values)
        return values

    def __call__(self, values: Tensor) -> Tensor:
        """Transformed values (...)."""
        transformed = values
        for low, high in self.gaps:
            near, middle, slope = self._parts(low, high)
            transformed = transformed + (slope - 1.0) * (values - low - near).clamp(0.0, middle)
        return transformed

    def inverse(self, transformed: Tensor) -> Tensor:
        """The values (...) that become these."""
        values, moved = transformed, 0.0
        for low, high in self.gaps:
            near, middle, slope = self._parts(low, high)
            within = (transformed - (low + moved) - near).clamp(0.0, slope * middle)
            values = values + (1.0 / slope - 1.0) * within
            moved += self.length - (high - low)
        return values

    def log_slope(self, values: Tensor) -> Tensor:
        """Logarithm of the derivative at values (...): 0 but within gaps."""
        slopes = torch.zeros_like(values)
        for low, high in self.gaps:
            near, _, slope = self._parts(low, high)
            inside = (values > low + near) & (values < high - near)
            slopes = torch.where(inside, math.log(slope), slopes)
        return slopes

    def errors(self, values: Tensor, errors: Tensor) -> Tensor:
        """Errors (...) times the slope, and the resolution."""
        own = self.log_slope(values).exp() * errors
        return own if self.resolution == 0.0 else own.square().add(self.resolution**2).sqrt()

    def _parts(self, low: float, high: float) -> tuple[float, float, float]:
        """Of a gap, the parts of slope 1 at either end, the rest, and the slope there."""
        gap = high - low
        near = _KEPT_MARGIN * self.length if self.length < gap else 0.0
        middle = gap - 2.0 * near
        return near, middle, (self.length - 2.0 * near) / middle


ONE_LEVEL = Levels()


@dataclass(frozen=True)
class Chain:
    """Transformations one after the other, from the values of a user to those of a model.

    Args:
        parts: The transformations, in the order in which they are applied.

    Example:
        >>> import torch
        >>> minimised = Chain((Log(), Affine(scale=-1.0)))
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


Transform = Affine | Log | Warp | Levels | Chain
"""Strictly monotone transformation of values, elementwise."""


UNCHANGED = Chain()
