"""Kernels on arms, each as surefoot sees it and as the formulas in `reference` do."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gpytorch
import numpy as np
import torch

import surefoot as sf
from reference import covariance
from support.optimizers import optimizer_of

Kernel = Callable[[], gpytorch.kernels.Kernel]


@dataclass(frozen=True)
class Case:
    """A kernel on arms."""

    arms: np.ndarray  # (A, d), or (A, 1) of indices where they have no coordinates
    kernel: Kernel
    formula: covariance.Pointwise
    bare: bool = False

    @property
    def space(self) -> sf.Arms:
        return sf.Arms(len(self.arms) if self.bare else self.arms)

    @property
    def points(self) -> torch.Tensor:
        return torch.from_numpy(self.arms)

    @cached_property
    def gram(self) -> np.ndarray:
        return covariance.gram(self.formula, self.arms, self.arms)

    def optimizer(self, **parts: Any) -> sf.Optimizer:
        return optimizer_of(self.space, self.kernel(), **parts)


LENGTHSCALES = np.array([0.3, 0.7])
GRID = np.stack(np.meshgrid(np.linspace(0, 1, 6), np.linspace(0, 1, 5)), -1).reshape(-1, 2)

KERNELS: dict[str, tuple[Kernel, covariance.Pointwise]] = {  # of two coordinates
    "se": (
        lambda: sf.kernels.squared_exponential(LENGTHSCALES),
        covariance.squared_exponential(LENGTHSCALES),
    ),
    "matern": (
        lambda: sf.kernels.matern(2.5, LENGTHSCALES),
        covariance.matern_five_halves(LENGTHSCALES),
    ),
    "linear": (sf.kernels.linear, covariance.linear),
}


def table(divisor: float = 1.0) -> np.ndarray:
    """A covariance (12, 12) of arms without coordinates, its common part over the divisor."""
    loadings = np.random.default_rng(5).normal(size=(12, 4))
    return loadings @ loadings.T / divisor + 0.1 * np.eye(12)


def cases_on(arms: np.ndarray, precomputed: np.ndarray) -> dict[str, Case]:
    """Every kernel on arms (A, 2), and a matrix (A', A') of arms without coordinates."""
    cases = {name: Case(arms, kernel, formula) for name, (kernel, formula) in KERNELS.items()}
    return cases | {"precomputed": bare(precomputed)}


def bare(precomputed: np.ndarray) -> Case:
    """Arms without coordinates, and the matrix (A, A) of their covariances."""
    return Case(
        np.arange(float(len(precomputed)))[:, None],
        lambda: sf.kernels.precomputed(precomputed),
        covariance.lookup(precomputed),
        bare=True,
    )


def waves(arms: np.ndarray, lengthscale: float) -> Case:
    """The squared exponential kernel with one lengthscale for all axes of the arms (A, d)."""
    return Case(
        arms,
        lambda: sf.kernels.squared_exponential(lengthscale),
        covariance.squared_exponential(np.full(arms.shape[1], lengthscale)),
    )
