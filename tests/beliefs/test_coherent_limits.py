"""The probability that a limit holds and the interval of its quantity are of one belief."""

from __future__ import annotations

import math

import pytest
import torch

import surefoot as sf

LINE = torch.linspace(0.0, 1.0, 33, dtype=torch.float64).unsqueeze(-1)
LIMITS = {"at most": sf.Constraint(maximum=90.0), "at least": sf.Constraint(minimum=170.0)}


def beliefs(
    limit: str, contrary: dict[float, float], number: int = 9
) -> sf.beliefs.ConstraintBelief:
    """Values about 130, which break both limits, and others that contradict them."""
    optimizer = sf.algorithms.robust_ucb(
        sf.Box([0.0], [1.0]), outcomes={"memory": LIMITS[limit]}, seed=0
    )
    for index in range(number):
        x = index / (number - 1)
        value = contrary.get(x, 130.0 + 2.0 * math.sin(9.0 * x))
        optimizer.tell([x], 1.0, outcomes={"memory": value})
    return optimizer.belief().constraints.beliefs["memory"]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("at", [0.0, 0.25, 1.0])
def test_the_interval_includes_the_limit_where_both_are_likely(limit: str, at: float) -> None:
    measured = 6.9 if limit == "at most" else 900.0
    found = beliefs(limit, {at: measured}).predict(LINE)
    bound = LIMITS[limit].maximum or LIMITS[limit].minimum
    undecided = (found.probability > 0.03) & (found.probability < 0.97)
    assert bool(undecided.any())
    assert bool(((found.lower <= bound) & (bound <= found.upper))[undecided].all())
    there = int((LINE[:, 0] - at).abs().argmin())
    assert float(found.contrary[there]) == pytest.approx(measured)
    assert float(found.probability[there]) == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("limit", LIMITS)
def test_nothing_contradicts_measurements_that_agree(limit: str) -> None:
    found = beliefs(limit, {}).predict(LINE)
    assert bool(found.contrary.isnan().all())
    assert float(found.upper.max() - found.lower.min()) < 20.0
