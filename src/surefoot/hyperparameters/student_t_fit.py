"""Maximum a posteriori hyperparameters under Student-t noise, by a variational lower bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from surefoot import kernels
from surefoot._internal import checks
from surefoot.estimators.spread import robust_spread
from surefoot.estimators.student_t import cautious_weights, precision
from surefoot.hyperparameters.evidence import (
    LENGTHSCALE_PRIORS,
    MIN_NOISE,
    Hyperparameters,
    best_dof,
    expected_squares,
    log_likelihood,
    variational_bound,
)
from surefoot.regression.units import MAX_DEVIATIONS, RewardUnits
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

GAUSSIAN = 1e9
"""Degrees of freedom at which Student-t noise is Gaussian in float64; for `HyperparameterFit`."""

_MAX_FITTED = 150  # rewards that enter the fit, whose cost is cubic in them
_SMOOTHNESSES = (None, 0.5, 1.5, 2.5)  # None for the squared exponential kernel
_BOUNDS: dict[str, tuple[float | None, float | None]] = {  # wide, but nothing overflows in them
    "log_noise": (-16.0, 28.0),
    "kernel.raw_outputscale": (-10.0, 1e13),
    "kernel.base_kernel.raw_lengthscale": (-6.0, 1e3),
}
_NEW_SHARE = 0.01  # of the rewards, beyond which a fit is due
_OUTLIER = 0.1  # precision below which a reward counts as an outlier
_SHORT_START = 0.3  # of the initial lengthscales: little noise and a rough function, or the reverse
_RELATIVE_TOLERANCE = 1e-6  # of the objective, at which L-BFGS-B stops


@dataclass(frozen=True, eq=False)
class Fitted:
    """Hyperparameters fitted to observations, in standardised reward units.

    Standardised rewards are (y - `center`) / `scale`. They are f(x) plus Student-t noise with
    `dof` degrees of freedom and squared scale `noise`, where f has prior covariance `kernel`.

    Args:
        kernel: GPyTorch kernel of the coordinates as they were passed to the fit.
        noise: Squared scale of the noise, in standardised units.
        dof: Degrees of freedom of the noise; infinite where none were fitted.
        center: Prior mean of f, in reward units.
        scale: Unit of the standardised rewards, in reward units.
        weights: Precisions (t,) of the rewards relative to 1 / `noise`, near 1 for inliers and
            near 0 for outliers.
        empirical: Whether `center` and `scale` are only the location and scale of the rewards, so
            that an estimator may add an empirical-Bayes prior mean and output scale.
    """

    kernel: Kernel
    noise: float
    dof: float
    center: float
    scale: float
    weights: Tensor
    empirical: bool = False

    @property
    def units(self) -> RewardUnits:
        """The standardised units."""
        return RewardUnits(self.center, self.scale, self.empirical)


@dataclass(frozen=True, eq=False)
class _LocalOptimum:
    """State of one ascent of the variational bound."""

    model: Hyperparameters
    dof: float
    shift: float
    weights: Tensor
    bound: float = -math.inf


@dataclass(frozen=True)
class HyperparameterFit:
    """Fits kernel, noise scale and degrees of freedom to rewards that may contain outliers.

    Maximises a variational lower bound of the log evidence under Student-t noise, with priors. It
    alternates L-BFGS-B on the Gaussian marginal likelihood, given the precision of each reward,
    with closed-form updates of the precisions and degrees of freedom, given the kernel.

    The bound has several local optima, so the ascent is started several times and the best
    optimum is kept: from small precisions for rewards far from the median, and, if that leaves
    outliers, from equal precisions with long and with short lengthscales. So a spike is not taken
    for a maximum of f nor a maximum for a spike; nor, where a search has converged and most
    rewards are alike, all other rewards for outliers. The result depends on the observations
    only, not on earlier fits. At most 150 rewards, evenly spaced in time, enter the fit.

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
            interval then stops exploring: it needs "short". "flat" is no prior at all, neither of
            lengthscales nor of variances: maximum likelihood.

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
        >>> fitted = fit.fit(x, y, lower=torch.zeros(1), span=torch.ones(1))
        >>> int(fitted.weights.argmin()), bool(fitted.weights[5] < 0.01)
        (5, True)
    """

    nu: float | None = 2.5
    passes: int = 3
    steps: int = 40
    dof: float | None = None
    every: int = 1
    lengthscales: Literal["long", "short", "flat"] = "long"

    def __post_init__(self) -> None:
        if not isinstance(self.nu, float | None) or self.nu not in _SMOOTHNESSES:
            raise InvalidInput(f"`nu` is {checks.shown(self.nu)}, expected 0.5, 1.5, 2.5 or None.")
        for name in ("passes", "steps", "every"):
            checks.count(name, getattr(self, name))
        if self.dof is not None:
            checks.positive("dof", self.dof)
        checks.choice("lengthscales", self.lengthscales, *LENGTHSCALE_PRIORS)

    @property
    def lasting(self) -> bool:
        """Whether the kernel stays for the whole run."""
        return False

    def is_due(self, number: int, fitted_at: int) -> bool:
        """Whether to fit after `number` rewards, given the number at the last fit."""
        new = number - fitted_at
        return fitted_at == 0 or (new >= self.every and new > _NEW_SHARE * fitted_at)

    def fit(self, points: Tensor, rewards: Tensor, lower: Tensor, span: Tensor) -> Fitted:
        """Fit the hyperparameters to observations.

        Args:
            points: Observed points (t, d), one for each reward; without rewards, the
                hyperparameters are those that a fit starts from.
            rewards: Rewards (t,), in reward units.
            lower: Lower bounds (d,) of the space.
            span: Extents (d,) of the space, above 0.

        Returns:
            The hyperparameters, with the kernel in the units of `points`.
        """
        unit = ((points - lower) / span).cpu()  # small matrices, many steps: never on a GPU
        rewards = rewards.cpu()
        if not len(rewards):
            start = Hyperparameters(
                len(span), self.nu, 1.0, 1.0, LENGTHSCALE_PRIORS[self.lengthscales]
            )
            kernel = self._kernel(start, span).to(points.device)
            return Fitted(kernel, float(start.noise.detach()), 4.0, 0.0, 1.0, rewards)
        center, scale = self._location_and_scale(rewards)
        y = ((rewards - center) / scale).clamp(-MAX_DEVIATIONS, MAX_DEVIATIONS)
        subset = _subset(len(y))
        cautious = torch.ones_like(y) if self.dof == GAUSSIAN else cautious_weights(y)
        best = self._best_optimum(unit[subset], y[subset], cautious[subset])
        weights = cautious.clone()
        weights[subset] = best.weights
        with torch.no_grad():
            kernel = self._kernel(best.model, span).to(points.device)
            noise = float(best.model.noise)
        center += scale * best.shift
        return Fitted(kernel, noise, best.dof, center, scale, weights.to(points.device))

    def _location_and_scale(self, rewards: Tensor) -> tuple[float, float]:
        """Mean and deviation for Gaussian noise, median and robust deviation otherwise.

        Where a search has converged most rewards are alike, and their median absolute deviation
        is that of the noise.
        """
        deviation = float(rewards.std()) if len(rewards) > 1 else 0.0
        if self.dof == GAUSSIAN and 0.0 < deviation < math.inf:
            return float(rewards.mean()), deviation
        return float(rewards.median()), robust_spread(rewards)

    def _best_optimum(self, x: Tensor, y: Tensor, cautious: Tensor) -> _LocalOptimum:
        def ascend_from(weights: Tensor, share: float = 1.0) -> _LocalOptimum:
            power = float((weights * y.square()).sum() / weights.sum())
            power = max(power, MIN_NOISE)
            prior = LENGTHSCALE_PRIORS[self.lengthscales]
            model = Hyperparameters(x.shape[1], self.nu, power, share, prior)
            return self._ascend(_LocalOptimum(model, 4.0, 0.0, weights), x, y, 2, 12)

        optima = [] if self.dof == GAUSSIAN else [ascend_from(cautious)]
        if not optima or float(optima[0].weights.min()) < _OUTLIER:
            optima += [ascend_from(torch.ones_like(y), share) for share in (1.0, _SHORT_START)]
        best = max(optima, key=lambda optimum: optimum.bound)
        return self._ascend(best, x, y, self.passes, self.steps)

    def _ascend(
        self, start: _LocalOptimum, x: Tensor, y: Tensor, passes: int, steps: int
    ) -> _LocalOptimum:
        """Alternate updates of the kernel with updates of precisions and degrees of freedom."""
        model, dof, shift, weights = start.model, start.dof, start.shift, start.weights
        for _ in range(passes):
            _maximise(model, x, y, weights, steps)
            with torch.no_grad():
                for _ in range(8):
                    shift, squared = expected_squares(model, x, y, weights)
                    relative = squared / model.noise
                    weights = precision(relative, dof)
                    dof = self.dof or best_dof(relative)
        with torch.no_grad():
            weights = precision(relative, dof)
            bound = variational_bound(model, x, y, weights, relative, dof)
        return _LocalOptimum(model, dof, shift, weights, bound)

    def _kernel(self, model: Hyperparameters, span: Tensor) -> Kernel:
        lengthscale = model.kernel.base_kernel.lengthscale.detach().reshape(-1) * span.cpu()
        base = (
            kernels.squared_exponential(lengthscale)
            if self.nu is None
            else kernels.matern(self.nu, lengthscale)
        )
        return kernels.scaled(base, float(model.kernel.outputscale.detach()))


def _subset(number: int) -> Tensor:
    """Indices of at most `_MAX_FITTED` rewards, evenly spaced, with the last among them."""
    if number <= _MAX_FITTED:
        return torch.arange(number)
    return torch.linspace(0, number - 1, _MAX_FITTED).round().long()


def _maximise(model: Hyperparameters, x: Tensor, y: Tensor, weights: Tensor, steps: int) -> None:
    """Improve kernel and noise in place, by L-BFGS-B on the penalised marginal likelihood."""
    from botorch.optim.core import scipy_minimize

    parameters = dict(model.named_parameters())

    def closure() -> tuple[Tensor, Sequence[Tensor | None]]:
        value, surrogate = log_likelihood(model, x, y, weights)
        loss = -surrogate - model.log_prior()
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        return (loss + surrogate - value).detach(), gradients

    options = {"maxiter": steps, "ftol": _RELATIVE_TOLERANCE}
    scipy_minimize(closure, parameters, bounds=_BOUNDS, options=options)
