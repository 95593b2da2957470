"""Rules between parameters: their grammar, held against Python itself, and what is refused."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from surefoot.parameters import Choice, Float, Int, Space
from surefoot.types import InvalidInput

PARAMETERS = {
    "a": Int(-4, 4),
    "b": Int(-4, 4),
    "kind": Choice(["fast", "safe"]),
    "flag": Choice([False, True]),
    "size": Choice([1, 2, 4]),
}
LEAVES = st.sampled_from(["a", "b", "size"]) | st.integers(-5, 5).map(str)


def _numbers(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    binary = st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner)
    return (
        binary.map(lambda parts: f"({' '.join(parts)})")
        | inner.map(lambda one: f"-{one}" if one[0] != "-" else one)
        | inner.map(lambda one: f"abs({one})")
        | st.tuples(inner, inner).map(lambda two: f"min({two[0]}, {two[1]})")
        | st.tuples(inner, inner).map(lambda two: f"max({two[0]}, {two[1]})")
    )


NUMBERS = st.recursive(LEAVES, _numbers, max_leaves=4)
SIGNS = st.sampled_from(["<", "<=", ">", ">=", "==", "!="])
COMPARISONS = (
    st.tuples(NUMBERS, SIGNS, NUMBERS).map(" ".join)
    | st.tuples(NUMBERS, SIGNS, NUMBERS, SIGNS, NUMBERS).map(" ".join)
    | st.sampled_from(
        ["kind == 'fast'", 'kind != "fast"', "kind in ['safe']", "flag", "a in [1, 2]"]
    )
    | st.sampled_from(["a not in [0, -4]", "kind not in ['safe']", "flag == True"])
)
TRUTHS = st.recursive(
    COMPARISONS,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: f"({' '.join(parts)})"
        )
        | inner.map(lambda one: f"not ({one})")
    ),
    max_leaves=4,
)
ENCODING = Space(PARAMETERS).encoding
POINTS = ENCODING.unrestricted.sample(64, torch.Generator().manual_seed(0))
CONFIGURATIONS = [ENCODING.configuration(point) for point in POINTS]


@settings(max_examples=60, deadline=None)
@given(TRUTHS)
def test_a_rule_holds_where_python_says_so(text):
    truth = [eval(text, {}, dict(params)) for params in CONFIGURATIONS]
    try:
        space = Space(PARAMETERS, [text])
    except InvalidInput as error:
        message = str(error)
    else:
        assert [not space.violated(params) for params in CONFIGURATIONS[:12]] == truth[:12]
        assert space.box.allows(POINTS).tolist() == truth
        return
    reads = any(re.search(rf"\b{name}\b", text) for name in PARAMETERS)
    assert ("no configuration satisfies" if reads else "reads no parameter") in message
    assert not (reads and any(truth))


@pytest.mark.long
@given(st.text(max_size=40))
def test_any_text_is_a_rule_or_refused_in_a_line(text):
    try:
        Space(PARAMETERS, [text])
    except InvalidInput as error:
        message = str(error)
    else:
        return
    assert "`constraints`: " in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("", "which cannot be read; expected a rule such as"),
        ("a + b", "`a + b` is no comparison"),
        ("a + c <= 1", "'c' is no parameter; expected a, b, kind, flag, size"),
        ("kind <= 1", "kind has no order"),
        ("kind == 'slow'", "'slow' is no choice of kind; expected one of 'fast', 'safe'"),
        ("kind == fast", "'fast' is no parameter"),
        ("kind + a <= 1", "where kind is a category; expected a number"),
        ("a <= 'x'", "'x' is no number"),
        ("a.real <= 1", "which cannot be read at 'a.real'"),
        ("__import__('os') <= 1", "is no function of a rule; expected `abs`"),
        ("abs(a, b) <= 1", "`abs(a, b)` is no function of a rule"),
        ("[x for x in a] <= 1", "which cannot be read"),
        ("(lambda: 1)() <= a", "which cannot be read"),
        ("a if b else 1", "which cannot be read"),
        ("a <= 1 # b", "which cannot be read at '#'"),
        ("1 <= 2", "which reads no parameter"),
        ("a := 1", "which cannot be read"),
        ("a is 1", "which cannot be read"),
        (lambda p: p["a"] <= 1 and p["b"] <= 1, "join comparisons with & and |"),
        (lambda p: p["z"] <= 1, "'z' is no parameter; expected a, b, kind, flag, size"),
        (lambda p: True, "returned a bool for 64 configurations; expected a truth value"),
        (lambda p: p["kind"] <= 1, "which failed on columns of configurations"),
        (lambda p: 1 / 0, "which failed on columns of configurations (division by zero)"),
    ],
)
def test_what_is_no_rule_is_refused(rule, message):
    with pytest.raises(InvalidInput) as refused:
        Space(PARAMETERS, [rule])
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("rules", ["a <= 1", [3], None, 3])
def test_rules_are_a_list_of_expressions_and_functions(rules):
    with pytest.raises(InvalidInput, match=r"`constraints` is .*expected a list of expressions"):
        Space(PARAMETERS, rules)


def test_names_may_have_hyphens_and_be_words_of_python():
    space = Space(
        {"max-size": Int(0, 9), "size": Int(0, 9), "lambda": Int(0, 9), "größe": Int(0, 9)},
        ["max-size - size >= 0", "lambda <= größe"],
    )
    fits = {"max-size": 3, "size": 2, "lambda": 1, "größe": 1}
    assert space.violated(fits) == ()
    assert space.violated(fits | {"size": 4}) == ("max-size - size >= 0",)
    assert space.violated(fits | {"lambda": 2}) == ("lambda <= größe",)


def test_decimal_fractions_on_a_grid_are_compared_as_they_are_written():
    step = {"a": Float(0.0, 1.0, step=0.1), "b": Float(0.0, 1.0, step=0.1)}
    for rule, holds in (("a + b <= 0.3", True), ("a + b < 0.3", False), ("a + b == 0.3", True)):
        assert (Space(step, [rule]).violated({"a": 0.1, "b": 0.2}) == ()) is holds


def test_an_equality_of_continuous_parameters_is_refused():
    both = {"x": Float(0.0, 1.0), "y": Float(1.0, 2.0, special=[0.0])}
    with pytest.raises(InvalidInput, match="x is continuous, so that an equality leaves no region"):
        Space(both, ["x + y == 1"])
    assert Space(both, ["y == 0 or x >= 0.5"]).violated({"x": 0.2, "y": 0.0}) == ()
    assert Space(both, ["not x + y == 1"]).violated({"x": 0.2, "y": 1.5}) == ()


def test_a_rule_over_an_inactive_parameter_holds():
    parameters = {
        "journal": Choice(["OFF", "WAL"]),
        "checkpoint": Int(1, 9, when="journal == 'WAL'"),
        "x": Int(0, 9),
    }
    for rule in ("checkpoint <= x", lambda p: p["checkpoint"] <= p["x"]):
        space = Space(parameters, [rule])
        assert space.violated({"journal": "OFF", "x": 0}) == ()
        assert space.violated({"journal": "OFF", "checkpoint": 9, "x": 0}) == ()
        assert len(space.violated({"journal": "WAL", "checkpoint": 9, "x": 0})) == 1


def test_an_undefined_value_satisfies_no_comparison():
    space = Space({"a": Int(-2, 2), "b": Int(1, 3)}, ["log(a) <= b"])
    assert space.violated({"a": -1, "b": 1}) == ("log(a) <= b",)
    assert space.violated({"a": 1, "b": 1}) == ()


@pytest.mark.parametrize(
    "rule",
    [
        lambda p: (p["a"] + p["b"] <= 2) & ~(p["kind"] == "fast"),
        lambda p: torch.where(p["kind"] == "safe", 2.0 - p["a"] - p["b"], -1.0),
        lambda p: (np.asarray(p["a"]) + np.asarray(p["b"]) <= 2) & ~(p["kind"] == "fast").numpy(),
        "a + b <= 2 and kind == 'safe'",
    ],
    ids=["truths", "margins", "numpy", "text"],
)
def test_functions_and_expressions_say_the_same(rule):
    space = Space(PARAMETERS, [rule])
    truth = [p["a"] + p["b"] <= 2 and p["kind"] == "safe" for p in CONFIGURATIONS]
    assert space.box.allows(POINTS).tolist() == truth
    assert [not space.violated(params) for params in CONFIGURATIONS] == truth


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        (["a >= 5"], "no configuration satisfies `a >= 5`;"),
        (["b <= 3", "a + b >= 7", "a <= 2"], "no configuration satisfies both `a + b >= 7` and"),
        (["a > b", "b > 2", "a < 4"], "satisfies `a > b`, `b > 2` and `a < 4`;"),
        ([lambda p: p["a"] > 4], "no configuration satisfies `a function of a`"),
    ],
)
def test_rules_that_exclude_each_other_are_named(rules, named):
    with pytest.raises(InvalidInput) as refused:
        Space(PARAMETERS, rules)
    assert named in str(refused.value)


def test_a_thin_region_of_continuous_parameters_is_found():
    many = {f"x{i}": Float(0.0, 100.0) for i in range(6)}
    total = " + ".join(many)
    space = Space(many, [f"{total} <= 300.001", f"{total} >= 300"])
    for point in space.box.sample(32, torch.Generator().manual_seed(0)):
        assert 300.0 <= math.fsum(space.encoding.configuration(point).values()) <= 300.001
    with pytest.raises(InvalidInput, match="no configuration was found that satisfies both"):
        Space(many, [f"{total} <= 299", f"{total} >= 300"])


@pytest.mark.daily(1)
@pytest.mark.parametrize("rule", ["a // 2 <= b", "7 // b <= a", "a // 2 <= 3"])
def test_whole_quotients_are_searched(rule: str) -> None:
    space = Space({"a": Float(0.0, 10.0), "b": Float(1.0, 10.0)}, [rule])
    optimizer = sf.algorithms.robust_ucb(space, seed=0)
    for _ in range(14):
        query = optimizer.ask()
        assert eval(rule, {}, query.params)
        optimizer.tell(query, query.params["a"] - query.params["b"])
