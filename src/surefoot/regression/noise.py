"""Noise of rewards: Student-t noise with precisions of its own, and known errors beside it."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.brief import brief
from surefoot.types import InvalidInput

NO_ERRORS = torch.zeros((), dtype=torch.float64)
"""Known errors, and their variances, of rewards that have none."""
EQUAL = torch.ones((), dtype=torch.float64)
"""Precisions of rewards that are all alike."""


class KnownNoise(Protocol):
    """Known part of the noise, which may depend on the point.

    Example:
        Noise that grows with x, in addition to what is fitted:

        >>> import torch
        >>> class Growing:
        ...     def variances(self, points):
        ...         return 0.01 * points[:, 0].square()
        >>> Growing().variances(torch.tensor([[0.0], [2.0]])).tolist()
        [0.0, 0.03999999910593033]
    """

    def variances(self, points: Tensor) -> Tensor:
        """Variances (n,) of rewards at points (n, d), in squared reward units."""


@dataclass(frozen=True)
class NoKnownNoise:
    """Nothing is known of the noise before it is fitted or given."""

    def variances(self, points: Tensor) -> Tensor:
        """Zeros (n,)."""
        return points.new_zeros(len(points))


NO_KNOWN_NOISE = NoKnownNoise()


def check_known_noise(value: object) -> None:
    """`InvalidInput` for anything but an object with a method `variances`."""
    if isinstance(value, type) or not callable(getattr(value, "variances", None)):
        raise InvalidInput(
            f"`known_noise` is {checks.shown(value)}, expected an object with a method "
            "`variances(points)` that returns variances (n,)."
        )


@dataclass(frozen=True, eq=False)
class Noise:
    r"""Noise of n rewards: Student-t of scale s, and independent Gaussian errors of known size.

    Given its precision :math:`w_i`, reward i has the noise variance :math:`s^2 / w_i + e_i^2`.

    Args:
        variance: Squared scale :math:`s^2`, in the squared units of the model.
        precisions: Precisions :math:`w_i` (n,) relative to :math:`1 / s^2`, near 0 for outliers.
        errors: Variances :math:`e_i^2` (n,) of the known errors.
        dof: Degrees of freedom; infinite for Gaussian noise.

    References:
        Tipping and Lawrence 2005, "Variational inference for Student-t models".

    Example:
        >>> import torch
        >>> noise = Noise(0.5, torch.tensor([1.0, 0.1]), torch.tensor([0.0, 1.0]))
        >>> noise.variances.tolist()
        [0.5, 6.0]
    """

    variance: float | Tensor
    precisions: Tensor = EQUAL
    errors: Tensor = NO_ERRORS
    dof: float = math.inf

    __repr__ = brief

    @property
    def own(self) -> Tensor:
        """Variances (n,) of the Student-t noise, given its precisions."""
        return self.variance / self.precisions

    @property
    def variances(self) -> Tensor:
        """Variances (n,) of the rewards about the function, given the precisions."""
        return self.own + self.errors

    def expected_squares(self, squared: Tensor) -> Tensor:
        """Expected squares (n,) of the Student-t noise, in units of the squared scale.

        Given a residual r, the noise is normal with mean c r and variance c times that of the known
        error, where c is the share of the noise in the variance.

        Args:
            squared: Expected squares (n,) of the residuals.
        """
        own = self.own
        share = own / (own + self.errors)
        return (share.square() * squared + share * self.errors) / self.variance

    def updated(self, squared: Tensor) -> Tensor:
        """Expected precisions (n,), from expected squares (n,) of the residuals."""
        return precision(self.expected_squares(squared), self.dof)


class Contrast(NamedTuple):
    """An effect of conditions on rewards, compared with its reference level.

    Args:
        mean: Posterior means (k,), in units of the rewards as they are transformed.
        deviation: Posterior standard deviations (k,).
    """

    mean: Tensor
    deviation: Tensor


def precision(squared: Tensor, dof: float) -> Tensor:
    """E[tau] = (nu + 1) / (nu + E[r^2] / s^2), from expected squares in noise variances."""
    return (dof + 1.0) / (dof + squared)
