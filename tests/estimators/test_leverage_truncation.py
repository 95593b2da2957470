"""Truncation by leverage against kernel matrices, one reward after another."""

import math

import numpy as np
import pytest
import torch

import surefoot as sf
from reference.agreement import agree

GRID = np.linspace(0.0, 1.0, 9)[:, None]
TOLD = np.array([0, 4, 4, 8, 2, 4, 7, 4, 1, 8])
RIDGE, B, DELTA = 0.7, 1.5, 0.1
KERNEL = sf.kernels.squared_exponential(0.3)


def literal(v: float, a: float, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """notes/guarantees.md, Proposition 4: mean and reach (A,), eta = 1.25 and kappa = 1."""
    x = GRID[TOLD[: len(y)]]
    k = np.exp(-((x[:, None] - GRID[None]) ** 2).sum(-1) / (2 * 0.3**2))
    K = k[:, TOLD[: len(y)]]
    h = [
        math.sqrt((K[:s, :s] @ np.linalg.inv(K[:s, :s] + RIDGE * np.eye(s)))[-1, -1])
        for s in range(1, len(y) + 1)
    ]
    H, j = sum(one ** (1 + a) for one in h), 0
    while 2**j < H:
        j += 1
    L, eta, kappa = math.log(2 * (j + 1) * (j + 2) / DELTA), 1.25, 1.0
    g = math.exp(eta) - 1 - eta
    r = (2 / eta) / (a * (2 * g / eta + 1))
    b = (v * 2**j / (L * r)) ** (1 / (1 + a))
    A = 2 * b * L / eta + 2 * g / eta * v * b**-a * 2**j
    Q = 4 * b**2 * L / kappa + (math.exp(kappa) - 1) / kappa * v * b ** (1 - a) * 2**j
    width = B + (A + math.sqrt(Q) + v * b**-a * 2**j) / math.sqrt(RIDGE)
    kept = np.where(np.array(h) * np.abs(y) <= b, y, 0.0)
    inverse = np.linalg.inv(K + RIDGE * np.eye(len(y)))
    deviation = np.sqrt(1.0 - np.einsum("tn,ts,sn->n", k, inverse, k))
    return k.T @ inverse @ kept, width * deviation


@pytest.mark.parametrize("alpha", [0.3, 1.0])
@pytest.mark.parametrize("at_once", [False, True])
def test_mean_and_width_are_those_of_the_proposition(alpha: float, at_once: bool) -> None:
    moment = sf.Moment(alpha, 0.5)
    rewards = np.array([1.0, -50.0, 0.4, 3.0, 200.0, 0.1, -0.2, -2.0, 900.0, 1.5])
    optimizer = sf.Optimizer(
        sf.Arms(GRID),
        KERNEL,
        estimator=sf.estimators.LeverageTruncation(moment, DELTA),
        width=sf.widths.leverage_truncated(moment, B, DELTA),
        ridge=RIDGE,
    )
    if at_once:
        optimizer.tell_all(TOLD.tolist(), rewards)
    for number, (arm, reward) in enumerate(zip(TOLD.tolist(), rewards.tolist(), strict=True), 1):
        if not at_once:
            info = optimizer.tell(arm, reward)
            assert info.round == number
        if not at_once or number == len(rewards):
            mean, _, upper = optimizer.belief().ends(torch.from_numpy(GRID))
            expected, reach = literal(
                moment.bound, alpha, rewards[: len(optimizer.belief().observations)]
            )
            agree(mean, expected)
            agree(upper - mean, reach)
    assert optimizer.belief().outcome.inferred.estimate.truncated > 0
