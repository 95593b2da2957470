"""Environments with a density, through the optimiser: their ends, their extremes."""

import pytest
import torch
from scipy import stats
from torch.distributions import (
    Beta,
    Dirichlet,
    Distribution,
    Gamma,
    LogNormal,
    MultivariateNormal,
    Normal,
    StudentT,
    Uniform,
)

import surefoot as sf
from surefoot.spaces.environments import truncated_normal

LINE = sf.Box([0.0], [1.0])
KERNEL = sf.kernels.squared_exponential([0.3, 0.3])


def value(query: sf.Query) -> float:
    z = query.environment
    assert z is not None
    return float(-4 * (query.point[0] - 0.3) ** 2 + z[0] * (0.6 - query.point[0]))


def play(optimizer: sf.Optimizer, rounds: int) -> list[list[float]]:
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        assert query.environment is not None
        asked.append([*query.point.tolist(), *query.environment.tolist()])
        optimizer.tell(query, value(query))
    return asked


@pytest.mark.long
@pytest.mark.parametrize(
    "distribution",
    [LogNormal(0.0, 0.5), Normal(0.0, 1.0), Uniform(0.0, 1.0)],
    ids=["open at 0", "without ends", "closed"],
)
def test_any_support_will_do(distribution) -> None:
    space = sf.Joint(LINE, sf.ContinuousEnvironment(distribution))
    optimizer = sf.algorithms.v_ucb(space, KERNEL, level=0.2)
    for _, z in play(optimizer, 4):
        assert bool(distribution.support.check(torch.tensor(z)))
    best = optimizer.recommend()
    assert best.lower <= best.value <= best.upper


def test_a_simplex_has_a_density_too() -> None:
    space = sf.Joint(LINE, sf.ContinuousEnvironment(Dirichlet(torch.ones(3).double())))
    optimizer = sf.algorithms.v_ucb(space, sf.kernels.squared_exponential(0.5), level=0.2)
    for row in play(optimizer, 3):
        assert sum(row[1:]) == pytest.approx(1.0)


def test_what_an_unbounded_world_draws_is_never_refused() -> None:
    space = sf.Joint(LINE, sf.ContinuousEnvironment(Normal(0.0, 1.0)), observed=True)
    optimizer = sf.algorithms.v_ucb(space, KERNEL, level=0.2)
    optimizer.tell(optimizer.ask(), 1.0, environment=6.0)
    assert torch.isfinite(optimizer.ask().point).all()


@pytest.mark.parametrize("ends", [(-1.0, None), (None, 2.0), (-1.0, 2.0)])
def test_bounds_wider_than_the_support_change_nothing(ends) -> None:
    environment = sf.ContinuousEnvironment(Uniform(0.0, 1.0), *ends)
    assert [environment.lower.item(), environment.upper.item()] == [0.0, 1.0]
    outside = torch.tensor([[-0.5], [1.5]], dtype=torch.float64)
    assert (environment.log_prob(outside) == -torch.inf).all()


def test_drawing_leaves_the_global_generator_alone() -> None:
    environment = sf.ContinuousEnvironment(truncated_normal(0.5, 0.1, 0.0, 1.0))
    before = torch.random.get_rng_state()
    environment.sample(100, torch.Generator().manual_seed(1))
    assert torch.equal(torch.random.get_rng_state(), before)


def test_the_worst_case_is_at_an_end_that_hardly_ever_comes() -> None:
    narrow = sf.ContinuousEnvironment(truncated_normal(0.5, 0.02, 0.0, 1.0))
    optimizer = sf.algorithms.stable_opt(sf.Joint(sf.Arms([[0.0], [1.0]]), narrow), KERNEL)
    for z in (0.0, 0.25, 0.5, 0.75, 1.0):
        optimizer.tell(0, 0.0 if z > 0.1 else -30.0, environment=z)
        optimizer.tell(1, -1.0, environment=z)
    best = optimizer.recommend()
    assert best.arm == 1
    value, _, _ = optimizer.belief().predict([[0.0]])
    assert float(value) < -10.0


@pytest.mark.long
def test_a_density_may_be_infinite_at_an_end() -> None:
    """The worse of the ends is asked all the same."""
    edges = sf.ContinuousEnvironment(Beta(*torch.tensor([0.02, 0.02]).double()))
    optimizer = sf.algorithms.stable_opt(sf.Joint(LINE, edges), KERNEL, ridge=1e-3)
    for _ in range(8):
        query = optimizer.ask()
        assert query.environment is not None
        if len(optimizer.history):
            ends = torch.tensor([[0.0], [1.0]]).double()
            z = torch.cat([ends, query.environment.unsqueeze(0)])
            pairs = torch.cat([query.point.expand(3, 1), z], -1)
            mean, deviation = optimizer.belief().posterior.mean_and_deviation(pairs)
            lower = mean - optimizer.width * deviation
            assert float(lower[2]) <= float(lower[:2].min()) + 0.05
        optimizer.tell(query, 4.0 * value(query))


@pytest.mark.long
def test_the_worst_case_stays_within_a_support_that_is_no_box() -> None:
    simplex = sf.ContinuousEnvironment(Dirichlet(torch.ones(3).double()))
    optimizer = sf.algorithms.stable_opt(
        sf.Joint(LINE, simplex), sf.kernels.squared_exponential(0.5)
    )
    for row in play(optimizer, 4):
        assert sum(row[1:]) == pytest.approx(1.0)
    values, _ = simplex.values(64, torch.Generator().manual_seed(0), spread=True)
    assert values.sum(-1).tolist() == pytest.approx([1.0] * len(values))


CORRELATED = MultivariateNormal(torch.zeros(2), torch.tensor([[4.0, 3.0], [3.0, 4.0]]))


@pytest.mark.parametrize(
    ("distribution", "level", "expected", "within"),
    [
        (Beta(2.0, 5.0), 0.1, stats.beta(2, 5).ppf(0.1), 0.003),
        (Gamma(2.0, 4.0), 0.95, stats.gamma(2, scale=0.25).ppf(0.95), 0.02),
        (StudentT(2.0), 0.05, stats.t(2).ppf(0.05), 0.1),
        (CORRELATED, 0.05, 14.0**0.5 * stats.norm.ppf(0.05), 0.2),
    ],
)
def test_values_without_a_quantile_function_have_the_quantiles_of_the_distribution(
    distribution: Distribution, level: float, expected: float, within: float
) -> None:
    """Standard errors of 1,024 independent draws are .006, .04, .23 and .2."""
    environment = sf.ContinuousEnvironment(distribution)
    for seed in range(20):
        z, _ = environment.values(1024, torch.Generator().manual_seed(seed))
        assert z.shape == (1024, environment.dimension)
        assert float(z.sum(1).quantile(level)) == pytest.approx(expected, abs=within)
