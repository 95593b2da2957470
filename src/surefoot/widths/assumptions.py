"""Assumptions of theorems on the function and its rewards, from which a width follows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from surefoot._internal import checks, doubling
from surefoot.tails import Moment
from surefoot.tails.moment import check_moment
from surefoot.types import InvalidInput
from surefoot.widths.progress import Progress


class Theorem(ABC):
    """Width of a theorem, times a scale, for a norm bound that is given or found by doubling."""

    norm_bound: float | None
    delta: float
    scale: float

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

    def unit(self, progress: Progress) -> float:
        """R."""
        return self.noise


@dataclass(frozen=True)
class BoundedMoment(Theorem):
    """For rewards with a moment E|y|^(1+a) <= v and ||f|| <= B."""

    moment: Moment
    norm_bound: float | None = None
    delta: float = 0.1
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_moment(self.moment)
        super().__post_init__()

    def unit(self, progress: Progress) -> float:
        """v^(1/(1+a)), which bounds |f|."""
        return float(self.moment.bound ** (1.0 / (1.0 + self.moment.alpha)))
