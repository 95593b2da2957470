"""Searches under conditions: determinism, scores by their definitions, and halves."""

import math

import pytest

from surefoot_experiments.answers import conditions
from surefoot_experiments.answers.conditions import CONDITIONS, COST
from surefoot_experiments.harness.trial import Trial
from surefoot_experiments.scoreboard.task import GAP


def rows(name, rival, seed=50):
    return conditions.run(Trial(seed, 40, 0, case=f"{CONDITIONS}/{name} {rival}"))[CONDITIONS]


def test_names_differ_and_every_family_has_several():
    names = [one.name for one in conditions.ALL]
    assert len(set(names)) == len(names)
    families = [one.family for one in conditions.ALL]
    assert set(families) == set(conditions.FAMILIES)
    assert min(map(families.count, conditions.FAMILIES)) >= 3
    halves = {(one.family, half) for one in conditions.ALL for half in one.halves}
    assert len(halves) == 2 * len(conditions.FAMILIES)


@pytest.mark.parametrize(
    ("name", "is_on_the_way"),
    [
        ("shift", lambda regret: 0.1 < regret < 2.0),
        ("switch-cvar-5", math.isnan),
        ("cliff", lambda failures: 8 <= failures <= 32),
        ("gardner-1", lambda beyond: 0.1 < beyond < 0.6),
        ("zdt1-gaussian", math.isnan),
    ],
)
def test_a_run_is_deterministic_and_its_scores_are_in_their_range(name, is_on_the_way):
    found = rows(name, conditions.RANDOM)
    assert repr(found) == repr(rows(name, conditions.RANDOM))
    assert [row["evaluations"] for row in found] == list(conditions.CHECKPOINTS)
    assert {row["half"] for row in found} == {"development"}
    assert all(conditions.LEAST <= row[GAP] < 5.0 for row in found)
    assert is_on_the_way(found[-1][COST])


@pytest.mark.parametrize("seed", [50, 51, 60, 61])
def test_a_function_that_is_moved_has_the_same_values(seed):
    grid = conditions._grid(2)
    moved = conditions._moved(conditions._to(0.5, 0.4), 2, seed)(grid)
    assert -1e-3 < float(moved.max()) <= 0.0
    assert not moved.equal(conditions._to(0.5, 0.4)(grid))


@pytest.mark.long
@pytest.mark.parametrize("one", conditions.ALL, ids=lambda one: one.name)
def test_the_optimum_is_not_below_what_is_recommended(one):
    for seed in (50, 60):
        gaps = [gap for _, gap, _ in one.run(seed, random=True)]
        assert -conditions.LEAST < min(gaps) <= max(gaps) < 5.0
