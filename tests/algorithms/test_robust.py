"""What outliers do to what is believed, recommended and asked; margins are wide on purpose."""

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.algorithms import gp_ucb, robust_ucb
from surefoot.hyperparameters import GivenHyperparameters

LINE = torch.linspace(0.0, 1.0, 40, dtype=torch.float64).unsqueeze(-1)


def truth(points: torch.Tensor) -> torch.Tensor:
    """A smooth function of one coordinate in [0, 1] with its maximum of 1 at 0.7."""
    x = points[..., 0]
    return torch.exp(-40.0 * (x - 0.7).square()) + 0.5 * torch.exp(-60.0 * (x - 0.2).square())


def contaminated(number: int, seed: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Points, rewards with noise 0.05 of which 5 % are off by about 30, and which ones are."""
    generator = np.random.default_rng(seed)
    points = torch.from_numpy(generator.uniform(size=(number, 1)))
    rewards = truth(points) + 0.05 * torch.from_numpy(generator.normal(size=number))
    spikes = torch.zeros(number, dtype=torch.bool)
    spikes[generator.choice(number, size=number // 20, replace=False)] = True
    sign = torch.from_numpy(generator.choice([-1.0, 1.0], size=number))
    return points, torch.where(spikes, rewards + 30.0 * sign, rewards), spikes


@pytest.mark.long
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    "estimator", [sf.Huber(), sf.StudentT()], ids=lambda part: type(part).__name__
)
def test_spikes_hardly_move_a_robust_mean(estimator: object, seed: int) -> None:
    points, rewards, spikes = contaminated(100, seed)
    errors = []
    for part in (estimator, sf.LeastSquares()):
        optimizer = sf.Optimizer(
            sf.Box([0.0], [1.0]),
            sf.Method(sf.kernels.squared_exponential(0.15), estimator=part, ridge=0.01),
        )
        optimizer.tell_all(points, rewards)
        errors.append(
            float((optimizer.belief().posterior.mean(LINE) - truth(LINE)).square().mean().sqrt())
        )
        if part is estimator:
            assert bool((optimizer.belief().weights[spikes] < 0.5).all())
            assert float((optimizer.belief().weights[~spikes] > 0.5).double().mean()) > 0.85
    assert errors[0] < 0.2
    assert errors[0] < 0.1 * errors[1]


@pytest.mark.long
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_default_learns_through_spikes(seed: int) -> None:
    points, rewards, spikes = contaminated(100, seed)
    optimizer = robust_ucb(sf.Box([0.0], [1.0]))
    optimizer.tell_all(points, rewards)
    found = optimizer.recommend()
    assert float(truth(found.point)) > 0.9
    assert found.value == pytest.approx(1.0, abs=0.3)
    weights = optimizer.belief().weights
    assert bool((weights[spikes] < 0.5).all())
    assert float((weights[~spikes] > 0.5).double().mean()) > 0.75


@pytest.mark.long
@pytest.mark.parametrize("space", ["line", "arms"])
def test_the_default_finds_the_optimum_under_spikes(space: str) -> None:
    optimizer = robust_ucb(sf.Box([0.0], [1.0]) if space == "line" else sf.Arms(LINE), seed=0)
    generator = np.random.default_rng(0)
    for step in range(15):
        query = optimizer.ask()
        spike = 30.0 * generator.choice([-1.0, 1.0]) if step % 10 == 4 else 0.0
        reward = float(truth(query.point)) + 0.05 * generator.normal() + spike
        optimizer.tell(query, reward)
    assert float(truth(optimizer.recommend().point)) > 0.8


@pytest.mark.long
def test_a_lone_spike_is_not_recommended() -> None:
    """Nothing else was ever measured near it; the neighbours further off still decide."""
    optimizer = robust_ucb(sf.Box([0.0], [1.0]))
    points = torch.linspace(0.0, 1.0, 15, dtype=torch.float64).unsqueeze(-1)
    rewards = truth(points)
    rewards[0] += 1000.0
    info = optimizer.tell_all(points, rewards)
    assert info.truncated_total >= 1
    assert float(optimizer.belief().weights[0]) < 0.5
    assert float(optimizer.recommend().point) == pytest.approx(0.7, abs=0.1)


@pytest.mark.long
def test_clean_data_lose_little_weight() -> None:
    generator = np.random.default_rng(0)
    points = torch.from_numpy(generator.uniform(size=(80, 1)))
    rewards = truth(points) + 0.05 * torch.from_numpy(generator.normal(size=80))
    robust, plain = (
        robust_ucb(sf.Box([0.0], [1.0])),
        gp_ucb(sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.15), ridge=0.01),
    )
    for optimizer in (robust, plain):
        optimizer.tell_all(points, rewards)
    assert float((robust.belief().weights > 0.5).double().mean()) > 0.9
    difference = robust.belief().posterior.mean(LINE) - plain.belief().posterior.mean(LINE)
    assert float(difference.abs().max()) < 0.15


@pytest.mark.long
def test_skewed_noise_does_not_hide_the_optimum() -> None:
    """Latencies: a long tail on one side, of a scale that is the same everywhere."""
    generator = np.random.default_rng(1)
    points = torch.from_numpy(generator.uniform(size=(150, 1)))
    tail = torch.from_numpy(generator.pareto(1.5, size=150))
    optimizer = robust_ucb(sf.Box([0.0], [1.0]))
    optimizer.tell_all(points, truth(points) - 0.1 * tail)
    assert float(truth(optimizer.recommend().point)) > 0.85


@pytest.mark.long
@pytest.mark.parametrize("share", [0.55, 0.9])
def test_mostly_equal_rewards_with_spikes(share: float) -> None:
    """The median absolute deviation is 0 then: a coarse clock, or a count that is mostly 0."""
    points = torch.linspace(0.0, 1.0, 40, dtype=torch.float64).unsqueeze(-1)
    rewards = torch.full((40,), 5.0, dtype=torch.float64)
    other = int(40 * (1.0 - share))
    rewards[:other] = 6.0
    rewards[-1] = 1e6
    for build in (robust_ucb, lambda box: robust_ucb(box, sf.kernels.matern(2.5, 0.2))):
        optimizer = build(sf.Box([0.0], [1.0]))
        optimizer.tell_all(points, rewards)
        mean = optimizer.belief().predict(points)[0]
        assert bool(((mean > 0.0) & (mean < 11.0)).all())


@pytest.mark.long
def test_extremes_that_agree_with_each_other_are_not_outliers() -> None:
    """A search measures mostly near the optimum; the few points far away are true all the same."""
    generator = np.random.default_rng(1)
    near = 0.3 + 0.02 * generator.normal(size=23)
    points = torch.from_numpy(np.concatenate([near, [0.05, 0.5, 0.9, 0.95, 1.0]])[:, None])
    f = -100.0 * (points[:, 0] - 0.3).square()
    optimizer = robust_ucb(sf.Box([0.0], [1.0]))
    optimizer.tell_all(points, f + torch.from_numpy(generator.normal(size=28)))
    assert bool((optimizer.belief().weights[-3:] > 0.5).all())
    mean = optimizer.belief().predict(points[-3:])[0]
    assert float((mean - f[-3:]).abs().max()) < 10.0


@pytest.mark.long
@pytest.mark.parametrize("standardise", [True, False])
def test_a_search_that_has_homed_in_believes_in_the_rest(standardise: bool) -> None:
    """Rewards near the optimum spread like the noise; the function reaches further elsewhere."""
    generator = np.random.default_rng(0)
    near = 0.7 + 0.01 * generator.normal(size=100)
    points = torch.from_numpy(np.concatenate([[0.0, 0.1, 0.2, 0.3, 0.4, 0.5], near])[:, None])
    rewards = 10.0 * truth(points) + 0.1 * torch.from_numpy(generator.normal(size=106))
    optimizer = sf.Optimizer(
        sf.Box([0.0], [2.0]),
        sf.Method(
            GivenHyperparameters(sf.kernels.squared_exponential(0.15), 0.01, standardise),
            estimator=sf.Huber(),
        ),
    )
    optimizer.tell_all(points, rewards)
    unseen = torch.tensor([[1.5]], dtype=torch.float64)
    deviation = float(optimizer.belief().posterior.variance(unseen).sqrt())
    assert 1.0 < deviation < 10.0 if standardise else deviation == pytest.approx(1.0, rel=1e-3)


@pytest.mark.parametrize(
    ("variables", "categorical", "prior"),
    [(16, True, "long"), (17, True, "pooled"), (17, False, "long")],
)
def test_lengthscales_are_pooled_in_many_variables_some_categorical(
    variables: int, categorical: bool, prior: str
) -> None:
    ends = [0.0] * (variables + categorical), [1.0] * (variables + categorical)
    box = sf.Box(*ends, choices=[(0, 1)] if categorical else [])
    assert robust_ucb(box)._history.model.hyperparameters.lengthscales == prior


@pytest.mark.long
def test_a_given_kernel_has_inducing_points_beyond_a_thousand_in_a_box() -> None:
    points = torch.rand(1100, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    optimizer = sf.algorithms.robust_ucb(
        sf.Box([0.0, 0.0], [1.0, 1.0]), sf.kernels.matern(1.5, 0.2), ridge=0.01
    )
    optimizer.tell_all(points, points.sum(-1).tolist())
    assert optimizer.belief().posterior.embedding.dimension <= sf.PivotedCholesky().size
