"""Optimizers that ask for configurations and are told them."""

from __future__ import annotations

import pytest
import torch

import surefoot as sf
from surefoot.parameters import Choice, Float, Int, Space
from surefoot.types import InvalidInput

UNIT = Space({"x": Float(0.0, 1.0), "y": Float(0.0, 1.0)}, ["x + y <= 1.2", "x >= 0.1"])
KERNEL = sf.kernels.squared_exponential(0.3)
LOADS = sf.FiniteEnvironment([[0.0], [0.5], [1.0]])
UNIFORM = torch.distributions.Uniform(torch.zeros(1).double(), torch.ones(1).double())
CONTINUOUS = sf.ContinuousEnvironment(torch.distributions.Independent(UNIFORM, 1))
algorithms = sf.algorithms
MIXED = Space(
    {
        "a": Float(0, 10),
        "b": Float(0, 10),
        "kind": Choice(["u", "v"]),
        "n": Int(1, 500, when="kind == 'v'", special=[0]),
    },
    ["a + b <= 10", "n <= 50 * a"],
)


def _value(params) -> float:
    return -((params["x"] - 0.9) ** 2) - (params["y"] - 0.8) ** 2


@pytest.mark.long
@pytest.mark.parametrize(
    "make",
    [
        lambda: algorithms.gp_ucb(UNIT, KERNEL, ridge=0.01, seed=0),
        lambda: algorithms.robust_ucb(UNIT, initial=4, seed=0),
        lambda: algorithms.robust_ucb(
            UNIT, KERNEL, policy=sf.acquisition.NoisyExpectedImprovement(16), seed=0
        ),
        lambda: algorithms.robust_ucb(UNIT, KERNEL, policy=sf.acquisition.Replication(most=3)),
        lambda: sf.Optimizer(UNIT, sf.Method(KERNEL, policy=sf.acquisition.ThompsonSampling())),
        lambda: algorithms.v_ucb(sf.Joint(UNIT, LOADS), KERNEL, level=0.2, ridge=0.01),
        lambda: algorithms.v_ucb(sf.Joint(UNIT, CONTINUOUS), KERNEL, level=0.2, ridge=0.01),
    ],
)
def test_all_that_is_asked_and_recommended_satisfies_the_rules(make):
    optimizer = make()
    for number in range(7):
        query = optimizer.ask()
        assert UNIT.violated(query.params) == ()
        if number % 2 and query.environment is None:
            optimizer.tell(dict(query.params), _value(query.params))
        else:
            optimizer.tell(query, _value(query.params))
        assert optimizer.pending == []
    assert UNIT.violated(optimizer.recommend().params) == ()
    batch = optimizer.ask_batch(2)
    assert all(UNIT.violated(query.params) == () for query in batch)


def test_what_violates_a_rule_is_refused_by_its_name_and_row():
    optimizer = algorithms.robust_ucb(MIXED, seed=0)
    wrong, right = {"a": 9, "b": 9, "kind": "u"}, {"a": 1, "b": 1, "kind": "u"}
    for refused in (
        lambda: optimizer.tell(wrong, 1.0),
        lambda: optimizer.tell_all([right, wrong], [1.0, 1.0]),
        lambda: optimizer.expect(wrong),
        lambda: optimizer.forget(wrong),
        lambda: optimizer.tell(MIXED.encoding.encode(wrong), 1.0),
    ):
        with pytest.raises(InvalidInput, match=r"violates `a \+ b <= 10`"):
            refused()
    with pytest.raises(InvalidInput, match=r"`arms\[1\]`: .* violates `a \+ b <= 10`"):
        optimizer.ask(arms=[right, wrong])
    assert len(optimizer.history) == 0
    with pytest.raises(InvalidInput, match="the space has no named parameters"):
        sf.Optimizer(sf.Box([0.0], [1.0]), sf.Method(KERNEL)).tell({"x": 1.0}, 0.0)


@pytest.mark.long
def test_configurations_are_told_expected_forgotten_and_asked_among():
    optimizer = algorithms.robust_ucb(MIXED, seed=0, initial=2)
    off, on = {"a": 1, "b": 1, "kind": "u"}, {"a": 3.0, "b": 0.5, "kind": "v", "n": 0}
    optimizer.tell_all([off, on], [0.0, 1.0])
    assert optimizer.ask(arms=[on, off]).params in (on, off)
    query = optimizer.expect({"a": 2, "b": 1.25, "kind": "u", "n": 7})  # n is inactive
    assert query.params == {"a": 2, "b": 1.25, "kind": "u"}
    assert len(optimizer.pending) == 2
    optimizer.forget(query.params, failed=False)
    optimizer.tell(query.params, 0.5)
    assert len(optimizer.pending) == 1
    assert optimizer.recommend(by="lower").params["kind"] in ("u", "v")


@pytest.mark.long
def test_a_file_carries_the_space(tmp_path):
    optimizer = algorithms.robust_ucb(MIXED, seed=3, initial=3)
    for _ in range(4):
        query = optimizer.ask()
        optimizer.tell(query, -query.params["a"])
    pending = optimizer.ask()
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.pending[0].params == pending.params
    assert loaded.recommend().params == optimizer.recommend().params
    assert loaded.ask().params == optimizer.ask().params
    loaded.tell(pending, 1.0)
    with pytest.raises(InvalidInput, match=r"violates `a \+ b <= 10`"):
        loaded.tell({"a": 9, "b": 9, "kind": "u"}, 1.0)
    same = sf.Optimizer.load(tmp_path / "run", space=MIXED)
    assert same.pending[0].params == pending.params
    with pytest.raises(InvalidInput, match="saved with another `space`"):
        sf.Optimizer.load(tmp_path / "run", space=UNIT)


def test_a_rule_that_is_a_function_is_passed_again(tmp_path):
    space = Space({"x": Float(0, 1), "y": Float(0, 1)}, [lambda p: p["x"] + p["y"] <= 1])
    optimizer = sf.Optimizer(space, sf.Method(KERNEL))
    optimizer.tell({"x": 0.5, "y": 0.25}, 1.0)
    optimizer.save(tmp_path / "run")
    with pytest.raises(InvalidInput, match="pass it again"):
        sf.Optimizer.load(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", space=space, kernel=KERNEL)
    assert loaded.ask().params == optimizer.ask().params


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(
    "rule", ["a + b <= 10", lambda p: p["a"] + p["b"] <= 10], ids=["text", "function"]
)
def test_an_optimum_on_the_boundary_is_found(rule, seed):
    space = Space({"a": Float(0, 10), "b": Float(0, 10)}, [rule])
    noise = torch.Generator().manual_seed(seed)
    optimizer = algorithms.robust_ucb(space, seed=seed)
    for _ in range(20):
        query = optimizer.ask()
        value = -((query.params["a"] - 8) ** 2 + (query.params["b"] - 7) ** 2) / 20
        optimizer.tell(query, value + 0.01 * float(torch.randn((), generator=noise)))
    best = optimizer.recommend().params  # the optimum is (5.5, 4.5), at -0.625
    assert 9.99 < best["a"] + best["b"] <= 10
    assert ((best["a"] - 8) ** 2 + (best["b"] - 7) ** 2) / 20 - 0.625 < 0.005
