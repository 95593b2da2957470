"""Bounds of least squares for noise with a moment of some order, without truncation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.tails.moment import Moment, check_moment
from surefoot.widths.assumptions import SHIFTS, Theorem
from surefoot.widths.progress import Progress


@cache
def exponents(order: float) -> tuple[float, float]:
    """The c and C of least sum with exp(x - c |x|^p) <= 1 + x + C |x|^p for all x, p in (1, 2].

    1/6 and 1/3 for a variance (Delyon 2009). Of other orders they are found on a grid so fine that
    C, as it is rounded up, is enough between its points as well.
    """
    if order == 2.0:
        return 1.0 / 6.0, 1.0 / 3.0
    size = np.geomspace(1e-4, 1e4, 4001)
    x, power = np.concatenate([-size, size]), np.concatenate([size, size]) ** order
    each = np.linspace(0.1, 1.0, 181)
    least = [float(((np.expm1(np.minimum(x - c * power, 700.0)) - x) / power).max()) for c in each]
    best = int((each + np.array(least)).argmin())
    return float(each[best]), 1.00001 * least[best]


@dataclass(frozen=True)
class self_normalised(Theorem):  # noqa: N801
    r"""Bounds for rewards with a moment of an order in (1, 2] and ||f|| <= B, in Nyström features.

    With probability :math:`1 - \delta`, for all points, rounds and a > 0 at once,

    .. math:: |f - \mu_a|(x) \leq B b_a(x) + \sqrt{u_a^\top (\rho I + W) u_a}
        \sqrt{\ln\det(I + W / \rho) + 2 \ln(1 / \delta)},

    .. math:: W = \sum_s \frac{\epsilon_s^2 + 2 \sigma_s^2}{3} \phi(x_s) \phi(x_s)^\top,

    :math:`\mu_a = u_a(x)^\top \Phi^\top y` with :math:`u_a = (G + a I + (a \rho / v) G^{-1})^{-1}
    \phi(x)`, :math:`G = \Phi^\top \Phi`, being least squares that leaves out what was not measured,
    :math:`\epsilon_s` and :math:`\sigma_s^2` the noise of a reward and its variance, and
    :math:`B b_a` the bias. Rewards
    are not truncated, and points may depend on them. W is at most that of an f within the bounds
    themselves, which are found again until it stays. The bounds of a point are the narrowest ones
    over a in v / B^2 times `shifts`: they are no multiple of a deviation. In features of a
    dictionary its error is added to bias and determinant.

    With a moment of an order p below 2 the noise of the s-th reward enters W as
    :math:`p \tau_s^{p - 2} (c |\epsilon_s|^p + C v)`, and its share of :math:`\tau_s^p`, of the
    order 1 / s, what is under the second root. The sums are of all rewards in each round then.

    Called as a width it is the multiplier of the deviation if the noise were at its mean.

    Args:
        moment: Bound v on a moment of the rewards, or on that about their mean, with
            `center="mean"`, which is narrower: the bounds pay for f itself else. It includes the
            standard errors of rewards.
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from sqrt(v).
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the distance of the bounds from the mean; 1 is that of the theorem.
        shifts: Regularisations a in units of v / B^2, above 0.
        mixture: The constant rho in units of v k(x, x), above 0: the bounds hold for any, and are
            narrow from about so many rewards at a point on.
        misfit: How far f may be from a function of that norm, anywhere, in reward units.

    Raises:
        InvalidInput: For an argument out of range, and at the start of a run for an estimator
            other than `LeastSquares`.

    References:
        notes/guarantees.md, Propositions 3, 9 and 11; Delyon 2009, "Exponential inequalities for
        sums of weakly dependent variables"; Chugg and Ramdas 2025, "A variational approach to
        dimension-free self-normalized concentration".

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> variance = sf.Moment(alpha=1.0, bound=1.0, center="mean")
        >>> bounds = sf.widths.self_normalised(variance, norm_bound=2.0)
        >>> optimizer = sf.algorithms.gp_ucb(space, kernel, width=bounds)
        >>> info = optimizer.tell_all([0, 1, 2] * 40, [0.0, 1.0, 0.5] * 39 + [0.0, 1.0, 9.0])
        >>> value, lower, upper = optimizer.belief().predict([[0.5]])
        >>> bool(0.0 < lower < value < upper)
        True
    """

    moment: Moment
    norm_bound: float | None = None
    delta: float = 0.1
    scale: float = 1.0
    shifts: Sequence[float] = SHIFTS
    mixture: float = 10.0
    misfit: float = 0.0

    def __post_init__(self) -> None:
        check_moment(self.moment)
        super().__post_init__()
        object.__setattr__(self, "shifts", tuple(self.shifts))
        for shift in self.shifts:
            checks.positive("shifts", shift)
        checks.positive("mixture", self.mixture)
        checks.non_negative("misfit", self.misfit)

    @property
    def of_noise(self) -> str:
        near = f", f is within {self.misfit:g} of a function with this norm" if self.misfit else ""
        return f"{self.moment.statement}{near}"

    @property
    def order(self) -> float:
        """The order p of the moment."""
        return 1.0 + self.moment.alpha

    @property
    def has_variance(self) -> bool:
        """Whether the order is 2, so that the mean and variance of a site's rewards suffice."""
        return self.order == 2.0

    def unit(self, progress: Progress) -> float:
        """v^(1/p), which bounds |f| where the moment is about zero."""
        return float(self.moment.bound ** (1.0 / self.order))

    def limit(self, progress: Progress) -> float:
        """The mean of the rewards is within the unit, too, where the moment is about zero."""
        about_mean = self.moment.center == "mean"
        by_norm = super().limit(progress) + self.misfit
        return min(by_norm, math.inf if about_mean else self.unit(progress))

    def of_theorem(self, progress: Progress) -> float:
        exponent = 2.0 * (progress.information_gain + math.log(1.0 / self.delta))
        if not self.has_variance:
            _, constant = self.factors(progress.round)
            exponent += sum(exponents(self.order)) * self.moment.bound * float(constant.sum())
        most = max(self.rho(progress) / progress.ridge, self.level(progress.round))
        return self.norm(progress) + math.sqrt(most * exponent / progress.ridge)

    def factors(self, rounds: int) -> tuple[Tensor, Tensor]:
        """p tau_s^(p - 2) and (2 - p) tau_s^p of the rewards (t,), whatever the noise is.

        |h|^p is at most p/2 tau^(p - 2) h^2 + (1 - p/2) tau^p for any tau, a tangent in h^2.
        """
        p, s = self.order, torch.arange(rounds, dtype=torch.float64)
        powers = 0.5 / (self.moment.bound * (1.0 + s / self.mixture))
        return p * powers ** (1.0 - 2.0 / p), (2.0 - p) * powers

    def level(self, rounds: int) -> float:
        """Mean share of a reward in W where |noise|^p is v, that of the variance for order 2."""
        if self.has_variance:
            return self.moment.bound
        quadratic, _ = self.factors(max(rounds, 1))
        return sum(exponents(self.order)) * self.moment.bound * float(quadratic.mean())

    def rho(self, progress: Progress) -> float:
        """The constant of the mixture."""
        return self.mixture * self.level(1) * progress.prior_variance

    def ridges(self, progress: Progress) -> list[float]:
        """The regularisations a."""
        level = self.level(progress.round)
        return [shift * level / self.norm(progress) ** 2 for shift in self.shifts]

    def powers(
        self,
        residuals: Sequence[Tensor],
        factors: Sequence[Tensor],
        totals: Callable[[Tensor], Tensor],
    ) -> tuple[Tensor, float]:
        """Most that the shares of each site in W (S,) and of all in the squared radius can be.

        Args:
            residuals: Differences of the rewards (t,) from the lower and from the upper bound: the
                sum of their p-th powers is convex in f, so largest at one of the two.
            factors: Those of the rewards.
            totals: Sum over the rewards (t,) of each site (S,).
        """
        p, (c, more), alike = self.order, exponents(self.order), self.moment.bound
        if self.moment.center != "mean":  # E |y - f|^p <= 2^(2 - p) E |y|^p
            alike *= 2.0 ** (2.0 - p)
        sizes = [residual.abs() ** p for residual in residuals]

        def largest(factor: Tensor) -> Tensor:
            noise = torch.maximum(*(totals(factor * size) for size in sizes))
            return c * noise + more * alike * totals(factor)

        quadratic, constant = map(largest, factors)
        return quadratic, float(constant.sum())

    def spread(
        self, counts: Tensor, means: Tensor, squares: Tensor, lower: Tensor, upper: Tensor
    ) -> Tensor:
        """Most that the sum of (noise^2 + 2 variance) / 3 at each site can be (S,).

        Args:
            counts: Number of rewards at the sites (S,).
            means: Their means (S,).
            squares: Sums of squared differences from these (S,).
            lower: Lower bounds of f (S,).
            upper: Upper bounds of f (S,).
        """
        if self.moment.center == "mean":
            far = torch.maximum(means - lower, upper - means).square()
        else:  # the variance is at most v - f^2
            f = torch.minimum(torch.maximum(-means, lower), upper)
            far = means.square() - 2.0 * means * f - f.square()
        return (squares + counts * (far + 2.0 * self.moment.bound)) / 3.0
