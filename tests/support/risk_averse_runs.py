"""Runs on designs beside a finite environment, beside what the literal algorithm knows of them.

Designs and environments are scattered, so that no two are alike by symmetry and a choice that the
paper leaves to chance is one of weights alone.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from gpytorch.kernels import Kernel
from numpy.typing import ArrayLike

import surefoot as sf
from reference import covariance
from reference import risk as reference

NOISE = 0.05  # variance of the rewards
ROUNDS = 25
TINY = 1e-9  # a level below every weight: the value at risk is the worst case
SLACK = 1e-9  # of roundings, in an inequality that may hold with equality
Mix = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
Check = Callable[[reference.Round, int, int], None]


@dataclass(frozen=True)
class Case:
    """Designs beside a finite environment, with the covariance of all pairs."""

    designs: np.ndarray | int  # (A, dx), or how many without coordinates
    z: np.ndarray  # (n, dz)
    masses: np.ndarray  # (n,)
    kernel: Callable[[], Kernel]
    K: np.ndarray  # (A * n, A * n)
    perturbation: Mix | None = None

    @property
    def joint(self) -> sf.Joint:
        environment = sf.FiniteEnvironment(self.z, self.masses / self.masses.sum())
        return sf.Joint(sf.Arms(self.designs), environment, perturbation=self.perturbation)

    @property
    def pairs(self) -> np.ndarray:
        """What the model sees of all pairs (A * n, d)."""
        return self.joint.seen.points.numpy()

    def function(self, rng: np.random.Generator) -> np.ndarray:
        """A function (A, n) from the prior."""
        values, vectors = np.linalg.eigh(self.K)
        draw = vectors @ (np.sqrt(values.clip(0.0)) * rng.standard_normal(len(values)))
        return draw.reshape(-1, len(self.masses))


def scattered(number: int, dimension: int = 1, seed: int = 0) -> np.ndarray:
    """Points (number, dimension) of the unit cube."""
    return np.random.default_rng([seed, number, dimension]).uniform(size=(number, dimension))


def smooth(
    designs: np.ndarray,
    z: np.ndarray,
    masses: ArrayLike,
    kernel: Callable[[], Kernel],
    formula: covariance.Pointwise,
    perturbation: Mix | None = None,
) -> Case:
    """A kernel of what the model sees of x and z: them side by side, or as they are mixed."""
    if perturbation is None:
        pairs = np.array([np.concatenate([x, noise]) for x in designs for noise in z])
    else:
        repeated = np.repeat(designs, len(z), axis=0), np.tile(z, (len(designs), 1))
        pairs = perturbation(*map(torch.from_numpy, repeated)).numpy()
    K = covariance.gram(formula, pairs, pairs)
    return Case(designs, z, np.asarray(masses), kernel, K, perturbation)


TWO, THREE = np.array([0.3, 0.5]), np.array([0.4, 0.6, 0.5])


class Run:
    """An optimiser on a function from the prior, beside all that the literal algorithm knows."""

    def __init__(self, case: Case, optimizer: sf.Optimizer, seed: int = 0) -> None:
        self.case, self.optimizer = case, optimizer
        self.rng = np.random.default_rng([7, seed])
        self.f = case.function(self.rng)
        self.pairs: list[int] = []
        self.rewards: list[float] = []
        self.round()

    @property
    def known(self) -> reference.Round:
        """What the next choice is made from."""
        pairs, rewards = np.array(self.pairs), np.array(self.rewards)
        t = len(self.pairs) + 1
        return reference.Round(self.case.K, pairs, rewards, NOISE, t, self.case.masses)

    def round(self) -> tuple[int, int]:
        """Ask, measure and tell; the indices of the design and of the environment."""
        query = self.optimizer.ask()
        assert query.arm is not None
        assert query.environment is not None
        x, z = query.arm, int((self.case.z == query.environment.numpy()).all(-1).argmax())
        assert np.array_equal(self.case.z[z], query.environment.numpy())
        self.pairs.append(x * len(self.case.masses) + z)
        self.rewards.append(float(self.f[x, z] + NOISE**0.5 * self.rng.standard_normal()))
        self.optimizer.tell(query, self.rewards[-1])
        return x, z

    def check_every_round(self, check: Check) -> None:
        for _ in range(ROUNDS):
            known = self.known
            check(known, *self.round())
