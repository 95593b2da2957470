"""Queries of plain spaces: seeds, and boxes of listed values."""

import pytest
import torch

import surefoot as sf
from plain_cells import Cell, drive, feasible
from surefoot.algorithms import robust_ucb


@pytest.mark.parametrize("space", ["line", "box", "mixed"])
def test_another_seed_gives_another_run(space: str) -> None:
    cell = Cell(space, "exact-huber")
    assert not torch.equal(drive(cell.build(0), 2), drive(cell.build(1), 2))


@pytest.mark.parametrize("part", ["exact-least_squares", "nystrom-adaptive", "batches-huber"])
def test_queries_of_a_box_whose_coordinates_are_all_listed(part: str) -> None:
    optimizer = Cell("listed", part).build()
    for point in drive(optimizer, 8):
        assert feasible(optimizer.space, point)
    for query in optimizer.ask_batch(2):
        assert feasible(optimizer.space, query.point)
    assert feasible(optimizer.space, optimizer.recommend().point)


@pytest.mark.parametrize("box", [sf.Box([0.0], [10.0], levels={0: [1, 2, 5, 10]}), None])
def test_a_measured_point_that_is_not_of_the_space_is_not_recommended(box: sf.Box | None) -> None:
    if box is None:
        box, points = sf.Box([0.0, 0.0], [1.0, 1.0], choices=[[0, 1]]), [[0.5, 0.5], [0, 1], [1, 1]]
    else:
        points = [[3.3], [1.0], [10.0]]
    optimizer = robust_ucb(box)
    for point, reward in zip(points, (3.0, 1.0, 0.0), strict=True):
        optimizer.tell(point, reward)
    best = optimizer.recommend().point
    assert torch.equal(best, box.snap(best[None])[0])
