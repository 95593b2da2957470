"""Marginal likelihood of Gaussian noise, and a variational bound of it for Student-t noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import Parameter

from surefoot import kernels
from surefoot._internal.linalg import cholesky

MIN_NOISE = 1e-4  # in squared standardised units
_MIN_NOISE_TO_SIGNAL = 1e-6  # of the signal variance, so that the covariance can be factored
_DOFS = torch.tensor([1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 10.0, 20.0, 50.0], dtype=torch.float64)


def _long(scales: Tensor) -> Tensor:
    """Log density, up to a constant, of LogNormal(sqrt(2) + ln(d) / 2, sqrt(3)).

    Hvarfner et al. 2024, "Vanilla Bayesian optimization performs great in high dimensions", eq. 6.
    """
    logs = scales.log()
    return -(0.5 * (logs - _log_median(len(scales))).square() / 3.0 + logs).sum()


def _short(scales: Tensor) -> Tensor:
    """Log density, up to a constant, of Gamma(3, 6), BoTorch's default until 2024."""
    return (2.0 * scales.log() - 6.0 * scales).sum()


def _log_median(dimension: int) -> float:
    """Logarithm of the prior median of the lengthscales, which grows with sqrt(d)."""
    return math.sqrt(2.0) + 0.5 * math.log(dimension)


def _flat(scales: Tensor) -> Tensor:
    """Log density, up to a constant, of the improper uniform prior."""
    return scales.new_zeros(())


LENGTHSCALE_PRIORS = {"long": _long, "short": _short, "flat": _flat}


class Hyperparameters(torch.nn.Module):
    """Kernel and noise variance as trainable parameters with weak priors, on the unit cube.

    Args:
        dimension: Number of coordinates d.
        nu: Smoothness of the Matérn kernel, None for the squared exponential.
        power: Initial signal variance.
        share: Initial lengthscales, as a multiple of the default initial ones.
        prior: Log density of the lengthscales (d,).
    """

    def __init__(
        self,
        dimension: int,
        nu: float | None,
        power: float,
        share: float,
        prior: Callable[[Tensor], Tensor],
    ) -> None:
        super().__init__()
        self.prior = prior
        from gpytorch.kernels import MaternKernel, RBFKernel, ScaleKernel

        base = (
            RBFKernel(ard_num_dims=dimension)
            if nu is None
            else MaternKernel(nu=nu, ard_num_dims=dimension)
        )
        self.kernel = ScaleKernel(base).double()
        self.kernel.base_kernel.lengthscale = share * math.exp(_log_median(dimension) - 3.0)
        self.kernel.outputscale = torch.tensor(power, dtype=torch.float64)
        log_noise = math.log(power * share**2) - 2.0
        self.log_noise = Parameter(torch.tensor(log_noise, dtype=torch.float64))

    @property
    def noise(self) -> Tensor:
        """Noise variance, with a floor."""
        floor = MIN_NOISE + _MIN_NOISE_TO_SIGNAL * self.kernel.outputscale
        return floor + self.log_noise.exp()

    def log_prior(self) -> Tensor:
        """Log prior density of all parameters, up to a constant; 0 with a flat prior."""
        if self.prior is _flat:
            return _flat(self.log_noise)
        prior = self.prior(self.kernel.base_kernel.lengthscale.reshape(-1))
        prior = prior - 0.5 * (self.kernel.outputscale.log() / 3.0).square()
        return prior - 0.5 * ((self.noise.log() + 3.0) / 3.0).square()


def log_likelihood(
    model: Hyperparameters, x: Tensor, y: Tensor, weights: Tensor
) -> tuple[Tensor, Tensor]:
    """Log marginal likelihood, and a surrogate that has the same gradient.

    With C the covariance and a = C^{-1}(y - shift), the gradient is that of
    tr((a a' - C^{-1}) C) / 2 with the bracket held constant, which avoids differentiating a
    factorisation (Rasmussen and Williams 2006, eq. 5.9).
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
    """The generalised least-squares mean, and E[(y - f)^2] (t,) under the posterior of f."""
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
    """Variational lower bound of the log evidence plus the log prior of the hyperparameters.

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
    """Log density, up to a constant, of Gamma(2, 0.1) (Juárez and Steel 2010)."""
    return dof.log() - 0.1 * dof


def best_dof(squared: Tensor) -> float:
    """Maximum a posteriori degrees of freedom on a grid, given squared residuals (t,) in units of
    the noise scale.
    """
    half = 0.5 * _DOFS
    log_density = (
        torch.lgamma(half + 0.5)
        - torch.lgamma(half)
        - 0.5 * _DOFS.log()
        - (half + 0.5) * torch.log1p(squared[:, None] / _DOFS)
    ).sum(0)
    return float(_DOFS[(log_density + _log_dof_prior(_DOFS)).argmax()])
