"""Microscale variation: what single points deviate by from a function with a smooth covariance.

Without replicates it cannot be told from noise, and a fit takes the sum of both for noise. In a box
of many variables, few of whose combinations were ever measured, it can be the larger part.

References:
    Cressie 1993, "Statistics for Spatial Data", Section 3.2.1: the nugget effect as the sum of
    microscale variation and measurement error.
"""

from __future__ import annotations

import torch
from torch import Tensor

from surefoot._internal.linalg import cholesky
from surefoot.hyperparameters.evidence import Evidence, Hyperparameters
from surefoot.regression.noise import Noise


def sampled_shares(
    evidence: Evidence,
    model: Hyperparameters,
    weights: Tensor,
    number: int,
    expected: float = 0.5,
) -> Tensor:
    """Draws (number,) from the posterior of the share of the noise that is microscale variation.

    The prior is Beta(1, b), uniform for b = 1. Without replicates it is the posterior; with them,
    the likelihood of the rewards tells the two apart. The draws are quasi-random and in random
    order.

    Args:
        evidence: Evidence of the hyperparameters.
        model: The most likely ones, whose noise is the sum of both.
        weights: Precisions (n,) of the measurement errors, relative to their variance.
        number: How many.
        expected: Prior mean 1 / (1 + b) of the share.
    """

    def quantile(levels: Tensor) -> Tensor:  # of the prior
        return 1.0 - (1.0 - levels) ** (expected / (1.0 - expected))

    levels = (torch.arange(number, dtype=torch.float64) + 0.5) / number
    if float(evidence.same.sum()) > len(weights):
        signal = evidence.covariance_of_rewards(model)
        logs = [
            _log_likelihood(evidence, model, signal, weights, share) for share in quantile(levels)
        ]
        levels = _quantiles(torch.stack(logs).softmax(0), levels)
    return quantile(levels)[torch.randperm(number, generator=torch.Generator().manual_seed(0))]


def _log_likelihood(
    evidence: Evidence, model: Hyperparameters, signal: Tensor, weights: Tensor, share: Tensor
) -> Tensor:
    """Log marginal likelihood, up to a constant, for a share of microscale variation."""
    noise = Noise((1.0 - share) * model.noise, weights, evidence.errors)
    root = cholesky(signal + share * model.noise * evidence.same + torch.diag(noise.variances))
    columns = torch.stack([evidence.rewards, torch.ones_like(weights)], -1)
    solved, ones = torch.linalg.solve_triangular(root, columns, upper=False).T
    residual = solved - ones * (ones @ solved) / (ones @ ones)
    return -0.5 * (residual @ residual) - root.diagonal().log().sum()


def _quantiles(probabilities: Tensor, levels: Tensor) -> Tensor:
    """Quantiles of a density that is constant in cells of equal width between 0 and 1."""
    ends = torch.cat([probabilities.new_zeros(1), probabilities.cumsum(0)])
    cell = torch.searchsorted(ends, levels, right=True).clamp(1, len(probabilities)) - 1
    return (cell + (levels - ends[cell]) / probabilities[cell]) / len(probabilities)
