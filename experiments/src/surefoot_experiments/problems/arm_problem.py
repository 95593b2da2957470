"""A test problem on arms: a function of known norm, seen through rewards of known moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from gpytorch.kernels import Kernel
from torch import Tensor

from surefoot import Arms, InvalidInput, Moment
from surefoot_experiments.problems.kernel_function import KernelFunction
from surefoot_experiments.problems.laws import Law
from surefoot_experiments.problems.noise import Generator


@dataclass(frozen=True, eq=False)
class ArmProblem:
    """Arms with noisy rewards, whose norm and moments are known.

    Args:
        name: Name of the problem.
        function: Mean rewards.
        law: Distribution of a reward, given arm and mean.
        alpha: Order of the known moment E|y|^(1 + alpha), in (0, 1].
        unit: What regrets are multiples of, in units of the rewards.
    """

    name: str
    function: KernelFunction
    law: Law
    alpha: float
    unit: float = 1.0

    @property
    def space(self) -> Arms:
        """The arms."""
        return self.function.space

    @property
    def kernel(self) -> Kernel:
        """The kernel in whose space the function lies."""
        return self.function.kernel

    @property
    def values(self) -> Tensor:  # (A,)
        """Mean reward of every arm."""
        return self.function.values

    @property
    def norm_bound(self) -> float:
        """The norm of the function in the kernel's space, B of the theorems."""
        return self.function.norm

    @cached_property
    def optimum(self) -> float:
        """The largest mean reward."""
        return float(self.values.max())

    @cached_property
    def largest(self) -> float:
        """max|f|, which the paper's experiments take for B."""
        return float(self.values.abs().max())

    @cached_property
    def moment(self) -> Moment:
        """A bound on E|y|^(1 + alpha) that holds at every arm; `InvalidInput` if there is none."""
        return Moment(self.alpha, self.law.moment(1.0 + self.alpha, self.values))

    def measure(self, arm: int, generator: Generator) -> float:
        """One reward of an arm; `InvalidInput` if there is no such arm."""
        return float(self.measure_all([arm], generator)[0])

    def measure_all(
        self,
        arms: Tensor | Sequence[int],  # (n,)
        generator: Generator,
    ) -> Tensor:  # (n,)
        """One reward of each of the arms; `InvalidInput` if there is no such arm."""
        pulled = self._indices(arms)
        return self.law.draw(pulled, self.values[pulled], generator)

    def regret(self, arm: int) -> float:
        """How far the mean reward of an arm lies below the largest, in units of `unit`."""
        return (self.optimum - float(self.values[self._indices([arm])[0]])) / self.unit

    @cached_property
    def regrets(self) -> Tensor:  # (A,)
        """The regret of every arm, in units of `unit`."""
        return (self.optimum - self.values) / self.unit

    def _indices(self, arms: Tensor | Sequence[int]) -> Tensor:
        indices = torch.as_tensor(arms)
        number = len(self.values)
        valid = indices.ndim == 1 and not (indices.is_floating_point() or indices.is_complex())
        if not valid or bool(((indices < 0) | (indices >= number)).any()):
            raise InvalidInput(
                f"`arms` is {arms!r}, expected a vector of integers from 0 to {number - 1}."
            )
        return indices.long()
