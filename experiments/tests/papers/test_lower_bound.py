"""Regret on hard instances: claims that hold where they should, and fail where they should."""

import pandas as pd
import pytest

from surefoot_experiments import Trial
from surefoot_experiments.harness.trial import NUMBERS, Tables
from surefoot_experiments.papers.lower_bound import METHODS, checks, horizons, run


@pytest.fixture(scope="module")
def tables() -> Tables:
    """Two trials of few rounds."""
    trials = [run(Trial(number, 32, 0)) for number in range(2)]
    return {
        name: pd.concat(
            [pd.DataFrame(rows[name]).assign(trial=i) for i, rows in enumerate(trials)],
            ignore_index=True,
        )
        for name in (NUMBERS, "bounds")
    }


@pytest.mark.long
def test_every_horizon_has_its_own_family(tables: Tables) -> None:
    assert horizons(32) == [2, 4, 8, 16, 32]
    assert horizons(1) == [1]
    bounds = tables["bounds"]
    for _, own in bounds[bounds["trial"] == 0].groupby("task"):
        assert own["gap"].is_monotonic_decreasing
        assert own["bound"].is_monotonic_increasing
    numbers = tables[NUMBERS]
    assert len(numbers) == 2 * 3 * 5 * len(METHODS)


@pytest.mark.long
def test_claims_follow_the_numbers(tables: Tables) -> None:
    held = {check.claim: check.holds for check in checks(tables)}
    assert len(held) == 9
    assert all(holds for claim, holds in held.items() if "lower bound" in claim)
    better = tables[NUMBERS].assign(regret=0.1 * tables["bounds"]["bound"].min())
    failed = checks({**tables, NUMBERS: better})
    assert not any(check.holds for check in failed)
