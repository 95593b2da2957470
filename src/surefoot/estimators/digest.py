"""Rewards by site as weighted values: each of them while they are few, their quantiles after."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.numbers import MAD_TO_SD, TINY
from surefoot.regression.observations import grown
from surefoot.regression.ridge import RidgeFactor
from surefoot.regression.sample import Sample
from surefoot.regression.spread import median

ALL_KEPT = 1024  # rewards in all up to which each is kept
_LEAST = 16  # values at a site
_GROWTH = 4.0  # times the fourth root of a site's rewards: the values that there may be


@dataclass(eq=False)
class Digest:
    """The n rewards of each site as at most max(16, 4 n^(1/4)) values with masses.

    The first 1024 rewards in all are kept one by one. Then a site that has too many merges
    neighbors into their means, half as many of equal mass. Of K values, only those that straddle
    a clip make the clipped mean differ from that of the rewards, by about 1.5 / K^2 of the scale:
    with K growing as the fourth root, that stays a small part of the standard error.
    Rewards with a standard error of their own are always kept one by one.
    """

    number: int = 0  # of rewards
    merges: int = 0
    _values: int = 0
    _site: np.ndarray = field(default_factory=lambda: np.zeros(256, dtype=np.int64))
    _value: np.ndarray = field(default_factory=lambda: np.zeros(256))
    _mass: np.ndarray = field(default_factory=lambda: np.zeros(256))
    _sem: np.ndarray = field(default_factory=lambda: np.zeros(256))
    _held: list[int] = field(default_factory=list)  # values without an error at each site
    _rewards: list[int] = field(default_factory=list)  # rewards without an error at each site

    def append(self, site: int, reward: float, sem: float = 0.0) -> None:
        """Take in one more reward, with its standard error."""
        while site >= len(self._held):
            self._held.append(0)
            self._rewards.append(0)
        if self.number >= ALL_KEPT and sem == 0.0:
            room = max(_LEAST, int(_GROWTH * self._rewards[site] ** 0.25))
            if self._held[site] >= room:
                self._merge(site, room // 2)
        n = self._values
        if n == len(self._site):
            self._site, self._value = grown(self._site, n), grown(self._value, n)
            self._mass, self._sem = grown(self._mass, n), grown(self._sem, n)
        self._site[n], self._value[n], self._mass[n], self._sem[n] = site, reward, 1.0, sem
        if sem == 0.0:
            self._held[site] += 1
            self._rewards[site] += 1
        self._values += 1
        self.number += 1

    def weighted(self, sample: Sample) -> WeightedValues:
        """The values in the units of a sample, beside its geometry."""
        device, n = sample.features.device, self._values
        site, value, mass, sem = (
            torch.from_numpy(column[:n].copy()).to(device)
            for column in (self._site, self._value, self._mass, self._sem)
        )
        errors = sample.units.error_variances(value, sem)
        return WeightedValues(sample, site, sample.units.transform(value), mass, errors)

    def _merge(self, site: int, values: int) -> None:
        """So many values at a site: each the mean of a stretch of equal mass."""
        here = (self._site[: self._values] == site) & (self._sem[: self._values] == 0.0)
        value, mass = self._value[: self._values][here], self._mass[: self._values][here]
        order = np.argsort(value, kind="stable")
        value, mass = value[order], mass[order]
        stretch = np.floor((np.cumsum(mass) - 0.5 * mass) / mass.sum() * values).astype(np.int64)
        totals = np.bincount(stretch, weights=mass)
        moments = np.bincount(stretch, weights=mass * value)
        total = totals[totals > 0]
        center = moments[totals > 0] / total
        rest = self._values - len(value)
        for column in (self._site, self._value, self._mass, self._sem):
            column[:rest] = column[: self._values][~here]
        self._values = rest + len(total)
        self._site[rest : self._values] = site
        self._value[rest : self._values] = center
        self._mass[rest : self._values] = total
        self._sem[rest : self._values] = 0.0
        self._held[site] = len(total)
        self.merges += 1


@dataclass(frozen=True, eq=False)
class WeightedValues:
    """Values that each stand for so many rewards, the last one for the last reward alone.

    Args:
        sample: The geometry, and the units of the values.
        site: The site of each value (n,).
        value: The values (n,), in the units of the sample.
        mass: How many rewards each one stands for (n,).
        errors: Squared standard errors (n,) of the values, in the squared units of the sample.
        output_scale: The noise has a variance of the ridge times its square.
    """

    sample: Sample
    site: Tensor
    value: Tensor
    mass: Tensor
    errors: Tensor
    output_scale: float = 1.0

    @cached_property
    def number(self) -> float:
        """The number of rewards."""
        return float(self.mass.sum())

    @cached_property
    def has_errors(self) -> bool:
        """Whether any value has a standard error."""
        return bool(self.errors.any())

    @cached_property
    def root(self) -> Tensor:
        """Square roots (n,) of the weights noise / (noise + errors) of the values."""
        return (1.0 + self.errors / (self.output_scale**2 * self.sample.factor.ridge)).rsqrt()

    @cached_property
    def counts(self) -> Tensor:
        """Weight of the rewards at each site (S,)."""
        return self.totals(self.root.square()) if self.has_errors else self.sample.counts

    @cached_property
    def factor(self) -> RidgeFactor:
        """V with these weights."""
        return self.sample.factor_of(self.counts) if self.has_errors else self.sample.factor

    def totals(self, values: Tensor) -> Tensor:  # (n,) -> (S,)
        """Sum over the rewards of each site of a number for each value."""
        return torch.zeros_like(self.sample.counts).index_add_(0, self.site, self.mass * values)

    def fitted(self, factor: RidgeFactor, sums: Tensor) -> tuple[Tensor, Tensor]:
        """Least squares of site sums (S,): coefficients, and the values' weighted residuals."""
        theta = factor.solve(self.sample.moments(sums))
        return theta, self.root * (self.value - (self.sample.features @ theta)[self.site])


def robust_scale(residual: Tensor, values: WeightedValues, freedom: float) -> float:
    """1.4826 median |residual|, corrected for the degrees of freedom."""
    correction = (values.number / freedom) ** 0.5
    return max(MAD_TO_SD * float(median(residual.abs(), values.mass)) * correction, TINY)


def degrees_of_freedom(leverage: Tensor, values: WeightedValues) -> float:
    """Residual degrees of freedom of t rewards: t - sum of leverages (S,), at least t / 4."""
    return max(values.number - float((values.counts * leverage).sum()), 0.25 * values.number)
