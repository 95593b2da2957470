"""The grammar of conditions, and what a search space refuses."""

from __future__ import annotations

import operator
from contextlib import nullcontext

import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from support.study_spaces import conditions_of, space_of
from surefoot.integrations.optuna import distributions
from surefoot.parameters.conditions import Condition
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


@pytest.mark.long
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


@pytest.mark.long
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
        space_of(SCALES, when={"share": when})


@pytest.mark.parametrize(
    ("when", "name", "message"),
    [
        ({"share": "size > 5 and size < 5"}, "share", "holds for no size"),
        ({"share": "size > 5 and size < 6"}, "share", "holds for no size"),
        ({"share": "mode == 'a' and mode == 'b'"}, "share", "holds for no mode"),
        ({"share": "mode != 'a' and mode != 'b'"}, "share", "holds for no mode"),
        ({"share": "number < 2 and number in [2.5]"}, "share", "holds for no number"),
        ({"size": "share > 0.5 and share < 0.5"}, "size", "holds for no share"),
        ({"size": "mode == 'a'", "share": "size > 2 and mode == 'b'"}, "share", "only when"),
        (
            {"size": "mode == 'a'", "share": "size > 2", "flag": "mode != 'a' and share > 0"},
            "flag",
            r"and size is active only when \"mode == 'a'\", which holds for no mode",
        ),
    ],
)
def test_a_condition_that_cannot_hold_is_refused(when, name, message):
    with pytest.raises(InvalidInput, match=f"`when` of '{name}': got .*{message}"):
        space_of(SCALES, when=when)


@pytest.mark.parametrize(
    "when",
    [
        {"share": "size > 5 and size < 7"},
        {"share": "size > 8 and size <= 9 and size != -1"},
        {"share": "size < 0"},
        {"share": "size != 1 and size != 2 and size < 4"},
        {"size": "share > 0.5 and share < 0.5000000001"},
        {"size": "share >= 1"},
        {"size": "share == 0.3 and share <= 0.3"},
        {"size": "mode == 'a'", "share": "size > 2 and mode != 'b'"},
    ],
)
def test_a_condition_that_seldom_holds_is_kept(when):
    assert conditions_of(space_of(SCALES, when=when, special={"size": [-1]})) == when


@pytest.mark.long
@given(st.data())
def test_a_condition_is_refused_where_no_value_fulfils_it(data):
    step = data.draw(st.sampled_from([1, 2, 0.5, 0.1]))
    grid = IntDistribution if isinstance(step, int) else FloatDistribution
    values = [float(f"{index * step:.15g}") for index in range(-2, 7)]
    scale = grid(type(step)(values[0]), type(step)(values[-1]), step=step)
    constants = st.sampled_from(values)
    parts = data.draw(
        st.lists(st.tuples(st.sampled_from(sorted(OPERATORS)), constants), min_size=1, max_size=4)
    )
    holds = any(all(OPERATORS[sign](one, other) for sign, other in parts) for one in values)
    text = " and ".join(f"size {sign} {other}" for sign, other in parts)
    with nullcontext() if holds else pytest.raises(InvalidInput, match="holds for no size"):
        space_of({**SCALES, "size": scale}, when={"share": text})


def test_a_range_too_wide_for_float64_is_refused():
    with pytest.raises(InvalidInput, match=r"`high` of 'share'.*too far from high"):
        space_of({**SCALES, "share": FloatDistribution(-1e308, 1e308)})


def test_a_condition_on_the_last_value_of_a_grid_can_hold():
    grid = FloatDistribution(-31.1, -0.3, step=0.7)
    space = space_of({**SCALES, "grid": grid}, when={"share": "grid == -0.3"})
    assert "share" in space.active({"grid": -0.3})


@pytest.mark.parametrize(
    "narrow",
    [
        IntDistribution(10**17, 10**17 + 5),
        IntDistribution(2**52, 2**52 + 3, log=True),
        FloatDistribution(1e16, 1e16 + 2, log=True),
    ],
)
def test_a_range_of_no_width_in_float64_is_refused(narrow):
    with pytest.raises(InvalidInput, match=r"`high` of 'share'.*the same in float64"):
        space_of({**SCALES, "share": narrow})


@pytest.mark.parametrize(
    ("distribution", "field"),
    [
        (IntDistribution(1, 2**64), "step"),
        (IntDistribution(1, 2**53, log=True), "step"),
        (IntDistribution(-(10**60), 10**60, step=10), "step"),
        (CategoricalDistribution([1, 1.0]), "choices"),
        (FloatDistribution(-1.7e308, 1.7e308), "high"),
    ],
)
def test_what_a_trial_suggests_is_refused_by_the_names_that_it_has_there(distribution, field):
    with pytest.raises(InvalidInput, match=rf"^`{field}` of 'share': "):
        space_of({**SCALES, "share": distribution})


def test_a_cycle_is_refused_with_its_parameters():
    with pytest.raises(InvalidInput, match=r"mode -> size -> mode|size -> mode -> size"):
        space_of(SCALES, when={"size": "mode == 'a'", "mode": "size > 2"})


@pytest.mark.parametrize("values", [0, "ab", [1, 1], [1.5], [True], [None], [float("nan")]])
def test_special_values_are_different_numbers_of_their_kind(values):
    with pytest.raises(InvalidInput, match="a list of different whole numbers"):
        space_of(SCALES, special={"size": values})


def test_a_special_value_is_taken_out_of_an_integer_scale():
    space = space_of(SCALES, special={"size": [1, 9, -1]})
    assert (space.parameters["size"].scale.low, space.parameters["size"].scale.high) == (2, 8)
    assert distributions(space)["size"] == IntDistribution(-1, 9)
