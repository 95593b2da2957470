"""Assumptions of theorems on the function and its rewards, from which a width follows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from surefoot._internal import checks, doubling
from surefoot.tails.moment import Moment, check_raw_moment
from surefoot.types import InvalidInput
from surefoot.widths.progress import Progress

SHIFTS = (1.0, 4.0, 16.0, 64.0)
"""Regularisations in units of R^2; a norm is certified by the last two."""


class Theorem(ABC):
    """Width of a theorem, times a scale, for a norm bound that is given or found by doubling."""

    norm_bound: float | None
    delta: float
    scale: float
    horizon: int | None = None  # number of rounds, where the theorem has one
    unproved: ClassVar[str] = ""  # why the bounds are not proved for all rounds at once
    exact: ClassVar[bool] = False  # whether features must represent the kernel

    def __post_init__(self) -> None:
        if self.norm_bound is not None:
            checks.positive("norm_bound", self.norm_bound)
        checks.probability("delta", self.delta)
        checks.non_negative("scale", self.scale)

    def __call__(self, progress: Progress) -> float:
        return self.scale * self.of_theorem(progress)

    def norm(self, progress: Progress) -> float:
        """The bound on ||f|| after so many rewards."""
        return doubling.norm_bound(self.norm_bound, self.unit(progress), progress.round)

    def at_one_point(self, rounds: int, prior_variance: float, ridge: float) -> Progress:
        """State of a run all of whose rounds are at a single point."""
        gain = 0.5 * math.log1p(rounds * prior_variance / ridge)
        return Progress(rounds, gain, 1, ridge, prior_variance=prior_variance)

    def limit(self, progress: Progress) -> float:
        """Bound on |f| by the assumptions alone, infinite where they give none."""
        return (self.norm_bound or math.inf) * math.sqrt(progress.prior_variance)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What the bounds rest on."""
        return (
            self.of_noise,
            f"the norm of f in the RKHS of the kernel is at most {self.norm_bound:g}",
        )

    @property
    @abstractmethod
    def of_noise(self) -> str:
        """What is assumed of the noise."""

    @abstractmethod
    def unit(self, progress: Progress) -> float:
        """The norm bound that doubling starts from, in reward units."""

    @abstractmethod
    def of_theorem(self, progress: Progress) -> float:
        """The width, without the scale."""


@dataclass(frozen=True)
class SubGaussian(Theorem):
    """For R-sub-Gaussian noise and ||f|| <= B."""

    norm_bound: float | None
    noise: float
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if checks.non_negative("noise", self.noise) == 0.0 and self.norm_bound is None:
            raise InvalidInput(
                "`noise` is 0, so `norm_bound` cannot start from it: pass a `norm_bound`."
            )

    @property
    def of_noise(self) -> str:
        return f"the noise is {self.noise:g}-sub-Gaussian"

    def unit(self, progress: Progress) -> float:
        """R."""
        return self.noise

    def norm(self, progress: Progress) -> float:
        """The bound on ||f||; without a given one at least twice what the rewards certify."""
        norm = super().norm(progress)
        return norm if self.norm_bound is not None else max(norm, 2.0 * self.least_norm(progress))

    def squared_noise(self, progress: Progress) -> float:
        """N_t^2 = R^2 (ln det(I + K/lambda) + 2 ln(1/delta)), the determinant from above."""
        logarithm = 2.0 * progress.information_gain + progress.unexplained()
        noise = progress.weighted_noise(self.noise)
        return noise**2 * (logarithm + 2.0 * math.log(1.0 / self.delta))

    def squared_radius(self, progress: Progress) -> float:
        """R_t^2, a bound on ||f - y||^2."""
        return progress.misfit(progress.ridge) + self.squared_noise(progress)

    def least_norm(self, progress: Progress) -> float:
        """Norm that every function within R_t of the rewards has, at least (Proposition 8)."""
        if progress.unexplained() > 0.0:  # the radius would depend on the norm
            return 0.0
        radius, ridges = self.squared_radius(progress), [c * self.noise**2 for c in SHIFTS[2:]]
        return math.sqrt(max(0.0, *((progress.misfit(a) - radius) / a for a in ridges)))


@dataclass(frozen=True)
class BoundedMoment(Theorem):
    """For rewards with a moment E|y|^(1+a) <= v and ||f|| <= B."""

    moment: Moment
    norm_bound: float | None = None
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_raw_moment(self.moment)
        super().__post_init__()

    @property
    def of_noise(self) -> str:
        return self.moment.statement

    def unit(self, progress: Progress) -> float:
        """v^(1/(1+a)), which bounds |f|."""
        return float(self.moment.bound ** (1.0 / (1.0 + self.moment.alpha)))

    def limit(self, progress: Progress) -> float:
        """The means of the rewards are within the unit, too."""
        return min(super().limit(progress), self.unit(progress))
