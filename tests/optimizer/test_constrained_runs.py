"""Constraints of an optimizer: told with the reward, kept to by the recommendation, saved."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.algorithms import robust_ucb
from surefoot.beliefs import Probability

LIMIT = {"p99": sf.Constraint(maximum=0.5, confidence=0.9)}


def told(optimizer: sf.Optimizer, points: list[float]) -> sf.Optimizer:
    """Rewards that rise with x, and so does the constrained quantity."""
    values = [{"p99": x} if x != 0.3 else None for x in points]
    optimizer.tell_all([[x] for x in points], points, outcomes=values)
    return optimizer


@pytest.fixture
def optimizer() -> sf.Optimizer:
    return sf.algorithms.robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes=LIMIT), seed=0)


@pytest.mark.long
def test_the_recommendation_is_the_best_that_satisfies_them(optimizer):
    best = told(optimizer, [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0]).recommend()
    assert 0.3 < float(best.point) < 0.52
    assert best.feasibility >= 0.9


def test_where_none_is_known_to_satisfy_them_the_nearest_is_recommended(optimizer):
    best = told(optimizer, [0.7, 0.8, 0.9, 1.0]).recommend()
    assert float(best.point) == pytest.approx(0.7)
    assert best.feasibility < 0.9


def test_a_limit_without_a_value_is_said_with_the_recommendation(optimizer):
    optimizer.tell_all([[0.1], [0.5], [0.9]], [0.1, 0.5, 0.9])
    best = optimizer.recommend()
    assert best.unmeasured == ("p99",)
    assert best.rows["not measured yet"] == "p99"
    assert told(optimizer, [0.2]).recommend().unmeasured == ()


@pytest.mark.long
def test_a_minimum_is_the_mirror_image_of_a_maximum():
    mirrored = {"p99": sf.Constraint(minimum=-0.5, confidence=0.9)}
    pair = []
    for limits, sign in ((LIMIT, 1.0), (mirrored, -1.0)):
        one = sf.algorithms.robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes=limits), seed=0)
        for x in (0.0, 0.3, 0.6, 0.9):
            one.tell([x], x, outcomes={"p99": sign * x})
        pair.append(one.recommend())
    assert torch.equal(pair[0].point, pair[1].point)
    assert pair[0].feasibility == pytest.approx(pair[1].feasibility)


@pytest.mark.long
def test_a_saved_run_goes_on_the_same(optimizer, tmp_path):
    for _ in range(6):
        query = optimizer.ask()
        optimizer.tell(query, float(query.point), outcomes={"p99": float(query.point)})
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.constraints.limits == LIMIT
    assert loaded.recommend().feasibility == optimizer.recommend().feasibility
    assert torch.equal(loaded.ask().point, optimizer.ask().point)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"p90": 1.0}, "'p90' is no outcome, expected 'p99'"),
        ({"p99": math.nan}, ".outcomes.'p99'.. is nan, expected a finite number"),
    ],
)
def test_a_wrong_value_changes_nothing(optimizer, given, message):
    query = optimizer.ask()
    with pytest.raises(sf.InvalidInput, match=message):
        optimizer.tell(query, 1.0, outcomes=given)
    assert len(optimizer.history) == 0
    assert optimizer.pending == [query]


def test_wrong_limits_are_refused():
    box = sf.Box([0.0], [1.0])
    with pytest.raises(sf.InvalidInput, match="either `maximum` or `minimum`"):
        sf.Constraint()
    with pytest.raises(sf.InvalidInput, match="strictly between 0 and 1"):
        sf.Constraint(maximum=1.0, confidence=1.0)
    with pytest.raises(sf.InvalidInput, match="expected outcomes by name"):
        sf.algorithms.robust_ucb(sf.Problem(box, outcomes={"p99": 20.0}))


@pytest.mark.long
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.99])
def test_each_constraint_holds_with_its_own_confidence(confidence):
    limits = {"a": sf.Constraint(maximum=0.5, confidence=confidence), "b": sf.Constraint(maximum=9)}
    optimizer = sf.algorithms.robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes=limits), seed=0)
    x = torch.linspace(0, 1, 25, dtype=torch.float64)
    noisy = x + 0.3 * torch.randn(25, generator=torch.Generator().manual_seed(1))
    values = [{"a": value, "b": 0.0} for value in noisy.tolist()]
    optimizer.tell_all(x.unsqueeze(-1), x, outcomes=values)
    best = optimizer.recommend()
    assert best.feasibility >= confidence
    if confidence == 0.5:
        assert best.feasibility < 0.9


@pytest.mark.daily(1)
@pytest.mark.parametrize("seed", range(3))
def test_an_overloaded_region_is_no_set_of_outliers(seed):
    """Values of ten times the limit at a few points, far from many others, are a fact there."""
    generator = np.random.default_rng(seed)
    spread, close = generator.random((12, 2)), 0.45 + 0.1 * generator.random((28, 2))
    points = np.concatenate([spread, close])
    p99 = np.where(points[:, 0] < 0.7, 1.2, 10.0) * np.exp(0.1 * generator.standard_t(3, 40))
    limits = {"p99": sf.Constraint(maximum=1.5)}
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0, 0.0], [1.0, 1.0]), outcomes=limits)
    )
    optimizer.tell_all(points.tolist(), p99, outcomes=[{"p99": value} for value in p99])
    predicted = optimizer.constraints.predict(torch.tensor([[0.9, 0.5]], dtype=torch.float64))
    assert float(predicted["p99"].probability) < 0.15
    assert float(predicted["p99"].lower) <= float(predicted["p99"].value)


def probable(*chances):
    """Constraints that hold with the product of these probabilities, functions of inputs."""
    chance = Probability(chances)
    return SimpleNamespace(probability=chance, prospect=chance)


def test_gains_count_with_the_probability_that_constraints_hold(optimizer):
    chances = {0.1: 0.5, 0.9: 0.25}
    belief = replace(
        told(optimizer, [0.0, 0.2, 0.4, 0.6, 0.8]).belief(),
        constraints=probable(
            lambda x: torch.tensor(
                [chances.get(one, float(one < 0.5)) for one in x[:, 0].tolist()],
                dtype=torch.float64,
            )
        ),
    )
    x = torch.tensor([[0.1], [0.9], [0.3]], dtype=torch.float64)
    values = torch.tensor([3.0, 9.0, 0.5], dtype=torch.float64)
    at_designs = torch.tensor([0.0, 1.0, 1.0, 5.0, 8.0], dtype=torch.float64)  # feasible up to 0.4
    assert belief.candidates.constrained(x, values, at_designs).tolist() == [2.0, 3.0, 0.5]


def test_noisy_improvement_is_over_feasible_points(optimizer):
    policy = sf.acquisition.NoisyExpectedImprovement(samples=64)
    told(optimizer, [0.0, 0.2, 0.4, 0.6, 0.8])
    x = torch.tensor([[0.3]], dtype=torch.float64)

    def score(*chances):
        belief = replace(optimizer.belief(), constraints=probable(*chances))
        return float(policy(belief.candidates, torch.Generator().manual_seed(0))(x))

    everywhere = score(lambda x: torch.ones_like(x[:, 0]))
    assert everywhere == score()
    assert score(lambda x: (x[:, 0] < 0.3001).double()) > everywhere + 1.0  # of the logarithm
    assert score(lambda x: torch.full_like(x[:, 0], 0.25)) == pytest.approx(
        everywhere + math.log(0.25)
    )


@pytest.mark.parametrize("probability", [0.0, 0.5])
def test_a_draw_gains_with_the_probability_that_constraints_hold(optimizer, probability):
    policy = sf.acquisition.ThompsonSampling()
    told(optimizer, [0.0, 0.2, 0.4, 0.6, 0.8])
    x = torch.linspace(0.6, 1.0, 5, dtype=torch.float64).unsqueeze(-1)

    def score(*chances):
        belief = replace(optimizer.belief(), constraints=probable(*chances))
        return policy(belief.candidates, torch.Generator().manual_seed(0))

    drawn = score()
    best = drawn(torch.tensor([[0.0], [0.2], [0.4]], dtype=torch.float64)).max()
    gains = score(lambda x: torch.where(x[:, 0] < 0.5, 1.0, probability))(x) - best
    assert bool((drawn(x) > best + 0.1).all())
    torch.testing.assert_close(gains, probability * (drawn(x) - best))


@pytest.mark.long
def test_a_second_feasible_region_that_is_better_is_found():
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0, 0.0], [1.0, 1.0]), outcomes={"c": sf.Constraint(maximum=0.0)}),
        seed=0,
    )
    noise = np.random.default_rng(0)
    for _ in range(20):
        query = optimizer.ask()
        x, y = query.point.tolist()
        regions = ((x - 0.2) ** 2 + (y - 0.25) ** 2 - 0.04, (x - 0.8) ** 2 + (y - 0.8) ** 2 - 0.012)
        reward = x + y + 0.02 * noise.standard_normal()
        optimizer.tell(query, reward, outcomes={"c": 20.0 * min(regions)})
    assert float(optimizer.recommend().point.sum()) > 1.5  # at most 0.74 in the first region


@pytest.mark.parametrize("value", [np.float32(0.5), np.int64(1), torch.tensor(0.5), 1])
def test_a_constraint_may_be_any_number(value: object) -> None:
    limits = {"p": sf.Constraint(maximum=np.float32(1.0))}
    optimizer = robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes=limits))
    optimizer.tell([0.3], 1.0, outcomes={"p": value}, worker=np.int64(3))
    assert optimizer.belief().failures.success.is_certain


@pytest.mark.parametrize("given", [{"p": True}, {"p": 10**400}, {"p": "1"}, [0.5], 0.5])
def test_what_is_no_constraint_is_refused(given: object) -> None:
    limits = {"p": sf.Constraint(maximum=1.0)}
    optimizer = robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes=limits))
    with pytest.raises(sf.InvalidInput, match="outcomes"):
        optimizer.tell([0.3], 1.0, outcomes=given)
    with pytest.raises(sf.InvalidInput, match="outcomes"):
        optimizer.tell_all([[0.3]], [1.0], outcomes=given)


@pytest.mark.parametrize(
    "arguments",
    [{"maximum": True}, {"maximum": 2, "confidence": "0.9"}, {"minimum": 2, "confidence": None}],
)
def test_limits_that_are_no_numbers_are_refused(arguments: dict) -> None:
    with pytest.raises(sf.InvalidInput, match="expected a"):
        sf.Constraint(**arguments)


@pytest.mark.long
@pytest.mark.parametrize("holds", [False, True])
def test_one_value_on_the_other_side_of_a_limit_leaves_it_open_there(holds: bool) -> None:
    """At the edge of a step: as likely the first value behind it as an outlier.

    Within the limit and on the level of others it is none.
    """
    limit = sf.Constraint(minimum=8.0) if holds else sf.Constraint(maximum=8.0)
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0], [1.0]), outcomes={"mb": limit}), seed=0
    )
    x = np.concatenate([np.linspace(0.02, 0.44, 8), [0.4998], np.linspace(0.5005, 0.98, 20)])
    noise = 0.004 * np.random.default_rng(3).standard_normal(len(x))
    values = np.where(x > 0.5, 5.35, 11.89) + noise
    optimizer.tell_all(x[:, None].tolist(), (-x).tolist(), outcomes=[{"mb": v} for v in values])
    belief = optimizer.belief()
    far, at_edge, away = belief.feasibility([[0.3], [0.4998], [0.75]]).tolist()
    assert (far > 0.95, away > 0.95) == (holds, not holds)
    assert at_edge > 0.95 if holds else 0.2 < at_edge < 0.8
    points = torch.linspace(0.0, 1.0, 41, dtype=torch.float64).unsqueeze(-1)
    constraint = belief.constraints.beliefs["mb"]
    logs, chances = constraint.log_prospect(points), constraint.prospect(points)
    assert torch.allclose(logs.exp(), chances, atol=1e-12)
    recommended = float(optimizer.recommend().point)
    assert recommended in x.tolist()  # a step may be anywhere between two measurements
    assert (recommended > 0.5) != holds


def _on_steps(threads: list[int], values: dict[int, float], kept: float, broken: float):
    """A run that prefers few threads, of which at least ten keep the limit."""
    space = sf.parameters.Space({"threads": sf.parameters.Int(1, 32)})
    limit = sf.Constraint(maximum=0.0 if kept == 0.0 else 8.0)
    run = sf.algorithms.robust_ucb(sf.Problem(space, outcomes={"memory": limit}), seed=0)
    for number in threads:
        value = values.get(number, kept if number >= 10 else broken)
        run.tell({"threads": number}, -number, outcomes={"memory": value})
    return run


THREADS = [1, 8, 13, 16, 20, 24, 32, 10, 9, 4, 28]


@pytest.mark.daily(1)
@pytest.mark.parametrize("threads", [THREADS, [*THREADS, 10, 9]], ids=["once", "twice"])
@pytest.mark.parametrize(("kept", "broken"), [(5.35, 11.89), (0.0, 3.0)], ids=["step", "clipped"])
def test_a_value_at_an_edge_that_agrees_with_a_level_within_the_limit_holds(threads, kept, broken):
    best = _on_steps(threads, {}, kept, broken).recommend()
    assert best.params == {"threads": 10}
    assert best.feasibility >= 0.95


def test_a_single_value_at_an_edge_that_agrees_with_no_other_does_not_hold():
    run = _on_steps(THREADS, {10: 7.0}, 5.35, 11.89)
    assert run.belief().feasibility(torch.tensor([[9 / 31]], dtype=torch.float64)) < 0.9


COUNTED = {  # values that do not depend on the point, and a limit that most of them break
    "counts": (lambda random: random.poisson(3.0, 40), 1.0),
    "two": (lambda random: np.where(random.random(40) < 0.7, 12.0, 5.0), 8.0),
}


@pytest.mark.parametrize("name", COUNTED)
def test_what_chance_puts_on_a_level_within_the_limit_does_not_hold(name: str) -> None:
    draw, most = COUNTED[name]
    for seed in range(3):
        random = np.random.default_rng([seed, 1])
        points, values = random.random((40, 2)), draw(random)
        space = sf.Box([0.0, 0.0], [1.0, 1.0])
        problem = sf.Problem(space, outcomes={"q": sf.Constraint(maximum=most)})
        optimizer = sf.algorithms.robust_ucb(problem, seed=0)
        rewards = points[:, 0] + 0.1 * random.standard_normal(40)
        optimizer.tell_all(points, rewards, outcomes=[{"q": float(one)} for one in values])
        assert optimizer.belief().feasibility(points).max() < 0.95, seed
