"""Bounds of least squares from a martingale mixture, for sub-Gaussian noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from surefoot._internal import checks
from surefoot._internal.numbers import ROUNDING
from surefoot.widths.assumptions import SHIFTS, SubGaussian
from surefoot.widths.progress import Progress


@dataclass(frozen=True)
class analytic_mixture(SubGaussian):  # noqa: N801
    r"""Width of AMM-UCB, for R-sub-Gaussian noise and ||f|| <= B.

    .. math:: \sqrt{B^2 + N_t^2 / \lambda},\qquad
        N_t^2 = R^2 (\ln\det(I + K_t / \lambda) + 2 \ln(1 / \delta))

    It is always below `chowdhury_gopalan`, and holds in all rounds at once for least squares. In
    features of a dictionary it is that of a = lambda in `dual_mixture`.

    Args:
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from `noise`.
        noise: Sub-Gaussian constant R of the noise, in reward units.
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        Flynn and Reeb 2024, "Tighter confidence bounds for sequential kernel regression" (AMM-UCB);
        for dictionaries notes/guarantees.md, Proposition 1.

    Example:
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> analytic_mixture(norm_bound=1.0, noise=0.1)(progress)
        1.138...
    """

    def of_theorem(self, progress: Progress) -> float:
        return _of_ridge(self, progress)


@dataclass(frozen=True)
class dual_mixture(SubGaussian):  # noqa: N801
    r"""Bounds of DMM-UCB, for R-sub-Gaussian noise and ||f|| <= B, in any Nyström features.

    With probability :math:`1 - \delta`, for all points, rounds and all a > 0 at once,

    .. math:: |f - \mu_a|(x) \leq \sigma_a(x) \sqrt{R_t^2 / a + B^2
        - y^\top (K_t + a I)^{-1} y},

    .. math:: R_t^2 = \lambda y^\top (K_t + \lambda I)^{-1} y
        + R^2 (\ln\det(I + K_t / \lambda) + 2 \ln(1 / \delta)),

    :math:`\mu_a, \sigma_a` being mean and deviation with the regularisation a. The bounds of a
    point are the narrowest ones over a in lambda and :math:`R^2` times `shifts`: they are no
    multiple of a deviation, so that policies, lacing values, draws and recommendations use the
    bounds themselves. In features of a dictionary :math:`\tilde K_t` replaces :math:`K_t`, and
    :math:`R_t` is larger by :math:`B \sqrt{\mathrm{tr}(K_t - \tilde K_t)}`.

    Called as a width it is `analytic_mixture`, which is that of a = lambda. Estimates are least
    squares, of the rewards as they are. Should the rewards contradict `norm_bound` and `noise`, a
    warning says so; then, and as long as a norm bound that doubles is too small, the bounds are
    those of `analytic_mixture`.

    Args:
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from `noise`.
        noise: Sub-Gaussian constant R of the noise, in reward units.
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the distance of the bounds from the mean; 1 is that of the theorem.
        shifts: Regularisations a in units of R^2, above 0.

    Raises:
        InvalidInput: For an argument out of range, and at the start of a run for an estimator other
            than `LeastSquares`.

    References:
        Flynn and Reeb 2024, "Tighter confidence bounds for sequential kernel regression" (DMM-UCB);
        for dictionaries notes/guarantees.md.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> bounds = sf.widths.dual_mixture(norm_bound=2.0, noise=0.1)
        >>> optimizer = sf.algorithms.gp_ucb(space, kernel, width=bounds, ridge=0.01)
        >>> info = optimizer.tell_all([0, 1, 2] * 5, [0.0, 1.0, 0.5] * 5)
        >>> optimizer.recommend().arm
        1
    """

    shifts: Sequence[float] = SHIFTS

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "shifts", tuple(self.shifts))
        for shift in self.shifts:
            checks.positive("shifts", shift)

    def of_theorem(self, progress: Progress) -> float:
        return _of_ridge(self, progress)

    def ridges(self, ridge: float) -> tuple[float, ...]:
        """The other regularisations a, of which a bound may be narrower than that of lambda."""
        wanted = [shift * self.noise**2 for shift in self.shifts if self.noise > 0.0]
        return tuple(a for a in wanted if not math.isclose(a, ridge, rel_tol=ROUNDING))

    def squared_width(self, progress: Progress, ridge: float, misfit: float) -> float:
        """Square of the width for another regularisation.

        Args:
            progress: State of the run, with its own regularisation.
            ridge: The other one, a.
            misfit: a y' (K_t + a I)^{-1} y.

        Returns:
            The square; below 0 only if the rewards contradict the assumptions.
        """
        return (_radius(self, progress) ** 2 - misfit) / ridge + self.norm(progress) ** 2


def _of_ridge(known: SubGaussian, progress: Progress) -> float:
    """The width for a = lambda, with which the rewards cancel where features are exact."""
    squared = known.squared_noise(progress)
    if progress.unexplained() > 0.0:
        squared = _radius(known, progress) ** 2 - progress.misfit(progress.ridge)
    return math.sqrt(known.norm(progress) ** 2 + squared / progress.ridge)


def _radius(known: SubGaussian, progress: Progress) -> float:
    """Bound on the distance of the rewards from f in the features: R_t + B sqrt(tr(K - K~))."""
    radius = math.sqrt(known.squared_radius(progress))
    return radius + known.norm(progress) * math.sqrt(progress.ridge * progress.unexplained())
