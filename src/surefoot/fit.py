"""Hyperparameters from data that may hold outliers: kernel, noise, tail and weights together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import torch
from torch import Tensor
from torch.nn import Parameter

from surefoot import kernels
from surefoot._linalg import cholesky
from surefoot.belief import FURTHEST
from surefoot.estimators.spread import robust_spread
from surefoot.estimators.student_t import cautious_weights, precision

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_DOFS = torch.tensor([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0], dtype=torch.float64)
_LEAST_NOISE = 1e-4  # of the spread of the rewards
_LEAST_SHARE = 1e-6  # of the signal's variance, so that its covariance can be factored
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


def _long(scales: Tensor) -> Tensor:
    """LogNormal(sqrt(2) + ln(d) / 2, sqrt(3)): Hvarfner et al. 2024, "Vanilla BO", eq. 6."""
    logs = scales.log()
    return -(0.5 * (logs - _usual(len(scales))).square() / 3.0 + logs).sum()


def _short(scales: Tensor) -> Tensor:
    """Gamma(3, 6): BoTorch's default until 2024."""
    return (2.0 * scales.log() - 6.0 * scales).sum()


def _usual(dimension: int) -> float:
    """The logarithm of lengthscales that grow with sqrt(d)."""
    return math.sqrt(2.0) + 0.5 * math.log(dimension)


_PRIORS = {"long": _long, "short": _short}


class _Model(torch.nn.Module):
    """Kernel and noise with weak priors, on the unit cube."""

    def __init__(
        self,
        dimension: int,
        nu: float | None,
        power: float = 1.0,
        share: float = 1.0,
        prior: Callable[[Tensor], Tensor] = _long,
    ) -> None:
        """`power` is a guess at the signal's variance, `share` of a usual lengthscale to start."""
        super().__init__()
        self.prior = prior
        from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

        base = (
            RBFKernel(ard_num_dims=dimension)
            if nu is None
            else MaternKernel(nu=nu, ard_num_dims=dimension)
        )
        self.kernel = ScaleKernel(base).double()
        self.kernel.base_kernel.lengthscale = share * math.exp(_usual(dimension) - 3.0)
        self.kernel.outputscale = torch.tensor(power, dtype=torch.float64)
        log_noise = math.log(power * share**2) - 2.0
        self.log_noise = Parameter(torch.tensor(log_noise, dtype=torch.float64))

    @property
    def noise(self) -> Tensor:
        floor = _LEAST_NOISE + _LEAST_SHARE * self.kernel.outputscale
        return floor + self.log_noise.exp()

    def log_prior(self) -> Tensor:
        prior = self.prior(self.kernel.base_kernel.lengthscale.reshape(-1))
        prior = prior - 0.5 * (self.kernel.outputscale.log() / 3.0).square()
        return prior - 0.5 * ((self.noise.log() + 3.0) / 3.0).square()


@dataclass(frozen=True, eq=False)
class _Fit:
    """Where one climb ended."""

    model: _Model
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
            power = max(power, _LEAST_NOISE)
            model = _Model(x.shape[1], self.nu, power, share, _PRIORS[self.lengthscales])
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
                    shift, squared = _expected_squares(model, x, y, weights)
                    relative = squared / model.noise
                    weights = precision(relative, dof)
                    dof = self.dof or _best_dof(relative)
        with torch.no_grad():
            weights = precision(relative, dof)
            bound = _bound(model, x, y, weights, relative, dof)
        return _Fit(model, dof, shift, weights, bound)

    def _kernel(self, model: _Model, span: Tensor) -> Kernel:
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


def _maximise(model: _Model, x: Tensor, y: Tensor, weights: Tensor, steps: int) -> None:
    from botorch.optim.core import scipy_minimize

    parameters = dict(model.named_parameters())

    def closure() -> tuple[Tensor, Sequence[Tensor | None]]:
        value, surrogate = _log_likelihood(model, x, y, weights)
        loss = -surrogate - model.log_prior()
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        return (loss + surrogate - value).detach(), gradients

    scipy_minimize(closure, parameters, bounds=_BOUNDS, options={"maxiter": steps, "ftol": _ENOUGH})


def _log_likelihood(model: _Model, x: Tensor, y: Tensor, weights: Tensor) -> tuple[Tensor, Tensor]:
    """Log marginal likelihood, and something cheaper that has the same gradient.

    With C the covariance and a = C^{-1}(y - shift), the gradient is that of
    tr((a a' - C^{-1}) C) / 2 with the bracket held, which spares the derivative of a factorisation.
    """
    covariance = kernels.block(model.kernel, x, x) + torch.diag(model.noise / weights)
    with torch.no_grad():
        root = cholesky(covariance)
        inverse = torch.cholesky_inverse(root)
        shift = (inverse @ y).sum() / inverse.sum()
        solved = inverse @ (y - shift)
        value = -0.5 * (y - shift) @ solved - root.diagonal().log().sum()
        bracket = 0.5 * (torch.outer(solved, solved) - inverse)
    return value, (bracket * covariance).sum()


def _expected_squares(model: _Model, x: Tensor, y: Tensor, weights: Tensor) -> tuple[float, Tensor]:
    """The constant mean, and E[(y - f)^2] at each reward under the posterior."""
    noise = model.noise / weights
    root = cholesky(kernels.block(model.kernel, x, x) + torch.diag(noise))
    inverse = torch.cholesky_inverse(root)
    shift = (inverse @ y).sum() / inverse.sum()
    residual = noise * (inverse @ (y - shift))
    variance = (noise - noise.square() * inverse.diagonal()).clamp_min(0.0)
    return float(shift), residual.square() + variance


def _bound(
    model: _Model, x: Tensor, y: Tensor, weights: Tensor, squared: Tensor, dof: float
) -> float:
    """The variational lower bound of the log evidence, with the priors of the hyperparameters.

    Each precision has the posterior Gamma((nu + 1) / 2, (nu + E[r^2] / s^2) / 2).
    """
    value, _ = _log_likelihood(model, x, y, weights)
    half = torch.tensor(0.5 * dof, dtype=torch.float64)
    shape, rate = half + 0.5, half + 0.5 * squared
    log_precision = torch.digamma(shape) - rate.log()
    prior = half * half.log() - torch.lgamma(half) + (half - 1.0) * log_precision - half * weights
    entropy = shape - rate.log() + torch.lgamma(shape) + (1.0 - shape) * torch.digamma(shape)
    terms = 0.5 * (log_precision - weights.log()) + prior + entropy
    return float(value + terms.sum() + model.log_prior() + _log_dof_prior(half * 2.0))


def _log_dof_prior(dof: Tensor) -> Tensor:
    """Gamma(2, 0.1), Juarez and Steel 2010: weak, in favour of many."""
    return dof.log() - 0.1 * dof


def _best_dof(squared: Tensor) -> float:
    """Degrees of freedom of largest likelihood on a grid, with a weak prior that favours many."""
    half = 0.5 * _DOFS
    log_density = (
        torch.lgamma(half + 0.5)
        - torch.lgamma(half)
        - 0.5 * _DOFS.log()
        - (half + 0.5) * torch.log1p(squared[:, None] / _DOFS)
    ).sum(0)
    return float(_DOFS[(log_density + _log_dof_prior(_DOFS)).argmax()])
