"""Maximum a posteriori hyperparameters under Student-t noise, by a variational lower bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot._internal.effects import EFFECTS, LEVEL
from surefoot._internal.linalg import cholesky
from surefoot._internal.numbers import FEW_ENOUGH, NEW_SHARE, SHOWING
from surefoot._internal.tensors import NO_INDICES
from surefoot.estimators.student_t import cautious_weights
from surefoot.hyperparameters.ascent import Ascent, distinct, with_bound
from surefoot.hyperparameters.earlier import NO_TREND, NOTHING_EARLIER, Earlier, NoTrend, Trend
from surefoot.hyperparameters.evidence import LENGTHSCALE_PRIORS, Hyperparameters
from surefoot.hyperparameters.fitted import Fitted, LocalOptimum
from surefoot.hyperparameters.laplace import MOST_DIRECTIONS, SAMPLES, PosteriorMode, Sample
from surefoot.hyperparameters.later_rewards import (
    completed_weights,
    weights_together,
    with_weights,
)
from surefoot.hyperparameters.microscale import sampled_shares
from surefoot.hyperparameters.mixture import Mixture
from surefoot.hyperparameters.model_choice import (
    with_best_kernel,
    with_effects,
    with_other_kernels,
    with_scaled_lengthscales,
)
from surefoot.hyperparameters.nuisance_effects import (
    NO_EFFECTS,
    EstimatedEffects,
    by_effect,
    effects_of,
)
from surefoot.hyperparameters.process_mixture import Frame
from surefoot.hyperparameters.standardisation import Standardisation, evidence_in
from surefoot.hyperparameters.training_data import (
    MOST_FITTED,
    MOST_TOGETHER,
    TrainingData,
)
from surefoot.hyperparameters.trend_choice import Validated, supported, without
from surefoot.kernels.families import FAMILIES, Family, family_of
from surefoot.regression.levels import apart_from
from surefoot.regression.noise import (
    NO_KNOWN_NOISE,
    Contrast,
    KnownNoise,
    check_known_noise,
)
from surefoot.regression.regression import OUTLIER_WEIGHT
from surefoot.regression.transforms import Chain
from surefoot.regression.uncertainty import CERTAIN_HYPERPARAMETERS, Uncertainty
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_EARLY = 30  # rewards, up to which every new one makes a fit due
_RARE_SHARE, _MOST_BETWEEN = 0.1, 10  # of them, later on: as much as one of 1,000 waits for
_LEAST_COMPARED = 5  # rewards, from which on an earlier function is compared
_BESIDE, _LEAST_BESIDE = 3, 20  # rewards beside each of those at a narrow maximum, and all


@dataclass(frozen=True)
class HyperparameterFit:
    """Fits kernel, noise scale and degrees of freedom to rewards that may contain outliers.

    Maximises a variational lower bound of the log evidence under Student-t noise, with priors. It
    alternates L-BFGS-B on the Gaussian marginal likelihood, given the precision of each reward,
    with closed-form updates of the precisions and degrees of freedom, given the kernel.

    The bound has several local optima, so the ascent is started several times: from small
    precisions for rewards far from the median, if that leaves outliers, from equal precisions
    with long and with short lengthscales, and, if the best of these leaves none, from those of a
    robust regression on a smooth function. So a spike is not taken for a maximum of f nor a maximum
    for a spike; nor, where a search has converged and most rewards are alike, all other rewards for
    outliers. The largest optimum is kept; of those within a few nats of it, the most probable by
    Laplace's approximation. The result depends on the observations only, not on earlier fits. Of
    more than 150 rewards, 150 evenly spaced in time choose the optimum, from which an ascent on all
    of them goes on, or on 500 evenly spaced in time. If that leaves outliers beside each other, it
    is compared with one from equal precisions. Outliers that are beside each other all the same,
    more often than by chance, are no noise: the hyperparameters are then those of a fit to them and
    the rewards about them.

    Args:
        kernel: The kernel, "squared_exponential", "matern-1/2", "matern-3/2" or "matern-5/2".
        passes: Alternations from the best start.
        steps: Maximum number of L-BFGS-B iterations in each alternation.
        dof: Fixed degrees of freedom of the noise, `GAUSSIAN` for Gaussian noise; None fits them.
        every: Minimum number of new rewards between two fits of an `Optimizer`, which come after
            each reward up to 30, then after a tenth more, up to 10, and beyond 1,000 after 1 %.
        lengthscales: Prior of the lengthscales on the unit cube. "long" is log-normal with a
            median that grows with the square root of the dimension (Hvarfner et al. 2024);
            "short" is Gamma(3, 6) with mode 1/3. Few rewards hardly distinguish a constant from a
            slowly varying function, and an acquisition function that relies on the credible
            interval then stops exploring: it needs "short". "scaled" is "short" in units of
            sqrt(d / 2) for d > 2 lengthscales. "pooled", for many variables, has
            lengthscales that deviate from a common one by Student-t noise of their logarithms;
            the common one has the median of "long". "flat" has no prior of the
            lengthscales, and none of the variances either: maximum likelihood.
        warped: Whether to fit a transformation of the rewards too, which may be the identity; see
            `regression.units.Warp`. Predictions are then posterior medians.
        effects: Nuisance effects to include, where conditions of measurements are known and the
            data support them: "worker", a random intercept for each worker, and "drift", a drift
            over time. What the posterior then predicts is the function at the time of the latest
            reward and for the average of the workers. With "level" the last coordinate is that of a
            `Fidelity`, and lower levels may differ from the last one by a constant.
        other_kernels: Other kernels, each as probable a priori as `kernel`. The most probable of
            them replaces it if its evidence is larger by 3 nats, and the uncertainty integrates
            over all. A smooth kernel takes a cusp for noise.
        microscale: Prior mean of the share of the fitted noise that is microscale variation: a
            deviation of the value at each point from the smooth function, which intervals allow
            for. Only replicates tell both apart. 0 for none.
        known_noise: Known part of the noise, which may depend on the point, in addition to the
            noise that is fitted.
        limit: Least value with which a constraint holds. Where values are clipped at it, those
            below are kept apart from it.
        of_zeros: Scale of rewards that are all 0, which have none of their own: of the margins to a
            limit, the size of the limit.
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

    kernel: str = "matern-5/2"
    passes: int = 3
    steps: int = 40
    dof: float | None = None
    every: int = 1
    lengthscales: Literal["long", "short", "scaled", "pooled", "flat"] = "long"
    warped: bool = False
    effects: Sequence[str] = EFFECTS
    other_kernels: Sequence[str] = ()
    microscale: float = 0.0
    known_noise: KnownNoise = NO_KNOWN_NOISE
    limit: float = math.inf
    of_zeros: float = 1e-30
    earlier: Earlier = NOTHING_EARLIER

    def __post_init__(self) -> None:
        checks.choice("kernel", self.kernel, *FAMILIES)
        for name in ("passes", "steps", "every"):
            checks.count(name, getattr(self, name))
        if self.dof is not None:
            checks.positive("dof", self.dof)
        checks.choice("lengthscales", self.lengthscales, *LENGTHSCALE_PRIORS)
        checks.truth("warped", self.warped)
        checks.positive("of_zeros", self.of_zeros)
        object.__setattr__(self, "effects", checks.names("effects", self.effects, *EFFECTS, LEVEL))
        known = [name for name in FAMILIES if name != self.kernel]
        others = checks.names("other_kernels", self.other_kernels, *known)
        object.__setattr__(self, "other_kernels", others)
        check_known_noise(self.known_noise)
        if checks.non_negative("microscale", self.microscale) >= 1.0:
            raise InvalidInput(
                f"`microscale` is {checks.shown(self.microscale)}, expected a share below 1."
            )

    @property
    def lasting(self) -> bool:
        """Whether the kernel stays for the whole run."""
        return False

    def next_due(self, fitted_at: int) -> int:
        """Number of rewards at which the next fit is due, given that at the last one."""
        if fitted_at == 0:
            return 1
        least = min(_RARE_SHARE * fitted_at, _MOST_BETWEEN) if fitted_at >= _EARLY else 0
        return fitted_at + max(self.every, math.floor(max(NEW_SHARE * fitted_at, least)) + 1)

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
        return replace(replace(self, warped=False)._fit(without(trend, data)), trend=trend)

    def _trend(self, data: TrainingData) -> Trend | NoTrend:
        """The multiple of the earlier function that the data support."""
        if not len(self.earlier.rewards) or len(data.rewards) < _LEAST_COMPARED:
            return NO_TREND
        few = data.at(_subset(len(data.rewards), FEW_ENOUGH))
        alone = replace(self, warped=False, other_kernels=(), effects=(), earlier=NOTHING_EARLIER)
        return supported(self._earlier_mean, few, alone._validated)

    @cached_property
    def _earlier_mean(self) -> Trend:
        """The posterior mean of the earlier measurements."""
        known = self.earlier
        fitted = HyperparameterFit(effects=()).fit(known.data)
        with torch.no_grad():
            covariance = kernels.block(fitted.kernel, known.points, known.points)
            root = cholesky(covariance + torch.diag(fitted.noise / fitted.weights))
            y = ((known.rewards - fitted.center) / fitted.scale).unsqueeze(-1)
            solved = torch.cholesky_solve(y, root)[:, 0]
        return Trend(fitted.kernel, known.points, solved, fitted.center, fitted.scale)

    def _validated(self, data: TrainingData) -> Validated:
        """A fit, and how well it predicts rewards that are left out."""
        fitted = self._fit(data)
        mode = with_bound(self._mode(fitted, data))
        validation, scale = mode.cross_validation(), fitted.scale
        return Validated(
            scale * (validation.rewards - validation.predicted),
            validation.weights,
            mode.log_evidence - len(data.rewards) * math.log(scale),
        )

    def _fit(self, data: TrainingData) -> Fitted:
        """The fit without earlier measurements."""
        rewards = data.rewards
        if not len(rewards):
            start = Hyperparameters.initial(int(data.group.max()) + 1, 1.0, 1.0)
            kernel = _kernel(start, FAMILIES[self.kernel], data)
            return Fitted(kernel, start.noise, 4.0, 0.0, 1.0, rewards)
        subset = _subset(len(rewards), FEW_ENOUGH)
        whole = self._fit_to(data, subset, _subset(len(rewards), MOST_FITTED))
        clustered = self._clustered(whole, data)
        if not len(clustered):
            return whole
        found = self._local_fit(whole, clustered, data)
        return whole if len(self._clustered(found, data)) else found

    def _local_fit(self, whole: Fitted, clustered: Tensor, data: TrainingData) -> Fitted:
        """The fit at a narrow maximum, which the fit to all rewards takes for outliers.

        Its rewards are too few to shorten the lengthscales of all: the hyperparameters are those of
        the rewards about it. Tails are as heavy as those of all rewards, and other outliers
        stay what they are, for about the maximum there may be none.

        Args:
            whole: The fit to all rewards.
            clustered: Indices of the outliers that are beside each other.
            data: The observations.
        """
        part, rule = _around(clustered, data.unit), replace(self, effects=())
        first, subset = (part[_subset(len(part), most)] for most in (FEW_ENOUGH, MOST_FITTED))
        found = rule._fit_to(data, first, subset)
        weights = whole.weights.clone()
        weights[clustered] = found.weights[clustered]
        fitted = replace(found, weights=weights, dof=min(whole.dof, found.dof), part=part)
        weights, level = weights_together(self._mode(fitted, data))
        center = fitted.center + fitted.scale * level
        return replace(fitted, weights=weights.to(data.points.device), center=center)

    def _clustered(self, fitted: Fitted, data: TrainingData) -> Tensor:
        """Indices (k,) of outliers that are beside each other; see `CrossValidation.clustered`."""
        if len(data.rewards) > MOST_TOGETHER or not fitted.effects.is_none:
            return NO_INDICES
        doubts = bool((fitted.weights < OUTLIER_WEIGHT).any())
        return self._mode(fitted, data).cross_validation().clustered if doubts else NO_INDICES

    def _fit_to(self, data: TrainingData, first: Tensor, subset: Tensor) -> Fitted:
        """The fit to some rewards.

        Args:
            data: The observations.
            first: Indices of the rewards that choose where the ascent begins.
            subset: Indices of those that it goes on with.
        """
        apart, number = apart_from(self.limit, data.rewards), len(data.rewards)
        data = replace(data, rewards=apart(data.rewards))
        fitted = data.at(subset)
        search = Standardisation(
            data,
            first,
            FAMILIES[self.kernel],
            self.lengthscales,
            self._ascent,
            self.effects,
            self.of_zeros,
        )
        best, many = search.plain(), len(first) >= SHOWING
        if self.warped and many:
            best = search.on_levels(search.compressed(best))
        units = best.units
        mode, *rivals = self._ascent.converged(best.modes)
        weights = best.cautious.clone()
        weights[first] = mode.weights
        if len(subset) > len(first):
            evidence = evidence_in(fitted, units, mode.evidence.family, mode.evidence.prior)
            near = replace(mode, evidence=evidence, weights=weights[subset])
            mode, *rivals = self._ascent.onward(near)
        others: list[PosteriorMode] = []
        if many:
            mode, others = with_best_kernel(mode, self._families, self._ascent)
        effects = effects_of(fitted.conditions, self.effects)
        mode = with_effects(mode, effects, self._ascent)
        weights[subset] = mode.weights
        weights = completed_weights(weights, subset, mode, units, data)
        of_all = len(subset) == number
        return Fitted(
            **_of_mode(mode, weights, data, units.center, units.scale),
            scale=units.scale,
            warp=Chain((apart, *units.warp.parts)),
            rivals=[one.optimum for one in rivals] if of_all else (),
            others=[one.optimum for one in others] if of_all else (),
        )

    @property
    def _ascent(self) -> Ascent:
        return Ascent(self.dof, self.passes, self.steps)

    @property
    def _families(self) -> list[Family]:
        """All kernels; empty where there is one."""
        names = (self.kernel, *self.other_kernels) if self.other_kernels else ()
        return [FAMILIES[name] for name in names]

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
        if not 0 < number <= MOST_TOGETHER:
            return CERTAIN_HYPERPARAMETERS
        data = without(fitted.trend, data)
        mode = self._mode(fitted, data)
        evidence, y = mode.evidence, mode.evidence.rewards
        is_of_all = len(fitted.weights) == number  # else the kernels stay, as that of the fit does
        alone = number > MOST_FITTED or len(fitted.part)
        compared = [] if alone else with_other_kernels(evidence, self._families)
        if fitted.rivals or compared:
            mode = with_bound(mode)
        modes = [mode]
        if fitted.rivals:
            starts = [PosteriorMode.of(evidence, _on(one, mode.model, y)) for one in fitted.rivals]
            ends = self._ascent.converged(starts) if is_of_all else map(with_weights, starts)
            modes = distinct([mode, *ends])
        known = {other.family: other for other in fitted.others}
        for other in compared:
            end = known.get(other.family.name)
            # An ascent of the fit ended there, and a further one of so many rewards is dear.
            if end and len(end.weights) == number > FEW_ENOUGH and not other.effects:
                modes.append(PosteriorMode.of(other, end))
                continue
            stays = end is not None and not is_of_all
            start = PosteriorMode.of(
                other, mode.optimum if end is None else _on(end, mode.model, y)
            )
            modes.append(with_weights(start) if stays else self._ascent.nearby.climb(start))
        frame = Frame(data.lower, data.span, fitted.center, fitted.scale, fitted.prior_mean)
        mixture = Mixture(modes, frame=frame)
        if not self.microscale:
            return mixture
        shares = sampled_shares(evidence, mode.model, mode.weights, SAMPLES, self.microscale)
        return replace(mixture, shares=shares)

    def alternative(self, fitted: Fitted, data: TrainingData) -> tuple[HyperparameterFit, Fitted]:
        """The rule with another prior of the lengthscales, and its fit, if the data allow it.

        Args:
            fitted: What `fit` gave for these observations, or for the first of them.
            data: The observations.

        Returns:
            For the prior "long", the rule with "scaled" and where its ascent ends. The rule itself
            and `fitted` where the evidence is clearly against that, and for other priors, many
            rewards, many lengthscales, and hyperparameters of a part of the rewards.
        """
        is_few = 0 < len(data.rewards) <= FEW_ENOUGH and not len(fitted.part)
        if self.lengthscales != "long" or not is_few:
            return self, fitted
        mode = self._mode(fitted, without(fitted.trend, data))
        if len(mode.model.free) > MOST_DIRECTIONS:
            return self, fitted
        other = with_scaled_lengthscales(mode, self._ascent)
        if other is mode:
            return self, fitted
        known = _of_mode(other, other.weights, data, fitted.center, fitted.scale)
        return (
            replace(self, lengthscales="scaled"),
            replace(fitted, **known, rivals=(), others=()),
        )

    def contrasts(self, fitted: Fitted, data: TrainingData) -> dict[str, Contrast]:
        """The effects of conditions on the rewards.

        Their means are for the most likely hyperparameters; what is not known of these is part of
        their deviations, with up to 1,000 rewards.

        Args:
            fitted: What `fit` gave for these observations, or for the first of them.
            data: The observations.

        Returns:
            The effects (t,) by name, those that the data support.
        """
        if fitted.effects.is_none:
            return {}
        mode = self._mode(fitted, without(fitted.trend, data))
        means = _contrasts(mode, Sample(mode.model, mode.weights), data)
        few = len(data.rewards) <= MOST_TOGETHER
        samples = [_contrasts(mode, one, data) for one in mode.samples] if few else [means]
        inflation = mode.inflation if few else 1.0
        found = {}
        for name, (mean, _) in means.items():
            squares = [(one[name][0] - mean).square() + one[name][1] for one in samples]
            deviation = (inflation * torch.stack(squares).mean(0)).sqrt()
            found[name] = Contrast(fitted.scale * mean, fitted.scale * deviation)
        return found

    def _mode(self, fitted: Fitted, data: TrainingData) -> PosteriorMode:
        """The most likely hyperparameters of a fit, and the evidence in these rewards."""
        base = fitted.kernel.base_kernel
        scales = (base.lengthscale.detach().reshape(-1) / data.span).cpu()
        variance = float(fitted.kernel.outputscale)
        model = Hyperparameters.of(scales, data.group, variance, fitted.noise)
        model = replace(model, effects=fitted.effects.logs)
        every = torch.arange(len(data.rewards))
        family, prior = family_of(base), LENGTHSCALE_PRIORS[self.lengthscales]
        alone = evidence_in(data, fitted.units, family, prior)  # type: ignore[arg-type]
        effects = tuple(one.on(data.conditions) for one in fitted.effects.effects)
        weights = cautious_weights(alone.rewards, fitted.weights.cpu())
        known = replace(alone, effects=effects)
        mode = PosteriorMode(known, model, weights, fitted.dof, part=fitted.part)
        seen = every[: len(fitted.weights)]
        if not len(seen):
            return replace(mode, weights=weights_together(mode)[0])
        completed = completed_weights(  # further rewards may have come after the fit
            weights, seen, mode, fitted.units, data
        )
        return replace(mode, weights=completed)


def _kernel(model: Hyperparameters, family: Family, data: TrainingData) -> Kernel:
    base = family.kernel(model.lengthscales[data.group] * data.span.cpu())
    return kernels.scaled(base, model.variance).to(data.points.device)


def _of_mode(
    mode: PosteriorMode, weights: Tensor, data: TrainingData, center: float, scale: float
) -> dict[str, Any]:
    """Arguments of a `Fitted` by name, from a mode in such units and the weights of all rewards."""
    estimated = _estimated(mode)
    return {
        "kernel": _kernel(mode.model, mode.evidence.family, data),
        "noise": mode.model.noise,
        "dof": mode.dof,
        "center": center + scale * (mode.shift + estimated.level),
        "weights": weights.to(data.points.device),
        "effects": estimated,
    }


def _on(optimum: LocalOptimum, fitted: Hyperparameters, y: Tensor) -> LocalOptimum:
    """The optimum for more rewards, with the effects of conditions that were fitted."""
    model = replace(optimum.model, effects=fitted.effects)
    return replace(optimum, model=model, weights=cautious_weights(y, optimum.weights))


def _estimated(mode: PosteriorMode) -> EstimatedEffects:
    """Posterior mean of the effects of conditions."""
    effects = mode.evidence.effects
    if not effects:
        return NO_EFFECTS
    _, solved = mode.evidence.solved(mode.model, mode.weights)
    return EstimatedEffects(effects, mode.model.effects, solved)


def _contrasts(
    mode: PosteriorMode, at: Sample, data: TrainingData
) -> dict[str, tuple[Tensor, Tensor]]:
    """Mean and variance (t,) of each effect of conditions, under some hyperparameters."""
    inverse, solved = mode.evidence.solved(at.model, at.weights)
    found = {}
    for effect, logs in by_effect(mode.evidence.effects, at.model.effects):
        across, prior = effect.contrast(logs, data.conditions)
        variance = (prior - ((across @ inverse) * across).sum(-1)).clamp_min(0.0)
        found[effect.name] = across @ solved, variance
    return found


def _around(chosen: Tensor, points: Tensor) -> Tensor:
    """Indices of chosen points (k,) of all (t, d) and of those nearest to them, in order."""
    apart = torch.cdist(points, points[chosen]).amin(-1)
    apart[chosen] = -1.0  # before others at the same points
    number = len(chosen) + max(_LEAST_BESIDE, _BESIDE * len(chosen))
    return apart.argsort(stable=True)[:number].sort().values


def _subset(number: int, most: int) -> Tensor:
    """Indices of at most so many rewards, evenly spaced, with the last among them."""
    if number <= most:
        return torch.arange(number)
    return torch.linspace(0, number - 1, most).round().long()
