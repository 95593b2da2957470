"""The estimate is the ridge solution of what truncation by leverage keeps."""

import math

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot_experiments.tuning_free import (
    TuningFreeTruncation,
    tuning_free,
    tuning_free_gp_ucb,
)

LINE = torch.linspace(0.0, 1.0, 15, dtype=torch.float64).unsqueeze(-1)
KERNEL = sf.kernels.squared_exponential(0.2)
DELTA = 0.1


def literal(
    x: np.ndarray, y: np.ndarray, lengthscale: float, ridge: float, at: np.ndarray
) -> tuple[np.ndarray, float, int]:
    """The estimate in the kernel's own terms: h^2 = k(x)'(K + ridge I)^{-1} k(x) for a pull x."""
    kernel = np.exp(-0.5 * ((x[:, None] - x[None]) / lengthscale) ** 2)
    inverse = np.linalg.inv(kernel + ridge * np.eye(len(x)))
    h = np.sqrt(np.diag(kernel @ inverse))
    logarithm = min(math.log(math.pi**2 * len(x) ** 2 / (3 * DELTA)), len(x) / 2)
    c, low, high = h * np.abs(y), 0.0, 1e12
    for _ in range(200):
        b = (low + high) / 2
        low, high = (b, high) if np.minimum(c**2, b**2).sum() > b**2 * logarithm else (low, b)
    kept = np.where(c > high, 0.0, y)
    columns = np.exp(-0.5 * ((at[:, None] - x[None]) / lengthscale) ** 2)
    return columns @ (inverse @ kept), high, int((c > high).sum())


@pytest.mark.parametrize("number", [1, 3, 8, 40, 300])
def test_it_is_the_literal_estimate(number: int) -> None:
    generator = np.random.default_rng(number)
    arms = generator.integers(0, len(LINE), number)
    y = 2.0 + generator.standard_t(1.3, number) * 5.0
    optimizer = tuning_free_gp_ucb(sf.Arms(LINE), KERNEL, norm_bound=1.0, ridge=0.7)
    info = optimizer.tell_all(arms.tolist(), y.tolist())
    points = LINE[:, 0].numpy()
    mean, threshold, truncated = literal(points[arms], y, 0.2, 0.7, points)
    assert torch.allclose(
        optimizer.belief().posterior.mean(optimizer.space.points), torch.from_numpy(mean), atol=1e-7
    )
    assert info.truncated_total == truncated
    logarithm = math.log(math.pi**2 * number**2 / (3 * DELTA))
    expected = 1.0 + (4.1 + 3.8 * 2.0) * threshold * logarithm / math.sqrt(0.7)
    assert optimizer.width == pytest.approx(expected, rel=1e-6)


@pytest.mark.long
def test_the_bounds_hold_where_tails_are_regular() -> None:
    """At every arm and time; the bound has room: without a factor 0.05 it would never fail."""
    truth = torch.sin(6.0 * LINE[:, 0])
    outside = []
    for seed in range(20):
        generator = np.random.default_rng(seed)
        optimizer = tuning_free_gp_ucb(sf.Arms(LINE), KERNEL, norm_bound=8.0)
        for _ in range(30):
            arms = generator.integers(0, len(LINE), 10)
            noise = generator.choice([-1.0, 1.0], 10) * generator.pareto(2.0, 10)
            optimizer.tell_all(arms.tolist(), (truth[arms].numpy() + noise).tolist())
            mean, deviation = optimizer.belief().posterior.mean_and_deviation(
                optimizer.space.points
            )
            outside.append(bool(((truth - mean).abs() > optimizer.width * deviation).any()))
    assert sum(outside) == 0


def test_outliers_do_not_bend_it() -> None:
    arms, y = list(range(15)) * 20, [1.0] * 300
    plain = tuning_free_gp_ucb(sf.Arms(LINE), KERNEL)
    plain.tell_all(arms, y)
    bent = tuning_free_gp_ucb(sf.Arms(LINE), KERNEL)
    bent.tell_all(arms, [*y[:-3], 1e9, -1e12, 1e15])
    points = plain.space.points
    assert torch.allclose(
        plain.belief().posterior.mean(points),
        bent.belief().posterior.mean(bent.space.points),
        atol=0.1,
    )


def test_all_rewards_zero() -> None:
    optimizer = tuning_free_gp_ucb(sf.Arms(LINE), KERNEL, norm_bound=1.0)
    info = optimizer.tell_all([0, 1, 2], [0.0, 0.0, 0.0])
    assert (info.truncated, optimizer.width) == (0, 1.0)


@pytest.mark.parametrize("options", [{"delta": 0.0}, {"delta": 1.0}, {"delta": "x"}])
def test_a_wrong_delta_is_refused(options: dict) -> None:
    with pytest.raises(sf.InvalidInput, match="delta"):
        TuningFreeTruncation(**options)


@pytest.mark.parametrize("tail", [0.5, 0.0, math.nan, "x"])
def test_a_wrong_tail_is_refused(tail: object) -> None:
    with pytest.raises(sf.InvalidInput, match="tail"):
        tuning_free(tail=tail)  # type: ignore[arg-type]
