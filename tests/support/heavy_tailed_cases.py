"""Pulls, rewards of infinite variance, and kernels, for the formulas of heavy-tailed bandits."""

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import heavy_tails
from support.kernel_cases import GRID, Case, cases_on, table
from surefoot.types import Info

PULLS = 120
HORIZON, DELTA, NORM, ACCURACY = 1000, 0.05, 2.0, 0.3
MOMENTS = {alpha: sf.Moment(alpha, 4.0) for alpha in (1.0, 0.5)}
alphas = pytest.mark.parametrize("alpha", MOMENTS)
roots = pytest.mark.parametrize("root", ["symmetric", "cholesky"])


def pulls(case: Case) -> np.ndarray:
    """Which arm (t,) each reward is of; the last two arms are never pulled."""
    return np.random.default_rng(0).integers(len(case.arms) - 2, size=PULLS)


LINE = np.linspace(0.0, 1.0, 25)[:, None]
CASES = cases_on(GRID, table(4))


def features(optimizer: sf.Optimizer, points: torch.Tensor | None = None) -> np.ndarray:
    """The optimiser's own phi (n, m), at the points (n, d) or at its arms.

    A kernel fixes features up to a rotation only. Least squares does not see it, but truncation in
    each direction does, so that is compared with the formula in the very same features.
    """
    at = optimizer.space.points if points is None else points
    return optimizer.belief().posterior.embedding(at).numpy()


def lost(found: heavy_tails.AdaptivelyTruncated) -> np.ndarray:
    """Which rewards (t,) have less than half the length of their u_tau y_tau left."""
    left = np.linalg.norm(np.where(found.kept, found.products, 0.0), axis=0)
    return left < 0.5 * np.linalg.norm(found.products, axis=0)


def check_counts(info: Info, found: heavy_tails.AdaptivelyTruncated) -> None:
    assert info.truncated_total == lost(found).sum()
    assert info.truncated == lost(found)[-1]
