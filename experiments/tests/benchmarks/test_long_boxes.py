"""Searches of a thousand measurements: trust regions shrink and start anew; a trial has a row."""

import pytest
import torch

from surefoot_experiments.benchmarks import long_boxes
from surefoot_experiments.benchmarks.long_boxes import BATCH, METHODS, SHORTEST
from surefoot_experiments.harness.trial import Trial
from surefoot_experiments.problems import hartmann


def told(region: long_boxes.Process, best: list[float]) -> list[float]:
    """The side after each of several batches that have a best value."""
    sides = []
    for value in best:
        region._asked = torch.full((BATCH, 6), 0.5, dtype=torch.float64)
        region.tell(torch.linspace(value - 1.0, value, BATCH, dtype=torch.float64))
        sides.append(region._side)
    return sides


def test_trust_regions_grow_after_three_successes_and_start_anew_when_they_are_short() -> None:
    region = long_boxes.Process(hartmann(), 0, long_boxes.exact, local=True)
    assert told(region, [1.0, 2.0, 3.0, 4.0]) == [0.8, 0.8, 0.8, 1.6]
    sides = told(region, [4.0] * 8)
    assert sides[:3] == [0.8, 0.4, 0.2]
    assert min(sides[:-1]) >= SHORTEST
    assert sides[-1] == 0.8
    assert len(region._points) == 12 * BATCH  # and recommends one of all


@pytest.mark.long
@pytest.mark.parametrize("method", [name for name in METHODS if name != "SMAC"])
def test_a_search_has_one_row(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(long_boxes, "BATCH", 4)
    row = long_boxes.run(Trial(0, 24, 0, case=f"hartmann-6 gaussian {method}"))["runs"][0]
    assert (row["problem"], row["noise"], row["method"]) == ("hartmann-6", "gaussian", method)
    assert 0.0 <= row["after all"] < 20.0
    assert 0.0 < row["last"] < 20.0
