"""Expected improvement of the hypervolume of several objectives."""

import math
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import surefoot as sf
from surefoot._internal.pareto import hypervolume
from surefoot.acquisition import HypervolumeImprovement, argmax, hypervolume_improvement
from surefoot.acquisition.hypervolume_improvement import (
    _SMOOTH,
    _directions,
    _ends,
    _Front,
    _smooth_positive,
)
from surefoot.acquisition.scores import PolicyState

COST = {"cost": sf.Objective(maximise=False)}


def run_on(space: Any, x: torch.Tensor, **options: Any) -> sf.Optimizer:
    """A run whose reward and cost rise with x: every point is on the front."""
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(space, outcomes=COST), policy=HypervolumeImprovement(), seed=0, **options
    )
    optimizer.tell_all(
        x[:, None], (x * (2 - x)).tolist(), outcomes=[{"cost": one} for one in x.tolist()]
    )
    return optimizer


@pytest.mark.parametrize("size", [2, 3])
def test_hypervolume_is_the_mean_over_directions(size: int) -> None:
    generator = torch.Generator().manual_seed(0)
    values = torch.rand(9, size, dtype=torch.float64, generator=generator)
    worst, extent = _ends(values, torch.zeros_like(values))
    reference = worst - 0.3 * extent
    weights = _directions(2**13, size, generator)
    front = _Front((), values, values, weights, reference, extent, is_far=False)
    volume = hypervolume(((reference - values) / extent).numpy(), torch.zeros(size).numpy())
    mean = float(front.lengths(values).clamp_min(0.0).amax(0).pow(size).mean())
    constant = math.pi ** (size / 2) / 2**size / math.gamma(size / 2 + 1)
    assert constant * mean == pytest.approx(float(volume), rel=0.01)


def test_the_reference_point_ignores_what_is_hardly_better() -> None:
    values = torch.tensor([[1.0, 0.0], [0.5, 0.7], [0.0, 1.0], [-9.0, 1.01]], dtype=torch.float64)
    worst, extent = _ends(values, torch.zeros_like(values))
    assert worst.tolist() == pytest.approx([0.0, 0.0])
    assert extent.tolist() == pytest.approx([1.0, 1.0])


@pytest.mark.parametrize(("deviation", "extents"), [(0.0, [0.01, 2.0]), (0.02, [1.01, 3.0])])
def test_what_is_within_the_deviation_is_no_extent(deviation: float, extents: list[float]) -> None:
    """Else the reference point is where nothing but the end of the front is better than it."""
    values = torch.tensor([[0.0, -1.0], [0.01, -3.0], [-1.0, -4.0]], dtype=torch.float64)
    _, extent = _ends(values, torch.full_like(values, deviation))
    assert extent.tolist() == pytest.approx(extents)


@pytest.mark.long
def test_the_reference_point_is_now_and_then_beyond_all_that_was_measured() -> None:
    """Else a front that is short, or a point so far, is not left."""
    x = torch.tensor([0.4, 0.45, 0.5, 0.5] * 2, dtype=torch.float64)
    optimizer = run_on(sf.Box([0.0], [1.0]), x)
    optimizer.tell_all([[0.9], [0.9]], [-9.0, -9.0], outcomes=[{"cost": 9.0}] * 2)
    belief, generator = optimizer.belief(), torch.Generator().manual_seed(0)
    fronts = [_Front.of(belief.candidates, 4, generator) for _ in range(16)]
    beyond = [bool((one.reference < one.means.amin(0)).all()) for one in fronts]
    assert 4 < sum(beyond) < 12


@pytest.mark.daily(1)
@pytest.mark.parametrize("seed", range(3))
def test_the_score_tells_points_apart_where_no_drawn_function_improves(seed: int) -> None:
    """Else an arbitrary point is asked for, however bad it is."""
    x = torch.linspace(0.0, 1.0, 6, dtype=torch.float64).repeat(3)
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0], [1.0]), outcomes=COST), policy=HypervolumeImprovement(), seed=seed
    )
    costs = [{"cost": one} for one in x.tolist()]
    optimizer.tell_all(x[:, None], (-x).tolist(), outcomes=costs)  # all but x = 0 is dominated
    score = HypervolumeImprovement(scale=0.0)(
        optimizer.belief().candidates, torch.Generator().manual_seed(0)
    )
    with torch.no_grad():
        scores = score(torch.linspace(0.05, 0.95, 10, dtype=torch.float64)[:, None])
    assert bool((scores.diff() < 0.0).all())
    assert float(optimizer.ask().point) < 0.1


@pytest.mark.long
def test_a_search_that_is_content_looks_where_the_deviation_promises_much_more() -> None:
    """In rounds whose reference point is close, that is."""
    x = torch.linspace(0.0, 0.1, 6, dtype=torch.float64).repeat(2)
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0], [1.0]), outcomes=COST),
        policy=HypervolumeImprovement(scale=0.0),
        seed=0,
    )
    costs = [{"cost": one} for one in x.tolist()]
    optimizer.tell_all(x[:, None], (9 * x).sin().tolist(), outcomes=costs)
    belief, policy = optimizer.belief(), HypervolumeImprovement(scale=0.0)
    is_far, points = [], []
    for seed in range(8):
        generator = torch.Generator().manual_seed(seed)
        is_far.append(
            _Front.of(belief.candidates, policy.directions, generator.clone_state()).is_far
        )
        points.append(float(policy.choose(belief, None, PolicyState(generator)).design))
    close = [point for point, far in zip(points, is_far, strict=True) if not far]
    assert 2 <= len(close) <= 6
    assert sum(point > 0.5 for point in close) > len(close) / 2
    assert max(point for point, far in zip(points, is_far, strict=True) if far) < 0.5


@pytest.mark.long
def test_functions_with_all_of_their_deviation_are_searched_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    searched = []

    def maximise(*arguments: object) -> object:
        searched.append(arguments)
        return argmax.maximise(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(hypervolume_improvement, "maximise", maximise)
    x = torch.linspace(0.0, 1.0, 5, dtype=torch.float64).repeat(2)
    policy = HypervolumeImprovement(samples=8, directions=8, scale=1.0)
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0], [1.0]), outcomes=COST), policy=policy, seed=0
    )
    costs = [{"cost": one} for one in x.tolist()]
    optimizer.tell_all(x[:, None], (2 * x).sin().tolist(), outcomes=costs)
    optimizer.ask_batch(4)  # two of them with the close reference point
    assert len(searched) == 4


@pytest.mark.parametrize(("number", "drawn"), [(38, {0.3}), (40, {0.3, 1.0})])
def test_after_many_measurements_all_of_the_deviation_counts_in_some_rounds(
    number: int, drawn: set[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = torch.linspace(0.0, 1.0, number // 2, dtype=torch.float64).repeat(2)
    belief, first, each = run_on(sf.Box([0.0], [1.0]), x).belief(), set(), []

    def best(self: object, front: object, candidates: object, scale: float, *others: object) -> Any:
        each.append(scale)
        return candidates.space.locate([0.5]), 0.0  # type: ignore[attr-defined]

    monkeypatch.setattr(HypervolumeImprovement, "_best", best)
    for seed in range(20):  # all alike with a probability of 2e-6
        each.clear()
        HypervolumeImprovement().choose(
            belief, None, PolicyState(torch.Generator().manual_seed(seed))
        )
        first.add(each[0])
        assert len(each) == 1 or number < 40
    assert first == drawn


@pytest.mark.long
def test_a_gap_of_the_front_is_filled() -> None:
    x = torch.tensor([0.0, 0.1, 0.2, 0.7, 0.8, 0.9, 1.0] * 2, dtype=torch.float64)
    optimizer = run_on(sf.Box([0.0], [1.0]), x)
    assert 0.25 < float(optimizer.ask().point) < 0.65


@pytest.mark.long
def test_a_run_that_is_loaded_goes_on_as_it_would_have(tmp_path: Path) -> None:
    x = torch.linspace(0.0, 1.0, 8, dtype=torch.float64)
    optimizer = run_on(sf.Box([0.0], [1.0]), x)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert torch.equal(loaded.ask().point, optimizer.ask().point)
    assert float(loaded.ask().point) != float(optimizer.pending[0].point)


def test_arms_are_chosen_from() -> None:
    x = torch.linspace(0.0, 1.0, 9, dtype=torch.float64)
    optimizer = run_on(sf.Arms(x[:, None]), x[[0, 1, 2, 6, 7, 8]].repeat(2))
    assert optimizer.ask().arm in (3, 4, 5)


@pytest.mark.long
def test_the_belief_of_a_further_objective_is_a_goal() -> None:
    x = torch.linspace(0.0, 1.0, 8, dtype=torch.float64)
    belief = run_on(sf.Box([0.0], [1.0]), x).belief()
    assert len(belief.candidates.objectives) == 2
    value, lower, upper = belief.of(outcome="cost").predict([[0.5]])
    assert lower <= value <= upper
    assert float(value) == pytest.approx(-0.5, abs=0.05)


def test_a_given_kernel_is_not_that_of_further_objectives() -> None:
    x = torch.linspace(0.0, 1.0, 8, dtype=torch.float64)
    kernel = sf.kernels.squared_exponential(0.2)
    optimizer = sf.Optimizer(sf.Problem(sf.Box([0.0], [1.0]), outcomes=COST), sf.Method(kernel))
    optimizer.tell_all(x[:, None], x.tolist(), outcomes=[{"cost": 1e6 * one} for one in x.tolist()])
    assert float(optimizer.belief().of(outcome="cost").candidates.mean(x[4:5, None])) < -1e5


def test_wrong_arguments_and_spaces() -> None:
    for wrong in ({"samples": 0}, {"directions": 0.5}, {"scale": -1.0}):
        with pytest.raises(sf.InvalidInput, match=next(iter(wrong))):
            HypervolumeImprovement(**wrong)
    joint = sf.Joint(sf.Box([0.0], [1.0]), sf.FiniteEnvironment([[0.0], [1.0]]))
    with pytest.raises(sf.InvalidInput, match=r"HypervolumeImprovement.*Joint"):
        sf.algorithms.robust_ucb(
            sf.Problem(joint, risk=sf.VaR(0.1)), policy=HypervolumeImprovement()
        )


@given(st.floats(-1e150, 1e150))
def test_an_improvement_has_a_logarithm_however_far_off_it_is(gain: float) -> None:
    gains = torch.tensor([gain, -abs(gain), 0.0], dtype=torch.float64, requires_grad=True)
    found = _smooth_positive(gains)
    assert bool((found > 0.0).all())
    slopes = torch.autograd.grad(found.log().sum(), gains)[0]
    assert bool(slopes.isfinite().all())
    exact, digits = Decimal(gain), Context(prec=400)
    root = digits.sqrt(digits.fma(exact, exact, 4 * Decimal(_SMOOTH) ** 2))
    assert float(found[0].detach()) == pytest.approx(
        float(digits.add(exact, root)) / 2.0, rel=1e-12
    )


def test_objectives_have_another_prior_in_a_third_of_the_rounds() -> None:
    """But not the one that contradicts it."""
    points = torch.quasirandom.SobolEngine(4, scramble=True, seed=0).draw(30, dtype=torch.float64)
    bowls, planes = (points - 0.5).square().sum(-1), points.sum(-1)
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0] * 4, [1.0] * 4), outcomes=COST),
        policy=HypervolumeImprovement(),
        seed=0,
    )
    costs = [{"cost": one} for one in planes.tolist()]
    optimizer.tell_all(points, (-bowls).tolist(), outcomes=costs)
    belief, generator = optimizer.belief(), torch.Generator().manual_seed(0)
    first, second = belief.candidates.objectives
    fronts = [_Front.of(belief.candidates, 4, generator).objectives for _ in range(90)]
    others = [one[0] is not first for one in fronts]
    assert 8 < sum(others) < 55  # of a binomial law, but for 1e-6
    assert all(one[0] in (first, first.alternative) and one[1] is second for one in fronts)


@pytest.mark.long
@pytest.mark.parametrize("rewards", [[1.0], [3.0] * 6, [0.0] * 6])
@pytest.mark.parametrize("seed", range(4))
def test_an_objective_may_be_constant_so_far(rewards: list[float], seed: int) -> None:
    """One reward, or the same from all points: the front has no extent."""
    points = torch.quasirandom.SobolEngine(2).draw(len(rewards) + 1, dtype=torch.float64)[1:]
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0] * 2, [1.0] * 2), outcomes=COST),
        policy=HypervolumeImprovement(samples=8, directions=8),
        initial=0,
        seed=seed,
    )
    costs = [{"cost": one} for one in points.sum(-1).tolist()]
    optimizer.tell_all(points, rewards, outcomes=costs)
    assert bool(((optimizer.ask().point >= 0.0) & (optimizer.ask().point <= 1.0)).all())
