"""Optimisers on finite sets of arms."""

import numpy as np
import pytest
import torch

import surefoot as sf
from support.plain_cells import LINE, Cell, drive
from surefoot.algorithms import gp_ucb, robust_ucb


class TestArms:
    """What holds on finite sets alone."""

    def test_arms_that_are_the_same_share_what_is_known(self) -> None:
        points = torch.tensor([[0.0], [0.5], [0.5], [1.0]], dtype=torch.float64)
        optimizer = gp_ucb(sf.Arms(points), sf.kernels.squared_exponential(0.2), ridge=0.01)
        for arm, reward in ((1, 1.0), (2, 3.0), (0, 0.0)):
            optimizer.tell(arm, reward)
        mean = optimizer.belief().posterior.mean(points)
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
