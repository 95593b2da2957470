"""Random effects of conditions: of the worker, of a level of fidelity, and a drift over time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot._internal.effects import LEVEL
from surefoot._internal.numbers import TESTED
from surefoot._internal.tensors import NO_VALUES
from surefoot.regression.observations import Conditions

_LOG_VARIANCE = (-3.0, 2.0)  # mean and deviation of the prior, in squared standardised units
_LOG_TIMESCALE = (math.log(0.5), 1.5)  # the same, as a share of the active time
_VARIANCE_BOUNDS = (-12.0, 14.0)
_TIMESCALE_BOUNDS = (-4.0, 3.0)
_TIMESCALES = (0.05, 0.2, 1.0)  # tried by the score test
_PAUSE = 10.0  # median gaps between measurements; longer ones count as such a gap
_LEAST_VARIANCE = 1e-3  # to start from


class CovarianceOfEffect(NamedTuple):
    """Covariance of an effect on the rewards, and its derivatives."""

    values: Tensor  # (n, n)
    slopes: tuple[Tensor, ...]  # (n, n) each, in the logarithms of its parameters


class LogPrior(NamedTuple):
    """Log prior density, up to a constant, and its gradient."""

    value: float
    gradient: Tensor


@dataclass(frozen=True, eq=False)
class GroupEffect:
    r"""An effect of its own for each group of rewards, :math:`s^2 [g = g']`.

    Args:
        name: "worker", or "level" for levels of fidelity below the last one.
            The reference is the average of the workers, and the last level.
        groups: Number (n,) of the group of each reward, NaN where there is none: the effect is 0.
    """

    name: str
    groups: Tensor

    least_gain = 3.0
    bounds = (_VARIANCE_BOUNDS,)
    starts = (torch.zeros(1, dtype=torch.float64),)

    @property
    def tells(self) -> bool:
        """Whether there are enough rewards, and groups to compare; the reference among them."""
        none, of_levels = self.groups.isnan(), self.name == LEVEL
        known = self.groups.nan_to_num(1.0) if of_levels else self.groups[~none]
        return (
            (not of_levels or bool(none.any()))
            and len(known) >= TESTED
            and 1 < len(known.unique()) < len(known)
        )

    def covariance(self, logs: Tensor) -> CovarianceOfEffect:
        """Covariance of the effect on the rewards."""
        values = math.exp(float(logs[0])) * self._same
        return CovarianceOfEffect(values, (values,))

    def across(self, logs: Tensor, under: Conditions) -> Tensor:
        """Covariance (k, n) of the effect under conditions with that on the rewards."""
        return math.exp(float(logs[0])) * self._matches(groups_of(self.name, under))

    def variances(self, logs: Tensor, under: Conditions) -> Tensor:
        """Variances (k,) of the effect under conditions."""
        return math.exp(float(logs[0])) * (~groups_of(self.name, under).isnan()).double()

    def reference(self, logs: Tensor) -> tuple[Tensor, float]:
        """Covariance (n,) of the effect at the reference level with that on the rewards."""
        known = ~self.groups.isnan()
        number = max(len(self.groups[known].unique()), 1)
        variance = math.exp(float(logs[0])) * (self.name != LEVEL) / number
        return variance * known.double(), variance

    def contrast(self, logs: Tensor, under: Conditions) -> tuple[Tensor, Tensor]:
        """Of the effect under conditions, less the reference: covariance (k, n), variance (k,)."""
        average, variance = self.reference(logs)
        return self.across(logs, under) - average, (self.variances(logs, under) - variance).abs()

    def log_prior(self, logs: Tensor) -> LogPrior:
        """Log prior density of the logarithm of the variance."""
        return _log_normal(logs, _LOG_VARIANCE)

    def on(self, under: Conditions) -> GroupEffect:
        """The same effect on other rewards."""
        return replace(self, groups=groups_of(self.name, under))

    @cached_property
    def _same(self) -> Tensor:
        return self._matches(self.groups)

    def _matches(self, groups: Tensor) -> Tensor:
        return (groups[:, None] == self.groups).double()


def groups_of(name: str, under: Conditions) -> Tensor:
    """The group (n,) by a name of `GroupEffect` of each reward, NaN for none."""
    if name == "worker":
        return under.workers.double().masked_fill(under.workers < 0, math.nan)
    levels = under.points[:, -1]
    return levels.masked_fill(levels >= 1.0, math.nan)


@dataclass(frozen=True, eq=False)
class DriftEffect:
    r"""A drift over time, :math:`s^2 \exp(-|t - t'| / \ell)`, which follows steps too.

    The reference level is that at the time of the latest reward.

    Args:
        times: Time (n,) of each reward, NaN where it is unknown: the effect is 0 there.
        unit: The unit of the timescale, see `active_time`.

    References:
        Rasmussen and Williams 2006, eq. 4.15: the Ornstein-Uhlenbeck process.
    """

    times: Tensor
    unit: float

    name = "drift"
    least_gain = 1.5  # a slow one has little evidence, and without it the present level is wrong
    bounds = (_VARIANCE_BOUNDS, _TIMESCALE_BOUNDS)
    starts = tuple(
        torch.tensor([0.0, math.log(scale)], dtype=torch.float64) for scale in _TIMESCALES
    )

    @cached_property
    def _gaps(self) -> Tensor:
        return self._between(self.times)

    @cached_property
    def _present(self) -> Tensor:
        return self.times[~self.times.isnan()].max().reshape(1)

    def covariance(self, logs: Tensor) -> CovarianceOfEffect:
        """Covariance of the effect on the rewards."""
        values, scaled = self._correlated(logs, self._gaps)
        return CovarianceOfEffect(values, (values, values * scaled))

    def across(self, logs: Tensor, under: Conditions) -> Tensor:
        """Covariance (k, n) of the effect at times (k,) with that on the rewards."""
        return self._correlated(logs, self._between(under.times))[0]

    def variances(self, logs: Tensor, under: Conditions) -> Tensor:
        """Variances (k,) of the effect at times (k,)."""
        return math.exp(float(logs[0])) * (~under.times.isnan()).double()

    def reference(self, logs: Tensor) -> tuple[Tensor, float]:
        """Covariance (n,) of the effect at the latest reward with that on the rewards."""
        return self._correlated(logs, self._between(self._present))[0][0], math.exp(float(logs[0]))

    def contrast(self, logs: Tensor, under: Conditions) -> tuple[Tensor, Tensor]:
        """Of the drift at times (k,) less that at the latest reward: covariance and variance."""
        latest, variance = self.reference(logs)
        gaps = ((under.times - self._present).abs() / self.unit).nan_to_num(nan=math.inf)
        own, across = self.variances(logs, under), self._correlated(logs, gaps)[0]
        return self.across(logs, under) - latest, own + variance - 2.0 * across

    def log_prior(self, logs: Tensor) -> LogPrior:
        """Log prior density of the logarithms of variance and timescale."""
        return _log_normal(logs, _LOG_VARIANCE, _LOG_TIMESCALE)

    def on(self, under: Conditions) -> DriftEffect:
        """The same effect on other rewards, with the same unit of time."""
        return replace(self, times=under.times)

    def _between(self, times: Tensor) -> Tensor:
        """Gaps (k, n) in units of time; infinite where a time is unknown."""
        return ((times[:, None] - self.times).abs() / self.unit).nan_to_num(nan=math.inf)

    def _correlated(self, logs: Tensor, gaps: Tensor) -> tuple[Tensor, Tensor]:
        scaled = gaps * math.exp(-float(logs[1]))
        values = math.exp(float(logs[0])) * (-scaled).exp()
        return values, scaled.masked_fill(scaled.isinf(), 0.0)


NuisanceEffect = GroupEffect | DriftEffect
"""Zero-mean Gaussian effect of the conditions under which rewards were measured."""


@dataclass(frozen=True, eq=False)
class EstimatedEffects:
    """The effects of the conditions on rewards, as a posterior mean.

    Args:
        effects: The effects that the data support, on the rewards that were fitted.
        logs: Logarithms of their parameters.
        solved: (K + G + N)^{-1} (y - m) as (n,), with K the covariance of the function, G that of
            the effects and N that of the noise.
    """

    effects: tuple[NuisanceEffect, ...] = ()
    logs: Tensor = NO_VALUES
    solved: Tensor = NO_VALUES

    @property
    def is_none(self) -> bool:
        """Whether no effect is supported by the data."""
        return not self.effects

    @cached_property
    def level(self) -> float:
        """Effect at the reference level: of the latest time and the average worker."""
        return float(reference(self.effects, self.logs, len(self.solved))[0] @ self.solved)

    def offsets(self, under: Conditions) -> Tensor:
        """By how much conditions change a reward, compared with the reference level.

        Args:
            under: The conditions of k rewards.

        Returns:
            Posterior means (k,), in standardised units.
        """
        total = torch.full((len(under.times),), -self.level, dtype=torch.float64)
        for effect, logs in by_effect(self.effects, self.logs):
            total += effect.across(logs, under) @ self.solved
        return total


NO_EFFECTS = EstimatedEffects()


def effects_of(under: Conditions, names: Sequence[str]) -> list[NuisanceEffect]:
    """Effects of those names that rewards can tell about, given their conditions."""
    by_group = [GroupEffect(name, groups_of(name, under)) for name in names if name != "drift"]
    found: list[NuisanceEffect] = [one for one in by_group if one.tells]
    measured = under.times[~under.times.isnan()]
    differ = len(measured) >= TESTED and float(measured.min()) < float(measured.max())
    if "drift" in names and differ:
        found.append(DriftEffect(under.times, active_time(measured)))
    return found


def active_time(times: Tensor) -> float:
    """Extent of times (n,), of which two at least differ, with long pauses shortened."""
    gaps = times.sort().values.diff()
    gaps = gaps[gaps > 0.0]
    return float(gaps.clamp_max(_PAUSE * float(gaps.median())).sum())


def by_effect(
    effects: Sequence[NuisanceEffect], logs: Tensor
) -> list[tuple[NuisanceEffect, Tensor]]:
    """Each effect with the logarithms of its own parameters."""
    ends = list(accumulate(len(one.bounds) for one in effects))
    return [(one, logs[a:b]) for one, a, b in zip(effects, [0, *ends], ends, strict=False)]


def reference(effects: Sequence[NuisanceEffect], logs: Tensor, number: int) -> tuple[Tensor, float]:
    """Covariance (n,) of the sum of effects at the reference level with rewards; its variance."""
    across, variance = torch.zeros(number, dtype=torch.float64), 0.0
    for effect, own in by_effect(effects, logs):
        one, more = effect.reference(own)
        across, variance = across + one, variance + more
    return across, variance


class Screening(NamedTuple):
    """Result of a score test of an effect.

    Args:
        gain: Estimated gain of log evidence, in nats.
        logs: Logarithms of the parameters to start from.
    """

    gain: float
    logs: Tensor


def screened(
    effect: NuisanceEffect, inverse: Tensor, solved: Tensor, own: float = 1.0
) -> Screening:
    """Score test of an effect, from its derivative at a variance of 0.

    Args:
        effect: The effect.
        inverse: Inverse (n, n) of the covariance of the rewards without it.
        solved: That, times the rewards less their mean (n,).
        own: Factor of the variance that the effect gives each reward by itself, which noise of
            other sizes does too; 0 leaves what rewards have in common.

    References:
        Lin 1997, "Variance component testing in generalised linear models with random effects".
    """
    total = inverse.sum(-1)
    projected = inverse - torch.outer(total, total) / total.sum()
    best = Screening(0.0, effect.starts[0])
    for start in effect.starts:
        unit = effect.covariance(start).values
        unit = unit - (1.0 - own) * torch.diag(unit.diagonal())
        product = projected @ unit
        score = 0.5 * float(solved @ unit @ solved - product.trace())
        information = 0.5 * float((product * product.T).sum())
        if score > 0.0 and score**2 / (2.0 * information) > best.gain:
            logs = start.clone()
            logs[0] = math.log(max(score / information, _LEAST_VARIANCE))
            best = Screening(score**2 / (2.0 * information), logs)
    return best


def _log_normal(logs: Tensor, *priors: tuple[float, float]) -> LogPrior:
    means, deviations = (logs.new_tensor(part) for part in zip(*priors, strict=True))
    off = (logs - means) / deviations
    return LogPrior(float(-0.5 * off.square().sum()), -off / deviations)
