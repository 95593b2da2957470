"""Leave-one-out cross-validation, and what is recommended where a model does not predict."""

from dataclasses import fields

import pytest
import torch

import surefoot as sf
from surefoot.acquisition import Reporting
from surefoot.hyperparameters import CrossValidation
from surefoot.hyperparameters.evidence import Evidence, Hyperparameters
from surefoot.hyperparameters.laplace import PosteriorMode
from surefoot.kernels.families import FAMILIES

NUMBER = 40


def drawn(*shape: int, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.rand(*shape, dtype=torch.float64, generator=generator)


def validated(
    rewards: torch.Tensor, predicted: torch.Tensor, weights: torch.Tensor
) -> CrossValidation:
    points, ones = (
        torch.linspace(0.0, 1.0, len(rewards)).double()[:, None],
        torch.ones(len(rewards)),
    )
    return CrossValidation(rewards, predicted, ones, weights, points, torch.ones(1))


def test_predictions_are_those_of_fits_without_the_reward() -> None:
    points, weights = drawn(12, 2), 0.2 + drawn(12, seed=1)
    rewards = torch.sin(5.0 * points[:, 0]) + points[:, 1]
    model = Hyperparameters(torch.tensor([-0.8, 0.4, 0.1, -3.0], dtype=torch.float64))
    evidence = Evidence(points, rewards, torch.tensor([0, 1]), FAMILIES["matern-5/2"], None)
    found = PosteriorMode(evidence, model, weights, dof=4.0).cross_validation()

    covariance = evidence.covariance_of_rewards(model)
    total = covariance + torch.diag(model.noise / weights)
    inverse = torch.linalg.inv(total)
    mean = (inverse @ rewards).sum() / inverse.sum()
    for i in range(12):
        rest = [j for j in range(12) if j != i]
        gain = torch.linalg.solve(total[rest][:, rest], covariance[rest, i])
        assert float(found.predicted[i]) == pytest.approx(float(gain @ (rewards[rest] - mean)))
        left = total[i, i] - gain @ covariance[rest, i]
        assert float(found.deviations[i]) == pytest.approx(float(left.sqrt()))
    torch.testing.assert_close(found.rewards, rewards - mean)


@pytest.mark.parametrize(("number", "trusted"), [(29, True), (30, False)])
def test_few_rewards_are_no_evidence_against_a_model(number: int, trusted: bool) -> None:
    rewards = drawn(number)
    assert validated(rewards, -rewards, torch.ones(number)).is_predictive is trusted


def test_outliers_do_not_count() -> None:
    rewards, weights = drawn(NUMBER), torch.ones(NUMBER, dtype=torch.float64)
    predicted = rewards.clone()
    rewards[0], weights[0] = -1e6, 1e-13
    assert validated(rewards, predicted, weights).is_predictive
    assert not validated(rewards, predicted, torch.ones_like(weights)).is_predictive


def test_rewards_that_do_not_vary_are_no_evidence_against_a_model() -> None:
    zeros = torch.zeros(NUMBER, dtype=torch.float64)
    assert validated(zeros, drawn(NUMBER), torch.ones(NUMBER)).is_predictive


CLUSTER = [12, 13, 22, 23, 24, 32, 33]  # of a grid of 10 x 10


def on_a_grid(
    outliers: list[int], value: float = 5.0, lengthscales: tuple[float, float] = (1.0, 1.0)
) -> CrossValidation:
    line = torch.linspace(0.0, 1.0, 10)
    points, rewards = torch.cartesian_prod(line, line), torch.zeros(100, dtype=torch.float64)
    rewards[outliers] = value
    weights = torch.where(rewards == 0.0, 1.0, 0.01)
    zeros = torch.zeros_like(rewards)
    ones = torch.ones(100)
    return CrossValidation(rewards, zeros, ones, weights, points, torch.tensor(lengthscales))


def test_outliers_beside_each_other_are_a_cluster() -> None:
    assert on_a_grid(CLUSTER).clustered.tolist() == CLUSTER
    assert on_a_grid([*CLUSTER, 97]).clustered.tolist() == CLUSTER  # one of the noise beside them


def test_wrong_lengthscales_do_not_hide_a_cluster() -> None:
    assert on_a_grid(CLUSTER, lengthscales=(0.2, 20.0)).clustered.tolist() == CLUSTER


def test_lengthscales_tell_what_does_not_matter() -> None:
    points, rewards = drawn(100, 6), torch.zeros(100, dtype=torch.float64)
    near = (points[:, 0] - 0.5).abs().argsort()[:9]
    rewards[near] = 5.0
    weights = torch.where(rewards == 0.0, 1.0, 0.01)
    given = rewards, torch.zeros_like(rewards), torch.ones(100), weights, points
    scales = torch.tensor([0.1, *[1e3] * 5])
    found = CrossValidation(*given, scales).clustered.tolist()
    assert set(found) <= set(near.tolist())
    assert len(found) >= 8
    assert len(CrossValidation(*given, torch.ones(6)).clustered) == 0


@pytest.mark.parametrize(
    ("outliers", "value"),
    [([], 5.0), ([12, 13], 5.0), ([2, 17, 35, 51, 68, 84], 5.0), (CLUSTER, -5.0)],
    ids=["none", "two", "apart", "below"],
)
def test_other_outliers_are_none(outliers: list[int], value: float) -> None:
    assert len(on_a_grid(outliers, value).clustered) == 0


def test_outliers_on_both_sides_are_noise_that_is_larger_there() -> None:
    region = [*range(10, 20), *range(20, 30), *range(30, 40)]
    found = on_a_grid(region)
    assert found.clustered.tolist() == region
    found.rewards[region[::2]] = -5.0
    assert len(found.clustered) == 0
    found.rewards[region] = 5.0
    found.rewards[15] = -5.0  # one of the noise at a maximum
    assert found.clustered.tolist() == [one for one in region if one != 15]


@pytest.mark.long
@pytest.mark.parametrize("sites", [3, 5, 20])
def test_outliers_of_repeated_points_are_hardly_ever_a_cluster(sites: int) -> None:
    # Its level is 1e-4, so that 0.03 of 300 are expected; more than 3 have a probability of 3e-8.
    generator, ones = torch.Generator().manual_seed(sites), torch.ones(60, dtype=torch.float64)
    points, found = drawn(sites, 2)[torch.arange(60) % sites], 0
    for number in (5, 10, 20):
        for _ in range(100):
            rewards = torch.zeros_like(ones)
            rewards[torch.randperm(60, generator=generator)[:number]] = 5.0
            weights = torch.where(rewards == 0.0, 1.0, 0.01)
            values = CrossValidation(rewards, 0.0 * ones, ones, weights, points, ones[:2])
            found += len(values.clustered) > 0
    assert found <= 3


def test_repeated_points_where_most_rewards_are_outliers_are_a_cluster() -> None:
    found = on_a_grid(CLUSTER)
    twice = CrossValidation(
        *(
            getattr(found, one.name).repeat(2, *[1] * (getattr(found, one.name).ndim - 1))
            for one in fields(found)[:5]
        ),
        found.lengthscales,
    )
    assert twice.clustered.tolist() == [*CLUSTER, *(100 + one for one in CLUSTER)]


@pytest.mark.long
def test_outliers_at_random_are_hardly_ever_a_cluster() -> None:
    # Its level is 1e-4, so that 0.3 of 3,000 are expected; more than 5 have a probability of 8e-7.
    generator = torch.Generator().manual_seed(0)
    found = 0
    for number in (3, 5, 8, 13, 20, 30):
        for _ in range(500):
            outliers = torch.randperm(100, generator=generator)[:number].tolist()
            found += len(on_a_grid(outliers).clustered) > 0
    assert found <= 5


def unpredictable(**settings: object) -> sf.Optimizer:
    """Rewards that have nothing to do with the point, with one large outlier."""
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), seed=0, **settings)
    rewards = torch.special.ndtri(0.01 + 0.98 * drawn(NUMBER, seed=4))
    rewards[7] = 1e6
    optimizer.tell_all(drawn(NUMBER, 2), rewards)
    return optimizer


@pytest.mark.long
def test_the_best_measured_point_is_recommended_where_a_model_does_not_predict() -> None:
    optimizer = unpredictable()
    history = optimizer.history
    weights = optimizer.belief().outcome.cross_validation.weights
    kept = history.rewards.where(weights >= 0.5, -torch.inf)
    found = optimizer.recommend()
    assert found.point.tolist() == drawn(NUMBER, 2)[int(kept.argmax())].tolist()
    assert found.lower < found.value < found.upper
    assert optimizer.recommend(by="mean").point.tolist() != found.point.tolist()


@pytest.mark.long
def test_a_replicate_below_average_counts_against_a_point() -> None:
    optimizer = unpredictable()
    best = optimizer.recommend().point
    optimizer.tell(best, -1.0)
    assert optimizer.recommend().point.tolist() != best.tolist()


def test_a_point_that_failed_since_is_not_recommended() -> None:
    optimizer = unpredictable()
    best = optimizer.recommend().point
    for step in (0.0, 0.01, -0.01):
        optimizer.forget((best + step).clamp(0.0, 1.0))
    found = optimizer.recommend().point
    assert float((found - best).abs().max()) > 0.02


@pytest.mark.long
def test_the_posterior_mean_is_used_where_it_predicts() -> None:
    points = drawn(NUMBER, 2)
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), seed=0)
    optimizer.tell_all(points, -(points - 0.5).square().sum(-1) + 0.01 * drawn(NUMBER, seed=1))
    assert optimizer.recommend().point.tolist() == optimizer.recommend(by="mean").point.tolist()


def test_with_a_kernel_that_is_given_nothing_is_doubted() -> None:
    box, kernel = sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2)
    optimizer = sf.Optimizer(box, sf.Method(kernel, reporting=Reporting("cross-validated")))
    optimizer.tell_all(drawn(NUMBER, 1), drawn(NUMBER, seed=1))
    assert optimizer.recommend().point.tolist() == optimizer.recommend(by="mean").point.tolist()


@pytest.mark.long
def test_points_between_levels_are_not_recommended() -> None:
    box = sf.Box([0.0], [1.0], levels={0: [0.0, 0.5, 1.0]})
    optimizer = sf.algorithms.robust_ucb(box, seed=0)
    optimizer.tell_all(0.1 + 0.3 * drawn(NUMBER, 1), drawn(NUMBER, seed=1))
    assert optimizer.recommend().point.tolist() in [[0.0], [0.5], [1.0]]
    optimizer.tell([0.5], 0.4)
    assert optimizer.recommend().point.tolist() in [[0.0], [0.5], [1.0]]


@pytest.mark.long
def test_arms_are_recommended_by_their_average_reward() -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Arms(drawn(20, 2)), seed=0)
    rewards = torch.special.ndtri(0.01 + 0.98 * drawn(40, seed=5))
    optimizer.tell_all([*range(20), *range(20)], rewards)
    assert not optimizer.belief().outcome.cross_validation.is_predictive
    assert bool((optimizer.belief().weights >= 0.5).all())
    assert optimizer.recommend().arm == int(rewards.reshape(2, 20).mean(0).argmax())


def test_rewards_near_a_point_are_as_predicted_or_not() -> None:
    points, ones = drawn(60, 2), torch.ones(60, dtype=torch.float64)
    lengthscales, at = torch.tensor([0.1, 10.0]).double(), torch.tensor([[0.5, 0.5]]).double()
    near = (points[:, 0] - 0.5).abs().argsort()[:8]  # the second coordinate hardly matters
    rewards = torch.zeros(60, dtype=torch.float64)
    rewards[near] = 2.0
    found = CrossValidation(rewards, 0.0 * rewards, 2.0 * ones, ones, points, lengthscales)
    assert found.bias_near(at).tolist() == pytest.approx([8.0**0.5])
    rewards[near[0]] = -1e9  # an outlier counts as three deviations
    assert found.bias_near(at).tolist() == pytest.approx([(7.0 - 3.0) / 8.0**0.5])


@pytest.mark.parametrize(("number", "biased"), [(29, False), (30, True)])
def test_few_rewards_are_no_evidence_of_a_bias(number: int, biased: bool) -> None:
    rewards = torch.ones(number, dtype=torch.float64)
    found = validated(rewards, 0.0 * rewards, rewards).bias_near(torch.tensor([[0.5]]).double())
    assert bool(found > 2.5) is biased
