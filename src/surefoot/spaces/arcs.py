"""Numbers that may be absent, or have special values, as coordinates of a box."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot._internal import checks

Activity = Callable[[Tensor], Tensor]  # (n, d) -> (n, d)
_SPECIAL_SHARE = 0.2  # of random values, as in LlamaTune (Kanellis et al. 2022), Section 4.1


@dataclass(frozen=True)
class AllActive:
    """Leaves points (n, d) as they are: every variable is active everywhere."""

    def __call__(self, points: Tensor) -> Tensor:
        """The points themselves."""
        return points


ALL_ACTIVE = AllActive()


@dataclass(frozen=True, eq=False)
class Arc:
    r"""A number in [0, 1] that may be absent or have special values.

    The number u is encoded as (cos u, sin u), a point of the unit circle, and its absence as the
    centre (0, 0). So a stationary kernel compares two numbers nearly by their difference, and has
    the same value between any number and its absence, as between the two ends of the range. Special
    values have the encoding of a category, beside the absence of the number. The kernel is positive
    definite, since it is one of the encoded points.

    Args:
        cosine: The coordinate with cos u.
        sine: The coordinate with sin u.
        positions: Numbers (m,) that a search tries.
        isolated: Whether the number has no values but these.
        kinds: Coordinates of a one-hot encoding: the first says that there is a number, the others
            are the special values. Empty where there are none.

    Raises:
        InvalidInput: If an argument is none of these.

    References:
        Hutter and Osborne 2013, "A kernel for hierarchical parameter spaces", eq. 3; Swersky et al.
        2014, "Raiders of the lost architecture: kernels for Bayesian optimization in conditional
        parameter spaces", Section 3, with a range of one radian.

    Example:
        >>> arc = Arc(0, 1, torch.tensor([0.0, 1.0], dtype=torch.float64))
        >>> arc.at(torch.tensor([0.0, 0.5], dtype=torch.float64)).round(decimals=3).tolist()
        [[1.0, 0.0], [0.878, 0.479]]
    """

    cosine: int
    sine: int
    positions: Tensor
    isolated: bool = False
    kinds: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        for name in ("cosine", "sine"):
            checks.count(name, getattr(self, name), least=0)
        object.__setattr__(self, "positions", checks.vector("positions", self.positions))
        checks.truth("isolated", self.isolated)
        if not isinstance(self.kinds, tuple) or self.kinds:
            object.__setattr__(self, "kinds", tuple(checks.indices("kinds", self.kinds)))

    @property
    def columns(self) -> tuple[int, ...]:
        """All coordinates."""
        return (self.cosine, self.sine, *self.kinds)

    @property
    def shared(self) -> list[tuple[int, ...]]:
        """Groups of coordinates of one lengthscale: of the number, and of the kind of value."""
        number = (self.cosine, self.sine)
        return [number, self.kinds] if self.kinds else [number]

    def at(self, numbers: Tensor) -> Tensor:
        """Encoded numbers (n,), as (n, columns)."""
        first = torch.zeros(len(numbers), len(self.kinds)).to(numbers)
        first[:, :1] = 1.0
        return torch.cat([numbers.cos()[:, None], numbers.sin()[:, None], first], -1)

    def at_special(self, index: Tensor) -> Tensor:
        """Encoded special values, by their indices (n,), as (n, columns)."""
        kinds = torch.nn.functional.one_hot(index + 1, len(self.kinds)).double()
        return torch.cat([torch.zeros(len(index), 2).to(kinds), kinds], -1)

    def number(self, encoded: Tensor) -> Tensor:
        """The numbers (n,) of encoded ones (n, columns)."""
        return torch.atan2(encoded[:, 1], encoded[:, 0]).clamp(0.0, 1.0)

    def special(self, encoded: Tensor) -> Tensor:
        """The index (n,) of the special value of encoded ones (n, columns), -1 for a number."""
        if not self.kinds:
            return torch.full((len(encoded),), -1, device=encoded.device)
        return encoded[:, 2:].argmax(-1) - 1

    def nearest(self, points: Tensor) -> Tensor:
        """The encoded values (n, columns) that are nearest to points (n, columns)."""
        return self._encoded(self.number(points), self.special(points))

    def placed(self, unit: Tensor) -> Tensor:
        """Encoded values (n, columns) of a uniform distribution on the unit cube (n, columns)."""
        number = len(self.kinds) - 1
        if number < 1:
            return self.at(unit[:, 0])
        beyond = (unit[:, 1] - (1.0 - _SPECIAL_SHARE)) / _SPECIAL_SHARE  # below 0 for a number
        return self._encoded(unit[:, 0], (beyond * number).floor().clamp(-1, number - 1).long())

    def options(self, like: Tensor) -> Tensor:
        """Encoded values (o, columns) that a search tries."""
        options = self.at(self.positions)
        if self.kinds:
            options = torch.cat([options, self.at_special(torch.arange(len(self.kinds) - 1))])
        return options.to(like)

    def _encoded(self, numbers: Tensor, special: Tensor) -> Tensor:
        encoded = self.at(numbers)
        if not self.kinds:
            return encoded
        other = self.at_special(special.clamp_min(0)).to(encoded)
        return torch.where((special >= 0)[:, None], other, encoded)
