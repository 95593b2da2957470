"""Marginal likelihood of Gaussian noise, and a variational bound of it for Student-t noise."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from surefoot._internal.linalg import (
    Floats,
    inverse_and_root,
    same_points,
)
from surefoot._internal.tensors import NO_VALUES
from surefoot.hyperparameters.exponents import ExponentsTo, Metric, distances_of
from surefoot.hyperparameters.nuisance_effects import (
    CovarianceOfEffect,
    NuisanceEffect,
    by_effect,
)
from surefoot.kernels.families import (
    FLOOR,
    Correlation,
    Family,
    differentiable,
)
from surefoot.regression.noise import NO_ERRORS, Noise
from surefoot.regression.observations import Conditions

MIN_NOISE = 1e-4  # in squared standardised units
_MIN_NOISE_TO_SIGNAL = 1e-6  # of the signal variance, so that the covariance can be factored
_DOFS = np.array([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0])
_LEAST_EXCESS = 1e-7  # of the noise above its floor
_SPREAD, _SPREAD_DOF = 0.5, 3.0  # of log lengthscales about their center, Student-t
_CENTER_DEVIATION = 2.0  # of that center, a priori
_CENTER_STEPS, _CENTER_TOLERANCE = 100, 1e-10
_OWN_STEPS = 30  # of the weight of one reward, whose iteration costs little


class LogDensity(NamedTuple):
    """A log density of parameters, up to a constant, and its gradient in their logarithms."""

    value: float
    gradient: Floats


def _long(logs: Floats) -> LogDensity:
    """LogNormal(sqrt(2) + ln(d) / 2, sqrt(3)) for d lengthscales.

    Hvarfner et al. 2024, "Vanilla Bayesian optimization performs great in high dimensions", eq. 6.
    """
    off = logs - log_median(len(logs))
    return LogDensity(-float(off @ off) / 6.0 - float(logs.sum()), off / -3.0 - 1.0)


def _short(logs: Floats) -> LogDensity:
    """Gamma(3, 6), BoTorch's default until 2024."""
    scales = np.exp(logs)
    return LogDensity(float((2.0 * logs - 6.0 * scales).sum()), 2.0 - 6.0 * scales)


def _scaled(logs: Floats) -> LogDensity:
    """`_short` of lengthscales over sqrt(d / 2), as distances grow with the number d of them.

    With as short ones, the function would be independent at nearly all pairs of points.
    """
    return _short(logs - _growth(len(logs)))


def _growth(number: int) -> float:
    """Logarithm of the unit of `number` lengthscales."""
    return 0.5 * math.log(max(0.5 * number, 1.0))


def _pooled(logs: Floats) -> LogDensity:
    """Student-t log lengthscales about a common center, which is normal about `log_median`.

    With many lengthscales, each of which the rewards say little about, independent priors either
    leave enough freedom to fit the noise or fix the scale of the function. Here the rewards choose
    the scale by the center, and a lengthscale that differs from the others needs support of its
    own; heavy tails let the few that matter differ by orders of magnitude. The density is that at
    the most likely center.

    Gelman 2006, "Prior distributions for variance parameters in hierarchical models", for
    partial pooling; Lange et al. 1989 for the Student-t weights.
    """
    median = log_median(len(logs))
    precision, squared = 1.0 / _CENTER_DEVIATION**2, _SPREAD_DOF * _SPREAD**2
    center = float(np.median(logs))
    for _ in range(_CENTER_STEPS):
        weights = (_SPREAD_DOF + 1.0) / (squared + (logs - center) ** 2)
        former = center
        center = float(weights @ logs + precision * median) / float(weights.sum() + precision)
        if abs(center - former) < _CENTER_TOLERANCE:
            break
    off = logs - center
    density = -0.5 * (_SPREAD_DOF + 1.0) * float(np.log1p(off**2 / squared).sum())
    density -= 0.5 * precision * (center - median) ** 2
    return LogDensity(density, -(_SPREAD_DOF + 1.0) * off / (squared + off**2))


def log_median(number: int) -> float:
    """Logarithm of the prior median of `number` lengthscales, which grows with its root."""
    return math.sqrt(2.0) + 0.5 * math.log(number)


Prior = Callable[[Floats], LogDensity] | None
"""Log density of the lengthscales, by their logarithms; None for no prior at all."""

LENGTHSCALE_PRIORS: dict[str, Prior] = {
    "long": _long,
    "short": _short,
    "scaled": _scaled,
    "pooled": _pooled,
    "flat": None,  # the improper uniform density of all parameters
}


def _long_in_logs(logs: Floats) -> LogDensity:
    """Density of the logarithms where lengthscales have the prior "long"."""
    off = logs - log_median(len(logs))
    constant = -0.5 * len(logs) * math.log(6.0 * math.pi)
    return LogDensity(constant - float(off @ off) / 6.0, off / -3.0)


def _scaled_in_logs(logs: Floats) -> LogDensity:
    """Density of the logarithms where lengthscales have the prior "scaled"."""
    own = _scaled(logs)
    constant = len(logs) * (math.log(108.0) - _growth(len(logs)))
    return LogDensity(own.value + float(logs.sum()) + constant, own.gradient + 1.0)


PRIORS_IN_LOGS: dict[str, Prior] = {"long": _long_in_logs, "scaled": _scaled_in_logs}
"""Log densities of the logarithms, by name, which integrate to 1.

With them, evidences with different priors can be compared.
"""


@dataclass(frozen=True, eq=False)
class Hyperparameters:
    """Parameters of kernel and noise, on the unit cube and in standardised reward units.

    Args:
        logs: Logarithms (g + 2,) of g lengthscales, of the signal variance, and of the noise
            variance above its floor.
        effects: Logarithms (e,) of the parameters of the effects of conditions.
    """

    logs: Tensor
    effects: Tensor = NO_VALUES

    @property
    def free(self) -> Tensor:
        """All that is fitted (g + 2 + e,)."""
        return torch.cat([self.logs, self.effects])

    def moved_to(self, free: Tensor) -> Hyperparameters:
        """Hyperparameters with other values (g + 2 + e,) of all that is fitted."""
        number = len(self.logs)
        return Hyperparameters(free[:number], free[number:])

    @classmethod
    def initial(cls, groups: int, power: float, share: float) -> Hyperparameters:
        """Where an ascent starts.

        Args:
            groups: Number of lengthscales.
            power: Signal variance.
            share: Lengthscales, as a multiple of the default initial ones.
        """
        lengthscale = math.log(share) + log_median(groups) - 3.0
        others = [math.log(power), math.log(power * share**2) - 2.0]
        return cls(torch.tensor([lengthscale] * groups + others, dtype=torch.float64))

    @classmethod
    def of(cls, scales: Tensor, group: Tensor, variance: float, noise: float) -> Hyperparameters:
        """Hyperparameters of a kernel with lengthscales (d,) that are equal within each group."""
        logs = torch.zeros(int(group.max()) + 3, dtype=torch.float64)
        logs[group] = scales.log()
        excess = noise - MIN_NOISE - _MIN_NOISE_TO_SIGNAL * variance
        logs[-2] = math.log(variance)
        logs[-1] = math.log(max(excess, _LEAST_EXCESS))
        return cls(logs)

    @cached_property
    def lengthscales(self) -> Tensor:
        """Lengthscales (g,)."""
        return self.logs[:-2].exp()

    @cached_property
    def variance(self) -> float:
        """Signal variance."""
        return math.exp(self.logs.numpy()[-2])

    @cached_property
    def excess(self) -> float:
        """Noise variance above its floor."""
        return math.exp(self.logs.numpy()[-1])

    @property
    def noise(self) -> float:
        """Noise variance, with a floor."""
        return MIN_NOISE + _MIN_NOISE_TO_SIGNAL * self.variance + self.excess


class Covariance(NamedTuple):
    """A covariance matrix of function values, and what its derivatives are made of."""

    signal: Floats  # (n, n)
    slope: Floats  # (n, n), derivative in half the squared distances, with a minus
    bend: Callable[[], Floats]  # returns the second derivatives (n, n)
    scaled: Floats  # (n, d), points in lengthscales


class OnDiagonal(NamedTuple):
    """Derivatives of the variances of the noise, in the logarithms."""

    of_variance: Floats  # (n,), of the signal variance
    of_excess: Floats  # (n,), of the noise above its floor


class Marginal(NamedTuple):
    """The distribution of the rewards, and what its derivatives are made of."""

    function: Covariance
    effects: list[CovarianceOfEffect]
    noise: OnDiagonal
    rewards: Solution


@dataclass(frozen=True, eq=False)
class Evidence:
    """Evidence of hyperparameters in rewards at given points.

    Args:
        points: Points (n, d) on the unit cube.
        rewards: Standardised rewards (n,).
        group: Which lengthscale each coordinate has (d,).
        family: The kernel, whose lengthscales and variance are fitted.
        prior: Log density of the lengthscales, by their logarithms; None for no prior at all.
        errors: Known variances (n,) of the rewards in addition to the noise, in squared
            standardised units.
        effects: Random effects of the conditions of the rewards.
    """

    points: Tensor
    rewards: Tensor
    group: Tensor
    family: Family
    prior: Prior
    errors: Tensor = NO_ERRORS
    effects: tuple[NuisanceEffect, ...] = ()

    def is_told(self, points: Tensor) -> bool:
        """Whether the points are those of the rewards, of which there are no effects.

        Means there follow from the rewards and the noise alone.
        """
        return not self.effects and not points.requires_grad and torch.equal(points, self.points)

    def among(self, chosen: Tensor) -> Evidence:
        """The evidence in some rewards, with these indices (k,), without effects of conditions."""
        errors = self.errors.expand(len(self.rewards))[chosen]
        points, rewards = self.points[chosen], self.rewards[chosen]
        return replace(self, points=points, rewards=rewards, errors=errors, effects=())

    def log_prior(self, model: Hyperparameters) -> LogDensity:
        """Log prior density of all parameters, up to a constant."""
        own = self._log_prior_of_kernel_and_noise(model)
        if not self.effects:
            return own
        parts = [one.log_prior(logs) for one, logs in by_effect(self.effects, model.effects)]
        return LogDensity(
            own.value + sum(part.value for part in parts),
            np.concatenate([own.gradient, *(part.gradient.numpy() for part in parts)]),
        )

    def _log_prior_of_kernel_and_noise(self, model: Hyperparameters) -> LogDensity:
        if self.prior is None:
            return LogDensity(0.0, np.zeros(len(model.logs)))
        logs = model.logs.numpy()
        lengthscales = self.prior(logs[:-2])
        variance, noise = float(logs[-2]), model.noise
        off = math.log(noise) + 3.0
        value = lengthscales.value - variance**2 / 18.0 - off**2 / 18.0
        floor = _MIN_NOISE_TO_SIGNAL * model.variance
        others = -variance / 9.0 - off / 9.0 * floor / noise, -off / 9.0 * model.excess / noise
        return LogDensity(value, np.append(lengthscales.gradient, others))

    def covariance(self, model: Hyperparameters) -> Covariance:
        """The covariance of the function at the points."""
        scaled = self._from_first / np.exp(model.logs.numpy()[:-2])[self._groups]
        exponents = distances_of(self.family).exponents(scaled)
        np.minimum(exponents, FLOOR, out=exponents)
        _diagonal(exponents)[:] = FLOOR
        values, slopes, bends = self.family.formula(torch.from_numpy(exponents), model.variance)
        return Covariance(values.numpy(), slopes().numpy(), lambda: bends().numpy(), scaled)

    def covariance_of_rewards(self, model: Hyperparameters) -> Tensor:
        """The covariance (n, n) of the function and of the effects, without the noise."""
        total = torch.from_numpy(self.covariance(model).signal)
        for effect, logs in by_effect(self.effects, model.effects):
            total = total + effect.covariance(logs).values
        return total

    def beside(
        self, model: Hyperparameters, points: Tensor, under: Conditions
    ) -> tuple[Tensor, Tensor]:
        """Of other rewards (r,), without their noise: covariance (r, n) with these, and variance.

        Args:
            model: Hyperparameters.
            points: Their points (r, d).
            under: Their conditions.
        """
        scale = self.rewards.new_tensor(model.variance)
        exponents = self.exponents_to(model.lengthscales, self.points)(points)
        across, variance = self.covariances(scale, exponents).values, scale.repeat(len(points))
        for effect, logs in by_effect(self.effects, model.effects):
            across = across + effect.across(logs, under)
            variance = variance + effect.variances(logs, under)
        return across, variance

    def covariances(self, variance: Tensor, exponents: Tensor) -> Correlation:
        """Covariances (..., p, r) between function values, differentiable in the exponents.

        Args:
            variance: Signal variances (...).
            exponents: Exponents (..., p, r) of the points.
        """
        scale = variance[..., None, None]
        if not exponents.requires_grad:
            return self.family.formula(exponents, scale)
        again = self.family.formula(exponents.detach(), scale)
        return again._replace(values=scale * differentiable(self.family.formula, exponents))

    def exponents_to(self, lengthscales: Tensor, points: Tensor) -> ExponentsTo:
        """Exponents with points (r, d), in lengthscales (..., g)."""
        return self._metric.to(lengthscales, points)

    @cached_property
    def same(self) -> Tensor:
        """Which rewards (n, n) are of the same point, as ones and zeros."""
        return same_points(self.points, self.points)

    @cached_property
    def _metric(self) -> Metric:
        return Metric(distances_of(self.family), self.group, self.points[:1])

    @cached_property
    def _from_first(self) -> Floats:
        """The points (n, d) as seen from the first one."""
        return (self.points - self.points[:1]).numpy()

    @cached_property
    def _groups(self) -> NDArray[np.int64]:
        return self.group.numpy()

    def log_likelihood(self, model: Hyperparameters, weights: Tensor) -> tuple[float, Floats]:
        """Log marginal likelihood, up to a constant, and its gradient in all that is fitted.

        With C the covariance and a = C^{-1}(y - shift), the derivative in a parameter is
        tr((a a' - C^{-1}) dC) / 2 (Rasmussen and Williams 2006, eq. 5.9).
        """
        at, effects, noise, found = self.marginal(model, weights)
        pairs = np.multiply.outer(found.solved, found.solved)
        pairs -= found.inverse
        own = 0.5 * _diagonal(pairs)
        others = [
            0.5 * _inner(pairs, at.signal) + float(own @ noise.of_variance),
            float(own @ noise.of_excess),
        ]
        slopes = [slope.numpy() for effect in effects for slope in effect.slopes]
        others += [0.5 * _inner(pairs, slope) for slope in slopes]
        pairs *= at.slope
        _diagonal(pairs)[:] = 0.0
        spread = distances_of(self.family).spread(pairs, at.scaled)
        lengthscales = np.bincount(self._groups, spread, len(model.logs) - 2)
        return found.log_likelihood, np.append(lengthscales, others)

    def marginal(self, model: Hyperparameters, weights: Tensor) -> Marginal:
        """The distribution of the rewards, given their precisions (n,)."""
        at = self.covariance(model)
        effects = [one.covariance(logs) for one, logs in by_effect(self.effects, model.effects)]
        total = at.signal.copy()
        for effect in effects:
            total += effect.values.numpy()
        reciprocal = 1.0 / weights.numpy()
        floor = _MIN_NOISE_TO_SIGNAL * model.variance
        noise = OnDiagonal(floor * reciprocal, model.excess * reciprocal)
        variances = model.noise * reciprocal + self.errors.numpy()
        return Marginal(at, effects, noise, _solve(total, variances, self.rewards.numpy()))

    def solved(self, model: Hyperparameters, weights: Tensor) -> tuple[Tensor, Tensor]:
        """Inverse (n, n) of the covariance of the rewards, and that times their residuals (n,)."""
        noise = Noise(model.noise, weights, self.errors)
        found = solve(self.covariance_of_rewards(model), noise.variances, self.rewards)
        return torch.from_numpy(found.inverse), torch.from_numpy(found.solved)

    def expected(self, signal: Tensor, noise: float, weights: Tensor) -> tuple[float, Tensor]:
        """The prior mean, and expected squares (n,) of the Student-t noise in noise variances.

        Args:
            signal: Covariance (n, n) of the function and of the effects.
            noise: Noise variance.
            weights: Expected precisions (n,).
        """
        of_rewards = Noise(noise, weights, self.errors)
        shift, squared = expected_squares(signal, of_rewards.variances, self.rewards)
        return shift, of_rewards.expected_squares(squared)

    def variational_bound(
        self,
        model: Hyperparameters,
        signal: Tensor,
        weights: Tensor,
        squared: Tensor,
        dof: float,
    ) -> float:
        """Variational lower bound of the log evidence plus the log prior of the hyperparameters.

        Each precision has the posterior Gamma((nu + 1) / 2, (nu + E[r^2] / s^2) / 2).

        Args:
            model: Hyperparameters.
            signal: Covariance (n, n) of the function and of the effects.
            weights: Expected precisions (n,).
            squared: Expected squares E[r^2] (n,) of the noise, in its variances.
            dof: Degrees of freedom nu.
        """
        noise = Noise(model.noise, weights, self.errors).variances
        value = solve(signal, noise, self.rewards).log_likelihood
        half = torch.tensor(0.5 * dof, dtype=torch.float64)
        shape, rate = half + 0.5, half + 0.5 * squared
        log_precision = torch.digamma(shape) - rate.log()
        prior = half * half.log() - torch.lgamma(half) + (half - 1.0) * log_precision
        entropy = shape - rate.log() + torch.lgamma(shape) + (1.0 - shape) * torch.digamma(shape)
        terms = 0.5 * (log_precision - weights.log()) + prior - half * weights + entropy
        return value + float(terms.sum()) + (self.log_prior(model).value + _log_dof_prior(dof))


def expected_squares(signal: Tensor, noise: Tensor, y: Tensor) -> tuple[float, Tensor]:
    """The generalised least-squares mean, and E[(y - f)^2] (n,) under the posterior of f.

    Args:
        signal: Covariance (n, n) of the function f, with the effects of conditions.
        noise: Noise variances (n,).
        y: Rewards (n,).
    """
    found = solve(signal, noise, y)
    residual = noise * torch.from_numpy(found.solved)
    leverage = noise.square() * torch.from_numpy(_diagonal(found.inverse))
    return found.shift, residual.square() + (noise - leverage).clamp_min(0.0)


def weights_beside(
    known: Solution, across: Tensor, prior: Tensor, noise: Noise, y: Tensor
) -> Tensor:
    """Weights (r,) of rewards, each alone beside known ones.

    Args:
        known: The distribution of the known rewards (k,).
        across: Prior covariance (r, k) of the rewards with the known ones.
        prior: Prior variance (r,) of the function, with the effects of conditions.
        noise: Noise of the rewards, with weights to start from.
        y: The rewards (r,).
    """
    inverse, solved = torch.from_numpy(known.inverse), torch.from_numpy(known.solved)
    residual = y - known.shift - across @ solved
    variance = (prior - ((across @ inverse) * across).sum(-1)).clamp_min(0.0)
    for _ in range(_OWN_STEPS):
        left = noise.variances / (variance + noise.variances)
        squared = (left * residual).square() + left * variance
        noise = replace(noise, precisions=noise.updated(squared))
    return noise.precisions


class Solution(NamedTuple):
    """The normal distribution of rewards of unknown mean.

    Args:
        inverse: Inverse (n, n) of their covariance.
        shift: Generalised least-squares mean.
        solved: The inverse times the rewards less that mean (n,).
        log_likelihood: Log density of the rewards at that mean, up to a constant.
    """

    inverse: Floats
    shift: float
    solved: Floats
    log_likelihood: float


def solve(signal: Tensor, noise: Tensor, y: Tensor) -> Solution:
    """The distribution of rewards y (n,) with covariance signal (n, n) + diag(noise)."""
    return _solve(signal.numpy().copy(), noise.numpy(), y.numpy())


def _solve(total: Floats, noise: Floats, y: Floats) -> Solution:
    """As `solve`, but overwrites the covariance."""
    inverse, root = inverse_and_root(_with_noise(total, noise))
    sums, solved = inverse.sum(0), inverse @ y
    shift = float(solved.sum()) / float(sums.sum())
    solved -= shift * sums
    log_root = float(np.log(root.diagonal()).sum())
    return Solution(inverse, shift, solved, -0.5 * float((y - shift) @ solved) - log_root)


def _with_noise(total: Floats, noise: Floats) -> Floats:
    """A covariance (n, n) with noise variances (n,) added to its diagonal, in place."""
    diagonal = _diagonal(total)
    diagonal += noise
    return total


def _diagonal(matrix: Floats) -> Floats:
    """The diagonal (n,) of a matrix (n, n) that lies row by row, to be written to."""
    return matrix.reshape(-1)[:: len(matrix) + 1]


def _inner(left: Floats, right: Floats) -> float:
    return float(np.vdot(left, right))


def _log_dof_prior(dof: float) -> float:
    """Log density, up to a constant, of Gamma(2, 0.1) (Juárez and Steel 2010)."""
    return math.log(dof) - 0.1 * dof


def best_dof(squared: Tensor) -> float:
    """Maximum a posteriori degrees of freedom on a grid, given squared residuals (t,) in units of
    the noise scale.
    """
    logs = np.log1p(np.divide.outer(squared.numpy(), _DOFS)).sum(0)
    log_density = len(squared) * _LOG_CONSTANTS - (0.5 * _DOFS + 0.5) * logs
    return float(_DOFS[(log_density + _LOG_DOF_PRIORS).argmax()])


def _log_constant(dof: float) -> float:
    """Logarithm of the constant of Student's density, up to one of all degrees of freedom."""
    return math.lgamma(0.5 * dof + 0.5) - math.lgamma(0.5 * dof) - 0.5 * math.log(dof)


_LOG_CONSTANTS = np.array([_log_constant(dof) for dof in _DOFS])
_LOG_DOF_PRIORS = np.array([_log_dof_prior(dof) for dof in _DOFS])
