"""Posteriors: what a set of rewards and pending queries says, whatever the parts."""

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF

import surefoot as sf
from reference import covariance, gaussian_process
from support.contract_table import (
    GRAM,
    LASTING,
    RIDGE,
    SPACES,
    TABULAR,
    WITHOUT_COORDINATES,
    Cell,
    asked,
    belief,
    cells,
    close,
    in_pairs,
    inform,
    kernel_on,
    locations,
    reward,
    same_belief,
    table_of,
    usual_points,
)
from support.device import DEVICE
from support.feature_rules import greedy, sampled

# Every point is in these dictionaries: 12 are all arms, or all points that are told.
FULL: dict[str, Callable[[torch.Tensor], Any]] = {
    "exact": lambda seen: sf.Exact(),
    "greedy": lambda seen: greedy(100),
    "dictionary": lambda seen: sf.Dictionary(seen.unique(dim=0)),
    "sampled": lambda seen: sampled(1e9),
    "batches": lambda seen: sampled(1e9, "adaptive", ratio=1.0),
    "adaptive": lambda seen: sampled(1e9, "adaptive", ratio=1.0, feedback="immediate"),
}
ENDLESS: dict[str, Callable[[], Any]] = {
    "truncation": lambda: sf.Truncation(sf.Moment(1.0, 1e200)),
    "adaptive-truncation": lambda: sf.AdaptiveTruncation(sf.Moment(1.0, 1e200)),
    "symmetric": lambda: sf.AdaptiveTruncation(sf.Moment(1.0, 1e200), root="symmetric"),
    "huber": lambda: sf.Huber(k=1e12),
    "growing-huber": lambda: sf.Huber(k=1e12, growing=True),
    "student-t": lambda: sf.StudentT(dof=1e15),
}
LINEAR = table_of(space=SPACES, features=LASTING)
# With Student-t noise, what a dictionary leaves of the prior variance counts as noise.
BEYOND_REACH = [
    cell
    for cell in table_of(space=SPACES, features=(*LASTING, "greedy"), estimator=ENDLESS)
    if cell.estimator != "student-t" or cell.features not in ("greedy", "dictionary")
]
# In a box the order of points fixes the basis of exact features, and with it what is truncated.
UNORDERED = [
    cell
    for cell in table_of(
        space=SPACES,
        features=LASTING,
        estimator=("least-squares", "huber", "adaptive-truncation"),
    )
    if cell.estimator != "adaptive-truncation" or cell.space in TABULAR or cell.features != "exact"
]
# Between draws of a dictionary its features last as well.
KEPT = table_of(space=("arms", "bare"), features=("batches",))
REDRAWN = table_of(space=("arms", "bare"), features=("greedy", "sampled", "adaptive"))
STEADY = sf.widths.constant(1.5)


def lengthscales(space: str, dimension: int) -> np.ndarray:
    return np.asarray(kernel_on(space).lengthscale.detach()).reshape(-1) * np.ones(dimension)


class TestFullDictionary:
    """With every point in the dictionary, the posterior is that of the Gaussian process."""

    def told(self, cell: Cell, features: str) -> tuple[sf.Optimizer, np.ndarray]:
        seen = locations(SPACES[cell.space]().to(DEVICE), 15).seen
        optimizer = cell.build(features=FULL[features](seen))
        inform(optimizer, 15)
        return optimizer, seen.cpu().numpy()

    @pytest.mark.daily(13)
    @pytest.mark.parametrize("features", FULL)
    @pytest.mark.parametrize("cell", cells(table_of(space=SPACES)))
    def test_is_the_formula(self, cell: Cell, features: str) -> None:
        optimizer, pulled = self.told(cell, features)
        if features == "batches" and cell.space in TABULAR:
            optimizer.ask()  # which begins a batch, on a dictionary of all that was told
            optimizer.forget(optimizer.pending[0], failed=False)
        k = covariance.lookup(GRAM)
        if cell.space not in WITHOUT_COORDINATES:
            k = covariance.squared_exponential(lengthscales(cell.space, pulled.shape[1]))
        points = usual_points(optimizer.space).cpu().numpy()
        expected = gaussian_process.exact(
            k, pulled, optimizer.history.rewards.cpu().numpy(), RIDGE, points
        )
        for ours, right in zip(belief(optimizer), expected, strict=True):
            close(ours, torch.from_numpy(right), 1e-7)

    @pytest.mark.parametrize("space", [name for name in SPACES if name not in WITHOUT_COORDINATES])
    def test_is_that_of_scikit_learn(self, space: str) -> None:
        (cell,) = table_of(space=(space,))
        optimizer, pulled = self.told(cell, "exact")
        peer = GaussianProcessRegressor(
            RBF(lengthscales(space, pulled.shape[1])), alpha=RIDGE, optimizer=None
        )
        points = usual_points(optimizer.space).cpu().numpy()
        peer.fit(pulled, optimizer.history.rewards.cpu().numpy())
        mean, deviation = peer.predict(points, return_std=True)
        ours, variance = belief(optimizer)
        close(ours, torch.from_numpy(mean), 1e-7)
        close(variance, torch.from_numpy(deviation**2), 1e-7)


@pytest.mark.long
@pytest.mark.parametrize("cell", cells(in_pairs(BEYOND_REACH)))
def test_an_endless_threshold_is_least_squares(cell: Cell) -> None:
    cell, endless = replace(cell, estimator="least-squares"), ENDLESS[cell.estimator]()
    plain, robust = cell.build(), cell.build(estimator=endless)
    for optimizer in (robust, plain):
        inform(optimizer, 12)
    same_belief(robust, plain, 1e-8)
    assert bool((robust.belief().weights > 1.0 - 1e-9).all())


class TestOrder:
    """What a set of rewards says does not depend on how they came."""

    @pytest.mark.long
    @pytest.mark.parametrize("cell", cells(in_pairs(UNORDERED)))
    def test_of_tells(self, cell: Cell) -> None:
        tolerance = 1e-6 if cell.estimator == "huber" else 1e-9
        if cell.features == "exact" and cell.space not in TABULAR:
            tolerance = 1e-6  # which points are left out, since the rest explain them, may differ
        where = locations(SPACES[cell.space](), 12)
        told = [(x, reward(x, z, step), z) for step, (x, z) in enumerate(where)]
        forwards, backwards, at_once = cell.build(), cell.build(), cell.build()
        for x, y, z in told:
            forwards.tell(x, y, z)
        for x, y, z in reversed(told):
            backwards.tell(x, y, z)
        at_once.tell_all(where.x, [y for _, y, _ in told], where.z)
        same_belief(backwards, forwards, tolerance)
        same_belief(at_once, forwards, tolerance)

    @pytest.mark.daily(7)
    @pytest.mark.parametrize("cell", cells(LINEAR + KEPT))
    def test_of_the_rewards_of_a_batch(self, cell: Cell) -> None:
        left, right = cell.build(), cell.build()
        for optimizer, order in ((left, (0, 1, 2, 3)), (right, (2, 0, 3, 1))):
            inform(optimizer)
            where = locations(optimizer.space, 4, seed=5)
            queries = [(optimizer.expect(x, z), z) for x, z in where]
            for turn in order:
                query, z = queries[turn]
                optimizer.tell(query, float(turn), z)
        same_belief(left, right)


def mean_at(optimizer: sf.Optimizer, point: torch.Tensor) -> float:
    with torch.no_grad():
        return float(optimizer.belief().posterior.mean(point[None]))


def seen(cell: Cell, query: sf.Query) -> torch.Tensor:
    """What the model sees of a query."""
    if query.environment is None:
        return query.point
    if cell.space == "joint-bare":
        return 3.0 * query.point + 2.0 * query.environment  # which are 0, 0.5 and 1
    return torch.cat([query.point, query.environment])


class TestPending:
    """A pending query is a pull without a reward."""

    @pytest.mark.daily(4)
    @pytest.mark.parametrize("cell", cells(LINEAR + KEPT))
    def test_it_leaves_the_posterior_and_steers_the_next_ask_as_a_reward_of_its_mean_does(
        self, cell: Cell
    ) -> None:
        """Least squares keeps its mean everywhere when it is told its own mean somewhere."""
        pending, told = (cell.build(width=STEADY) for _ in range(2))
        for optimizer in (pending, told):
            inform(optimizer)
        before = belief(pending)
        where = locations(pending.space, 3, seed=5)
        for place, (x, z) in enumerate(where):
            pending.expect(x, z)
            told.tell(x, mean_at(told, where.seen[place]), z)
        for ours, expected in zip(belief(pending), before, strict=True):
            close(ours, expected)
        among = None if cell.space in TABULAR else locations(pending.space, 6, seed=6).x
        assert asked(pending.ask(arms=among)) == asked(told.ask(arms=among))

    @pytest.mark.daily(4)
    @pytest.mark.parametrize("cell", cells(table_of(space=TABULAR[:4], features=LASTING)))
    def test_a_batch_is_what_is_asked_when_each_mean_is_told(self, cell: Cell) -> None:
        pending, told = (cell.build(width=STEADY) for _ in range(2))
        for optimizer in (pending, told):
            inform(optimizer)
        for query in pending.ask_batch(6):
            other = told.ask()
            assert asked(query) == asked(other)
            told.tell(other, mean_at(told, seen(cell, other)))

    @pytest.mark.daily(11)
    @pytest.mark.parametrize(
        ("cell", "failed"),
        [
            *((cell, bool(place % 2)) for place, cell in enumerate(LINEAR)),
            *itertools.product(KEPT + REDRAWN, (False, True)),
        ],
        ids=str,
    )
    def test_one_that_is_forgotten_leaves_no_trace(self, cell: Cell, failed: bool) -> None:
        forgetful, never = cell.build(), cell.build()
        for optimizer in (forgetful, never):
            inform(optimizer)
        where = locations(forgetful.space, 3, seed=5)
        queries = [forgetful.expect(x, z) for x, z in where]
        x, z = [*where][2]
        forgetful.forget(queries[1], failed=failed)
        forgetful.tell(queries[2], 0.7, z)
        forgetful.forget(queries[0], failed=failed)
        never.tell(x, 0.7, z)
        assert forgetful.pending == []
        same_belief(forgetful, never)
