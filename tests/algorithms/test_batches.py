"""Arms chosen in batches between two draws of a dictionary."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

import surefoot as sf
from support.batched_runs import PLANE, SETTINGS, batched, play, value
from support.variants import variant
from surefoot.algorithms import bbkb, bkb
from surefoot_experiments.benchmarks.sketch_determinant import sketch_determinant

KERNELS: dict[str, Callable[[], object]] = {
    "se": lambda: sf.kernels.squared_exponential(0.3),
    "matern": lambda: sf.kernels.matern(1.5, 0.4),
    "linear": sf.kernels.linear,
}


class TestBatches:
    @pytest.mark.long
    @pytest.mark.parametrize(
        ("kernel", "inclusion"),
        [
            ("se", "per-pull"),
            pytest.param("matern", "per-arm"),
            pytest.param("linear", "per-pull"),
        ],
    )
    def test_a_ratio_of_1_asks_what_bkb_asks(self, kernel: str, inclusion: str) -> None:
        width = sketch_determinant(2.0, SETTINGS["noise"], scale=0.3)
        settings = {**SETTINGS, "norm_bound": 2.0}
        each_round, in_batches = (
            variant(
                made(sf.Arms(PLANE), KERNELS[kernel](), **settings),
                width=width,
                features=sf.Nystrom(
                    sf.LeverageSampling(SETTINGS["oversampling"], inclusion=inclusion, **draws)
                ),
            )
            for made, draws in ((bkb, {}), (bbkb, {"resample": "adaptive", "ratio": 1.0}))
        )
        assert play(each_round, 80) == play(in_batches, 80)

    @pytest.mark.long
    def test_the_arm_asked_is_the_best_of_all(self) -> None:
        """Against the bounds of all arms, worked out from the mean of the batch's start."""
        optimizer, noise = batched(), np.random.default_rng(1)
        optimizer.tell(3, 0.0)
        mean, ends = optimizer.belief().posterior.mean(PLANE), 0
        for _ in range(150):
            before = optimizer.belief().posterior
            due = optimizer._history.regressor.regression.is_due
            query = optimizer.ask()
            if due:
                ends += 1
                mean = optimizer._history.latest.posterior.mean(PLANE)
            else:
                score = mean + optimizer.width * before.variance(PLANE).sqrt()
                assert float(score[query.arm]) >= float(score.max()) - 1e-9
            optimizer.tell(query, value(query.point) + 0.1 * noise.normal())
        assert 5 < ends < 100

    def test_parallel_workers_get_one_batch_and_tell_late_and_in_any_order(self) -> None:
        optimizer, noise = batched(), np.random.default_rng(2)
        play(optimizer, 40)
        for _ in range(6):
            queries = optimizer.ask_batch(8)
            assert len({query.arm for query in queries}) > 1
            variance = optimizer._history.selection().variance(PLANE)
            for query in reversed(queries):
                optimizer.tell(query, value(query.point) + 0.1 * noise.normal())
            after = optimizer._history.selection().variance(PLANE)
            torch.testing.assert_close(after, variance)
            torch.testing.assert_close(optimizer.belief().posterior.variance(PLANE), variance)
        assert optimizer.pending == []
        assert len(optimizer.history) == 88

    @pytest.mark.long
    @pytest.mark.parametrize("resample", ["every-round", "adaptive"])
    def test_a_query_forgotten_and_asked_again_leaves_no_trace(self, resample: str) -> None:
        features = sf.Nystrom(sf.LeverageSampling(2.0, resample=resample))
        disturbed, alone = batched(features), batched(features)
        noise = np.random.default_rng(3)
        for turn in range(100):
            for _ in range(turn % 3):
                disturbed.forget(disturbed.ask(), failed=False)
            queries = disturbed.ask(), alone.ask()
            assert queries[0].arm == queries[1].arm, turn
            y = value(queries[0].point) + 0.1 * noise.normal()
            disturbed.tell(queries[0], y)
            alone.tell(queries[1], y)

    @pytest.mark.long
    @pytest.mark.parametrize("failed", [True, False])
    def test_the_dictionary_grows_on_after_queries_are_forgotten(self, failed: bool) -> None:
        """Two runs of 150 rounds, one of which loses a query every 20 rounds."""
        arms = torch.linspace(0.0, 1.0, 60, dtype=torch.float64).unsqueeze(-1)
        sizes, draws = [], []
        for lossy in (False, True):
            noise = np.random.default_rng(0)
            optimizer = bbkb(
                sf.Arms(arms), sf.kernels.matern(0.5, 0.2), norm_bound=2.0, scale=0.3, **SETTINGS
            )
            dictionaries = set()
            for turn in range(150):
                query = optimizer.ask()
                if lossy and turn % 20 == 4:
                    optimizer.forget(query, failed=failed)
                    continue
                optimizer.tell(query, value(query.point) + 0.1 * noise.normal())
                points = optimizer._history.latest.posterior.embedding.embedding.dictionary
                dictionaries.add(points.numpy().tobytes())
            sizes.append(len(points))
            draws.append(len(dictionaries))
        assert min(sizes) > 15
        assert sizes[1] > 0.7 * sizes[0]
        assert draws[1] > 0.7 * draws[0] > 10

    @pytest.mark.long
    def test_a_lost_query_from_before_the_draw_does_not_put_off_the_next(self) -> None:
        optimizer = batched()
        play(optimizer, 10)
        late = optimizer.ask_batch(30)
        optimizer.ask()  # draws a dictionary with these pending
        before = optimizer._history.regressor.regression.explained
        for query in late[:20]:
            optimizer.forget(query, failed=False)
        assert 0.0 <= optimizer._history.regressor.regression.explained <= before

    @pytest.mark.long
    def test_rewards_of_the_batch_move_the_posterior_but_not_what_is_asked(self) -> None:
        left, right = batched(), batched()
        play(left, 30), play(right, 30)
        for optimizer in (left, right):
            while not optimizer._history.regressor.regression.is_due:
                play(optimizer, 1)
            play(optimizer, 1)  # the first of a new batch
        queries = [optimizer.ask() for optimizer in (left, right)]
        left.tell(queries[0], 5.0)
        right.tell(queries[1], -5.0)
        arm = queries[0].arm
        point = PLANE[arm : arm + 1]
        assert (
            float(left.belief().posterior.mean(point))
            > float(right.belief().posterior.mean(point)) + 0.5
        )
        if not left._history.regressor.regression.is_due:
            assert left.ask().arm == right.ask().arm

    @pytest.mark.long
    def test_ten_thousand_copies_of_one_arm(self) -> None:
        arms = torch.full((10_000, 1), 0.5, dtype=torch.float64)
        arms[-1] = 0.9
        for build in (bkb, bbkb):
            optimizer = build(sf.Arms(arms), sf.kernels.squared_exponential(0.2), **SETTINGS)
            play(optimizer, 25)
            mean = optimizer.belief().posterior.mean(arms)
            assert bool(torch.isfinite(mean).all())
            torch.testing.assert_close(mean[:-1], mean[0].expand(9_999))

    @pytest.mark.long
    def test_weights_in_a_batch_are_of_the_estimate_of_all_rewards(self) -> None:
        """Huber's weights times residuals are all the same threshold, in the units of now."""
        features = sf.Nystrom(sf.LeverageSampling(5.0, "adaptive", ratio=50.0))
        optimizer = batched(features, True, estimator=sf.Huber())
        noise = np.random.default_rng(4)
        for turn in range(40):
            query = optimizer.ask()
            spike = 20.0 if turn % 9 == 5 else 0.0
            optimizer.tell(query, 5.0 * value(query.point) + noise.normal() + spike)
            weights, history = optimizer.belief().weights, optimizer.history
            fitted = optimizer.belief().posterior.mean(history.sites[history.site])
            thresholds = (weights * (history.rewards - fitted).abs())[weights < 1.0]
            if len(thresholds):
                torch.testing.assert_close(thresholds, thresholds[0].expand_as(thresholds))
        assert int((weights < 0.5).sum()) >= 4
