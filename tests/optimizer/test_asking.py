"""Queries of plain spaces: seeds, and boxes of listed values."""

import pytest
import torch

from support.plain_cells import Cell, drive, feasible


@pytest.mark.long
@pytest.mark.parametrize("space", ["line", "box", "mixed"])
def test_another_seed_gives_another_run(space: str) -> None:
    cell = Cell(space, "exact-huber")
    assert not torch.equal(drive(cell.build(0), 2), drive(cell.build(1), 2))


@pytest.mark.long
@pytest.mark.parametrize("part", ["exact-least_squares", "nystrom-adaptive", "batches-huber"])
def test_queries_of_a_box_whose_coordinates_are_all_listed(part: str) -> None:
    optimizer = Cell("listed", part).build()
    for point in drive(optimizer, 8):
        assert feasible(optimizer.space, point)
    for query in optimizer.ask_batch(2):
        assert feasible(optimizer.space, query.point)
    assert feasible(optimizer.space, optimizer.recommend().point)
