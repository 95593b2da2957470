"""Choices of a study file are told apart by their texts, without a comparison of each pair."""

import pytest

from surefoot.tune.definition import parameters
from surefoot.tune.definition.parameters import CategoricalParameter


@pytest.mark.parametrize("number", [2, 65, 1000])
def test_the_texts_of_each_choice_are_read_once(
    number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, texts_of = [], parameters.texts_of
    monkeypatch.setattr(parameters, "texts_of", lambda one: read.append(one) or texts_of(one))
    choices = [f"c{index}" for index in range(number)]
    CategoricalParameter(type="categorical", choices=choices)
    assert read == choices


@pytest.mark.parametrize(
    "choices", [["True", True], [False, "x", "false"], ["a", "a "], [1, 2, "1"], [2.5, "y", "2.5"]]
)
def test_choices_of_one_text_are_refused(choices: list) -> None:
    with pytest.raises(ValueError, match="cannot be told apart"):
        CategoricalParameter(type="categorical", choices=choices)
