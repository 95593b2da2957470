"""Integration over the hyperparameters by Laplace's approximation of their posterior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import groupby
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.linalg import square_root
from surefoot.hyperparameters.conditional import Conditional, Process
from surefoot.hyperparameters.cross_validation import CrossValidation
from surefoot.hyperparameters.evidence import Evidence, Hyperparameters
from surefoot.hyperparameters.uncertainty import Correction
from surefoot.regression.posterior import Moments, Posterior

SAMPLES = 16
"""How many samples there are of the hyperparameters."""

_STEP = 1e-3  # in the logarithms, between the gradients that give the curvature
_LEAST_CURVATURE = 0.1  # the prior has about a third along each logarithm
_REACH = 6.0  # in the logarithms, of any sample from the most likely values
_MOST_DIRECTIONS = 32  # beyond, lengthscales vary together
_LEAST_WEIGHT = 1e-14
_NEGLIGIBLE = 40.0  # nats below another mode: a probability below 1e-17
_MOST_ELEMENTS = 2**22  # of the matrices of a batch


class Sample(NamedTuple):
    """Hyperparameters, and precisions (n,) of the rewards."""

    model: Hyperparameters
    weights: Tensor


@dataclass(frozen=True, eq=False)
class HyperparameterUncertainty:
    r"""Change of the posterior by integration over hyperparameters and precisions.

    With samples h of the hyperparameters and of the precisions of the rewards, and the constant
    prior mean given a flat prior, the mean of the mixture is :math:`E_h[\mu_h(x)]` and its variance
    :math:`E_h[\sigma_h^2(x)] + \mathrm{Var}_h[\mu_h(x)]`. Laplace's approximation has Gaussian
    tails, too light for few rewards n: the variance is multiplied by (n + 1) / (n - 1), that of a
    Student-t law of n + 1 degrees of freedom.

    Where the variational bound has several maxima, samples are from all of them, in proportion to
    the evidence: the bound and the volume of Laplace's approximation around it.

    With effects of conditions, the function is the one at their reference level, and what is not
    known of that level is part of its variance.

    With microscale variation, the value at a point is that of the function plus an independent
    deviation, whose variance is a share of the fitted noise. Functions that are drawn are without.

    Args:
        modes: Local maxima of the bound; the first is the one whose posterior is corrected.
        shares: Shares (number of samples,) of the noise that are microscale variation, one for
            each sample; zero for none.

    References:
        Rasmussen and Williams 2006, Section 2.7 for the prior mean; Osborne 2010, "Bayesian
        Gaussian processes for sequential prediction, optimisation and quadrature", for the
        mixture; MacKay 1992 for Laplace's approximation.
    """

    modes: Sequence[PosteriorMode]
    shares: Tensor = field(default_factory=lambda: torch.zeros(SAMPLES, dtype=torch.float64))

    def __call__(self, points: Tensor) -> Correction:
        """The correction, in standardised units.

        Args:
            points: Points (p, d) on the unit cube.

        Returns:
            What to add to mean and variance (p,) at the first mode.
        """
        before, given = self.modes[0].at_most_likely(points), self._given(points)
        means = torch.cat([one.mean for one in given])
        variances = torch.cat([one.variance for one in given])
        mixture = self.modes[0].inflation * (variances.mean(0) + means.var(0, correction=0))
        return Correction(means.mean(0) - before.mean, (mixture - before.variance).clamp_min(0.0))

    def mean(self, points: Tensor) -> Tensor:
        """What to add to the mean (p,) at the first mode, at points (p, d) on the unit cube."""
        size = max(1, _MOST_ELEMENTS // (SAMPLES * len(self.modes[0].rewards)))
        if self.modes[0].evidence.is_told(points):
            size = len(points)
        return torch.cat([self._more_mean(part) for part in points.split(size)])

    def _more_mean(self, points: Tensor) -> Tensor:
        means = torch.cat([process.mean(points) for process in self._processes])
        return means.mean(0) - self.modes[0].mean(points)

    def covariance(self, points: Tensor) -> Tensor:
        """Term (p, p) to add to the covariance at points (p, d) at the first mode.

        It is positive semi-definite: directions in which the mixture varies less are left alone.
        """
        before, given = self.modes[0].at_most_likely(points), self._given(points)
        means = torch.cat([one.mean for one in given])
        off = means - means.mean(0)
        mixture = torch.cat([one.covariance for one in given]).mean(0) + off.T @ off / len(off)
        more = self.modes[0].inflation * mixture - before.covariance
        values, vectors = torch.linalg.eigh(more)
        return (vectors * values.clamp_min(0.0)) @ vectors.T

    def deviating(self, points: Tensor) -> Moments:
        """Functions under each sample, less the mean at the first mode.

        Args:
            points: Points (..., q, d) on the unit cube.

        Returns:
            Means (..., s, q) and covariances (..., s, q, q), in standardised units.
        """
        number, flat = points.shape[-2], points.reshape(-1, points.shape[-1])
        given = [one.groups(number) for one in self._given(flat)]
        before = self.modes[0].at_most_likely(flat).mean.reshape(*points.shape[:-2], 1, number)
        mean = torch.cat([one.mean for one in given], -2)
        covariance = torch.cat([one.covariance for one in given], -3)
        return Moments(
            mean.reshape(*points.shape[:-2], -1, number) - before,
            self.modes[0].inflation * covariance.reshape(*points.shape[:-2], -1, number, number),
        )

    @property
    def smooth(self) -> HyperparameterUncertainty:
        """The same for the function itself, without microscale variation."""
        return replace(self, shares=torch.zeros_like(self.shares))

    def _given(self, points: Tensor) -> list[Conditional]:
        """The values at points (p, d), given each sample, in a batch for each mode."""
        return [process.at(points) for process in self._processes]

    @cached_property
    def _processes(self) -> list[Process]:
        """The processes of all samples, in batches of the same mode that bound the memory."""
        size = max(1, _MOST_ELEMENTS // len(self.modes[0].rewards) ** 2)
        pairs = list(zip(self._samples, self.shares.tolist(), strict=True))
        batches = []
        for _, group in groupby(pairs, key=lambda pair: id(pair[0][0])):
            left = list(group)
            while left:
                now, left = left[:size], left[size:]
                batches.append(Process.batch([mode.given(*at, own) for (mode, at), own in now]))
        return batches

    def deviations(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Functions drawn from the mixture, less the mean at the first mode.

        Args:
            points: Points (p, d) on the unit cube.
            number: Number of functions, as many from each of the samples of the hyperparameters.
            generator: Source of all randomness.

        Returns:
            Values (p, number), in standardised units.
        """
        each = -(-number // len(self._samples))
        drawn = [mode.drawn(points, *sample, each, generator) for mode, sample in self._samples]
        return torch.cat(drawn, 1)[:, :number] - self.modes[0].at_most_likely(points).mean[:, None]

    @property
    def probabilities(self) -> Tensor:
        """Posterior probabilities (m,) of the modes."""
        if len(self.modes) == 1:
            return torch.ones(1, dtype=torch.float64)
        first, *others = self.modes
        logs = [first.log_evidence]
        for mode in others:
            possible = mode.most_log_evidence > logs[0] - _NEGLIGIBLE
            logs.append(mode.log_evidence if possible else -torch.inf)
        return torch.tensor(logs, dtype=torch.float64).softmax(0)

    @cached_property
    def _samples(self) -> list[tuple[PosteriorMode, Sample]]:
        levels = (torch.arange(SAMPLES, dtype=torch.float64) + 0.5) / SAMPLES
        chosen = torch.searchsorted(self.probabilities.cumsum(0), levels)
        modes = [self.modes[index] for index in chosen.clamp_max(len(self.modes) - 1).tolist()]
        return [(mode, mode.samples[number]) for number, mode in enumerate(modes)]


@dataclass(frozen=True, eq=False)
class PosteriorMode:
    """A local maximum of the variational bound, and Laplace's approximation around it.

    Args:
        evidence: Evidence of the hyperparameters.
        model: The most likely ones.
        rewards: Standardised rewards (n,).
        weights: Posterior means (n,) of their precisions, relative to the noise.
        dof: Degrees of freedom of the noise.
        bound: The variational bound.
    """

    evidence: Evidence
    model: Hyperparameters
    rewards: Tensor
    weights: Tensor
    dof: float
    bound: float = 0.0

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation, up to a constant."""
        return self.bound - 0.5 * float(self._spectrum[0].log().sum())

    @property
    def most_log_evidence(self) -> float:
        """Upper limit of `log_evidence`, which costs no derivative."""
        return self.bound - 0.5 * len(self._directions) * math.log(_LEAST_CURVATURE)

    @cached_property
    def samples(self) -> list[Sample]:
        """Draws from the posterior of the hyperparameters and of the precisions of the rewards.

        The hyperparameters are quasi-random. A precision has the posterior
        Gamma((nu + 1) / 2, (nu + E[r^2] / s^2) / 2): where a reward may be an outlier or not, it is
        one in some of the samples.
        """
        values, vectors = self._spectrum
        spread = vectors / values.sqrt()
        moves = (_normals(len(values)) @ spread.T).clamp(-_REACH, _REACH)
        models = [self.model.moved_to(self.model.free + move @ self._directions) for move in moves]
        shape = 0.5 * (self.dof + 1.0)
        generator = np.random.default_rng(0)
        factors = generator.gamma(shape, 1.0 / shape, (len(self.weights), SAMPLES))
        weights = (self.weights * torch.from_numpy(factors.T)).clamp_min(_LEAST_WEIGHT)
        return [Sample(*pair) for pair in zip(models, weights, strict=True)]

    @cached_property
    def _spectrum(self) -> tuple[Tensor, Tensor]:
        """Eigenvalues and eigenvectors of the curvature, which is at least that of the prior."""
        values, vectors = torch.linalg.eigh(self._curvature(self._directions))
        return values.clamp_min(_LEAST_CURVATURE), vectors

    @property
    def _directions(self) -> Tensor:
        """Rows along which the logarithms vary."""
        number, scales = len(self.model.free), len(self.model.lengthscales)
        eye = torch.eye(number, dtype=torch.float64)
        if number <= _MOST_DIRECTIONS:
            return eye
        return torch.cat([eye[:scales].sum(0, keepdim=True), eye[scales:]])

    def _curvature(self, directions: Tensor) -> Tensor:
        """The negative second derivative of the log posterior density along the directions."""

        def slope(free: Tensor) -> Tensor:
            at = self.model.moved_to(free)
            gradient = self.evidence.log_likelihood(at, self.rewards, self.weights)[1]
            gradient = gradient + self.evidence.log_prior(at).gradient
            return directions @ torch.from_numpy(gradient)

        free = self.model.free
        rows = [slope(free - _STEP * row) - slope(free + _STEP * row) for row in directions]
        curvature = torch.stack(rows) / (2.0 * _STEP)
        return 0.5 * (curvature + curvature.T)

    def mean(self, points: Tensor) -> Tensor:
        """The posterior mean (p,) at points (p, d), with the effects."""
        return self._most_likely[0].mean(points)

    def at_most_likely(self, points: Tensor) -> Conditional:
        """The values at points (p, d), with prior mean and effects taken as known."""
        process, alone = self._most_likely
        if process is alone:
            return process.at(points, fixed_mean=True)
        return replace(alone.at(points, fixed_mean=True), mean=process.at(points).mean)

    @cached_property
    def _most_likely(self) -> tuple[Process, Process]:
        """The process at the most likely hyperparameters, with the effects and without them."""
        process = self.given(self.model, self.weights)
        if not self.evidence.effects:
            return process, process
        alone = replace(self, evidence=replace(self.evidence, effects=()))
        return process, alone.given(Hyperparameters(self.model.logs), self.weights)

    def given(self, model: Hyperparameters, weights: Tensor, share: float = 0.0) -> Process:
        """The process given the rewards, under hyperparameters and precisions (n,) of the rewards.

        Args:
            model: Hyperparameters.
            weights: Precisions (n,) of the rewards, relative to the noise.
            share: Share of the noise that is microscale variation.
        """
        return Process.given(self.evidence, self.rewards, model, weights, share)

    def drawn(
        self,
        points: Tensor,
        model: Hyperparameters,
        weights: Tensor,
        number: int,
        generator: torch.Generator,
    ) -> Tensor:
        """Values (p, number) of functions at points (p, d)."""
        at = self.given(model, weights).at(points)
        root = square_root(self.inflation * at.covariance)
        normals = torch.randn(len(points), number, dtype=torch.float64, generator=generator)
        return at.mean[:, None] + root @ normals

    def cross_validation(self) -> CrossValidation:
        """The rewards, and the prediction of each from the others with the prior mean as known.

        References:
            Rasmussen and Williams 2006, eq. 5.12.
        """
        process, _ = self._most_likely
        left_out = process.solved / process.inverse.diagonal()  # reward less prediction
        rewards = self.rewards - process.shift
        return CrossValidation(rewards, rewards - left_out, self.weights)

    @property
    def inflation(self) -> float:
        """Factor of the variance."""
        number = max(len(self.rewards), 3)
        return (number + 1.0) / (number - 1.0)


@cache
def _normals(dimension: int) -> Tensor:
    """Quasi-random standard normals (number of samples, dimension), the same for every mode."""
    sobol = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=0)
    unit = sobol.draw(SAMPLES, dtype=torch.float64)
    return torch.special.ndtri(unit.clamp(1e-6, 1.0 - 1e-6))


@dataclass(frozen=True, eq=False)
class CorrectionInSpace:
    """The correction at points of the space, in reward units.

    Args:
        unit: The correction on the unit cube, in standardised units.
        lower: Lower bounds (d,) of the space.
        span: Extents (d,) of the space.
        scale: Reward units in one standardised unit.
    """

    unit: HyperparameterUncertainty
    lower: Tensor
    span: Tensor
    scale: float

    def __call__(self, points: Tensor) -> Correction:
        """Terms (n,) to add to mean and variance at points (n, d)."""
        mean, variance = self.unit(((points - self.lower) / self.span).cpu())
        return Correction(self.scale * mean.to(points), self.scale**2 * variance.to(points))

    def mean(self, points: Tensor) -> Tensor:
        """Term (n,) to add to the mean at points (n, d)."""
        mean = self.unit.mean(((points - self.lower) / self.span).cpu())
        return self.scale * mean.to(points)

    @cached_property
    def smooth(self) -> CorrectionInSpace:
        """The same without microscale variation."""
        return replace(self, unit=self.unit.smooth)

    def cross_validation(self) -> CrossValidation:
        """How well the most likely hyperparameters predict each reward from the others."""
        return self.unit.modes[0].cross_validation()

    def covariance(self, points: Tensor) -> Tensor:
        """Term (n, n) to add to the covariance at points (n, d)."""
        unit = ((points - self.lower) / self.span).cpu()
        return self.scale**2 * self.unit.covariance(unit).to(points)

    def components(self, posterior: Posterior, points: Tensor) -> Moments:
        """Joint posteriors (..., s, q) of the function under each sample, at points (..., q, d)."""
        unit = ((points - self.lower) / self.span).cpu()
        mean, covariance = (part.to(points) for part in self.smooth.unit.deviating(unit))
        middle = posterior.mean(points.reshape(-1, points.shape[-1])).reshape(points.shape[:-1])
        return Moments(middle.unsqueeze(-2) + self.scale * mean, self.scale**2 * covariance)

    def draws(
        self, posterior: Posterior, points: Tensor, number: int, generator: torch.Generator
    ) -> Tensor:
        """Values (n, number) at points (n, d) of functions drawn from the integrated posterior."""
        unit = ((points - self.lower) / self.span).cpu()
        deviations = self.unit.deviations(unit, number, generator).to(points)
        with torch.no_grad():
            return posterior.mean(points)[:, None] + self.scale * deviations
