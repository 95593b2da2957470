"""Runs on arms of a plane whose dictionaries are resampled in batches."""

import numpy as np
import torch

import surefoot as sf
from support.optimizers import optimizer_of
from surefoot.hyperparameters import GivenHyperparameters

PLANE = torch.rand(120, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
SETTINGS = {"noise": 0.1, "oversampling": 2.0, "ridge": 0.01}


def value(point: torch.Tensor) -> float:
    return float(torch.sin(5.0 * point[0]) * torch.cos(3.0 * point[-1]))


def play(optimizer: sf.Optimizer, rounds: int, seed: int = 0) -> list[int | None]:
    """Arms asked in that many rounds of ask and tell, with Gaussian noise of 0.1."""
    noise = np.random.default_rng(seed)
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        asked.append(query.arm)
        optimizer.tell(query, value(query.point) + 0.1 * noise.normal())
    return asked


def batched(
    features: object | None = None, standardise: bool = False, **parts: object
) -> sf.Optimizer:
    features = features or sf.Nystrom(sf.LeverageSampling(2.0, resample="adaptive"))
    given = GivenHyperparameters(sf.kernels.squared_exponential(0.3), 0.01, standardise)
    return optimizer_of(sf.Arms(PLANE), given, features=features, **parts)
