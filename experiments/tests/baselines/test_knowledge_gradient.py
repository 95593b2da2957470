"""Expected improvement of the best risk against a dense Gaussian process that is fitted anew."""

from dataclasses import dataclass, field, replace

import numpy as np
import pytest
import torch
from scipy import special
from torch import Tensor

import surefoot as sf
from surefoot.acquisition import PolicyState
from surefoot.beliefs import Candidates
from surefoot.regression.observations import Pull
from surefoot.regression.posterior import FeaturePosterior
from surefoot.regression.ridge import RidgeFactor
from surefoot.risks import CVaR, Mean, Risk, VaR, WorstCase
from surefoot.spaces import ContinuousEnvironment, FiniteEnvironment
from surefoot.spaces.environments import truncated_normal
from surefoot.types import InvalidInput
from surefoot_experiments.baselines import RiskKnowledgeGradient, rho_kg
from surefoot_experiments.baselines.fantasies import Draws, Fantasies
from surefoot_experiments.baselines.many_rows import (
    batched,
    differentiable,
    translation_equivariant,
)

RIDGE, CENTRE, SCALE, LENGTHSCALE = 0.05, 0.3, 2.0, np.array([0.3, 0.4])
WEIGHTS = [0.1, 0.15, 0.3, 0.25, 0.2]
SMALL = RiskKnowledgeGradient(4, 8, values=8, screening=2, raw=24, starts=2, steps=6)


def doubles(values: object) -> Tensor:
    return torch.as_tensor(np.asarray(values, dtype=np.float64))


@dataclass
class Recorded:
    """The mean of the values, which it keeps."""

    seen: list[Tensor] = field(default_factory=list)

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        self.seen.append(values.detach().clone())
        return (values * weights).sum(-1)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        raise NotImplementedError


@dataclass(frozen=True)
class Unknown:
    """A risk that nothing is known of."""

    risk: Risk

    def __call__(self, values: Tensor, weights: Tensor) -> Tensor:
        return self.risk(values, weights)

    def lacing(self, lower: Tensor, upper: Tensor, weights: Tensor) -> Tensor:
        return self.risk.lacing(lower, upper, weights)


def gram(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The squared exponential kernel, exp(-|x - x'|^2 / 2) in lengthscales."""
    return np.exp(-0.5 * (((left[:, None] - right) / LENGTHSCALE) ** 2).sum(-1))


class Dense:
    """A Gaussian process on pairs, solved from scratch for the data it is given."""

    def __init__(self, pairs: np.ndarray, rewards: np.ndarray) -> None:
        self.pairs, self.rewards = pairs, rewards

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        noisy = gram(self.pairs, self.pairs) + RIDGE * np.eye(len(self.pairs))
        cross = gram(points, self.pairs)
        mean = CENTRE + cross @ np.linalg.solve(noisy, self.rewards - CENTRE)
        prior = gram(points, points)
        return mean, SCALE**2 * (prior - cross @ np.linalg.solve(noisy, cross.T))

    def told(self, pair: np.ndarray, reward: float) -> "Dense":
        return Dense(np.vstack([self.pairs, pair]), np.append(self.rewards, reward))


def case(risk: Risk, weights: object = WEIGHTS, pending: bool = False):
    """A belief after six measurements of four designs, and the dense model of it."""
    rng = np.random.default_rng(3)
    environment = FiniteEnvironment(np.linspace(0.0, 1.0, 5), weights)
    joint = sf.Joint(sf.Box([0.0], [1.0]), environment)
    designs = rng.uniform(size=4)
    x = np.append(designs, designs[:2])
    pairs = np.column_stack([x, environment.points[rng.integers(5, size=6), 0]])
    rewards = CENTRE + SCALE * np.sin(4.0 * pairs[:, 0]) + pairs[:, 1]
    kernel = sf.kernels.squared_exponential(doubles(LENGTHSCALE))
    embedding = sf.features.NystromEmbedding.of(kernel, doubles(pairs))
    features = embedding(doubles(pairs))
    factor = RidgeFactor.of(features, RIDGE)
    coefficients = factor.solve(features.T @ ((doubles(rewards) - CENTRE) / SCALE))
    posterior = FeaturePosterior(embedding, factor, coefficients, CENTRE, SCALE)
    dense = Dense(pairs, rewards)
    if pending:
        under_way = np.array([[0.45, 0.25], [0.7, 0.5]])
        posterior = posterior.updated([Pull(point, None, 1) for point in doubles(under_way)])
        for pair in under_way:
            dense = dense.told(pair, dense(pair[None])[0][0])
    optimizer = sf.Optimizer(sf.Problem(joint, risk=Mean()), sf.Method(kernel))
    optimizer.tell_all(pairs[:, :1], rewards, pairs[:, 1:])
    belief = optimizer.belief()
    belief = replace(belief, band=replace(belief.band, posterior=posterior), risk=risk)
    assert torch.equal(belief.candidates.designs, doubles(designs[:, None]))
    return Candidates.sampled(belief, 2, torch.Generator()), dense


def draws(candidates: Candidates, outcomes: object, functions: object) -> Draws:
    weights = candidates.weights_at(candidates.designs)
    return Draws(candidates.z, weights, doubles(outcomes), doubles(functions))


def sobol(number: int, dimension: int) -> Tensor:
    engine = torch.quasirandom.SobolEngine(dimension, scramble=True, seed=1)
    return torch.special.ndtri(engine.draw(number, dtype=torch.float64))


@pytest.mark.parametrize("pending", [False, True])
def test_functions_after_a_measurement_are_those_of_a_model_fitted_anew(pending: bool) -> None:
    risk = Recorded()
    belief, dense = case(risk, pending=pending)
    outcomes = [-1.3, 0.4]
    both = np.vstack([np.zeros(5), np.eye(5)])  # the mean, and the columns of the root
    fantasies = Fantasies(belief, draws(belief, outcomes, both))
    x, z = doubles([[0.62], [0.05]]), belief.space.environment.points[[1, 4]]
    for design in range(5):  # the last stands for x itself
        risk.seen.clear()
        fantasies.value(x, z, torch.full((2, 2), design))
        (values,) = risk.seen  # (2, K, 1 + n, n)
        for row in range(2):
            pair = np.append(x[row], z[row])[None]
            mean, variance = dense(pair)
            deviation = np.sqrt(variance[0, 0] + SCALE**2 * RIDGE)
            where = x[row] if design == 4 else belief.designs[design]
            points = belief.space.points(where[None], belief.space.environment.points)[0]
            for k, normal in enumerate(outcomes):
                after = dense.told(pair, mean[0] + deviation * normal)
                expected, spread = after(points.numpy())
                got = values[row, k].numpy()
                root = (got[1:] - got[0]).T
                assert np.abs(got[0] - expected).max() < 1e-8
                assert np.abs(root @ root.T - spread).max() < 1e-6


@pytest.mark.long
@pytest.mark.parametrize(
    "risk",
    [VaR(0.3), CVaR(0.3), WorstCase()],
)
def test_the_value_is_that_of_brute_force(risk: Risk) -> None:
    """Fantasies as new fits, 50,000 independent draws of functions each.

    A risk has a deviation of less than 1.5 here (asserted), its mean one of less than 0.0067. All
    20 means are within 5.7 of those, 0.04, with a probability of 1 - 3e-7 (union bound), and so is
    the mean of their maxima; 4,096 quasi-random draws are within 0.01.
    """
    belief, dense = case(risk)
    normals = special.ndtri((np.arange(4) + 0.5) / 4)
    fantasies = Fantasies(belief, draws(belief, normals, sobol(4096, 5)))
    x, z = doubles([[0.4]]), belief.space.environment.points[[3]]
    value = float(fantasies.best(x, z)[0])

    rng = np.random.default_rng(0)
    pair = np.append(x[0], z[0])[None]
    mean, variance = dense(pair)
    deviation = np.sqrt(variance[0, 0] + SCALE**2 * RIDGE)
    weights = belief.space.environment.weights
    best, today = [], []
    for normal in [*normals, None]:
        after = dense if normal is None else dense.told(pair, mean[0] + deviation * normal)
        means = []
        for where in [*belief.designs, x[0]][: 4 if normal is None else 5]:
            points = belief.space.points(where[None], belief.space.environment.points)[0]
            functions = rng.multivariate_normal(*after(points.numpy()), 50_000, method="eigh")
            risks = risk(doubles(functions), weights)
            assert float(risks.std()) < 1.5
            means.append(float(risks.mean()))
        (today if normal is None else best).append(max(means))
    assert abs(value - np.mean(best)) < 0.05
    assert np.mean(best) - today[0] > 0.1  # what a measurement is worth is no rounding error


@pytest.mark.daily(4)
@pytest.mark.parametrize("weights", [None, WEIGHTS])
@pytest.mark.parametrize("risk", [Mean(), VaR(0.3), CVaR(0.3), WorstCase()])
def test_designs_that_are_passed_over_are_not_the_best(risk: Risk, weights: object) -> None:
    belief, _ = case(risk, weights)
    plain, _ = case(Unknown(risk), weights)
    given = draws(belief, sobol(8, 1)[:, 0], sobol(16, 5))
    x = torch.linspace(0.0, 1.0, 40, dtype=torch.float64).unsqueeze(-1)
    z = belief.space.environment.points[torch.arange(40) % 5]
    value, best = Fantasies(belief, given).best(x, z)
    every, all_best = Fantasies(plain, given).best(x, z)
    torch.testing.assert_close(value, every, rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(best, all_best)
    assert 0 < int((best == 4).sum()) < best.numel()


@pytest.mark.long
@pytest.mark.parametrize("risk", [Mean(), VaR(0.3), CVaR(0.3), WorstCase()])
def test_gradients_are_finite_differences(risk: Risk) -> None:
    belief, _ = case(risk)
    fantasies = Fantasies(belief, draws(belief, sobol(8, 1)[:, 0], sobol(16, 5)))
    x, z = doubles(np.linspace(0.03, 0.97, 7)[:, None]), doubles(np.full((7, 1), 0.4))
    value, best = fantasies.best(x, z)
    x, z = x.requires_grad_(), z.requires_grad_()
    differentiable = fantasies.value(x, z, best)
    torch.testing.assert_close(differentiable.detach(), value, rtol=1e-12, atol=1e-12)
    slopes = torch.autograd.grad(differentiable.sum(), (x, z))
    for slope, moves in zip(slopes, ((1e-6, 0.0), (0.0, 1e-6)), strict=True):
        ahead, behind = (
            fantasies.best(x.detach() + s * moves[0], z.detach() + s * moves[1])[0]
            for s in (1.0, -1.0)
        )
        torch.testing.assert_close(slope[:, 0], (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("number", [1, 5, 40])
@pytest.mark.parametrize("risk", [VaR(0.1), VaR(0.6), CVaR(0.1), CVaR(0.6), CVaR(0.999), Mean()])
def test_batched_risk_are_the_risks(risk: Risk, number: int) -> None:
    generator = torch.Generator().manual_seed(number)
    values = torch.randn(300, number, dtype=torch.float64, generator=generator)
    values[::3] = values[::3].round()  # ties
    masses = torch.randint(4, (number,), generator=generator).double() + 1e-3
    for weights in (torch.ones(number, dtype=torch.float64), masses):
        shares = weights / weights.sum()
        found = batched(risk, shares)(values.clone())
        torch.testing.assert_close(found, risk(values, shares), rtol=1e-12, atol=1e-13)
        found = differentiable(risk, shares)(values)
        torch.testing.assert_close(found, risk(values, shares), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("risk", [Mean(), VaR(0.3), CVaR(0.3), WorstCase()])
def test_the_risks_are_translation_equivariant(risk: Risk) -> None:
    weights = doubles([0.2, 0.3, 0.5])
    values = doubles([[3.0, -1.0, 2.0], [0.0, 5.0, 1.0]])
    assert translation_equivariant(risk)
    torch.testing.assert_close(risk(values + 7.0, weights), risk(values, weights) + 7.0)
    assert not translation_equivariant(Unknown(risk))


@pytest.mark.long
def test_the_search_finds_what_a_grid_finds() -> None:
    known, _ = case(VaR(0.3))
    policy = RiskKnowledgeGradient(fantasies=6, samples=16, raw=64, starts=3, steps=30)
    generator = torch.Generator().manual_seed(0)
    fantasies = Fantasies(known, policy._draws(known, generator.clone_state()))
    chosen = policy.choose(known.belief, None, PolicyState(generator))
    grid = torch.linspace(0.0, 1.0, 101, dtype=torch.float64).repeat_interleave(5).unsqueeze(-1)
    z = known.z
    every = fantasies.best(grid, z.repeat(101, 1))[0]
    found = fantasies.best(chosen.design.unsqueeze(0), chosen.environment.unsqueeze(0))[0]
    assert float(found) >= float(every.max()) - 0.01 * float(every.max() - every.min())
    assert chosen.design_arm is None
    assert bool((z == chosen.environment).all(-1).any())


def test_arms_are_all_judged() -> None:
    rng = np.random.default_rng(0)
    joint = sf.Joint(sf.Arms(rng.uniform(size=(6, 1))), FiniteEnvironment(np.linspace(0, 1, 5)))
    kernel = sf.kernels.squared_exponential(LENGTHSCALE)
    optimizer = sf.Optimizer(
        sf.Problem(joint, risk=VaR(0.3)),
        sf.Method(kernel, policy=SMALL, ridge=RIDGE, plan=sf.acquisition.Plan(3)),
    )
    for reward in (0.5, -0.2, 0.3):
        optimizer.tell(optimizer.ask(), reward)
    state = optimizer._state
    belief = optimizer._searching()
    known = Candidates.sampled(belief, 2, state.generator)
    fantasies = Fantasies(known, SMALL._draws(known, state.cloned.generator))
    chosen = SMALL.choose(belief, None, state)
    z = known.z
    every = fantasies.best(joint.design.points.repeat_interleave(5, 0), z.repeat(6, 1))[0]
    best = int(every.argmax())
    assert chosen.design_arm == best // 5
    assert torch.equal(chosen.design, joint.design.points[best // 5])
    assert torch.equal(chosen.environment, z[best % 5])


@pytest.mark.long
def test_it_is_far_better_than_random_search() -> None:
    """Ten measurements of 21 designs and 3 environments, five fixed seeds, no noise."""
    z, designs = np.linspace(0.0, 1.0, 3), np.linspace(0.0, 1.0, 21)[:, None]
    joint = sf.Joint(sf.Arms(designs), FiniteEnvironment(z, [0.25, 0.5, 0.25]))
    risk = VaR(0.25)
    x, under = designs, z[None]
    values = doubles(np.sin(9.0 * x + 2.0 * under) - 2.0 * (x - 0.6) ** 2 * (0.5 + under))
    risks = risk(values, joint.environment.weights)
    regret: dict[str, list[float]] = {"gradient": [], "random": []}
    for seed in range(5):
        generator = torch.Generator().manual_seed(seed)
        for name in regret:
            optimizer = sf.Optimizer(
                sf.Problem(joint, risk=risk),
                sf.Method(
                    sf.kernels.squared_exponential([0.2, 0.5]),
                    policy=SMALL,
                    ridge=1e-3,
                    plan=sf.acquisition.Plan(3),
                ),
                seed=seed,
            )
            for _ in range(10):
                if name == "random":
                    arm = int(torch.randint(21, (), generator=generator))
                    index = int(torch.randint(3, (), generator=generator))
                    optimizer.tell(arm, float(values[arm, index]), environment=z[index])
                else:
                    query = optimizer.ask()
                    index = joint.environment.index(query.environment)
                    optimizer.tell(query, float(values[query.arm, index]))
            regret[name].append(float(risks.max() - risks[optimizer.recommend().arm]))
    assert np.mean(regret["gradient"]) < 0.25 * np.mean(regret["random"])


CONTINUOUS = ContinuousEnvironment(truncated_normal([0.5], 0.2, 0.0, 1.0))
FINITE = FiniteEnvironment(np.linspace(0.0, 1.0, 4))
SPACES = {
    "box under a density": sf.Joint(sf.Box([0.0], [1.0]), CONTINUOUS),
    "arms under a density": sf.Joint(sf.Arms([[0.1], [0.5], [0.8]]), CONTINUOUS),
    "control noise": sf.Joint(
        sf.Box([0.0], [1.0]), CONTINUOUS, perturbation=lambda x, z: torch.cat([x + 0.1 * z, z], -1)
    ),
    "choices": sf.Joint(sf.Box([0.0] * 3, [1.0] * 3, choices=[(1, 2)]), FINITE),
    "levels": sf.Joint(sf.Box([0.0], [2.0], levels={0: [0.0, 1.0, 2.0]}), FINITE),
    "drawn by the world": sf.Joint(sf.Box([0.0], [1.0]), FINITE, observed=True),
}


@pytest.mark.long
@pytest.mark.parametrize(
    "name",
    SPACES,
)
def test_it_asks_what_the_space_allows(name: str) -> None:
    joint = SPACES[name]
    optimizer = sf.Optimizer(
        sf.Problem(joint, risk=VaR(0.3)),
        sf.Method(
            sf.kernels.squared_exponential(0.4),
            policy=SMALL,
            ridge=RIDGE,
            plan=sf.acquisition.Plan(3),
        ),
    )
    z = joint.environment.points[1] if joint.observed else None
    for reward in (0.5, -0.2, 0.3):
        optimizer.tell(optimizer.ask(), reward, environment=z)
    allowed = joint.design.points if isinstance(joint.design, sf.Arms) else None
    listed = [1] if allowed is not None else joint.design.sample(2, torch.Generator())
    for query in [*optimizer.ask_batch(2), optimizer.ask(arms=listed)]:
        if allowed is not None:
            assert torch.equal(query.point, allowed[query.arm])
        else:
            torch.testing.assert_close(
                joint.design.snap(query.point.unsqueeze(0))[0], query.point, rtol=0, atol=1e-12
            )
        if joint.observed:
            assert query.environment is None
        elif isinstance(joint.environment, FiniteEnvironment):
            assert joint.environment.index(query.environment) is not None
        else:
            z = query.environment
            assert bool(((z >= joint.environment.lower) & (z <= joint.environment.upper)).all())


def test_the_same_seed_asks_the_same_also_after_loading(tmp_path) -> None:
    joint = SPACES["levels"]

    def start() -> sf.Optimizer:
        kernel = sf.kernels.squared_exponential(0.4)
        policy = RiskKnowledgeGradient(4, 8)
        optimizer = rho_kg(joint, kernel, level=0.3, policy=policy, ridge=RIDGE, initial=2)
        for reward in (0.5, -0.2):
            optimizer.tell(optimizer.ask(), reward)
        return optimizer

    first, second = start(), start()
    second.save(tmp_path / "run")
    with pytest.raises(InvalidInput, match=r"policy.*pass it again"):
        sf.Optimizer.load(tmp_path / "run")
    third = sf.Optimizer.load(tmp_path / "run", policy=RiskKnowledgeGradient(4, 8))
    expected = first.ask()
    for query in (second.ask(), third.ask()):
        assert torch.equal(query.point, expected.point)
        assert torch.equal(query.environment, expected.environment)


@pytest.mark.parametrize("name", ["fantasies", "samples", "screening", "raw", "starts", "steps"])
def test_bad_settings_are_named(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"`{name}` is 0"):
        RiskKnowledgeGradient(**{name: 0})
    with pytest.raises(InvalidInput, match="`values` is 1"):
        RiskKnowledgeGradient(values=1)
    with pytest.raises(InvalidInput, match=r"`level` is 1\.5"):
        rho_kg(SPACES["levels"], level=1.5)
