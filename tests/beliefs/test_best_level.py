"""Rewards that jump between levels: what is searched and recommended beside the edge."""

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.beliefs.best_level import on_best_level
from surefoot.regression.observations import Observations

GRID = np.linspace(0.0, 1.0, 13)
JUMP = 6.5


def _values(edge: float, points: np.ndarray, seed: int = 0) -> np.ndarray:
    """Rewards that rise towards an edge from the right, and are far lower to the left of it."""
    noise = 0.01 * np.random.default_rng(seed).standard_normal(len(points))
    return -points - JUMP * (points <= edge) + noise


def _told(edge: float, **outcomes: sf.Constraint) -> sf.Optimizer:
    optimizer = sf.algorithms.robust_ucb(
        sf.Problem(sf.Box([0.0], [1.0]), outcomes=outcomes), initial=4, seed=0
    )
    memory = [dict.fromkeys(outcomes, 5.0 if point <= edge else 12.0) for point in GRID]
    optimizer.tell_all(GRID[:, None], _values(edge, GRID), outcomes=memory if outcomes else None)
    return optimizer


@pytest.mark.daily(1)
@pytest.mark.parametrize("edge", [0.7, pytest.param(0.35, marks=pytest.mark.long)])
def test_a_search_bisects_towards_an_edge(edge: float) -> None:
    optimizer, good = _told(edge), GRID[edge < GRID].min()
    asked = [float(optimizer.ask().point) for _ in range(3)]
    step = GRID[1]
    assert good - 0.9 * step < asked[0] < good - 0.1 * step, (
        "between the last points on either side"
    )
    assert all(min(abs(one - GRID)) > 0.1 * step for one in asked)
    assert np.ptp(asked) > 0.2 * step, "pending queries count for the side they are likely to be on"


@pytest.mark.daily(1)
@pytest.mark.parametrize("edge", [0.35, 0.7])
def test_what_is_recommended_beside_an_edge_is_the_best_measured_point(edge: float) -> None:
    best = _told(edge).recommend()
    assert float(best.point) == GRID[edge < GRID].min()
    assert best.feasibility == 1.0, "a level is no limit of the user"


@pytest.mark.long
def test_the_best_level_is_one_where_the_limits_hold() -> None:
    optimizer = _told(0.7, memory=sf.Constraint(maximum=8.0))
    belief = optimizer.belief()
    assert on_best_level(belief) is belief, "no feasible value is on a level above another"
    assert float(optimizer.recommend().point) <= 0.7


@pytest.mark.long
def test_a_level_that_was_measured_at_one_point_does_not_go_on() -> None:
    optimizer = _told(GRID[-2])
    optimizer.tell([1.0], -1.01)
    belief = optimizer.belief()
    assert not belief.outcome.transform.is_identity, "there are levels"
    assert on_best_level(belief) is belief


def test_without_a_jump_the_belief_is_that_of_all_rewards() -> None:
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
    optimizer.tell_all(GRID[:, None], -np.square(GRID - 0.4))
    belief = optimizer.belief()
    assert on_best_level(belief) is belief


def test_some_of_the_observations_have_their_sites_workers_and_errors() -> None:
    known = Observations(1)
    for point, reward, worker in ((0.1, 1.0, "a"), (0.5, 2.0, None), (0.1, 3.0, "b")):
        at = torch.tensor([point], dtype=torch.float64)
        known.append(at, reward, sem=0.1 * reward, worker=worker, time=reward)
    some = known.among(torch.tensor([False, True, True]))
    assert some.rewards.tolist() == [2.0, 3.0]
    assert some.sites[some.site].flatten().tolist() == [0.5, 0.1]
    assert some.sems.tolist() == known.sems[1:].tolist()
    assert some.times.tolist() == [2.0, 3.0]
    assert [some.worker_names[i] if i >= 0 else None for i in some.workers] == [None, "b"]
