"""BKB and its batched version as their papers write them, in NumPy, for comparison.

Everything is computed again for each dictionary and for all arms: the kernel's columns, the
features by the symmetric inverse root, V and the variances. An arm of n pulls is in the dictionary
with probability min(1, n qbar sigma^2), and the width is `baselines.as_published.BKB`, as in the
authors' code.
"""

import math

import numpy as np
from scipy.linalg import solve_triangular
from scipy.spatial.distance import cdist

from surefoot_experiments.benchmarks.sketch_runs import DELTA, NOISE, RIDGE


class PlainBKB:
    """Calandriello et al. 2019, Algorithm 1; with a `ratio`, 2020, Algorithm 1 (BBKB)."""

    def __init__(
        self,
        points: np.ndarray,  # (A, d)
        lengthscale: float,
        norm: float,
        oversampling: float,
        seed: int,
        ratio: float = 1.0,
    ) -> None:
        self.batches = 0
        self._points = points
        self._lengthscale = lengthscale
        self._norm = norm
        self._oversampling = oversampling
        self._ratio = ratio
        self._random = np.random.default_rng(seed)
        self._counts = np.zeros(len(points))
        self._sums = np.zeros(len(points))
        self._variance = np.full(len(points), 1.0 / RIDGE)  # sigma^2 / lambda at the last draw
        self._explained = math.inf  # by the pulls since
        self._last: int | None = None  # of them
        self._features = np.zeros((len(points), 0))

    def choose(self) -> int:
        if not self._counts.any():
            return int(self._random.integers(len(self._points)))
        if 1.0 + self._explained > self._ratio:
            self._draw()
        elif self._last is not None:
            self._hallucinate(self._last)
        return int(self._score.argmax())

    def learn(self, arm: int, reward: float) -> int:
        self._counts[arm] += 1.0
        self._sums[arm] += reward
        self._explained += self._variance[arm]
        self._last = arm
        return self._features.shape[1]

    def _draw(self) -> None:
        """Dictionary, features, V, mean, variance and width from the counts."""
        chances = self._oversampling * self._variance * self._counts
        chosen = self._random.random(len(chances)) < chances
        if not chosen.any():
            chosen[self._last] = True
        values, vectors = np.linalg.eigh(self._kernel(self._points[chosen], self._points[chosen]))
        large = values > values[-1] * len(values) * np.finfo(float).eps
        root = vectors[:, large] / np.sqrt(values[large])
        phi = self._features = self._kernel(self._points, self._points[chosen]) @ root
        pulled = self._counts > 0
        weighted = phi[pulled] * self._counts[pulled, None]
        gram = RIDGE * np.eye(phi.shape[1]) + phi[pulled].T @ weighted
        lower = np.linalg.cholesky(gram)
        self._inverse = np.linalg.inv(gram)
        self._mean = phi @ (self._inverse @ (phi[pulled].T @ self._sums[pulled]))
        self._residual = np.maximum(1.0 - (phi**2).sum(1), 0.0) / RIDGE
        whitened = solve_triangular(lower, phi.T, lower=True)
        self._variance = self._residual + (whitened**2).sum(0)
        number = self._counts.sum()
        spread = (self._variance * self._counts).sum() * math.log(number)
        self._beta = math.sqrt(RIDGE) * self._norm + NOISE * math.sqrt(
            spread + math.log(1.0 / DELTA)
        )
        self._score = self._mean + self._beta * np.sqrt(self._variance)
        self._explained, self._last = 0.0, None
        self.batches += 1

    def _hallucinate(self, arm: int) -> None:
        """A pull in V alone; then the scores of the arms whose stale ones beat its own."""
        solved = self._inverse @ self._features[arm]
        growth = 1.0 + self._features[arm] @ solved
        self._inverse = self._inverse - np.outer(solved, solved) / growth
        self._rescore(np.array([arm]))
        self._rescore((self._score >= self._score[arm]).nonzero()[0])

    def _rescore(self, arms: np.ndarray) -> None:
        phi = self._features[arms]
        variance = self._residual[arms] + np.einsum("ij,ij->i", phi @ self._inverse, phi)
        self._score[arms] = self._mean[arms] + self._beta * np.sqrt(np.maximum(variance, 0.0))

    def _kernel(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        distances = cdist(left, right, "sqeuclidean")
        return np.asarray(np.exp(-0.5 * distances / self._lengthscale**2))
