"""Mixtures of Gaussian processes with known hyperparameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from surefoot._internal.linalg import square_root
from surefoot.hyperparameters.conditional import Conditional, Process
from surefoot.regression.draws import Path
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import LEAST_VARIANCE, Moments, no_trend

_PART, _LEAST_PART = 2**17, 64  # elements of the covariances of a part, and points of it


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
class ProcessMixture:
    """Mixture of Gaussian processes with equal probabilities.

    Its variance is that within the processes, in the mean, and between their means.

    Args:
        frame: Coordinates and units.
        inflation: Factor of the variance.
        processes: The processes, in batches of those with the same evidence.
    """

    frame: Frame
    inflation: float
    processes: Sequence[Process]

    def with_pending(self, pulls: Sequence[Pull]) -> ProcessMixture:
        """The mixture after pulls whose rewards are not known, which leave its mean as it is.

        It is that after rewards equal to the posterior means of each process.
        """
        if not pulls:
            return self
        points = self.frame.unit(torch.stack([pull.point for pull in pulls]))
        counts = torch.tensor([pull.times for pull in pulls], dtype=torch.float64)
        processes = [process.with_pending(points, counts) for process in self.processes]
        return replace(self, processes=processes)

    def mean(self, points: Tensor) -> Tensor:
        """Mean (n,) alone at points (n, d), which takes a small part of the time."""
        unit = self.frame.unit(points)
        # Where it was told it costs no memory.
        parts = [unit] if self.processes[0].evidence.is_told(unit) else self._parts(unit)
        means = [torch.cat([one.mean(part) for one in self.processes]).mean(0) for part in parts]
        return self.frame.level(points) + self.frame.scale * torch.cat(means).to(points)

    def mean_and_deviation(self, points: Tensor) -> tuple[Tensor, Tensor]:
        """Mean (n,) and standard deviation (n,) at points (n, d)."""
        found = [_MeanAndDeviation.apply(part, self) for part in self._parts(points)]
        mean, deviation = found[0] if len(found) == 1 else map(torch.cat, zip(*found, strict=True))
        trend = self.frame.trend
        return (mean if trend is no_trend else mean + trend(points)), deviation

    def joint(self, points: Tensor) -> Moments:
        """Mean (..., q) and covariance (..., q, q) at points (..., q, d)."""
        number = points.shape[-2]
        if number == 1:  # a third of the time
            mean, deviation = self.mean_and_deviation(points.reshape(-1, points.shape[-1]))
            variance = deviation.square().reshape(*points.shape[:-1], 1)
            return Moments(mean.reshape(points.shape[:-1]), variance)
        means, covariances = [], []
        for part in self._parts(points.reshape(-1, *points.shape[-2:])):
            given = [one.groups(number) for one in self.given(self.frame.unit(part.flatten(0, 1)))]
            each = torch.cat([one.mean for one in given], -2)
            off = each - each.mean(-2, keepdim=True)
            within = torch.cat([one.covariance for one in given], -3).mean(-3)
            means.append(each.mean(-2))
            covariances.append(within + off.mT @ off / off.shape[-2])
        mean = self.frame.scale * torch.cat(means).reshape(points.shape[:-1])
        covariance = self.frame.scale**2 * self.inflation * torch.cat(covariances)
        return Moments(
            self.frame.level(points) + mean.to(points),
            covariance.reshape(*points.shape[:-1], number).to(points),
        )

    def components(self, points: Tensor) -> Moments:
        """Joint posteriors (..., s, q) of each process, at points (..., q, d)."""
        groups, number = points.reshape(-1, *points.shape[-2:]), points.shape[-2]
        means, covariances = [], []
        for part in self._parts(groups):
            given = [one.groups(number) for one in self.given(self.frame.unit(part.flatten(0, 1)))]
            means.append(torch.cat([one.mean for one in given], -2))
            covariances.append(torch.cat([one.covariance for one in given], -3))
        mean = torch.cat(means).to(points)
        shape = *points.shape[:-2], mean.shape[-2], number
        covariance = torch.cat(covariances).to(points).reshape(*shape, number)
        return Moments(
            self.frame.level(points).unsqueeze(-2) + self.frame.scale * mean.reshape(shape),
            self.frame.scale**2 * self.inflation * covariance,
        )

    def draws(self, points: Tensor, number: int, generator: torch.Generator) -> Tensor:
        """Values (n, number) of functions, as many from each process, at points (n, d)."""
        given, values = self.given(self.frame.unit(points)), []
        each = -(-number // sum(len(one.mean) for one in given))
        for batch in given:
            for mean, covariance in zip(batch.mean, batch.covariance, strict=True):
                normals = torch.randn(len(mean), each, dtype=torch.float64, generator=generator)
                values.append(mean[:, None] + square_root(self.inflation * covariance) @ normals)
        drawn = torch.cat(values, 1).to(points)
        # In any order, so that draws of other quantities have their processes independently.
        drawn = drawn[:, torch.randperm(drawn.shape[1], generator=generator)[:number]]
        return self.frame.level(points)[:, None] + self.frame.scale * drawn

    def given(self, unit: Tensor) -> list[Conditional]:
        """The values at points (p, d) on the unit cube, of each batch."""
        return [process.at(unit) for process in self.processes]

    def _parts(self, points: Tensor) -> tuple[Tensor, ...]:
        """Points (p, d), or groups (p, q, d), in parts with covariances in a processor's cache."""
        return points.split(max(_LEAST_PART, _PART // self._rows))

    @cached_property
    def _rows(self) -> int:
        """Rewards of all processes, told or pending."""
        return sum(process.solved.numel() for process in self.processes)


class _MeanAndDeviation(torch.autograd.Function):
    """Mean, trend aside, and deviation (p,) of a mixture at points (p, d).

    As one operation, with slopes by the formula: each step that is differentiated automatically
    costs as much as a tenth of them.
    """

    @staticmethod
    def forward(ctx: Any, points: Tensor, mixture: ProcessMixture) -> tuple[Tensor, Tensor]:
        frame, unit = mixture.frame, mixture.frame.unit(points)
        given, slopes = zip(*(one.with_slopes(unit) for one in mixture.processes), strict=True)
        means = torch.cat([one.mean for one in given])
        between, mean = torch.var_mean(means, 0, correction=0)
        variance = torch.cat([one.variance for one in given]).mean(0).add_(between)
        deviation = variance.mul_(mixture.inflation).clamp_min_(LEAST_VARIANCE).sqrt_()
        ctx.mixture, ctx.found = mixture, (means, mean, deviation)
        ctx.slopes, ctx.sizes = slopes, [len(one.mean) for one in given]
        mean = torch.add(mean.new_tensor(frame.center), mean, alpha=frame.scale)
        return mean.to(points), (frame.scale * deviation).to(points)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_mean: Tensor, by_deviation: Tensor) -> tuple[Tensor, None]:
        means, mean, deviation = ctx.found
        frame, inflation = ctx.mixture.frame, ctx.mixture.inflation
        share = frame.scale / len(means)
        by_variance = by_deviation.to(deviation) / deviation * (0.5 * share * inflation)
        by_means = torch.addcmul(share * by_mean.to(mean), 2.0 * by_variance, means - mean)
        parts = zip(ctx.slopes, by_means.split(ctx.sizes), strict=True)
        slopes = sum(slopes(part, by_variance) for slopes, part in parts)
        return slopes.to(by_mean) / frame.span, None
