"""What is learnt from data of known make."""

import pytest
import torch

from surefoot.hyperparameters.student_t_fit import GAUSSIAN, Learner

SPREAD, HOMED = 15, 100
LOWER, SPAN = torch.zeros(2, dtype=torch.float64), torch.ones(2, dtype=torch.float64)


def function(x: torch.Tensor) -> torch.Tensor:
    """Smooth, with a standard deviation of 4 over the unit square and a maximum at (0.39, 0)."""
    return 5.0 * torch.sin(4.0 * x[:, 0]) + 3.0 * torch.cos(3.0 * x[:, 1])


def homed_in(seed: int, noise: float) -> tuple[torch.Tensor, torch.Tensor]:
    """What a search looks like that found the maximum early: most measurements are alike."""
    generator = torch.Generator().manual_seed(seed)
    spread = torch.rand(SPREAD, 2, generator=generator, dtype=torch.float64)
    steps = torch.randn(HOMED, 2, generator=generator, dtype=torch.float64)
    near = torch.tensor([0.39, 0.02], dtype=torch.float64) + 0.002 * steps
    points = torch.cat([spread, near])
    errors = torch.randn(len(points), generator=generator, dtype=torch.float64)
    return points, function(points) + noise * errors


def error_of(learner: Learner, points: torch.Tensor, rewards: torch.Tensor) -> float:
    """Root mean square error of the posterior mean over the square."""
    learnt, weights = learner(points, rewards, LOWER, SPAN)
    grid = torch.linspace(0, 1, 15, dtype=torch.float64)
    everywhere = torch.cartesian_prod(grid, grid)
    with torch.no_grad():
        covariance = learnt.kernel(points).to_dense() + torch.diag(learnt.noise / weights)
        standard = (rewards - learnt.centre) / learnt.scale
        across = learnt.kernel(everywhere, points).to_dense()
        mean = learnt.centre + learnt.scale * across @ torch.linalg.solve(covariance, standard)
    return float((mean - function(everywhere)).square().mean().sqrt())


LEARNERS = {
    "Gaussian": Learner(nu=None, dof=GAUSSIAN),
    "Student-t": Learner(nu=None),
    "Student-t, Matern": Learner(),
}


@pytest.mark.parametrize("noise", [0.01, 0.05])
@pytest.mark.parametrize("name", LEARNERS)
def test_a_search_that_homed_in_still_knows_the_rest(name, noise):
    # The median deviation is that of the noise here, so everything else looks like an outlier.
    for seed in range(4):
        assert error_of(LEARNERS[name], *homed_in(seed, noise)) < 1.0


@pytest.mark.parametrize("name", LEARNERS)
def test_units_of_the_rewards_do_not_matter(name):
    points, rewards = homed_in(0, 0.05)
    learnt, weights = LEARNERS[name](points, rewards, LOWER, SPAN)
    other, others = LEARNERS[name](points, 4096.0 * rewards + 65536.0, LOWER, SPAN)
    assert other.scale == pytest.approx(4096.0 * learnt.scale, rel=1e-9)
    assert other.centre == pytest.approx(4096.0 * learnt.centre + 65536.0, rel=1e-4)
    torch.testing.assert_close(others, weights, rtol=0, atol=1e-2)


def test_spikes_are_told_from_a_search_that_homed_in():
    points, rewards = homed_in(1, 0.05)
    spiked = rewards.clone()
    spiked[::10] += 60.0
    _, weights = Learner()(points, spiked, LOWER, SPAN)
    assert float(weights[::10].max()) < 0.05
    away = torch.ones(len(points), dtype=torch.bool)
    away[::10] = False
    assert float(weights[away].mean()) > 0.5
    assert error_of(Learner(), points, spiked) < 1.5


def test_few_rewards_that_do_not_vary_leave_a_short_lengthscale_possible():
    # A policy that trusts its interval would otherwise never look along that coordinate again.
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(12, 2, generator=generator, dtype=torch.float64)
    rewards = torch.sin(6.0 * points[:, 1])
    scales = {}
    for name in ("long", "short"):
        learnt, _ = Learner(nu=None, dof=GAUSSIAN, lengthscales=name)(points, rewards, LOWER, SPAN)
        scales[name] = learnt.kernel.base_kernel.lengthscale.detach().reshape(-1)
    assert float(scales["short"][0]) < 2.0 < 4.0 < float(scales["long"][0])
    assert float(scales["short"][1]) == pytest.approx(float(scales["long"][1]), rel=0.5)
