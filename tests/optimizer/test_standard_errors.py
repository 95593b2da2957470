"""Rewards with a standard error: weighted regression, bad input, and saved files."""

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import covariance, gaussian_process
from reference.agreement import agree
from support.optimizers import optimizer_of
from surefoot.estimators import Constants
from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit, TrainingData
from surefoot.regression.transforms import Chain, Warp
from surefoot.regression.units import RewardUnits

RIDGE = 0.05
FORMULA = covariance.squared_exponential(np.array([0.2]))
GRID = np.linspace(0.0, 1.0, 9)[:, None]
SPACES = {"arms": lambda: sf.Arms(GRID), "box": lambda: sf.Box([0.0], [1.0])}
FEATURES = {
    "exact": sf.Exact,
    "pivoted": lambda: sf.Nystrom(sf.features.PivotedCholesky()),
    "sampled": lambda: sf.Nystrom(sf.features.LeverageSampling(oversampling=1e9)),
}


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Points (t, 1), some of them twice, rewards (t,), and standard errors (t,), half of them 0."""
    generator = np.random.default_rng(0)
    x = GRID[np.concatenate([np.arange(9), generator.integers(9, size=15)])]
    sems = np.where(np.arange(len(x)) % 2, 0.0, generator.uniform(0.0, 2.0, size=len(x)))
    noise = (RIDGE + sems**2) ** 0.5
    return x, np.sin(6.0 * x[:, 0]) + noise * generator.normal(size=len(x)), sems


def optimizer(space: str = "box", features: str = "exact", **parts) -> sf.Optimizer:
    kernel = sf.kernels.squared_exponential(0.2)
    parts = {"estimator": sf.LeastSquares(), "ridge": RIDGE} | parts
    return optimizer_of(SPACES[space](), kernel, features=FEATURES[features](), **parts)


def told(one: sf.Optimizer) -> sf.Optimizer:
    for point, y, sem in zip(*data(), strict=True):
        one.tell(point, y, sem=sem)
    return one


@pytest.mark.daily(6)
@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("space", SPACES)
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(sf.LeastSquares(), id="least squares"),
        pytest.param(sf.StudentT(dof=1e12), id="Student-t"),
        pytest.param(sf.Huber(k=1e9), id="Huber"),
        pytest.param(sf.Huber(k=1e9, growing=True), id="adaptive Huber"),
    ],
)
def test_posterior_is_that_of_a_gaussian_process_with_these_noise_variances(
    space, features, estimator
):
    x, y, sems = data()
    at = torch.from_numpy(GRID)
    posterior = told(optimizer(space, features, estimator=estimator)).belief().posterior

    mean, variance = gaussian_process.exact(FORMULA, x, y, RIDGE + sems**2, GRID)

    agree(posterior.mean(at), mean)
    agree(posterior.variance(at), variance)


@pytest.mark.parametrize(
    "estimator", [sf.LeastSquares(), sf.StudentT(), sf.Huber()], ids=["ls", "student", "huber"]
)
def test_an_error_of_zero_changes_nothing(estimator):
    x, y, _ = data()
    plain, zero = optimizer(estimator=estimator), optimizer(estimator=estimator)
    plain.tell_all(x, y)
    zero.tell_all(x, y, sems=np.zeros(len(y)))
    at = torch.from_numpy(GRID)
    assert torch.equal(plain.belief().posterior.mean(at), zero.belief().posterior.mean(at))
    assert torch.equal(plain.belief().posterior.variance(at), zero.belief().posterior.variance(at))
    assert plain.ask().point == zero.ask().point


def test_one_after_another_and_all_at_once_are_the_same():
    x, y, sems = data()
    at, together = torch.from_numpy(GRID), optimizer()
    together.tell_all(x, y, sems=sems)
    agree(together.belief().posterior.mean(at), told(optimizer()).belief().posterior.mean(at))


def test_weight_of_an_inaccurate_reward_is_not_that_of_an_outlier():
    x, y, sems = data()
    y[4], sems[4] = 30.0, 20.0
    weights = {}
    for name, errors in [("known", sems), ("unknown", np.zeros(len(y)))]:
        one = optimizer(estimator=sf.StudentT())
        one.tell_all(x, y, sems=errors)
        weights[name] = one.belief().weights[4]
    assert weights["known"] > 0.5
    assert weights["unknown"] < 0.01


def test_an_outlier_among_accurate_rewards_is_still_one():
    x, y, sems = data()
    y[5] = 30.0
    one = optimizer(estimator=sf.StudentT())
    one.tell_all(x, y, sems=np.where(np.arange(len(y)) == 5, 0.1, sems))
    assert one.belief().weights[5] < 0.01


def test_student_t_weights_are_a_fixed_point_of_variational_bayes():
    # One reward at one point, f ~ N(0, 1): f and the two errors have closed-form moments.
    y, sem, dof, weight = 3.0, 0.7, 4.0, 1.0
    for _ in range(500):
        own = RIDGE / weight
        total = 1.0 + own + sem**2
        mean, variance = own / total * y, own - own**2 / total
        weight = (dof + 1.0) / (dof + (mean**2 + variance) / RIDGE)
    one = optimizer(estimator=sf.StudentT(dof, passes=500, tolerance=1e-15))
    one.tell([0.5], y, sem=sem)
    at = torch.tensor([[0.5]], dtype=torch.float64)
    agree(one.belief().posterior.mean(at), [y / (1.0 + RIDGE / weight + sem**2)])
    agree(one.belief().weights, [weight])


def test_huber_estimate_is_stationary_with_residuals_in_units_of_their_noise():
    x, y, sems = data()
    y[[3, 8]] += 30.0
    one = optimizer(estimator=sf.Huber())
    threshold = one.tell_all(x, y, sems=sems).threshold
    root = (RIDGE / (RIDGE + sems**2)) ** 0.5
    residual = root * (y - one.belief().posterior.mean(torch.from_numpy(x)).detach().numpy())
    # The gradient of the sum of Huber's losses of the residuals, plus half the ridge penalty.
    dual = root * np.clip(residual, -threshold, threshold) / RIDGE
    agree(
        one.belief().posterior.mean(torch.from_numpy(GRID)),
        covariance.gram(FORMULA, GRID, x) @ dual,
    )
    agree(one.belief().weights, np.minimum(1.0, threshold / np.abs(residual)))
    assert one.belief().weights[3] < 0.5


@pytest.mark.long
@pytest.mark.parametrize("scale", [0.3, 10.0])
def test_empirical_bayes_scale_is_not_widened_by_known_errors(scale):
    generator = np.random.default_rng(0)
    x = generator.uniform(size=(300, 1))
    gram = covariance.gram(covariance.squared_exponential(np.array([0.02])), x, x)
    f = np.linalg.cholesky(gram + 1e-9 * np.eye(300)) @ generator.normal(size=300)
    sems = np.where(np.arange(300) % 2, 0.0, 5.0 * scale)
    noise = scale * 0.2 * generator.normal(size=300) + sems * generator.normal(size=300)
    kernel = sf.kernels.squared_exponential(0.02)
    one = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), kernel, ridge=0.04)
    one.tell_all(x, scale * f + noise, sems=sems)
    assert float(one.belief().posterior.scale) == pytest.approx(scale, rel=0.25)
    accurate = torch.from_numpy(x[1::2])
    error = one.belief().posterior.mean(accurate).detach().numpy() - scale * f[1::2]
    assert np.sqrt(np.mean(error**2)) < 0.25 * scale


def test_fitted_noise_is_what_the_errors_leave():
    generator = np.random.default_rng(1)
    x = generator.uniform(size=(100, 1))
    sems = generator.choice([0.05, 1.0], size=100)
    y = np.sin(6.0 * x[:, 0]) + sems * generator.normal(size=100) + 0.1 * generator.normal(size=100)
    columns = torch.from_numpy(x), torch.from_numpy(y), torch.zeros(1), torch.ones(1)
    fit = HyperparameterFit(dof=GAUSSIAN)
    known, unknown = (
        fit.fit(data)
        for data in (TrainingData(*columns, sems=torch.from_numpy(sems)), TrainingData(*columns))
    )
    assert 0.05 < known.noise**0.5 * known.scale < 0.2
    assert unknown.noise**0.5 * unknown.scale > 0.5


def test_errors_are_scaled_like_small_differences_of_the_rewards():
    units = RewardUnits(center=3.0, scale=2.0, warp=Chain((Warp(anchor=5.0, knee=1.0),)))
    rewards = torch.tensor([-4.0, 4.5, 9.0], dtype=torch.float64)
    step = torch.full_like(rewards, 1e-6)
    difference = units.transform(rewards + step) - units.transform(rewards)
    torch.testing.assert_close(
        units.error_variances(rewards, step).sqrt(), difference, rtol=1e-5, atol=0.0
    )


def test_rewards_with_errors_are_never_merged():
    estimator = sf.StudentT()
    state = estimator.init(Constants(RIDGE))
    for number in range(3000):
        if number % 3:
            state = estimator.update(state, 0, float(number % 7))
        else:
            state = estimator.update_with_error(state, 0, float(number), 1.0 + number)
    digest = state.digest
    sems = digest._sem[: digest._values]
    assert digest.merges > 0
    assert sorted(sems[sems > 0]) == [1.0 + number for number in range(0, 3000, 3)]
    assert digest._mass[: digest._values].sum() == 3000


@pytest.mark.parametrize("sem", [-0.1, float("nan"), float("inf"), "0.1", None, True])
def test_an_error_that_is_none_is_refused(sem):
    one = optimizer()
    with pytest.raises(sf.InvalidInput, match="expected a finite number of at least 0"):
        one.tell([0.5], 1.0, sem=sem)
    assert len(one.history) == 0


@pytest.mark.parametrize(
    ("sems", "message"),
    [
        ([0.1], "2 rewards came with 1 `sems`"),
        ([0.1, -1.0], "`sems` has -1, expected standard errors of at least 0"),
        ([0.1, float("nan")], "NaN or infinite"),
        (0.1, "expected"),
    ],
)
def test_wrong_errors_of_many_rewards_are_refused(sems, message):
    one = optimizer()
    with pytest.raises(sf.InvalidInput, match=message):
        one.tell_all([[0.1], [0.2]], [1.0, 2.0], sems=sems)
    assert len(one.history) == 0


def test_an_estimator_without_use_for_errors_refuses_them():
    one = optimizer(estimator=sf.Truncation(sf.Moment(1.0, 4.0)))
    query = one.ask()
    with pytest.raises(sf.InvalidInput, match=r"not supported by .*: pass `Huber\(\)`"):
        one.tell(query, 1.0, sem=0.5)
    assert len(one.history) == 0
    assert one.pending == [query]
    one.tell(query, 1.0, sem=0.0)


@pytest.mark.long
@pytest.mark.parametrize(
    "kernel",
    [pytest.param(True, id="given"), pytest.param(False, id="fitted")],
)
def test_errors_are_saved(tmp_path, kernel):
    one = optimizer(estimator=sf.StudentT())
    if not kernel:
        one = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), initial=2)
    told(one).save(tmp_path / "run")
    again = sf.Optimizer.load(tmp_path / "run")
    assert torch.equal(again.history.sems, torch.from_numpy(data()[2]))
    for _ in range(2):
        queries = one.ask(), again.ask()
        assert torch.equal(queries[0].point, queries[1].point)
        values = one.tell(queries[0], 0.3, sem=0.2), again.tell(queries[1], 0.3, sem=0.2)
        assert values[0].information_gain == values[1].information_gain
    at = torch.from_numpy(GRID)
    assert torch.equal(one.belief().posterior.mean(at), again.belief().posterior.mean(at))
