"""Hyperparameters from data that may hold outliers: kernel, noise, tail and weights together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor

from surefoot import kernels
from surefoot.estimators.spread import robust_spread
from surefoot.estimators.student_t import cautious_weights, precision
from surefoot.hyperparameters.evidence import (
    LEAST_NOISE,
    PRIORS,
    Hyperparameters,
    best_dof,
    expected_squares,
    log_likelihood,
    variational_bound,
)
from surefoot.optimizer.belief import FURTHEST

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_BOUNDS: dict[str, tuple[float | None, float | None]] = {  # wide, but nothing overflows in them
    "log_noise": (-16.0, 28.0),
    "kernel.raw_outputscale": (-10.0, 1e13),
    "kernel.base_kernel.raw_lengthscale": (-6.0, 1e3),
}
_DOUBTFUL = 0.1  # weight of a reward that may be no outlier after all
_SHORT = 0.3  # of the usual lengthscales: little noise and a wiggly function, or the reverse?
_ENOUGH = 1e-6  # relative gain of the bound below which a climb ends
GAUSSIAN = 1e9  # degrees of freedom
LARGEST_FIT = 150  # rewards that the fit sees at the most; its cost is cubic in them


@dataclass(frozen=True, eq=False)
class Learnt:
    """What the data say of the function and the noise, in standardised reward units.

    Rewards are (y - centre) / scale in them; the noise is Student-t with `dof` degrees of freedom
    and squared scale `noise`.
    """

    kernel: Kernel
    noise: float
    dof: float
    centre: float
    scale: float


@dataclass(frozen=True, eq=False)
class _Fit:
    """Where one climb ended."""

    model: Hyperparameters
    dof: float
    shift: float
    weights: Tensor
    bound: float = -math.inf


@dataclass(frozen=True)
class Learner:
    """Fits kernel, noise and tail by maximising the variational bound of Student-t noise.

    Alternates the marginal likelihood under the rewards' present precisions with the precisions
    and degrees of freedom under the present fit (Tipping and Lawrence 2005). The bound has several
    optima: it is climbed from small weights for rewards far from the median and, if that ends with
    outliers, from equal weights too, once with short lengthscales, and the highest end counts. So
    neither is a spike taken for a peak nor a peak for a spike nor, where most rewards are those of
    a search that homed in, all the others for outliers. What is learnt depends on the data alone,
    not on what was learnt before. `dof` fixes the degrees of freedom (`GAUSSIAN` for Gaussian
    noise), `nu` is the smoothness of the Matern kernel (None: squared exponential), and a fit is
    made again after `every` rewards at the soonest. `lengthscales` says which prior they have on
    the unit cube: "long" ones, which grow with sqrt(d), or "short" ones of about a third. The few
    rewards of a search hardly tell a function that does not vary from one that varies slowly, and
    a policy that trusts its interval would stay where it is: it wants short ones.
    """

    nu: float | None = 2.5
    passes: int = 3
    steps: int = 40
    dof: float | None = None
    every: int = 1
    lengthscales: Literal["long", "short"] = "long"

    def __call__(
        self,
        points: Tensor,  # (t, d)
        rewards: Tensor,  # (t,)
        lower: Tensor,
        span: Tensor,
    ) -> tuple[Learnt, Tensor]:
        """What the data say, and the precisions (t,) of the rewards, near 1 for inliers."""
        unit = ((points - lower) / span).cpu()  # small matrices, many steps: never on a GPU
        rewards = rewards.cpu()
        centre, scale = self._units(rewards)
        y = ((rewards - centre) / scale).clamp(-FURTHEST, FURTHEST)
        subset = _subset(len(y))
        cautious = torch.ones_like(y) if self.dof == GAUSSIAN else cautious_weights(y)
        best = self._search(unit[subset], y[subset], cautious[subset])
        weights = cautious.clone()
        weights[subset] = best.weights
        with torch.no_grad():
            kernel = self._kernel(best.model, span).to(points.device)
            noise = float(best.model.noise)
        learnt = Learnt(kernel, noise, best.dof, centre + scale * best.shift, scale)
        return learnt, weights.to(points.device)

    def _units(self, rewards: Tensor) -> tuple[float, float]:
        """Where rewards have their zero, and what is one: their mean and deviation, or robustly so.

        Most rewards of a search that homes in are alike, and a median deviation is the noise then.
        """
        deviation = float(rewards.std()) if len(rewards) > 1 else 0.0
        if self.dof == GAUSSIAN and 0.0 < deviation < math.inf:
            return float(rewards.mean()), deviation
        return float(rewards.median()), robust_spread(rewards)

    def _search(self, x: Tensor, y: Tensor, cautious: Tensor) -> _Fit:
        def begin(weights: Tensor, share: float = 1.0) -> _Fit:
            power = float((weights * y.square()).sum() / weights.sum())
            power = max(power, LEAST_NOISE)
            model = Hyperparameters(x.shape[1], self.nu, power, share, PRIORS[self.lengthscales])
            return self._climb(_Fit(model, 4.0, 0.0, weights), x, y, 2, 12)

        begun = [] if self.dof == GAUSSIAN else [begin(cautious)]
        if not begun or float(begun[0].weights.min()) < _DOUBTFUL:
            begun += [begin(torch.ones_like(y), share) for share in (1.0, _SHORT)]
        best = max(begun, key=lambda fit: fit.bound)
        return self._climb(best, x, y, self.passes, self.steps)

    def _climb(self, start: _Fit, x: Tensor, y: Tensor, passes: int, steps: int) -> _Fit:
        """Hyperparameters and weights in turn, from where another climb ended."""
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
        return _Fit(model, dof, shift, weights, bound)

    def _kernel(self, model: Hyperparameters, span: Tensor) -> Kernel:
        lengthscale = model.kernel.base_kernel.lengthscale.detach().reshape(-1) * span.cpu()
        base = (
            kernels.squared_exponential(lengthscale)
            if self.nu is None
            else kernels.matern(self.nu, lengthscale)
        )
        return kernels.scaled(base, float(model.kernel.outputscale.detach()))


def _subset(number: int) -> Tensor:
    """Evenly spaced rewards, the last among them, where there are too many to fit."""
    if number <= LARGEST_FIT:
        return torch.arange(number)
    return torch.linspace(0, number - 1, LARGEST_FIT).round().long()


def _maximise(model: Hyperparameters, x: Tensor, y: Tensor, weights: Tensor, steps: int) -> None:
    from botorch.optim.core import scipy_minimize

    parameters = dict(model.named_parameters())

    def closure() -> tuple[Tensor, Sequence[Tensor | None]]:
        value, surrogate = log_likelihood(model, x, y, weights)
        loss = -surrogate - model.log_prior()
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        return (loss + surrogate - value).detach(), gradients

    scipy_minimize(closure, parameters, bounds=_BOUNDS, options={"maxiter": steps, "ftol": _ENOUGH})
