"""Pending queries: batches, queries that failed, queries that are told twice."""

import itertools
import math

import numpy as np
import pytest
import torch

import surefoot as sf
from support.plain_cells import FIXED_GEOMETRY, Cell, cells, drive, feasible, noisy, points_of
from surefoot.algorithms import gp_ucb
from surefoot.regression.observations import Pull


class TestPending:
    """Pending queries, told late, never, twice or by another optimizer."""

    @pytest.mark.parametrize("cell", cells(FIXED_GEOMETRY, ["arms", "bare", "line", "box"]))
    def test_a_pending_query_lowers_the_variance_at_its_point(self, cell: Cell) -> None:
        optimizer = cell.build()
        optimizer.tell(points_of(optimizer.space, 1)[0], 1.0)
        point = points_of(optimizer.space, 4, seed=8)[-1:]
        posterior = optimizer.belief().posterior
        variance = float(posterior.variance(point))
        at = optimizer.space.locate(point[0])
        after = float(posterior.updated([Pull(at.point, at.arm, 1)]).variance(point))
        assert after == pytest.approx(variance - variance**2 / (variance + 0.1), rel=1e-6)

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("part", "space", "rewards"),
        [
            ("exact-least_squares", "line", 6),
            pytest.param("exact-huber", "box", 6),
            # With six the noise explains all that varies, and a point is worth several queries.
            pytest.param("robust", "box", 7),
        ],
    )
    def test_queries_of_one_batch_are_spread_out(self, part: str, space: str, rewards: int) -> None:
        optimizer = Cell(space, part).build()
        drive(optimizer, rewards)
        span = optimizer.space.upper - optimizer.space.lower
        apart: list[torch.Tensor] = []
        for query in optimizer.ask_batch(6):
            point = query.point / span
            if all(float((point - other).norm()) > 0.02 for other in apart):
                apart.append(point)
        assert len(apart) >= 4

    @pytest.mark.parametrize(
        "part",
        [
            "exact-least_squares",
            "exact-huber",
            "exact-student_t",
            "robust",
        ],
    )
    def test_a_batch_over_arms_is_not_one_arm(self, part: str) -> None:
        optimizer = Cell("arms", part).build()
        drive(optimizer, 6)
        assert len({query.arm for query in optimizer.ask_batch(6)}) >= 2

    @pytest.mark.daily(10)
    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "box", "mixed"]))
    def test_a_large_batch_before_the_first_reward(self, cell: Cell) -> None:
        optimizer = cell.build()
        for query in optimizer.ask_batch(20):
            assert feasible(optimizer.space, query.point)

    @pytest.mark.daily(7)
    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "box"]))
    def test_every_measurement_so_far_has_failed(self, cell: Cell) -> None:
        optimizer = cell.build()
        for _ in range(15):
            query = optimizer.ask()
            assert feasible(optimizer.space, query.point)
            optimizer.forget(query)

    def test_many_arms_before_the_first_reward(self) -> None:
        arms = torch.linspace(0, 1, 3000, dtype=torch.float64).unsqueeze(-1)
        assert gp_ucb(sf.Arms(arms), sf.kernels.matern(2.5, 0.2)).ask().arm is not None

    @pytest.mark.parametrize(
        "cell", cells(["exact-huber", "nystrom-least_squares", "batches-huber"], ["arms"])
    )
    def test_a_second_reward_settles_no_other_query_of_the_same_arm(self, cell: Cell) -> None:
        optimizer, other = cell.build(), cell.build()
        drive(optimizer, 5)
        drive(other, 5)
        mine, twin = optimizer.ask(arms=[3]), optimizer.ask(arms=[3])
        for query in (mine, mine, other.ask(arms=[3])):
            optimizer.tell(query, 1.0)
            assert [pending.id for pending in optimizer.pending] == [twin.id]
            assert sum(one.missing for one in optimizer._history.outstanding) == 1
        optimizer.tell(twin, 1.0)
        assert sum(one.missing for one in optimizer._history.outstanding) == 0

    def test_the_same_point_told_under_its_query_and_by_itself_is_one_site(self) -> None:
        optimizer = Cell("box", "exact-huber").build()
        query = optimizer.ask()
        optimizer.tell(query, 1.0)
        optimizer.tell(query.point, 2.0)
        optimizer.tell(query.point.tolist(), 3.0)
        assert optimizer.history.counts.tolist() == [3.0]
        assert optimizer.history.sums.tolist() == [6.0]

    @pytest.mark.long
    @pytest.mark.parametrize(
        "cell",
        [
            *cells(["exact-huber"], ["arms", "line", "box"]),
            pytest.param(Cell("arms", "robust"), id="robust-arms"),
            pytest.param(Cell("line", "robust"), id="robust-line"),
        ],
    )
    def test_failed_points_are_kept_away_from(self, cell: Cell) -> None:
        optimizer = cell.build()
        points = points_of(optimizer.space, 8)
        for step, point in enumerate(points):
            optimizer.tell(point, noisy(point, step))
        failed = []
        for _ in range(4):
            query = optimizer.ask()
            failed.append(query.point)
            optimizer.forget(query)
        for left, right in itertools.combinations(failed, 2):
            assert not torch.allclose(left, right, rtol=0.0, atol=1e-6)
        assert optimizer.pending == []
        assert len(optimizer.history) == 8


@pytest.mark.parametrize("z", [None, [-0.0]])
def test_zero_has_no_sign(z: list[float] | None) -> None:
    box = sf.Box([-1.0], [1.0])
    space = box if z is None else sf.Joint(box, sf.FiniteEnvironment([0.0, 1.0], [0.5, 0.5]))
    kernel = sf.kernels.squared_exponential(0.3)
    risk = None if z is None else sf.Mean()
    optimizer, plain = (
        sf.Optimizer(sf.Problem(space, risk=risk), sf.Method(kernel)) for _ in range(2)
    )
    for _ in range(3):
        optimizer.expect([0.0], z)
        optimizer.tell([-0.0], 0.0, z)
        plain.tell([0.0], 0.0, None if z is None else [0.0])
    assert len(optimizer.pending) == 0
    assert len(optimizer.belief().outcome.observations.sites) == 1
    assert torch.equal(optimizer.ask().point, plain.ask().point)


def _limited(policy, space, outcomes, seed, number):
    """A run whose limit holds in a disc of 2 % of the square, which was not found so far."""
    generator = np.random.default_rng(seed)
    run = sf.algorithms.robust_ucb(sf.Problem(space, outcomes), policy=policy, seed=seed)
    for x in generator.random((number, 2)):
        off = float(((x - np.array([0.83, 0.17])) ** 2).sum())
        if off < 0.02:
            continue
        values = {"m": 1.0 - math.exp(-off / 0.02) + 0.02 * generator.normal(), "c": x[0]}
        point = x if isinstance(space, sf.Box) else {"n": round(20 * x[0]), "x": float(x[1])}
        run.tell(point, float(x.sum()), outcomes={name: values[name] for name in outcomes})
    return run


LIMIT = {"m": sf.Constraint(maximum=0.3)}
SQUARE = sf.Box([0.0, 0.0], [1.0, 1.0])
NAMED = sf.parameters.Space({"n": sf.parameters.Int(0, 20), "x": sf.parameters.Float(0.0, 1.0)})


@pytest.mark.parametrize(
    ("policy", "space", "outcomes"),
    [
        pytest.param(None, SQUARE, LIMIT, id="bound"),
        pytest.param(None, NAMED, LIMIT, id="integers"),
        pytest.param(sf.acquisition.ThompsonSampling(), SQUARE, LIMIT, id="thompson"),
        pytest.param(sf.acquisition.NoisyExpectedImprovement(8), SQUARE, LIMIT, id="nei"),
        pytest.param(None, SQUARE, {**LIMIT, "c": sf.Objective()}, id="two objectives"),
    ],
)
@pytest.mark.parametrize("seed", [0, 1])
def test_a_batch_spreads_out_while_no_measured_point_keeps_the_limit(policy, space, outcomes, seed):
    run = _limited(policy, space, outcomes, seed, number=14)
    assert run.recommend().feasibility < 0.5
    batch = run.ask_batch(6)
    assert (
        len({tuple(query.point.tolist()) for query in batch}) >= 5
    )  # one may repeat where noise explains all
    belief = run.belief()  # says the same as if nothing were pending
    for query in batch:
        run.forget(query, failed=False)
    again = run.belief()
    points = belief.outcome.observations.sites
    found = (one.constraints.probability(points) for one in (belief, again))
    assert torch.equal(*found)
