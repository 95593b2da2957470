"""Bounds for noise of finite variance, against kernel matrices, and in simulated runs."""

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import self_normalised as reference
from support.optimizers import optimizer_of
from surefoot.regression.observations import Pull
from surefoot.widths import self_normalised
from surefoot.widths.least_squares import exponents

SCALE, NORM, DELTA, VARIANCE = 0.06, 2.0, 0.1, 0.5
GRID = np.linspace(0.0, 1.0, 15)[:, None]
KERNEL = sf.kernels.squared_exponential(SCALE)
SHIFTS = [1.0, 4.0, 16.0, 64.0]
INDUCING = GRID[[2, 8, 13]]
CENTERS = {"mean": VARIANCE, "zero": VARIANCE + 1.0}


def kernel(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.exp(-((left[:, None] - right[None]) ** 2).sum(-1) / (2 * SCALE**2))


def projected(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """The kernel of the inducing points' features."""
    inverse = np.linalg.inv(kernel(INDUCING, INDUCING))
    return kernel(left, INDUCING) @ inverse @ kernel(INDUCING, right)


def rewards(number: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Arms and rewards of sin(5 x), with noise of infinite kurtosis and one outlier."""
    generator = np.random.default_rng(seed)
    arms = generator.integers(0, len(GRID), number)
    noise = generator.standard_t(3, number) * (VARIANCE / 3) ** 0.5
    noise[0] = 20.0
    return arms, np.sin(5.0 * GRID[arms, 0]) + noise


def width(center: Any = "mean", alpha: float = 1.0, **parts: Any) -> self_normalised:
    return self_normalised(sf.Moment(alpha, CENTERS[center], center), NORM, DELTA, **parts)


def passes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often the noise was bounded anew, counted from now on."""
    count = [0]
    for name in ("spread", "powers"):

        def counted(*parts: Any, own: Any = getattr(self_normalised, name)) -> Any:
            count[0] += 1
            return own(*parts)

        monkeypatch.setattr(self_normalised, name, counted)
    return count


@pytest.mark.daily(4)
@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("number", [1, 2, 10, 65])
@pytest.mark.parametrize("misfit", [0.0, 0.2])
@pytest.mark.parametrize("alpha", [1.0, 0.5, 0.2])
@pytest.mark.parametrize("where", ["arms", "box", "sketch"])
def test_bounds_are_those_of_the_formulas(
    where: str,
    alpha: float,
    misfit: float,
    number: int,
    center: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arms, y = rewards(number)
    space = sf.Box([0.0], [1.0]) if where == "box" else sf.Arms(GRID)
    parts: dict[str, Any] = {}
    if where == "sketch":
        parts["features"] = sf.Nystrom(sf.Dictionary(torch.from_numpy(INDUCING)))
    count = passes(monkeypatch)
    bounds = width(center, alpha, misfit=misfit)
    optimizer = optimizer_of(space, KERNEL, width=bounds, ridge=1.0, **parts)
    optimizer.tell_all(GRID[arms] if where == "box" else arms.tolist(), y)
    _, lower, upper = optimizer.belief().band.ends(torch.from_numpy(GRID))

    x, own = GRID[arms], projected if where == "sketch" else kernel
    left = np.zeros(number)
    beside = np.zeros(len(GRID))
    if where == "sketch":
        left = 1.0 - np.diag(projected(x, x))
        beside = np.maximum(1.0 - np.diag(projected(GRID, GRID)), 0.0)
    constants = 1.0 + alpha, *exponents(1.0 + alpha)
    known = reference.Assumed(CENTERS[center], center, NORM, DELTA, 0.0, misfit, *constants)
    known = replace(known, rho=10.0 * reference.level(1, known))
    low, high = reference.bounds(
        own(x, x),
        own(x, GRID),
        np.diag(own(GRID, GRID)),
        y,
        arms,
        left,
        beside,
        [shift * reference.level(number, known) / NORM**2 for shift in SHIFTS],
        known,
        count[0],
    )
    np.testing.assert_allclose(lower, low, rtol=0.0, atol=1e-10)
    np.testing.assert_allclose(upper, high, rtol=0.0, atol=1e-10)


def told(
    number: int, factor: float = 1.0, alpha: float = 1.0, center: Any = "mean", **parts: Any
) -> sf.Optimizer:
    arms, y = rewards(number)
    moment = sf.Moment(alpha, VARIANCE * factor ** (1.0 + alpha), center)
    bounds = self_normalised(moment, NORM * factor, DELTA, **parts)
    optimizer = sf.Optimizer(sf.Arms(GRID), sf.Method(KERNEL, width=bounds, ridge=1.0))
    optimizer.tell_all(arms.tolist(), factor * y)
    return optimizer


@pytest.mark.long
@pytest.mark.parametrize("center", CENTERS)
@pytest.mark.parametrize("alpha", [1.0, 0.5])
def test_bounds_have_the_unit_of_the_rewards(alpha: float, center: Any) -> None:
    ends = told(40, 1.0, alpha, center).belief().band.ends(torch.from_numpy(GRID))
    scaled = told(40, 8.0, alpha, center).belief().band.ends(torch.from_numpy(GRID))
    for one, other in zip(ends, scaled, strict=True):
        np.testing.assert_allclose(8.0 * one, other, rtol=1e-12)


def test_standardised_rewards_have_bounds_in_their_own_units() -> None:
    given = sf.hyperparameters.GivenHyperparameters(KERNEL, 1.0, True)
    optimizer = sf.Optimizer(sf.Arms(GRID), sf.Method(given, width=width()))
    arms, y = rewards(40)
    optimizer.tell_all(arms.tolist(), 30.0 + y)
    belief = optimizer.belief()
    units = belief.outcome.fitted.units
    plain = sf.Optimizer(sf.Arms(GRID), sf.Method(KERNEL, width=width(), ridge=1.0))
    plain.tell_all(arms.tolist(), units.transform(torch.from_numpy(30.0 + y)))
    expected = plain.belief().band.ends(plain.space.points)
    for ours, theirs in zip(belief.band.ends(optimizer.space.points), expected, strict=True):
        np.testing.assert_allclose(ours, units.center + units.scale * theirs, rtol=1e-9)


def test_half_the_scale_is_half_the_distance_from_the_mean() -> None:
    optimizer = told(40)
    mean, lower, upper = optimizer.belief().band.ends(optimizer.space.points)
    half = told(40, scale=0.5).belief().band.ends(optimizer.space.points)
    np.testing.assert_allclose(half.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(half.upper - mean, 0.5 * (upper - mean), rtol=1e-12)
    np.testing.assert_allclose(mean - half.lower, 0.5 * (mean - lower), rtol=1e-12)


def test_pending_queries_narrow_them() -> None:
    belief = told(40).belief()
    points = belief.space.points
    before, after = (
        one.ends(points) for one in (belief.band, belief.band.with_pending([Pull(points[5], 5, 1)]))
    )
    assert bool((after.upper - after.lower <= before.upper - before.lower + 1e-12).all())
    assert after.upper[5] - after.lower[5] < 0.9 * (before.upper[5] - before.lower[5])


@pytest.mark.parametrize("number", [1, 65])
def test_they_have_gradients_in_a_box(number: int) -> None:
    optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), sf.Method(KERNEL, width=width(), ridge=1.0))
    arms, y = rewards(number)
    optimizer.tell_all(GRID[arms], y)
    points = torch.from_numpy(GRID).requires_grad_()
    optimizer.belief().band.ends(points).upper.sum().backward()
    assert points.grad is not None
    assert bool(points.grad.isfinite().all())


def test_rewards_that_no_such_function_gives_are_told() -> None:
    bounds = self_normalised(sf.Moment(1.0, 1e-4, "mean"), 0.1, DELTA)
    optimizer = sf.Optimizer(sf.Arms(GRID), sf.Method(KERNEL, width=bounds, ridge=1.0))
    optimizer.tell_all([0, 1] * 200, [5.0, -5.0] * 200)
    with pytest.warns(UserWarning, match="the rewards contradict self_normalised"):
        optimizer.belief()


@pytest.mark.daily(1)
@pytest.mark.parametrize("order", [1.02, 1.1, 1.25, 1.5, 1.77, 1.9, 1.99, 2.0])
def test_the_inequality_of_which_they_are_made(order: float) -> None:
    c, more = exponents(order)
    x = np.concatenate([np.linspace(-50.0, 50.0, 1_000_001), np.geomspace(50.0, 1e6, 100_000)])
    power = np.abs(x) ** order
    assert (np.expm1(x - c * power) <= x + more * power + 1e-15).all()
    assert c + more < 2.1 / order**2  # .5 for a variance, 2 for order 1


class TestLimits:
    """What is assumed of the function bounds it before a reward says anything."""

    ASSUMED: ClassVar[dict[str, tuple[Any, Any, float]]] = {
        "norm": (sf.widths.dual_mixture(NORM, 100.0), sf.LeastSquares(), NORM),
        "norm alone": (sf.widths.analytic_mixture(NORM, 100.0), sf.LeastSquares(), NORM),
        "raw moment": (
            sf.widths.truncated(sf.Moment(0.5, 1.0), 9.0),
            sf.Truncation(sf.Moment(0.5, 1.0)),
            1.0,
        ),
        "variance": (self_normalised(sf.Moment(1.0, 1.0, "mean"), NORM), sf.LeastSquares(), NORM),
        "second moment": (self_normalised(sf.Moment(1.0, 2.25), NORM), sf.LeastSquares(), 1.5),
    }

    @pytest.mark.long
    @pytest.mark.filterwarnings("ignore:the bounds cannot separate")
    @pytest.mark.parametrize("name", ASSUMED)
    def test_bounds_are_within_them_and_choices_are_not_by_them(self, name: str) -> None:
        bounds, estimator, limit = self.ASSUMED[name]
        optimizer = sf.Optimizer(
            sf.Arms(GRID), sf.Method(KERNEL, width=bounds, estimator=estimator, ridge=1.0)
        )
        optimizer.tell_all([0, 0, 7], [0.5, 0.4, -0.3])
        belief = optimizer.belief()
        value, lower, upper = belief.predict(GRID)
        assert (lower == -limit).any()
        assert (upper == limit).any()
        assert bool(((-limit <= lower) & (lower <= value) & (value <= upper)).all())
        assert float(belief.band.ends(torch.from_numpy(GRID)).upper.max()) > limit
        assert optimizer.ask().arm == int(belief.band.ends(torch.from_numpy(GRID)).upper.argmax())

    def test_a_norm_that_is_found_limits_nothing(self) -> None:
        bounds = sf.widths.analytic_mixture(None, 1.0)
        optimizer = sf.Optimizer(sf.Arms(GRID), sf.Method(KERNEL, width=bounds, ridge=1.0))
        optimizer.tell_all([0, 0, 7], [0.5, 0.4, -0.3])
        belief = optimizer.belief()
        _, _, upper = belief.predict(GRID)
        np.testing.assert_array_equal(upper, belief.band.ends(torch.from_numpy(GRID)).upper)

    def test_credible_intervals_are_of_the_prior_and_not_of_them(self) -> None:
        reporting = sf.acquisition.Reporting(interval=sf.acquisition.Credible(0.9999))
        bounds = sf.widths.analytic_mixture(0.1, 1.0)
        parts: Any = {"width": bounds, "reporting": reporting, "ridge": 1.0}
        optimizer = optimizer_of(sf.Arms(GRID), KERNEL, **parts)
        optimizer.tell(0, 0.1)
        _, _, upper = optimizer.belief().predict(GRID)
        assert float(upper.max()) > 1.0


class TestRefusals:
    @pytest.mark.parametrize("name", ["shifts", "mixture"])
    def test_constants_that_are_not_positive(self, name: str) -> None:
        value: Any = [0.0] if name == "shifts" else 0.0
        with pytest.raises(sf.InvalidInput, match=name):
            width(**{name: value})

    def test_another_estimator(self) -> None:
        with pytest.raises(sf.InvalidInput, match="LeastSquares"):
            sf.Optimizer(sf.Arms(GRID), sf.Method(KERNEL, width=width(), estimator=sf.Huber()))

    @pytest.mark.parametrize(
        "make",
        [
            sf.Truncation,
            sf.AdaptiveTruncation,
            sf.widths.truncated,
        ],
    )
    def test_truncation_by_a_moment_about_the_mean(self, make: Any) -> None:
        with pytest.raises(sf.InvalidInput, match="expected one about zero"):
            make(sf.Moment(1.0, 1.0, "mean"))

    def test_a_center_that_is_none(self) -> None:
        with pytest.raises(sf.InvalidInput, match="`center`"):
            sf.Moment(1.0, 1.0, "median")  # type: ignore[arg-type]


def test_a_mean_has_at_most_this_moment_about_itself() -> None:
    """E |y - E y|^p <= 2^(2 - p) E |y|^p for two values, of which each law is a mixture."""
    share, at = np.meshgrid(np.linspace(0.001, 0.999, 300), np.linspace(-3.0, 1.0, 400))
    for p in (1.1, 1.5, 1.9):
        mean = share + (1.0 - share) * at
        about = share * np.abs(1.0 - mean) ** p + (1.0 - share) * np.abs(at - mean) ** p
        raw = share + (1.0 - share) * np.abs(at) ** p
        assert (about <= 2.0 ** (2.0 - p) * raw + 1e-12).all()


@pytest.mark.long
@pytest.mark.parametrize("alpha", [1.0, 0.5])
@pytest.mark.parametrize("center", CENTERS)
def test_they_hold_in_all_rounds_of_runs_that_they_steer(center: Any, alpha: float) -> None:
    """Student's t(3): 20 runs, of which one failure would be as likely as 0.9 at this delta."""
    f, failed = np.sin(5.0 * GRID[:, 0]) / 1.2, 0
    norm = float(np.sqrt(f @ np.linalg.solve(kernel(GRID, GRID), f)))
    for seed in range(20):
        generator = np.random.default_rng(seed)
        moment = sf.Moment(alpha, (CENTERS[center] + 0.5) ** (0.5 + 0.5 * alpha), center)
        bounds = self_normalised(moment, norm, DELTA)
        optimizer = sf.Optimizer(
            sf.Arms(GRID), sf.Method(KERNEL, width=bounds, ridge=1.0), seed=seed
        )
        holds = True
        for _ in range(60):
            arm = optimizer.ask().arm
            optimizer.tell(arm, float(f[arm] + generator.standard_t(3) * (VARIANCE / 3) ** 0.5))
            _, lower, upper = optimizer.belief().band.ends(optimizer.space.points)
            holds &= bool((lower.numpy() <= f).all() and (f <= upper.numpy()).all())
        failed += not holds
    assert failed <= 5
