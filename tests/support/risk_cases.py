"""Random environments of whole-number masses, with levels at the ends of atoms."""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import risk as reference
from surefoot.risks import CVaR, Mean, Risk, VaR, WorstCase
from surefoot.spaces import FiniteEnvironment

seeds = given(seed=st.integers(0, 2**32 - 1))


def examples(number: int) -> Callable:
    return settings(max_examples=number, deadline=None, database=None, derandomize=True)


@dataclass(frozen=True)
class Case:
    """An environment of whole-number masses, a level, and functions of it (rows, n)."""

    values: np.ndarray
    masses: np.ndarray  # (n,)
    level: Fraction

    @property
    def weights(self) -> torch.Tensor:
        return torch.as_tensor(self.masses / self.masses.sum())

    @property
    def risks(self) -> dict[Risk, np.ndarray]:
        """What each risk of the values is by definition."""
        values, masses, level = self.values, self.masses, self.level
        return {
            Mean(): reference.mean(values, masses),
            VaR(float(level)): reference.var(values, masses, level),
            CVaR(float(level)): reference.cvar(values, masses, level),
            WorstCase(): reference.worst_case(values, masses),
        }

    def bounds(self, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper bounds (rows, n) about the values; some z are known for certain."""
        kind = rng.integers(3)
        if kind == 0:  # of whole numbers, with ties
            apart = rng.integers(0, 4, size=(2, *self.values.shape))
        elif kind == 1:  # as wide everywhere, where the mean of the widths is met by rounding alone
            apart = np.ones((2, *self.values.shape), dtype=int) * rng.integers(0, 4)
        else:
            apart = rng.exponential(size=(2, *self.values.shape))
        return self.values - apart[0], self.values + apart[1]


def random_masses(rng: np.random.Generator, most: int) -> np.ndarray:
    """Masses (n,) of 1 to `most` z: alike, few and nothing at some, any, or one of them big."""
    n, kind = int(rng.integers(1, most + 1)), rng.integers(4)
    masses = rng.integers(0, 4 if kind == 1 else 1000, size=n) if kind else np.ones(n, dtype=int)
    masses[rng.integers(n)] += 1 if kind < 3 else 10_000
    return masses


def random_level(rng: np.random.Generator, masses: np.ndarray) -> Fraction:
    """The end of an atom, a hair beside it, a hundredth, or any ratio; all in (0, 1)."""
    kind, level = rng.integers(4), Fraction(0)
    if kind < 2:
        level = Fraction(int(rng.permutation(masses)[: rng.integers(1, len(masses) + 1)].sum()))
        level = level / int(masses.sum()) + kind * int(rng.choice([-1, 1])) * Fraction(1, 10**6)
    elif kind == 2:
        level = Fraction(int(rng.integers(1, 100)), 100)
    return level if 0 < level < 1 else Fraction(int(rng.integers(1, 997)), 997)


def random_case(rng: np.random.Generator, rows: int, most: int = 60) -> Case:
    masses = random_masses(rng, most)
    shape, kind = (rows, len(masses)), rng.integers(3)
    if kind == 0:  # many ties
        values = rng.integers(-3, 4, size=shape)
    elif kind == 1:
        values = rng.permuted(np.tile(np.arange(shape[1]), (rows, 1)), axis=1)
    else:
        values = rng.normal(size=shape)
    return Case(values, masses, random_level(rng, masses))


def tensor(values: np.ndarray) -> torch.Tensor:
    return torch.as_tensor(values, dtype=torch.float64)


def equal(n: int) -> torch.Tensor:
    """The weights (n,) of an environment that names none."""
    return FiniteEnvironment(range(n)).weights
