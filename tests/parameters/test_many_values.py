"""Parameters with many values that are apart: a stated limit, and no work for each pair."""

from __future__ import annotations

import pytest
import torch

from surefoot.parameters import Choice, Float, Int, Space
from surefoot.parameters.parameter import MOST_VALUES, InvalidParameter
from surefoot.spaces import Box

TOO_MANY = MOST_VALUES + 1


class Coordinate(int):
    """An index that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Coordinate.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


@pytest.mark.parametrize("number", [2, 65, 1000])
def test_a_box_compares_no_pair_of_coordinates(number: int) -> None:
    Coordinate.compared = 0
    group = [Coordinate(index) for index in range(number)]
    Box(torch.zeros(number), torch.ones(number), choices=[group])
    assert Coordinate.compared < 10 * number


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda number: Choice([f"c{index}" for index in range(number)]), "choices"),
        (lambda number: Choice(list(range(number)), ordered=True), "choices"),
        (lambda number: Float(0.5, 1.0, special=range(number)), "special"),
        (lambda number: Int(-9, -1, special=list(range(number))), "special"),
    ],
)
def test_their_number_has_a_limit(make, field) -> None:
    make(MOST_VALUES)
    with pytest.raises(InvalidParameter, match=rf"`{field}`.*4,097 values, expected at most 4,096"):
        make(TOO_MANY)


@pytest.mark.parametrize("number", [2, 65, 300])
def test_each_choice_is_a_unit_vector(number: int) -> None:
    space = Space({"a": Choice(list(range(number)))})
    encoded = torch.stack([space.encoding.encode({"a": value}) for value in range(number)])
    assert torch.equal(encoded, torch.eye(number, dtype=torch.float64))
