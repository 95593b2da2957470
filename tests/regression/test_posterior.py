"""Posterior variances, and greedy features whose number is bounded."""

import pytest

import surefoot as sf
from support.plain_cells import FIXED_GEOMETRY, Cell, cells, noisy, points_of
from surefoot.algorithms import gp_ucb


class TestPosterior:
    """The variance falls with rewards, and greedy features keep their number."""

    @pytest.mark.long
    @pytest.mark.parametrize("cell", cells(FIXED_GEOMETRY))
    def test_variance_is_not_negative_and_falls_with_data(self, cell: Cell) -> None:
        optimizer = cell.build(ridge=0.01)
        points = points_of(optimizer.space, 12)
        optimizer.tell(points[0], 1.0)
        before = optimizer.belief().posterior.variance(points)
        for step, point in enumerate(points):
            optimizer.tell(point, noisy(point, step))
            now = optimizer.belief().posterior.variance(points)
            assert bool((now >= 0).all())
            if cell.parts.startswith("exact"):
                assert bool((now <= before + 1e-9).all())
            before = now

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
