"""Numbers and choices: their values, and what is refused."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from surefoot.parameters import Choice, Float, Int, Space
from surefoot.types import InvalidInput


@pytest.mark.parametrize(
    ("parameter", "values", "others"),
    [
        (Float(0.0, 1.0), [0, 0.5, 1.0], [-0.1, 1.1, math.nan, math.inf, "0.5", True, None]),
        (Float(0.0, 1.0, step=0.1), [0.3, 0.1 + 0.2, 1], [0.25]),
        (Float(1.0, 9.0, special=[0.0, -1.0]), [0, -1.0, 3], [0.5, -0.5]),
        (Int(1, 9), [1, 9, 3.0], [0, 2.5, True, "3"]),
        (Int(1, 9, step=4), [1, 5, 9], [2, 3]),
        (Int(1, 9, special=[0]), [0, 1], [-1]),
        (Choice(["a", "b"]), ["a"], ["c", 0, None, True]),
        (Choice([False, True]), [True], [1, 0, "true"]),
        (Choice([1, 2.5], ordered=True), [1, 1.0, 2.5], [True, 2]),
    ],
)
def test_values_of_a_parameter(parameter, values, others):
    assert all(parameter.contains(value) for value in values)
    assert not any(parameter.contains(value) for value in others)
    assert isinstance(parameter.describe(), str)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Float(1.0, 1.0), "`low`: got 1.0, expected less than `high`"),
        (lambda: Float(math.nan, 1.0), "`low` is nan, expected a finite number"),
        (lambda: Float(0.0, 1.0, log=True), "`low`: got 0.0, expected more than 0"),
        (lambda: Float(0.0, 1.0, step=0.3), "`step`: got 0.3, expected one that divides"),
        (lambda: Float(0.1, 1.0, log=True, step=0.1), "`step`: given together with `log`"),
        (lambda: Float(-1e308, 1e308), "too far from high"),
        (lambda: Float(1e16, 1e16 + 2, log=True), "the same in float64"),
        (lambda: Float(0.0, 1.0, special=[2.0, 2.0]), "a list of different finite numbers"),
        (lambda: Int(0.5, 2), "`low` is 0.5, expected a whole number: use `Float`"),
        (lambda: Int(0, 4, special=[0.5]), "a list of different whole numbers"),
        (lambda: Int(0, 2, special=[0, 1]), "has one value on its scale"),
        (lambda: Int(0, 4, step=0), "`step` is 0, expected an integer of at least 1"),
        (lambda: Choice(["a"]), "expected a list of 2 or more"),
        (lambda: Choice("ab"), "expected a list of 2 or more"),
        (lambda: Choice([1, 1.0]), "got 1 and 1.0, which are equal, expected different ones"),
        (lambda: Choice([1, True]), "got 1 and True, which are equal, expected different ones"),
        (lambda: Choice([False, "0", 0.0]), "got 0.0 and False, which are equal, expected"),
        (lambda: Int(2**53, 2**53 + 9), "expected steps that float64 can tell apart"),
        (lambda: Int(-(2**53) - 9, -(2**53)), "expected steps that float64 can tell apart"),
        (lambda: Int(0, 10**18), "expected steps that float64 can tell apart"),
        (lambda: Choice([2, 1], ordered=True), "expected increasing numbers"),
        (lambda: Choice(["a", "b"], ordered=True), "expected increasing numbers"),
    ],
)
def test_what_is_no_parameter_is_refused(make, message):
    with pytest.raises(InvalidInput) as refused:
        make()
    assert message in str(refused.value)


def test_no_message_ends_in_an_empty_list():
    alone = {"a": Int(1, 3)}
    optimizer = sf.Optimizer(Space(alone), sf.Method(sf.kernels.squared_exponential(0.3)))
    optimizer.tell({"a": 1}, 0.0)
    for refused in (
        lambda: Space({"a": Int(1, 3, when="b == 1")}),
        lambda: Space({"a": Int(1, 3, when="a == 1")}),
        lambda: Space(alone, ["b <= 1"]),
        lambda: Space(alone, [lambda columns: columns["b"] <= 1]),
        lambda: optimizer.tell({"b": 1}, 0.0),
        lambda: optimizer.tell({}, 0.0),
        lambda: optimizer.ask(within={"b": 1}),
        lambda: optimizer.belief().predict({"b": 1}),
        lambda: optimizer.tell({"a": 1}, 0.0, outcomes={"memory": 1.0}),
    ):
        with pytest.raises(InvalidInput) as caught:
            refused()
        assert not re.search(r"(expected|one of|of)[ :,.;]*$", str(caught.value)), caught.value


NO_SPACES = [{"x": (0, 1)}, {"x": Float(0, 1)}, [1, 2], None, Float(0, 1)]
KERNEL = sf.kernels.squared_exponential(0.3)
DOORS = {
    "Optimizer": lambda space: sf.Optimizer(space, sf.Method(KERNEL)),
    "robust_ucb": sf.algorithms.robust_ucb,
    "bkb": lambda space: sf.algorithms.bkb(space, KERNEL, noise=0.1),
    "tgp_ucb": lambda space: sf.algorithms.tgp_ucb(space, KERNEL, moment=1.0),
    "Joint": lambda space: sf.Joint(space, sf.FiniteEnvironment([[0.0], [1.0]])),
}


@pytest.mark.parametrize("door", DOORS)
def test_what_is_no_space_is_told_of_named_parameters(door):
    for given in NO_SPACES:
        with pytest.raises(
            InvalidInput, match=r"expected `Arms`, `Box`.* `parameters\.Space`"
        ) as it:
            DOORS[door](given)
        assert ("for named parameters pass" in str(it.value)) is isinstance(given, dict)


@pytest.mark.parametrize("choices", [[True, False], [1, 2], [1.5, 2.5], ["a", "b"], [True, 2, "1"]])
def test_a_choice_may_be_a_scalar_of_numpy(choices: list[Any]) -> None:
    choice = Choice(choices)
    for number, value in enumerate(choices):
        assert choice.index(np.array([value])[0]) == choice.index(value) == number
    assert not Choice([0, 2]).contains(np.True_)
    assert not Choice([True, False]).contains(np.int64(1))


@pytest.mark.parametrize(
    ("low", "step"), [(5 * 10**15, 1), (2**52, 1), (2**53 - 10, 1), (2**53, 2), (-(2**53), 1)]
)
def test_large_integers_that_float64_tells_apart_are_all_there(low: int, step: int) -> None:
    space = sf.parameters.Space({"n": Int(low, low + 10 * step, step=step)})
    values = [low + step * index for index in range(11)]
    points = [space.encoding.encode({"n": value}) for value in values]
    assert [space.encoding.decode(point)["n"] for point in points] == values
