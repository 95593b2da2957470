"""The test suites: their truths, and their noise against the published one."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy.stats import ks_2samp

from surefoot_experiments.scoreboard.space import Categorical, Float, Integer, Space, box
from surefoot_experiments.scoreboard.suites import bbob_noisy, cloud, multimodal, own, steps
from surefoot_experiments.scoreboard.suites.bbob_noisy import FUNCTIONS, Function
from surefoot_experiments.scoreboard.suites.cloud_knobs import infer
from surefoot_experiments.scoreboard.task import CONFIRMATION, DEVELOPMENT, WRONG, noise

DRAWS = 2000
LEVEL = 1e-7  # of a test of a distribution


@pytest.fixture
def coco():
    return pytest.importorskip("cocoex", reason="needs coco-experiment")


def test_spaces_travel_as_json_and_decode_what_they_encode():
    space = Space(
        (
            Float("x", 1e-3, 10.0, log=True),
            Integer("n", 1, 5000, log=True),
            Integer("k", -1, 3),
            Categorical("mode", ("a", "b", "c")),
        )
    )
    assert Space.from_json(space.to_json()) == space
    generator = np.random.default_rng(0)
    for _ in range(50):
        point = space.sample(generator)
        again = space.decode(space.encode(point))
        assert again["x"] == pytest.approx(point["x"])
        assert {**again, "x": 0} == {**point, "x": 0}
    counts = pd.Series([space.sample(generator)["k"] for _ in range(DRAWS)]).value_counts()
    assert list(counts.sort_index().index) == [-1, 0, 1, 2, 3]
    assert counts.min() > DRAWS / 5 - 5 * math.sqrt(DRAWS * 0.16)


def test_the_functions_without_noise_are_those_of_the_noiseless_suite(coco):
    generator = np.random.default_rng(0)
    for function in (*FUNCTIONS[::3], 106):
        for dimension, instance in ((2, 1), (5, 4)):
            own_one = Function(function, dimension, instance)
            twin = coco.BareProblem("bbob", own_one.family, dimension, instance)
            best = np.asarray(twin.best_parameter())
            assert own_one.value(best) == pytest.approx(own_one.optimum, abs=1e-9)
            x = generator.uniform(-5.0, 5.0, dimension)
            assert own_one.value(x) > own_one.optimum
            if own_one.family not in (10, 19):  # whose condition and factor are others
                penalty = own_one.value(x) - twin(x)
                assert penalty == pytest.approx(0.0, abs=1e-8 * max(1.0, abs(twin(x))))


@pytest.mark.parametrize("function", [101, 102, 103, 107, 108, 109, 128])
def test_the_noise_is_that_of_coco(coco, function):
    one = Function(function, 2, 3)
    x = np.array([1.5, -2.0])
    point = {"x0": 1.5, "x1": -2.0}
    problem = bbob_noisy._suite().get_problem_by_function_dimension_instance(function, 2, 3)
    theirs = np.array([problem(x) for _ in range(DRAWS)])
    generator = np.random.default_rng(function)
    ours = np.array([one.measure(point, generator) for _ in range(DRAWS)])
    same = pd.Series(theirs.round(9)).mode()[0]  # Cauchy noise is absent from most rounds
    if function in (103, 109):
        assert (ours.round(9) == same).mean() == pytest.approx(
            (theirs.round(9) == same).mean(), abs=5 * math.sqrt(0.25 / DRAWS)
        )
        theirs, ours = (a[a.round(9) != same] for a in (theirs, ours))
    assert ks_2samp(ours, theirs).pvalue > LEVEL


def test_halves_are_instances_and_budgets_count_dimensions():
    tasks = bbob_noisy.tasks()
    assert len(tasks) == 30 * 3 * 5 * 2
    assert len({task.key for task in tasks}) == len(tasks)
    assert {task.half for task in tasks if "-i3" in task.name} == {DEVELOPMENT}
    assert {task.half for task in tasks if "-i4" in task.name} == {CONFIRMATION}
    assert {task.budget for task in tasks if task.dimension == 10} == {60, 1000}


def test_noise_depends_on_the_task_the_seed_and_the_round_only():
    short, long = (bbob_noisy.tasks([text])[0] for text in ("60", "100"))
    assert noise(short, 1, 2).random() == noise(long, 1, 2).random()
    other = bbob_noisy.tasks()[1]
    drawn = [noise(short, 1, 2), noise(short, 1, 3), noise(short, 2, 2), noise(other, 1, 2)]
    assert len({one.random() for one in drawn}) == 4


def test_our_own_tasks_are_minimised_and_end_at_zero():
    tasks = own.tasks()
    assert len(tasks) == 12
    assert {task.half for task in tasks} == {DEVELOPMENT}
    ackley = tasks[0].load()
    assert ackley.score({"x0": 0.0, "x1": 0.0})["gap"] == pytest.approx(0.0, abs=1e-9)
    worse = ackley.measure({"x0": 30.0, "x1": 30.0}, np.random.default_rng(0))
    assert worse > ackley.measure({"x0": 0.0, "x1": 0.0}, np.random.default_rng(0))


def test_the_deepest_valley_is_the_minimum_and_others_count_as_wrong():
    tasks = multimodal.tasks()
    assert len(tasks) == 2 * 5 * 10
    assert {task.half for task in tasks if task.name.endswith("-i3")} == {DEVELOPMENT}
    generator = np.random.default_rng(0)
    for task in tasks[::7]:
        valleys = task.load()
        bottoms = [{f"x{i}": x for i, x in enumerate(each)} for each in valleys.minima]
        found = [valleys.score(point) for point in bottoms]
        depths = np.asarray(valleys.family.depths)
        assert [each["gap"] for each in found] == pytest.approx(depths[0] - depths)
        assert [each[WRONG] for each in found] == [0.0] + [1.0] * (len(depths) - 1)
        values = [valleys.value(x) for x in generator.random((1000, task.dimension))]
        assert multimodal.PLAIN - depths[0] < min(values)
        assert max(values) <= multimodal.PLAIN


def test_log_normal_noise_is_multiplied_with_the_value():
    near, far = ({"x0": x, "x1": x} for x in (0.2, 0.9))
    valleys = multimodal.Valleys(multimodal.FAMILIES[0], 1, multimodal.LOG_NORMAL)
    ratios = [
        valleys.measure(point, np.random.default_rng(5)) / valleys.value(np.full(2, point["x0"]))
        for point in (near, far)
    ]
    assert ratios[0] == pytest.approx(ratios[1])
    assert ratios[0] != 1.0


def test_knobs_are_inferred_from_texts():
    table = pd.DataFrame(
        {
            "size": [f"{2**k}k" for k in range(16)],
            "buffers": [f"{k + 1} {8 * k}k" for k in range(16)],
            "cache": [*["max=" + str(k) for k in range(7)], *[None] * 9],
            "file": [*[f"inactive={k} max={k * 3}" for k in range(14)], "max=5", None],
            "mode": ["on", "off"] * 8,
            "ratio": np.linspace(0.5, 0.9, 16),
        }
    )
    knobs, points = infer(table)
    kinds = {each.name: each.kind for each in knobs.space.parameters}
    assert kinds == {
        "size.0": "integer",
        "buffers.0": "integer",
        "buffers.1": "integer",
        "cache": "categorical",
        "file": "categorical",
        "file.inactive": "integer",
        "file.max": "integer",
        "mode": "categorical",
        "ratio": "float",
    }
    assert next(each for each in knobs.space.parameters if each.name == "size.0").log
    assert points[3]["file"] == "inactive=# max=#"
    features = knobs.features(points[14])  # its form has no number named inactive
    assert (features == -1.0).sum() == 1
    assert len(features) == knobs.space.width


@pytest.fixture(scope="module")
def made_up():
    """Forests of a system of which everything is known."""
    generator = np.random.default_rng(0)
    rows = []
    for config in range(120):
        x, mode = generator.random(), config // 3 % 2
        workers = range(10) if config % 3 == 0 else [0]
        crash = x > 0.9
        spread = 0.05 if mode else 0.01
        for worker in workers:
            value = math.nan if crash else math.exp(x + spread * generator.standard_normal())
            rows.append((config, worker, value, x, "on" if mode else "off"))
    table = pd.DataFrame(rows, columns=["config", "worker", "value", "x", "mode"])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cloud, "TREES", 20)
        patch.setattr(cloud, "_GENERATIONS", 5)
        yield cloud.fit(table, 1.0)


def test_a_system_is_measured_and_scored_by_its_forests(made_up, monkeypatch):
    monkeypatch.setattr(cloud, "forests_of", lambda name: made_up)
    system = cloud.Simulation(cloud.System("made-up", DEVELOPMENT, 1.0))
    good, bad = {"x": 0.02, "mode": "off"}, {"x": 0.99, "mode": "off"}
    assert 0.0 <= system.score(good)["gap"] < 10.0
    assert system.score({"x": 0.7, "mode": "off"})["gap"] > 50.0
    assert system.score(bad)["crashes"] == 1.0
    draws = [system.measure(bad, np.random.default_rng(k)) for k in range(200)]
    share = np.mean(np.isnan(draws))
    crash = system.behaviour(bad)[1]
    assert share == pytest.approx(crash, abs=5 * math.sqrt(crash * (1 - crash) / 200) + 1e-9)
    worker = [system.behaviour(good)[2][int(np.random.default_rng(k).integers(10))] for k in (1, 2)]
    ratio = system.measure(good, np.random.default_rng(1)) / system.measure(
        good, np.random.default_rng(2)
    )
    assert ratio == pytest.approx(math.exp(worker[0] - worker[1]))


@pytest.mark.skipif(cloud.folder() is None, reason=f"needs {cloud.DATA}")
def test_the_recorded_systems_have_their_knobs():
    sizes = {task.name: task.dimension for task in cloud.tasks()}
    assert sizes == {"nginx": 35, "tpcc-azure": 121}


def test_a_box_has_named_coordinates():
    assert box([0, 1], [2, 3]).decode([0.5, 0.5]) == {"x0": 1.0, "x1": 2.0}


@pytest.mark.parametrize("problem", steps.PROBLEMS)
def test_the_least_value_of_a_jump_is_next_to_its_edge(problem):
    jump, generator = steps.Jump(problem), np.random.default_rng(problem)
    rows = generator.random((200, sum(one.width for one in jump.space.parameters)))
    gaps = [jump.score(jump.space.decode(row))["gap"] for row in rows]
    assert min(gaps) >= -1e-12
    assert {gap > 0.5 * steps.JUMP for gap in gaps} == {True, False}
