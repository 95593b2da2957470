"""Recorded returns of a trading strategy, and a smooth function fitted to them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.distributions import MultivariateNormal

from surefoot import InvalidInput
from surefoot_experiments.recorded_data import read_columns

FILE = "portfolio.csv"
ROWS = 3000
INPUTS = (
    "risk_aversion",
    "trade_aversion",
    "holding_cost_multiplier",
    "bid_ask_spread",
    "borrow_cost",
)
COLUMNS = (*INPUTS, "annual_return_percent")
_FITTED = 800  # rows that the hyperparameters are fitted to
_LEAST_NOISE = 1e-4  # of the variance of the returns
_PART = 256  # points whose covariance with all rows is held at once, in the cache


@dataclass(frozen=True, eq=False)
class PosteriorMean:
    """What a Gaussian process with a squared exponential kernel expects, given data.

    centre + sum of a_i exp(-|x - x_i|^2 / 2), in units of the lengthscales.
    """

    points: Tensor  # (t, d), over the lengthscales
    coefficients: Tensor  # (t,)
    lengthscales: Tensor  # (d,)
    centre: float

    @classmethod
    def fitted(
        cls,
        points: Tensor,  # (t, d)
        rewards: Tensor,  # (t,)
    ) -> PosteriorMean:
        """With the hyperparameters of largest likelihood on the first 800 rows, from all rows."""
        centre, scale = float(rewards.mean()), float(rewards.std())
        y = (rewards - centre) / scale
        lengthscales, signal, noise = _most_likely(points[:_FITTED], y[:_FITTED])
        x = points / lengthscales
        root = torch.linalg.cholesky(_covariance(x, signal, noise))
        solved = torch.cholesky_solve(y.unsqueeze(-1), root).squeeze(-1)
        return cls(x, scale * signal * solved, lengthscales, centre)

    def __call__(
        self,
        points: Tensor,  # (n, d)
    ) -> Tensor:  # (n,)
        """The mean at points."""
        x = points / self.lengthscales
        parts = [_alike(part, self.points) @ self.coefficients for part in x.split(_PART)]
        return self.centre + torch.cat(parts)


def _alike(left: Tensor, right: Tensor) -> Tensor:
    """exp(-|x - y|^2 / 2) for every pair (n, m), the exponent from one product of matrices."""
    left_half, right_half = (-0.5 * x.square().sum(-1, keepdim=True) for x in (left, right))
    left = torch.cat([left, left_half, torch.ones_like(left_half)], -1)
    right = torch.cat([right, torch.ones_like(right_half), right_half], -1)
    return (left @ right.T).exp_()


def _covariance(x: Tensor, signal: float | Tensor, noise: float | Tensor) -> Tensor:
    return signal * _alike(x, x) + noise * torch.eye(len(x), dtype=x.dtype)


def _most_likely(x: Tensor, y: Tensor) -> tuple[Tensor, float, float]:
    """Lengthscales (d,), variances of signal and noise, by maximum likelihood."""

    def loss(logs: np.ndarray) -> tuple[float, np.ndarray]:
        hyper = torch.from_numpy(logs).requires_grad_()
        *_, signal, noise = hyper.exp().unbind()
        root = torch.linalg.cholesky(_covariance(x / hyper[:-2].exp(), signal, noise))
        law = MultivariateNormal(torch.zeros_like(y), scale_tril=root, validate_args=False)
        value = -law.log_prob(y)
        value.backward()
        return value.item(), hyper.grad.numpy()  # type: ignore[union-attr]

    wide = [(-4.0, 4.0)] * (x.shape[1] + 1) + [(math.log(_LEAST_NOISE), 0.0)]
    start = np.array([-1.0] * x.shape[1] + [0.0, -4.0])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=wide, options={"ftol": 1e-6})
    *_, signal, noise = np.exp(found.x).tolist()
    return torch.from_numpy(np.exp(found.x[:-2])), signal, noise


def read(data: str | PathLike[str]) -> tuple[Tensor, Tensor]:
    """The simulated strategies and their returns.

    Args:
        data: The file, or its folder.

    Returns:
        Inputs (3000, 5) within [0, 1], and annual returns (3000,) in %.

    Raises:
        InvalidInput: The file is missing or malformed; the message names the line.
    """
    path = Path(data)
    path = path / FILE if path.is_dir() else path
    table = read_columns(path, header=True)
    names = tuple(name.strip() for name in table.columns)
    if names != COLUMNS:
        raise InvalidInput(
            f"{path}, line 1 is {','.join(names)!r}, expected the columns {','.join(COLUMNS)}."
        )
    if len(table) != ROWS:
        raise InvalidInput(
            f"{path} has {len(table)} rows below its header, expected {ROWS}: is it complete?"
        )
    numbers = torch.from_numpy(np.array(table, order="C"))
    points, returns = numbers[:, :-1], numbers[:, -1]
    outside = ((points < 0.0) | (points > 1.0)).any(-1).nonzero()
    if len(outside):
        row = int(outside[0])
        raise InvalidInput(
            f"{path}, row {row + 1} below the header has the inputs {points[row].tolist()}, "
            "expected numbers from 0 to 1."
        )
    return points, returns
