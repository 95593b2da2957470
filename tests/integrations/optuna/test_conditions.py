"""The grammar of conditions, and what a search space refuses."""

from __future__ import annotations

import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from surefoot.integrations.optuna import SearchSpace
from surefoot.integrations.optuna.conditions import Condition
from surefoot.types import InvalidInput

OPERATORS = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
NAMES = st.from_regex(r"[a-z_][a-z0-9_-]{0,6}", fullmatch=True).filter(
    lambda name: name not in ("and", "in", "true", "false")
)
NUMBERS = st.integers(-99, 99) | st.floats(-1e6, 1e6, allow_nan=False)
TEXTS = st.text(st.characters(exclude_characters="'\"", exclude_categories=["Cs"]), max_size=6)
CONSTANTS = NUMBERS | TEXTS | st.booleans()
SPACE = st.sampled_from(["", " ", "  "])


def _written(value: object) -> str:
    return f"'{value}'" if isinstance(value, str) else str(value).lower()


@st.composite
def comparisons(draw: st.DrawFn) -> tuple[str, str, str, list]:
    name = draw(NAMES)
    if draw(st.booleans()):
        sign = draw(st.sampled_from(sorted(OPERATORS)))
        value = draw(NUMBERS if sign in ("<", "<=", ">", ">=") else CONSTANTS)
        space = draw(SPACE)
        return f"{name}{space}{sign}{space}{_written(value)}", name, sign, [value]
    values = draw(st.lists(CONSTANTS, min_size=1, max_size=3))
    return f"{name} in [{', '.join(map(_written, values))}]", name, "in", values


@given(st.lists(comparisons(), min_size=1, max_size=3), st.data())
def test_a_condition_holds_as_it_is_written(parts, data):
    condition = Condition.parse(" and ".join(text for text, *_ in parts))
    values, expected = {}, True
    for _, name, sign, constants in parts:
        if name not in values:
            ordered = any(n == name and s in ("<", "<=", ">", ">=") for _, n, s, _ in parts)
            values[name] = data.draw(NUMBERS if ordered else st.sampled_from(constants) | CONSTANTS)
        one = values[name]
        holds = one in constants if sign == "in" else OPERATORS[sign](one, constants[0])
        expected = expected and holds
    assert condition.holds(values) is expected
    assert condition.names == tuple(dict.fromkeys(name for _, name, *_ in parts))
    assert not condition.holds({})


@given(st.text(max_size=30))
def test_any_text_is_a_condition_or_refused(text):
    try:
        Condition.parse(text)
    except InvalidInput as error:
        message = str(error)
    else:
        return
    assert "expected a condition such as" in message
    assert "\n" not in message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "a ==",
        "a = 1",
        "a == b",
        "1 < a",
        "a < 1 < 2",
        "a == 1 or b == 2",
        "a == 1 and",
        "a in []",
        "a in [1",
        "a == 'x",
        "__import__('os')",
        "a == (1)",
    ],
)
def test_what_is_no_condition_is_refused(text):
    with pytest.raises(InvalidInput, match="expected a condition such as"):
        Condition.parse(text)


SCALES = {
    "mode": CategoricalDistribution(["a", "b"]),
    "flag": CategoricalDistribution([False, True]),
    "number": CategoricalDistribution([1, 2.5]),
    "size": IntDistribution(1, 9),
    "share": FloatDistribution(0.0, 1.0),
}


@pytest.mark.parametrize(
    ("when", "message"),
    [
        ("other == 1", "'other' is no parameter; expected mode, flag, number, size"),
        ("mode == 'c'", "'c' is no choice of mode; expected one of 'a', 'b'"),
        ("mode > 'a'", "mode has no order"),
        ("flag == 1", "1 is no choice of flag"),
        ("number > 3", "holds for no number"),
        ("size == 'a'", "'a' is no number"),
        ("size == 1.5", "size cannot be 1.5; expected 1 to 9"),
        ("size > 9", "holds for no size from 1 to 9"),
        ("share == 0.5", "depends on itself"),
    ],
)
def test_a_condition_that_does_not_fit_its_parameters_is_refused(when, message):
    with pytest.raises(InvalidInput, match=message):
        SearchSpace(SCALES, when={"share": when})


def test_a_cycle_is_refused_with_its_parameters():
    with pytest.raises(InvalidInput, match=r"mode -> size -> mode|size -> mode -> size"):
        SearchSpace(SCALES, when={"size": "mode == 'a'", "mode": "size > 2"})


@pytest.mark.parametrize("values", [[], 0, "ab", [1, 1], [1.5], [True], [None], [float("nan")]])
def test_special_values_are_different_numbers_of_their_kind(values):
    with pytest.raises(InvalidInput, match="a list of different whole numbers"):
        SearchSpace(SCALES, special={"size": values})


def test_a_special_value_is_taken_out_of_an_integer_scale():
    space = SearchSpace(SCALES, special={"size": [1, 9, -1]})
    assert space.scale("size") == IntDistribution(2, 8)
    assert space.distributions["size"] == IntDistribution(-1, 9)


@pytest.mark.parametrize("when", [{"other": "mode == 'a'"}, {"size": 3}])
def test_conditions_are_texts_of_known_parameters(when):
    with pytest.raises(InvalidInput):
        SearchSpace(SCALES, when=when)
