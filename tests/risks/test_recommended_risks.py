"""Recommendations of other risks than that of the run, by the same measurements."""

import pytest
import torch

import surefoot as sf
from surefoot.types import InvalidInput

LEVELS = (0.2, 0.8)


def told(rounds: int) -> sf.Optimizer:
    """A run on x - 2 x z, for its mean."""
    load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
    space = sf.Joint(sf.Arms(torch.linspace(0, 1, 5).unsqueeze(-1)), load)
    kernel = sf.kernels.squared_exponential([0.5, 0.5])
    optimizer = sf.Optimizer(sf.Problem(space, risk=sf.Mean()), sf.Method(kernel, ridge=0.01))
    for _ in range(rounds):
        query = optimizer.ask()
        optimizer.tell(query, float(query.point - 2.0 * query.point * query.environment))
    return optimizer


def test_the_best_design_of_each_level_is_recommended_by_its_risk() -> None:
    optimizer = told(20)
    for level, best in zip(LEVELS, (0.0, 1.0), strict=True):
        found = optimizer.recommend(risk=sf.VaR(level))
        assert found.point.tolist() == [best]
        point, risk = found.point.unsqueeze(0), sf.VaR(level)
        value, lower, upper = optimizer.belief().predict(point, risk=risk)
        assert [found.value, found.lower, found.upper] == [float(value), float(lower), float(upper)]


def test_refusals() -> None:
    optimizer = told(1)
    with pytest.raises(InvalidInput, match="rounds"):
        optimizer.recommend("rounds", risk=sf.VaR(0.1))
    with pytest.raises(InvalidInput, match="risk"):
        optimizer.recommend(risk=sf.VaR)
    plain = sf.algorithms.gp_ucb(sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2))
    plain.tell([0.5], 1.0)
    with pytest.raises(InvalidInput, match="no environment"):
        plain.recommend(risk=sf.VaR(0.1))
