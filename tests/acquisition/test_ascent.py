"""Ascents of a score on the unit cube."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from scipy.optimize import minimize

from surefoot._internal import lbfgsb
from surefoot.acquisition import Credible
from surefoot.acquisition.ascent import ascend
from surefoot.algorithms import robust_ucb
from surefoot.beliefs import Candidates
from surefoot.spaces import Box

STARTS = torch.tensor([[0.05, 0.3, 0.9], [0.6, 0.8, 0.2], [1.0, 0.0, 0.5]], dtype=torch.float64)
CENTRES = torch.tensor([[0.2, 0.9, 0.4], [0.7, 0.1, -0.5], [0.5, 0.5, 0.5]], dtype=torch.float64)


def hills(points: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
    """Another hill for each start."""
    off = (points - CENTRES[start]) * torch.tensor([1.0, 3.0, 0.5])
    return torch.exp(-off.square().sum(-1)) + 0.1 * points.prod(-1)


@pytest.mark.parametrize("free", [[0, 1, 2], [0, 2], [1]])
def test_each_start_arrives_where_scipy_does(free):
    found = ascend(hills, STARTS, free, 100)
    for index, start in enumerate(STARTS):

        def loss(values, index=index, start=start):
            point = start.clone()
            point[free] = torch.from_numpy(values)
            return -float(hills(point.unsqueeze(0), torch.tensor([index])))

        best = minimize(loss, start[free].numpy(), bounds=[(0.0, 1.0)] * len(free), tol=1e-12).x
        assert found[index, free].numpy() == pytest.approx(best, abs=1e-4)


@pytest.mark.parametrize("steps", [3, 100])
def test_scipy_without_its_step_gives_the_same(monkeypatch, steps):
    """Searches side by side are those of `minimize` one by one."""
    assert lbfgsb._scipy_step() is not None
    together = ascend(hills, STARTS, [0, 1, 2], steps)
    monkeypatch.setattr(lbfgsb, "_scipy_step", lambda: None)
    alone = ascend(hills, STARTS, [0, 1, 2], steps)
    assert alone.numpy() == pytest.approx(together.numpy(), abs=1e-9)
    assert not torch.equal(together, STARTS)


@pytest.mark.parametrize("step", [None, lambda: None, lambda *arguments: None])
def test_another_step_of_scipy_is_not_used(monkeypatch, step):
    monkeypatch.setattr("scipy.optimize._lbfgsb.setulb", step)
    assert lbfgsb._scipy_step.__wrapped__() is None


def test_other_coordinates_and_starts_stay():
    before = STARTS.clone()
    found = ascend(hills, STARTS, [1], 100)
    assert torch.equal(found[:, [0, 2]], STARTS[:, [0, 2]])
    assert torch.equal(STARTS, before)
    assert ((found >= 0.0) & (found <= 1.0)).all()


@pytest.mark.parametrize("value", [1.0, torch.nan])
def test_a_score_without_slope_or_value_leaves_the_starts(value):
    found = ascend(lambda points, start: value * torch.ones(len(points)), STARTS, [0, 1, 2], 10)
    assert torch.equal(found, STARTS)


def test_a_slope_that_is_not_a_number_ends_the_ascent_of_its_start():
    def partly(points: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return torch.where(start == 1, torch.nan, 1.0) * hills(points, start)

    found = ascend(partly, STARTS, [0, 1, 2], 100)
    assert torch.equal(found[1], STARTS[1])
    others = ascend(hills, STARTS, [0, 1, 2], 100)[[0, 2]]
    assert found[[0, 2]].numpy() == pytest.approx(others.numpy(), abs=1e-9)


def test_a_score_may_integrate_over_the_hyperparameters():
    """The lower end of the credible interval, as a column: the design that is surely best."""

    def surest(candidates: Candidates, generator: torch.Generator):
        belief = candidates.belief
        band = Credible()(belief.outcome, belief.band)
        credible = candidates.of(replace(belief, band=band))
        return lambda x: credible.bounds(x).lower

    optimizer = robust_ucb(Box([0.0, 0.0], [1.0, 1.0]), policy=surest)
    queries = torch.rand(15, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    optimizer.tell_all(queries, -(queries - 0.4).square().sum(-1))
    assert optimizer.ask().point.numpy() == pytest.approx([0.4, 0.4], abs=0.05)


@pytest.mark.parametrize("unit", [2.0**-300, 2.0**-20, 2.0**300])
def test_an_ascent_does_not_depend_on_the_unit_of_the_score(unit: float) -> None:
    found = ascend(lambda points, start: unit * hills(points, start), STARTS, [0, 1, 2], 100)
    assert torch.equal(found, ascend(hills, STARTS, [0, 1, 2], 100))


def test_an_ascent_does_not_depend_on_the_zero_of_the_score() -> None:
    """But for rounding: a change of 1e-10 is lost beside 1e6."""
    found = ascend(lambda points, start: 1e6 + hills(points, start), STARTS, [0, 1, 2], 100)
    expected = ascend(hills, STARTS, [0, 1, 2], 100)
    assert found.numpy() == pytest.approx(expected.numpy(), abs=1e-3)


def test_a_start_at_a_maximum_stays_and_does_not_stop_the_others() -> None:
    starts = torch.cat([CENTRES[2:], STARTS[:2]]).clamp(0.0, 1.0)

    def hill(points: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return -1e-9 * (points - 0.5).square().sum(-1)

    assert ascend(hill, starts, [0, 1, 2], 100).numpy() == pytest.approx(0.5, abs=1e-6)
