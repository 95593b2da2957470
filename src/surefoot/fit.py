"""Hyperparameters from data that may hold outliers: kernel, noise, tail and weights together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import Parameter

from surefoot import kernels
from surefoot._linalg import cholesky
from surefoot.estimators.student_t import cautious_weights, precision

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_DOFS = torch.tensor([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0], dtype=torch.float64)
_LEAST_NOISE = 1e-4  # of the signal's unit variance
LARGEST_FIT = 200  # rewards that the fit sees at the most; its cost is cubic in them


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


class _Model(torch.nn.Module):
    """Kernel and noise with weak priors, on the unit cube."""

    def __init__(self, dimension: int, nu: float | None) -> None:
        super().__init__()
        from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

        base = (
            RBFKernel(ard_num_dims=dimension)
            if nu is None
            else MaternKernel(nu=nu, ard_num_dims=dimension)
        )
        self.kernel = ScaleKernel(base).double()
        # Lengthscales that grow with sqrt(d): Hvarfner et al. 2024, "Vanilla BO works great in
        # high dimensions", eq. 6.
        self.location = math.sqrt(2.0) + 0.5 * math.log(dimension)
        self.kernel.base_kernel.lengthscale = math.exp(self.location - 3.0)
        self.kernel.outputscale = torch.tensor(1.0, dtype=torch.float64)
        self.log_noise = Parameter(torch.tensor(-2.0, dtype=torch.float64))

    @property
    def noise(self) -> Tensor:
        return _LEAST_NOISE + self.log_noise.exp()

    def log_prior(self) -> Tensor:
        log_scales = self.kernel.base_kernel.lengthscale.log()
        prior = -(0.5 * ((log_scales - self.location).square() / 3.0) + log_scales).sum()
        prior = prior - 0.5 * (self.kernel.outputscale.log() / 1.0).square()
        return prior - 0.5 * ((self.noise.log() + 3.0) / 2.0).square()


@dataclass(frozen=True)
class Learner:
    """Fits kernel, noise and tail by maximising the variational bound of Student-t noise.

    Alternates the marginal likelihood under the rewards' present precisions with the precisions
    and degrees of freedom under the present fit (Tipping and Lawrence 2005).
    """

    nu: float | None = 2.5
    passes: int = 3
    steps: int = 40
    dof: float | None = None

    def __call__(
        self,
        points: Tensor,  # (t, d)
        rewards: Tensor,  # (t,)
        lower: Tensor,
        span: Tensor,
        known: Tensor | None = None,  # (k,), precisions of the first k rewards, to begin with
        start: Learnt | None = None,
    ) -> tuple[Learnt, Tensor]:
        """What the data say, and the precisions (t,) of the rewards, near 1 for inliers."""
        unit = ((points - lower) / span).cpu()  # small matrices, many steps: never on a GPU
        rewards = rewards.cpu()
        centre = float(rewards.median())
        scale = robust_spread(rewards)
        y = (rewards - centre) / scale
        weights = cautious_weights(y, None if known is None else known.cpu())
        model = _Model(points.shape[1], self.nu)
        dof = 4.0
        if start is not None:
            _resume(model, start, span)
            dof = start.dof
        subset = _subset(len(y))
        x, t, w = unit[subset], y[subset], weights[subset]
        shift = 0.0
        cold = start is None
        for _ in range(self.passes if cold else 2):
            _maximise(model, x, t, w, self.steps if cold else self.steps // 2)
            with torch.no_grad():
                for _ in range(8):
                    shift, squared = _expected_squares(model, x, t, w)
                    relative = squared / model.noise
                    w = precision(relative, dof)
                    dof = self.dof or _best_dof(relative)
        weights[subset] = w
        with torch.no_grad():
            kernel = self._kernel(model, span)
        noise = float(model.noise.detach())
        learnt = Learnt(kernel.to(points.device), noise, dof, centre + scale * shift, scale)
        return learnt, weights.to(points.device)

    def _kernel(self, model: _Model, span: Tensor) -> Kernel:
        lengthscale = model.kernel.base_kernel.lengthscale.detach().reshape(-1) * span.cpu()
        base = (
            kernels.squared_exponential(lengthscale)
            if self.nu is None
            else kernels.matern(self.nu, lengthscale)
        )
        return kernels.scaled(base, float(model.kernel.outputscale.detach()))


def robust_spread(rewards: Tensor) -> float:
    """1.4826 times the median absolute deviation; else the standard deviation; else 1."""
    centred = (rewards - rewards.median()).abs()
    for spread in (1.4826 * float(centred.median()), float(centred.square().mean().sqrt())):
        if spread > 1e-12 * (1.0 + float(rewards.abs().max())):
            return spread
    return 1.0


def _subset(number: int) -> Tensor:
    """Evenly spaced rewards, the last among them, where there are too many to fit."""
    if number <= LARGEST_FIT:
        return torch.arange(number)
    return torch.linspace(0, number - 1, LARGEST_FIT).round().long()


def _resume(model: _Model, start: Learnt, span: Tensor) -> None:
    lengthscale = (start.kernel.base_kernel.lengthscale.detach().reshape(-1) / span).cpu()
    model.kernel.base_kernel.lengthscale = lengthscale.expand(
        model.kernel.base_kernel.lengthscale.shape
    )
    model.kernel.outputscale = start.kernel.outputscale.detach().cpu()
    model.log_noise.data = torch.tensor(max(start.noise - _LEAST_NOISE, 1e-6)).double().log()


def _maximise(model: _Model, x: Tensor, y: Tensor, weights: Tensor, steps: int) -> None:
    from botorch.optim.core import scipy_minimize

    parameters = dict(model.named_parameters())

    def closure() -> tuple[Tensor, Sequence[Tensor | None]]:
        value, surrogate = _log_likelihood(model, x, y, weights)
        loss = -surrogate - model.log_prior()
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        return (loss + surrogate - value).detach(), gradients

    scipy_minimize(closure, parameters, options={"maxiter": steps})


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


def _best_dof(squared: Tensor) -> float:
    """Degrees of freedom of largest likelihood on a grid, with a weak prior that favours many."""
    half = 0.5 * _DOFS
    log_density = (
        torch.lgamma(half + 0.5)
        - torch.lgamma(half)
        - 0.5 * _DOFS.log()
        - (half + 0.5) * torch.log1p(squared[:, None] / _DOFS)
    ).sum(0)
    prior = _DOFS.log() - 0.1 * _DOFS  # Gamma(2, 0.1), Juarez and Steel 2010
    return float(_DOFS[(log_density + prior).argmax()])
