"""Safe search: no point is asked for unless its limits hold, and it succeeds, with confidence."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import optuna
import pytest
import torch

import surefoot as sf
from surefoot.acquisition.safe_search import SafeSet
from surefoot.integrations.optuna import SurefootSampler

SAFE = {"c": sf.Constraint(maximum=1.0, safe=True)}
PARAMETERS = {
    "x": sf.parameters.Float(0.0, 1.0),
    "y": sf.parameters.Float(0.0, 1.0),
    "kind": sf.parameters.Choice(("a", "b")),
}


def bowl(point: torch.Tensor) -> float:
    """A constraint that holds within 0.5 of (0.3, 0.3)."""
    return 4.0 * float((point - 0.3).square().sum())


def survival(kept: list[float], failed: Sequence[float] = ()) -> SafeSet:
    points = [torch.tensor(some, dtype=torch.float64).reshape(-1, 1) for some in (kept, failed)]
    return SafeSet(sf.Box([0.0], [1.0]), *points, limits=(), survives=True)


def line(safe: SafeSet) -> float:
    """Largest safe coordinate."""
    grid = torch.linspace(0.0, 1.0, 1001, dtype=torch.float64)[:, None]
    return float(grid[safe.holds(grid)].max())


def test_the_edge_may_be_anywhere_before_a_failure() -> None:
    assert line(survival([0.1, 0.2, 0.3], [0.9])) == pytest.approx(0.331, abs=1e-3)
    assert line(survival([0.1, 0.2, 0.3], [0.4])) == pytest.approx(0.310, abs=1e-3)


def test_few_steps_towards_an_edge_fail() -> None:
    box, generator = sf.Box([0.0, 0.0], [1.0, 1.0]), torch.Generator().manual_seed(0)
    kept, failed = torch.tensor([[0.15, 0.15]], dtype=torch.float64), torch.zeros(0, 2).double()
    for _ in range(120):
        safe = SafeSet(box, kept, failed, limits=(), survives=True)
        best = max(safe.candidates(box, generator), key=lambda one: float(one.sum()))
        if float(best.sum()) > 1.1:
            failed = torch.cat([failed, best[None]])
        elif not bool((kept == best).all(-1).any()):
            kept = torch.cat([kept, best[None]])
    assert len(failed) <= 6
    assert float(kept.sum(-1).max()) > 1.05


@pytest.mark.long
def test_a_limit_is_kept_with_spikes_in_its_values_and_the_optimum_is_approached():
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0, 0.0], [1.0, 1.0]), outcomes=SAFE), seed=0
    )
    generator, beyond = np.random.default_rng(0), 0
    point = torch.tensor([0.2, 0.2], dtype=torch.float64)
    for round_ in range(16):
        spike = 2.0 if round_ in (3, 9) else 0.0
        value = bowl(point) + 0.03 * generator.standard_normal() + spike
        optimizer.tell(point, float(point.sum()), outcomes={"c": value})
        beyond += bowl(point) > 1.0
        point = optimizer.ask().point
    best = optimizer.recommend()
    assert beyond <= 1
    assert bowl(best.point) <= 1.0
    assert float(best.point.sum()) > 2.0 * 0.4  # of the start


def test_nothing_is_asked_before_anything_is_known_to_be_safe():
    optimizer = sf.algorithms.robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes=SAFE), seed=0)
    with pytest.raises(sf.NotReady, match="known to be safe"):
        optimizer.ask()
    for x in (0.1, 0.9):
        optimizer.tell([x], 1.0, outcomes={"c": 2.0})
    with pytest.raises(sf.NotReady, match="no measurement was within"):
        optimizer.ask()
    assert optimizer.recommend().feasibility < 0.95


def test_the_first_steps_are_short_and_a_single_bad_value_of_the_start_is_no_end():
    for value, step in ((0.2, 0.06), (3.0, 1e-9)):
        optimizer = sf.algorithms.robust_ucb(
            sf.Problem(sf.Box([0.0], [1.0]), outcomes=SAFE), seed=0
        )
        optimizer.tell([0.5], 1.0, outcomes={"c": value})
        assert abs(float(optimizer.ask().point) - 0.5) < step


def test_survival_reaches_further_with_what_was_explored_and_less_after_failures():
    one, more, failed = survival([0.1]), survival([0.1, 0.4]), survival([0.1, 0.4], [0.9])
    assert 0.1 < line(one) < 0.2
    assert line(more) - 0.4 > line(one) - 0.1
    assert line(failed) - 0.4 < 0.6 * (line(more) - 0.4)


@pytest.mark.daily(1)
@pytest.mark.parametrize("safe", ["limit", "survival"])
def test_a_category_that_was_never_measured_is_not_asked_for_and_rules_hold(safe: str):
    space = sf.parameters.Space(PARAMETERS, constraints=["x + y <= 0.42"])
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(space, outcomes=SAFE if safe == "limit" else {}, safe=safe == "survival"),
        seed=0,
    )
    start = {"x": 0.2, "y": 0.2, "kind": "a"}
    optimizer.tell(start, 1.0, outcomes={"c": 0.2} if safe == "limit" else None)
    for query in optimizer.ask_batch(2):
        assert query.params["kind"] == "a"
        assert query.params["x"] + query.params["y"] <= 0.42
    with pytest.raises(sf.InvalidInput, match="given values"):
        optimizer.ask(within={"kind": "b"})


def test_where_nothing_else_is_safe_the_known_arm_is_measured_again():
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Arms([[0.0], [0.5], [1.0]]), safe=True), seed=0
    )
    optimizer.tell(1, 0.0)
    with pytest.warns(UserWarning, match="measured again"):
        assert optimizer.ask().arm == 1
    with pytest.raises(sf.InvalidInput, match="none of the 2"):
        optimizer.ask(arms=[0, 2])


@pytest.mark.long
def test_it_is_refused_with_an_environment_and_saved_with_a_run(tmp_path):
    joint = sf.Joint(sf.Box([0.0], [1.0]), sf.FiniteEnvironment([[0.0], [1.0]]))
    with pytest.raises(sf.InvalidInput, match="environment"):
        sf.algorithms.robust_ucb(sf.Problem(joint, risk=sf.Mean(), safe=True))
    optimizer = sf.algorithms.robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), safe=True), seed=0)
    optimizer.tell([0.5], 1.0)
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert abs(float(loaded.ask().point) - 0.5) < 0.06
    assert torch.equal(sf.Optimizer.load(tmp_path / "run").ask().point, optimizer.ask().point)


def test_a_sampler_begins_with_a_trial_that_is_known():
    space = {"x": optuna.distributions.FloatDistribution(0.0, 1.0)}
    for declared in (None, space):
        study = optuna.create_study(
            sampler=SurefootSampler(sf.Problem(safe=True), seed=0, search_space=declared)
        )
        with pytest.raises(sf.NotReady, match="safe"):
            study.ask(space)
        assert study.trials[0].state == optuna.trial.TrialState.FAIL
    study = optuna.create_study(
        sampler=SurefootSampler(sf.Problem(safe=True), seed=0, search_space=space)
    )
    study.enqueue_trial({"x": 0.5})
    study.optimize(lambda trial: trial.suggest_float("x", 0.0, 1.0), n_trials=3)
    assert all(abs(trial.params["x"] - 0.5) < 0.2 for trial in study.trials)


def test_configurations_that_kept_a_limit_stay_known_where_few_values_make_a_model_uncertain():
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0, 0.0], [1.0, 1.0]), outcomes=SAFE), seed=0
    )
    start, beyond = [0.08, 0.43], [0.29, 0.29]
    told = [(start, 3.2), (start, 0.4), (start, 0.8), ([0.03, 0.43], 0.6), ([0.13, 0.43], 0.5)]
    for point, value in [*told, (beyond, 2.9)]:
        optimizer.tell(point, 1.0, outcomes={"c": value})
    known = optimizer._permitted.safe_set(optimizer._told)
    assert len(known.kept) == 3
    assert known.broken.tolist() == [beyond]
    assert float((optimizer.ask().point - torch.tensor(beyond)).norm()) > 0.1


def _wave(number: int) -> SafeSet:
    """The safe set after some values of cos(x + y), of which the eighth is beyond its limit."""
    limit = {"c": sf.Constraint(maximum=0.5, safe=True)}
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0, 0.0], [6.0, 6.0]), outcomes=limit), seed=0
    )
    generator = np.random.default_rng(0)
    told = [(0.7, 3.2), (0.4, 3.2), (1.0, 3.1), (1.0, 2.7), (1.3, 2.65), (0.0, 2.2), (0.0, 4.3)]
    for x, y in [*told, (2.6, 3.05)][:number]:
        value = math.cos(x + y) + 0.1 * float(generator.standard_t(3))
        optimizer.tell([x, y], math.sin(x), outcomes={"c": value})
    return optimizer._permitted.safe_set(optimizer._told)


def test_beyond_a_measurement_that_broke_a_limit_nothing_is_safe_and_elsewhere_it_is():
    near = torch.tensor([[2.75, 3.0], [3.0, 3.0], [3.5, 2.9]], dtype=torch.float64)
    elsewhere = torch.tensor([[0.5, 2.9], [0.1, 2.4], [0.3, 3.4]], dtype=torch.float64)
    assert bool(_wave(7).holds(elsewhere).all())
    after = _wave(8)
    assert not bool(after.holds(near).any())
    assert bool(after.holds(elsewhere).all())


@pytest.mark.long
def test_the_first_steps_go_where_the_objective_is_better():
    for seed in range(3):
        box = sf.Box([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
        optimizer = sf.algorithms.robust_ucb(sf.Problem(box, outcomes=SAFE), seed=seed)
        for x in (0.5, 0.47, 0.53, 0.45):
            optimizer.tell([x, 0.5, 0.5], 10.0 * x, outcomes={"c": 0.0})
        assert float(optimizer.ask().point[0]) > 0.5


@pytest.mark.long
def test_a_limit_holds_with_the_probability_of_the_mixture_and_not_of_its_moments():
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(
            sf.Box([0.0, 0.0], [1.0, 1.0]), outcomes={"c": sf.Constraint(maximum=1.0, safe=True)}
        )
    )
    for x in torch.linspace(0.1, 0.8, 14).tolist():  # nothing is known along the other variable
        c = 0.3 + 0.05 * math.sin(90.0 * x) + 6.0 * max(0.0, x - 0.65)
        optimizer.tell([x, 0.4], x, outcomes={"c": c})
    limit = optimizer.belief().constraints.beliefs["c"]
    points = torch.tensor([[0.3, 0.5], [0.3, 0.8], [0.6, 0.9]], dtype=torch.float64)
    integrated = limit.margin.uncertainty.smooth.over(limit.margin.posterior)
    drawn = integrated.draws(points, 16_000, torch.Generator().manual_seed(0))
    at_limit = limit.margin.transform(torch.zeros(1, dtype=torch.float64))
    share = (drawn >= at_limit).double().mean(-1)
    assert (limit.prospect(points) - share).abs().max() < 0.005
    mean, deviation = integrated.mean_and_deviation(points)
    of_moments = torch.special.ndtr((mean - at_limit) / deviation)
    assert (of_moments - share).abs().max() > 0.005
