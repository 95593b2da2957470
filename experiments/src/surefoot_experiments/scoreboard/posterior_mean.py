"""The recommendation of a Gaussian process fitted to a rival's measurements.

Rivals that recommend their luckiest measurement are scored by this too, so that none is beaten
only for a weak recommendation.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import torch
from torch import Tensor

from surefoot_experiments.scoreboard.space import Point, Space

RESTARTS, RAW_SAMPLES = 4, 128
ENOUGH = 3  # measurements for a fit


def best_posterior_mean(space: Space, points: Sequence[Point], values: Sequence[float]) -> Point:
    """The point with the lowest posterior mean, of BoTorch's `SingleTaskGP` with its defaults.

    In a box it may be anywhere, otherwise it is one that was measured.

    Args:
        space: The space.
        points: Measured points.
        values: Their measurements; NaN for a crash, which is left out.
    """
    ran = [i for i, value in enumerate(values) if not math.isnan(value)]
    if len(ran) < ENOUGH:
        return points[min(ran, key=lambda i: values[i])] if ran else points[-1]
    x = torch.stack([torch.as_tensor(space.encode(points[i])) for i in ran])
    y = torch.tensor([values[i] for i in ran], dtype=torch.float64)
    with warnings.catch_warnings(action="ignore"):
        try:
            best, inside = _maximised(x, -y, search=space.is_box)
        except Exception:  # BoTorch raises its own errors and those of the libraries below
            return points[ran[int(y.argmin())]]
    return space.decode(best.numpy()) if inside else points[ran[int(best)]]


def _maximised(x: Tensor, y: Tensor, search: bool) -> tuple[Tensor, bool]:
    """The maximiser of the posterior mean and True, or the best row of `x` and False."""
    from botorch.acquisition import PosteriorMean
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.transforms import Standardize
    from botorch.optim import optimize_acqf
    from gpytorch.mlls import ExactMarginalLogLikelihood

    model = SingleTaskGP(x, y.unsqueeze(-1), outcome_transform=Standardize(m=1))
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    mean = PosteriorMean(model)
    with torch.no_grad():
        measured = mean(x.unsqueeze(1))
    row = measured.argmax()
    if search:
        bounds = torch.stack([torch.zeros_like(x[0]), torch.ones_like(x[0])])
        point, height = optimize_acqf(
            mean, bounds=bounds, q=1, num_restarts=RESTARTS, raw_samples=RAW_SAMPLES
        )
        if height > measured[row]:
            return point.squeeze(0), True
    return row, False
