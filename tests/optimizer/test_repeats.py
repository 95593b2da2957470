"""Queries that are to be measured several times."""

from pathlib import Path

import numpy as np
import pytest

import surefoot as sf
from support.batched_runs import PLANE, batched, value
from surefoot.acquisition import Plan
from surefoot.hyperparameters import GivenHyperparameters


class TestRepeats:
    @pytest.mark.long
    @pytest.mark.parametrize(
        "part",
        ["batches", "exact", "sketch"],
    )
    def test_the_variance_falls_by_the_factor(self, part: str) -> None:
        features = {
            "exact": sf.Exact(),
            "sketch": sf.Dictionary(PLANE[::4]),
            "batches": sf.Nystrom(sf.LeverageSampling(3.0, resample="adaptive")),
        }[part]
        optimizer = batched(
            features,
            plan=Plan(repeat_until=2.0),
            estimator=sf.StudentT(),
            width=sf.widths.constant(0.3),
        )
        noise, seen = np.random.default_rng(5), []
        while len(optimizer.history) < 300:
            query = optimizer.ask()
            point = query.point.unsqueeze(0)
            for count in range(query.repeats):
                assert [q.id for q in optimizer.pending] == [query.id], count
                optimizer.tell(query, value(query.point) + 0.1 * noise.normal())
            assert optimizer.pending == []
            seen.append((query.repeats, float(optimizer.belief().posterior.variance(point))))
        assert max(repeats for repeats, _ in seen) > 3
        if part == "exact":
            before = batched(sf.Exact(), plan=Plan(repeat_until=2.0))
            before.tell_all([5] * 50 + [90] * 10, [0.0] * 60)
            query = before.ask(arms=[5])
            old = float(before.belief().posterior.variance(PLANE[5:6]))
            for _ in range(query.repeats):
                before.tell(query, 0.0)
            new = float(before.belief().posterior.variance(PLANE[5:6]))
            assert 0.9 * old / 2.0 <= new <= old / 2.0 * (1 + 1e-9)

    def test_missing_measurements_are_saved_and_lower_the_variance(self, tmp_path: Path) -> None:
        optimizer = batched(sf.Exact(), plan=Plan(repeat_until=3.0))
        optimizer.tell_all(list(range(40)), [0.1] * 40)
        query = optimizer.ask(arms=[7])
        assert query.repeats > 1
        optimizer.tell(query, 0.2)
        optimizer.save(tmp_path / "run")
        loaded = sf.Optimizer.load(tmp_path / "run")
        assert loaded.ask().arm == optimizer.ask().arm
        for _ in range(query.repeats - 1):
            loaded.tell(query, 0.2)
        assert query.id not in [q.id for q in loaded.pending]

    @pytest.mark.parametrize("factor", [0.5, 0.0, float("nan"), "2"])
    def test_a_factor_that_is_none(self, factor: object) -> None:
        with pytest.raises(sf.InvalidInput, match="repeat_until"):
            Plan(repeat_until=factor)


def test_tiny_rewards_can_be_repeated() -> None:
    optimizer = sf.Optimizer(
        sf.Arms([[0.0], [0.5], [1.0]]),
        sf.Method(
            GivenHyperparameters(sf.kernels.squared_exponential(0.2), 1.0, standardise=True),
            plan=Plan(repeat_until=2.0),
        ),
    )
    for reward in (1e-200, 2e-200, 3e-200, -1e-200):
        optimizer.tell(optimizer.ask(), reward)
    assert optimizer.ask().repeats >= 1
