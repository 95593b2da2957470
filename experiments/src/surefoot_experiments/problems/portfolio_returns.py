"""Recorded returns of a trading strategy, and a smooth function fitted to them."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

import numpy as np
import torch
from scipy.optimize import minimize
from torch import Tensor
from torch.distributions import MultivariateNormal

from surefoot._internal.linalg import cholesky
from surefoot.types import InvalidInput

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
_LARGEST = 1e30  # a return whose square is still a number
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
        root = cholesky(_covariance(x, signal, noise))
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
    """Inputs (3000, 5) within [0, 1] and annual returns (3000,) in %, of a file or its folder.

    Raises `InvalidInput` for a file that is missing or holds something else, which names the row.
    """
    path = Path(data)
    path = path / FILE if path.is_dir() else path
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidInput(
            f"{path} cannot be read as a table, expected `{FILE}` with the columns "
            f"{', '.join(COLUMNS)}: {error}"
        ) from error
    header = tuple(name.strip() for name in rows[0]) if rows else ()
    if header != COLUMNS:
        raise InvalidInput(
            f"{path}, row 1 is {','.join(header)!r}, expected the columns {','.join(COLUMNS)}."
        )
    numbers = [_numbers(path, row, cells) for row, cells in enumerate(rows[1:], 2)]
    if len(numbers) != ROWS:
        raise InvalidInput(
            f"{path} has {len(numbers)} rows below its header, expected {ROWS}: is it whole?"
        )
    table = torch.tensor(numbers, dtype=torch.float64)
    return table[:, :-1], table[:, -1]


def _numbers(path: Path, row: int, cells: list[str]) -> list[float]:
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        numbers = []
    whole = len(numbers) == len(COLUMNS) and abs(numbers[-1]) <= _LARGEST
    if not whole or not all(0.0 <= number <= 1.0 for number in numbers[:-1]):
        raise InvalidInput(
            f"{path}, row {row} is {','.join(cells)!r}, expected {len(INPUTS)} numbers from 0 to 1 "
            f"and a return in % of at most {_LARGEST:g} in size."
        )
    return numbers
