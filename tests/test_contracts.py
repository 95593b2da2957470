"""What every optimiser keeps to, whatever it is put together from."""

import itertools
import pickle
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from kernel_cases import table
from surefoot.algorithms import gp_ucb, robust_ucb
from surefoot.regression.posterior import Pull
from surefoot.types import Query

TABLE = table(4)
MOMENT = sf.Moment(1.0, 100.0)
LINE = torch.linspace(0.0, 1.0, 20, dtype=torch.float64).unsqueeze(-1)

SPACES: dict[str, Callable[[], sf.Arms | sf.Box]] = {
    "arms": lambda: sf.Arms(LINE),
    "bare": lambda: sf.Arms(12),
    "line": lambda: sf.Box([-2.0], [3.0]),
    "box": lambda: sf.Box([0.0, 10.0], [1.0, 30.0]),
    "mixed": lambda: sf.Box(
        [0.0, 0.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 1.0, 1.0, 1.0],
        levels={1: [0.0, 0.25, 1.0]},
        choices=[(2, 3, 4)],
    ),
    "listed": lambda: sf.Box([0.0, 0.0], [1.0, 1.0], levels={0: [0.0, 0.5, 1.0], 1: [0.0, 1.0]}),
}


def kernel_for(space: sf.Arms | sf.Box) -> object:
    if isinstance(space, sf.Arms) and not space.has_coordinates:
        return sf.kernels.precomputed(TABLE)
    return sf.kernels.matern(2.5, 0.3 * (space.upper - space.lower))


def composed(features: object, estimator: object) -> Callable[..., sf.Optimizer]:
    def build(space: sf.Arms | sf.Box, seed: int = 0, **parts: object) -> sf.Optimizer:
        given = {"features": features, "estimator": estimator, "ridge": 0.1, **parts}
        return sf.Optimizer(space, kernel_for(space), seed=seed, **given)

    return build


def robust(space: sf.Arms | sf.Box, seed: int = 0, **parts: object) -> sf.Optimizer:
    kernel = kernel_for(space) if isinstance(space, sf.Arms) else None
    if isinstance(space, sf.Arms) and space.has_coordinates:
        kernel = None
    return robust_ucb(space, kernel, seed=seed, **parts)


BUILDS: dict[str, Callable[..., sf.Optimizer]] = {
    "exact-least_squares": composed(sf.Exact(), sf.LeastSquares()),
    "exact-huber": composed(sf.Exact(), sf.Huber()),
    "exact-student_t": composed(sf.Exact(), sf.StudentT()),
    "sketch-least_squares": composed(sf.Nystrom(sf.PivotedCholesky(8)), sf.LeastSquares()),
    "sketch-huber": composed(sf.Nystrom(sf.PivotedCholesky(8)), sf.Huber()),
    "exact-truncation": composed(sf.Exact(), sf.Truncation(MOMENT)),
    "exact-median_of_means": composed(sf.Exact(), sf.MedianOfMeans(3)),
    "nystrom-least_squares": composed(sf.Nystrom(sf.LeverageSampling(3.0)), sf.LeastSquares()),
    "nystrom-adaptive": composed(
        sf.Nystrom(sf.LeverageSampling(3.0)), sf.AdaptiveTruncation(MOMENT)
    ),
    "batches-huber": composed(
        sf.Nystrom(sf.LeverageSampling(3.0, resample="adaptive")), sf.Huber(growing=True)
    ),
    "robust": robust,
}
FIXED_GEOMETRY = ["exact-least_squares", "exact-huber", "sketch-least_squares", "sketch-huber"]


@dataclass(frozen=True)
class Cell:
    """One space and one way to put an optimiser together."""

    space: str
    parts: str

    def build(self, seed: int = 0, **parts: object) -> sf.Optimizer:
        return BUILDS[self.parts](SPACES[self.space](), seed, **parts)

    def __str__(self) -> str:
        return f"{self.parts}-{self.space}"


def cells(parts: list[str] | None = None, spaces: list[str] | None = None) -> list:
    table = itertools.product(spaces or SPACES, parts or BUILDS)
    return [pytest.param(Cell(space, part), id=f"{part}-{space}") for space, part in table]


def points_of(space: sf.Arms | sf.Box, number: int, seed: int = 3) -> torch.Tensor:
    """Points (number, d) of the space, some of arms more than once."""
    generator = torch.Generator().manual_seed(seed)
    if isinstance(space, sf.Arms):
        return space.points[torch.randint(len(space), (number,), generator=generator)]
    return space.sample(number, generator)


def noisy(point: torch.Tensor, step: int) -> float:
    """A reward that is a function of the point and the step alone; every 7th is a spike."""
    spike = 20.0 if step % 7 == 6 else 0.0
    return float(torch.sin(3.0 * point).sum()) + 0.1 * float(np.sin(97.0 * step)) + spike


def drive(optimizer: sf.Optimizer, rounds: int, first: int = 0) -> torch.Tensor:
    """Points (rounds, d) of that many rounds of ask and tell."""
    asked = []
    for step in range(first, first + rounds):
        query = optimizer.ask()
        asked.append(query.point.clone())
        optimizer.tell(query, noisy(query.point, step))
    return torch.stack(asked)


def feasible(space: sf.Arms | sf.Box, point: torch.Tensor) -> bool:
    if isinstance(space, sf.Arms):
        return bool((space.points == point).all(-1).any())
    inside = bool(((point >= space.lower) & (point <= space.upper)).all())
    listed = all(bool((point[c] == values).any()) for c, values in space.levels.items())
    one_hot = all(sorted(point[list(group)].tolist())[-2:] == [0.0, 1.0] for group in space.choices)
    return inside and listed and one_hot


def state(optimizer: sf.Optimizer, folder: Path) -> bytes:
    optimizer.save(folder / "state")
    return (folder / "state").read_bytes()


def same_posterior(left: sf.Optimizer, right: sf.Optimizer, **tolerance: float) -> None:
    at = points_of(left.space, 15, seed=9)
    with torch.no_grad():
        mean, deviation = left.posterior.mean_and_deviation(at)
        expected, spread = right.posterior.mean_and_deviation(at)
    torch.testing.assert_close(mean, expected, **tolerance)
    torch.testing.assert_close(deviation, spread, **tolerance)


class TestRuns:
    """Asking, telling and recommending on every space with every composition."""

    @pytest.mark.parametrize("cell", cells())
    def test_every_query_and_recommendation_is_of_the_space(self, cell: Cell) -> None:
        optimizer = cell.build()
        for point in drive(optimizer, 8):
            assert feasible(optimizer.space, point)
        for query in optimizer.ask_batch(2):
            assert feasible(optimizer.space, query.point)
        found = optimizer.recommend()
        assert feasible(optimizer.space, found.point)
        assert found.lower <= found.value <= found.upper
        if isinstance(optimizer.space, sf.Arms):
            assert found.arm is not None
            assert torch.equal(optimizer.space.points[found.arm], found.point)

    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "box", "mixed"]))
    def test_the_same_seed_gives_the_same_run(self, cell: Cell) -> None:
        assert torch.equal(drive(cell.build(), 6), drive(cell.build(), 6))

    @pytest.mark.parametrize("space", ["line", "box", "mixed"])
    def test_another_seed_gives_another_run(self, space: str) -> None:
        cell = Cell(space, "robust")
        assert not torch.equal(drive(cell.build(0), 2), drive(cell.build(1), 2))

    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "box", "mixed"]))
    def test_a_loaded_optimiser_goes_on_with_the_same_run(self, cell: Cell, tmp_path: Path) -> None:
        optimizer = cell.build()
        drive(optimizer, 9)
        optimizer.ask()
        optimizer.forget(points_of(optimizer.space, 1)[0])
        optimizer.save(tmp_path / "run")
        loaded = sf.Optimizer.load(tmp_path / "run")
        assert [q.id for q in loaded.pending] == [q.id for q in optimizer.pending]
        assert torch.equal(drive(loaded, 3, 9), drive(optimizer, 3, 9))

    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "box", "mixed"]))
    def test_a_pickled_optimiser_goes_on_with_the_same_run(self, cell: Cell) -> None:
        optimizer = cell.build()
        drive(optimizer, 9)
        copy = pickle.loads(pickle.dumps(optimizer))
        assert torch.equal(drive(copy, 3, 9), drive(optimizer, 3, 9))

    @pytest.mark.parametrize("space", ["arms", "box", "mixed"])
    def test_looking_changes_nothing(self, space: str) -> None:
        watched, alone = Cell(space, "robust").build(), Cell(space, "robust").build()
        for step in range(8):
            point = drive(watched, 1, step)
            _ = watched.recommend(), watched.weights, watched.posterior, watched.width
            assert torch.equal(point, drive(alone, 1, step))

    @pytest.mark.parametrize("cell", cells(spaces=["arms", "box"]))
    def test_saving_changes_nothing(self, cell: Cell, tmp_path: Path) -> None:
        optimizer = cell.build()
        drive(optimizer, 7)
        assert state(optimizer, tmp_path) == state(optimizer, tmp_path)


class TestPosterior:
    """The posterior of a set of rewards does not depend on how they came."""

    @pytest.mark.parametrize(
        "cell", cells(["exact-least_squares", "exact-huber"], ["arms", "bare", "box", "mixed"])
    )
    def test_the_order_of_tells_does_not_matter(self, cell: Cell) -> None:
        forwards, backwards = cell.build(), cell.build()
        points = points_of(forwards.space, 30)
        for step in range(30):
            forwards.tell(points[step], noisy(points[step], step))
            backwards.tell(points[29 - step], noisy(points[29 - step], 29 - step))
        same_posterior(forwards, backwards, rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize(
        "cell", cells(["exact-least_squares", "exact-huber"], ["arms", "bare", "box", "mixed"])
    )
    def test_one_by_one_is_all_at_once(self, cell: Cell) -> None:
        slowly, at_once = cell.build(), cell.build()
        points = points_of(slowly.space, 30)
        rewards = [noisy(point, step) for step, point in enumerate(points)]
        for point, reward in zip(points, rewards, strict=True):
            slowly.tell(point, reward)
        at_once.tell_all(points, rewards)
        same_posterior(slowly, at_once, rtol=1e-6, atol=1e-6)

    @pytest.mark.parametrize("cell", cells(FIXED_GEOMETRY))
    def test_variance_is_not_negative_and_falls_with_data(self, cell: Cell) -> None:
        optimizer = cell.build(ridge=0.01)
        points = points_of(optimizer.space, 20)
        optimizer.tell(points[0], 1.0)
        before = optimizer.posterior.variance(points)
        for step, point in enumerate(points):
            optimizer.tell(point, noisy(point, step))
            now = optimizer.posterior.variance(points)
            assert bool((now >= 0).all())
            if cell.parts.startswith("exact"):
                assert bool((now <= before + 1e-9).all())
            before = now

    @pytest.mark.parametrize("space", ["arms", "bare", "box", "mixed"])
    def test_a_thousand_copies_of_a_point(self, space: str) -> None:
        for part in BUILDS:
            optimizer = Cell(space, part).build()
            points = points_of(optimizer.space, 5)
            optimizer.tell_all(points, [0.0, 1.0, 2.0, 3.0, 4.0])
            rewards = 7.0 + torch.linspace(-0.5, 0.5, 1000, dtype=torch.float64)
            optimizer.tell_all(points[:1].repeat(1000, 1), rewards)
            found = optimizer.posterior.mean(points[:1])
            assert float(found) == pytest.approx(7.0, abs=0.2), part
            assert feasible(optimizer.space, optimizer.ask().point)

    @pytest.mark.parametrize("value", [0.0, 3.0, -1e9])
    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "line", "mixed"]))
    def test_constant_rewards(self, cell: Cell, value: float) -> None:
        optimizer = cell.build()
        for point in points_of(optimizer.space, 6):
            optimizer.tell(point, value)
        assert feasible(optimizer.space, optimizer.ask().point)
        found = optimizer.recommend()
        assert np.isfinite([found.value, found.lower, found.upper]).all()

    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "line"]))
    def test_two_rewards_at_once(self, cell: Cell) -> None:
        optimizer = cell.build()
        optimizer.tell_all(points_of(optimizer.space, 2), [1.0, 2.0])
        assert feasible(optimizer.space, optimizer.ask().point)

    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "line"]))
    def test_rewards_that_are_mostly_equal(self, cell: Cell) -> None:
        optimizer = cell.build()
        for step, point in enumerate(points_of(optimizer.space, 8)):
            optimizer.tell(point, 1.0 if step in (3, 5) else 0.0)
        assert feasible(optimizer.space, optimizer.ask().point)
        assert -0.5 < optimizer.recommend().value < 1.5

    @pytest.mark.parametrize("unit", [1e12, 1e-12, 1e-30])
    @pytest.mark.parametrize("space", ["arms", "bare", "line"])
    def test_the_unit_of_rewards_does_not_matter_to_the_robust_default(
        self, space: str, unit: float
    ) -> None:
        plain, scaled = Cell(space, "robust").build(), Cell(space, "robust").build()
        points = points_of(plain.space, 15)
        rewards = torch.tensor([noisy(point, step) for step, point in enumerate(points)])
        plain.tell_all(points, rewards)
        scaled.tell_all(points, unit * rewards.double())
        at = points_of(plain.space, 10, seed=4)
        torch.testing.assert_close(
            scaled.posterior.mean(at) / unit, plain.posterior.mean(at), rtol=1e-3, atol=1e-3
        )
        torch.testing.assert_close(scaled.weights, plain.weights, rtol=1e-2, atol=1e-2)

    @pytest.mark.parametrize("sentinel", [1e15, 1e30, 1e150, 1.7e308, -1.7e308])
    @pytest.mark.parametrize("space", ["arms", "bare", "line"])
    def test_a_sentinel_among_rewards_is_an_outlier_like_any_other(
        self, space: str, sentinel: float
    ) -> None:
        spiked, plain = Cell(space, "robust").build(), Cell(space, "robust").build()
        points = points_of(plain.space, 20)
        rewards = [noisy(point, 0) for point in points]
        plain.tell_all(points, rewards)
        spiked.tell_all(points, [*rewards[:11], sentinel, *rewards[12:]])
        same_posterior(spiked, plain, rtol=0.0, atol=1.0)

    def test_a_sketch_keeps_its_size(self) -> None:
        optimizer = gp_ucb(
            sf.Box([0.0, 0.0], [1.0, 1.0]),
            sf.kernels.matern(2.5, 0.2),
            features=sf.Nystrom(sf.PivotedCholesky(8)),
        )
        for step, point in enumerate(points_of(optimizer.space, 60)):
            info = optimizer.tell(point, float(step))
        assert info.dimension <= 16

    def test_a_sketch_is_told_again_of_a_point_that_it_knows(self) -> None:
        box = sf.Box([0.0, 0.0], [1.0, 1.0])
        optimizer = gp_ucb(
            box, sf.kernels.matern(2.5, 0.2), features=sf.Nystrom(sf.PivotedCholesky(8))
        )
        points = points_of(box, 20)
        optimizer.tell_all(points, range(20))
        optimizer.tell(points[0], 3.0)
        assert len(optimizer.history.sites) == 20


class TestPending:
    """Pending queries, told late, never, twice or by another optimizer."""

    @pytest.mark.parametrize("cell", cells(FIXED_GEOMETRY, ["arms", "bare", "line", "box"]))
    def test_a_pending_query_lowers_the_variance_at_its_point(self, cell: Cell) -> None:
        optimizer = cell.build()
        optimizer.tell(points_of(optimizer.space, 1)[0], 1.0)
        point = points_of(optimizer.space, 4, seed=8)[-1:]
        posterior = optimizer.posterior
        variance = float(posterior.variance(point))
        at = optimizer.space.locate(point[0])
        after = float(posterior.updated([Pull(at.point, at.arm, 1)]).variance(point))
        assert after == pytest.approx(variance - variance**2 / (variance + 0.1), rel=1e-6)

    @pytest.mark.parametrize("space", ["line", "box"])
    @pytest.mark.parametrize("part", ["exact-least_squares", "exact-huber", "robust"])
    def test_queries_of_one_batch_are_spread_out(self, part: str, space: str) -> None:
        optimizer = Cell(space, part).build()
        drive(optimizer, 6)
        span = optimizer.space.upper - optimizer.space.lower
        apart: list[torch.Tensor] = []
        for query in optimizer.ask_batch(6):
            point = query.point / span
            if all(float((point - other).norm()) > 0.02 for other in apart):
                apart.append(point)
        assert len(apart) >= 4

    @pytest.mark.parametrize(
        "part", ["exact-least_squares", "exact-huber", "exact-student_t", "robust"]
    )
    def test_a_batch_over_arms_is_not_one_arm(self, part: str) -> None:
        optimizer = Cell("arms", part).build()
        drive(optimizer, 6)
        assert len({query.arm for query in optimizer.ask_batch(6)}) >= 2

    @pytest.mark.parametrize("cell", cells(spaces=["arms", "bare", "box", "mixed"]))
    def test_a_large_batch_before_the_first_reward(self, cell: Cell) -> None:
        optimizer = cell.build()
        for query in optimizer.ask_batch(20):
            assert feasible(optimizer.space, query.point)

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

    @pytest.mark.parametrize("cell", cells(["exact-huber", "robust"], ["arms", "box"]))
    def test_late_out_of_order_twice_and_uncalled_for(self, cell: Cell) -> None:
        optimizer = cell.build()
        batch = optimizer.ask_batch(4)
        for query in (batch[2], batch[0]):
            optimizer.tell(query, 1.0)
        assert [query.id for query in optimizer.pending] == [batch[1].id, batch[3].id]
        optimizer.tell(batch[2], 1.2)
        optimizer.tell(points_of(optimizer.space, 1)[0], 0.5)
        optimizer.tell(batch[1], 1.1)
        optimizer.forget(batch[3], failed=False)
        assert optimizer.pending == []
        assert optimizer.history.rewards.tolist() == [1.0, 1.0, 1.2, 0.5, 1.1]
        assert feasible(optimizer.space, optimizer.ask().point)

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
            assert sum(one.missing for one in optimizer._model.outstanding) == 1
        optimizer.tell(twin, 1.0)
        assert sum(one.missing for one in optimizer._model.outstanding) == 0

    def test_the_same_point_told_under_its_query_and_by_itself_is_one_site(self) -> None:
        optimizer = Cell("box", "exact-huber").build()
        query = optimizer.ask()
        optimizer.tell(query, 1.0)
        optimizer.tell(query.point, 2.0)
        optimizer.tell(query.point.tolist(), 3.0)
        assert optimizer.history.counts.tolist() == [3.0]
        assert optimizer.history.sums.tolist() == [6.0]

    @pytest.mark.parametrize("space", ["arms", "box"])
    def test_telling_the_point_of_a_query_settles_it(self, space: str) -> None:
        optimizer = Cell(space, "robust").build()
        for step in range(4):
            point = optimizer.ask().point
            optimizer.tell(point, noisy(point, step))
        assert optimizer.pending == []

    @pytest.mark.parametrize("cell", cells(["exact-huber", "robust"], ["arms", "line", "box"]))
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


def check_refused(space: str, call: Callable[[sf.Optimizer], object], folder: Path) -> None:
    """A call that is invalid input leaves everything as it was."""
    optimizer = Cell(space, "exact-huber").build()
    drive(optimizer, 3)
    before = state(optimizer, folder)
    with pytest.raises(sf.InvalidInput):
        call(optimizer)
    assert state(optimizer, folder) == before


class TestRefusals:
    """What cannot be used is refused, and nothing has changed."""

    @pytest.mark.parametrize(
        "reward",
        [
            float("nan"),
            float("inf"),
            -float("inf"),
            None,
            "1.0",
            True,
            [1.0, 2.0],
            torch.ones(2),
            np.ones(0),
            1j,
            10**400,
        ],
        ids=lambda reward: repr(reward)[:20],
    )
    @pytest.mark.parametrize("space", ["arms", "box"])
    def test_rewards(self, space: str, reward: object, tmp_path: Path) -> None:
        optimizer = Cell(space, "exact-huber").build()
        drive(optimizer, 3)
        query = optimizer.ask()
        before = state(optimizer, tmp_path)
        with pytest.raises(sf.InvalidInput, match="reward"):
            optimizer.tell(query, reward)
        assert state(optimizer, tmp_path) == before

    @pytest.mark.parametrize(
        "where",
        [-1, 20, True, 1.5, "a", None, [0.1, 0.2], [float("nan")], [0.12345], torch.ones(1, 1)],
        ids=repr,
    )
    def test_arms(self, where: object, tmp_path: Path) -> None:
        for call in (lambda o: o.tell(where, 1.0), lambda o: o.forget(where)):
            check_refused("arms", call, tmp_path)

    @pytest.mark.parametrize(
        "where",
        [0, 1.5, "a", None, [0.1], [0.1, float("inf")], [2.0, 20.0], torch.ones(1, 2), [0.1, 1.0]],
        ids=repr,
    )
    def test_points_of_a_box(self, where: object, tmp_path: Path) -> None:
        for call in (lambda o: o.tell(where, 1.0), lambda o: o.expect(where)):
            check_refused("box", call, tmp_path)

    @pytest.mark.parametrize(
        ("points", "rewards"),
        [
            ([[0.1, 20.0], [0.2, 20.0]], [1.0, float("nan")]),
            ([[0.1, 20.0], [9.0, 20.0]], [1.0, 2.0]),
            ([[0.1, 20.0]], [1.0, 2.0]),
            ([[0.1, 20.0], [0.2, 20.0]], [[1.0], [2.0]]),
        ],
    )
    def test_many_at_once_are_all_refused(
        self, points: list, rewards: list, tmp_path: Path
    ) -> None:
        check_refused("box", lambda o: o.tell_all(points, rewards), tmp_path)

    def test_a_query_of_another_optimiser(self) -> None:
        one, other = Cell("line", "exact-huber").build(), Cell("box", "exact-huber").build()
        one.ask()
        with pytest.raises(sf.InvalidInput):
            one.tell(other.ask(), 1.0)
        assert len(one.pending) == 1
        with pytest.raises(sf.InvalidInput):
            one.tell(Query(0, torch.tensor([77.0], dtype=torch.float64)), 1.0)

    def test_before_the_first_reward(self) -> None:
        for part in BUILDS:
            optimizer = Cell("arms", part).build()
            with pytest.raises(sf.NotReady, match="tell"):
                optimizer.recommend()
            with pytest.raises(sf.NotReady, match="tell"):
                _ = optimizer.posterior
            assert len(optimizer.weights) == 0


class TestArms:
    """What holds on finite sets alone."""

    def test_arms_that_are_the_same_share_what_is_known(self) -> None:
        points = torch.tensor([[0.0], [0.5], [0.5], [1.0]], dtype=torch.float64)
        optimizer = gp_ucb(sf.Arms(points), sf.kernels.squared_exponential(0.2), ridge=0.01)
        for arm, reward in ((1, 1.0), (2, 3.0), (0, 0.0)):
            optimizer.tell(arm, reward)
        mean = optimizer.posterior.mean(points)
        assert float(mean[1]) == pytest.approx(float(mean[2]))
        assert float(mean[1]) == pytest.approx(2.0, abs=0.1)

    @pytest.mark.parametrize("arm", [3, np.int64(3), np.uint8(3), torch.tensor(3)], ids=repr)
    def test_an_arm_by_any_kind_of_integer(self, arm: object) -> None:
        optimizer = Cell("arms", "exact-huber").build()
        optimizer.tell(arm, 1.0)
        assert torch.equal(optimizer.history.sites, LINE[3:4])

    @pytest.mark.parametrize("arms", [[3, 4], np.array([3, 4]), torch.tensor([3, 4])], ids=repr)
    def test_many_arms_at_once(self, arms: object) -> None:
        optimizer = Cell("arms", "exact-huber").build()
        optimizer.tell_all(arms, [1.0, 2.0])
        assert torch.equal(optimizer.history.sites, LINE[3:5])

    def test_changing_what_was_handed_out_or_in_changes_nothing(self) -> None:
        points = np.linspace(0.0, 1.0, 20)[:, None]
        optimizer = gp_ucb(sf.Arms(points), sf.kernels.squared_exponential(0.2))
        points[:] = 7.0
        query = optimizer.ask()
        query.point.add_(5.0)
        torch.testing.assert_close(optimizer.space.points, LINE)

    def test_a_coordinate_that_all_arms_share(self) -> None:
        points = torch.cat([LINE, torch.full_like(LINE, 0.3)], -1)
        optimizer = robust_ucb(sf.Arms(points))
        drive(optimizer, 8)
        assert np.isfinite(optimizer.recommend().value)


class TestWeights:
    @pytest.mark.parametrize("estimator", [sf.Huber(), sf.StudentT(), sf.Truncation(MOMENT)])
    @pytest.mark.parametrize("told", [60, 1500])
    def test_a_spike_among_many_rewards_of_arms(self, estimator: object, told: int) -> None:
        """Also when the rewards of an arm are kept as quantiles."""
        noise = np.random.default_rng(0)
        optimizer = sf.Optimizer(sf.Arms(LINE), sf.kernels.matern(2.5, 0.3), estimator=estimator)
        arms = noise.integers(0, 20, told).tolist()
        rewards = noise.normal(size=told)
        rewards[7] = 1000.0
        optimizer.tell_all(arms, rewards)
        assert optimizer.weights.shape == (told,)
        assert float(optimizer.weights[7]) < 0.1
        assert float(optimizer.weights.median()) > 0.9
