"""Recommendation by the expected risk, against functions drawn from the posterior."""

from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit
from surefoot_experiments.baselines import ExpectedRisk, RiskKnowledgeGradient, rho_kg

DESIGNS = torch.tensor([[0.0], [0.4], [1.0]], dtype=torch.float64)
LOAD = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
KERNEL = sf.kernels.squared_exponential([0.5, 0.5])
RNG = torch.Generator().manual_seed(0)


def told(design: sf.Arms | sf.Box, **options: object) -> sf.Optimizer:
    space = sf.Joint(design, LOAD)
    optimizer = rho_kg(space, KERNEL, level=0.25, ridge=0.01, **options)
    for x, z in ((0.0, 0.5), (0.4, 0.0), (1.0, 1.0)):
        optimizer.tell([x], x - 2 * x * z, environment=[z])
    return optimizer


def test_it_is_the_mean_over_functions_of_the_posterior():
    optimizer = told(sf.Arms(DESIGNS))
    score = ExpectedRisk(samples=2**12)(optimizer.belief().candidates, RNG)(DESIGNS)
    posterior, rng = optimizer.belief().posterior, np.random.default_rng(0)
    for index, x in enumerate(DESIGNS[:, 0].tolist()):
        points = torch.tensor([[x, z] for z in (0.0, 0.5, 1.0)], dtype=torch.float64)
        at = posterior.evaluate(points)
        covariance = posterior.covariance(at, at).numpy()
        drawn = rng.multivariate_normal(posterior.mean(points).numpy(), covariance, 40_000)
        risks = sf.VaR(0.25)(torch.from_numpy(drawn), LOAD.weights)
        assert float(score[index]) == pytest.approx(float(risks.mean()), abs=0.02)


def test_it_differs_from_the_risk_of_the_mean():
    belief = told(sf.Arms(DESIGNS)).belief()
    expected = ExpectedRisk()(belief.candidates, RNG)(DESIGNS)
    assert bool((expected < belief.candidates.mean(DESIGNS)).all())  # VaR is below the median


@pytest.mark.long
def test_it_recommends_any_design_and_leaves_the_run_alone():
    optimizer, other = told(sf.Box([0.0], [1.0])), told(sf.Box([0.0], [1.0]))
    best = optimizer.recommend(by=ExpectedRisk())
    grid = torch.linspace(0, 1, 201, dtype=torch.float64).unsqueeze(-1)
    score = ExpectedRisk()(optimizer.belief().candidates, RNG)
    assert float(score(best.point.unsqueeze(0))) >= float(score(grid).max()) - 1e-6
    assert torch.equal(optimizer.recommend(by=ExpectedRisk()).point, best.point)
    assert torch.equal(optimizer.ask().point, other.ask().point)


def test_the_rule_of_an_optimizer_is_used_and_saved(tmp_path: Path):
    rule = ExpectedRisk(values=8, samples=16)
    optimizer = told(sf.Box([0.0], [1.0]), recommendation=rule)
    expected = optimizer.recommend(by=rule)
    assert torch.equal(optimizer.recommend().point, expected.point)
    optimizer.save(tmp_path / "run")
    parts = {"policy": optimizer.policy, "reporting": optimizer.method.reporting}
    loaded = sf.Optimizer.load(tmp_path / "run", **parts)
    assert loaded.method.reporting.by == rule
    assert torch.equal(loaded.recommend().point, expected.point)


@pytest.mark.long
def test_values_of_a_density_differ_between_runs_and_rounds_but_not_between_calls():
    wind = sf.ContinuousEnvironment(sf.environments.truncated_normal([0.5], 0.2, 0.0, 1.0))

    def scores(seed: int) -> list[torch.Tensor]:
        space = sf.Joint(sf.Box([0.0], [1.0]), wind)
        optimizer = sf.algorithms.v_ucb(space, KERNEL, level=0.25, initial=0, seed=seed)
        optimizer.tell_all([[0.2], [0.8]], [1.0, 0.5], [[0.3], [0.6]])
        rule = ExpectedRisk(values=4, samples=4)
        generator = optimizer._generator
        first, again = (rule(optimizer.belief().candidates, generator)(DESIGNS) for _ in range(2))
        assert torch.equal(first, again)
        before = generator.clone_state()
        optimizer.tell(optimizer.ask(), 0.7)
        later = rule(optimizer.belief().candidates, generator)(DESIGNS)
        assert not torch.equal(later, rule(optimizer.belief().candidates, before)(DESIGNS))
        return [first, later]

    one, other = scores(1), scores(2)
    assert not torch.equal(one[0], other[0])
    assert torch.equal(torch.stack(scores(1)), torch.stack(one))


@pytest.mark.parametrize("by", ["best", 3, ExpectedRisk])
def test_no_other_rules(by):
    with pytest.raises(sf.InvalidInput, match="`by`"):
        told(sf.Arms(DESIGNS), recommendation=by)
    with pytest.raises(sf.InvalidInput, match="by"):
        told(sf.Arms(DESIGNS)).recommend(by)


def test_weights_that_depend_on_the_design_are_refused():
    leaning = sf.FiniteEnvironment([0.0, 1.0], lambda x: torch.cat([1.0 - x, x], -1))
    optimizer = sf.algorithms.v_ucb(sf.Joint(sf.Arms(DESIGNS), leaning), KERNEL, level=0.2)
    optimizer.tell(0, 1.0, environment=0.0)
    with pytest.raises(sf.InvalidInput, match="same for all designs"):
        optimizer.recommend(by=ExpectedRisk())


def test_rho_kg_takes_values_and_a_fit():
    wind = sf.ContinuousEnvironment(sf.environments.truncated_normal([0.5], 0.2, 0.0, 1.0))
    fit = HyperparameterFit(dof=GAUSSIAN, lengthscales="flat")
    policy = RiskKnowledgeGradient(values=10)
    optimizer = rho_kg(
        sf.Joint(sf.Box([0.0], [1.0]), wind), level=0.1, policy=policy, hyperparameters=fit
    )
    assert optimizer.policy is policy
    with pytest.raises(sf.InvalidInput, match="hyperparameters"):
        rho_kg(sf.Joint(sf.Box([0.0], [1.0]), LOAD), KERNEL, level=0.1, hyperparameters=fit)


def test_rho_kg_refuses_weights_that_depend_on_the_design():
    leaning = sf.FiniteEnvironment([0.0, 1.0], lambda x: torch.cat([1.0 - x, x], -1))
    with pytest.raises(sf.InvalidInput, match="same for all designs"):
        rho_kg(sf.Joint(sf.Arms(DESIGNS), leaning), level=0.1)


def test_the_policy_is_for_spaces_with_an_environment():
    with pytest.raises(sf.InvalidInput, match="for a `Joint` space"):
        sf.Optimizer(sf.Arms(DESIGNS), sf.Method(KERNEL, policy=RiskKnowledgeGradient()))
