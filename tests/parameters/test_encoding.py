"""Random spaces: configurations and points correspond, and what a box offers obeys the rules."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot.parameters import Choice, Float, Int, Space
from surefoot.problem import Problem
from surefoot.types import InvalidInput

GRID = st.sampled_from([0.1, 0.25, 1.0])


@st.composite
def parameters(draw: st.DrawFn):
    kind = draw(st.sampled_from(["float", "log", "step", "int", "fine", "choice", "ordered"]))
    special = draw(st.sampled_from([(), (-7,)]))
    low = draw(st.integers(1, 5))
    match kind:
        case "float":
            return Float(low / 7, low + draw(st.floats(0.5, 100.0)), special=special)
        case "log":
            return Float(low / 7, low + draw(st.floats(0.5, 1e6)), log=True, special=special)
        case "step":
            step = draw(GRID)
            return Float(low, low + 8 * step, step=step)
        case "int":
            return Int(low, low + draw(st.integers(1, 9)), special=special)
        case "fine":
            return Int(low, low + draw(st.integers(99, 10_000)), log=draw(st.booleans()))
        case "choice":
            return Choice(["p", "q", "r"][: draw(st.integers(2, 3))])
    return Choice([1, 2, 4, 8], ordered=True)


@st.composite
def spaces(draw: st.DrawFn) -> Space:
    """A space of several parameters, of which one may depend on another, with or without rules."""
    found = {f"x{i}": draw(parameters()) for i in range(draw(st.integers(2, 4)))}
    if draw(st.booleans()):
        child = draw(parameters())
        values = {field: getattr(child, field) for field in child.__dataclass_fields__}
        found["mode"] = Choice(["on", "off"])
        found["child"] = type(child)(**values | {"when": "mode == 'on'"})
    numbers = [n for n, one in found.items() if not isinstance(one, Choice) or one.numeric]
    rules = []
    if len(numbers) > 1 and draw(st.booleans()):
        one, other = numbers[:2]
        rules = [draw(st.sampled_from([f"{one} <= 3 * {other} + 5", f"{one} + {other} >= 4"]))]
        rules += [lambda p: p[one] + p[other] <= 1e5]
    try:
        return Space(found, rules)
    except InvalidInput:  # no configuration is left
        return Space(found)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 99))
def test_configurations_and_points_correspond(space, seed):
    box, encoding = space.box, space.encoding
    generator = torch.Generator().manual_seed(seed)
    for point in box.sample(8, generator):
        place = box.location(point)
        assert space.violated(place.params) == ()
        assert torch.equal(encoding.point(place.params) + 0.0, place.point)
        again = box.locate(place.params)
        assert again.params == place.params
        assert torch.equal(again.point, place.point)
        assert list(place.params) == space.active(place.params)


@pytest.mark.long
@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 99))
def test_points_anywhere_are_moved_to_where_the_rules_hold(space, seed):
    box = space.encoding.box
    generator = torch.Generator().manual_seed(seed)
    anywhere = torch.rand(16, box.dimension, dtype=torch.float64, generator=generator)
    moved = box.snap(anywhere)
    assert bool(box.allows(moved).all())
    for point in moved:
        assert space.violated(space.encoding.decode(point)) == ()
    kept = moved[box.allows(moved)]
    assert torch.allclose(box.snap(kept), kept, rtol=0.0, atol=1e-9)


def test_values_come_back_as_they_were_told():
    space = Space(
        {
            "x": Float(0.1, 0.7),
            "rate": Float(1e-5, 3.0, log=True),
            "cache": Float(1.0, 100.0, special=[0.0]),
            "tiny": Float(-1e6, 1e6),
        }
    )
    told = {"x": 0.3, "rate": 0.001, "cache": 12.5, "tiny": -0.25}
    for change in ({}, {"x": 0.1}, {"x": 0.7}, {"cache": 0.0}, {"rate": 0.07}, {"rate": 3.0}):
        params = told | change
        assert space.box.locate(params).params == params


@pytest.mark.parametrize("rules", [[], ["a + b <= 4", "kind == 'u' or a <= 1"]])
def test_spaces_are_copied_and_pickled(rules):
    space = Space({"a": Float(0, 9), "b": Int(0, 9), "kind": Choice(["u", "v"])}, rules)
    for other in (pickle.loads(pickle.dumps(space)), copy.deepcopy(space)):
        assert other == space
        points = other.box.sample(4, torch.Generator().manual_seed(0))
        assert torch.equal(points, space.box.sample(4, torch.Generator().manual_seed(0)))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ([1, 2], r"the configuration is \[1, 2\], expected a dict: \{'a': \.\.\., 'k': \.\.\.\}"),
        ({"a": 1, "k": "u", "z": 1}, "'z' is no parameter of the space, expected 'a', 'k'"),
        ({"a": 1}, "has no value of 'k', expected one of 'u', 'v'"),
        ({"a": 10, "k": "u"}, "'a' is 10, expected a number from 0 to 9"),
        ({"a": 1, "k": "w"}, "'k' is 'w', expected one of 'u', 'v'"),
    ],
)
def test_what_is_no_configuration_is_refused(params, message):
    space = Space({"a": Float(0, 9), "k": Choice(["u", "v"])})
    with pytest.raises(InvalidInput, match=message):
        space.checked(params)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([Float(0, 1)],), "expected `Float`, `Int` and `Choice` by name"),
        (({"a": 1},), "expected `Float`, `Int` and `Choice` by name"),
        (({"a": Float(0, 1, when="b > 1")},), "`when` of 'a': got 'b > 1', where 'b' is no"),
        (({"a": Float(0, 1, when=3)},), "`when` of 'a': got 3, expected a condition such as"),
    ],
)
def test_what_is_no_space_is_refused(arguments, message):
    with pytest.raises(InvalidInput) as refused:
        Space(*arguments)
    assert message in str(refused.value)


def test_a_space_without_parameters_has_nothing_to_choose():
    empty = Space({})
    assert (empty.active({}), empty.is_complete({}), empty.limited_to(["a"])) == ([], True, empty)
    with pytest.raises(InvalidInput, match="the space has no parameters"):
        Problem(empty)
