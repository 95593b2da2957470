"""Test problems keep what they promise: scale, optimum, noise law, and repeatable draws."""

import pickle

import numpy as np
import pytest
import torch
from scipy import stats
from torch.quasirandom import SobolEngine

from surefoot import InvalidInput
from surefoot_experiments import problems

FAMILIES = {
    "ackley-2": problems.ackley,
    "rosenbrock-3": lambda: problems.rosenbrock(dimension=3),
    "branin-2": problems.branin,
    "hartmann-3": lambda: problems.hartmann(dimension=3),
    "hartmann-6": lambda: problems.hartmann(dimension=6),
}
# Maximisers as published, in the units of each box.
MAXIMISERS = {
    "ackley-2": [0.0, 0.0],
    "rosenbrock-3": [1.0, 1.0, 1.0],
    "branin-2": [np.pi, 2.275],
    "hartmann-3": [0.114614, 0.555649, 0.852547],
    "hartmann-6": [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573],
}
NOISES = {
    "gaussian": (problems.Gaussian(0.3), stats.norm(scale=0.3).cdf),
    "student-t": (problems.StudentT(2.0, 0.3), stats.t(2, scale=0.3).cdf),
    "pareto": (problems.CenteredPareto(1.5, 0.3), stats.pareto(1.5, loc=-0.9, scale=0.3).cdf),
    "spikes": (
        problems.Spikes(0.05, 30.0, 0.3),
        lambda x: (
            0.95 * stats.norm.cdf(x, scale=0.3)
            + 0.025 * stats.norm.cdf(x, loc=30, scale=0.3)
            + 0.025 * stats.norm.cdf(x, loc=-30, scale=0.3)
        ),
    ),
}


@pytest.fixture(params=FAMILIES, name="problem")
def _problem(request):
    return FAMILIES[request.param]()


def spread(problem, count=2**14):
    """Quasi-random points of the box, other than those that set the scale."""
    cube = SobolEngine(problem.dimension, scramble=True, seed=1).draw(count, dtype=torch.float64)
    return problem.lower + (problem.upper - problem.lower) * cube


def test_bounds_are_float64_and_match_the_name(problem):
    assert problem.lower.dtype == problem.upper.dtype == torch.float64
    assert (problem.lower < problem.upper).all()
    assert problem.dimension == int(problem.name.split("-")[1])


def test_standard_deviation_over_the_box_is_one(problem):
    assert float(problem.value(spread(problem)).std()) == pytest.approx(1.0, abs=0.05)


def test_the_optimum_is_reached_and_not_passed(problem):
    best = torch.tensor([MAXIMISERS[problem.name]], dtype=torch.float64)
    assert float(problem.regret(best)) == pytest.approx(0.0, abs=1e-5)
    everywhere = spread(problem)
    centre = (problem.lower + problem.upper) / 2
    nearby = (best + 0.01 * (everywhere - centre)).clamp(problem.lower, problem.upper)
    assert float(problem.regret(everywhere).min()) >= -1e-5
    assert float(problem.regret(nearby).min()) >= -1e-5


@pytest.mark.parametrize("label", NOISES)
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_noise_follows_its_law(label, kind):
    noise, cdf = NOISES[label]
    generator = np.random.default_rng(0) if kind == "numpy" else torch.Generator().manual_seed(0)
    draws = noise.sample(20_000, generator)
    assert draws.dtype == torch.float64
    # Dvoretzky-Kiefer-Wolfowitz: a sample from the law passes 0.0195 with probability < 1e-6.
    assert stats.kstest(draws.numpy(), cdf).statistic < 0.0195


def test_spikes_come_as_often_as_told():
    draws = problems.Spikes(0.05, 30.0, 0.3).sample(20_000, np.random.default_rng(0))
    up, down = int((draws > 15).sum()), int((draws < -15).sum())
    low, high = stats.binom.ppf([1e-7, 1 - 1e-7], 20_000, 0.025)
    assert low <= up <= high
    assert low <= down <= high


def test_wide_spikes_come_as_often_as_told_and_are_of_every_size():
    noise = problems.WideSpikes(0.1, 2.0, 200.0, 0.1)
    draws = noise.sample(20_000, np.random.default_rng(0)).numpy()
    spikes = draws[np.abs(draws) > 1.0]
    low, high = stats.binom.ppf([1e-7, 1 - 1e-7], 20_000, 0.05)
    assert low <= (spikes > 0).sum() <= high
    assert low <= (spikes < 0).sum() <= high
    shares = np.log(np.abs(spikes) / 2.0) / np.log(100.0)
    assert stats.kstest(shares, stats.uniform.cdf).pvalue > 1e-6


def test_a_measurement_is_the_value_and_the_noise(problem):
    points = spread(problem, 8)
    measured = problem.measure(points, np.random.default_rng(3))
    errors = problem.noise.sample(8, np.random.default_rng(3))
    torch.testing.assert_close(measured, problem.value(points) + errors)


@pytest.mark.parametrize("label", NOISES)
def test_the_same_seed_gives_the_same_draws(label):
    noise, _ = NOISES[label]
    first, again, other = (noise.sample(50, np.random.default_rng(s)) for s in (7, 7, 8))
    assert torch.equal(first, again)
    assert not torch.equal(first, other)


def test_twelve_robust_tasks_have_names_of_their_own():
    tasks = problems.robust_tasks()
    assert len({task.name for task in tasks}) == 12
    assert {task.name.split("/")[0] for task in tasks} == {"ackley-2", "rosenbrock-3", "hartmann-6"}
    assert {task.noise for task in tasks} == {noise for noise, _ in NOISES.values()}


def test_a_problem_survives_pickling(problem):
    copy = pickle.loads(pickle.dumps(problem))
    points = spread(problem, 8)
    torch.testing.assert_close(copy.value(points), problem.value(points))


def test_a_wrong_shape_is_explained(problem):
    with pytest.raises(InvalidInput, match=r"unsqueeze\(0\)"):
        problem.value(problem.lower)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: problems.Gaussian(-1.0), "`scale` is -1.0"),
        (lambda: problems.StudentT(0.0, 1.0), "`dof` is 0.0"),
        (lambda: problems.Spikes(probability=1.5), "`probability` is 1.5"),
        (lambda: problems.CenteredPareto(shape=1.0), "`shape` is 1.0"),
        (lambda: problems.Gaussian(1.0).sample(3, 0), "`generator` is int"),
    ],
)
def test_bad_noise_is_refused(make, match):
    with pytest.raises(InvalidInput, match=match):
        make()


@pytest.mark.long
def test_the_largest_value_is_no_less_than_any_found_otherwise(problem):
    values = problem.value(spread(problem)).abs()
    assert float(values.max()) <= problem.largest <= 1.3 * float(values.max())
    assert problem.largest >= abs(problem.optimum)


def test_a_problem_knows_a_bound_on_the_moments_of_its_measurements():
    gaussian = problems.branin(problems.Gaussian(0.3))
    assert gaussian.moment().bound == pytest.approx(gaussian.largest**2 + 0.09)
    heavy = problems.branin(problems.StudentT(1.5, 0.3))
    point = spread(heavy)[heavy.value(spread(heavy)).abs().argmax()].unsqueeze(0)
    measured = heavy.measure(point.repeat(20_000, 1), np.random.default_rng(0)).abs() ** 1.2
    assert heavy.moment(0.2).bound > float(measured.mean())
    with pytest.raises(InvalidInput, match=r"no moment of order 1\.5"):
        heavy.moment(0.5)
    with pytest.raises(InvalidInput, match="`alpha` is 2"):
        gaussian.moment(2.0)
    with pytest.raises(InvalidInput, match=r"CenteredPareto.* are not known"):
        problems.branin(problems.CenteredPareto(1.5, 0.3)).moment(0.3)
