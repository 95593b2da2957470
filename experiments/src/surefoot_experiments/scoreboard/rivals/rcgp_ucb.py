"""RCGP-UCB: the upper confidence bound on a robust conjugate Gaussian process.

With residuals e = y - m, weights w(e) = (1 + e^2 / c^2)^(-1/2) and noise variance s^2, the
posterior is that of a Gaussian process with noise variances s^2 / w^2 and values
y - s^2 (log w^2)'(e). The prior mean m is the median of the measurements and c a quantile of |e|;
hyperparameters maximise the leave-one-out density, each term weighted by w^2.

References:
    Altamirano, Briol, Knoblauch, "Robust and Conjugate Gaussian Process Regression", ICML 2024:
    Proposition 3.1, the weights, and the weighted leave-one-out objective.
    Ezzerg, Bogunovic, Knoblauch, "Robust Bayesian Optimisation with Unbounded Corruptions",
    arXiv 2511.15315: the bound on this posterior, here with a constant width.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.quasirandom import SobolEngine

from surefoot_experiments.scoreboard.rivals.history import History
from surefoot_experiments.scoreboard.space import Point, Space

PACKAGES = ("torch", "scipy")
WIDTH = 2.0  # posterior standard deviations
QUANTILE = 0.9  # of |e|, beyond which measurements lose weight
CANDIDATES, CLIMBED, STEPS = 512, 4, 50
JITTER = 1e-6


class RobustConjugateGP:
    """The posterior, with a Matérn-5/2 kernel that has a lengthscale for each coordinate.

    Args:
        x: Points, (n, d).
        y: Measurements with median 0 and spread 1, (n,).
    """

    def __init__(self, x: Tensor, y: Tensor, start: np.ndarray) -> None:
        self._x = x
        c = max(float(torch.quantile(y.abs(), QUANTILE)), 1e-3)
        self._weights = (1.0 + (y / c) ** 2) ** -0.5
        self._slope = -2.0 * y / (c**2 + y**2)  # (log w^2)' at y
        self._y = y
        self.settings = self._fit(start)
        self._scales, self._outputscale, noise = self._unpacked(torch.as_tensor(self.settings))
        self._factor = self._factorised(self._scales, self._outputscale, noise)
        values = y - noise * self._slope
        self._coefficients = torch.cholesky_solve(values[:, None], self._factor)[:, 0]

    def predict(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Posterior mean and standard deviation at points, (m, d) to (m,)."""
        cross = self._outputscale * _matern(points, self._x, self._scales)
        solved = torch.linalg.solve_triangular(self._factor, cross.T, upper=False)
        variance = self._outputscale - solved.square().sum(dim=0)
        return cross @ self._coefficients, variance.clamp_min(1e-12).sqrt()

    def _fit(self, start: np.ndarray) -> np.ndarray:
        def objective(settings: np.ndarray) -> tuple[float, np.ndarray]:
            at = torch.tensor(settings, requires_grad=True)
            return _with_gradient(self._loss(at), at)

        limits = [(-3.0, 3.0)] * (len(start) - 2) + [(-3.0, 5.0), (-9.0, 2.0)]
        try:
            found = minimize(
                objective,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=limits,
                options={"maxiter": STEPS},
            )
        except RuntimeError:  # a factorisation failed
            return start
        return found.x if np.isfinite(found.fun) else start

    def _loss(self, settings: Tensor) -> Tensor:
        """The negative weighted leave-one-out log density, with weak priors on hyperparameters."""
        scales, outputscale, noise = self._unpacked(settings)
        factor = self._factorised(scales, outputscale, noise)
        inverse = torch.cholesky_inverse(factor)
        shift = noise * self._slope
        values = self._y - shift
        diagonal = inverse.diagonal()
        # Without measurement i its value is normal with this mean and variance; the variance of
        # the measurement itself is the noise without a weight.
        mean = values - (inverse @ values) / diagonal
        variance = 1.0 / diagonal - noise / self._weights**2 + noise
        density = -0.5 * (variance.log() + (self._y - mean) ** 2 / variance)
        prior = ((settings[:-2] - math.log(0.5)) ** 2).sum() / 2 + (settings[-1] + 4.0) ** 2 / 18
        return -(self._weights**2 * density).sum() + prior

    def _factorised(self, scales: Tensor, outputscale: Tensor, noise: Tensor) -> Tensor:
        covariance = outputscale * _matern(self._x, self._x, scales)
        extra = noise / self._weights**2 + JITTER * outputscale
        return torch.linalg.cholesky(covariance + torch.diag(extra))

    def _unpacked(self, settings: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        scales = settings.exp()
        return scales[:-2], scales[-2], scales[-1]


class RcgpUcb:
    """A loop of RCGP-UCB; recommends the measured point with the best posterior mean."""

    def __init__(self, space: Space, seed: int) -> None:
        torch.manual_seed(seed)
        self._history = History(space)
        self._sobol = SobolEngine(space.width, scramble=True, seed=seed)
        self._initial = min(2 * (len(space.parameters) + 1), 10)
        start = np.zeros(space.width + 2)
        start[:-2], start[-1] = math.log(0.5), -4.0
        self._settings = start

    def ask(self) -> Point:
        """A Sobol point at first, then the minimiser of the lower confidence bound."""
        if len(self._history) < self._initial:
            return self._decoded(self._sobol.draw(1, dtype=torch.float64)[0])
        model = self._model()

        def bound(points: Tensor) -> Tensor:
            mean, deviation = model.predict(points)
            return mean - WIDTH * deviation

        candidates = torch.cat([self._sobol.draw(CANDIDATES, dtype=torch.float64), self._near()])
        with torch.no_grad():
            order = bound(candidates).argsort()[:CLIMBED]
        climbed = [_climb(bound, candidates[i]) for i in order]
        return self._decoded(min(climbed, key=lambda pair: pair[1])[0])

    def tell(self, point: Point, value: float) -> None:
        """Take in a measurement."""
        self._history.add(point, value)

    def recommend(self) -> Point:
        """The measured point with the best posterior mean."""
        x = torch.as_tensor(self._history.coordinates)
        model = self._model()
        with torch.no_grad():
            mean, _ = model.predict(x)
        return self._decoded(x[mean.argmin()])

    def _model(self) -> RobustConjugateGP:
        x, y = (torch.as_tensor(a) for a in (self._history.coordinates, self._history.values))
        centred = y - y.median()
        spread = 1.4826 * centred.abs().median()
        model = RobustConjugateGP(x, centred / spread.clamp_min(1e-12), self._settings)
        self._settings = model.settings
        return model

    def _near(self) -> Tensor:
        """Points near the best measurements."""
        best = self._history.values.argsort()[:5]
        x = torch.as_tensor(self._history.coordinates[best]).repeat(20, 1)
        return (x + 0.05 * torch.randn_like(x)).clamp(0.0, 1.0)

    def _decoded(self, coordinates: Tensor) -> Point:
        return self._history.space.decode(coordinates.numpy())


def _climb(bound: Callable[[Tensor], Tensor], start: Tensor) -> tuple[Tensor, float]:
    """The minimiser of a bound in the unit cube, from a start."""

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        at = torch.tensor(x, requires_grad=True)
        return _with_gradient(bound(at[None])[0], at)

    limits = [(0.0, 1.0)] * len(start)
    found = minimize(objective, start.numpy(), jac=True, method="L-BFGS-B", bounds=limits)
    return torch.as_tensor(found.x), float(found.fun)


def _with_gradient(value: Tensor, at: Tensor) -> tuple[float, np.ndarray]:
    (gradient,) = torch.autograd.grad(value, at)
    return float(value), gradient.numpy()


def _matern(a: Tensor, b: Tensor, scales: Tensor) -> Tensor:
    """The Matérn-5/2 correlation, (n, d) and (m, d) to (n, m)."""
    squares = ((a[:, None] - b[None]) / scales).square().sum(dim=-1)
    r = (5.0 * squares + 1e-12).sqrt()
    return (1.0 + r + r**2 / 3.0) * torch.exp(-r)


def create(space: Space, seed: int, budget: int) -> RcgpUcb:
    """A run of RCGP-UCB."""
    return RcgpUcb(space, seed)
