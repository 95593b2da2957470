"""Constrained problems: the stated optima, and systems against their simulation."""

import heapq

import numpy as np
import pytest
from scipy.stats import qmc

from surefoot_experiments.benchmarks.constrained_problems import PROBLEMS, VALUE
from surefoot_experiments.benchmarks.constrained_systems import Inventory, queue

BEST = {
    "gardner-1": {"x0": 4.712389, "x1": 0.0},
    "mystery": {"x0": 2.744908, "x1": 2.352210},
    "queue": {"rate": 24.92598, "servers": 8},
    "server": {
        "threads": 28,
        "cache_mb": 1407.5767,
        "batch": 32,
        "keepalive": 25.4744,
        "compression": "lz4",
    },
    "gardner-2": {"x0": 4.712389, "x1": 1.253236},
    "new-branin": {"x0": 3.273217, "x1": 0.048783},
    "inventory": {"reorder": 7, "quantity": 19},
    "pipeline": {"batch": 512, "workers": 9, "linger_ms": 17.269728, "codec": "none"},
}


@pytest.mark.long
@pytest.mark.parametrize("name", PROBLEMS)
def test_no_point_within_the_limits_is_better_than_the_best(name):
    problem = PROBLEMS[name]
    assert problem.regret(BEST[name]) == pytest.approx(0.0, abs=1e-4)
    assert problem.violation(BEST[name]) < 1e-4
    generator = np.random.default_rng(0)
    sobol = qmc.Sobol(problem.space.width, seed=generator).random(256)
    around = problem.space.encode(BEST[name]) + 0.02 * generator.standard_normal(sobol.shape)
    points = [problem.space.decode(row) for row in np.concatenate([sobol, around])]
    feasible = [point for point in points if problem.violation(point) <= 0.0]
    assert min(problem.regret(point) for point in feasible) > -1e-4


@pytest.mark.parametrize("name", sorted(PROBLEMS.keys() - {"inventory"}))
def test_measurements_are_of_the_true_responses(name):
    problem = PROBLEMS[name]
    point = problem.space.decode([0.4] * problem.space.width)
    truth = problem.truth(point)
    measured = [problem.measure(point, np.random.default_rng(seed)) for seed in range(200)]
    assert measured[0].keys() == truth.keys() == {VALUE, *problem.limits}
    for response, value in truth.items():
        values = np.array([one[response] for one in measured])
        error = np.subtract(*np.quantile(values, [0.75, 0.25])) / np.sqrt(len(values))
        assert abs(np.median(values) - value) < 6.0 * error + 0.02 * abs(value)


def test_the_sojourn_time_of_a_queue_is_that_of_its_simulation():
    rate, servers = 12.0, 4
    service = 5.0 / (1.0 + 0.05 * (servers - 1))
    generator = np.random.default_rng(0)
    arrivals = np.cumsum(generator.exponential(1.0 / rate, 60_000))
    lengths = generator.exponential(1.0 / service, 60_000)
    free, sojourns = [0.0] * servers, []
    for arrival, length in zip(arrivals, lengths, strict=True):
        end = max(arrival, heapq.heappop(free)) + length
        heapq.heappush(free, end)
        sojourns.append(end - arrival)
    truth = queue({"rate": rate, "servers": servers})["p99"]
    assert np.quantile(sojourns, 0.99) == pytest.approx(truth, rel=0.06)


def test_an_inventory_has_the_costs_of_its_simulation():
    point = {"reorder": 6, "quantity": 15}
    simulated = Inventory(days=40_000).measure(point, np.random.default_rng(0))
    truth = Inventory().truth(point)
    assert simulated[VALUE] == pytest.approx(truth[VALUE], rel=0.02)
    assert simulated["stockouts"] == pytest.approx(truth["stockouts"], rel=0.06)
