"""Beliefs over named parameters: whatever takes designs takes configurations, as `tell` does."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import torch

import surefoot as sf
from surefoot.beliefs import Belief, gains
from surefoot.parameters import Choice, Float, Int, Space
from surefoot.types import InvalidInput

SPACE = Space(
    {
        "a": Float(0, 10),
        "b": Float(0, 10),
        "kind": Choice(["u", "v"]),
        "n": Int(1, 500, when="kind == 'v'", special=[0]),
    },
    ["a + b <= 10"],
)
ONE, OTHER = {"a": 1.0, "b": 2.5, "kind": "u"}, {"a": 3.0, "b": 0.5, "kind": "v", "n": 0}
WRONG = [
    ({"a": 9, "b": 9, "kind": "u"}, r"violates `a \+ b <= 10`"),
    ({"a": 1, "kind": "u"}, "no value of 'b'"),
    ({"a": 1, "b": 11, "kind": "u"}, "'b' is 11, expected"),
    ({**ONE, "z": 1}, "'z' is no parameter"),
]


@cache
def optimizer() -> sf.Optimizer:
    width = sf.widths.dual_mixture(2.0, 0.3)
    made = sf.Optimizer(
        SPACE, sf.Method(sf.kernels.squared_exponential(0.3), width=width, ridge=0.01)
    )
    made.tell_all([ONE, OTHER, {"a": 7, "b": 1, "kind": "u"}], [0.0, 1.0, 0.5])
    return made


DOORS: dict[str, Callable[[Belief, Any], Any]] = {
    "predict": lambda belief, one: belief.predict(one),
    "draws": lambda belief, one: belief.draws(one, 3),
    "difference": lambda belief, one: belief.difference(one, ONE),
    "expected_gains": lambda belief, one: gains.expected(belief, one, ONE),
    "largest_gains": lambda belief, one: gains.largest(belief, one),
    "feasibility": lambda belief, one: belief.feasibility(one),
    "certificate": lambda belief, one: [belief.certificate(design=one).lower],
    "conditioned": lambda belief, one: belief.conditioned(one, [0.3]).predict([OTHER]),
}
OF_ONE = ("certificate", "difference", "largest_gains")  # whose argument is one design


def test_every_method_for_designs_is_tried() -> None:
    takes = {
        name
        for name, method in inspect.getmembers(Belief, inspect.isfunction)
        if not name.startswith("_")
        and any(
            "Designs" in str(one.annotation)
            for one in inspect.signature(method).parameters.values()
        )
    }
    assert takes | {"expected_gains", "largest_gains"} == set(DOORS)


@pytest.mark.long
@pytest.mark.parametrize("name", DOORS)
def test_a_configuration_is_the_design_that_it_stands_for(name: str) -> None:
    belief, door = optimizer().belief(), DOORS[name]
    point = SPACE.encoding.point(OTHER)
    query = optimizer().expect(OTHER)
    optimizer().forget(query, failed=False)
    alone = name in OF_ONE
    expected = door(belief, point if alone else point.unsqueeze(0))
    given = [OTHER, query] if alone else [OTHER, [OTHER], (OTHER,), [query], query, [point]]
    for one in given:
        found = door(belief, one)
        torch.testing.assert_close(torch.as_tensor(found[0]), torch.as_tensor(expected[0]))


@pytest.mark.parametrize("name", DOORS)
@pytest.mark.parametrize(("wrong", "message"), WRONG)
def test_a_wrong_configuration_is_refused_as_where_it_is_told(
    name: str, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        optimizer().tell(wrong, 0.0)
    with pytest.raises(InvalidInput, match=message):
        DOORS[name](optimizer().belief(), wrong)


def test_several_are_refused_by_their_row() -> None:
    belief = optimizer().belief()
    with pytest.raises(InvalidInput, match=r"`designs\[1\]`: 'b' is 11"):
        belief.predict([ONE, WRONG[2][0]])
    with pytest.raises(InvalidInput, match=r"`points\[1\]`: .* violates"):
        belief.conditioned([ONE, WRONG[0][0]], [0.0, 0.0])
    assert belief.predict([ONE, OTHER])[0].shape == (2,)


def test_a_data_frame_has_a_configuration_in_each_row() -> None:
    pandas = pytest.importorskip("pandas")
    belief = optimizer().belief()
    found = belief.predict(pandas.DataFrame([ONE, OTHER]))  # where n is missing in the first row
    for one, other in zip(found, belief.predict([ONE, OTHER]), strict=True):
        torch.testing.assert_close(one, other)


def test_on_a_space_without_names_they_are_refused() -> None:
    for space in (sf.Box([0.0], [1.0]), sf.Arms([[0.0], [1.0]])):
        made = sf.Optimizer(space, sf.Method(sf.kernels.squared_exponential(0.3)))
        made.tell([0.0], 1.0)
        for name, door in DOORS.items():
            with pytest.raises(InvalidInput):
                door(made.belief(), {"x": 0.0} if name in OF_ONE else [{"x": 0.0}])


def test_with_an_environment_designs_are_configurations_and_inputs_are_not() -> None:
    space = sf.Joint(SPACE, sf.FiniteEnvironment([[0.0], [1.0]]))
    made = sf.Optimizer(
        sf.Problem(space, risk=sf.CVaR(0.5)), sf.Method(sf.kernels.squared_exponential(0.3))
    )
    made.tell(ONE, 1.0, [0.0])
    made.tell(OTHER, 0.5, [1.0])
    belief, point = made.belief(), SPACE.encoding.point(ONE).unsqueeze(0)
    for one, other in zip(belief.predict([ONE]), belief.predict(point), strict=True):
        torch.testing.assert_close(one, other)
    assert belief.feasibility(ONE).shape == (1,)
    for refused in (lambda: belief.draws([ONE], 2), lambda: belief.conditioned([ONE], [0.0])):
        with pytest.raises(InvalidInput, match=r"inputs .* of the model"):
            refused()


def test_rows_of_a_copied_box_are_points() -> None:
    pandas = pytest.importorskip("pandas")
    rows = pandas.DataFrame([[0.1, 0.2], [0.3, 0.4]])
    run = sf.algorithms.robust_ucb(sf.Box([0.0, 0.0], [1.0, 1.0]), seed=0)
    run.tell_all(rows.to_numpy(), [1.0, 2.0])
    found = copy.deepcopy(run).belief().predict(rows)
    assert torch.equal(found[0], run.belief().predict(rows.to_numpy())[0])
