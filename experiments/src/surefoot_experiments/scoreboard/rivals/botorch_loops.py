"""BoTorch: LogNEI and UCB on `SingleTaskGP`, and LogNEI on robust relevance pursuit.

A loop starts with 2 (d + 1) scrambled Sobol points, at most 10, refits the model in each round, and
recommends the point with the best posterior mean. Categories have a coordinate for each choice.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from botorch.acquisition import PosteriorMean, UpperConfidenceBound, qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
from botorch.models.transforms import Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor
from torch.quasirandom import SobolEngine

from surefoot_experiments.scoreboard.rivals.history import History
from surefoot_experiments.scoreboard.space import Point, Space

PACKAGES = ("botorch", "gpytorch", "torch")
UCB_BETA = 4.0  # multiplies the variance: two standard deviations
RESTARTS, RAW_SAMPLES, STEPS = 4, 128, 100
ATTEMPTS = 3


class Loop:
    """A BoTorch loop.

    Args:
        space: Search space.
        seed: Seed of all randomness.
        acquisition: "lognei" or "ucb".
        robust: Whether outliers are found by relevance pursuit.
    """

    def __init__(self, space: Space, seed: int, acquisition: str, robust: bool) -> None:
        torch.manual_seed(seed)
        self._history = History(space)
        sobol = SobolEngine(space.width, scramble=True, seed=seed)
        initial = min(2 * (len(space.parameters) + 1), 10)
        self._initial = sobol.draw(initial, dtype=torch.float64)
        self._bounds = torch.stack([torch.zeros(space.width), torch.ones(space.width)]).double()
        self._acquisition, self._robust = acquisition, robust

    def ask(self) -> Point:
        """A Sobol point at first, then the maximiser of the acquisition function."""
        measured = len(self._history)
        if measured < len(self._initial):
            return self._history.space.decode(self._initial[measured].numpy())
        return self._attempt(self._acquire)

    def tell(self, point: Point, value: float) -> None:
        """Take in a measurement."""
        self._history.add(point, value)

    def recommend(self) -> Point:
        """The point with the best posterior mean, measured or not."""
        return self._attempt(self._best_mean)

    def _attempt(self, step: Callable[[], Tensor]) -> Point:
        """Repeat a step whose fit or factorisation fails; at last take a random point."""
        for _ in range(ATTEMPTS):
            try:
                return self._history.space.decode(step().numpy())
            except Exception as error:  # BoTorch raises its own and those of three libraries below
                print(f"retry after {type(error).__name__}: {error}", file=sys.stderr)
        return self._history.space.decode(torch.rand(len(self._bounds[0])).numpy())

    def _fit(self) -> tuple[Any, Tensor]:
        x = torch.as_tensor(self._history.coordinates)
        y = -torch.as_tensor(self._history.values).unsqueeze(-1)
        family = RobustRelevancePursuitSingleTaskGP if self._robust else SingleTaskGP
        model = family(x, y, outcome_transform=Standardize(m=1))
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model, x

    def _acquire(self) -> Tensor:
        model, x = self._fit()
        score = (
            UpperConfidenceBound(model, beta=UCB_BETA)
            if self._acquisition == "ucb"
            else qLogNoisyExpectedImprovement(model, X_baseline=x, prune_baseline=True)
        )
        return self._maximise(score)[0]

    def _best_mean(self) -> Tensor:
        model, x = self._fit()
        mean = PosteriorMean(model)
        point, height = self._maximise(mean)
        with torch.no_grad():
            measured = mean(x.unsqueeze(1))
        return x[measured.argmax()] if measured.max() > height else point

    def _maximise(self, score: Any) -> tuple[Tensor, Tensor]:
        point, height = optimize_acqf(
            score,
            bounds=self._bounds,
            q=1,
            num_restarts=RESTARTS,
            raw_samples=RAW_SAMPLES,
            options={"sample_around_best": True, "maxiter": STEPS},
        )
        return point.squeeze(0), height


def create(
    space: Space, seed: int, budget: int, acquisition: str = "lognei", robust: bool = False
) -> Loop:
    """A loop with an acquisition function."""
    return Loop(space, seed, acquisition, robust)
