"""A value with which every measurement fails is known after one or two of them."""

import pytest
import torch

import surefoot as sf
from support.variants import default_on
from surefoot.beliefs.failure import SharedValues

ON = torch.tensor([[0.0, 1.0]], dtype=torch.float64)
OFF = ON.flip(-1)


def _space(numbers: int) -> sf.Box:
    return sf.Box([0.0] * (numbers + 2), [1.0] * (numbers + 2), choices=[(numbers, numbers + 1)])


def _points(number: int, switch: torch.Tensor, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    rest = torch.rand(number, 2, dtype=torch.float64, generator=generator)
    return torch.cat([rest, switch.expand(number, -1)], -1)


@pytest.mark.parametrize(
    ("succeeded", "failed", "least", "most"),
    [(4, 1, 0.4, 1.0), (4, 2, 0.0, 0.5), (4, 5, 0.0, 0.02)],
)
def test_a_value_that_always_fails_is_learned(succeeded, failed, least, most):
    found = SharedValues.of(_space(2).discrete, _points(succeeded, OFF, 0), _points(failed, ON, 1))
    chance = found(torch.cat([_points(3, ON, 2), _points(3, OFF, 3)]))
    assert least <= float(chance[:3].max()) <= most
    assert bool((chance[3:] == 1.0).all())


def test_failures_by_chance_exclude_no_value():
    failed = torch.cat([_points(2, ON, 1), _points(2, OFF, 2)])
    succeeded = torch.cat([_points(5, ON, 3), _points(5, OFF, 4)])
    assert not SharedValues.of(_space(2).discrete, succeeded, failed).found


def test_rival_explanations_rule_out_what_has_all_of_them():
    space = sf.Box([0.0] * 6, [1.0] * 6, choices=[(2, 3), (4, 5)])
    rest = _points(5, ON, 0)[:, :2]
    both = torch.cat([rest, ON.expand(5, -1), ON.expand(5, -1)], -1)
    neither = torch.cat([rest, OFF.expand(5, -1), OFF.expand(5, -1)], -1)
    one = torch.cat([rest, ON.expand(5, -1), OFF.expand(5, -1)], -1)
    shared = SharedValues.of(space.discrete, neither[:2], both[:3])
    assert not shared.found  # which of the two it is, is not known
    assert shared.rule_out(both[3:])
    assert not shared.rule_out(one)
    assert not shared.rule_out(neither)
    settled = SharedValues.of(space.discrete, neither[:2], torch.cat([both[:3], one[:1]]))
    assert [each.columns for each in settled.found] == [[2, 3]]


def test_the_search_leaves_the_value_alone():
    optimizer = sf.algorithms.robust_ucb(_space(1), initial=0, seed=0)
    for x, switch in [(0.1, OFF), (0.4, OFF), (0.7, OFF), (0.9, OFF), (0.3, ON), (0.8, ON)]:
        point = torch.cat([torch.tensor([x], dtype=torch.float64), switch[0]])
        if switch is ON:
            optimizer.forget(optimizer.expect(point), failed=True)
        else:
            optimizer.tell(point, x)
    (shared,) = optimizer.shared_failures.found
    assert (shared.failures, shared.columns, shared.value.tolist()) == (2, [1, 2], [0.0, 1.0])
    assert optimizer.ask().point[1:].tolist() == [1.0, 0.0]


LOADS = sf.FiniteEnvironment([[1.0], [10.0], [100.0]])
CLIENTS = sf.FiniteEnvironment([[load, n] for load in (1.0, 100.0) for n in (1.0, 2.0)])
UNDER = {
    "environment": {"space": sf.Joint(sf.Box([0.0], [1.0]), LOADS), "risk": sf.WorstCase()},
    "two variables": {"space": sf.Joint(sf.Box([0.0], [1.0]), CLIENTS), "risk": sf.VaR(0.5)},
    "fidelity": {
        "space": sf.Box([0.0], [1.0]),
        "fidelity": sf.spaces.Fidelity([1, 10, 100], cost=[1, 10, 100]),
    },
}


@pytest.mark.daily(1)
@pytest.mark.parametrize("kind", UNDER)
def test_failures_of_a_value_of_the_environment_say_nothing_of_designs(kind):
    optimizer = default_on(**UNDER[kind], initial=0, seed=0)
    values = optimizer.space.environment.points
    for i, x in enumerate((0.1, 0.5, 0.9, 0.3, 0.7)):
        for z in values:
            if float(z[0]) < 100.0:
                optimizer.tell([x], -((x - 0.7) ** 2) + 0.001 * float(z[0]) * i, z)
    alone = optimizer.recommend().point
    for x in (0.1, 0.5, 0.7, 0.72):
        optimizer.forget([x], values[-1])
    (found,) = optimizer.belief().failures.conditions.found
    index, value = optimizer.space.condition(found.columns[0], found.value)
    assert (index, value, found.failures) == (0, 100.0, 4)
    assert torch.equal(optimizer.recommend().point, alone)
    success = optimizer.belief().failures.success
    inputs = optimizer.space.inputs(torch.tensor([[0.1], [0.5], [0.7], [0.4]]).double(), values)
    assert bool((success(inputs) == 1.0).all())
    optimizer.tell([0.1], 0.0, values[-1])
    assert not optimizer.belief().failures.conditions.found
    assert float(optimizer.belief().failures.success(inputs).min()) < 1.0


@pytest.mark.long
def test_a_category_that_always_fails_is_learned_under_an_environment():
    space = sf.Joint(_space(1), sf.FiniteEnvironment([[0.0], [1.0]]))
    optimizer = sf.algorithms.robust_ucb(sf.Problem(space, risk=sf.VaR(0.5)), initial=0, seed=0)
    for i, (x, switch) in enumerate([(0.1, OFF), (0.4, OFF), (0.7, OFF), (0.3, ON), (0.8, ON)]):
        point = torch.cat([torch.tensor([x], dtype=torch.float64), switch[0]])
        for z in (0.0, 1.0):
            if switch is ON:
                optimizer.forget(point, z, failed=True)
            else:
                optimizer.tell(point, x + z * i, z)
    assert [one.columns for one in optimizer.shared_failures.found] == [[1, 2]]
    assert not optimizer.belief().failures.conditions.found
    assert optimizer.ask().point[1:].tolist() == [1.0, 0.0]


@pytest.mark.long
@pytest.mark.parametrize(
    ("risk", "initial"), [(sf.VaR(0.5), 0), (sf.Mean(), 6), (sf.WorstCase(), 0)]
)
def test_a_value_at_which_nothing_succeeds_is_hardly_asked_for_until_it_does(risk, initial):
    space = sf.Joint(sf.Box([0.0], [1.0]), LOADS)
    optimizer = sf.algorithms.robust_ucb(sf.Problem(space, risk=risk), initial=initial, seed=1)
    optimizer.tell([0.2], 0.0, [1.0])
    failed = []
    for number in range(24):
        query = optimizer.ask()
        x, z = float(query.point), float(query.environment)
        if z == 100.0:
            optimizer.forget(query)
            failed.append(number)
        else:
            optimizer.tell(query, -4.0 * (x - 0.7) ** 2 - 0.3 * z / 10.0)
    assert 2 <= len(failed) <= 8
    assert failed[-1] > 11  # it is tried again
    while float((query := optimizer.ask()).environment) < 100.0:
        optimizer.tell(query, -4.0 * (float(query.point) - 0.7) ** 2)
    optimizer.tell(query, -10.0)
    assert not optimizer.belief().failures.conditions.found


@pytest.mark.parametrize("number", [1, 20, 500])
def test_any_number_of_failures_has_a_probability(number):
    found = SharedValues.of(_space(2).discrete, _points(40, OFF, 0), _points(number, ON, 1))
    assert 0.0 < found.found[0].probability <= 1.0
    assert found.rule_out(_points(1, ON, 2))
