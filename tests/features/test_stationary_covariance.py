"""The prior covariance over an environment, of feature maps that know it for all designs."""

from dataclasses import dataclass
from typing import Any

import torch

import surefoot as sf

POINTS = torch.rand(12, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
KERNEL = sf.kernels.squared_exponential([0.5, 0.5])
SPACE = sf.Joint(sf.Box([0.0], [1.0]), sf.FiniteEnvironment([0.0, 0.5, 1.0]))


class OwnMap:
    """Nyström features without the method `stationary_covariance`."""

    def __init__(self) -> None:
        self.map = sf.features.NystromEmbedding.of(KERNEL, POINTS)
        self.cross_residuals = 0

    @property
    def dimension(self) -> int:
        return self.map.dimension

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        return self.map(points)

    def residual(self, points: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        return self.map.residual(points, features)

    def cross_residual(self, *arguments: torch.Tensor) -> torch.Tensor:
        self.cross_residuals += 1
        return self.map.cross_residual(*arguments)


class StationaryMap(OwnMap):
    """The same with it."""

    def stationary_covariance(self, points: torch.Tensor) -> torch.Tensor | None:
        return self.map.stationary_covariance(points)


@dataclass(frozen=True)
class Rule:
    embedding: Any

    def init(self, kernel: Any, space: Any, ridge: float, generator: Any, **options: Any) -> Any:
        return sf.features.fixed_features(self.embedding, kernel, space, ridge, **options)


def covariance(embedding: Any) -> torch.Tensor:
    optimizer = sf.Optimizer(SPACE, KERNEL, features=Rule(embedding), ridge=0.1, risk=sf.VaR(0.25))
    optimizer.tell([0.2], 1.0, environment=[0.5])
    context = optimizer.belief().sampled(3)
    designs = torch.tensor([[0.1], [0.7]], dtype=torch.float64)
    groups = context.posterior.evaluate(SPACE.points(designs, context.z).flatten(0, 1)).groups(3)
    return context.covariance_over_z(groups)


def test_a_map_of_the_users_own_may_know_it() -> None:
    general, stationary = OwnMap(), StationaryMap()
    assert torch.allclose(covariance(general), covariance(stationary), atol=1e-12)
    assert general.cross_residuals > 0 == stationary.cross_residuals


def test_it_is_not_known_of_a_kernel_that_may_not_be_stationary() -> None:
    kernel = sf.kernels.custom(lambda left, right: left @ right.T)
    assert sf.features.NystromEmbedding.of(kernel, POINTS).stationary_covariance(POINTS) is None
