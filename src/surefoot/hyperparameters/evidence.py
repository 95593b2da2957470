"""How well hyperparameters go with data: kernel and noise, likelihood, and a bound with tails."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import Parameter

from surefoot import kernels
from surefoot._internal.linalg import cholesky

LEAST_NOISE = 1e-4  # of the spread of the rewards
_LEAST_SHARE = 1e-6  # of the signal's variance, so that its covariance can be factored
_DOFS = torch.tensor([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0], dtype=torch.float64)


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


PRIORS = {"long": _long, "short": _short}


class Hyperparameters(torch.nn.Module):
    """Kernel and noise with weak priors, on the unit cube."""

    def __init__(
        self,
        dimension: int,
        nu: float | None,
        power: float,
        share: float,
        prior: Callable[[Tensor], Tensor],
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
        floor = LEAST_NOISE + _LEAST_SHARE * self.kernel.outputscale
        return floor + self.log_noise.exp()

    def log_prior(self) -> Tensor:
        prior = self.prior(self.kernel.base_kernel.lengthscale.reshape(-1))
        prior = prior - 0.5 * (self.kernel.outputscale.log() / 3.0).square()
        return prior - 0.5 * ((self.noise.log() + 3.0) / 3.0).square()


def log_likelihood(
    model: Hyperparameters, x: Tensor, y: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
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


def expected_squares(
    model: Hyperparameters, x: Tensor, y: Tensor, weights: Tensor
) -> tuple[float, Tensor]:
    """The constant mean, and E[(y - f)^2] at each reward under the posterior."""
    noise = model.noise / weights
    root = cholesky(kernels.block(model.kernel, x, x) + torch.diag(noise))
    inverse = torch.cholesky_inverse(root)
    shift = (inverse @ y).sum() / inverse.sum()
    residual = noise * (inverse @ (y - shift))
    variance = (noise - noise.square() * inverse.diagonal()).clamp_min(0.0)
    return float(shift), residual.square() + variance


def variational_bound(
    model: Hyperparameters, x: Tensor, y: Tensor, weights: Tensor, squared: Tensor, dof: float
) -> float:
    """The variational lower bound of the log evidence, with the priors of the hyperparameters.

    Each precision has the posterior Gamma((nu + 1) / 2, (nu + E[r^2] / s^2) / 2).
    """
    value, _ = log_likelihood(model, x, y, weights)
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


def best_dof(squared: Tensor) -> float:
    """Degrees of freedom of largest likelihood on a grid, with a weak prior that favours many."""
    half = 0.5 * _DOFS
    log_density = (
        torch.lgamma(half + 0.5)
        - torch.lgamma(half)
        - 0.5 * _DOFS.log()
        - (half + 0.5) * torch.log1p(squared[:, None] / _DOFS)
    ).sum(0)
    return float(_DOFS[(log_density + _log_dof_prior(_DOFS)).argmax()])
