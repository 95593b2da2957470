"""The tasks of the yardstick: families, halves, determinism, and what their functions promise."""

from collections import Counter

import numpy as np
import pytest
import torch

from surefoot import InvalidInput
from surefoot_experiments.answers import given, tasks
from surefoot_experiments.answers.functions import LAWS, Bent, ManyKnobs
from surefoot_experiments.scoreboard.space import box
from surefoot_experiments.scoreboard.suites import cloud
from surefoot_experiments.scoreboard.task import CONFIRMATION, DEVELOPMENT, GAP

TASKS = [task for task in tasks.tasks() if not task.name.startswith(("nginx", "tpcc"))]


@pytest.fixture(autouse=True)
def _without_recordings(monkeypatch):
    monkeypatch.delenv(cloud.DATA, raising=False)


def test_there_are_eight_families_of_which_half_of_each_confirms():
    found = tasks.tasks()
    assert len(found) >= 64
    assert len({task.key for task in found}) == len({task.name for task in found}) == len(found)
    assert {task.kind for task in found} == set(tasks.FAMILY_NAMES)
    counts = Counter((task.kind, task.half) for task in found)
    for family in tasks.FAMILY_NAMES:
        assert counts[family, DEVELOPMENT] == counts[family, CONFIRMATION] > 1


def test_a_half_is_chosen_by_its_name():
    choose, confirm = ({one.name for one in tasks.selected(half)} for half in tasks.HALVES)
    assert not choose & confirm
    assert choose | confirm == {one.name for one in tasks.selected("")}
    with pytest.raises(InvalidInput, match="`half` is 'both', expected choose or confirm"):
        tasks.selected("both")


def test_the_dearest_tasks_come_first_and_each_has_a_seed_of_its_own():
    found = tasks.tasks()
    sizes = [task.budget * (task.dimension + 10) for task in found]
    assert sizes == sorted(sizes, reverse=True)
    assert len({tasks.seed_of(task.name) for task in found}) == len(found)


def test_recorded_systems_are_in_one_half_each(monkeypatch, tmp_path):
    monkeypatch.setenv(cloud.DATA, str(tmp_path))
    monkeypatch.setattr(cloud, "space_of", lambda name: box([0.0], [1.0]))
    found = {task.name: task.half for task in tasks.tasks() if "-a" in task.name[-2:]}
    assert found == {"nginx-a": DEVELOPMENT, "tpcc-azure-a": CONFIRMATION}


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_a_task_is_deterministic_and_no_gap_is_negative(task):
    point = task.space.sample(np.random.default_rng(tasks.seed_of(task.name)))
    first, again = (task.load().measure(point, np.random.default_rng(1)) for _ in range(2))
    assert first == again or (np.isnan(first) and np.isnan(again))
    assert task.load().score(point)[GAP] >= 0.0


@pytest.mark.parametrize("law", LAWS)
def test_noise_of_every_law_differs_between_draws(law):
    one = Bent("Hartmann", 3, law, 1)
    point = {"x0": 0.2, "x1": 0.6, "x2": 0.7}
    assert len({one.measure(point, np.random.default_rng(seed)) for seed in range(20)}) > 1


@pytest.mark.long
def test_a_bent_function_has_its_least_value_elsewhere_in_each_instance():
    grid = np.linspace(0.0, 1.0, 33)
    best = []
    for instance in (1, 2):
        one = Bent("Ackley", 2, "gaussian", instance)
        gaps = {(a, b): one.score({"x0": a, "x1": b})[GAP] for a in grid for b in grid}
        assert min(gaps.values()) < 2.0 < np.median(list(gaps.values()))
        best.append(min(gaps, key=gaps.__getitem__))
    assert best[0] != best[1]
    assert (0.5, 0.5) not in best


@pytest.mark.long
@pytest.mark.parametrize("instance", [1, 2, 3, 4])
@pytest.mark.parametrize("dimension", [12, 24, 48])
def test_six_of_many_parameters_matter_and_many_configurations_crash(dimension, instance):
    system = ManyKnobs(dimension, instance)
    generator = np.random.default_rng(0)
    points = [system.space.sample(generator) for _ in range(300)]
    assert 0.15 < np.mean([system.crashes(point) for point in points]) < 0.45
    moved = {
        name
        for name in points[0]
        if len({round(system.value({**points[0], name: other[name]}), 9) for other in points[:30]})
        > 1
    }
    assert len(moved) == 6
    crashed = next(point for point in points if system.crashes(point))
    assert np.isnan(system.measure(crashed, generator))
    assert system.score(crashed) == {GAP: 6.0, "crashes": 1.0}


@pytest.mark.long
@pytest.mark.parametrize("one", given.SETS, ids=lambda one: one.name)
def test_data_sets_are_drawn_alike_and_have_outliers_where_they_say_so(one):
    first, again = one.drawn(20), one.drawn(20)
    assert torch.equal(first.data.y, again.data.y)
    assert not torch.equal(first.data.y, one.drawn(21).data.y)
    off = (first.data.y - first.truth(first.data.x)).abs() > 1.0
    assert torch.equal(off, first.is_outlier)
    count = sum(int(one.drawn(seed).is_outlier.sum()) for seed in range(20))
    share = count / (20 * one.points)
    assert (0.03 < share < 0.09) if one.label else share == 0


def test_scores_of_data_sets_are_those_of_their_definitions():
    drawn = given.SETS[0].drawn(20)
    truth = drawn.data.truth
    off = torch.zeros_like(truth)
    off[truth.argmax()] = 3.0  # the prediction is best where it is wrong
    prediction = given.Prediction(truth + off - 1.0, truth + off, truth + off + 1.0)
    scores = given._scores(drawn, prediction)
    assert scores["error"] == pytest.approx(3.0 / len(truth) ** 0.5)
    assert scores["random"] == pytest.approx(1.0 - 1.0 / len(truth))
    assert scores["chosen"] == pytest.approx(1.0 - 1.0 / given.CHOSEN)
