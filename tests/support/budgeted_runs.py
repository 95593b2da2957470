"""Runs of BKB beside what its formulas need to know of them."""

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import budgeted, covariance
from support.kernel_cases import LENGTHSCALES, Case, cases_on, table
from support.variants import variant
from surefoot.algorithms import bkb

NORM, NOISE, DELTA, ACCURACY = 2.0, 0.5, 0.1, 0.5
ERROR = 1e-7  # chance that a correct library fails one of the statistical tests
inclusions = pytest.mark.parametrize("inclusion", ["per-pull", "per-arm", "once"])


def bkb_on(case: Case, space: sf.Arms | sf.Box | None = None, **parts: Any) -> sf.Optimizer:
    width = sf.widths.bkb(NORM, NOISE, DELTA, accuracy=ACCURACY)  # that of the paper
    ridge = parts.pop("ridge", 1.0)
    seed = parts.pop("seed", 0)
    made = bkb(space or case.space, case.kernel(), noise=NOISE, ridge=ridge, seed=seed)
    others = {"width": width, "estimator": sf.LeastSquares()}
    others |= {name: parts.pop(name) for name in {*others} & {*parts}}
    sampling = sf.LeverageSampling(**{"oversampling": 2.0} | parts)
    return variant(made, features=sf.Nystrom(sampling), **others)


def line(
    number: int, lengthscale: float, nu: float = 0.5, seed: int = 7, spread: float = 1.0
) -> Case:
    """Irregular arms on a line; with nu = 1/2 none of them is explained by the others."""
    arms = spread * np.sort(np.random.default_rng(seed).uniform(size=number))[:, None]
    scale = np.array([lengthscale])
    return Case(arms, lambda: sf.kernels.matern(nu, lengthscale), covariance.matern(nu, scale))


PLANE = np.random.default_rng(3).uniform(size=(30, 2))  # irregular: no two arms ever tie


def quadrupled_matern(x: np.ndarray, z: np.ndarray) -> float:
    return 4.0 * covariance.matern_five_halves(LENGTHSCALES)(x, z)


CASES = cases_on(PLANE, table(2)) | {
    "scaled": Case(
        PLANE,
        lambda: sf.kernels.scaled(sf.kernels.matern(2.5, LENGTHSCALES), 4.0),
        quadrupled_matern,
    ),
}


@dataclass
class Run:
    """An optimiser, and all that the formulas need to know of what it has seen."""

    optimizer: sf.Optimizer
    case: Case
    ridge: float
    noise: np.random.Generator = field(default_factory=lambda: np.random.default_rng(11))
    pulled: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)

    def ask_and_tell(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            query = self.optimizer.ask()
            assert query.arm is not None
            self._tell(query, query.arm)

    def tell(self, arm: int) -> None:
        on_arms = isinstance(self.optimizer.space, sf.Arms)
        self._tell(arm if on_arms else self.case.points[arm], arm)

    def _tell(self, where: sf.Query | int | torch.Tensor, arm: int) -> None:
        reward = math.sin(arm) + NOISE * float(self.noise.normal())
        self.optimizer.tell(where, reward)
        self.pulled.append(arm)
        self.rewards.append(reward)

    @property
    def dictionary(self) -> np.ndarray:
        """Arms of the dictionary (m,), but for any that the others explain."""
        return dictionary(self.optimizer, self.case.points)

    @property
    def sketched(self) -> budgeted.Sketched:
        return budgeted.Sketched(self.case.gram, np.array(self.pulled), self.dictionary, self.ridge)

    def beta(self, variance: np.ndarray) -> float:
        """Theorem 2's, from the paper's variance of every arm (A,)."""
        of_pulls, kappa = variance[self.pulled], math.sqrt(self.case.gram.diagonal().max())
        return budgeted.width(of_pulls, NOISE, NORM, DELTA, ACCURACY, self.ridge, kappa)


def dictionary(optimizer: sf.Optimizer, points: torch.Tensor | None = None) -> np.ndarray:
    """Arms (m,), or indices into the points (A, d), of the dictionary."""
    if points is None:
        points = optimizer.space.points
    embedding = optimizer.belief().posterior.embedding
    kept = getattr(embedding, "embedding", embedding).dictionary
    same = (kept[:, None, :] == points).all(-1)
    assert same.any(1).all(), "a point of the dictionary was never measured"
    return same.to(torch.int8).argmax(1).numpy()


def variance(optimizer: sf.Optimizer) -> np.ndarray:
    """sigma^2 of every arm (A,)."""
    return optimizer.belief().posterior.variance(optimizer.space.points).numpy()


def mean(optimizer: sf.Optimizer) -> np.ndarray:
    return optimizer.belief().posterior.mean(optimizer.space.points).numpy()
