"""Values that a search moves to the boundary of a rule: on it, to the last digit."""

from __future__ import annotations

import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import surefoot as sf
from surefoot.parameters import Choice, Float, Int, Space
from surefoot.types import InvalidInput

CORNERS = torch.tensor([[0.9, 0.8], [0.99, 0.05], [0.3, 0.95]], dtype=torch.float64)


def _found(space: Space, point: torch.Tensor) -> dict:
    """The configuration of the point that a search ends at beside a point."""
    found = space.box.location(space.box.on_boundary(space.box.snap(point[None])[0]))
    assert bool(space.box.allows(found.point[None]))
    again = space.box.on_boundary(found.point)
    assert torch.allclose(again, found.point, rtol=0.0, atol=1e-15)
    return dict(found.params)


@pytest.mark.long
@given(
    st.decimals(-50, 50, places=3).map(float),
    st.decimals("0.1", 100, places=2).map(float),
    st.decimals("0.05", "0.95", places=3).map(float),
    st.sampled_from(["<=", ">="]),
    st.booleans(),
)
@settings(max_examples=40, deadline=None)
def test_a_decimal_bound_of_a_rule_is_met_as_it_is_written(low, width, share, sign, conditional):
    bound = round(low + share * width, 3)
    assume(low < bound < low + width)
    when = "flag == True" if conditional else ""  # encoded as an arc
    space = Space(
        {"a": Float(low, low + width, when=when), "flag": Choice([True, False])},
        [f"a {sign} {bound!r}"],
    )
    beyond = low + width if sign == "<=" else low
    point = space.encoding.encode({"a": beyond, "flag": True})
    assert _found(space, point)["a"] == bound


@pytest.mark.long
@given(
    st.lists(st.floats(0.1, 9.0), min_size=2, max_size=3),
    st.floats(0.1, 0.9),
    st.integers(0, 2**20),
)
@settings(max_examples=30, deadline=None)
def test_a_sum_meets_its_bound_to_the_last_digits_and_never_passes_it(factors, share, seed):
    total = share * 5.0 * sum(factors)
    names = "abc"[: len(factors)]
    rule = " + ".join(f"{f!r} * {n}" for f, n in zip(factors, names, strict=True))
    space = Space({name: Float(0.0, 10.0) for name in names}, [f"{rule} <= {total!r}"])
    point = 0.5 + 0.5 * torch.rand(len(names), generator=torch.Generator().manual_seed(seed))
    params = _found(space, point.double())
    value = eval(rule, {}, params)
    assert total * (1.0 - 1e-14) <= value <= total


@pytest.mark.parametrize(
    ("parameters", "rules", "expected"),
    [
        ({"a": Float(0.1, 10.0, log=True), "b": Float(0.0, 10.0)}, ["a <= 3.3"], {"a": 3.3}),
        ({"a": Float(0.0, 10.0), "n": Int(1, 16)}, ["n >= 13", "a <= n / 4"], None),
        ({"a": Float(0.0, 10.0), "b": Float(0.0, 10.0)}, ["a <= 4", "a + b <= 5"], None),
        ({"a": Float(0.0, 10.0), "b": Float(0.0, 10.0)}, [lambda p: p["a"] <= 2.5], {"a": 2.5}),
        ({"a": Float(0.0, 10.0), "b": Float(0.0, 10.0)}, [lambda p: 2.5 - p["b"]], {"b": 2.5}),
        ({"a": Float(0.0, 10.0, step=0.1), "b": Int(0, 300)}, ["a <= 3.35", "b <= 7.5"], None),
    ],
)
@pytest.mark.parametrize("corner", CORNERS)
def test_every_rule_holds_for_the_values_as_they_are_shown(parameters, rules, expected, corner):
    space = Space(parameters, rules)
    params = _found(space, corner)
    for rule in rules:
        assert eval(rule, {}, params) if isinstance(rule, str) else True
    for name, parameter in parameters.items():
        assert parameter.contains(params[name])
    start = space.encoding.decode(corner)
    for name, bound in (expected or {}).items():
        assert params[name] == (bound if start[name] > bound else pytest.approx(start[name]))


def test_a_strict_bound_stays_out():
    space = Space({"a": Float(0.0, 10.0), "b": Float(0.0, 1.0)}, ["a < 4"])
    assert 3.999 < _found(space, CORNERS[0])["a"] < 4.0


def test_given_values_stay_and_the_others_move():
    space = Space({"a": Float(0.0, 10.0), "b": Float(0.0, 10.0)}, ["a + b <= 10"])
    part = space.encoding.part(space.box, {"a": 3.7})
    (point,) = part.snap(torch.tensor([[0.1, 0.99]], dtype=torch.float64))
    params = part.location(part.on_boundary(point)).params
    assert params == {"a": 3.7, "b": 6.3}


@pytest.mark.long
def test_a_search_recommends_and_asks_on_the_boundary():
    space = Space({"a": Float(0.0, 10.0), "b": Float(-1.0, 1.0)}, ["a <= 4"])
    optimizer = sf.algorithms.robust_ucb(space, seed=0)
    asked = []
    for _ in range(14):
        query = optimizer.ask()
        asked.append(query.params["a"])
        optimizer.tell(query, query.params["a"] - query.params["b"] ** 2)
    assert 4.0 in asked
    assert optimizer.recommend().params["a"] == 4.0
    assert not [value for value in asked if 3.999 < value < 4.0]


def test_a_measured_value_beside_a_boundary_stays_as_it_was_told():
    space = Space({"a": Float(0.0, 10.0), "b": Float(-1.0, 1.0)}, ["a <= 4"])
    optimizer = sf.algorithms.robust_ucb(space, seed=0)
    optimizer.tell({"a": 3.99999999, "b": 0.0}, 1.0)
    assert optimizer.belief().candidates.designs[0, 0] == pytest.approx(0.399999999, abs=1e-15)
    with pytest.raises(InvalidInput, match="violates `a <= 4`"):
        optimizer.tell({"a": 4.0001, "b": 0.0}, 1.0)


def test_a_value_that_differs_from_a_boundary_stays_however_wide_the_range_is() -> None:
    space = Space({"a": Float(0.0, 1e6)}, ["a >= 1"])
    for value in (1.5, 3.0, 9.9, 1.01):
        point = space.encoding.encode({"a": value})
        assert space.encoding.configuration(space.box.on_boundary(point)) == {"a": value}
    point = space.encoding.encode({"a": 1.0 + 1e-5})
    assert space.encoding.configuration(space.box.on_boundary(point)) == {"a": 1.0}


def test_a_boundary_does_not_change_which_parameters_are_active() -> None:
    space = Space({"a": Float(0.0, 10.0), "b": Float(0.0, 10.0, when="a < 4")}, ["a <= 4"])
    params = {"a": 3.99999999, "b": 6.0}
    point = space.box.on_boundary(space.encoding.encode(params))
    assert space.encoding.configuration(point).keys() == {"a", "b"}
