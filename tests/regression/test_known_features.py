"""Features that are known from the sample before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from support.optimizers import optimizer_of
from surefoot.features.nystrom_embedding import NystromEmbedding
from surefoot.regression import known_features, products
from surefoot.regression.known_features import KnownFeatures
from surefoot.regression.products import AT_ONCE

KERNEL = sf.kernels.squared_exponential(0.4)
SITES = torch.from_numpy(np.random.default_rng(0).random((90, 2)))
COUNTS = torch.from_numpy(np.random.default_rng(1).integers(1, 4, 90).astype(float))
MAP = NystromEmbedding.of(KERNEL, SITES[:6])


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_features, "ROWS_AT_ONCE", 16)
    monkeypatch.setattr(products, "_PANEL", 4)  # fewer than join


def test_they_are_those_of_all_sites_at_once() -> None:
    known = KnownFeatures()
    for number in (20, 21, 40, 90, 30):
        features, residual = known.of(MAP, SITES[:number])
        torch.testing.assert_close(features, MAP(SITES[:number]))
        torch.testing.assert_close(residual, MAP.residual(SITES[:number], features))
        gram = known.products.gram(features, COUNTS[:number])
        torch.testing.assert_close(gram, AT_ONCE.gram(features, COUNTS[:number]))
        moments = known.products.moments(features, COUNTS[:number])
        torch.testing.assert_close(moments, AT_ONCE.moments(features, COUNTS[:number]))


def test_counts_that_change_count_anew() -> None:
    known = KnownFeatures()
    features, _ = known.of(MAP, SITES)
    for changed in (0, 50, 89):
        counts = COUNTS.clone()
        counts[changed] += 2.0
        expected = AT_ONCE.gram(features, counts)
        torch.testing.assert_close(known.products.gram(features, counts), expected)


def test_only_blocks_whose_weights_changed_are_summed_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    summed: list[int] = []
    whole = AT_ONCE.gram

    def gram(features: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
        summed.append(len(weights))
        return whole(features, weights)

    known = KnownFeatures()
    features, _ = known.of(MAP, SITES)
    monkeypatch.setattr(AT_ONCE, "gram", gram)
    weights = 0.5 * COUNTS
    for one in (COUNTS, weights, COUNTS, weights):
        known.products.gram(features, one)
    assert len(summed) == 12  # six blocks, of counts and of weights
    weights = weights.clone()
    weights[20] = 3.0
    known.products.gram(features, weights)
    known.products.gram(features, weights)
    assert len(summed) == 13


def test_sums_of_an_earlier_map_stay_its_own() -> None:
    known = KnownFeatures()
    features, _ = known.of(MAP, SITES)
    earlier = known.products
    expected = earlier.gram(features, COUNTS)
    wider = NystromEmbedding.of(KERNEL, SITES[:9])
    others, _ = known.of(wider, SITES)
    known.products.gram(others, COUNTS)
    assert torch.equal(earlier.gram(features, COUNTS), expected)


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
    gram = at_once.products.gram(features, COUNTS)
    seen = []
    for number in range(17, 91):
        rows = one_by_one.of(MAP, SITES[:number])[0]
        seen.append((rows, rows.clone()))
        one_by_one.products.gram(rows, COUNTS[:number])
    found = one_by_one.of(MAP, SITES)
    assert torch.equal(found[0], features)
    assert torch.equal(found[1], residual)
    assert torch.equal(one_by_one.products.gram(found[0], COUNTS), gram)
    assert all(torch.equal(rows, then) for rows, then in seen)


class Constant:
    """One feature, on the device of the points."""

    dimension = 1

    def __call__(self, points: torch.Tensor) -> torch.Tensor:
        return points.new_ones(len(points), 1)

    def residual(self, points: torch.Tensor, features: torch.Tensor) -> torch.Tensor:
        return points.new_zeros(len(points))


def test_sites_may_be_on_another_device() -> None:
    sites = torch.zeros(20, 2, dtype=torch.float64, device="meta")
    features, residual = KnownFeatures().of(Constant(), sites)  # type: ignore[arg-type]
    assert (features.device, residual.device) == (sites.device, sites.device)


def joined(embedding: NystromEmbedding, points: torch.Tensor) -> NystromEmbedding:
    """The embedding with points that join one by one."""
    for point in points.split(1):
        feature = embedding.extended(point, point.new_zeros(1, 0))[0]
        left = float(embedding.residual(point, feature[None]))
        embedding = embedding.joined(point, feature, left)
    return embedding


def test_joined_features_are_those_of_their_dictionary() -> None:
    wider = joined(MAP, SITES[6:10])
    assert (wider.base, wider.dimension) == (6, 10)
    expected = NystromEmbedding.rooted(KERNEL, SITES[:10])
    kernels = [one(SITES) @ one(SITES).T for one in (wider, expected)]
    torch.testing.assert_close(*kernels)
    torch.testing.assert_close(wider.extended(SITES, SITES[:, :0]), wider(SITES))


def test_how_a_map_came_about_does_not_change_the_layout() -> None:
    """Rows at other distances in memory are multiplied with other rounding."""
    known = KnownFeatures()
    for last in range(7, 16):
        known.of(joined(MAP, SITES[6:last]), SITES)
        fresh = joined(MAP, SITES[last - 1 : last + 1])
        features = [one.of(fresh, SITES)[0] for one in (known, KnownFeatures())]
        assert features[0].stride() == features[1].stride()


def test_features_that_join_change_no_bit_and_no_earlier_sample() -> None:
    step_by_step, at_once = KnownFeatures(), KnownFeatures()
    seen, embedding = [], MAP
    for number in range(50, 62):
        weights = 0.5 * COUNTS[:number]
        if number % 2:
            embedding = joined(embedding, SITES[number : number + 1])
        if number == 57:  # the earlier ones go
            embedding = joined(MAP, SITES[[53, 57]])
        features, residual = step_by_step.of(embedding, SITES[:number])
        sums_of = step_by_step.products
        seen.append((features, features.clone(), residual, residual.clone()))
        for sums in (sums_of.gram, sums_of.moments):
            sums(features, COUNTS[:number])
            sums(features, weights)
    last, other = at_once.of(embedding, SITES[:61])
    assert torch.equal(features, last)
    assert torch.equal(residual, other)
    torch.testing.assert_close(features, embedding(SITES[:61]))
    for one in (COUNTS[:61], weights):
        assert torch.equal(sums_of.gram(features, one), at_once.products.gram(last, one))
        assert torch.equal(sums_of.moments(features, one), at_once.products.moments(last, one))
        torch.testing.assert_close(sums_of.gram(features, one), AT_ONCE.gram(features, one))
    for rows, then, left, before in seen:
        assert torch.equal(rows, then)
        assert torch.equal(left, before)


def test_another_base_shares_no_features() -> None:
    wider = joined(MAP, SITES[6:8])
    assert wider.shared(joined(MAP, SITES[6:9])) == 8
    assert wider.shared(joined(MAP, SITES[[6, 8]])) == 7
    assert wider.shared(NystromEmbedding.of(KERNEL, SITES[:8])) == 0
    assert wider.shared(NystromEmbedding.of(sf.kernels.squared_exponential(0.3), SITES[:6])) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    "parts",
    [
        {"kernel": KERNEL, "features": sf.Dictionary(SITES[:6])},
        {"kernel": KERNEL, "features": sf.Nystrom(sf.PivotedCholesky(6))},
        {"kernel": KERNEL, "features": sf.RandomFourier(8), "estimator": sf.Huber()},
    ],
)
def test_a_run_beyond_a_block_is_the_same_after_save_and_load(parts: Any, tmp_path: Any) -> None:
    optimizer = optimizer_of(sf.Box([0.0, 0.0], [1.0, 1.0]), ridge=0.1, **parts)
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
    optimizer = optimizer_of(sf.Box([0.0, 0.0], [1.0, 1.0]), KERNEL, ridge=0.1, **parts)
    optimizer.tell_all(SITES, torch.sin(5.0 * SITES).sum(-1))
    belief = optimizer.belief()
    best = belief.candidates.best_designs(7)
    means = belief.candidates.mean(SITES).sort(descending=True).values
    torch.testing.assert_close(belief.candidates.mean(best).sort(descending=True).values, means[:7])
    assert torch.equal(belief.candidates.best_designs(90), SITES)
