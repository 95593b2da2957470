"""The median of means against its definition, and through a run."""

from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.hyperparameters import GivenHyperparameters
from surefoot_experiments.baselines import MedianOfMeans

POINTS = torch.linspace(0.0, 1.0, 80, dtype=torch.float64).unsqueeze(-1)
ARMS, KERNEL, RIDGE = sf.Arms(POINTS), sf.kernels.squared_exponential(0.2), 0.1
PULLS = np.random.default_rng(0).integers(80, size=60)
NOISE = np.random.default_rng(1).standard_t(1.5, size=60)
REWARDS = np.sin(6 * POINTS[PULLS, 0].numpy()) + NOISE


def told(estimator: object, standardise: bool = False) -> sf.Optimizer:
    given = GivenHyperparameters(KERNEL, RIDGE, standardise)
    optimizer = sf.Optimizer(ARMS, sf.Method(given, estimator=estimator))
    optimizer.tell_all(PULLS, REWARDS)
    return optimizer


@pytest.mark.parametrize("standardise", [False, True])
def test_one_block_is_least_squares(standardise: bool) -> None:
    means = [
        told(estimator, standardise).belief().posterior.mean(POINTS)
        for estimator in (MedianOfMeans(1), sf.LeastSquares())
    ]
    torch.testing.assert_close(*means, rtol=0.0, atol=1e-9)


def test_it_is_the_block_that_most_others_are_near() -> None:
    optimizer = told(MedianOfMeans(5))
    phi = optimizer.belief().posterior.embedding(POINTS).numpy()[PULLS]
    eye = RIDGE * np.eye(phi.shape[1])
    v = phi.T @ phi + eye
    blocks = []
    for block in range(5):
        rows, y = phi[block::5], REWARDS[block::5]
        blocks.append(np.linalg.solve(rows.T @ rows + eye, rows.T @ y))
    apart = [[np.sqrt((a - b) @ v @ (a - b)) for b in blocks] for a in blocks]
    chosen = blocks[int(np.argmin(np.median(apart, axis=1)))]
    np.testing.assert_allclose(
        optimizer.belief().posterior.coefficients, chosen, rtol=0.0, atol=1e-8
    )


def test_a_saved_run_goes_on_when_it_is_passed_again(tmp_path: Path) -> None:
    optimizer = told(MedianOfMeans(3))
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", estimator=MedianOfMeans(3))
    for one in (optimizer, loaded):
        one.tell(79, 3.0)
    torch.testing.assert_close(
        loaded.belief().posterior.mean(POINTS),
        optimizer.belief().posterior.mean(POINTS),
        rtol=0.0,
        atol=1e-12,
    )
    assert loaded.ask().arm == optimizer.ask().arm


def test_a_mean_is_moved_by_one_outlier_and_the_median_is_not() -> None:
    medians, means = told(MedianOfMeans(9)), told(sf.LeastSquares())
    before = [one.belief().posterior.mean(POINTS) for one in (medians, means)]
    for one in (medians, means):
        one.tell(40, 1e6)
    moved = [
        float((one.belief().posterior.mean(POINTS) - old).abs().max())
        for one, old in zip((medians, means), before, strict=True)
    ]
    assert moved[0] < 10.0 < 1e4 < moved[1]


def test_the_number_of_blocks_is_a_count() -> None:
    with pytest.raises(sf.InvalidInput, match="`blocks` is 0"):
        MedianOfMeans(0)
