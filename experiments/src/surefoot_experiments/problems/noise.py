"""Families of measurement noise, light to heavy tailed, as small values.

Every family is a fixed transformation of uniform numbers. So one generator state gives one draw,
and two methods that are compared can be shown the same noise (common random numbers).
"""

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from scipy import special
from torch import Tensor

from surefoot import InvalidInput

Generator = np.random.Generator | torch.Generator


class Noise(Protocol):
    """A distribution of measurement errors."""

    def sample(
        self,
        count: int,
        generator: Generator,
    ) -> Tensor:  # (count,)
        """Draw `count` independent errors, in the units of the function they are added to."""


class SymmetricNoise(Noise, Protocol):
    """Errors as likely above as below zero, whose absolute moments are known."""

    def absolute_moment(self, order: float) -> float:
        """E|error|^order or a bound on it, for an order in [1, 2]; `InvalidInput` if infinite."""


@dataclass(frozen=True)
class Gaussian:
    """Normal errors with standard deviation `scale`; `Gaussian(0.0)` is no noise."""

    scale: float

    def __post_init__(self) -> None:
        _require(self.scale >= 0, "scale", self.scale, "a finite number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        return torch.from_numpy(self.scale * special.ndtri(uniform((count,), generator)))

    def absolute_moment(self, order: float) -> float:
        """E|error|^order = scale^order 2^(order/2) Gamma((order + 1)/2) / sqrt(pi)."""
        gamma = math.gamma((order + 1.0) / 2.0)
        return float(self.scale**order * 2.0 ** (order / 2.0) * gamma / math.sqrt(math.pi))


@dataclass(frozen=True)
class StudentT:
    """Student-t errors times `scale`; the variance is infinite for `dof` <= 2."""

    dof: float
    scale: float

    def __post_init__(self) -> None:
        _require(self.dof > 0, "dof", self.dof, "a finite number > 0")
        _require(self.scale >= 0, "scale", self.scale, "a finite number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        draws = uniform((count,), generator)
        return torch.from_numpy(self.scale * special.stdtrit(self.dof, draws))

    def absolute_moment(self, order: float) -> float:
        """E|error|^order, which is finite for an order below `dof`."""
        _require_moment(order, self.dof)
        gammas = math.gamma((order + 1.0) / 2.0) * math.gamma((self.dof - order) / 2.0)
        ratio = gammas / (math.sqrt(math.pi) * math.gamma(self.dof / 2.0))
        return float(self.scale**order * self.dof ** (order / 2.0) * ratio)


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
        _require(math.isfinite(self.size), "size", self.size, "a finite number")
        _require(self.scale >= 0, "scale", self.scale, "a finite number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        body, spike = uniform((2, count), generator)
        half = self.probability / 2
        sign = (spike > 1 - half).astype(float) - (spike < half).astype(float)
        return torch.from_numpy(self.scale * special.ndtri(body) + self.size * sign)

    def absolute_moment(self, order: float) -> float:
        """A bound on E|error|^order: that of the Gaussian part plus that of the spikes.

        For a symmetric x and 1 <= p <= 2, E|a + x|^p <= |a|^p + E|x|^p, because |a + x|^p +
        |a - x|^p <= 2 |a|^p + 2 |x|^p (Clarkson); equal for p = 2.
        """
        spikes = self.probability * abs(self.size) ** order
        return Gaussian(self.scale).absolute_moment(order) + spikes


@dataclass(frozen=True)
class WideSpikes:
    """Gaussian errors of standard deviation `scale`, and now and then a spike of any size.

    With `probability`, a spike of either sign is added, whose logarithm is uniform from that of
    `smallest` to that of `largest`.
    """

    probability: float = 0.05
    smallest: float = 1.5
    largest: float = 150.0
    scale: float = 0.3

    def __post_init__(self) -> None:
        _require(0 <= self.probability <= 1, "probability", self.probability, "within [0, 1]")
        _require(self.smallest > 0, "smallest", self.smallest, "a finite number > 0")
        _require(self.largest >= self.smallest, "largest", self.largest, "at least `smallest`")
        _require(self.scale >= 0, "scale", self.scale, "a finite number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        body, spike, share = uniform((3, count), generator)
        half = self.probability / 2
        sign = (spike > 1 - half).astype(float) - (spike < half).astype(float)
        sizes = self.smallest * (self.largest / self.smallest) ** share
        return torch.from_numpy(self.scale * special.ndtri(body) + sizes * sign)


@dataclass(frozen=True)
class Stable:
    """Symmetric alpha-stable errors times `scale`: characteristic function exp(-|scale s|^index).

    `index` in (0, 2]: 1 is Cauchy, 2 is normal with variance 2 scale^2. Below 2 the tails are
    those of a power of `index`, so the variance is infinite, and the mean exists above 1 only.
    Drawn as by Chambers, Mallows and Stuck (1976).
    """

    index: float
    scale: float

    def __post_init__(self) -> None:
        _require(0 < self.index <= 2, "index", self.index, "within (0, 2]")
        _require(self.scale >= 0, "scale", self.scale, "a finite number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        first, second = uniform((2, count), generator)
        angle, exponential = math.pi * (first - 0.5), -np.log(second)
        a = self.index
        body = np.sin(a * angle) / np.cos(angle) ** (1.0 / a)
        tail = (np.cos((1.0 - a) * angle) / exponential) ** ((1.0 - a) / a)
        return torch.from_numpy(self.scale * body * tail)

    def absolute_moment(self, order: float) -> float:
        """E|error|^order, finite below `index`, or for any order where that is 2.

        2^p Gamma((1 + p)/2) Gamma(1 - p/a) / (sqrt(pi) Gamma(1 - p/2)) for order p and index a
        (Shao and Nikias 1993).
        """
        if self.index == 2:
            return Gaussian(math.sqrt(2.0) * self.scale).absolute_moment(order)
        _require_moment(order, self.index)
        gammas = math.gamma((1.0 + order) / 2.0) * math.gamma(1.0 - order / self.index)
        ratio = gammas / (math.sqrt(math.pi) * math.gamma(1.0 - order / 2.0))
        return float((2.0 * self.scale) ** order * ratio)


@dataclass(frozen=True)
class CenteredPareto:
    """Skewed errors scale * (P - shape / (shape - 1)) with P >= 1 Pareto: the mean is zero.

    P has the tail P(P > p) = p^-shape, so `shape` must exceed 1 for a mean to exist; the variance
    is infinite for `shape` <= 2. Most errors are a little below zero, a few far above.
    """

    shape: float = 1.5
    scale: float = 0.3

    def __post_init__(self) -> None:
        _require(
            self.shape > 1, "shape", self.shape, "a finite number > 1, as the mean is subtracted"
        )
        _require(self.scale >= 0, "scale", self.scale, "a finite number >= 0")

    def sample(self, count: int, generator: Generator) -> Tensor:
        pareto = uniform((count,), generator) ** (-1 / self.shape)
        return torch.from_numpy(self.scale * (pareto - self.shape / (self.shape - 1)))


def kinds_of_noise(scale: float) -> dict[str, Noise]:
    """Four kinds, from light to heavy tails, of about the same spread near the centre.

    Gaussian noise, Student-t(2) noise, Gaussian noise with 5 % spikes of +-100 standard deviations,
    and centred Pareto(1.5) noise, each times `scale`.
    """
    return {
        "gaussian": Gaussian(scale),
        "student-t": StudentT(2.0, scale),
        "spikes": Spikes(0.05, 100.0 * scale, scale),
        "pareto": CenteredPareto(1.5, scale),
    }


def uniform(
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


def _require_moment(order: float, limit: float) -> None:
    if order >= limit:
        raise InvalidInput(
            f"these errors have no moment of order {order}, expected an order below {limit}: "
            "assume a smaller `alpha`."
        )


def _require(condition: bool, name: str, value: float, expected: str) -> None:
    """`InvalidInput` unless the value is finite and the condition holds."""
    if not (condition and math.isfinite(value)):
        raise InvalidInput(f"`{name}` is {value}, expected {expected}.")
