"""Feature maps of the user's own."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.regression.refitted import Refitted
from surefoot.regression.tabulated import Tabulated

ARMS = torch.linspace(-1.0, 1.0, 25, dtype=torch.float64).unsqueeze(-1)
CENTERS = torch.linspace(-1.0, 1.0, 7, dtype=torch.float64)


@dataclass(frozen=True)
class Bumps:
    """Seven bumps on a line, which are the kernel as well: k(x, x') = phi(x)'phi(x')."""

    dimension: int = 7

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        return torch.exp(-4.0 * (points - CENTERS).square())

    def residual(self, points: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        return features.new_zeros(len(features))

    def cross_residual(
        self,
        left: torch.Tensor,
        left_features: torch.Tensor,
        right: torch.Tensor,
        right_features: torch.Tensor,
    ) -> torch.Tensor:
        return left_features.new_zeros(len(left_features), len(right_features))


@dataclass(frozen=True)
class BumpFeatures:
    """A feature map of the user's own, in one line beside the map."""

    def init(
        self, kernel: Any, space: Any, ridge: float, generator: Any, *, lasting: bool = True
    ) -> Any:
        return sf.features.fixed_features(Bumps(), kernel, space, ridge, lasting=lasting)


def kernel() -> Any:
    return sf.kernels.custom(lambda left, right: Bumps()(left) @ Bumps()(right).T)


SPACES = {"arms": sf.Arms(ARMS), "box": sf.Box([-1.0], [1.0])}


@pytest.mark.long
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(sf.LeastSquares(), id="plain"),
        pytest.param(sf.Huber(), id="huber"),
    ],
)
def test_a_fixed_map_is_ridge_regression_in_its_features(space: str, estimator: Any) -> None:
    """On arms by rank-one updates of a table, for any estimator the same as the exact process."""
    ours = sf.Optimizer(
        SPACES[space], sf.Method(kernel(), features=BumpFeatures(), estimator=estimator, ridge=0.1)
    )
    exact = sf.Optimizer(
        SPACES[space], sf.Method(kernel(), features=sf.Exact(), estimator=estimator, ridge=0.1)
    )
    kind = Tabulated if space == "arms" else Refitted
    assert isinstance(ours._history.regressor.regression, kind)
    noise = np.random.default_rng(0)
    for _ in range(40):
        query = ours.ask(arms=None if space == "arms" else ARMS)
        y = float(torch.sin(4.0 * query.point)) + 0.1 * noise.normal()
        ours.tell(query, y)
        exact.tell(query.point, y)
    torch.testing.assert_close(
        ours.belief().posterior.mean(ARMS), exact.belief().posterior.mean(ARMS), rtol=0.0, atol=1e-6
    )
    torch.testing.assert_close(
        ours.belief().posterior.variance(ARMS),
        exact.belief().posterior.variance(ARMS),
        rtol=1e-6,
        atol=1e-8,
    )
    if estimator == sf.LeastSquares():
        phi, y = Bumps()(ours.history.sites), ours.history.rewards
        rows = phi[ours.history.site]
        theta = torch.linalg.solve(rows.T @ rows + 0.1 * torch.eye(7), rows.T @ y)
        torch.testing.assert_close(
            ours.belief().posterior.mean(ARMS), Bumps()(ARMS) @ theta, rtol=0.0, atol=1e-8
        )


def test_a_run_with_a_map_of_ones_own_is_loaded_with_it(tmp_path: Path) -> None:
    optimizer = sf.Optimizer(sf.Arms(ARMS), sf.Method(kernel(), features=BumpFeatures(), ridge=0.1))
    for step in range(10):
        optimizer.tell(optimizer.ask(), float(np.sin(step)))
    pending = optimizer.ask()
    optimizer.save(tmp_path / "run")
    with pytest.raises(sf.InvalidInput, match="features="):
        sf.Optimizer.load(tmp_path / "run", kernel=kernel())
    loaded = sf.Optimizer.load(tmp_path / "run", kernel=kernel(), features=BumpFeatures())
    for step in range(20):
        left, right = optimizer.ask(), loaded.ask()
        assert left.arm == right.arm
        optimizer.tell(left, float(np.cos(step)))
        loaded.tell(right, float(np.cos(step)))
    assert [query.id for query in loaded.pending] == [pending.id]
