"""V = ridge I + sum of phi phi' and its inverse, at O(m^2) a row and in main memory."""

from __future__ import annotations

import copy
import math

import numpy as np
from scipy.linalg.blas import dgemv, dger

from surefoot._internal.linalg import Floats, inverse_and_root
from surefoot._internal.numbers import LAST_DIGITS
from surefoot._internal.threads import one_thread
from surefoot.regression.ridge import LARGEST_STEP, REFRESH


class RunningRidge:
    """Geometry of a ridge regression whose rows come one by one.

    A round of few features is ruled by the overhead of its calls, which NumPy and BLAS have less of
    than torch.

    Args:
        dimension: Number m of features.
        ridge: Regularisation.
    """

    def __init__(self, dimension: int, ridge: float) -> None:
        self.ridge = ridge
        self.number = 0
        self.information_gain = 0.0
        self.left = 1.0  # one less the leverage phi' V^{-1} phi of the latest row, which V holds
        self.gram: Floats = np.asfortranarray(ridge * np.eye(dimension))
        self.inverse: Floats = np.asfortranarray(np.eye(dimension) / ridge)

    @property
    def dimension(self) -> int:
        """Number m of features."""
        return len(self.gram)

    def add(self, feature: Floats, times: float = 1.0) -> None:
        """Take in a row (m,), so many times, or take it back if that is negative."""
        solved = dgemv(1.0, self.inverse, feature)
        growth = 1.0 + times * float(feature @ solved)
        self.gram = dger(times, feature, feature, a=self.gram, overwrite_a=1)
        self.inverse = dger(-times / growth, solved, solved, a=self.inverse, overwrite_a=1)
        self.information_gain += 0.5 * math.log(growth)
        self.left = max(1.0 / growth, LAST_DIGITS)
        self.number += 1
        due = self.number % max(REFRESH, self.dimension) == 0  # O(m^2) a row on average
        if due or growth > LARGEST_STEP:
            with one_thread():
                inverse, root = inverse_and_root(self.gram)
            self.inverse = np.asfortranarray(inverse)
            spread = 2.0 * np.log(np.diagonal(root)).sum() - len(root) * math.log(self.ridge)
            self.information_gain = 0.5 * float(spread)

    def copy(self) -> RunningRidge:
        """A copy, which takes in rows of its own."""
        other = copy.copy(self)
        other.gram, other.inverse = self.gram.copy("F"), self.inverse.copy("F")
        return other

    def solve(self, moments: Floats) -> Floats:
        """V^{-1} moments (m,)."""
        return dgemv(1.0, self.inverse, moments)

    def covariance(self, features: Floats) -> Floats:  # (k, m) -> (k, k)
        """Covariance ridge phi' V^{-1} phi of the function at rows."""
        return self.ridge * (features @ self.inverse @ features.T)

    def deviation(self, features: Floats) -> Floats:  # (k, m) -> (k,)
        """Standard deviation of the function at rows."""
        variance = np.einsum("km,km->k", features @ self.inverse, features)
        return np.sqrt(self.ridge * np.maximum(variance, 0.0))


class Anticipating:
    """Geometry of rows with their rewards, and of these and the rows whose rewards are to come.

    Where each reward comes before the next decision both are the same and cost one update.

    Args:
        rewarded: Geometry of the rows with rewards.
    """

    def __init__(self, rewarded: RunningRidge) -> None:
        self.rewarded = rewarded
        self._every = rewarded
        self._open: dict[bytes, int] = {}  # how often each row is to come with its reward

    @property
    def every(self) -> RunningRidge:
        """Geometry of all rows."""
        if self._open and self._every is self.rewarded:
            self._every = self.rewarded.copy()
            for row, times in self._open.items():
                self._every.add(np.frombuffer(row), times)
        return self._every

    def expect(self, row: Floats) -> None:
        """Take in a row (m,) whose reward is to come."""
        if self._open:
            self.every.add(row)
        self._open[row.tobytes()] = self._open.get(row.tobytes(), 0) + 1

    def fulfil(self, row: Floats) -> None:
        """Take in the reward of a row, which another copy may have expected."""
        if self._close(row):
            self.rewarded.add(row)
        else:
            self.learn(row)

    def withdraw(self, row: Floats) -> None:
        """Note that the reward of a row will not come, which another copy may have expected."""
        if self._close(row) and self._every is not self.rewarded:
            if float(row @ row) <= LARGEST_STEP * self.rewarded.ridge:
                self._every.add(row, -1.0)
            else:  # beside it V has lost digits of all others
                self._every = self.rewarded

    def learn(self, row: Floats) -> None:
        """Take in a row with its reward, which was not expected."""
        if self._every is not self.rewarded:
            self._every.add(row)
        self.rewarded.add(row)

    def _close(self, row: Floats) -> bool:
        """Note that a row is not to come any more; whether it was."""
        times = self._open.pop(row.tobytes(), 0)
        if times > 1:
            self._open[row.tobytes()] = times - 1
        if not self._open:
            self._every = self.rewarded
        return times > 0
