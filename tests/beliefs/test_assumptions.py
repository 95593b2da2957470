"""What is proved under assumptions of the problem, beside a search that assumes less."""

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot import widths
from surefoot.algorithms import gp_ucb, robust

LINE = np.linspace(0.0, 10.0, 12)[:, None]
F = 50.0 + np.sin(0.5 * LINE[:, 0])
SPACES = {"arms": sf.Arms(LINE), "box": sf.Box([0.0], [10.0])}
NOISE: dict[str, dict[str, Any]] = {"noise": {"noise": 0.3}, "deviation": {"deviation": 0.3}}
MOMENT = sf.Moment(1.0, 0.09, "mean")


def told(optimizer: sf.Optimizer, shift: float = 0.0, number: int = 60) -> sf.Optimizer:
    rows = np.arange(number) % len(LINE)
    y = F[rows] + 0.3 * np.random.default_rng(0).uniform(-1.0, 1.0, number) - shift
    is_box = isinstance(optimizer.space, sf.Box)
    optimizer.tell_all(LINE[rows] if is_box else rows.tolist(), y)
    return optimizer


def assumed(space: str = "arms", number: int = 60, **parts: Any) -> sf.Optimizer:
    known = sf.Assumptions(**{"norm": 4.0, "lengthscale": 0.3, "center": 50.0, **parts})
    problem = sf.Problem(SPACES[space], assume=known)
    return told(sf.Optimizer(problem, robust(problem), seed=0), number=number)


def plain(lengthscale: float, space: str, name: str, delta: float = 0.05) -> sf.Optimizer:
    """The algorithm of the theorem, of the same rewards less the constant."""
    bounds = widths.dual_mixture(4.0, 0.3, delta)
    if name != "noise":
        bounds = widths.self_normalised(MOMENT, 4.0, delta)
    kernel = sf.kernels.matern(2.5, 10.0 * lengthscale)
    made = gp_ucb(SPACES[space], kernel, width=bounds, ridge=0.09)
    return told(made, 50.0)


@pytest.mark.long
@pytest.mark.parametrize("name", NOISE)
@pytest.mark.parametrize("space", SPACES)
def test_it_is_that_of_the_theorem_for_the_rewards_less_a_constant(space: str, name: str) -> None:
    design = LINE[3]
    found = assumed(space, **NOISE[name]).belief().certificate(design=design)
    expected = plain(0.3, space, name).belief().certificate(design=design)
    assert found.lower == pytest.approx(expected.lower + 50.0, rel=1e-10)
    assert found.upper == pytest.approx(expected.upper + 50.0, rel=1e-10)
    assert found.within == pytest.approx(expected.within, rel=1e-8)
    assert found.delta == 0.05
    assert {*expected.assumptions} <= {*found.assumptions}
    assert "f is the mean less 50 in these" in found.assumptions
    assert found.lower <= F[3] <= F.max() <= found.upper
    assert F.max() - F[3] <= found.within


@pytest.mark.long
@pytest.mark.parametrize("name", NOISE)
def test_of_several_lengthscales_the_widest_bounds_count(name: str) -> None:
    lengthscales = [0.15, 0.3, 0.6]
    found = assumed(lengthscale=lengthscales, **NOISE[name]).belief().certificate(0.1)
    each = [plain(one, "arms", name, 0.1).belief() for one in lengthscales]
    lower = np.min([np.asarray(one.predict(LINE)[1]) for one in each], 0)
    assert found.arm == int(lower.argmax())
    alone = [one.certificate(design=LINE[found.arm]) for one in each]
    assert found.lower == pytest.approx(50.0 + min(one.lower for one in alone))
    assert found.upper == pytest.approx(50.0 + max(one.upper for one in alone))
    assert found.within == pytest.approx(max(one.within for one in alone))
    assert sum(text.count(" or ") for text in found.assumptions) == 2


@pytest.mark.long
def test_a_recommendation_has_that_of_its_point_and_the_search_is_the_same() -> None:
    optimizer, other = assumed(**NOISE["noise"]), told(sf.algorithms.robust_ucb(SPACES["arms"]))
    best = optimizer.recommend()
    assert str(best.certificate) == str(optimizer.belief().certificate(design=best.point))
    assert best.value == other.recommend().value
    assert other.recommend().certificate is None
    assert optimizer.ask().arm == other.ask().arm


@pytest.mark.long
def test_a_saved_run_keeps_them(tmp_path: Path) -> None:
    optimizer = assumed(lengthscale=[0.2, 0.4], **NOISE["deviation"])
    optimizer.save(tmp_path / "run")
    again = sf.Optimizer.load(tmp_path / "run")
    assert again.problem.assume == optimizer.problem.assume
    assert str(again.belief().certificate()) == str(optimizer.belief().certificate())


@pytest.mark.long
@pytest.mark.parametrize("misfit", [0.0, 0.3])
def test_a_function_near_one_of_the_norm_is_bounded_by_its_distance(misfit: float) -> None:
    """Off by the misfit up and down in turn, which no function of the norm is."""
    f = np.sin(0.5 * LINE[:, 0]) + 0.3 * (-1.0) ** np.arange(len(LINE))
    known = sf.Assumptions(2.0, 0.3, deviation=0.1, misfit=misfit)
    problem = sf.Problem(SPACES["arms"], assume=known)
    optimizer = sf.Optimizer(problem, robust(problem), seed=0)
    rows = np.arange(1200) % len(f)
    noise = 0.1 * np.random.default_rng(1).standard_t(3, len(rows)) / 3**0.5
    optimizer.tell_all(rows.tolist(), f[rows] + noise)
    belief = optimizer.belief()
    each = [belief.certificate(design=one) for one in LINE]
    rows = np.arange(len(f))
    false = sum(
        one.lower > f[row] or one.within < f.max() - f[row] or one.upper < f.max()
        for row, one in zip(rows, each, strict=True)
    )
    assert bool(false) is (misfit == 0.0)
    assert misfit == 0.0 or any("within 0.3 of a function" in one for one in each[0].assumptions)


def test_differences_pay_for_the_misfit_twice() -> None:
    """Before much is measured, by the norm and the misfit alone."""
    near, far = (sf.Assumptions(4.0, 0.3, deviation=0.3, misfit=one) for one in (0.0, 0.2))
    within = []
    for known in (near, far):
        problem = sf.Problem(SPACES["arms"], assume=known)
        optimizer = sf.Optimizer(problem, robust(problem), seed=0)
        optimizer.tell(0, 0.0)
        within.append(optimizer.belief().certificate(design=LINE[0]).within)
    assert within[1] == pytest.approx(within[0] + 2 * 0.2)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "both": ({"noise": 1.0, "deviation": 1.0}, "expected at least one lengthscale, and either"),
    "neither": ({}, "expected at least one lengthscale, and either"),
    "no lengthscale": ({"noise": 1.0, "lengthscale": []}, "expected at least one lengthscale"),
    "a negative one": ({"noise": 1.0, "lengthscale": [0.1, -1.0]}, "`lengthscale` is -1.0"),
    "no norm": ({"noise": 1.0, "norm": 0.0}, "`norm` is 0.0"),
    "unproved": ({"noise": 1.0, "misfit": 0.1}, "nothing is proved for a `misfit`"),
    "a moment with a bound": ({"noise": 1.0, "order": 1.5}, "or an `order` other than 2"),
    "no mean": ({"deviation": 1.0, "order": 1.0}, "`order` is 1.0, expected a number above 1"),
    "order": ({"deviation": 1.0, "order": 2.5}, "`order` is 2.5"),
    "delta": ({"noise": 1.0, "delta": 1.0}, "`delta`"),
    "center": ({"noise": 1.0, "center": float("nan")}, "`center`"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_assumed_is_refused(name: str) -> None:
    parts, named = WRONG[name]
    with pytest.raises(sf.InvalidInput, match=named):
        sf.Assumptions(**{"norm": 1.0, "lengthscale": 0.2, **parts})


@pytest.mark.long
def test_a_moment_of_a_lower_order_is_one_of_the_rewards_about_their_mean() -> None:
    found = assumed(deviation=0.3, order=1.5).belief().certificate(design=LINE[3])
    moment = sf.Moment(0.5, 0.3**1.5, "mean")
    bounds = widths.self_normalised(moment, 4.0, 0.05)
    kernel = sf.kernels.matern(2.5, 3.0)
    other = told(gp_ucb(SPACES["arms"], kernel, width=bounds, ridge=0.09), 50.0)
    expected = other.belief().certificate(design=LINE[3])
    assert found.lower == pytest.approx(expected.lower + 50.0, rel=1e-10)
    assert found.within == pytest.approx(expected.within, rel=1e-8)
    assert "E|y - f(x)|^1.5 is at most 0.164317 at every x" in found.assumptions
    assert found.within > assumed(deviation=0.3).belief().certificate(design=LINE[3]).within


@pytest.mark.long
def test_lengthscales_that_the_measurements_contradict_are_left_out() -> None:
    """No function of norm 4 about 50 with the longest one is like the sine."""
    known = {**NOISE["noise"], "lengthscale": [0.3, 300.0], "number": 2400}
    found = assumed(**known).belief().certificate(design=LINE[3])
    alone = assumed(**{**known, "lengthscale": 0.3}).belief().certificate(design=LINE[3])
    assert str(found) == str(alone)
    wrong = assumed(**{**known, "lengthscale": 300.0})
    with pytest.raises(sf.InvalidInput, match=r"contradict what is assumed, that .* norm of f"):
        wrong.belief().certificate()
    assert wrong.recommend().certificate is None


@pytest.mark.long
def test_nothing_is_proved_where_measurements_fail_or_drift() -> None:
    failed = assumed(**NOISE["noise"])
    failed.forget(failed.ask(), failed=True)
    with pytest.raises(sf.InvalidInput, match="measurements failed"):
        failed.belief().certificate()
    known = sf.Assumptions(norm=4.0, lengthscale=0.3, noise=0.3)
    problem = sf.Problem(SPACES["box"], assume=known)
    drifting = sf.Optimizer(problem, robust(problem), seed=0)
    random = np.random.default_rng(0)
    for t, x in enumerate(itertools.islice(itertools.cycle(LINE), 48)):
        drifting.tell(x, float(np.sin(x[0]) + 0.2 * t + 0.05 * random.standard_normal()), time=t)
    assert "drift" in drifting.belief().outcome.effects
    with pytest.raises(sf.InvalidInput, match="differ between workers or drift"):
        drifting.belief().certificate()


def test_it_is_of_a_risk_over_an_environment() -> None:
    loads = sf.FiniteEnvironment([[0.0], [1.0]], [0.5, 0.5])
    known = sf.Assumptions(norm=9.0, lengthscale=0.5, noise=0.1)
    problem = sf.Problem(sf.Joint(SPACES["arms"], loads), risk=sf.VaR(0.5), assume=known)
    optimizer = sf.Optimizer(problem, robust(problem), seed=0)
    f = np.sin(0.5 * LINE) * (1.0 - 0.5 * np.array([0.0, 1.0]))
    for x, z in [*np.ndindex(*f.shape)] * 2:
        optimizer.tell(LINE[x], float(f[x, z]), environment=[float(z)])
    found = optimizer.belief().certificate()
    values = sf.VaR(0.5)(torch.from_numpy(f), torch.tensor([0.5, 0.5], dtype=torch.float64))
    assert str(found).startswith("VaR(level=0.5) of f at")
    assert found.lower <= float(values[found.arm]) <= float(values.max()) <= found.upper
