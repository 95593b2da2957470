"""Choices that are numbers in increasing order."""

from __future__ import annotations

import optuna
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution

from support.study_spaces import space_of
from surefoot import InvalidInput
from surefoot.integrations.optuna import SurefootSampler
from surefoot.tune.definition.study_file import StudyFile, StudyFileError

SIZES = [512, 1024, 4096, 16384, 65536]


@settings(max_examples=50, deadline=None)
@given(
    st.lists(
        st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=2,
        max_size=100,
        unique=True,
    ),
    st.booleans(),
)
def test_every_choice_comes_back(numbers, conditional):
    choices = sorted(numbers)
    scales = {"on": CategoricalDistribution([False, True]), "n": CategoricalDistribution(choices)}
    when = {"n": "on == true"} if conditional else {}
    encoding = space_of(scales, when, ordered=["n"]).encoding
    for choice in choices:
        params = {"on": True, "n": choice}
        found = encoding.decode(encoding.encode(params))
        assert found == params
        assert type(found["n"]) is type(choice)


def test_neighbours_are_at_the_same_distance():
    encoding = space_of({"n": CategoricalDistribution(SIZES)}, ordered=["n"]).encoding
    positions = [float(encoding.encode({"n": size})) for size in SIZES]
    assert positions == pytest.approx([0.0, 0.25, 0.5, 0.75, 1.0])
    drawn = encoding.box.sample(64, torch.Generator().manual_seed(0))
    assert {encoding.decode(point)["n"] for point in drawn} == set(SIZES)
    assert encoding.encode({"n": 2048}) is None


def test_a_condition_compares_the_numbers():
    scales = {"n": CategoricalDistribution(SIZES), "x": FloatDistribution(0.0, 1.0)}
    encoding = space_of(scales, {"x": "n >= 4096"}, ordered=["n"]).encoding
    points = encoding.box.sample(128, torch.Generator().manual_seed(0))
    for params in map(encoding.decode, points):
        assert ("x" in params) == (params["n"] >= 4096)
    for point in points:
        assert torch.equal(encoding.rounded(encoding.rounded(point)), encoding.rounded(point))


@pytest.mark.parametrize(("ordered", "low", "high"), [([], 3.0, 6.0), (["n"], 6.8, 7.2)])
def test_what_is_known_of_neighbours_is_known_of_a_choice(ordered, low, high):
    """Of a line, the choice between measured ones is between them, or like the mean of all."""
    scales = {"n": CategoricalDistribution([2**power for power in range(9)])}
    sampler = SurefootSampler(seed=0, search_space=space_of(scales, ordered=ordered))
    study = optuna.create_study(sampler=sampler)
    for number, power in enumerate((0, 1, 2, 3, 4, 5, 7, 8, 0, 3, 5, 8)):
        value = 1.0 + power + 0.01 * (-1) ** number
        params = {"n": 2**power}
        study.add_trial(optuna.create_trial(params=params, distributions=scales, value=value))
    assert low < float(sampler.belief(study).predict([{"n": 2**6}])[0][0]) < high


@pytest.mark.parametrize(
    ("scales", "ordered", "message"),
    [
        ({"n": CategoricalDistribution([1, 4, 2])}, ["n"], "got the choices [1, 4, 2], expected"),
        ({"n": CategoricalDistribution(["a", "b"])}, ["n"], "expected increasing numbers"),
        ({"n": CategoricalDistribution([False, True])}, ["n"], "expected increasing numbers"),
    ],
)
def test_other_parameters_have_no_order(scales, ordered, message):
    with pytest.raises(InvalidInput) as refused:
        space_of(scales, ordered=ordered)
    assert message in str(refused.value)


STUDY = """
[study]
name = "pages"
direction = "minimize"
rounds = 10

[objective]
command = "python bench.py {n}"

[parameters]
n = { type = "categorical", choices = CHOICES, ordered = ORDERED }
"""


def written(folder, choices, ordered):
    path = folder / "study.toml"
    path.write_text(STUDY.replace("CHOICES", choices).replace("ORDERED", ordered))
    return path


def test_a_study_file_may_say_so(tmp_path):
    path = written(tmp_path, "[1, 2, 4]", "true")
    assert StudyFile.load(path).space.parameters["n"].ordered
    other = written(tmp_path, '["a", "b"]', "false")
    assert not StudyFile.load(other).space.parameters["n"].ordered


@pytest.mark.parametrize(
    ("choices", "ordered", "message"),
    [
        ("[4, 2]", "true", "parameters.n.ordered: got the choices [4, 2], expected increasing"),
        ('["a", "b"]', "true", "parameters.n.ordered: got the choices ['a', 'b'], expected"),
        ("[2, 4]", '"yes"', "parameters.n.ordered: got 'yes', expected true or false"),
    ],
)
def test_a_study_file_that_cannot_is_refused_in_a_line(tmp_path, choices, ordered, message):
    with pytest.raises(StudyFileError) as refused:
        StudyFile.load(written(tmp_path, choices, ordered))
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)
