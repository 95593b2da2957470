"""Ada-BKB against its algorithm, written out in `reference.adaptive_partition`."""

import copy
import itertools
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import covariance
from reference.adaptive_partition import AdaBkb, Node
from surefoot.acquisition import AdaptivePartition
from surefoot.acquisition.partition import Partition
from surefoot.algorithms import ada_bkb

ROUNDS, RIDGE = 60, 0.01
UNIT = sf.Box([0.0, 0.0], [1.0, 1.0])
SMOOTH = sf.kernels.squared_exponential(0.3)
GIVEN: dict[str, Any] = {"noise": 0.2, "norm_bound": 1.0, "oversampling": 5.0, "ridge": 0.1}

Case = tuple[sf.Box, Any, covariance.Pointwise, list[float], int, int, float]
CASES: dict[str, Case] = {
    "line": (
        sf.Box([-1.0], [2.0]),
        sf.kernels.squared_exponential(0.5),
        covariance.squared_exponential(np.array([0.5])),
        [0.5],
        3,
        20,
        0.05,
    ),
    "plane": (
        sf.Box([0.0, 10.0], [1.0, 14.0]),
        sf.kernels.matern(2.5, [0.4, 2.0]),
        covariance.matern_five_halves(np.array([0.4, 2.0])),
        [0.4, 2.0],
        2,
        20,
        0.02,
    ),
    "shallow": (
        sf.Box([0.0, 0.0], [1.0, 1.5]),
        sf.kernels.matern(0.8, 0.7),
        covariance.matern(0.8, np.array([0.7])),
        [0.7, 0.7],
        3,
        4,
        0.1,
    ),
}


def value(x: np.ndarray) -> float:
    return math.sin(3.0 * x.sum()) * math.exp(-0.1 * x[0] ** 2)


def run(optimizer: sf.Optimizer, rounds: int, seed: int = 0) -> list[list[float]]:
    noise = np.random.default_rng(seed)
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        asked.append(query.point.tolist())
        optimizer.tell(query, value(query.point.numpy()) + 0.1 * noise.normal())
    return asked


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_the_points_are_those_of_the_paper(name: str) -> None:
    box, kernel, formula, lengthscale, branching, depth, xi = CASES[name]
    optimizer = ada_bkb(
        box, kernel, noise=xi, norm_bound=1.0, oversampling=1e12, ridge=RIDGE, branching=branching,
        max_depth=depth, width=sf.widths.bkb(1.0, xi),
    )  # fmt: skip
    root = Node(box.lower.numpy(), box.upper.numpy())
    literal = AdaBkb(
        formula, np.array(lengthscale), 1.0, xi, 0.1, 0.5, RIDGE, branching, depth, [root]
    )
    noise = np.random.default_rng(3)
    for turn in range(ROUNDS):
        query = optimizer.ask()
        x = query.point.numpy()
        if turn > 0:
            np.testing.assert_allclose(x, literal.choose(), atol=1e-9, err_msg=str(turn))
            assert optimizer.width * math.sqrt(RIDGE) == pytest.approx(literal.beta, rel=1e-6)
            assert len(optimizer._memory["cells"]) == len(literal.leaves)
        y = value(x) + xi * noise.normal()
        optimizer.tell(query, y)
        literal.measure(x, y)
    assert len(literal.leaves) > 4
    levels = {leaf.level for leaf in literal.leaves}
    assert len(levels) > 1


class TestPartition:
    @pytest.mark.daily(1)
    @pytest.mark.slow
    @pytest.mark.parametrize("branching", [2, 3, 5])
    def test_cells_of_a_depth_cover_the_box(self, branching: int) -> None:
        box = sf.Box([0.0, -3.0], [1.0, 5.0])
        scales = torch.tensor([0.3, 1.0], dtype=torch.float64)
        partition = Partition.of(box, scales, branching, 3)
        cells = Partition.root(box)
        for depth in range(3):
            children = torch.cat([partition.children(cell) for cell in cells])
            assert torch.equal(partition.parents(children), cells.repeat_interleave(branching, 0))
            cells = children
            half, at = partition.half_sides[depth + 1], partition.centroids(cells)
            assert float((2 * half).prod() * len(cells)) == pytest.approx(8.0)
            low, high = (at - half).min(0).values, (at + half).max(0).values
            torch.testing.assert_close(low, box.lower)
            torch.testing.assert_close(high, box.upper)
            apart = torch.cdist(at / (2 * half), at / (2 * half), p=torch.inf)
            apart.fill_diagonal_(1.0)
            assert float(apart.min()) == pytest.approx(1.0)

    def test_the_middle_child_has_the_center_of_its_parent_to_the_last_bit(self) -> None:
        box = sf.Box([0.1, -0.7], [1.7, 2.9])
        partition = Partition.of(box, torch.ones(2), 3, 30)
        cell = Partition.root(box)[0]
        for step in range(30):
            children = partition.children(cell)
            centers = partition.centroids(torch.cat([cell[None], children]))
            assert torch.equal(centers[0], centers[2])
            cell = children[step % 3]
            assert box.contains(centers[1 + step % 3], slack=0.0)

    @pytest.mark.parametrize("nu", [0.5, 0.8, 2.5, None])
    def test_a_function_of_norm_one_varies_by_no_more_than_the_metric(
        self, nu: float | None
    ) -> None:
        kernel = sf.kernels.matern(nu, [0.3, 0.7]) if nu else SMOOTH
        world = np.random.default_rng(0)
        offsets = torch.from_numpy(np.abs(world.normal(size=(20, 2))))
        bounds = sf.kernels.variation(kernel, offsets)
        centers = torch.from_numpy(world.normal(size=(6, 2)))
        coefficients = torch.from_numpy(world.normal(size=6))
        norm = (coefficients @ sf.kernels.block(kernel, centers, centers) @ coefficients).sqrt()
        for offset, bound in zip(offsets, bounds, strict=True):
            x = torch.from_numpy(world.normal(size=(30, 2)))
            share = torch.from_numpy(world.uniform(-1, 1, size=(30, 2)))
            f, g = (
                sf.kernels.block(kernel, at, centers) @ coefficients / norm
                for at in (x, x + share * offset)
            )
            assert float((f - g).abs().max()) <= float(bound) + 1e-12


class TestRuns:
    @pytest.mark.daily(1)
    @pytest.mark.slow
    @pytest.mark.parametrize(
        "estimator",
        [
            None,
            *(
                pytest.param(robust, marks=pytest.mark.slow)
                for robust in (sf.Huber(), sf.StudentT())
            ),
        ],
        ids=str,
    )
    def test_it_finds_the_maximum(self, estimator: Any) -> None:
        box = sf.Box([0.0, 0.0], [1.0, 1.0])
        center = np.array([0.31, 0.77])
        optimizer = ada_bkb(box, SMOOTH, estimator=estimator, scale=0.3, **GIVEN)
        noise = np.random.default_rng(0)
        for _ in range(60):
            query = optimizer.ask()
            f = math.exp(-(((query.point.numpy() - center) / 0.3) ** 2).sum() / 2)
            optimizer.tell(query, f + 0.1 * noise.normal())
        assert np.abs(optimizer.recommend().point.numpy() - center).max() < 0.1

    @pytest.mark.slow
    def test_looking_saving_and_copying_change_nothing(self, tmp_path: Path) -> None:
        plain, watched = (ada_bkb(UNIT, SMOOTH, **GIVEN) for _ in range(2))
        run(plain, 25)
        run(watched, 25)
        cells = watched._memory["cells"].clone()
        watched.recommend()
        watched.belief().posterior.mean([[0.2, 0.3]])
        watched.belief().predict([[0.2, 0.3]])
        watched.policy.choose(watched._searching(), None, watched._state.cloned)
        assert torch.equal(watched._memory["cells"], cells)
        watched.save(tmp_path / "run")
        loaded = sf.Optimizer.load(tmp_path / "run")
        others = [watched, loaded, pickle.loads(pickle.dumps(watched)), copy.deepcopy(watched)]
        expected = run(plain, 15, seed=1)
        for other in others:
            assert run(other, 15, seed=1) == expected
            assert torch.equal(other._memory["cells"], plain._memory["cells"])
        assert len(plain._memory["cells"]) > 1

    def test_a_batch_spreads_out(self) -> None:
        optimizer = ada_bkb(UNIT, SMOOTH, scale=0.3, **GIVEN)
        run(optimizer, 20)
        points = [query.point for query in optimizer.ask_batch(6)]
        assert len({tuple(point.tolist()) for point in points}) > 1

    def test_points_that_are_no_centers_may_be_told_and_listed_ones_asked(self) -> None:
        optimizer = ada_bkb(UNIT, SMOOTH, **GIVEN)
        for x in np.random.default_rng(0).uniform(size=(8, 2)):
            optimizer.tell(x, value(x))
        cells = optimizer._memory.get("cells")
        listed = [[0.123, 0.456], [0.9, 0.1]]
        assert optimizer.ask(arms=listed).point.tolist() in listed
        assert optimizer._memory.get("cells") is cells
        run(optimizer, 5)

    @pytest.mark.slow
    def test_it_moves_on_where_measurements_fail(self) -> None:
        optimizer = ada_bkb(UNIT, SMOOTH, scale=0.3, **GIVEN)
        run(optimizer, 3)
        failures = 0
        for _ in range(40):
            query = optimizer.ask()
            if query.point[0] < 0.6:
                optimizer.forget(query)
                failures += 1
            else:
                optimizer.tell(query, float(query.point[1]))
        assert failures < 25
        assert optimizer.recommend().point[0] >= 0.5


def refused(build: Callable[[], Any], match: str) -> None:
    with pytest.raises(sf.InvalidInput, match=match):
        build()


class TestBadInput:
    @pytest.mark.parametrize(
        ("parts", "match"),
        [
            ({"branching": 1}, "`branching` is 1"),
            ({"branching": 2.0}, "`branching` is 2.0"),
            ({"max_depth": 0}, "`max_depth` is 0"),
            ({"max_depth": 200}, "`max_depth` = 200 make more than 2.51"),
            ({"norm_bound": None}, "`norm_bound` is None"),
            ({"norm_bound": -1.0}, "`norm_bound` is -1.0"),
            ({"noise": -1.0}, "noise"),
            ({"scale": 0.0}, "`scale` is 0.0"),
            ({"oversampling": 0.5}, "oversampling"),
            ({"width": sf.widths.constant(1.0), "scale": 0.5}, "scale"),
        ],
        ids=str,
    )
    def test_arguments_out_of_range(self, parts: dict[str, Any], match: str) -> None:
        refused(lambda: ada_bkb(UNIT, SMOOTH, **{**GIVEN, **parts}), match)

    @pytest.mark.parametrize(
        "kernel",
        [
            sf.kernels.linear(),
            sf.kernels.custom(lambda a, b: a @ b.T),
            sf.kernels.scaled(sf.kernels.linear(), 2.0),
            "rbf",
        ],
        ids=["linear", "custom", "scaled-linear", "name"],
    )
    def test_kernels_whose_variation_is_not_known(self, kernel: Any) -> None:
        refused(lambda: ada_bkb(UNIT, kernel, **GIVEN), "`kernel` is .* expected")

    def test_lengthscales_of_another_number_of_coordinates(self) -> None:
        kernel = sf.kernels.matern(2.5, [0.1, 0.2, 0.3])
        refused(lambda: ada_bkb(UNIT, kernel, **GIVEN), "3 lengthscales")

    @pytest.mark.parametrize(
        "space",
        [
            sf.Arms([[0.0, 0.0], [1.0, 1.0]]),
            sf.Box([0.0, 0.0], [1.0, 1.0], levels={0: [0.0, 1.0]}),
            sf.Box([0.0, 0.0], [1.0, 1.0], choices=[(0, 1)]),
            "box",
        ],
        ids=["arms", "levels", "choices", "name"],
    )
    def test_spaces_that_it_cannot_split(self, space: Any) -> None:
        refused(lambda: ada_bkb(space, SMOOTH, **GIVEN), "expected.*`Box`")

    def test_a_partition_that_would_not_end_is_refused_and_changes_nothing(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("surefoot.acquisition.adaptive_partition._MOST_CELLS", 200)
        policy = AdaptivePartition(SMOOTH, 100.0)
        optimizer = sf.Optimizer(UNIT, SMOOTH, policy=policy, width=sf.widths.constant(0.1))
        optimizer.tell([0.2, 0.3], 1.0)
        for _ in range(2):
            refused(optimizer.ask, "more than 200 cells: `norm_bound` = 100.0")
            assert optimizer.pending == []
            assert optimizer._memory == {}

    def test_a_cell_that_would_be_split_into_too_many_is_refused(self) -> None:
        optimizer = ada_bkb(UNIT, SMOOTH, branching=10**9, max_depth=2, **GIVEN)
        optimizer.tell_all([[0.5, 0.5]] * 50, [1.0] * 50)
        refused(optimizer.ask, "`branching` = 1000000000")

    @pytest.mark.slow
    def test_a_policy_of_another_depth_goes_on_with_the_partition(self, tmp_path: Path) -> None:
        optimizer = ada_bkb(UNIT, SMOOTH, scale=0.1, **GIVEN)
        run(optimizer, 30)
        optimizer.save(tmp_path / "run")
        loaded = sf.Optimizer.load(tmp_path / "run", policy=AdaptivePartition(SMOOTH, 0.1, 3, 1))
        run(loaded, 3)
        assert len(loaded._memory["cells"]) >= len(optimizer._memory["cells"])


def test_scaled_kernels_scale_the_variation() -> None:
    offsets = torch.tensor([[0.1, 0.0], [0.2, 0.3]], dtype=torch.float64)
    plain = sf.kernels.variation(SMOOTH, offsets)
    scaled = sf.kernels.variation(sf.kernels.scaled(SMOOTH, 4.0), offsets)
    torch.testing.assert_close(scaled, 2.0 * plain)
    pairs = itertools.pairwise(sf.kernels.variation(SMOOTH, offsets * s)[1] for s in (0.1, 1, 10))
    assert all(a < b for a, b in pairs)
