"""What pulling an arm pays: the law of a reward, given the arm and its mean."""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from surefoot import InvalidInput
from surefoot_experiments.problems.arguments import matrix
from surefoot_experiments.problems.noise import Generator, SymmetricNoise, uniform


class Law(Protocol):
    """Rewards of arms. A draw takes as many uniform numbers whatever the arm and its mean.

    So two methods with generators of one seed see the same noise in the same round, though they
    pull other arms.
    """

    def draw(
        self,
        arms: Tensor,  # (n,)
        means: Tensor,  # (n,), of those arms
        generator: Generator,
    ) -> Tensor:  # (n,)
        """One independent reward of each of the arms."""

    def moment(
        self,
        order: float,
        means: Tensor,  # (A,), of all arms
    ) -> float:
        """A bound on E|y|^order that holds at every arm, for an order in [1, 2]."""


@dataclass(frozen=True)
class Additive:
    """The mean plus noise."""

    noise: SymmetricNoise

    def draw(self, arms: Tensor, means: Tensor, generator: Generator) -> Tensor:
        return means + self.noise.sample(len(arms), generator).to(means)

    def moment(self, order: float, means: Tensor) -> float:
        """max|f|^order + E|noise|^order (Clarkson, see `Spikes`); exact for order 2."""
        return float(means.abs().max()) ** order + self.noise.absolute_moment(order)


@dataclass(frozen=True)
class ParetoRewards:
    """The reward itself is Pareto, with tail P(y > p) = (s/p)^shape and s such that f is its mean.

    For `shape` 2, s = f/2. The noise grows with the mean, which must not be negative; the variance
    is infinite for a shape of at most 2.
    """

    shape: float = 2.0

    def __post_init__(self) -> None:
        if not 1 < self.shape < math.inf:
            raise InvalidInput(
                f"`shape` is {self.shape}, expected a finite number > 1: else there is no mean."
            )

    def draw(self, arms: Tensor, means: Tensor, generator: Generator) -> Tensor:
        if bool((means < 0).any()):
            raise InvalidInput(
                f"a mean is {float(means.min())}, expected none below 0: Pareto rewards are "
                "positive, so draw the function with coefficients in [0, 1]."
            )
        pareto = uniform((len(arms),), generator) ** (-1.0 / self.shape)
        return means * (1.0 - 1.0 / self.shape) * torch.from_numpy(pareto).to(means)

    def moment(self, order: float, means: Tensor) -> float:
        """shape s^order / (shape - order) where f is largest; `InvalidInput` if infinite."""
        if order >= self.shape:
            raise InvalidInput(
                f"Pareto rewards of shape {self.shape} have no moment of order {order}: assume an "
                f"`alpha` below {self.shape - 1.0}."
            )
        scale = float(means.max()) * (1.0 - 1.0 / self.shape)
        return self.shape * scale**order / (self.shape - order)


@dataclass(frozen=True)
class CorruptedArm:
    """+`size` or -`size`, as likely, on the rewards of one arm; all others pay their mean.

    Figure 1f of Chowdhury and Gopalan 2019 (heavy-tailed payoffs), with size 10.
    """

    arm: int
    size: float = 10.0

    def __post_init__(self) -> None:
        if not isinstance(self.arm, int) or self.arm < 0:
            raise InvalidInput(f"`arm` is {self.arm}, expected an integer of at least 0.")
        if not math.isfinite(self.size):
            raise InvalidInput(f"`size` is {self.size}, expected a finite number.")

    def draw(self, arms: Tensor, means: Tensor, generator: Generator) -> Tensor:
        heads = torch.from_numpy(uniform((len(arms),), generator)).to(means) < 0.5
        sign = 2.0 * heads.to(means) - 1.0
        return torch.where(arms == self.arm, means + self.size * sign, means)

    def moment(self, order: float, means: Tensor) -> float:
        """The larger of max|f|^order and, at the corrupted arm, the mean of |f +- size|^order.

        Raises `InvalidInput` where there is no such arm.
        """
        if self.arm >= len(means):
            raise InvalidInput(
                f"`arm` is {self.arm}, expected one of {len(means)} arms, 0 to {len(means) - 1}."
            )
        corrupted = means[self.arm] + means.new_tensor([self.size, -self.size])
        there = float(corrupted.abs().pow(order).mean())
        return max(there, float(means.abs().max()) ** order)


@dataclass(frozen=True, eq=False)
class ResampledRows:
    """Rewards of arm j are entries of column j of recorded data, a random row at each pull.

    Column means are the means of the arms.
    """

    rows: Tensor  # (R, A)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rows", matrix("rows", self.rows))

    def draw(self, arms: Tensor, means: Tensor, generator: Generator) -> Tensor:
        number = len(self.rows)
        chosen = torch.from_numpy(uniform((len(arms),), generator) * number).long()
        return self.rows[chosen.clamp_max(number - 1), arms].to(means)

    def moment(self, order: float, means: Tensor) -> float:
        """The largest column mean of |y|^order, which is exact."""
        return float(self.rows.abs().pow(order).mean(0).max())
