"""Upper confidence bounds and noisy expected improvement against their definitions."""

import numpy as np
import torch

import surefoot as sf
from reference import covariance, gaussian_process
from surefoot.acquisition import NoisyExpectedImprovement, UpperConfidenceBound
from surefoot.algorithms import gp_ucb
from surefoot.beliefs import Belief

RIDGE = 0.2
FORMULA = covariance.matern_five_halves(np.array([0.3]))
SITES = np.linspace(0.0, 1.0, 15)[:, None]


def rng() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def measured() -> tuple[Belief, np.ndarray, np.ndarray]:
    pulled = SITES[[0, 4, 4, 8, 11]]
    rewards = np.sin(6.0 * pulled[:, 0])
    optimizer = gp_ucb(sf.Box([0.0], [1.0]), sf.kernels.matern(2.5, 0.3), ridge=RIDGE)
    optimizer.tell_all(pulled, rewards)
    return optimizer.belief(), pulled, rewards


def test_noisy_expected_improvement_is_that_of_joint_draws() -> None:
    belief, pulled, rewards = measured()
    points = np.array([[0.05], [0.2], [0.35], [0.9], [1.0]])
    with torch.no_grad():
        score = NoisyExpectedImprovement(samples=40_000)(belief.candidates, rng())(
            torch.from_numpy(points)
        )
    expected = []
    for point in points:
        joint = np.concatenate([pulled, point[None, :]])
        f = gaussian_process.draws(
            FORMULA, pulled, rewards, RIDGE, joint, 200_000, np.random.default_rng(0)
        )
        expected.append(np.maximum(f[:, -1] - f[:, :-1].max(1), 0.0).mean())
    np.testing.assert_allclose(score.exp(), expected, rtol=0.05)


def test_noisy_expected_improvement_has_a_gradient_where_improvement_is_hopeless() -> None:
    belief, _, _ = measured()
    points = torch.tensor([[0.6], [0.75]], dtype=torch.float64, requires_grad=True)
    score = NoisyExpectedImprovement(samples=8)(belief.candidates, rng())(points)
    (slope,) = torch.autograd.grad(score.sum(), points)
    assert bool(torch.isfinite(slope).all())
    assert bool((slope.abs() > 1e-6).all())


def test_upper_confidence_bound_is_mean_and_width_deviations() -> None:
    belief, pulled, rewards = measured()
    points = np.linspace(0, 1, 7)[:, None]
    score = UpperConfidenceBound()(belief.candidates, rng())(torch.from_numpy(points))
    mean, variance = gaussian_process.exact(FORMULA, pulled, rewards, RIDGE, points)
    np.testing.assert_allclose(score, mean + belief.band.width * np.sqrt(variance), rtol=1e-6)
