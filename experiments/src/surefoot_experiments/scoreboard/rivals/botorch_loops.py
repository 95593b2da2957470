"""BoTorch: LogNEI and UCB on `SingleTaskGP`, and LogNEI on robust relevance pursuit.

A loop starts with 2 (d + 1) scrambled Sobol points, at most 10, refits the model in each round, and
recommends the point with the best posterior mean. Categories have a coordinate for each choice.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.quasirandom import SobolEngine

from surefoot_experiments.scoreboard.botorch_model import BoTorchModel
from surefoot_experiments.scoreboard.rivals.history import History
from surefoot_experiments.scoreboard.space import Point, Space

PACKAGES = ("botorch", "gpytorch", "torch")


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
        bounds = torch.stack([torch.zeros(space.width), torch.ones(space.width)]).double()
        self._model = BoTorchModel(bounds, acquisition, robust)

    def ask(self) -> Point:
        """A Sobol point at first, then the maximiser of the acquisition function."""
        measured = len(self._history)
        if measured < len(self._initial):
            return self._decoded(self._initial[measured])
        return self._decoded(self._model.acquire(*self._measured()))

    def tell(self, point: Point, value: float) -> None:
        """Take in a measurement."""
        self._history.add(point, value)

    def recommend(self) -> Point:
        """The point with the best posterior mean, measured or not."""
        return self._decoded(self._model.best_mean(*self._measured()))

    def _measured(self) -> tuple[Tensor, Tensor]:
        history = self._history
        return torch.as_tensor(history.coordinates), -torch.as_tensor(history.values)

    def _decoded(self, coordinates: Tensor) -> Point:
        return self._history.space.decode(coordinates.numpy())


def create(
    space: Space, seed: int, budget: int, acquisition: str = "lognei", robust: bool = False
) -> Loop:
    """A loop with an acquisition function."""
    return Loop(space, seed, acquisition, robust)
