"""Transformation of the rewards to standardised units, chosen by the evidence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import torch
from torch import Tensor

from surefoot._internal.numbers import LAST_DIGITS, ROUNDING
from surefoot.estimators.student_t import cautious_weights
from surefoot.hyperparameters.ascent import GAUSSIAN, Ascent, within_reach
from surefoot.hyperparameters.evidence import LENGTHSCALE_PRIORS, Evidence, Prior
from surefoot.hyperparameters.laplace import PosteriorMode
from surefoot.hyperparameters.model_choice import STRONG_EVIDENCE, with_effects
from surefoot.hyperparameters.nuisance_effects import effects_of
from surefoot.hyperparameters.training_data import TrainingData
from surefoot.kernels.families import FAMILIES, Family
from surefoot.regression.levels import are_kept, are_predicted, follow, levels_of
from surefoot.regression.regression import OUTLIER_WEIGHT
from surefoot.regression.spread import robust_spread
from surefoot.regression.transforms import ONE_LEVEL, UNWARPED, Chain, Levels, Warp
from surefoot.regression.units import RewardUnits

_ANCHOR = 0.9  # quantile of the rewards, or of the opposite ones
_KNEES = (4.0, 1.0, 0.25, 0.06)  # of the distance from the anchor to the median
_JUMPING = FAMILIES["matern-1/2"]  # of functions that jump
_OUTLYING = 2.0  # exponent of the tail of an improper density, Cauchy's


@dataclass(frozen=True, eq=False)
class Standardised:
    """Rewards under one transformation, and where ascents from several starts arrive.

    Args:
        units: The standardised units.
        cautious: Precisions (t,) of all rewards to start from.
        modes: Modes of nearly the same bound, the best first.
        log_slopes: Logarithms (k,) of slopes of the units at the rewards that it is searched by.
        score: Log evidence in reward units.
    """

    units: RewardUnits
    cautious: Tensor
    modes: Sequence[PosteriorMode]
    log_slopes: Tensor
    score: float


@dataclass(frozen=True, eq=False)
class Standardisation:
    """Search for the transformation of the rewards that the evidence supports.

    Args:
        data: The observations.
        subset: Indices (k,) of the rewards that it is searched by.
        family: The kernel.
        lengthscales: Name of the prior of the lengthscales.
        ascent: The ascent of the bound.
        effects: Names of the effects of conditions.
        of_zeros: Scale of rewards that are all 0.
    """

    data: TrainingData
    subset: Tensor
    family: Family
    lengthscales: str
    ascent: Ascent
    effects: Sequence[str]
    of_zeros: float = 1e-30

    @cached_property
    def searched(self) -> TrainingData:
        """The observations that the transformation is searched by."""
        return self.data.at(self.subset)

    def plain(self) -> Standardised:
        """Rewards that are not transformed."""
        return self._under(ONE_LEVEL, UNWARPED, self.family)

    def compressed(self, plain: Standardised) -> Standardised:
        """Rewards with large distances compressed, if the evidence and the better half favour it.

        As strongly as the evidence grows, where rewards not below the median are predicted better
        from the others than before, without what makes outliers look like a function. All rewards
        together favour what is alike for most of them, even if the best are predicted worse.
        """
        better = self.searched.rewards >= self.searched.rewards.median()

        @cache
        def foretold(found: Standardised) -> float:
            """Log density of the better half, in reward units."""
            densities = found.modes[0].left_out_log_densities() + found.log_slopes
            return float(densities[better].sum())

        best, last = plain, plain
        for warp in _warps(self.data.rewards):
            other = self._under(ONE_LEVEL, warp, self.family)
            if other.score <= last.score:
                break
            last = other
            gains = foretold(other) > foretold(plain) + STRONG_EVIDENCE
            if gains and _foretells(other, best):
                best = other
        if best is plain:
            return plain
        # Workers that differ are a skewed scale, too.
        known, score = (self._score_with_effects(one) for one in (plain, best))
        return best if score >= known + STRONG_EVIDENCE else plain

    def on_levels(self, plain: Standardised) -> Standardised:
        """Rewards with levels that they are on brought near, if the evidence favours it."""
        levels = levels_of(self.data.rewards)
        if levels.is_identity or self._may_be_crossed(levels):
            return plain
        smooth, rough = (self._under(levels, UNWARPED, one) for one in (self.family, _JUMPING))
        other = smooth if smooth.score >= rough.score + STRONG_EVIDENCE else rough
        # Where a level lies is as improbable a priori as an outlier there.
        price = STRONG_EVIDENCE + _OUTLYING * levels.log_shortening
        # Workers that differ, and a step in time, make levels too.
        known, score = (self._score_with_effects(one) for one in (plain, other))
        if score - price < known:
            return plain
        mode, rewards = other.modes[0], self.searched.rewards
        validation = mode.cross_validation()
        errors = validation.rewards - validation.predicted
        predicted = other.units.chain.inverse(mode.evidence.rewards - errors)
        kept = are_kept(levels, rewards, mode.weights)
        return other if kept and are_predicted(levels, rewards, predicted) else plain

    def _may_be_crossed(self, levels: Levels) -> bool:
        """Whether levels follow a coordinate between whose few values nothing was measured.

        As of a load that grows: nothing says that the function jumps between two of them.
        """
        level, points = levels.index(self.searched.rewards), self.searched.unit
        return any(follow(level, points[:, one], points) for one in self.searched.unfilled)

    def _score_with_effects(self, found: Standardised) -> float:
        """Log evidence in reward units, with the effects of conditions that the data support."""
        searched, before = self.searched, found.modes[0]
        effects = effects_of(searched.conditions, self.effects)
        return found.score + with_effects(before, effects, self.ascent).bound - before.bound

    def _under(self, levels: Levels, warp: Warp, family: Family) -> Standardised:
        """Rewards under transformations; those far from the median are doubted.

        But not for being on another level.
        """
        rewards, chain = self.data.rewards, Chain((levels, warp))
        center, scale = self._location_and_scale(chain(rewards), self.data.sems)
        units = RewardUnits(center, scale, warp=chain)
        cautious = (
            torch.ones_like(rewards)
            if self.ascent.dof == GAUSSIAN
            else cautious_weights(levels.joined(rewards))
        )
        evidence = evidence_in(self.searched, units, family, LENGTHSCALE_PRIORS[self.lengthscales])
        modes = within_reach(self.ascent.starts(evidence, cautious[self.subset]))
        known = self.searched.rewards
        slopes = levels.log_slope(known) + _log_secants(warp, levels(known)) - math.log(scale)
        score = modes[0].bound + float(slopes.sum())
        return Standardised(units, cautious, modes, slopes, score)

    def _location_and_scale(self, rewards: Tensor, errors: Tensor) -> tuple[float, float]:
        """Mean and deviation for Gaussian noise, median and robust deviation otherwise.

        Where a search has converged most rewards are alike, and their median absolute deviation
        is that of the noise.
        """
        deviation = float(rewards.std()) if len(rewards) > 1 else 0.0
        mean = float(rewards.mean())
        if self.ascent.dof == GAUSSIAN and LAST_DIGITS * abs(mean) < deviation < math.inf:
            return mean, deviation
        spread = robust_spread(rewards, errors=errors, of_zeros=self.of_zeros)
        return float(rewards.median()), spread


def _foretells(found: Standardised, former: Standardised) -> bool:
    """Whether half of the outliers of the former, which are none now, are predicted when left out.

    As they are where a function grows that far. Outliers of about one size are not far from
    anything once large distances are compressed, and a rough function explains them.
    """
    doubted, doubted_now = (one.modes[0].weights < OUTLIER_WEIGHT for one in (former, found))
    cleared = doubted & ~doubted_now
    validation = found.modes[0].cross_validation()
    rewards, predicted = validation.rewards, validation.predicted
    middle = 0.5 * (rewards[cleared] + rewards[~doubted].median())
    beyond = (predicted[cleared] - middle) * (rewards[cleared] - middle) > 0.0
    return 2 * int(beyond.sum()) >= int(cleared.sum())


def evidence_in(data: TrainingData, units: RewardUnits, family: Family, prior: Prior) -> Evidence:
    """The evidence in observations, without effects of conditions.

    Args:
        data: The observations.
        units: The standardised units.
        family: The kernel.
        prior: Log density of the lengthscales, by their logarithms; None for no prior at all.
    """
    return Evidence(
        data.unit,
        units.transform(data.rewards),
        data.group,
        family,
        prior,
        units.error_variances(data.rewards, data.sems),
    )


def _log_secants(warp: Warp, rewards: Tensor) -> Tensor:
    """Logarithms (k,) of slopes at rewards; of the secant between the neighbours where one repeats.

    What repeats is on a grid and has no density: any transformation of two values is affine.
    """
    values, index, counts = rewards.unique(return_inverse=True, return_counts=True)
    around = torch.cat([values[:1], values, values[-1:]])
    apart, moved = (each[2:] - each[:-2] for each in (around, warp(around)))
    on_grid = (counts > 1) & (apart > ROUNDING * (values[-1] - values[0]))
    return torch.where(on_grid, (moved / apart).log(), warp.log_slope(values))[index]


def _warps(rewards: Tensor) -> list[Warp]:
    """Transformations that keep one end of the rewards and compress the others, weakest first.

    The end is the dense one, close to the median: the top where a search has converged, the bottom
    where a function is flat but for a peak. Knees are in units of the distance from the anchor
    there to the median reward; to that of the others where half of the rewards are equal, as
    rounded ones are where a search has converged.
    """
    low, middle, high = (float(rewards.quantile(q)) for q in (1.0 - _ANCHOR, 0.5, _ANCHOR))
    anchor = high if high - middle <= middle - low else low
    others = rewards[rewards < anchor] if anchor == high else rewards[rewards > anchor]
    if middle == anchor and len(others):
        middle = float(others.median())
    knees = [share * abs(anchor - middle) for share in _KNEES]
    return [Warp(anchor, knee) for knee in knees if knee > 0.0]
