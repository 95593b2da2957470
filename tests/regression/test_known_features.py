"""Features that are known from the sample before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.regression import known_features
from surefoot.regression.known_features import KnownFeatures
from surefoot.regression.ridge import RidgeFactor

KERNEL = sf.kernels.squared_exponential(0.4)
SITES = torch.from_numpy(np.random.default_rng(0).random((90, 2)))
COUNTS = torch.from_numpy(np.random.default_rng(1).integers(1, 4, 90).astype(float))
MAP = NystromEmbedding.of(KERNEL, SITES[:6])


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_features, "_BLOCK", 16)


def test_they_are_those_of_all_sites_at_once() -> None:
    known = KnownFeatures()
    for number in (20, 21, 40, 90, 30):
        features, residual = known.of(MAP, SITES[:number])
        torch.testing.assert_close(features, MAP(SITES[:number]))
        torch.testing.assert_close(residual, MAP.residual(SITES[:number], features))
        factor = known.factor(0.3, COUNTS[:number])
        expected = RidgeFactor.of(features, 0.3, COUNTS[:number])
        torch.testing.assert_close(factor.gram, expected.gram)


def test_counts_that_change_count_anew() -> None:
    known = KnownFeatures()
    features, _ = known.of(MAP, SITES)
    for changed in (0, 50, 89):
        counts = COUNTS.clone()
        counts[changed] += 2.0
        expected = RidgeFactor.of(features, 0.3, counts)
        torch.testing.assert_close(known.factor(0.3, counts).gram, expected.gram)


@pytest.mark.parametrize("other", [SITES.flip(0), SITES[:50].flip(0)])
def test_other_sites_and_other_maps_are_computed_anew(other: torch.Tensor) -> None:
    known = KnownFeatures()
    known.of(MAP, SITES)
    torch.testing.assert_close(known.of(MAP, other)[0], MAP(other))
    wider = NystromEmbedding.of(KERNEL, SITES[:9])
    assert known.of(wider, other)[0].shape == (len(other), 9)


def test_when_sites_came_changes_no_bit_and_no_earlier_sample() -> None:
    at_once, one_by_one = KnownFeatures(), KnownFeatures()
    features, residual = at_once.of(MAP, SITES)
    gram = at_once.factor(0.3, COUNTS).gram
    seen = []
    for number in range(17, 91):
        rows = one_by_one.of(MAP, SITES[:number])[0]
        seen.append((rows, rows.clone()))
        one_by_one.factor(0.3, COUNTS[:number])
    found = one_by_one.of(MAP, SITES)
    assert torch.equal(found[0], features)
    assert torch.equal(found[1], residual)
    assert torch.equal(one_by_one.factor(0.3, COUNTS).gram, gram)
    assert all(torch.equal(rows, then) for rows, then in seen)


@pytest.mark.parametrize(
    "parts",
    [
        {"kernel": KERNEL, "features": sf.Dictionary(SITES[:6])},
        {"kernel": KERNEL, "features": sf.Nystrom(sf.PivotedCholesky(6))},
        {"kernel": KERNEL, "features": sf.RandomFourier(8), "estimator": sf.Huber()},
    ],
)
def test_a_run_beyond_a_block_is_the_same_after_save_and_load(parts: Any, tmp_path: Any) -> None:
    optimizer = sf.Optimizer(sf.Box([0.0, 0.0], [1.0, 1.0]), ridge=0.1, **parts)
    for point in SITES[:40]:
        optimizer.tell(point, float(point.sum()))
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run", **{k: parts[k] for k in ("kernel",)})
    for point in SITES[40:44]:
        for one in (optimizer, loaded):
            one.tell(point, float(point.sum()))
        queries = optimizer.ask(), loaded.ask()
        assert torch.equal(queries[0].point, queries[1].point)
        means = [one.belief().posterior.mean(SITES) for one in (optimizer, loaded)]
        assert torch.equal(*means)


@pytest.mark.parametrize(
    "parts",
    [
        {"features": sf.Dictionary(SITES[:6])},
        {"features": sf.Nystrom(sf.PivotedCholesky(9)), "estimator": sf.Huber()},
        {"estimator": sf.Truncation(sf.Moment(alpha=1.0, bound=4.0))},
    ],
)
def test_the_best_of_many_designs_are_those_of_largest_mean(parts: Any) -> None:
    optimizer = sf.Optimizer(sf.Box([0.0, 0.0], [1.0, 1.0]), KERNEL, ridge=0.1, **parts)
    optimizer.tell_all(SITES, torch.sin(5.0 * SITES).sum(-1))
    belief = optimizer.belief()
    best = belief.best_designs(7)
    means = belief.mean(SITES).sort(descending=True).values
    torch.testing.assert_close(belief.mean(best).sort(descending=True).values, means[:7])
    assert torch.equal(belief.best_designs(90), SITES)
