"""The posterior integrated over the hyperparameters: a mixture of Gaussian processes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from surefoot.hyperparameters.conditional import Conditional, Process
from surefoot.hyperparameters.cross_validation import CrossValidation
from surefoot.hyperparameters.laplace import SAMPLES, PosteriorMode, Sample
from surefoot.regression.draws import Path
from surefoot.regression.posterior import Moments, Posterior, no_trend

_NEGLIGIBLE = 40.0  # nats below another mode: a probability below 1e-17
_MOST_ELEMENTS = 2**22  # of the matrices of a batch
_LEAST_VARIANCE = 1e-18  # in standardised units, so that its root has a gradient
_TINY = 1e-300  # deviation, for a prior without one


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates and units of a fit, as seen from those of the space and of the rewards.

    Args:
        lower: Lower bounds (d,) of the space.
        span: Extents (d,) of the space.
        center: Reward that is 0 in standardised units.
        scale: Reward units in one standardised unit.
        trend: Prior mean beside the constant one, in reward units.
    """

    lower: Tensor = field(default_factory=lambda: torch.zeros((), dtype=torch.float64))
    span: Tensor = field(default_factory=lambda: torch.ones((), dtype=torch.float64))
    center: float = 0.0
    scale: float = 1.0
    trend: Path = no_trend

    def unit(self, points: Tensor) -> Tensor:
        """Points (..., d) on the unit cube."""
        return ((points - self.lower) / self.span).cpu()

    def level(self, points: Tensor) -> Tensor:
        """Prior mean (...) at points (..., d), in reward units."""
        flat = points.reshape(-1, points.shape[-1])
        return self.center + self.trend(flat).reshape(points.shape[:-1])


@dataclass(frozen=True, eq=False)
class Mixture:
    r"""Mixture of Gaussian processes over hyperparameters and precisions of the rewards.

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
        modes: Local maxima of the bound; the first is that of the fit.
        shares: Shares (number of samples,) of the noise that are microscale variation, one for
            each sample; zero for none.
        frame: Coordinates and units; those of the fit itself if it is left out.

    References:
        Rasmussen and Williams 2006, Section 2.7 for the prior mean; Osborne 2010, "Bayesian
        Gaussian processes for sequential prediction, optimisation and quadrature", for the
        mixture; MacKay 1992 for Laplace's approximation.
    """

    modes: Sequence[PosteriorMode]
    shares: Tensor = field(default_factory=lambda: torch.zeros(SAMPLES, dtype=torch.float64))
    frame: Frame = field(default_factory=Frame)

    def over(self, posterior: Posterior) -> Integrated:
        """The mixture in place of a posterior, conditioned on its pulls without rewards."""
        return Integrated(posterior, self)

    def mean(self, points: Tensor) -> Tensor:
        """Mean (n,) alone at points (n, d), which takes a small part of the time."""
        unit = self.frame.unit(points)
        told = self.modes[0].evidence.is_told(unit)  # where it costs no memory
        means = [self._mean(part) for part in ([unit] if told else self._parts(unit))]
        return self.frame.level(points) + self.frame.scale * torch.cat(means).to(points)

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        found = [
            _MeanAndDeviation.apply(part, self) for part in self._parts(self.frame.unit(points))
        ]
        mean, deviation = (torch.cat(each).to(points) for each in zip(*found, strict=True))
        return self.frame.level(points) + self.frame.scale * mean, self.frame.scale * deviation

    def joint(self, points: Tensor) -> Moments:
        """Mean (..., q) and covariance (..., q, q) at points (..., q, d)."""
        flat, number = points.reshape(-1, points.shape[-1]), points.shape[-2]
        given = [one.groups(number) for one in self._given(self.frame.unit(flat))]
        means = torch.cat([one.mean for one in given], -2)
        off = means - means.mean(-2, keepdim=True)
        between = off.mT @ off / off.shape[-2]
        within = torch.cat([one.covariance for one in given], -3).mean(-3)
        covariance = self.frame.scale**2 * self._inflation * (within + between)
        mean = self.frame.scale * means.mean(-2).reshape(points.shape[:-1])
        return Moments(
            self.frame.level(points) + mean.to(points),
            covariance.reshape(*points.shape[:-1], number).to(points),
        )

    def components(self, points: Tensor) -> Moments:
        """Joint posteriors (..., s, q) of the function under each sample, at points (..., q, d)."""
        flat, number = points.reshape(-1, points.shape[-1]), points.shape[-2]
        given = [one.groups(number) for one in self.smooth._given(self.frame.unit(flat))]
        mean = torch.cat([one.mean for one in given], -2).to(points)
        covariance = torch.cat([one.covariance for one in given], -3).to(points)
        mean = mean.reshape(*points.shape[:-2], -1, number)
        return Moments(
            self.frame.level(points).unsqueeze(-2) + self.frame.scale * mean,
            self.frame.scale**2
            * self._inflation
            * covariance.reshape(*points.shape[:-2], -1, number, number),
        )

    def draws(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Values (n, number) of functions, as many from each of the samples, at points (n, d)."""
        each, unit = -(-number // len(self._samples)), self.frame.unit(points)
        with torch.no_grad():
            drawn = [mode.drawn(unit, *sample, each, generator) for mode, sample in self._samples]
            values = torch.cat(drawn, 1)[:, :number].to(points)
            return self.frame.level(points)[:, None] + self.frame.scale * values

    def cross_validation(self) -> CrossValidation:
        """How well the most likely hyperparameters predict each reward from the others."""
        return self.modes[0].cross_validation()

    @cached_property
    def smooth(self) -> Mixture:
        """The same for the function itself, without microscale variation."""
        return replace(self, shares=torch.zeros_like(self.shares))

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

    @property
    def _inflation(self) -> float:
        return self.modes[0].inflation

    def _mean(self, unit: Tensor) -> Tensor:
        return torch.cat([process.mean(unit) for process in self._processes]).mean(0)

    def _parts(self, unit: Tensor) -> tuple[Tensor, ...]:
        """Points (p, d) in parts that bound the memory of their covariances."""
        return unit.split(max(1, _MOST_ELEMENTS // (SAMPLES * len(self.modes[0].weights))))

    def _given(self, unit: Tensor) -> list[Conditional]:
        """The values at points (p, d) on the unit cube, given each sample, in batches."""
        return [process.at(unit) for process in self._processes]

    @cached_property
    def _processes(self) -> list[Process]:
        """The processes of all samples, in batches of the same mode that bound the memory."""
        size = max(1, _MOST_ELEMENTS // len(self.modes[0].weights) ** 2)
        pairs = list(zip(self._samples, self.shares.tolist(), strict=True))
        batches = []
        for _, group in groupby(pairs, key=lambda pair: id(pair[0][0])):
            left = list(group)
            while left:
                now, left = left[:size], left[size:]
                batches.append(Process.batch([mode.given(*at, own) for (mode, at), own in now]))
        return batches

    @cached_property
    def _samples(self) -> list[tuple[PosteriorMode, Sample]]:
        levels = (torch.arange(SAMPLES, dtype=torch.float64) + 0.5) / SAMPLES
        chosen = torch.searchsorted(self.probabilities.cumsum(0), levels)
        modes = [self.modes[index] for index in chosen.clamp_max(len(self.modes) - 1).tolist()]
        return [(mode, mode.samples[number]) for number, mode in enumerate(modes)]


class _MeanAndDeviation(torch.autograd.Function):
    """Mean and deviation (p,) of a mixture at points (p, d) of the unit cube, standardised."""

    @staticmethod
    def forward(ctx: Any, points: Tensor, mixture: Mixture) -> tuple[Tensor, Tensor]:
        given = mixture._given(points)
        means = torch.cat([one.mean for one in given])
        variances = torch.cat([one.variance for one in given])
        variance = mixture._inflation * (variances.mean(0) + means.var(0, correction=0))
        mean, deviation = means.mean(0), variance.clamp_min(_LEAST_VARIANCE).sqrt()
        ctx.mixture, ctx.given, ctx.found = mixture, given, (means, mean, deviation)
        return mean, deviation

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_deviation: Tensor) -> tuple[Tensor, None]:
        means, mean, deviation = ctx.found
        share = 1.0 / len(means)
        by_variance = share * ctx.mixture._inflation * by_deviation / (2.0 * deviation)
        by_means = share * by_mean + 2.0 * by_variance * (means - mean)
        slopes, first = torch.zeros_like(ctx.given[0].prior.points), 0
        for process, at in zip(ctx.mixture._processes, ctx.given, strict=True):
            rows = slice(first, first + len(at.mean))
            slopes += process.slopes(at, by_means[rows], by_variance.expand_as(at.mean))
            first = rows.stop
        return slopes, None


@dataclass(frozen=True, eq=False)
class Integrated:
    """A mixture in place of the posterior at the most likely hyperparameters.

    Pulls without rewards lower the deviation at each point by the same factor as there.

    Args:
        base: That posterior, which may be conditioned on pulls without rewards.
        mixture: The mixture.
    """

    base: Posterior
    mixture: Mixture

    @property
    def scale(self) -> float:
        """Reward units in one unit of the model."""
        return self.base.scale

    @property
    def of_rewards(self) -> Integrated:
        """The same without the pulls whose rewards are not known."""
        rewarded = self.base.of_rewards
        return self if rewarded is self.base else replace(self, base=rewarded)

    def tabulates(self, points: Tensor) -> bool:
        """Whether mean and deviation at these very points are looked up: they are not."""
        return False

    def mean(self, points: Tensor) -> Tensor:
        """Mean (n,) at points (n, d)."""
        return self.mixture.mean(points)

    def variance(self, points: Tensor) -> Tensor:
        """Variance (n,) at points (n, d)."""
        return self.mean_and_deviation(points)[1].square()

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        mean, deviation = self.mixture.mean_and_deviation(points)
        rewarded = self.base.of_rewards
        if rewarded is self.base:
            return mean, deviation
        before = rewarded.mean_and_deviation(points)[1].clamp_min(_TINY)
        return mean, deviation * self.base.mean_and_deviation(points)[1] / before

    def joint(self, points: Tensor) -> Moments:
        """Joint moments (..., q) at points (..., q, d), pulls without rewards aside."""
        return self.mixture.joint(points)

    def components(self, points: Tensor) -> Moments:
        """Joint moments (..., s, q) under each sample of the hyperparameters."""
        return self.mixture.components(points)

    def draws(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Values (n, number) at points (n, d) of functions drawn from the mixture."""
        return self.mixture.draws(points, number, generator)
