"""Ada-BKB: Rando et al. 2022, Algorithm 1, node by node, with every pull in the dictionary.

In the units of BKB's paper, which divides posterior variances by lambda. The radius of a cell is
measured in the metric of the kernel itself, so that v_1 rho^h is not needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from reference import budgeted

Pointwise = Callable[[np.ndarray, np.ndarray], float]


@dataclass(eq=False)
class Node:
    """A cell X_{h,i} between two corners."""

    low: np.ndarray
    high: np.ndarray
    level: int = 0
    father: Node | None = None

    @property
    def x(self) -> np.ndarray:
        """The centroid x_{h,i}."""
        return (self.low + self.high) / 2

    def expand(self, N: int, lengthscale: np.ndarray) -> list[Node]:
        """N equal cells along the side that is longest in lengthscales."""
        side = int(np.argmax(np.round((self.high - self.low) / lengthscale, 12)))
        cuts = np.linspace(self.low[side], self.high[side], N + 1)
        children = []
        for i in range(N):
            low, high = self.low.copy(), self.high.copy()
            low[side], high[side] = cuts[i], cuts[i + 1]
            children.append(Node(low, high, self.level + 1, self))
        return children


@dataclass
class AdaBkb:
    """The leaf set L_t, and all that was measured."""

    k: Pointwise
    lengthscale: np.ndarray
    F: float
    xi: float
    delta: float
    epsilon: float
    ridge: float
    N: int
    h_max: int
    leaves: list[Node]
    X: list[np.ndarray] = field(default_factory=list)
    y: list[float] = field(default_factory=list)

    def measure(self, x: np.ndarray, y: float) -> None:
        self.X.append(np.array(x))
        self.y.append(y)
        t = len(self.X)
        K = self._gram(self.X, self.X)
        self.inverse = np.linalg.inv(K + self.ridge * np.eye(t))
        of_pulls = [self.posterior(x)[1] ** 2 for x in self.X]
        kappa = math.sqrt(self.k(x, x))
        self.beta = budgeted.width(
            of_pulls, self.xi, self.F, self.delta, self.epsilon, self.ridge, kappa
        )

    def posterior(self, x: np.ndarray) -> tuple[float, float]:
        """mu~ and sigma~ at one point, eqs. 1 and 2 of BKB."""
        k_t = self._gram([x], self.X)[0]
        mean = k_t @ self.inverse @ np.array(self.y)
        variance = (self.k(x, x) - k_t @ self.inverse @ k_t) / self.ridge
        return float(mean), math.sqrt(max(variance, 0.0))

    def V(self, node: Node) -> float:  # noqa: N802
        """F d_k(x_{h,i}, corner)."""
        x, corner, k = node.x, node.high, self.k
        return self.F * math.sqrt(k(x, x) + k(corner, corner) - 2 * k(x, corner))

    def ucb(self, node: Node) -> float:
        mean, deviation = self.posterior(node.x)
        return mean + self.beta * deviation

    def index(self, node: Node) -> float:
        """I_t(x_{h,i})."""
        if node.father is None:
            return self.ucb(node) + self.V(node)
        capped = min(self.ucb(node), self.ucb(node.father) + self.V(node.father))
        return capped + self.V(node)

    def choose(self) -> np.ndarray:
        """Expand leaves of largest index until one is to be measured."""
        while True:
            indices = [self.index(leaf) for leaf in self.leaves]
            # The first of siblings with the cap of their father, as close as rounding tells.
            best = indices.index(
                next(i for i in indices if i >= max(indices) - 1e-9 * abs(max(indices)))
            )
            leaf = self.leaves[best]
            _, deviation = self.posterior(leaf.x)
            if self.beta * deviation > self.V(leaf) or leaf.level >= self.h_max:
                return leaf.x
            del self.leaves[best]
            self.leaves += leaf.expand(self.N, self.lengthscale)

    def _gram(self, left: list[np.ndarray], right: list[np.ndarray]) -> np.ndarray:
        return np.array([[self.k(a, b) for b in right] for a in left])
