"""Laplace's approximation of the posterior of the hyperparameters around a maximum."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.distributions import StudentT

from surefoot._internal.linalg import Floats
from surefoot._internal.numbers import LAST_DIGITS
from surefoot._internal.process_settings import with_own_settings
from surefoot._internal.tensors import NO_INDICES
from surefoot.hyperparameters.conditional import Process
from surefoot.hyperparameters.evidence import Evidence, Hyperparameters
from surefoot.hyperparameters.fitted import LocalOptimum
from surefoot.hyperparameters.nuisance_effects import NuisanceEffect, by_effect
from surefoot.regression.cross_validation import CrossValidation

SAMPLES = 16
"""How many samples there are of the hyperparameters."""

MOST_DIRECTIONS = 32
"""Logarithms, beyond which those of the lengthscales vary together."""

_LEAST_CURVATURE = 0.1  # the prior has about a third along each logarithm
_REACH = 6.0  # in the logarithms, of any sample from the most likely values
_LEAST_DEGREES = 3.0  # of freedom, for a Student-t law with a variance


class Sample(NamedTuple):
    """Hyperparameters, and precisions (n,) of the rewards."""

    model: Hyperparameters
    weights: Tensor


@dataclass(frozen=True, eq=False)
class PosteriorMode:
    """A local maximum of the variational bound, and Laplace's approximation around it.

    Args:
        evidence: Evidence of the hyperparameters.
        model: The most likely ones.
        weights: Posterior means (n,) of the precisions of the rewards, relative to the noise.
        dof: Degrees of freedom of the noise.
        shift: Prior mean.
        bound: The variational bound, once an ascent has ended there.
        part: Indices (k,) of the rewards whose evidence alone the hyperparameters have; none where
            they have that of all.
    """

    evidence: Evidence
    model: Hyperparameters
    weights: Tensor
    dof: float
    shift: float = 0.0
    bound: float = 0.0
    part: Tensor = NO_INDICES

    @classmethod
    def of(cls, evidence: Evidence, optimum: LocalOptimum) -> PosteriorMode:
        """The mode at an optimum of this evidence."""
        return cls(
            evidence, optimum.model, optimum.weights, optimum.dof, optimum.shift, optimum.bound
        )

    @property
    def optimum(self) -> LocalOptimum:
        """Parameters of the optimum, without the evidence."""
        return LocalOptimum(
            self.model, self.dof, self.shift, self.weights, self.bound, self.evidence.family.name
        )

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation, up to a constant."""
        return self.bound - 0.5 * float(self._spectrum[0].log().sum())

    @cached_property
    def samples(self) -> list[Sample]:
        """Draws from the posterior of the hyperparameters and of the precisions of the rewards.

        The hyperparameters are quasi-random. A precision has the posterior
        Gamma((nu + 1) / 2, (nu + E[r^2] / s^2) / 2): where a reward may be an outlier or not, it is
        one in some of the samples.
        """
        values, vectors = self._spectrum
        moves = (_normals(len(values)) @ (vectors / values.sqrt()).T).clamp(-_REACH, _REACH)
        models = [self.model.moved_to(self.model.free + move @ self._directions) for move in moves]
        shape = 0.5 * (self.dof + 1.0)
        factors = np.random.default_rng(0).gamma(shape, 1.0 / shape, (len(self.weights), SAMPLES))
        weights = (self.weights * torch.from_numpy(factors.T)).clamp_min(LAST_DIGITS)
        return [Sample(*pair) for pair in zip(models, weights, strict=True)]

    @cached_property
    @np.errstate(under="ignore")  # whatever the caller has set
    @with_own_settings
    def _spectrum(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues and eigenvectors of the curvature, which is at least that of the prior."""
        values, vectors = torch.linalg.eigh(self._curvature(self._directions))
        return values.clamp_min(_LEAST_CURVATURE), vectors

    @property
    def _directions(self) -> Tensor:
        """Rows along which the logarithms vary."""
        number, scales = len(self.model.free), len(self.model.lengthscales)
        eye = torch.eye(number, dtype=torch.float64)
        if number <= MOST_DIRECTIONS:
            return eye
        return torch.cat([eye[:scales].sum(0, keepdim=True), eye[scales:]])

    def _curvature(self, directions: Tensor) -> Tensor:
        """The negative second derivative of the log posterior density along the directions."""

        def slope(free: Tensor) -> Tensor:
            return torch.from_numpy(self.evidence.log_prior(self.model.moved_to(free)).gradient)

        free = self.model.free
        rows = [slope(free + STEP * row) - slope(free - STEP * row) for row in directions]
        evidence, weights = self.evidence, self.weights
        if len(self.part):
            evidence, weights = evidence.among(self.part), weights[self.part]
        likelihood = torch.from_numpy(hessian(evidence, self.model, weights))
        curvature = -(directions @ likelihood + torch.stack(rows) / (2.0 * STEP)) @ directions.T
        return 0.5 * (curvature + curvature.T)

    def given(self, model: Hyperparameters, weights: Tensor, share: float = 0.0) -> Process:
        """The process given the rewards, under hyperparameters and precisions (n,) of the rewards.

        Args:
            model: Hyperparameters.
            weights: Precisions (n,) of the rewards, relative to the noise.
            share: Share of the noise that is microscale variation.
        """
        return Process.given(self.evidence, model, weights, share)

    def cross_validation(self) -> CrossValidation:
        """The rewards, and the prediction of each from the others with the prior mean as known.

        References:
            Rasmussen and Williams 2006, eq. 5.12.
        """
        process = self.given(self.model, self.weights)
        precisions = process.inverse.diagonal()
        left_out = process.solved / precisions  # reward less prediction
        rewards = self.evidence.rewards - process.shift
        return CrossValidation(
            rewards,
            rewards - left_out,
            precisions.rsqrt(),
            self.weights,
            self.evidence.points,
            self.model.lengthscales[self.evidence.group],
        )

    def left_out_log_densities(self) -> Tensor:
        """Log densities (t,) of the rewards, with Student-t noise, each given the others."""
        found = self.cross_validation()
        own = self.model.noise * (1.0 - 1.0 / self.weights)
        scales = (found.deviations.square() + own).clamp_min(self.model.noise).sqrt()
        law = StudentT(self.dof, validate_args=False)
        return law.log_prob((found.rewards - found.predicted) / scales) - scales.log()

    @property
    def degrees_of_freedom(self) -> float:
        """Degrees of freedom of a prediction: rewards less hyperparameters that were fitted."""
        return max(float(self._number - len(self._directions)), _LEAST_DEGREES)

    @property
    def _number(self) -> int:
        """Number of the rewards whose evidence the hyperparameters have."""
        return len(self.part) or len(self.weights)

    @property
    def inflation(self) -> float:
        """Factor of the variance."""
        number = max(self._number, 3)
        return (number + 1.0) / (number - 1.0)


@cache
def _normals(dimension: int) -> Tensor:
    """Quasi-random standard normals (number of samples, dimension), the same for every mode."""
    sobol = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=0)
    return torch.special.ndtri(sobol.draw(SAMPLES, dtype=torch.float64).clamp(1e-6, 1.0 - 1e-6))


STEP = 1e-3
"""In the logarithms, between the gradients of what costs little."""


def hessian(evidence: Evidence, model: Hyperparameters, weights: Tensor) -> Floats:
    r"""Second derivatives (g + 2 + e, g + 2 + e) of `Evidence.log_likelihood`.

    With C the covariance, P what is left of its inverse by the unknown mean, a = P y and
    B = (a a' - C^{-1}) / 2, the derivative in parameters i and j is
    :math:`tr(B C_{ij}) - a' C_i P C_j a + tr(C^{-1} C_i C^{-1} C_j) / 2`. That takes one product of
    matrices a parameter, where differences of gradients take two factorisations and inverses.

    Args:
        evidence: The evidence.
        model: Hyperparameters.
        weights: Precisions (n,) of the rewards, relative to the noise.

    References:
        Rasmussen and Williams 2006, Section 5.4.1, for the first derivatives.
    """
    at, effects, by_noise, found = evidence.marginal(model, weights)
    groups, number = len(model.logs) - 2, len(found.solved)
    variance, noise = groups, groups + 1
    inverse = found.inverse
    bracket = 0.5 * (np.multiply.outer(found.solved, found.solved) - inverse)

    # Derivatives of the covariance, which products with its inverse overwrite later.
    changes = np.zeros((len(model.free), number, number))
    rows = changes.reshape(len(changes), -1)
    for group, column in zip(evidence.group.tolist(), at.scaled.T, strict=True):
        changes[group] += np.square(np.subtract.outer(column, column))
    second = np.zeros((len(changes), len(changes)))
    bent = (bracket * at.bend()).reshape(-1)
    for i in range(groups):
        second[i, i:groups] = second[i:groups, i] = rows[i:groups] @ (rows[i] * bent)
    changes[:groups] *= at.slope
    changes[variance] = at.signal
    changes[variance].flat[:: number + 1] += by_noise.of_variance
    changes[noise].flat[:: number + 1] = by_noise.of_excess
    slopes = [slope.numpy() for effect in effects for slope in effect.slopes]
    for i, slope in enumerate(slopes, noise + 1):
        changes[i] = slope

    gradient = rows @ bracket.reshape(-1)
    second[:groups, variance] = second[variance, :groups] = gradient[:groups]
    diagonal = np.concatenate([-2.0 * gradient[:groups], gradient[groups : noise + 1]])
    second.flat[: len(second) * len(diagonal) : len(second) + 1] += diagonal
    first = noise + 1
    for effect, logs in by_effect(evidence.effects, model.effects):
        own = slice(first, first + len(logs))
        second[own, own] = _of_effect(effect, logs, bracket)
        first = own.stop

    moved, sums = changes @ found.solved, inverse.sum(0)
    projected = moved @ inverse - np.multiply.outer(moved @ sums, sums / sums.sum())
    left, each = torch.from_numpy(inverse), torch.from_numpy(changes)
    for i in range(len(changes)):  # products by torch, which is faster than NumPy
        changes[i] = inverse * by_noise.of_excess if i == noise else torch.mm(left, each[i])
    traces = np.zeros_like(second)
    for i in range(len(changes)):
        traces[i, i:] = traces[i:, i] = rows[i:] @ changes[i].T.reshape(-1)
    return second - moved @ projected.T + 0.5 * traces


def _of_effect(effect: NuisanceEffect, logs: Tensor, bracket: Floats) -> Floats:
    """Sum (e, e) of the second derivatives of the covariance of an effect, by differences."""

    def slopes(at: Tensor) -> Floats:
        return np.array([np.vdot(bracket, one.numpy()) for one in effect.covariance(at).slopes])

    moves = STEP * np.eye(len(logs))
    rows = [
        slopes(logs + logs.new_tensor(one)) - slopes(logs - logs.new_tensor(one)) for one in moves
    ]
    return np.stack(rows) / (2.0 * STEP)
