"""Environments of few values or of many: which one a value is, and which are looked at."""

import pytest
import torch

import surefoot as sf

GRID = torch.cartesian_prod(torch.arange(64.0), torch.arange(64.0)).double() / 63.0


@pytest.mark.parametrize(
    ("points", "value", "index"),
    [
        ([0.3], [0.1 + 0.2], 0),
        ([[0.3, 0.0], [0.3, 1.0]], [0.1 + 0.2, 1.0], 1),
        ([0.1, 0.7], torch.tensor([0.1]), 0),  # of single precision
        ([1e6, 2e6], [1e6 + 1e-3], 0),
        ([1.0, 1.0 + 1e-9], [1.0 + 1e-9], 1),
        ([1.0, 1.0 + 1e-9], [1.0 + 5e-10], None),
        ([0.0, 1.0], [1e-6], None),
        ([0.1, 0.7], [0.1001], None),
    ],
)
def test_a_value_is_known_up_to_rounding(points, value, index):
    environment = sf.FiniteEnvironment(points)
    assert environment.index(torch.as_tensor(value, dtype=torch.float64)) == index


def test_a_thousand_values_are_all_looked_at():
    environment = sf.FiniteEnvironment(GRID[:1024])
    values, weights = environment.values(16, torch.Generator().manual_seed(0))
    assert torch.equal(values, GRID[:1024])
    assert torch.equal(weights, environment.weights)


def test_of_more_some_stand_for_all():
    shares = torch.rand(len(GRID), generator=torch.Generator().manual_seed(1)).double()
    shares[::7] = 0.0
    environment = sf.FiniteEnvironment(GRID, shares / shares.sum())
    values, weights = environment.values(512, torch.Generator().manual_seed(0))
    assert weights.tolist() == [1 / 512] * 512
    drawn = [environment.index(value) for value in values]
    assert bool((environment.weights[drawn] > 0.0).all())
    heights = (GRID * torch.tensor([1.0, 0.3]).double()).sum(-1)
    for risk in (sf.Mean(), sf.VaR(0.1), sf.CVaR(0.3)):
        whole = risk(heights, environment.weights)
        assert float(risk(heights[drawn], weights)) == pytest.approx(float(whole), abs=0.03)


def test_the_worst_case_may_be_any_of_many():
    values, _ = sf.FiniteEnvironment(GRID).values(16, torch.Generator(), spread=True)
    assert torch.equal(values, GRID)


@pytest.mark.long
@pytest.mark.parametrize(
    "design",
    [
        sf.Arms([[0.1], [0.5], [0.9]]),
        sf.Box([0.0], [1.0]),
    ],
)
def test_v_ucb_among_thousands_of_values(design):
    space = sf.Joint(design, sf.FiniteEnvironment(GRID))
    optimizer = sf.algorithms.v_ucb(
        space, sf.kernels.squared_exponential([0.3, 0.5, 0.5]), level=0.1, ridge=0.01
    )
    for _ in range(4):
        query = optimizer.ask()
        assert query.environment is not None
        assert space.environment.index(query.environment) is not None
        optimizer.tell(query, float(query.environment.sum() - (query.point - 0.5).square()))
    best = optimizer.recommend()
    assert best.lower <= best.value <= best.upper
