"""Measurements far from all others while a search stays near them."""

from __future__ import annotations

import math

import pytest
import torch

import surefoot as sf
from surefoot.acquisition import ForcedExploration, UpperConfidenceBound

SQUARE = sf.Box([0.0, 10.0], [1.0, 30.0])
KERNEL = sf.kernels.squared_exponential(0.5)
CENTER = torch.tensor([0.3, 18.0], dtype=torch.float64)
RADIUS = 0.06 * math.sqrt(2.0)


class Stay:
    """A policy that stays near one point."""

    def check(self, space, risk):
        pass

    def choose(self, belief, among, state):
        box = belief.space.design
        near = CENTER + 0.01 * box.span * torch.rand(2, generator=state.generator).double()
        return belief.space.location(box.snap(near.unsqueeze(0))[0])


def staying(space: sf.Box = SQUARE, ridge: float = 0.01, **options) -> sf.Optimizer:
    policy = ForcedExploration(Stay())
    optimizer = sf.Optimizer(space, KERNEL, ridge=ridge, policy=policy, **options)
    optimizer.tell(CENTER, 0.0)
    return optimizer


def is_far(query: sf.Query) -> bool:
    off = (query.point - CENTER) / SQUARE.span
    return float(off.norm()) > RADIUS


def play(optimizer: sf.Optimizer, rounds: int) -> list[bool]:
    far = []
    for _ in range(rounds):
        query = optimizer.ask()
        far.append(is_far(query))
        optimizer.tell(query, 0.0)
    return far


def test_explorations_become_rarer():
    """After n of them, the next follows more than n / 2 queries near others."""
    far = play(staying(), 30)
    rounds = [round for round, one in enumerate(far) if one]
    assert rounds == [1, 3, 6, 9, 13, 17, 22, 27]


def test_what_is_due_follows_from_the_history():
    """A run that is resumed in another process has no memory of its own."""
    first = staying()
    for round in range(12):
        again = staying()
        for site in first.history.site.tolist()[1:]:
            again.tell(first.history.sites[site], 0.0)
        query = first.ask()
        assert is_far(again.ask()) == is_far(query), round
        first.tell(query, 0.0)


def test_pending_queries_count():
    batch = staying().ask_batch(7)
    assert [is_far(query) for query in batch] == [False, True, False, True, False, False, True]
    explored = torch.stack([query.point / SQUARE.span for query in batch if is_far(query)])
    assert float(torch.pdist(explored).min()) > 0.3


def test_an_exploration_that_fails_is_one_of_them(tmp_path):
    """Else one would follow the other, until a run ends for failures in a row."""
    optimizer = staying()
    rounds = []
    for round in range(30):
        if round == 15:
            optimizer.save(tmp_path / "run")
            optimizer = sf.Optimizer.load(tmp_path / "run", policy=optimizer.policy)
        query = optimizer.ask()
        if is_far(query):
            rounds.append(round)
            optimizer.forget(query, failed=True)
        else:
            optimizer.tell(query, 0.0)
    assert rounds == [1, 3, 6, 9, 13, 17, 22, 27]
    explored = torch.stack([one.point / SQUARE.span for one in optimizer.belief().failed])
    assert float(torch.pdist(explored).min()) > RADIUS


def test_an_exploration_has_unknown_points_all_around_it():
    """The farthest point of all would be a corner, beside which there is little to find."""
    optimizer = staying()
    optimizer.tell(CENTER, 0.0)
    unit = (optimizer.ask().point - SQUARE.lower) / SQUARE.span
    assert bool(((unit > 0.1) & (unit < 0.9)).all())


def test_under_large_noise_the_best_point_is_known_first():
    policy = ForcedExploration(Stay())
    optimizer = sf.Optimizer(SQUARE, KERNEL, ridge=0.2, policy=policy)
    optimizer.tell(CENTER, 0.0)
    far = play(optimizer, 20)
    assert not any(far[:4])
    assert any(far[4:])


def test_a_space_that_is_covered_is_left_to_the_other_policy():
    grid = torch.cartesian_prod(torch.linspace(0, 1, 16), torch.linspace(10, 30, 16)).double()
    optimizer = staying()
    optimizer.tell_all(grid, torch.zeros(len(grid)))
    assert not any(play(optimizer, 4))


@pytest.mark.slow
def test_what_surely_breaks_a_limit_is_not_explored():
    limits = {"right": sf.Constraint(maximum=0.0)}
    optimizer = staying(outcomes=limits)
    line = torch.linspace(0.0, 1.0, 9, dtype=torch.float64)
    grid = torch.cartesian_prod(line, torch.tensor([18.0, 24.0]).double())
    limit = [{"right": 10.0 * (x - 0.5)} for x in grid[:, 0].tolist()]
    optimizer.tell_all(grid, torch.zeros(len(grid)), outcomes=limit)
    asked = []
    for _ in range(8):
        query = optimizer.ask()
        asked.append(float(query.point[0]) if is_far(query) else 0.0)
        optimizer.tell(query, 0.0, outcomes={"right": 10.0 * (float(query.point[0]) - 0.5)})
    assert sum(x > 0.0 for x in asked) >= 2
    assert max(asked) < 0.6


def test_a_better_point_beyond_a_limit_does_not_end_exploration():
    """It is not measured again, so that it would stay unknown."""
    optimizer = staying(ridge=1.0, outcomes={"cost": sf.Constraint(maximum=0.0)})
    points = [[0.95, 29.0], *[CENTER.tolist()] * 60]
    costs = [{"cost": 5.0}, *[{"cost": -1.0}] * 60]
    optimizer.tell_all(points, [5.0, *[0.0] * 60], outcomes=costs)
    assert is_far(optimizer.ask())


def test_where_something_is_given_nothing_is_explored():
    optimizer = staying()
    optimizer.tell(CENTER, 0.0)
    assert is_far(optimizer.ask())
    optimizer = staying()
    optimizer.tell(CENTER, 0.0)
    assert not is_far(optimizer.ask(within=SQUARE.given({0: float(CENTER[0])})))


@pytest.mark.slow
def test_an_optimum_that_the_model_is_certain_not_to_exist_is_found():
    """Under a lengthscale that is too long, the bound never leaves the first optimum."""

    def value(unit: torch.Tensor) -> float:
        wide = (unit - torch.tensor([0.25, 0.25])).square().sum() / 0.3**2
        narrow = (unit - torch.tensor([0.75, 0.7])).square().sum() / 0.15**2
        return float(torch.maximum(0.5 * (-0.5 * wide).exp(), (-0.5 * narrow).exp()))

    found = []
    for policy in (UpperConfidenceBound(), ForcedExploration()):
        space, kernel = sf.Box([0.0, 0.0], [1.0, 1.0]), sf.kernels.squared_exponential(1.0)
        width = sf.widths.constant(1.0)
        optimizer = sf.Optimizer(space, kernel, ridge=1e-4, policy=policy, width=width)
        for _ in range(25):
            query = optimizer.ask()
            optimizer.tell(query, value(query.point))
        found.append(max(optimizer.history.rewards.tolist()))
    assert found[0] < 0.6
    assert found[1] > 0.8


def test_arms_are_refused():
    with pytest.raises(sf.InvalidInput, match="for a `Box`"):
        sf.Optimizer(sf.Arms([[0.0], [1.0]]), KERNEL, policy=ForcedExploration())


@pytest.mark.parametrize(("number", "explores"), [(40, True), (2049, False)])
def test_a_long_search_is_left_to_the_other_policy(number: int, explores: bool) -> None:
    """All distances would cost more than its choice."""
    optimizer = staying(features=sf.Dictionary(CENTER.unsqueeze(0)))
    around = torch.rand(number, 2, generator=torch.Generator().manual_seed(0)).double()
    optimizer.tell_all(CENTER + 0.05 * SQUARE.span * around, [0.0] * number)
    assert is_far(optimizer.ask()) is explores
