"""Maximum a posteriori hyperparameters under Student-t noise, by a variational lower bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.effects import EFFECTS
from surefoot._internal.lbfgsb import Limits, minimise
from surefoot._internal.linalg import Floats
from surefoot.estimators.spread import ROUNDING, robust_spread
from surefoot.estimators.student_t import cautious_weights
from surefoot.hyperparameters.earlier import NOTHING_EARLIER, Earlier, Trend
from surefoot.hyperparameters.evidence import (
    LENGTHSCALE_PRIORS,
    MIN_NOISE,
    Evidence,
    Hyperparameters,
    best_dof,
    expected_squares,
    solve,
    weights_beside,
)
from surefoot.hyperparameters.fitted import Fitted, LocalOptimum
from surefoot.hyperparameters.laplace import SAMPLES, PosteriorMode
from surefoot.hyperparameters.levels import apart_from, are_kept, levels_of
from surefoot.hyperparameters.microscale import sampled_shares
from surefoot.hyperparameters.mixture import Frame, Mixture
from surefoot.hyperparameters.nuisance_effects import (
    NO_EFFECTS,
    Contrast,
    EstimatedEffects,
    by_effect,
    effects_of,
    screened,
)
from surefoot.hyperparameters.training_data import TrainingData
from surefoot.hyperparameters.uncertainty import CERTAIN_HYPERPARAMETERS, Uncertainty
from surefoot.regression.noise import (
    NO_KNOWN_NOISE,
    KnownNoise,
    Noise,
    check_known_noise,
    precision,
)
from surefoot.regression.transforms import ONE_LEVEL, UNWARPED, Chain, Levels, Warp
from surefoot.regression.units import RewardUnits
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

GAUSSIAN = 1e9
"""Degrees of freedom at which Student-t noise is Gaussian in float64; for `HyperparameterFit`."""

_MAX_STARTED = 150  # rewards that choose where an ascent begins, whose cost is cubic in them
_MAX_FITTED = 500  # rewards that enter the ascent from there
_MAX_COMPARED = 500  # rewards, up to which the other kernels are integrated over too
_MAX_INTEGRATED = 1000  # rewards, beyond which the hyperparameters are taken as known
_SMOOTHNESSES = (None, 0.5, 1.5, 2.5)  # None for the squared exponential kernel
_LENGTHSCALES, _VARIANCE, _NOISE = (-6.0, 7.0), (-10.0, 30.0), (-16.0, 28.0)
"""Bounds of the logarithms: wide, but nothing overflows in them."""
_NEW_SHARE = 0.01  # of the rewards, beyond which a fit is due
_DOUBTED = 0.1  # precision of a reward below which an ascent is compared with others
_SHORT_START = 0.3  # of the initial lengthscales: little noise and a rough function, or the reverse
_ANCHOR = 0.9  # quantile of the rewards: what is good is told apart best
_KNEES = (4.0, 1.0, 0.25, 0.06)  # of the distance from the anchor to the median
_LEAST_NUMBER = 8  # of rewards, for which transformations and other kernels are tried
_STRONG_EVIDENCE = 3.0  # of either, in nats (Kass and Raftery 1995)
_PASSES_TOGETHER = 8  # of the weights of all rewards, where a fit saw a part of them
_JUMPING = 0.5  # smoothness of the kernel between levels
_OUTLYING = 2.0  # exponent of the tail of an improper density, Cauchy's
_NEARBY = (2, 30)  # passes and steps of an ascent that begins near its end
_SCREENED = 0.5  # nats by a score test, from which on an effect is fitted
_RIVAL = 5.0  # nats below the best bound, up to which an ascent goes on
_LEAST_COMPARED = 5  # rewards, from which on an earlier function is compared
_COLUMNS = ("rewards", "sems", "workers", "times")
_APART = 0.3  # in a log hyperparameter or a precision, of optima that differ
_RELATIVE_TOLERANCE = 1e-6  # of the objective, at which L-BFGS-B stops


@dataclass(frozen=True, eq=False)
class _WarpedStart:
    """A local optimum for rewards under one transformation."""

    units: RewardUnits
    y: Tensor  # (t,), standardised
    cautious: Tensor  # (t,), the weights to start from
    evidence: Evidence
    optima: Sequence[LocalOptimum]  # of nearly the same bound, the best first
    score: float  # log evidence in reward units


@dataclass(frozen=True)
class HyperparameterFit:
    """Fits kernel, noise scale and degrees of freedom to rewards that may contain outliers.

    Maximises a variational lower bound of the log evidence under Student-t noise, with priors. It
    alternates L-BFGS-B on the Gaussian marginal likelihood, given the precision of each reward,
    with closed-form updates of the precisions and degrees of freedom, given the kernel.

    The bound has several local optima, so the ascent is started several times: from small
    precisions for rewards far from the median, and, if that leaves outliers, from equal precisions
    with long and with short lengthscales. So a spike is not taken for a maximum of f nor a maximum
    for a spike; nor, where a search has converged and most rewards are alike, all other rewards for
    outliers. The largest optimum is kept; of those within a few nats of it, the most probable by
    Laplace's approximation. The result depends on the observations only, not on earlier fits. Of
    more than 150 rewards, 150 evenly spaced in time choose the optimum, from which an ascent on all
    of them goes on, or on 500 evenly spaced in time.

    Args:
        nu: Smoothness of the Matérn kernel, 0.5, 1.5 or 2.5; None for the squared exponential.
        passes: Alternations from the best start.
        steps: Maximum number of L-BFGS-B iterations in each alternation.
        dof: Fixed degrees of freedom of the noise, `GAUSSIAN` for Gaussian noise; None fits them.
        every: Minimum number of new rewards between two fits of an `Optimizer`.
        lengthscales: Prior of the lengthscales on the unit cube. "long" is log-normal with a
            median that grows with the square root of the dimension (Hvarfner et al. 2024);
            "short" is Gamma(3, 6) with mode 1/3. Few rewards hardly distinguish a constant from a
            slowly varying function, and an acquisition function that relies on the credible
            interval then stops exploring: it needs "short". "pooled", for many variables, has
            lengthscales that deviate from a common one by Student-t noise of their logarithms;
            the common one has the median of "long". "flat" has no prior of the
            lengthscales, and none of the variances either: maximum likelihood.
        warped: Whether to fit a transformation of the rewards too, which may be the identity; see
            `regression.units.Warp`. Predictions are then posterior medians.
        effects: Nuisance effects to include, where conditions of measurements are known and the
            data support them: "worker", a random intercept for each worker, and "drift", a drift
            over time. What the posterior then predicts is the function at the time of the latest
            reward and for the average of the workers.
        other_nus: Other smoothness parameters, each as probable a priori as `nu`. The most
            probable of them replaces `nu` if its evidence is larger by 3 nats, and the uncertainty
            integrates over all. A smooth kernel takes a cusp for noise.
        microscale: Prior mean of the share of the fitted noise that is microscale variation: a
            deviation of the value at each point from the smooth function, which intervals allow
            for. Only replicates tell both apart. 0 for none.
        known_noise: Known part of the noise, which may depend on the point, in addition to the
            noise that is fitted.
        limit: Least value with which a constraint holds. Where values are clipped at it, those
            below are kept apart from it.
        earlier: Measurements of a related system, whose function is the prior mean, in other units,
            where rewards are then predicted better when they are left out.

    Raises:
        InvalidInput: For an argument outside these ranges.

    References:
        Tipping and Lawrence 2005, "Variational inference for Student-t models"; Juárez and Steel
        2010 for the prior of the degrees of freedom.

    Example:
        >>> import torch
        >>> x = torch.linspace(0, 1, 12, dtype=torch.float64).unsqueeze(-1)
        >>> y = torch.sin(6 * x[:, 0])
        >>> y[5] = 50.0  # an outlier
        >>> fit = HyperparameterFit(passes=1, steps=5)
        >>> data = TrainingData(x, y, lower=torch.zeros(1), span=torch.ones(1))
        >>> fitted = fit.fit(data)
        >>> int(fitted.weights.argmin()), bool(fitted.weights[5] < 0.01)
        (5, True)
    """

    nu: float | None = 2.5
    passes: int = 3
    steps: int = 40
    dof: float | None = None
    every: int = 1
    lengthscales: Literal["long", "short", "pooled", "flat"] = "long"
    warped: bool = False
    effects: Sequence[str] = EFFECTS
    other_nus: Sequence[float] = ()
    microscale: float = 0.0
    known_noise: KnownNoise = NO_KNOWN_NOISE
    limit: float = math.inf
    earlier: Earlier = NOTHING_EARLIER

    def __post_init__(self) -> None:
        if not isinstance(self.nu, float | None) or self.nu not in _SMOOTHNESSES:
            raise InvalidInput(f"`nu` is {checks.shown(self.nu)}, expected 0.5, 1.5, 2.5 or None.")
        for name in ("passes", "steps", "every"):
            checks.count(name, getattr(self, name))
        if self.dof is not None:
            checks.positive("dof", self.dof)
        checks.choice("lengthscales", self.lengthscales, *LENGTHSCALE_PRIORS)
        checks.truth("warped", self.warped)
        object.__setattr__(self, "effects", checks.names("effects", self.effects, *EFFECTS))
        others = tuple(self.other_nus) if isinstance(self.other_nus, Sequence) else (None,)
        known = {nu for nu in _SMOOTHNESSES if nu not in (None, self.nu)}
        if not all(isinstance(nu, float) and nu in known for nu in others):
            raise InvalidInput(
                f"`other_nus` is {checks.shown(self.other_nus)}, expected a sequence of 0.5, 1.5 "
                f"or 2.5, other than `nu`, which is {self.nu}."
            )
        object.__setattr__(self, "other_nus", others)
        check_known_noise(self.known_noise)
        if checks.non_negative("microscale", self.microscale) >= 1.0:
            raise InvalidInput(
                f"`microscale` is {checks.shown(self.microscale)}, expected a share below 1."
            )

    @property
    def lasting(self) -> bool:
        """Whether the kernel stays for the whole run."""
        return False

    def is_due(self, number: int, fitted_at: int) -> bool:
        """Whether to fit after `number` rewards, given the number at the last fit."""
        new = number - fitted_at
        return fitted_at == 0 or (new >= self.every and new > _NEW_SHARE * fitted_at)

    def fit(self, data: TrainingData) -> Fitted:
        """Fit the hyperparameters to observations.

        Args:
            data: The observations; without any, the hyperparameters are those that a fit starts
                from.

        Returns:
            The hyperparameters, with the kernel in the units of `data.points`.
        """
        trend = self._trend(data)
        if trend.is_none:
            return self._fit(data)
        rule = replace(self, warped=False)
        return replace(rule._fit(_without(trend, data)), trend=trend)

    def _trend(self, data: TrainingData) -> Trend:
        """The multiple of the earlier function with which rewards are predicted clearly better.

        That is, each of them from the others, and all of them by evidence that is strong. Errors
        alone favour some multiple by chance where the rewards are few; evidence alone, where the
        functions are hardly related.
        """
        none = Trend()
        if not len(self.earlier.rewards) or len(data.rewards) < _LEAST_COMPARED:
            return none
        few = _subset(len(data.rewards), _MAX_STARTED)
        data = replace(
            data,
            **{name: getattr(data, name)[few] for name in ("points", *_COLUMNS)},
        )
        alone = replace(self, warped=False, other_nus=(), effects=(), earlier=NOTHING_EARLIER)
        with torch.no_grad():
            means = self.earlier.mean(data.points).cpu()
        slopes = {1.0, _slope(means, data.rewards)} - {0.0}
        trends = [none, *(Trend(slope, self.earlier) for slope in sorted(slopes))]
        found = [alone._validated(_without(trend, data)) for trend in trends]
        known = torch.stack([one.weights for one in found]).amin(0)
        squares = [float((known * one.errors.square()).sum()) for one in found]
        best = int(np.argmin(squares))
        gain = found[best].log_evidence - found[0].log_evidence
        return trends[best] if gain > _STRONG_EVIDENCE else none

    def _validated(self, data: TrainingData) -> _Validated:
        """A fit, and how well it predicts rewards that are left out."""
        fitted = self._fit(data)
        evidence, model, y, weights = self._evidence_of(fitted, data)
        optimum = LocalOptimum(model, fitted.dof, 0.0, weights)
        mode = _mode(self._with_bound(optimum, evidence, y), evidence, y)
        validation, scale = mode.cross_validation(), fitted.scale
        return _Validated(
            scale * (validation.rewards - validation.predicted),
            validation.weights,
            mode.log_evidence - len(y) * math.log(scale),
        )

    def _fit(self, data: TrainingData) -> Fitted:
        """The fit without earlier measurements."""
        rewards = data.rewards
        if not len(rewards):
            start = Hyperparameters.initial(int(data.group.max()) + 1, 1.0, 1.0)
            kernel = _kernel(start, self.nu, data)
            return Fitted(kernel, start.noise, 4.0, 0.0, 1.0, rewards)
        apart = apart_from(self.limit, rewards)
        data = replace(data, rewards=apart(rewards))
        subset = _subset(len(rewards), _MAX_STARTED)
        best = self._start(data, subset, ONE_LEVEL, UNWARPED, self.nu)
        if self.warped and len(rewards) >= _LEAST_NUMBER:
            best = self._compressed(best, data, subset)
            best = self._on_levels(best, data, subset)
        evidence, y = best.evidence, best.y[subset]
        optimum, *rivals = self._converged(best.optima, evidence, y)
        weights = best.cautious.clone()
        weights[subset] = optimum.weights
        if len(rewards) > _MAX_STARTED:
            subset, rivals = _subset(len(rewards), _MAX_FITTED), []
            evidence, y = self._evidence(data, subset, best.units, evidence.nu), best.y[subset]
            near = replace(optimum, weights=weights[subset])
            optimum = self._ascend(near, evidence, y, *_NEARBY)
        optimum, evidence, others = self._with_smoothness(optimum, evidence, y)
        optimum, evidence = self._with_effects(optimum, evidence, y, data, subset)
        weights[subset] = optimum.weights
        weights = self._completed(weights, subset, optimum, evidence, best.units, data)
        effects = _estimated(optimum, evidence, y)
        return Fitted(
            _kernel(optimum.model, evidence.nu, data),
            optimum.model.noise,
            optimum.dof,
            best.units.center + best.units.scale * (optimum.shift + effects.level),
            best.units.scale,
            weights.to(data.points.device),
            warp=Chain((apart, *best.units.warp.parts)),
            effects=effects,
            rivals=rivals,
            others=others if len(subset) == len(rewards) else (),
        )

    def _on_levels(self, plain: _WarpedStart, data: TrainingData, subset: Tensor) -> _WarpedStart:
        """The start with levels that the rewards are on, if the evidence favours them."""
        levels = levels_of(data.rewards)
        if levels.is_identity:
            return plain
        smooth, rough = (
            self._start(data, subset, levels, UNWARPED, nu) for nu in (self.nu, _JUMPING)
        )
        other = smooth if smooth.score >= rough.score + _STRONG_EVIDENCE else rough
        # Where a level lies is as improbable a priori as an outlier there.
        price = _STRONG_EVIDENCE + _OUTLYING * levels.log_shortening
        # Workers that differ, and a step in time, make levels too.
        known, score = (self._score_with_effects(one, data, subset) for one in (plain, other))
        kept = are_kept(levels, data.rewards[subset], other.optima[0].weights)
        return other if kept and score - price >= known else plain

    def _score_with_effects(self, start: _WarpedStart, data: TrainingData, subset: Tensor) -> float:
        """Log evidence in reward units, with the effects of conditions that the data support."""
        before = start.optima[0]
        after, _ = self._with_effects(before, start.evidence, start.y[subset], data, subset)
        return start.score + after.bound - before.bound

    def _compressed(self, plain: _WarpedStart, data: TrainingData, subset: Tensor) -> _WarpedStart:
        """The start with large distances compressed, if the evidence favours it."""
        best = plain
        for warp in _warps(data.rewards):
            other = self._start(data, subset, ONE_LEVEL, warp, self.nu)
            if other.score <= best.score:
                break
            best = other
        return best if best.score >= plain.score + _STRONG_EVIDENCE else plain

    def uncertainty(self, fitted: Fitted, data: TrainingData) -> Uncertainty:
        """The posterior integrated over hyperparameters and precisions.

        Where the fit had rivals of nearly the same bound, they are integrated over too, and so are
        the other kernels with up to 500 rewards.

        Args:
            fitted: What `fit` gave for these observations, or for the first of them.
            data: The observations.

        Returns:
            The mixture, in units of the rewards as they are transformed; beyond 1,000 rewards the
            posterior itself.

        References:
            MacKay 1992, "A practical Bayesian framework for backpropagation networks", for
            Laplace's approximation.
        """
        number = len(data.rewards)
        if not 0 < number <= _MAX_INTEGRATED:
            return CERTAIN_HYPERPARAMETERS
        data = _without(fitted.trend, data)
        evidence, model, y, weights = self._evidence_of(fitted, data)
        optima = [LocalOptimum(model, fitted.dof, 0.0, weights)]
        compared = self._others(evidence) if number <= _MAX_COMPARED else []
        if fitted.rivals or compared:
            optima[0] = self._with_bound(optima[0], evidence, y)
        if fitted.rivals:
            starts = [_on(rival, model, y) for rival in fitted.rivals]
            optima += self._converged(starts, evidence, y)
        modes = [_mode(one, evidence, y) for one in _distinct(optima)]
        known = {other.nu: other for other in fitted.others}
        for other in compared:
            end = known.get(other.nu)
            if end is None or not _is_end(end, other, y):
                start = optima[0] if end is None else _on(end, model, y)
                end = self._ascend(start, other, y, *_NEARBY)
            modes.append(_mode(end, other, y))
        frame = Frame(data.lower, data.span, fitted.center, fitted.scale, fitted.prior_mean)
        mixture = Mixture(modes, frame=frame)
        if not self.microscale:
            return mixture
        shares = sampled_shares(evidence, model, y, weights, SAMPLES, self.microscale)
        return replace(mixture, shares=shares)

    def contrasts(self, fitted: Fitted, data: TrainingData) -> dict[str, Contrast]:
        """The effects of conditions on the rewards, for the most likely hyperparameters.

        Args:
            fitted: What `fit` gave for these observations, or for the first of them.
            data: The observations.

        Returns:
            The effects (t,) by name, those that the data support.
        """
        if fitted.effects.is_none:
            return {}
        data = _without(fitted.trend, data)
        evidence, model, y, weights = self._evidence_of(fitted, data)
        inverse, solved = _solved(LocalOptimum(model, fitted.dof, 0.0, weights), evidence, y)
        found = {}
        for effect, logs in by_effect(evidence.effects, model.effects):
            across, prior = effect.contrast(logs, data.workers, data.times)
            variance = prior - ((across @ inverse) * across).sum(-1)
            deviation = variance.clamp_min(0.0).sqrt()
            found[effect.name] = Contrast(
                fitted.scale * (across @ solved), fitted.scale * deviation
            )
        return found

    def _evidence_of(
        self, fitted: Fitted, data: TrainingData
    ) -> tuple[Evidence, Hyperparameters, Tensor, Tensor]:
        """Evidence and its maximum, standardised rewards, and their precisions."""
        base = fitted.kernel.base_kernel
        scales = (base.lengthscale.detach().reshape(-1) / data.span).cpu()
        variance = float(fitted.kernel.outputscale)
        model = Hyperparameters.of(scales, data.group, variance, fitted.noise)
        prior = LENGTHSCALE_PRIORS[self.lengthscales]
        errors = fitted.units.error_variances(data.rewards, data.sems)
        effects = tuple(one.on(data.workers, data.times) for one in fitted.effects.effects)
        model = replace(model, effects=fitted.effects.logs)
        nu = getattr(base, "nu", None)  # of a squared exponential kernel
        evidence = Evidence(data.unit, data.group, nu, prior, errors, effects)
        y = fitted.units.transform(data.rewards)
        known = torch.arange(len(fitted.weights))
        weights = cautious_weights(y, fitted.weights.cpu())
        if len(known):  # further rewards came after the fit
            optimum = LocalOptimum(model, fitted.dof, 0.0, weights)
            weights = self._completed(weights, known, optimum, evidence, fitted.units, data)
        return evidence, model, y, weights

    def _completed(
        self,
        weights: Tensor,
        known: Tensor,
        optimum: LocalOptimum,
        evidence: Evidence,
        units: RewardUnits,
        data: TrainingData,
    ) -> Tensor:
        """Weights (t,) of all rewards, of which those of some are known.

        Each of the others gets the weight that it has beside the known ones; up to 1,000 rewards,
        all of them then those that they have together.

        Args:
            weights: The known weights, and others to start from (t,).
            known: Indices (k,) of the known ones.
            optimum: Hyperparameters.
            evidence: The evidence in which the kernel and the effects are.
            units: The standardised units.
            data: The observations.
        """
        y, model, dof = units.transform(data.rewards), optimum.model, optimum.dof
        if len(known) == len(y):
            return weights

        def evidence_at(rewards: Tensor) -> Evidence:
            conditions = data.workers[rewards], data.times[rewards]
            effects = tuple(one.on(*conditions) for one in evidence.effects)
            return replace(self._evidence(data, rewards, units, evidence.nu), effects=effects)

        completed, others = weights.clone(), torch.ones_like(weights, dtype=torch.bool)
        others[known] = False
        for rest in torch.where(others)[0].split(_MAX_FITTED):
            both = torch.cat([known, rest])
            here = evidence_at(both)
            noise = Noise(model.noise, weights[both], here.errors, dof)
            signal = here.covariance_of_rewards(model)
            completed[rest] = weights_beside(signal, noise, y[both], len(known))
        if len(y) <= _MAX_INTEGRATED:
            here = evidence_at(torch.arange(len(y)))
            signal = here.covariance_of_rewards(model)
            for _ in range(_PASSES_TOGETHER):
                _, relative = _expected(here, signal, model.noise, y, completed)
                completed = precision(relative, dof)
        return completed

    def _others(self, evidence: Evidence) -> list[Evidence]:
        """The evidence with the other kernels."""
        nus = (self.nu, *self.other_nus) if self.other_nus else ()
        return [replace(evidence, nu=nu) for nu in nus if nu != evidence.nu]

    def _with_smoothness(
        self, optimum: LocalOptimum, evidence: Evidence, y: Tensor
    ) -> tuple[LocalOptimum, Evidence, list[LocalOptimum]]:
        """The optimum with the kernel that the data support, and those with the other kernels."""
        if not self.other_nus or len(y) < _LEAST_NUMBER:
            return optimum, evidence, []
        kernels = self._others(evidence)
        others = [self._ascend(optimum, one, y, *_NEARBY) for one in kernels]
        pairs = zip(others, kernels, strict=True)
        ends = [(end, one) for end, one in pairs if end.bound > optimum.bound]
        if not ends:
            return optimum, evidence, others

        scores = [_mode(*pair, y).log_evidence for pair in [(optimum, evidence), *ends]]
        best = int(np.argmax(scores[1:]))
        if scores[1 + best] <= scores[0] + _STRONG_EVIDENCE:
            return optimum, evidence, others
        end, kernel = ends[best]
        return end, kernel, [optimum, *(other for other in others if other is not end)]

    def _with_effects(
        self,
        optimum: LocalOptimum,
        evidence: Evidence,
        y: Tensor,
        data: TrainingData,
        subset: Tensor,
    ) -> tuple[LocalOptimum, Evidence]:
        """The optimum with the effects of conditions that the data support."""
        left = effects_of(data.workers[subset], data.times[subset], self.effects)
        while left:
            at = _solved(optimum, evidence, y)
            tests = [screened(effect, *at) for effect in left]
            for index in sorted(range(len(left)), key=lambda index: -tests[index].gain):
                if tests[index].gain < _SCREENED:
                    return optimum, evidence
                with_it = replace(evidence, effects=(*evidence.effects, left[index]))
                logs = torch.cat([optimum.model.effects, tests[index].logs])
                start = replace(optimum, model=replace(optimum.model, effects=logs))
                other = self._ascend(start, with_it, y, self.passes, self.steps)
                if other.bound > optimum.bound + left[index].least_gain:
                    optimum, evidence = other, with_it
                    del left[index]
                    break
            else:
                return optimum, evidence
        return optimum, evidence

    def _evidence(
        self, data: TrainingData, subset: Tensor, units: RewardUnits, nu: float | None
    ) -> Evidence:
        """The evidence in some of the rewards, under a kernel of some smoothness."""
        prior = LENGTHSCALE_PRIORS[self.lengthscales]
        errors = units.error_variances(data.rewards[subset], data.sems[subset])
        return Evidence(data.unit[subset], data.group, nu, prior, errors)

    def _start(
        self, data: TrainingData, subset: Tensor, levels: Levels, warp: Warp, nu: float | None
    ) -> _WarpedStart:
        """Where the search begins under transformations of the rewards, and its evidence.

        Rewards far from the median are doubted, but not for being on another level.
        """
        rewards, chain = data.rewards, Chain((levels, warp))
        center, scale = self._location_and_scale(chain(rewards), data.sems)
        units = RewardUnits(center, scale, warp=chain)
        y, evidence = units.transform(rewards), self._evidence(data, subset, units, nu)
        cautious = (
            torch.ones_like(y)
            if self.dof == GAUSSIAN
            else cautious_weights(warp(levels.joined(rewards)))
        )
        optima = self._optima(evidence, y[subset], cautious[subset])
        least = optima[0].bound - _RIVAL
        optima = _distinct([one for one in optima if not one.bound < least])
        volume = float(chain.log_slope(rewards[subset]).sum()) - len(subset) * math.log(scale)
        score = optima[0].bound + volume
        return _WarpedStart(units, y, cautious, evidence, optima, score)

    def _location_and_scale(self, rewards: Tensor, errors: Tensor) -> tuple[float, float]:
        """Mean and deviation for Gaussian noise, median and robust deviation otherwise.

        Where a search has converged most rewards are alike, and their median absolute deviation
        is that of the noise.
        """
        deviation = float(rewards.std()) if len(rewards) > 1 else 0.0
        mean = float(rewards.mean())
        if self.dof == GAUSSIAN and ROUNDING * abs(mean) < deviation < math.inf:
            return mean, deviation
        return float(rewards.median()), robust_spread(rewards, errors=errors)

    def _optima(self, evidence: Evidence, y: Tensor, cautious: Tensor) -> list[LocalOptimum]:
        """Where a few iterations from each start arrive, the best first."""

        def ascend_from(weights: Tensor, share: float = 1.0) -> LocalOptimum:
            power = float((weights * y.square()).sum() / weights.sum())
            model = Hyperparameters.initial(
                int(evidence.group.max()) + 1, max(power, MIN_NOISE), share
            )
            return self._ascend(LocalOptimum(model, 4.0, 0.0, weights), evidence, y, 2, 12)

        optima = [] if self.dof == GAUSSIAN else [ascend_from(cautious)]
        if not optima or float(optima[0].weights.min()) < _DOUBTED:
            optima += [ascend_from(torch.ones_like(y), share) for share in (1.0, _SHORT_START)]
        return sorted(optima, key=lambda optimum: -optimum.bound)

    def _ascend(
        self, start: LocalOptimum, evidence: Evidence, y: Tensor, passes: int, steps: int
    ) -> LocalOptimum:
        """Alternate updates of the kernel with updates of precisions and degrees of freedom."""
        model, dof, shift, weights = start.model, start.dof, start.shift, start.weights
        while True:
            model = _maximise(model, evidence, y, weights, steps)
            signal, noise = evidence.covariance_of_rewards(model), model.noise
            relative = y.square()
            for _ in range(8):
                shift, relative = _expected(evidence, signal, noise, y, weights)
                weights = precision(relative, dof)
                dof = self.dof or best_dof(relative)
            passes -= 1
            if passes < 1:
                break
        weights = precision(relative, dof)
        bound = evidence.variational_bound(model, signal, y, weights, relative, dof)
        return LocalOptimum(model, dof, shift, weights, bound, evidence.nu)

    def _converged(
        self, starts: Sequence[LocalOptimum], evidence: Evidence, y: Tensor
    ) -> list[LocalOptimum]:
        """Where the ascents from some points end, each optimum once, the most probable first."""
        optima = [self._ascend(one, evidence, y, self.passes, self.steps) for one in starts]
        optima = _distinct(sorted(optima, key=lambda optimum: -optimum.bound))
        if len(optima) > 1:
            optima.sort(key=lambda optimum: -_mode(optimum, evidence, y).log_evidence)
        return optima

    def _with_bound(self, optimum: LocalOptimum, evidence: Evidence, y: Tensor) -> LocalOptimum:
        """The optimum with its variational bound."""
        model, dof = optimum.model, optimum.dof
        signal = evidence.covariance_of_rewards(model)
        _, relative = _expected(evidence, signal, model.noise, y, optimum.weights)
        weights = precision(relative, dof)
        bound = evidence.variational_bound(model, signal, y, weights, relative, dof)
        return replace(optimum, bound=bound)


class _Validated(NamedTuple):
    """A fit that is compared with others.

    Args:
        errors: Errors (t,) of leave-one-out predictions, in reward units.
        weights: Weights (t,) of the rewards.
        log_evidence: Log evidence, in reward units.
    """

    errors: Tensor
    weights: Tensor
    log_evidence: float


def _without(trend: Trend, data: TrainingData) -> TrainingData:
    """Observations whose rewards are less a trend."""
    if trend.is_none:
        return data
    with torch.no_grad():
        return replace(data, rewards=data.rewards - trend(data.points).cpu())


def _slope(means: Tensor, rewards: Tensor) -> float:
    """Median slope of rewards (t,) over means (t,), at least 0 (Theil 1950, Sen 1968)."""
    first, second = torch.triu_indices(len(means), len(means), 1)
    run, rise = means[second] - means[first], rewards[second] - rewards[first]
    varies = run.abs() > ROUNDING * means.abs().max()
    if not bool(varies.any()):
        return 0.0
    return max(float((rise[varies] / run[varies]).median()), 0.0)


def _kernel(model: Hyperparameters, nu: float | None, data: TrainingData) -> Kernel:
    lengthscale = model.lengthscales[data.group] * data.span.cpu()
    base = (
        kernels.squared_exponential(lengthscale) if nu is None else kernels.matern(nu, lengthscale)
    )
    return kernels.scaled(base, model.variance).to(data.points.device)


def _expected(
    evidence: Evidence, signal: Tensor, noise: float, y: Tensor, weights: Tensor
) -> tuple[float, Tensor]:
    """The mean, and the expected squares (n,) of the Student-t noise in noise variances."""
    of_rewards = Noise(noise, weights, evidence.errors)
    shift, squared = expected_squares(signal, of_rewards.variances, y)
    return shift, of_rewards.expected_squares(squared)


def _mode(optimum: LocalOptimum, evidence: Evidence, y: Tensor) -> PosteriorMode:
    return PosteriorMode(evidence, optimum.model, y, optimum.weights, optimum.dof, optimum.bound)


def _on(optimum: LocalOptimum, fitted: Hyperparameters, y: Tensor) -> LocalOptimum:
    """The optimum for more rewards, with the effects of conditions that were fitted."""
    model = replace(optimum.model, effects=fitted.effects)
    return replace(optimum, model=model, weights=cautious_weights(y, optimum.weights))


def _is_end(optimum: LocalOptimum, evidence: Evidence, y: Tensor) -> bool:
    """Whether an ascent of the fit ended at this optimum of these very rewards.

    Where the rewards are few, a further ascent from there costs little.
    """
    return len(optimum.weights) == len(y) > _MAX_STARTED and not evidence.effects


def _distinct(optima: Sequence[LocalOptimum]) -> list[LocalOptimum]:
    """The first of all optima that are alike."""
    kept: list[LocalOptimum] = []
    for optimum in optima:
        if all(_differ(optimum, other) for other in kept):
            kept.append(optimum)
    return kept


def _differ(one: LocalOptimum, other: LocalOptimum) -> bool:
    """Whether two ascents have arrived at different optima."""
    models = float((one.model.free - other.model.free).abs().max())
    return max(models, float((one.weights - other.weights).abs().max())) > _APART


def _solved(optimum: LocalOptimum, evidence: Evidence, y: Tensor) -> tuple[Tensor, Tensor]:
    """Inverse (n, n) of the covariance of the rewards, and that times their residuals (n,)."""
    noise = Noise(optimum.model.noise, optimum.weights, evidence.errors)
    found = solve(evidence.covariance_of_rewards(optimum.model), noise.variances, y)
    return torch.from_numpy(found.inverse), torch.from_numpy(found.solved)


def _estimated(optimum: LocalOptimum, evidence: Evidence, y: Tensor) -> EstimatedEffects:
    """Posterior mean of the effects of conditions."""
    if not evidence.effects:
        return NO_EFFECTS
    solved = _solved(optimum, evidence, y)[1]
    return EstimatedEffects(evidence.effects, optimum.model.effects, solved)


def _warps(rewards: Tensor) -> list[Warp]:
    """Transformations that compress all but the largest rewards, weakest first.

    Knees are in units of the distance from the anchor to the median reward; to that of the smaller
    ones where half of the rewards are equal, as rounded ones are where a search has converged.
    """
    anchor, middle = (float(rewards.quantile(q)) for q in (_ANCHOR, 0.5))
    if middle == anchor and bool((rewards < anchor).any()):
        middle = float(rewards[rewards < anchor].median())
    knees = [share * (anchor - middle) for share in _KNEES]
    return [Warp(anchor, knee) for knee in knees if knee > 0.0]


def _subset(number: int, most: int) -> Tensor:
    """Indices of at most so many rewards, evenly spaced, with the last among them."""
    if number <= most:
        return torch.arange(number)
    return torch.linspace(0, number - 1, most).round().long()


def _maximise(
    model: Hyperparameters, evidence: Evidence, y: Tensor, weights: Tensor, steps: int
) -> Hyperparameters:
    """Improve kernel and noise, by L-BFGS-B on the penalised marginal likelihood."""

    def losses(free: Floats, _: list[int]) -> tuple[Floats, Floats]:
        at = model.moved_to(torch.from_numpy(free[0]))
        value, gradient = evidence.log_likelihood(at, y, weights)
        prior = evidence.log_prior(at)
        return np.array([-value - prior.value]), -(gradient + prior.gradient)[None]

    pairs = [_LENGTHSCALES] * (len(model.logs) - 2) + [_VARIANCE, _NOISE]
    pairs += [pair for effect in evidence.effects for pair in effect.bounds]
    limits = Limits(*(np.array(ends) for ends in zip(*pairs, strict=True)))
    start = model.free.numpy()[None]
    found = minimise(losses, start, limits, steps, _RELATIVE_TOLERANCE)[0]
    return model.moved_to(torch.from_numpy(found))
