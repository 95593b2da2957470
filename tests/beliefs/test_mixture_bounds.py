"""AMM and DMM against kernel matrices, and everything that uses bounds uses these."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import mixture as reference
from reference.agreement import agree
from support.optimizers import optimizer_of
from surefoot import widths
from surefoot.acquisition.lacing import lacing_value
from surefoot.regression import ridge as ridge_module
from surefoot.regression.observations import Pull
from surefoot_experiments.benchmarks.sketch_determinant import sketch_determinant

SCALE, NOISE, NORM, DELTA = 0.25, 0.3, 2.5, 0.05
GRID = np.linspace(0.0, 1.0, 15)[:, None]
KERNEL = sf.kernels.squared_exponential(SCALE)
TOLD = np.array([0, 3, 3, 7, 9, 9, 9, 14, 12, 1])
REWARDS = np.sin(5.0 * GRID[TOLD, 0]) + NOISE * np.random.default_rng(0).standard_normal(len(TOLD))
DUAL = widths.dual_mixture(NORM, NOISE, DELTA)
INDUCING = GRID[[2, 8, 13]]

Features = Callable[[], Any]


def kernel(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.exp(-((left[:, None] - right[None]) ** 2).sum(-1) / (2 * SCALE**2))


def projected(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The kernel of the inducing points' features."""
    inverse = np.linalg.inv(kernel(INDUCING, INDUCING))
    return kernel(left, INDUCING) @ inverse @ kernel(INDUCING, right)


def told(
    width: Any = DUAL, ridge: float = NOISE**2, space: Any = None, **parts: Any
) -> sf.Optimizer:
    space = sf.Arms(GRID) if space is None else space
    optimizer = optimizer_of(space, KERNEL, ridge=ridge, width=width, **parts)
    where = TOLD.tolist() if isinstance(space, sf.Arms) else GRID[TOLD]
    optimizer.tell_all(where, REWARDS)
    return optimizer


def shifts(ridge: float) -> list[float]:
    return [ridge, *(NOISE**2 * np.array([1.0, 4.0, 16.0, 64.0]))]


def expected(ridge: float) -> tuple[np.ndarray, np.ndarray]:
    x = GRID[TOLD]
    K, k = kernel(x, x), kernel(x, GRID)
    radius = reference.squared_radius(K, REWARDS, ridge, NOISE, DELTA) ** 0.5
    return reference.narrowest(K, k, np.ones(len(GRID)), REWARDS, radius, NORM, shifts(ridge))


def expected_in_dictionary(ridge: float) -> tuple[np.ndarray, np.ndarray]:
    x = GRID[TOLD]
    K, k = projected(x, x), projected(x, GRID)
    excess = np.trace(kernel(x, x) - K)
    misfit = ridge * REWARDS @ np.linalg.solve(K + ridge * np.eye(len(x)), REWARDS)
    noise = reference.squared_noise(K, ridge, NOISE, DELTA, excess / ridge)
    radius = (misfit + noise) ** 0.5 + NORM * excess**0.5
    prior = np.ones(len(GRID))
    return reference.narrowest(K, k, prior, REWARDS, radius, NORM, shifts(ridge))


@pytest.mark.parametrize("ridge", [NOISE**2, 1.0])
@pytest.mark.parametrize("space", [sf.Arms(GRID), sf.Box([0.0], [1.0])], ids=["arms", "box"])
def test_the_dual_bounds_are_the_narrowest_of_all_regularisations(space: Any, ridge: float) -> None:
    _, lower, upper = told(ridge=ridge, space=space).belief().band.ends(torch.from_numpy(GRID))
    for ours, theirs in zip((lower, upper), expected(ridge), strict=True):
        agree(ours, theirs)


@pytest.mark.parametrize("ridge", [NOISE**2, 1.0])
def test_one_reward_at_a_time_gives_the_same_bounds(ridge: float) -> None:
    optimizer = sf.Optimizer(sf.Arms(GRID), sf.Method(KERNEL, ridge=ridge, width=DUAL))
    for arm, reward in zip(TOLD.tolist(), REWARDS.tolist(), strict=True):
        optimizer.tell(arm, reward)
    _, lower, upper = optimizer.belief().band.ends(optimizer.space.points)
    for ours, theirs in zip((lower, upper), expected(ridge), strict=True):
        agree(ours, theirs)


@pytest.mark.parametrize("ridge", [NOISE**2, 1.0])
def test_a_dictionary_is_paid_for_by_what_it_leaves_unexplained(ridge: float) -> None:
    features = sf.Nystrom(sf.Dictionary(torch.from_numpy(INDUCING)))
    optimizer = told(ridge=ridge, features=features)
    _, lower, upper = optimizer.belief().band.ends(optimizer.space.points)
    for ours, theirs in zip((lower, upper), expected_in_dictionary(ridge), strict=True):
        agree(ours, theirs)


def test_the_analytic_width_is_that_of_the_regularisation_of_the_model() -> None:
    width = widths.analytic_mixture(NORM, NOISE, DELTA)
    optimizer = told(width)
    _, lower, upper = optimizer.belief().band.ends(optimizer.space.points)
    x = GRID[TOLD]
    K, ridge = kernel(x, x), NOISE**2
    radius = reference.squared_radius(K, REWARDS, ridge, NOISE, DELTA) ** 0.5
    theirs = reference.bounds(K, kernel(x, GRID), np.ones(len(GRID)), REWARDS, radius, NORM, ridge)
    agree(lower, theirs[0])
    agree(upper, theirs[1])
    assert optimizer.width == told(DUAL).width


@pytest.mark.parametrize("ridge", [NOISE**2, 1.0])
@pytest.mark.parametrize("ratio", [1.0, 4.0])
def test_the_width_of_a_sketch_is_known_from_the_sketch(ridge: float, ratio: float) -> None:
    features = sf.Nystrom(sf.Dictionary(torch.from_numpy(INDUCING)))
    width = sketch_determinant(NORM, NOISE, DELTA, ratio=ratio)
    x = GRID[TOLD]
    parts = projected(x, x), kernel(x, x), ridge, NORM, NOISE, DELTA
    theirs = ratio**0.5 * reference.dictionary_width(*parts)
    assert told(width, ridge=ridge, features=features).width == pytest.approx(theirs, rel=1e-7)


class TestUnknownNorm:
    """Without a norm bound, it is at least twice the norm that the rewards certify."""

    @pytest.mark.long
    @pytest.mark.parametrize("ridge", [NOISE**2, 1.0])
    def test_it_is_twice_what_every_function_near_the_rewards_has(self, ridge: float) -> None:
        x = GRID[TOLD]
        K, rewards = kernel(x, x), 3.0 * REWARDS
        radius = reference.squared_radius(K, rewards, ridge, NOISE, DELTA) ** 0.5
        least = reference.least_norm(K, rewards, radius, [16 * NOISE**2, 64 * NOISE**2])
        assert 2.0 * least > 2.0 * NOISE  # the norm that doubling has reached
        noise = reference.squared_noise(K, ridge, NOISE, DELTA)
        for width in (widths.analytic_mixture, widths.dual_mixture):
            optimizer = sf.Optimizer(
                sf.Arms(GRID), sf.Method(KERNEL, ridge=ridge, width=width(None, NOISE, DELTA))
            )
            optimizer.tell_all(TOLD.tolist(), rewards)
            assert optimizer.width == pytest.approx((4.0 * least**2 + noise / ridge) ** 0.5)
            known = sf.Optimizer(
                sf.Arms(GRID),
                sf.Method(KERNEL, ridge=ridge, width=width(2.0 * least, NOISE, DELTA)),
            )
            known.tell_all(TOLD.tolist(), rewards)
            points = known.space.points
            ours, theirs = (one.belief().band.ends(points) for one in (optimizer, known))
            torch.testing.assert_close(torch.stack([*ours]), torch.stack([*theirs]))

    def test_a_dictionary_certifies_nothing(self) -> None:
        features = sf.Nystrom(sf.Dictionary(torch.from_numpy(INDUCING)))
        by_doubling = told(widths.analytic_mixture(None, NOISE, DELTA), features=features)
        assert by_doubling.width == pytest.approx(
            told(widths.analytic_mixture(2.0 * NOISE, NOISE, DELTA), features=features).width
        )

    def test_it_is_at_most_the_norm_and_reaches_half_of_it(self) -> None:
        """In 60 random functions; a share of DELTA may fail."""
        random, over, reached = np.random.default_rng(3), 0, 0
        K = kernel(GRID, GRID)
        for _ in range(60):
            weights = 2.0 * random.normal(size=3)
            at = random.integers(0, len(GRID), 3)
            f, norm = K[:, at] @ weights, (weights @ K[np.ix_(at, at)] @ weights) ** 0.5
            pulled = random.integers(0, len(GRID), 80)
            y = f[pulled] + NOISE * random.normal(size=len(pulled))
            Kt = K[np.ix_(pulled, pulled)]
            radius = reference.squared_radius(Kt, y, NOISE**2, NOISE, DELTA) ** 0.5
            least = reference.least_norm(Kt, y, radius, [16 * NOISE**2, 64 * NOISE**2])
            over += least > norm
            reached += 2.0 * least >= norm
        assert over <= 3
        assert reached >= 50


class TestUses:
    """Each finds its bounds in the belief."""

    def test_the_next_arm_has_the_largest_upper_bound(self) -> None:
        assert told().ask().arm == int(expected(NOISE**2)[1].argmax())

    def test_a_recommendation_by_the_lower_bound(self) -> None:
        optimizer = told(reporting=sf.acquisition.Reporting("lower"))
        best = optimizer.recommend()
        lower, upper = expected(NOISE**2)
        assert best.arm == int(lower.argmax())
        assert (best.lower, best.upper) == pytest.approx((lower[best.arm], upper[best.arm]))

    def test_pending_queries_narrow_all_bands_alike(self) -> None:
        belief = told().belief()
        points = belief.space.points
        pending = belief.band.with_pending([Pull(points[5], 5, 1)])
        _, before, top = belief.band.ends(points)
        _, lower, upper = pending.ends(points)
        assert bool(((upper - lower) <= (top - before) + 1e-12).all())
        assert float(upper[5] - lower[5]) < 0.9 * float(top[5] - before[5])

    def test_risks_and_lacing_values(self) -> None:
        load = sf.FiniteEnvironment([[0.0], [0.5], [1.0]], [0.3, 0.4, 0.3])
        space = sf.Joint(sf.Arms(GRID), load)
        two = sf.kernels.squared_exponential([SCALE, 0.5])
        optimizer = sf.algorithms.v_ucb(space, two, level=0.4, width=DUAL, ridge=NOISE**2)
        for x, reward in zip(GRID[TOLD], REWARDS, strict=True):
            optimizer.tell(x, float(reward), environment=[0.5])
        belief = optimizer.belief()
        x = belief.candidates.designs
        ends = belief.band.ends(belief.space.inputs(x, belief.candidates.z))
        each = [end.reshape(len(x), -1) for end in ends]
        for ours, values in zip(belief.candidates.risks(x)[1:], each[1:], strict=True):
            torch.testing.assert_close(ours, belief.risk(values, belief.candidates.weights_at(x)))
        z = lacing_value(
            belief.candidates, space.design.locate(x[0]), "prob", torch.Generator().manual_seed(0)
        )
        column = int((belief.candidates.z == z).all(-1).nonzero())
        risks = [float(risk[0]) for risk in belief.candidates.risks(x[:1])]
        assert float(each[1][0, column]) <= risks[1]
        assert float(each[2][0, column]) >= risks[2]

    @pytest.mark.long
    def test_draws_are_as_wide_as_the_bounds(self) -> None:
        belief = told().belief()
        points = belief.space.points
        generator = torch.Generator().manual_seed(0)
        drawn = torch.stack(
            [belief.band.draw(1.0, generator, belief.outcome.prior)(points) for _ in range(400)]
        )
        _, lower, upper = belief.band.ends(points)
        ratio = drawn.std(0) / ((upper - lower) / 2.0)
        assert float(ratio.min()) > 0.8
        assert float(ratio.max()) < 1.2

    def test_a_scale_moves_both_ends_towards_the_mean(self) -> None:
        mean, lower, upper = told().belief().band.ends(torch.from_numpy(GRID))
        half = widths.dual_mixture(NORM, NOISE, DELTA, scale=0.5)
        at, low, high = told(half).belief().band.ends(torch.from_numpy(GRID))
        torch.testing.assert_close(low, at - 0.5 * (mean - lower))
        torch.testing.assert_close(high, at + 0.5 * (upper - mean))


def test_rewards_that_contradict_the_norm_are_reported() -> None:
    with pytest.warns(UserWarning, match="contradict"):
        told(widths.dual_mixture(0.01, 0.1), ridge=0.01).belief()


def test_other_estimators_have_no_such_bounds() -> None:
    with pytest.raises(sf.InvalidInput, match="least squares"):
        sf.Optimizer(sf.Arms(GRID), sf.Method(KERNEL, estimator=sf.Huber(), width=DUAL))


def test_a_saved_run_goes_on_with_the_same_bounds(tmp_path: Any) -> None:
    optimizer = told()
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", kernel=KERNEL)
    before, after = (one.belief().band.ends(one.space.points) for one in (optimizer, loaded))
    for ours, theirs in zip(after, before, strict=True):
        torch.testing.assert_close(ours, theirs)
    assert loaded.ask().arm == optimizer.ask().arm


LOAD = sf.FiniteEnvironment([[0.0], [0.5], [1.0]], [0.3, 0.4, 0.3])
PAIRS = sf.kernels.squared_exponential([SCALE, 0.5])


def risky(design: Any, width: Any = DUAL) -> sf.Optimizer:
    """V-UCB that was told its rewards one by one, in several environments."""
    optimizer = sf.algorithms.v_ucb(
        sf.Joint(design, LOAD), PAIRS, level=0.4, width=width, ridge=NOISE**2
    )
    for number, (x, reward) in enumerate(zip(GRID[TOLD], REWARDS, strict=True)):
        optimizer.tell(x, float(reward), environment=LOAD.points[number % 3])
    return optimizer


SEMS = np.array([0.0, 1.0, 0.0, 0.2, 0.0, 3.0, 0.0, 0.5, 0.0, 1.0])


@pytest.mark.daily(1)
@pytest.mark.parametrize("space", [sf.Arms(GRID), sf.Box([0.0], [1.0])], ids=["arms", "box"])
@pytest.mark.parametrize("ridge", [NOISE**2, 1.0])
@pytest.mark.parametrize("dual", [True, False])
def test_rewards_with_standard_errors_are_weighted(space: Any, ridge: float, dual: bool) -> None:
    """The bounds of rewards that are divided by what their errors add to the noise."""
    width = (widths.dual_mixture if dual else widths.analytic_mixture)(NORM, NOISE, DELTA)
    optimizer = sf.Optimizer(space, sf.Method(KERNEL, ridge=ridge, width=width))
    where = TOLD.tolist() if isinstance(space, sf.Arms) else GRID[TOLD]
    optimizer.tell_all(where, REWARDS, sems=SEMS)
    _, lower, upper = optimizer.belief().band.ends(torch.from_numpy(GRID))

    w = ridge / (ridge + SEMS**2)
    R = max(NOISE, ridge**0.5)  # at least that of any w (NOISE^2 + SEMS^2)
    assert max(w * (NOISE**2 + SEMS**2)) <= R**2
    k = np.exp(-((GRID[TOLD][:, None] - GRID[None]) ** 2).sum(-1) / (2 * SCALE**2))
    weighted, y = np.sqrt(w)[:, None] * k, np.sqrt(w) * REWARDS
    K = weighted[:, TOLD] * np.sqrt(w)
    fit = ridge * y @ np.linalg.solve(K + ridge * np.eye(len(y)), y)
    radius = (fit + reference.squared_noise(k[:, TOLD], ridge, R, DELTA)) ** 0.5
    over = shifts(ridge) if dual else [ridge]
    expected = reference.narrowest(K, weighted, np.ones(len(GRID)), y, radius, NORM, over)
    for ours, theirs in zip((lower, upper), expected, strict=True):
        agree(ours, theirs)


@pytest.mark.parametrize("width", [widths.chowdhury_gopalan, sketch_determinant])
def test_widths_count_standard_errors(width: Any) -> None:
    """With a ridge above the squared noise, errors raise what weighted rewards vary by."""

    def found(sems: np.ndarray) -> float:
        known = width(NORM, NOISE, DELTA)
        optimizer = sf.Optimizer(sf.Arms(GRID), sf.Method(KERNEL, ridge=1.0, width=known))
        optimizer.tell_all(TOLD.tolist(), REWARDS, sems=sems)
        return optimizer.width - NORM

    grown = 1.0 / NOISE  # for any standard errors, the ridge being 1
    assert found(SEMS) == pytest.approx(grown * found(0.0 * SEMS), rel=1e-6)


@pytest.mark.daily(1)
@pytest.mark.parametrize("width", [DUAL, widths.srinivas()], ids=["intersection", "symmetric"])
@pytest.mark.parametrize("design", [sf.Arms(GRID), sf.Box([0.0], [1.0])], ids=["arms", "box"])
def test_bounds_at_a_location_are_those_at_its_point(design: Any, width: Any) -> None:
    belief = risky(design, width).belief()
    space, z = belief.space, LOAD.points[2]
    for x in GRID[[0, 8, 14]]:
        alone = space.design.locate(x)
        every = belief.candidates.bounds(alone.design.unsqueeze(0))
        for ours, theirs in zip(belief.candidates.bounds_at(alone), every, strict=True):
            torch.testing.assert_close(ours, theirs)
        pair = space.location(alone.design, alone.arm, z)
        for ours, theirs in zip(belief.candidates.bounds_at(pair), every, strict=True):
            torch.testing.assert_close(ours, theirs[:, 2:])


@pytest.mark.long
@pytest.mark.parametrize("proved", [False, True])
@pytest.mark.parametrize("recommendation", ["mean", "rounds"])
def test_a_round_on_arms_factorises_nothing(
    proved: bool, recommendation: Any, monkeypatch: Any
) -> None:
    """Bounds of the choice are looked up, too: rank-one updates keep those of all arms."""
    width = sf.widths.dual_mixture(NORM, NOISE) if proved else sf.widths.srinivas()
    space = sf.Joint(sf.Arms(GRID), LOAD)
    optimizer = sf.algorithms.v_ucb(
        space, PAIRS, level=0.4, ridge=NOISE**2, recommendation=recommendation, width=width
    )
    for reward in REWARDS.tolist():
        optimizer.tell(optimizer.ask(), reward)
    calls: list[int] = []
    original = ridge_module.cholesky

    def counted(matrix: torch.Tensor) -> torch.Tensor:
        calls.append(len(matrix))
        return original(matrix)

    monkeypatch.setattr(ridge_module, "cholesky", counted)
    for reward in REWARDS.tolist():
        optimizer.tell(optimizer.ask(), reward)
    assert calls == []
