"""A width in the features of any dictionary, narrow where much is left unexplained."""

from __future__ import annotations

import math
from dataclasses import dataclass

from surefoot import InvalidInput
from surefoot.widths import Progress, analytic_mixture


@dataclass(frozen=True)
class sketch_determinant(analytic_mixture):  # noqa: N801
    r"""Width in the features of any dictionary, for R-sub-Gaussian noise and ||f|| <= B.

    .. math:: \sqrt C\,\Bigl[R \sqrt{(\ln\det(I + \tilde K_t / \lambda) + T_t
        + 2 \ln(1 / \delta)) / \lambda} + B (1 + \sqrt{T_t})\Bigr]

    with :math:`\tilde K_t` the kernel matrix of the features and
    :math:`T_t = \mathrm{tr}(K_t - \tilde K_t) / \lambda`, both known from the sketch. It holds in
    all rounds at once however the dictionary was chosen, for least squares.

    Args:
        norm_bound: Bound B on the RKHS norm ||f||, in reward units; None doubles it from `noise`.
        noise: Sub-Gaussian constant R of the noise, in reward units.
        delta: Probability that the bounds fail in some round, in (0, 1).
        scale: Factor on the whole width; 1 is that of the theorem.
        ratio: Factor C, at least 1, by which variances fall at most within a batch, since the
            rewards that the mean is from.

    Raises:
        InvalidInput: For an argument out of range.

    References:
        notes/guarantees.md, Propositions 1 and 2; Abbasi-Yadkori 2012 for the noise; Calandriello
        et al. 2020 (BBKB) for batches.

    Example:
        >>> from surefoot.widths import Progress
        >>> progress = Progress(round=100, information_gain=12.5, dimension=20, ridge=1.0)
        >>> sketch_determinant(norm_bound=1.0, noise=0.1)(progress)
        1.544...
    """

    ratio: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1.0 <= self.ratio < math.inf:
            raise InvalidInput(
                f"`ratio` is {self.ratio!r}, expected a finite number of at least 1."
            )

    def of_theorem(self, progress: Progress) -> float:
        """The width without `scale`."""
        deviation = math.sqrt(self.squared_noise(progress) / progress.ridge)
        width = deviation + self.norm(progress) * (1.0 + math.sqrt(progress.unexplained()))
        return math.sqrt(self.ratio) * width
