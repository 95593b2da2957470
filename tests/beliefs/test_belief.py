"""Beliefs: predictions against the posterior's formulas, and other beliefs that follow from one."""

import copy
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

import surefoot as sf
from support.optimizers import optimizer_of
from support.variants import default_on
from surefoot.beliefs import Belief, gains
from surefoot.hyperparameters import GAUSSIAN, GivenHyperparameters, HyperparameterFit
from surefoot.types import OBJECTIVE, InvalidInput, Measurement

CHANCE = 1e-4  # that a right sampler fails a test
TO_THE_END = sf.StudentT(passes=500, tolerance=1e-10)  # whatever it starts from
LINE = torch.linspace(0.0, 1.0, 12, dtype=torch.float64).unsqueeze(-1)
KERNEL = sf.kernels.matern(2.5, 0.3)
WORLD = sf.FiniteEnvironment([0.0, 0.4, 1.0], [0.2, 0.5, 0.3])
SPACES: dict[str, Any] = {
    "arms": sf.Arms(LINE),
    "box": sf.Box([0.0], [1.0]),
    "joint": sf.Joint(sf.Box([0.0], [1.0]), WORLD),
    "joint arms": sf.Joint(sf.Arms(LINE), WORLD),
}
every = pytest.mark.parametrize("name", SPACES)


def rows(space: Any, number: int, seed: int = 0) -> list[Measurement]:
    """Measurements of a sine at random arms or points."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(number, dtype=torch.float64, generator=generator)
    x = LINE[torch.randint(len(LINE), (number,), generator=generator)]
    z = WORLD.sample(number, generator)
    found = []
    for step in range(number):
        under = z[step] if space.has_environment else None
        value = float(torch.sin(6.0 * x[step]) + 0.1 * noise[step])
        value -= 0.0 if under is None else float(under)
        found.append(Measurement(x[step], {OBJECTIVE: value}, under))
    return found


def build(name: str, **parts: Any) -> sf.Optimizer:
    risk = sf.VaR(0.3) if SPACES[name].has_environment else None
    return optimizer_of(SPACES[name], KERNEL, risk=risk, ridge=0.05, **parts)


def inputs(space: Any, number: int = 4) -> Tensor:
    """Inputs of the model (n, d)."""
    z = torch.tensor([[0.4]]).double().expand(number, 1)
    return torch.cat([LINE[:number], z], -1) if space.has_environment else LINE[:number]


def close(ours: Tensor, expected: Tensor, tolerance: float = 1e-9) -> None:
    torch.testing.assert_close(ours, expected, rtol=0.0, atol=tolerance)


def test_there_is_none_before_the_first_reward() -> None:
    optimizer = sf.algorithms.robust_ucb(SPACES["box"])
    with pytest.raises(sf.NotReady, match="no rewards yet"):
        optimizer.belief()
    failed = Measurement([0.2], failed=True)
    with pytest.raises(sf.NotReady, match="no rewards yet"):
        optimizer.belief([failed])
    optimizer.record([failed])
    with pytest.raises(sf.NotReady, match="no rewards yet"):
        optimizer.belief()


@pytest.mark.long
@every
def test_later_measurements_change_it_only_where_it_is_asked_for_anew(name: str) -> None:
    optimizer = build(name)
    optimizer.record(rows(SPACES[name], 8))
    before = optimizer.belief()
    known = copy.deepcopy(before)
    optimizer.record(rows(SPACES[name], 8, seed=1))
    optimizer.tell(optimizer.ask(), 50.0)
    assert (
        len(before.outcome.observations)
        == len(before.weights)
        == len(before.outcome.residuals)
        == 8
    )
    for one, other in zip(before.predict(LINE), known.predict(LINE), strict=True):
        assert torch.equal(one, other)
    assert not torch.equal(optimizer.belief().predict(LINE)[0], before.predict(LINE)[0])


@every
def test_points_of_other_columns_are_refused(name: str) -> None:
    belief, columns = told_belief(name), inputs(SPACES[name], 3).shape[1]
    for wrong in (columns + 1, max(columns - 1, 3 - columns)):
        for use in (lambda x: belief.draws(x, 2), lambda x: belief.conditioned(x, [0.0] * 3)):
            with pytest.raises(InvalidInput, match=rf"has shape \(3, {wrong}\), expected"):
                use(torch.zeros(3, wrong))


@pytest.mark.parametrize("given", [1.0, None, [1.0], "1"])
@pytest.mark.parametrize("field", ["values", "sems"])
def test_values_without_names_are_refused(field: str, given: Any) -> None:
    optimizer = build("box")
    right = {"where": [0.2], "values": {OBJECTIVE: 1.0}, field: given}
    with pytest.raises(InvalidInput, match=rf"`{field}` is .*, expected numbers by outcome"):
        optimizer.record([Measurement(**right)])
    assert not len(optimizer.history.rewards)


@pytest.mark.long
@every
@pytest.mark.parametrize(
    "estimator", [sf.LeastSquares(), TO_THE_END, sf.Huber()], ids=lambda one: type(one).__name__
)
@pytest.mark.parametrize("features", [sf.Exact(), sf.Dictionary(LINE[::3])], ids=["exact", "few"])
def test_conditioned_is_the_belief_of_the_longer_history(name, estimator, features) -> None:
    space = SPACES[name]
    if space.has_environment and not isinstance(features, sf.Exact):
        features = sf.Dictionary(inputs(space, 12)[::3])
    short, long = (build(name, estimator=estimator, features=features) for _ in range(2))
    measured = rows(space, 14)
    short.record(measured[:9])
    long.record(measured)
    before = copy.deepcopy(short.belief())
    z = [] if not space.has_environment else [one.environment for one in measured[9:]]
    x = torch.stack([one.where for one in measured[9:]])
    points = torch.cat([x, torch.stack(z)], -1) if z else x
    ours = short.belief().conditioned(points, [one.values[OBJECTIVE] for one in measured[9:]])
    expected = long.belief()
    assert torch.equal(ours.outcome.observations.rewards, expected.outcome.observations.rewards)
    assert ours.outcome.fitted.kernel is short.belief().outcome.fitted.kernel
    close(ours.posterior.mean(inputs(space)), expected.posterior.mean(inputs(space)), 1e-5)
    close(ours.posterior.variance(inputs(space)), expected.posterior.variance(inputs(space)), 1e-5)
    close(ours.weights, expected.weights, 1e-4)
    for one, other in zip(short.belief().predict(LINE), before.predict(LINE), strict=True):
        assert torch.equal(one, other)


def test_conditioned_keeps_the_hyperparameters_that_were_fitted() -> None:
    """Against the formula of a Gaussian process with this kernel, noise and center."""
    fit = HyperparameterFit(dof=GAUSSIAN)
    optimizer = sf.Optimizer(SPACES["box"], sf.Method(fit))
    optimizer.record(rows(SPACES["box"], 20))
    more = rows(SPACES["box"], 5, seed=7)
    x = torch.stack([one.where for one in more])
    y = torch.tensor([one.values[OBJECTIVE] for one in more], dtype=torch.float64)
    belief = optimizer.belief()
    ours, fitted = belief.conditioned(x, y), belief.outcome.fitted
    sites = torch.cat([belief.outcome.observations.sites[belief.outcome.observations.site], x])
    rewards = torch.cat([belief.outcome.observations.rewards, y])
    new = torch.rand(6, 1, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        gram, cross = fitted.kernel(sites).to_dense(), fitted.kernel(new, sites).to_dense()
    noisy = gram + fitted.noise * torch.eye(len(sites), dtype=torch.float64)
    units = (rewards - fitted.center) / fitted.scale
    mean = fitted.center + fitted.scale * (cross @ torch.linalg.solve(noisy, units))
    close(ours.posterior.mean(new), mean, 1e-6)
    assert ours.outcome.fitted.noise == fitted.noise


@every
def test_joint_is_mean_and_covariance_of_batches(name: str) -> None:
    optimizer = build(name)
    optimizer.record(rows(SPACES[name], 8))
    belief, points = optimizer.belief(), inputs(SPACES[name], 6)
    mean, covariance = belief.posterior.joint(points)
    close(mean, belief.posterior.mean(points))
    close(covariance.diagonal(), belief.posterior.variance(points))
    at = belief.posterior.evaluate(points)
    close(covariance, belief.posterior.covariance(at, at))
    batched = belief.posterior.joint(points.reshape(2, 3, -1))
    assert batched.mean.shape == (2, 3)
    assert batched.covariance.shape == (2, 3, 3)
    for index, rows_of in enumerate((slice(0, 3), slice(3, 6))):
        close(batched.mean[index], mean[rows_of])
        close(batched.covariance[index], covariance[rows_of, rows_of])


@pytest.mark.long
@pytest.mark.parametrize("name", ["box", "joint"])
def test_joint_is_differentiable(name: str) -> None:
    optimizer = build(name)
    optimizer.record(rows(SPACES[name], 8))
    belief = optimizer.belief()
    points = (inputs(SPACES[name], 6) + 0.03).reshape(2, 3, -1).requires_grad_()
    assert torch.autograd.gradcheck(lambda x: tuple(belief.posterior.joint(x)), points)


@pytest.mark.parametrize("features", [sf.Exact(), sf.Dictionary(LINE[::5])], ids=["exact", "few"])
@pytest.mark.parametrize("name", ["arms", "box"])
def test_draws_have_the_moments_of_the_joint_posterior(name: str, features: Any) -> None:
    """Mean by normal, variance by chi-square law in all directions, with Bonferroni's bound."""
    optimizer = build(name, features=features)
    optimizer.record(rows(SPACES[name], 8))
    belief, points, number = optimizer.belief(), LINE[[1, 6, 7, 10]], 2000
    draws = belief.draws(points, number, seed=2).T
    mean, covariance = belief.posterior.joint(points)
    eye = torch.eye(len(points), dtype=torch.float64)
    i, j = torch.triu_indices(len(points), len(points), 1)
    directions = torch.cat([eye, eye[i] + eye[j], eye[i] - eye[j]])
    variance = ((directions @ covariance) * directions).sum(-1)
    share = CHANCE / (4 * len(directions))  # two sides, of mean and variance
    projected = (draws - mean) @ directions.T
    z = projected.mean(0) * (number / variance).sqrt()
    assert float(z.abs().max()) < stats.norm.isf(share)
    squares = projected.square().sum(0) / variance
    assert float(squares.max()) < stats.chi2.isf(share, number)
    assert float(squares.min()) > stats.chi2.ppf(share, number)
    again = belief.draws(points, number, seed=2).T
    assert torch.equal(draws, again)
    assert torch.equal(belief.draws(points, 3), belief.draws(points, 3))  # seed of its own


def fitted(**parts: Any) -> Belief:
    optimizer = default_on(SPACES["box"], **parts)
    optimizer.record(rows(SPACES["box"], 16))
    return optimizer.belief()


@pytest.mark.long
@pytest.mark.parametrize("estimand", ["location", "median", "mean"])
def test_a_point_does_not_differ_from_itself(estimand: Any) -> None:
    for belief in (fitted(estimand=estimand), told_belief("arms"), told_belief("box")):
        point = LINE[4]
        assert torch.stack(belief.difference(point, point)).tolist() == [0.0, 0.0, 0.0]


def told_belief(name: str) -> Belief:
    optimizer = build(name)
    optimizer.record(rows(SPACES[name], 8))
    return optimizer.belief()


@pytest.mark.parametrize("name", ["arms", "box"])
def test_a_difference_is_that_of_the_joint_posterior(name: str) -> None:
    belief, pair = told_belief(name), LINE[[2, 9]]
    value, lower, upper = map(float, belief.difference(*pair))
    mean, covariance = belief.posterior.joint(pair)
    deviation = float(covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]) ** 0.5
    assert value == pytest.approx(float(mean[0] - mean[1]), abs=1e-9)
    assert [lower, upper] == pytest.approx(
        [value - belief.band.width * deviation, value + belief.band.width * deviation], abs=1e-9
    )
    back = [float(end) for end in belief.difference(pair[1], pair[0])]
    assert back == pytest.approx([-value, -upper, -lower], abs=1e-9)


@pytest.mark.parametrize("name", ["joint", "joint arms"])
def test_risks_over_an_environment_have_no_difference_and_no_gains(name: str) -> None:
    belief = told_belief(name)
    for call in (
        lambda: belief.difference([0.0], [1.0]),
        lambda: gains.expected(belief, [[0.0]], [1.0]),
        lambda: gains.largest(belief, [1.0]),
    ):
        with pytest.raises(sf.InvalidInput, match="environment"):
            call()


@pytest.mark.parametrize("name", ["arms", "box"])
def test_expected_gains_are_those_of_draws(name: str) -> None:
    belief = told_belief(name)
    expected = gains.expected(belief, LINE, LINE[3])
    drawn = belief.draws(LINE, 20_000)
    improvement = (drawn - drawn[3]).clamp_min(0.0)
    error = improvement.std(-1) / 20_000**0.5
    z = (improvement.mean(-1) - expected).abs() / error
    often = (improvement > 0.0).double().mean(-1) > 0.05  # so that a mean is nearly normal
    assert int(often.sum()) > 3
    assert bool((z[often] < stats.norm.isf(CHANCE / (2 * len(LINE)))).all())
    close(improvement.mean(-1), expected, 5e-3)


@pytest.mark.parametrize("space", [sf.Arms(LINE * 50.0), sf.Box([0.0], [50.0])])
def test_the_largest_gains_find_the_best_design(space: Any) -> None:
    """Whatever the range of the coordinates: of a function that is known almost exactly."""
    kernel = sf.kernels.squared_exponential(10.0)
    optimizer = sf.Optimizer(space, sf.Method(kernel, ridge=1e-6, width=sf.widths.constant(0.0)))
    optimizer.tell_all(LINE * 50.0, 2.0 + torch.sin(6.0 * LINE[:, 0]))
    shares = gains.largest(optimizer.belief(), LINE[0] * 50.0)
    best = float(torch.sin(6.0 * LINE).max()) if isinstance(space, sf.Arms) else 1.0
    assert shares.shape == (1024,)
    assert float(shares.median()) == pytest.approx(best / 2.0, abs=0.02)


@pytest.mark.parametrize("over", [0.9, 0.45, 0.2])
def test_a_gain_is_at_least_as_probable_as_that_of_what_is_known(over: float) -> None:
    """Where half of the space is unexplored, too, which fills the largest bounds."""
    optimizer, noise = (
        sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0),
        np.random.default_rng(0),
    )
    x = np.arange(10) * 0.05
    optimizer.tell_all(x[:, None], -2.0 * x + 0.05 * noise.standard_normal(10))
    belief, other = optimizer.belief(), torch.tensor([over], dtype=torch.float64)
    drawn = belief.draws(torch.tensor([[over], [0.0]], dtype=torch.float64), 4000, seed=1)
    level = float(belief.predict(other.unsqueeze(0))[0].abs())
    for gain in (0.0, 0.1, 0.5):
        known = float((drawn[1] - drawn[0] > gain * level).double().mean())
        found = float((gains.largest(belief, other) > gain).double().mean())
        assert found > known - 0.06, gain


def test_what_is_done_to_returned_weights_is_not_done_to_the_belief() -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    optimizer.tell_all([[0.1], [0.5], [0.9]], [0.0, 1.0, 0.5])
    belief = optimizer.belief()
    before = belief.weights.clone()
    belief.weights.zero_()
    assert torch.equal(belief.weights, before)
    assert torch.equal(optimizer.belief().weights, before)


LIMIT = {"p99": sf.Constraint(maximum=0.5, confidence=0.9)}
RUNS: dict[str, Any] = {
    "fitted": lambda: sf.algorithms.robust_ucb(SPACES["box"]),
    "given": lambda: build("box"),
    "arms": lambda: build("arms"),
    "sampled": lambda: build("arms", features=sf.Nystrom(sf.LeverageSampling(3.0))),
    "standardised": lambda: sf.Optimizer(
        SPACES["box"],
        sf.Method(GivenHyperparameters(KERNEL, 0.1, standardise=True), estimator=TO_THE_END),
    ),
    "constrained": lambda: sf.algorithms.robust_ucb(sf.Problem(SPACES["box"], outcomes=LIMIT)),
    "joint": lambda: build("joint"),
}


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_further_measurements_give_the_belief_of_a_copy_that_is_told(name: str) -> None:
    optimizer = RUNS[name]()
    measured = rows(optimizer.space, 16)
    if name == "constrained":
        measured = [
            Measurement(one.where, {**one.values, "p99": float(one.where)}) for one in measured
        ]
    optimizer.record(measured[:10])
    more = [*measured[10:], Measurement([LINE[4, 0]], failed=True, environment=one_of(optimizer))]
    state = optimizer._generator.get_state()
    ours = optimizer.belief(more)
    other = copy.deepcopy(optimizer)
    other.record(more)
    expected = other.belief()
    assert len(ours.outcome.observations) == len(ours.weights) == 16
    tolerance = 0.05 if name == "sampled" else 1e-6  # a dictionary drawn by other numbers
    for one, two in zip(ours.predict(LINE), expected.predict(LINE), strict=True):
        close(one, two, tolerance)
    close(
        ours.failures.success(inputs(optimizer.space)),
        expected.failures.success(inputs(optimizer.space)),
        1e-6,
    )
    close(ours.feasibility(LINE), expected.feasibility(LINE), 1e-6)
    if name != "sampled":
        close(ours.weights, expected.weights, 1e-5)
    assert len(optimizer.history) == len(optimizer.belief().outcome.observations) == 10
    assert optimizer.belief().failures.success.is_certain
    assert torch.equal(optimizer._generator.get_state(), state)


def one_of(optimizer: sf.Optimizer) -> Any:
    return WORLD.points[1] if optimizer.space.has_environment else None


@pytest.mark.long
@pytest.mark.parametrize("name", RUNS)
def test_a_run_that_was_asked_for_beliefs_asks_the_same(name: str) -> None:
    quiet, asked = RUNS[name](), RUNS[name]()
    for step in range(6):
        more = rows(quiet.space, 2, seed=50 + step)
        for optimizer in (quiet, asked):
            optimizer.record(rows(quiet.space, 2, seed=step))
        belief = asked.belief(more)
        belief.predict(LINE), belief.draws(inputs(asked.space), 2), belief.feasibility(LINE)
        asked.belief().conditioned(inputs(asked.space), [0.0] * 4).predict(LINE)
        queries = quiet.ask(), asked.ask()
        assert torch.equal(queries[0].point, queries[1].point)
        _ = asked.belief().outcome.cross_validation, asked.belief().outcome.effects


def test_measurements_that_cannot_be_recorded_are_refused_and_nothing_changes() -> None:
    optimizer = build("box")
    optimizer.record(rows(SPACES["box"], 6))
    for wrong in (
        Measurement([0.3], {OBJECTIVE: float("nan")}),
        Measurement([7.0], {OBJECTIVE: 1.0}),
        Measurement([0.3], {OBJECTIVE: 1.0, "p99": 2.0}),
        Measurement([0.3], {OBJECTIVE: 1.0}, sem=-1.0),
        "a measurement",
    ):
        with pytest.raises(sf.InvalidInput):
            optimizer.belief([wrong])
        with pytest.raises(sf.InvalidInput):
            optimizer.record([rows(SPACES["box"], 1)[0], wrong])
        assert len(optimizer.history) == 6
    undeclared = [Measurement([0.3], {OBJECTIVE: 1.0, "p99": 2.0})]
    assert float(optimizer.belief(undeclared, undeclared=True).feasibility([[0.3]])) < 1.0
    assert optimizer.belief().constraints.measured == ()


def test_what_designs_and_points_must_be() -> None:
    belief = told_belief("box")
    with pytest.raises(sf.InvalidInput, match="outside the box"):
        belief.predict([[2.0]])
    with pytest.raises(sf.InvalidInput, match="2 points came with 1 rewards"):
        belief.conditioned([[0.1], [0.2]], [1.0])
    with pytest.raises(sf.InvalidInput, match="estimand"):
        belief.predict([[0.5]], estimand="mode")
    with pytest.raises(sf.InvalidInput, match="risk"):
        belief.predict([[0.5]], risk=sf.VaR(0.1))


@pytest.mark.long
@pytest.mark.parametrize("told_at_once", [False, True])
def test_loading_a_constrained_run_fits_nothing(tmp_path, monkeypatch, told_at_once: bool) -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Problem(SPACES["box"], outcomes=LIMIT), seed=0)
    measured = [
        Measurement(one.where, {**one.values, "p99": float(one.where)})
        for one in rows(SPACES["box"], 20)
    ]
    for part in [measured] if told_at_once else [[one] for one in measured]:
        optimizer.record(part)
    expected = optimizer.belief()
    ends, chance = expected.predict(LINE), expected.feasibility(LINE)
    optimizer.save(tmp_path / "run")
    fits: list[int] = []
    fit = HyperparameterFit.fit

    def counted(self, data):
        fits.append(len(data.rewards))
        return fit(self, data)

    monkeypatch.setattr(HyperparameterFit, "fit", counted)
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert [number for number in fits if number] == []  # of no rewards it is the prior's mode
    assert torch.equal(loaded.belief().feasibility(LINE), chance)
    for one, other in zip(loaded.belief().predict(LINE), ends, strict=True):
        close(one, other)
    assert torch.equal(loaded.ask().point, optimizer.ask().point)


@pytest.mark.long
def test_a_belief_may_be_copied() -> None:
    belief = fitted(outcomes=LIMIT)
    assert torch.equal(copy.deepcopy(belief).predict(LINE)[0], belief.predict(LINE)[0])
    assert np.isfinite(copy.deepcopy(belief).weights.numpy()).all()


@pytest.mark.long
def test_a_difference_is_that_of_the_reported_values():
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    x = torch.linspace(0.0, 1.0, 9, dtype=torch.float64).unsqueeze(-1)
    optimizer.tell_all(x, 2.0 * x[:, 0] + 0.2 * torch.cos(40.0 * x[:, 0]))
    belief = optimizer.belief()
    (high, low), _, _ = belief.predict([[1.0], [0.25]])
    assert belief.outcome.transform.is_affine
    middle = float(belief.difference([1.0], [0.25])[0])
    assert middle == pytest.approx(float(high - low), rel=1e-9)


@pytest.mark.long
@pytest.mark.parametrize(("number", "degrees"), [(4, 3), (12, 9)])
def test_few_rewards_for_the_fitted_hyperparameters_widen_intervals(number, degrees):
    """To a quantile of Student's t; where hyperparameters are given, they are normal."""
    x = torch.linspace(0.0, 1.0, number, dtype=torch.float64).unsqueeze(-1)
    found = {}
    for name, kernel in (("fitted", None), ("given", sf.kernels.squared_exponential(0.3))):
        optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), kernel, seed=0)
        optimizer.tell_all(x, torch.sin(6.0 * x[:, 0]))
        found[name] = optimizer.belief().predictions.belief.band.width
    assert found["fitted"] == pytest.approx(stats.t(degrees).ppf(0.975))
    assert found["given"] == pytest.approx(stats.norm.ppf(0.975))
