"""Second derivatives of the log marginal likelihood in the hyperparameters."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from surefoot._internal.linalg import Floats
from surefoot.hyperparameters.evidence import Evidence, Hyperparameters
from surefoot.hyperparameters.nuisance_effects import NuisanceEffect, by_effect

STEP = 1e-3
"""In the logarithms, between the gradients of what costs little."""


def hessian(evidence: Evidence, model: Hyperparameters, weights: Tensor) -> Floats:
    r"""Second derivatives (g + 2 + e, g + 2 + e) of `Evidence.log_likelihood`.

    With C the covariance, P what is left of its inverse by the unknown mean, a = P y and
    B = (a a' - C^{-1}) / 2, the derivative in parameters i and j is
    :math:`tr(B C_{ij}) - a' C_i P C_j a + tr(C^{-1} C_i C^{-1} C_j) / 2`. That takes one product of
    matrices a parameter, where differences of gradients take two factorisations and inverses.

    Args:
        evidence: The evidence.
        model: Hyperparameters.
        weights: Precisions (n,) of the rewards, relative to the noise.

    References:
        Rasmussen and Williams 2006, Section 5.4.1, for the first derivatives.
    """
    at, effects, by_noise, found = evidence.marginal(model, weights)
    groups, number = len(model.logs) - 2, len(found.solved)
    variance, noise = groups, groups + 1
    inverse = found.inverse
    bracket = 0.5 * (np.multiply.outer(found.solved, found.solved) - inverse)

    # Derivatives of the covariance, which products with its inverse overwrite later.
    changes = np.zeros((len(model.free), number, number))
    rows = changes.reshape(len(changes), -1)
    for group, column in zip(evidence.group.tolist(), at.scaled.T, strict=True):
        changes[group] += np.square(np.subtract.outer(column, column))
    second = np.zeros((len(changes), len(changes)))
    bent = (bracket * at.bend()).reshape(-1)
    for i in range(groups):
        second[i, i:groups] = second[i:groups, i] = rows[i:groups] @ (rows[i] * bent)
    changes[:groups] *= at.slope
    changes[variance] = at.signal
    changes[variance].flat[:: number + 1] += by_noise.of_variance
    changes[noise].flat[:: number + 1] = by_noise.of_excess
    slopes = [slope.numpy() for effect in effects for slope in effect.slopes]
    for i, slope in enumerate(slopes, noise + 1):
        changes[i] = slope

    gradient = rows @ bracket.reshape(-1)
    second[:groups, variance] = second[variance, :groups] = gradient[:groups]
    diagonal = np.concatenate([-2.0 * gradient[:groups], gradient[groups : noise + 1]])
    second.flat[: len(second) * len(diagonal) : len(second) + 1] += diagonal
    first = noise + 1
    for effect, logs in by_effect(evidence.effects, model.effects):
        own = slice(first, first + len(logs))
        second[own, own] = _of_effect(effect, logs, bracket)
        first = own.stop

    moved, sums = changes @ found.solved, inverse.sum(0)
    projected = moved @ inverse - np.multiply.outer(moved @ sums, sums / sums.sum())
    left, each = torch.from_numpy(inverse), torch.from_numpy(changes)
    for i in range(len(changes)):  # products by torch, which is faster than NumPy
        changes[i] = inverse * by_noise.of_excess if i == noise else torch.mm(left, each[i])
    traces = np.zeros_like(second)
    for i in range(len(changes)):
        traces[i, i:] = traces[i:, i] = rows[i:] @ changes[i].T.reshape(-1)
    return second - moved @ projected.T + 0.5 * traces


def _of_effect(effect: NuisanceEffect, logs: Tensor, bracket: Floats) -> Floats:
    """Sum (e, e) of the second derivatives of the covariance of an effect, by differences."""

    def slopes(at: Tensor) -> Floats:
        return np.array([np.vdot(bracket, one.numpy()) for one in effect.covariance(at).slopes])

    moves = STEP * np.eye(len(logs))
    rows = [
        slopes(logs + logs.new_tensor(one)) - slopes(logs - logs.new_tensor(one)) for one in moves
    ]
    return np.stack(rows) / (2.0 * STEP)
