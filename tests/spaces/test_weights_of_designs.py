"""Environments whose probabilities depend on the design."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import surefoot as sf
from surefoot.acquisition.lacing import lacing_value
from surefoot.beliefs import Candidates
from surefoot.integrations.optuna import StudyEnvironment

VALUES = [0.0, 0.5, 1.0]
DESIGNS = torch.tensor([[0.1], [0.5], [0.9]], dtype=torch.float64)


def leaning(x: Tensor) -> Tensor:
    """Large values of Z are likely for large designs."""
    return torch.softmax(4.0 * x * torch.tensor(VALUES, dtype=torch.float64), -1)


def literal(x: float) -> np.ndarray:
    mass = np.array([np.exp(4.0 * x * z) for z in VALUES])
    return mass / mass.sum()


def var(values: np.ndarray, weights: np.ndarray, level: float) -> float:
    """inf{w : P(f <= w) >= level}, by trying every value."""
    reached = [v for v in sorted(values) if weights[values <= v].sum() >= level - 1e-12]
    return float(reached[0])


def space(design: sf.Arms | sf.Box, **options: bool) -> sf.Joint:
    return sf.Joint(design, sf.FiniteEnvironment(VALUES, leaning), **options)


def told(design: sf.Arms | sf.Box, lacing: str = "prob", **options: bool) -> sf.Optimizer:
    kernel = sf.kernels.squared_exponential([0.4, 0.4])
    joint = space(design, **options)
    optimizer = sf.algorithms.v_ucb(joint, kernel, level=0.3, ridge=0.01, lacing=lacing)
    for x in DESIGNS[:, 0].tolist():
        for z in VALUES[:2]:
            optimizer.tell([x], x * (1.0 - 2.0 * z), environment=[z])
    return optimizer


def bounds(optimizer: sf.Optimizer, x: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    points = torch.tensor([[x, z] for z in VALUES], dtype=torch.float64)
    mean, deviation = (
        part.numpy() for part in optimizer.belief().posterior.mean_and_deviation(points)
    )
    return mean, mean - optimizer.width * deviation, mean + optimizer.width * deviation


@pytest.mark.parametrize("design", [sf.Arms(DESIGNS), sf.Box([0.0], [1.0])])
def test_risks_are_those_of_the_weights_at_each_design(design):
    optimizer = told(design)
    parts = optimizer.belief().predict(DESIGNS)
    for index, x in enumerate(DESIGNS[:, 0].tolist()):
        expected = [var(one, literal(x), 0.3) for one in bounds(optimizer, x)]
        assert [float(part[index]) for part in parts] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("risk", [sf.Mean(), sf.VaR(0.3), sf.CVaR(0.3), sf.WorstCase()])
def test_a_risk_of_several_rows_of_weights_is_that_of_each(risk):
    values = torch.randn(3, 3, generator=torch.Generator().manual_seed(0)).double()
    weights = leaning(DESIGNS)
    together = risk(values, weights)
    laces = risk.lacing(values - 0.1, values + 0.1, weights)
    for row in range(3):
        assert float(together[row]) == pytest.approx(float(risk(values[row], weights[row])))
        alone = risk.lacing(values[row] - 0.1, values[row] + 0.1, weights[row])
        assert torch.equal(laces[row], alone)


@pytest.mark.parametrize("lacing", ["prob", "unif", "prob-random"])
def test_the_lacing_value_is_by_the_weights_at_the_chosen_design(lacing):
    optimizer = told(sf.Arms(DESIGNS), lacing)
    generator = optimizer._generator
    candidates = Candidates.sampled(optimizer.belief(), 16, generator)
    for x in DESIGNS[:, 0].tolist():
        _, lower, upper = bounds(optimizer, x)
        weights = literal(x)
        laces = (lower <= var(lower, weights, 0.3)) & (upper >= var(upper, weights, 0.3))
        chosen = lacing_value(candidates, optimizer.space.design.locate([x]), lacing, generator)
        assert laces[VALUES.index(float(chosen))]
        if lacing != "unif":
            assert weights[VALUES.index(float(chosen))] == weights[laces].max()


@pytest.mark.parametrize("design", [sf.Arms(DESIGNS), sf.Box([0.0], [1.0])])
def test_the_recommendation_has_the_largest_risk_of_the_mean(design):
    optimizer = told(design)
    risks = [var(bounds(optimizer, x)[0], literal(x), 0.3) for x in DESIGNS[:, 0].tolist()]
    best = optimizer.recommend()
    assert float(best.point) == float(DESIGNS[int(np.argmax(risks)), 0])
    assert best.value == pytest.approx(max(risks))
    query = optimizer.ask()
    assert float(query.environment) in VALUES


def test_one_value_for_each_design_is_drawn_by_its_weights():
    certain = sf.FiniteEnvironment([0.0, 1.0], lambda x: torch.cat([1.0 - x, x], -1))
    designs = torch.tensor([[0.0], [1.0]] * 20)
    drawn = certain.sample_at(designs, torch.Generator().manual_seed(0))
    assert torch.equal(drawn, designs.double())
    joint = sf.Joint(sf.Box([0.0], [1.0]), certain)
    assert len(joint.spread(3, torch.Generator().manual_seed(0))) == 3
    with pytest.raises(sf.InvalidInput, match="depend on the design"):
        certain.sample(1, torch.Generator())


def test_an_observed_environment_may_depend_on_the_design():
    optimizer = told(sf.Box([0.0], [1.0]), observed=True)
    query = optimizer.ask()
    optimizer.tell(query, 0.0, environment=1.0)
    optimizer.forget(optimizer.expect([0.5]))
    assert optimizer.ask().environment is None


def test_a_saved_run_goes_on_with_the_space_passed_again(tmp_path: Path):
    optimizer = told(sf.Arms(DESIGNS))
    optimizer.save(tmp_path / "run")
    with pytest.raises(sf.InvalidInput, match="space"):
        sf.Optimizer.load(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", space=space(sf.Arms(DESIGNS)))
    for one in (loaded, optimizer):
        one.tell(one.ask(), 0.5)
    assert loaded.ask().arm == optimizer.ask().arm
    assert loaded.recommend().value == optimizer.recommend().value


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (lambda x: torch.ones(len(x), 2), "expected a tensor"),
        (lambda x: [[1.0, 0.0, 0.0]] * len(x), "expected a tensor"),
        (lambda x: 1.0 + torch.zeros(len(x), 3), "do not sum to 1"),
        (lambda x: torch.tensor([[2.0, -1.0, 0.0]]).expand(len(x), 3), "below 0"),
        (lambda x: torch.full((len(x), 3), torch.nan), "expected probabilities"),
        (lambda x: x.numpy(), "computed with torch"),
        (lambda x: x @ torch.ones(7, 3), "failed"),
    ],
)
@pytest.mark.parametrize("design", [sf.Box([0.0], [1.0])])
def test_functions_that_are_no_probabilities_are_refused(design, weights, message):
    with pytest.raises(sf.InvalidInput, match=message):
        sf.Joint(design, sf.FiniteEnvironment(VALUES, weights))


def test_where_weights_cannot_depend_on_the_design_they_are_refused():
    with pytest.raises(sf.InvalidInput, match="at most 1,024"):
        sf.FiniteEnvironment(torch.linspace(0, 1, 2000), leaning)
    with pytest.raises(sf.InvalidInput, match="depend on the design"):
        StudyEnvironment("load", sf.FiniteEnvironment(VALUES, leaning))
