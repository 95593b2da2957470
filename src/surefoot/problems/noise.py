"""Families of measurement noise, light to heavy tailed, as small values.

Every family is a fixed transformation of uniform numbers. So one generator state gives one draw,
and two methods that are compared can be shown the same noise (common random numbers).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from scipy import special
from torch import Tensor

from surefoot.types import InvalidInput

Generator = np.random.Generator | torch.Generator


class Noise(Protocol):
    """A distribution of measurement errors."""

    def sample(
        self,
        count: int,
        generator: Generator,
    ) -> Tensor:  # (count,)
        """Draw `count` independent errors, in the units of the function they are added to."""
        ...


@dataclass(frozen=True)
class Gaussian:
    """Normal errors with standard deviation `scale`; `Gaussian(0.0)` is no noise."""

    scale: float

    def __post_init__(self) -> None:
        _require(self.scale >= 0, "scale", self.scale, "a number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        return torch.from_numpy(self.scale * special.ndtri(_uniform((count,), generator)))


@dataclass(frozen=True)
class StudentT:
    """Student-t errors times `scale`; the variance is infinite for `dof` <= 2."""

    dof: float
    scale: float

    def __post_init__(self) -> None:
        _require(self.dof > 0, "dof", self.dof, "a number > 0")
        _require(self.scale >= 0, "scale", self.scale, "a number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        uniform = _uniform((count,), generator)
        return torch.from_numpy(self.scale * special.stdtrit(self.dof, uniform))


@dataclass(frozen=True)
class Spikes:
    """Gaussian errors of standard deviation `scale`, to which now and then a spike is added.

    With `probability`, `size` is added to or, as likely, subtracted from a measurement.
    """

    probability: float = 0.05
    size: float = 30.0
    scale: float = 0.3

    def __post_init__(self) -> None:
        _require(0 <= self.probability <= 1, "probability", self.probability, "within [0, 1]")
        _require(self.scale >= 0, "scale", self.scale, "a number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        body, spike = _uniform((2, count), generator)
        half = self.probability / 2
        sign = (spike > 1 - half).astype(float) - (spike < half).astype(float)
        return torch.from_numpy(self.scale * special.ndtri(body) + self.size * sign)


@dataclass(frozen=True)
class CenteredPareto:
    """Skewed errors scale * (P - shape / (shape - 1)) with P >= 1 Pareto: the mean is zero.

    P has the tail P(P > p) = p^-shape, so `shape` must exceed 1 for a mean to exist; the variance
    is infinite for `shape` <= 2. Most errors are a little below zero, a few far above.
    """

    shape: float = 1.5
    scale: float = 0.3

    def __post_init__(self) -> None:
        _require(self.shape > 1, "shape", self.shape, "a number > 1, as the mean is subtracted")
        _require(self.scale >= 0, "scale", self.scale, "a number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        pareto = _uniform((count,), generator) ** (-1 / self.shape)
        return torch.from_numpy(self.scale * (pareto - self.shape / (self.shape - 1)))


def _uniform(
    shape: tuple[int, ...],
    generator: Generator,
) -> np.ndarray:  # shape
    """Uniform numbers strictly inside (0, 1), so that every quantile function stays finite."""
    if isinstance(generator, np.random.Generator):
        draws = generator.random(shape)
    elif isinstance(generator, torch.Generator):
        draws = torch.rand(shape, generator=generator, dtype=torch.float64).numpy()
    else:
        raise InvalidInput(
            f"`generator` is {type(generator).__name__}, expected numpy.random.Generator or "
            "torch.Generator: pass `numpy.random.default_rng(seed)`."
        )
    return np.maximum(draws, 2.0**-54)


def _require(condition: bool, name: str, value: float, expected: str) -> None:
    if not condition:
        raise InvalidInput(f"`{name}` is {value}, expected {expected}.")
