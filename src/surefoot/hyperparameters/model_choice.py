"""Choice of kernel, lengthscales and effects of conditions, by the evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from surefoot.hyperparameters.ascent import Ascent
from surefoot.hyperparameters.evidence import LENGTHSCALE_PRIORS, PRIORS_IN_LOGS, Evidence
from surefoot.hyperparameters.laplace import PosteriorMode
from surefoot.hyperparameters.nuisance_effects import NuisanceEffect, screened
from surefoot.kernels.families import Family
from surefoot.regression.regression import OUTLIER_WEIGHT

STRONG_EVIDENCE = 3.0
"""Of one model against another, in nats (Kass and Raftery 1995)."""

_CONTRADICTED = 10.0  # nats, by which the evidence is against another prior: very strong
_SCREENED = 0.5  # nats by a score test, from which on an effect is fitted


def with_other_kernels(evidence: Evidence, families: Sequence[Family]) -> list[Evidence]:
    """The evidence with other kernels."""
    return [replace(evidence, family=one) for one in families if one.name != evidence.family.name]


def with_best_kernel(
    mode: PosteriorMode, families: Sequence[Family], ascent: Ascent
) -> tuple[PosteriorMode, list[PosteriorMode]]:
    """The mode with the kernel that the data support, and those with the other kernels."""
    kernels = with_other_kernels(mode.evidence, families)
    others = [ascent.nearby.climb(replace(mode, evidence=one)) for one in kernels]
    ends = [end for end in others if end.bound > mode.bound]
    if not ends:
        return mode, others
    scores = [one.log_evidence for one in (mode, *ends)]
    best = int(np.argmax(scores[1:]))
    if scores[1 + best] <= scores[0] + STRONG_EVIDENCE:
        return mode, others
    return ends[best], [mode, *(other for other in others if other is not ends[best])]


def with_scaled_lengthscales(mode: PosteriorMode, ascent: Ascent) -> PosteriorMode:
    """The mode with the prior "scaled" instead of "long", itself where the data contradict that.

    "long" prefers functions that are nearly linear in what little was measured of them.
    """
    evidence = replace(mode.evidence, prior=LENGTHSCALE_PRIORS["scaled"])
    other = ascent.nearby.restarted(replace(mode, evidence=evidence))
    loss = _log_evidence(mode, "long", ascent) - _log_evidence(other, "scaled", ascent)
    return mode if loss > _CONTRADICTED else other


def _log_evidence(mode: PosteriorMode, prior: str, ascent: Ascent) -> float:
    """Laplace's approximation of the log evidence, up to a constant of the rewards.

    About the maximum of the density of the logarithms, over which the integral is. With "long" and
    data that say nothing, the most likely lengthscale is exp(3) times shorter than that.
    """
    evidence = replace(mode.evidence, prior=PRIORS_IN_LOGS[prior])
    return ascent.nearby.climb(replace(mode, evidence=evidence)).log_evidence


def with_effects(
    mode: PosteriorMode, effects: Sequence[NuisanceEffect], ascent: Ascent
) -> PosteriorMode:
    """The mode with those effects of conditions that the data support.

    What is dismissed may be one of them: then they are looked for by equal weights too, but for
    what is far beyond most of that, and without what an effect says of single rewards, which a
    spike says as well. From there the evidence must be strong besides.
    """
    left = [*effects]
    while left:
        looks = {1.0: mode.weights}
        doubted = mode.weights[mode.weights < OUTLIER_WEIGHT]
        if len(doubted):
            together = mode.weights > OUTLIER_WEIGHT * doubted.median()
            common = 1.0 / mode.weights[together].reciprocal().mean()
            looks[0.0] = torch.where(together, common, mode.weights)
        tests = []
        for own, weights in looks.items():
            at = mode.evidence.solved(mode.model, weights)
            least = (1.0 - own) * STRONG_EVIDENCE
            tests += [(screened(effect, *at, own), effect, weights, least) for effect in left]
        for test, effect, weights, least in sorted(tests, key=lambda one: -one[0].gain):
            if test.gain < _SCREENED:
                return mode
            known = replace(mode.evidence, effects=(*mode.evidence.effects, effect))
            model = replace(mode.model, effects=torch.cat([mode.model.effects, test.logs]))
            other = ascent.climb(replace(mode, evidence=known, model=model, weights=weights))
            if other.bound > mode.bound + effect.least_gain + least:
                mode, left = other, [one for one in left if one is not effect]
                break
        else:
            return mode
    return mode
