"""Ascent of the variational bound of the evidence, in hyperparameters and precisions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.lbfgsb import Limits, minimise
from surefoot._internal.linalg import Floats
from surefoot._internal.process_settings import with_own_settings
from surefoot.hyperparameters.evidence import MIN_NOISE, Evidence, Hyperparameters, best_dof
from surefoot.hyperparameters.laplace import PosteriorMode
from surefoot.regression.cross_validation import nearest
from surefoot.regression.noise import precision

GAUSSIAN = 1e9
"""Degrees of freedom at which Student-t noise is Gaussian in float64; for `HyperparameterFit`."""

E_STEPS = 8
"""Updates of the precisions, given a kernel."""

_LENGTHSCALES, _VARIANCE, _NOISE = (-6.0, 7.0), (-10.0, 30.0), (-16.0, 28.0)
"""Bounds of the logarithms: wide, but nothing overflows in them."""
_DOUBTED = 0.1  # precision of a reward below which an ascent is compared with others
_SHORT_START = 0.3  # of the initial lengthscales: little noise and a rough function, or the reverse
_LONG_START = 4.0  # of them, where what is smooth elsewhere shows an outlier
_LITTLE_NOISE, _HEAVY = math.log(0.01), 2.0  # of the signal variance; degrees of freedom
_FIRST = (2, 12)  # passes and steps from each start
_NEARBY = (2, 30)  # passes and steps of an ascent that begins near its end
_RIVAL = 5.0  # nats below the best bound, up to which an ascent goes on
_APART = 0.3  # in a log hyperparameter or a precision, of optima that differ
_RELATIVE_TOLERANCE = 1e-6  # of the objective, at which L-BFGS-B stops


@dataclass(frozen=True)
class Ascent:
    """Alternate updates of the kernel with updates of precisions and degrees of freedom.

    Args:
        dof: Fixed degrees of freedom of the noise; None where they are fitted.
        passes: Alternations.
        steps: Maximum number of L-BFGS-B iterations in each alternation.
    """

    dof: float | None
    passes: int
    steps: int

    @property
    def nearby(self) -> Ascent:
        """The ascent from a start that is near its end."""
        return Ascent(self.dof, *_NEARBY)

    def climb(self, start: PosteriorMode) -> PosteriorMode:
        """Where the ascent from a start ends."""
        evidence, model, dof, weights = start.evidence, start.model, start.dof, start.weights
        shift, left = start.shift, self.passes
        while True:
            model = _maximise(model, evidence, weights, self.steps)
            signal, relative = evidence.covariance_of_rewards(model), evidence.rewards.square()
            for _ in range(E_STEPS):
                shift, relative = evidence.expected(signal, model.noise, weights)
                weights = precision(relative, dof)
                dof = self.dof or best_dof(relative)
            left -= 1
            if left < 1:
                break
        weights = precision(relative, dof)
        bound = evidence.variational_bound(model, signal, weights, relative, dof)
        return PosteriorMode(evidence, model, weights, dof, shift, bound)

    def starts(self, evidence: Evidence, cautious: Tensor) -> list[PosteriorMode]:
        """Where a few iterations from each of several starts arrive, the best first.

        From cautious precisions; if that leaves outliers, from equal ones too, and if the best of
        them has none, from those of a robust regression: an outlier that is as large as what is
        measured elsewhere is none to the others, whose lengthscales it makes short. Not where most
        values repeat, which is how a quantity that jumps is told from one that is noisy.

        Args:
            evidence: The evidence.
            cautious: Precisions (n,) that are small for rewards far from the median.
        """
        first, equal = Ascent(self.dof, *_FIRST), torch.ones_like(cautious)
        modes = [] if self.dof == GAUSSIAN else [first.climb(_start(evidence, cautious))]
        if not modes or _doubts(modes[0]):
            modes += [first.climb(_start(evidence, equal, one)) for one in (1.0, _SHORT_START)]
        noisy = self.dof != GAUSSIAN and 2 * len(evidence.rewards.unique()) > len(cautious)
        if noisy and not _doubts(max(modes, key=lambda mode: mode.bound)):
            other = first.climb(_regressed(evidence, cautious))
            modes += [other] * _doubts_single_ones(other)
        return sorted(modes, key=lambda mode: -mode.bound)

    def onward(self, start: PosteriorMode) -> list[PosteriorMode]:
        """Where the ascent with more rewards ends from a mode of a part, the most probable first.

        What is alone in a part may have others beside it: where rewards beside each other are
        doubted, the ascent is compared with one from equal precisions.
        """
        modes = [self.nearby.climb(start)]
        if _doubts(modes[0]) and not _doubts_single_ones(modes[0]):
            equal = torch.ones_like(start.weights)
            modes.append(self.nearby.climb(_start(start.evidence, equal, _SHORT_START)))
        return _ranked(within_reach(sorted(modes, key=lambda mode: -mode.bound)))

    def restarted(self, start: PosteriorMode) -> PosteriorMode:
        """The better end of ascents from a mode and from initial kernel and noise.

        With the precisions of the rewards and the effects of conditions that the mode has.
        """
        fresh = _start(start.evidence, start.weights)
        model = replace(fresh.model, effects=start.model.effects)
        ends = [self.climb(one) for one in (start, replace(fresh, model=model))]
        return max(ends, key=lambda mode: mode.bound)

    def converged(self, starts: Sequence[PosteriorMode]) -> list[PosteriorMode]:
        """Where the ascents from some starts end, each end once, the most probable first."""
        modes = [self.climb(one) for one in starts]
        return _ranked(distinct(sorted(modes, key=lambda mode: -mode.bound)))


def _start(evidence: Evidence, weights: Tensor, share: float = 1.0) -> PosteriorMode:
    """A start with these precisions (n,), and a share of the initial lengthscales."""
    power = float((weights * evidence.rewards.square()).sum() / weights.sum())
    groups = int(evidence.group.max()) + 1
    model = Hyperparameters.initial(groups, max(power, MIN_NOISE), share)
    return PosteriorMode(evidence, model, weights, 4.0)


def _regressed(evidence: Evidence, cautious: Tensor) -> PosteriorMode:
    """A start with the precisions (n,) of a robust regression on a smooth function."""
    logs = _start(evidence, cautious, _LONG_START).model.logs.clone()
    logs[-1] = logs[-2] + _LITTLE_NOISE
    model, weights = Hyperparameters(logs), cautious
    signal = evidence.covariance_of_rewards(model)
    for _ in range(E_STEPS):
        _, relative = evidence.expected(signal, model.noise, weights)
        weights = precision(relative, _HEAVY)
    return PosteriorMode(evidence, model, weights, _HEAVY)


def _doubts(mode: PosteriorMode) -> bool:
    """Whether some reward counts as an outlier."""
    return float(mode.weights.min()) < _DOUBTED


def _doubts_single_ones(mode: PosteriorMode) -> bool:
    """Whether some rewards count as outliers, but none beside another, as those of a jump are."""
    doubted = mode.weights < _DOUBTED
    outliers = doubted.nonzero()[:, 0]
    return len(outliers) > 0 and not bool(doubted[nearest(mode.evidence.points, outliers)].any())


def _ranked(modes: Sequence[PosteriorMode]) -> list[PosteriorMode]:
    """Modes, the most probable first; that costs nothing where there is one."""
    return sorted(modes, key=lambda mode: -mode.log_evidence) if len(modes) > 1 else [*modes]


def within_reach(modes: Sequence[PosteriorMode]) -> list[PosteriorMode]:
    """Modes, the best first, that differ and whose ascents may end as high as the best one's."""
    return distinct([one for one in modes if not one.bound < (modes[0].bound - _RIVAL)])


def with_bound(mode: PosteriorMode) -> PosteriorMode:
    """A mode with its variational bound."""
    evidence, model, dof = mode.evidence, mode.model, mode.dof
    signal = evidence.covariance_of_rewards(model)
    _, relative = evidence.expected(signal, model.noise, mode.weights)
    weights = precision(relative, dof)
    return replace(mode, bound=evidence.variational_bound(model, signal, weights, relative, dof))


def distinct(modes: Sequence[PosteriorMode]) -> list[PosteriorMode]:
    """The first of all modes that are alike."""
    kept: list[PosteriorMode] = []
    for mode in modes:
        if all(_differ(mode, other) for other in kept):
            kept.append(mode)
    return kept


def _differ(one: PosteriorMode, other: PosteriorMode) -> bool:
    """Whether two ascents have arrived at different optima."""
    models = float((one.model.free - other.model.free).abs().max())
    return max(models, float((one.weights - other.weights).abs().max())) > _APART


@np.errstate(under="ignore")  # whatever the caller has set
@with_own_settings
def _maximise(
    model: Hyperparameters, evidence: Evidence, weights: Tensor, steps: int
) -> Hyperparameters:
    """Improve kernel and noise, by L-BFGS-B on the penalised marginal likelihood."""

    def losses(free: Floats, _: list[int]) -> tuple[Floats, Floats]:
        at = model.moved_to(torch.from_numpy(free[0]))
        value, gradient = evidence.log_likelihood(at, weights)
        prior = evidence.log_prior(at)
        return np.array([-value - prior.value]), -(gradient + prior.gradient)[None]

    pairs = [_LENGTHSCALES] * (len(model.logs) - 2) + [_VARIANCE, _NOISE]
    pairs += [pair for effect in evidence.effects for pair in effect.bounds]
    limits = Limits(*(np.array(ends) for ends in zip(*pairs, strict=True)))
    found = minimise(losses, model.free.numpy()[None], limits, steps, _RELATIVE_TOLERANCE)[0]
    return model.moved_to(torch.from_numpy(found))
