"""A Gaussian process of BoTorch, and the points that it would measure next or recommend."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from botorch.acquisition import PosteriorMean, UpperConfidenceBound, qLogNoisyExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
from botorch.models.transforms import Normalize, Standardize
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood
from torch import Tensor

UCB_BETA = 4.0  # multiplies the variance: two standard deviations
RESTARTS, RAW_SAMPLES, STEPS = 4, 128, 100
ATTEMPTS = 3


@dataclass
class BoTorchModel:
    """A model that is fitted anew to all measurements for each point.

    Inputs are normalised, outcomes standardised, and hyperparameters and priors are those of
    `SingleTaskGP`.

    Args:
        bounds: Lower and upper bounds (2, d).
        acquisition: "lognei" or "ucb".
        robust: Whether outliers are found by relevance pursuit.
        failures: Steps that failed so far.
    """

    bounds: Tensor
    acquisition: str
    robust: bool
    failures: int = 0

    def acquire(self, x: Tensor, y: Tensor) -> Tensor:
        """The maximiser (d,) of the acquisition function, given rewards (n,) at points (n, d)."""
        return self._attempt(lambda: self._acquire(x, y))

    def best_mean(self, x: Tensor, y: Tensor) -> Tensor:
        """The point (d,) with the best posterior mean, measured or not."""
        return self._attempt(lambda: self._best_mean(x, y))

    def _attempt(self, step: Callable[[], Tensor]) -> Tensor:
        """Repeat a step whose fit or factorisation fails; at last take a random point."""
        for _ in range(ATTEMPTS):
            try:
                return step()
            except Exception as error:  # BoTorch raises its own and those of three libraries below
                print(f"retry after {type(error).__name__}: {error}", file=sys.stderr, flush=True)
                self.failures += 1
        low, high = self.bounds
        return low + (high - low) * torch.rand(len(low), dtype=torch.float64)

    def _fit(self, x: Tensor, y: Tensor) -> Any:
        family = RobustRelevancePursuitSingleTaskGP if self.robust else SingleTaskGP
        model = family(
            x,
            y.unsqueeze(-1),
            outcome_transform=Standardize(m=1),
            input_transform=Normalize(x.shape[-1], bounds=self.bounds),
        )
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        return model

    def _acquire(self, x: Tensor, y: Tensor) -> Tensor:
        model = self._fit(x, y)
        score = (
            UpperConfidenceBound(model, beta=UCB_BETA)
            if self.acquisition == "ucb"
            else qLogNoisyExpectedImprovement(model, X_baseline=x, prune_baseline=True)
        )
        return self._maximise(score)[0]

    def _best_mean(self, x: Tensor, y: Tensor) -> Tensor:
        mean = PosteriorMean(self._fit(x, y))
        point, height = self._maximise(mean)
        with torch.no_grad():
            measured = mean(x.unsqueeze(1))
        return x[measured.argmax()] if measured.max() > height else point

    def _maximise(self, score: Any) -> tuple[Tensor, Tensor]:
        point, height = optimize_acqf(
            score,
            bounds=self.bounds,
            q=1,
            num_restarts=RESTARTS,
            raw_samples=RAW_SAMPLES,
            options={"sample_around_best": True, "maxiter": STEPS},
        )
        return point.squeeze(0), height
