"""Queries among arms or points that are given each round."""

from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from support.batched_runs import batched, play, value
from surefoot.spaces.locations import designs_of


class TestArmsOfARound:
    @pytest.mark.long
    @pytest.mark.parametrize("part", ["exact", "sketch", "batches"])
    def test_only_these_are_asked(self, part: str) -> None:
        features = {
            "exact": sf.Exact(),
            "sketch": sf.Nystrom(sf.LeverageSampling(2.0)),
            "batches": sf.Nystrom(sf.LeverageSampling(2.0, resample="adaptive")),
        }[part]
        optimizer, draws = batched(features), np.random.default_rng(3)
        for turn in range(40):
            among = draws.choice(120, 7, replace=False)
            query = optimizer.ask(arms=among)
            assert query.arm in among
            optimizer.tell(query, value(query.point))
            if turn > 20:
                free = optimizer.ask(arms=range(120))
                assert free.arm is not None
                optimizer.forget(free, failed=False)

    def test_points_of_a_box_that_were_never_seen(self) -> None:
        kernel = sf.kernels.squared_exponential(0.3)
        box = sf.Box([0.0, 0.0], [1.0, 1.0])
        optimizer = sf.Optimizer(
            box, sf.Method(kernel, features=sf.Nystrom(sf.LeverageSampling(3.0)), ridge=0.01)
        )
        generator, better = torch.Generator().manual_seed(4), 0
        for turn in range(60):
            arms = torch.rand(10, 2, dtype=torch.float64, generator=generator)
            query = optimizer.ask(arms=arms)
            assert query.arm is None
            assert bool((arms == query.point).all(-1).any())
            optimizer.tell(query, value(query.point))
            if turn >= 30:
                better += value(query.point) >= sorted(map(value, arms))[-3]
        assert better >= 25

    @pytest.mark.parametrize("arms", [[], [120], [-1], [0.5], 3, "ab", [[1]]], ids=repr)
    def test_what_is_no_set_of_arms(self, arms: object, tmp_path: Path) -> None:
        optimizer = batched()
        play(optimizer, 3)
        optimizer.save(tmp_path / "before")
        with pytest.raises(sf.InvalidInput):
            optimizer.ask(arms=arms)
        optimizer.save(tmp_path / "after")
        assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()

    @pytest.mark.parametrize("arms", [[], [0.5, 0.5], [[0.5]], [[0.5, 2.0]]], ids=repr)
    def test_what_are_no_points_of_the_box(self, arms: object) -> None:
        box = sf.Box([0.0, 0.0], [1.0, 1.0])
        optimizer = sf.Optimizer(box, sf.Method(sf.kernels.squared_exponential(0.3)))
        with pytest.raises(sf.InvalidInput):
            optimizer.ask(arms=arms)


def test_points_together_are_those_one_by_one() -> None:
    box = sf.Box([0.1, -1.0], [0.7, 1.0])
    edge = torch.tensor([0.1, 0.7], dtype=torch.float32).to(torch.float64)
    rows = torch.tensor([[0.1, -0.0], [0.7, 1.0], [0.3, -1.0]], dtype=torch.float64)
    points = torch.cat([rows, torch.stack([edge, torch.zeros(2, dtype=torch.float64)], -1)])
    together = torch.stack([one.point for one in box.listed(points)])
    alone = torch.stack([box.locate(point).point for point in points])
    assert torch.equal(together, alone)
    assert torch.equal(designs_of(list(box.listed(points))), designs_of(box.listed(points)))
    assert torch.equal(designs_of(box.listed(points)[1:3]), alone[1:3])
    assert not bool(together.signbit()[0, 1])
    with pytest.raises(sf.InvalidInput, match=r"arms\[1\]"):
        box.listed(torch.tensor([[0.3, 0.0], [0.8, 0.0]]))


def test_a_query_does_not_keep_the_points_that_were_not_chosen() -> None:
    box = sf.Box([0.0, 0.0], [1.0, 1.0])
    kernel = sf.kernels.squared_exponential(0.3)
    optimizer = sf.Optimizer(box, sf.Method(kernel, features=sf.RandomFourier(8), ridge=0.1))
    optimizer.tell([0.5, 0.5], 1.0)
    points = np.random.default_rng(0).random((500, 2))
    query = optimizer.ask(arms=points)
    assert query.point.untyped_storage().nbytes() == 16
    assert query.point.tolist() in points.tolist()
