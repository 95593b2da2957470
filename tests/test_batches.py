"""Arms chosen in batches, from arms given each round, several times each, and on boxes."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import covariance, gaussian_process
from surefoot.algorithms import bbkb, bkb

PLANE = torch.rand(120, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
KERNELS: dict[str, Callable[[], object]] = {
    "se": lambda: sf.kernels.squared_exponential(0.3),
    "matern": lambda: sf.kernels.matern(1.5, 0.4),
    "linear": sf.kernels.linear,
}
SETTINGS = {"noise": 0.1, "oversampling": 2.0, "ridge": 0.01}


def value(point: torch.Tensor) -> float:
    return float(torch.sin(5.0 * point[0]) * torch.cos(3.0 * point[-1]))


def play(optimizer: sf.Optimizer, rounds: int, seed: int = 0) -> list[int | None]:
    """Arms asked in that many rounds of ask and tell, with Gaussian noise of 0.1."""
    noise = np.random.default_rng(seed)
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        asked.append(query.arm)
        optimizer.tell(query, value(query.point) + 0.1 * noise.normal())
    return asked


def batched(features: object | None = None, **parts: object) -> sf.Optimizer:
    features = features or sf.Nystrom(sf.LeverageSampling(2.0, resample="adaptive"))
    kernel = sf.kernels.squared_exponential(0.3)
    return sf.Optimizer(sf.Arms(PLANE), kernel, features=features, ridge=0.01, **parts)


class TestBatches:
    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("inclusion", ["per-pull", "per-arm"])
    def test_a_ratio_of_1_asks_what_bkb_asks(self, kernel: str, inclusion: str) -> None:
        settings = {**SETTINGS, "inclusion": inclusion, "norm_bound": 2.0, "scale": 0.3}
        each_round = bkb(sf.Arms(PLANE), KERNELS[kernel](), **settings)
        in_batches = bbkb(sf.Arms(PLANE), KERNELS[kernel](), ratio=1.0, **settings)
        assert play(each_round, 80) == play(in_batches, 80)

    def test_the_arm_asked_is_the_best_of_all(self) -> None:
        """Against the bounds of all arms, worked out from the mean of the batch's start."""
        optimizer, noise = batched(), np.random.default_rng(1)
        optimizer.tell(3, 0.0)
        mean, ends = optimizer.posterior.mean(PLANE), 0
        for _ in range(150):
            before = optimizer.posterior
            due = optimizer._model.regression.is_due
            query = optimizer.ask()
            if due:
                ends += 1
                mean = optimizer._model.latest.posterior.mean(PLANE)
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
            variance = optimizer._model.selection().variance(PLANE)
            for query in reversed(queries):
                optimizer.tell(query, value(query.point) + 0.1 * noise.normal())
            after = optimizer._model.selection().variance(PLANE)
            torch.testing.assert_close(after, variance)
            torch.testing.assert_close(optimizer.posterior.variance(PLANE), variance)
        assert optimizer.pending == []
        assert len(optimizer.history) == 88

    def test_a_query_given_up_counts_no_longer(self) -> None:
        optimizer = batched()
        play(optimizer, 30)
        variance = optimizer.posterior.variance(PLANE)
        queries = optimizer.ask_batch(5)
        for query in queries:
            optimizer.forget(query, failed=False)
        before, after = variance.sum(), optimizer.posterior.variance(PLANE).sum()
        assert float(after) == pytest.approx(float(before), rel=0.05)  # the dictionary is another
        play(optimizer, 5)

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
                points = optimizer._model.latest.posterior.embedding.embedding.dictionary
                dictionaries.add(points.numpy().tobytes())
            sizes.append(len(points))
            draws.append(len(dictionaries))
        assert min(sizes) > 15
        assert sizes[1] > 0.7 * sizes[0]
        assert draws[1] > 0.7 * draws[0] > 10

    def test_a_lost_query_from_before_the_draw_does_not_put_off_the_next(self) -> None:
        optimizer = batched()
        play(optimizer, 10)
        late = optimizer.ask_batch(30)
        optimizer.ask()  # draws a dictionary with these pending
        before = optimizer._model.regression.explained
        for query in late[:20]:
            optimizer.forget(query, failed=False)
        assert 0.0 <= optimizer._model.regression.explained <= before

    def test_rewards_of_the_batch_move_the_posterior_but_not_what_is_asked(self) -> None:
        left, right = batched(), batched()
        play(left, 30), play(right, 30)
        for optimizer in (left, right):
            while not optimizer._model.regression.is_due:
                play(optimizer, 1)
            play(optimizer, 1)  # the first of a new batch
        queries = [optimizer.ask() for optimizer in (left, right)]
        left.tell(queries[0], 5.0)
        right.tell(queries[1], -5.0)
        arm = queries[0].arm
        point = PLANE[arm : arm + 1]
        assert float(left.posterior.mean(point)) > float(right.posterior.mean(point)) + 0.5
        if not left._model.regression.is_due:
            assert left.ask().arm == right.ask().arm

    def test_ten_thousand_copies_of_one_arm(self) -> None:
        arms = torch.full((10_000, 1), 0.5, dtype=torch.float64)
        arms[-1] = 0.9
        for build in (bkb, bbkb):
            optimizer = build(sf.Arms(arms), sf.kernels.squared_exponential(0.2), **SETTINGS)
            play(optimizer, 25)
            mean = optimizer.posterior.mean(arms)
            assert bool(torch.isfinite(mean).all())
            torch.testing.assert_close(mean[:-1], mean[0].expand(9_999))

    def test_an_incremental_dictionary_holds_pulled_arms_and_their_posterior(self) -> None:
        optimizer = batched(sf.Nystrom(sf.LeverageSampling(2.0, resample="incremental")))
        play(optimizer, 60)
        points = optimizer.posterior.embedding.embedding.dictionary
        assert all(bool((point == PLANE).all(-1).any()) for point in points)
        pulled = optimizer.history.sites[optimizer.history.site].numpy()
        k = covariance.squared_exponential(np.array([0.3, 0.3]))
        mean, variance = gaussian_process.on_dictionary(
            k, points.numpy(), pulled, optimizer.history.rewards.numpy(), 0.01, PLANE.numpy()
        )
        np.testing.assert_allclose(optimizer.posterior.mean(PLANE), mean, atol=1e-6)
        np.testing.assert_allclose(optimizer.posterior.variance(PLANE), variance, atol=1e-6)

    def test_weights_in_a_batch_are_of_the_estimate_of_all_rewards(self) -> None:
        """Huber's weights times residuals are all the same threshold, in the units of now."""
        features = sf.Nystrom(sf.LeverageSampling(5.0, "adaptive", ratio=50.0))
        optimizer = batched(features, estimator=sf.Huber(), standardise=True)
        noise = np.random.default_rng(4)
        for turn in range(40):
            query = optimizer.ask()
            spike = 20.0 if turn % 9 == 5 else 0.0
            optimizer.tell(query, 5.0 * value(query.point) + noise.normal() + spike)
            weights, history = optimizer.weights, optimizer.history
            fitted = optimizer.posterior.mean(history.sites[history.site])
            thresholds = (weights * (history.rewards - fitted).abs())[weights < 1.0]
            if len(thresholds):
                torch.testing.assert_close(thresholds, thresholds[0].expand_as(thresholds))
        assert int((weights < 0.5).sum()) >= 4


class TestArmsOfARound:
    @pytest.mark.parametrize("part", ["exact", "sketch", "batches"])
    def test_only_these_are_asked(self, part: str) -> None:
        features = {
            "exact": sf.Exact(),
            "sketch": sf.Nystrom(sf.LeverageSampling(2.0)),
            "batches": sf.Nystrom(sf.LeverageSampling(2.0, resample="adaptive")),
        }[part]
        optimizer, draws = batched(features), np.random.default_rng(3)
        for turn in range(40):
            among = draws.choice(120, 7, replace=False)
            query = optimizer.ask(arms=among)
            assert query.arm in among
            optimizer.tell(query, value(query.point))
            if turn > 20:
                free = optimizer.ask(arms=range(120))
                assert free.arm is not None
                optimizer.forget(free, failed=False)

    def test_points_of_a_box_that_were_never_seen(self) -> None:
        kernel = sf.kernels.squared_exponential(0.3)
        box = sf.Box([0.0, 0.0], [1.0, 1.0])
        optimizer = sf.Optimizer(
            box, kernel, features=sf.Nystrom(sf.LeverageSampling(3.0)), ridge=0.01
        )
        generator, better = torch.Generator().manual_seed(4), 0
        for turn in range(60):
            arms = torch.rand(10, 2, dtype=torch.float64, generator=generator)
            query = optimizer.ask(arms=arms)
            assert query.arm is None
            assert bool((arms == query.point).all(-1).any())
            optimizer.tell(query, value(query.point))
            if turn >= 30:
                better += value(query.point) >= sorted(map(value, arms))[-3]
        assert better >= 25

    @pytest.mark.parametrize("arms", [[], [120], [-1], [0.5], 3, "ab", [[1]]], ids=repr)
    def test_what_is_no_set_of_arms(self, arms: object, tmp_path: Path) -> None:
        optimizer = batched()
        play(optimizer, 3)
        optimizer.save(tmp_path / "before")
        with pytest.raises(sf.InvalidInput):
            optimizer.ask(arms=arms)
        optimizer.save(tmp_path / "after")
        assert (tmp_path / "after").read_bytes() == (tmp_path / "before").read_bytes()

    @pytest.mark.parametrize("arms", [[], [0.5, 0.5], [[0.5]], [[0.5, 2.0]]], ids=repr)
    def test_what_are_no_points_of_the_box(self, arms: object) -> None:
        box = sf.Box([0.0, 0.0], [1.0, 1.0])
        optimizer = sf.Optimizer(box, sf.kernels.squared_exponential(0.3))
        with pytest.raises(sf.InvalidInput):
            optimizer.ask(arms=arms)


class TestRepeats:
    @pytest.mark.parametrize("part", ["exact", "sketch", "batches"])
    def test_the_variance_falls_by_the_factor(self, part: str) -> None:
        features = {
            "exact": sf.Exact(),
            "sketch": sf.Dictionary(PLANE[::4]),
            "batches": sf.Nystrom(sf.LeverageSampling(3.0, resample="adaptive")),
        }[part]
        optimizer = batched(
            features,
            repeat_until=2.0,
            estimator=sf.MedianOfMeans(5),
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
            seen.append((query.repeats, float(optimizer.posterior.variance(point))))
        assert max(repeats for repeats, _ in seen) > 3
        if part == "exact":
            before = batched(sf.Exact(), repeat_until=2.0)
            before.tell_all([5] * 50 + [90] * 10, [0.0] * 60)
            query = before.ask(arms=[5])
            old = float(before.posterior.variance(PLANE[5:6]))
            for _ in range(query.repeats):
                before.tell(query, 0.0)
            new = float(before.posterior.variance(PLANE[5:6]))
            assert 0.9 * old / 2.0 <= new <= old / 2.0 * (1 + 1e-9)

    def test_missing_measurements_are_saved_and_lower_the_variance(self, tmp_path: Path) -> None:
        optimizer = batched(sf.Exact(), repeat_until=3.0)
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
            batched(repeat_until=factor)


class TestBoxes:
    @pytest.mark.parametrize("resample", ["every-round", "adaptive"])
    def test_the_posterior_is_that_of_the_dictionary(self, resample: str) -> None:
        box = sf.Box([0.0, 0.0], [1.0, 1.0])
        features = sf.Nystrom(sf.LeverageSampling(1.0, resample=resample))
        kernel = sf.kernels.squared_exponential(0.3)
        optimizer = sf.Optimizer(box, kernel, features=features, ridge=0.01)
        pulled = torch.cat([PLANE, PLANE[:30]])
        rewards = [value(point) for point in pulled]
        for point, y in zip(pulled, rewards, strict=True):
            optimizer.tell(point, y)
        dictionary = optimizer.posterior.embedding.dictionary
        assert 5 < len(dictionary) < 100
        at = torch.rand(50, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(6))
        mean, variance = gaussian_process.on_dictionary(
            covariance.squared_exponential(np.array([0.3, 0.3])),
            dictionary.numpy(),
            pulled.numpy(),
            np.array(rewards),
            0.01,
            at.numpy(),
        )
        np.testing.assert_allclose(optimizer.posterior.mean(at), mean, atol=1e-5)
        np.testing.assert_allclose(optimizer.posterior.variance(at), variance, atol=1e-5)

    def test_bkb_finds_the_top_of_a_box(self) -> None:
        box, width = sf.Box([0.0, 0.0], [1.0, 1.0]), sf.widths.srinivas(scale=0.5)
        optimizer = bkb(box, sf.kernels.squared_exponential(0.3), width=width, **SETTINGS)
        play(optimizer, 40)
        assert value(optimizer.recommend().point) > 0.95


class TestKernelsOnAnything:
    def test_strings(self) -> None:
        words = ["heat", "heap", "leap", "reap", "read", "bead", "beam", "seam", "seat", "boat"]

        def shared(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
            rows, columns = left[:, 0].long().tolist(), right[:, 0].long().tolist()
            same = [
                [sum(a == b for a, b in zip(words[i], words[j], strict=True)) for j in columns]
                for i in rows
            ]
            return torch.tensor(same, dtype=torch.float64) / 4

        kernel = sf.kernels.custom(shared)
        table = shared(*[torch.arange(10.0).unsqueeze(-1)] * 2)
        ours = sf.Optimizer(
            sf.Arms(10), kernel, features=sf.Nystrom(sf.LeverageSampling(3.0)), ridge=0.1
        )
        known = sf.Optimizer(
            sf.Arms(10),
            sf.kernels.precomputed(table),
            features=sf.Nystrom(sf.LeverageSampling(3.0)),
            ridge=0.1,
        )
        for optimizer in (ours, known):
            for turn in range(25):
                query = optimizer.ask()
                optimizer.tell(query, words[query.arm].count("a") + 0.01 * turn)
        assert torch.equal(ours.history.site, known.history.site)
        assert ours.recommend().arm == known.recommend().arm

    @pytest.mark.parametrize(
        ("block", "said"),
        [
            (lambda left, right: torch.ones(2, 2), "shape"),
            (lambda left, right: torch.full((len(left), len(right)), torch.nan), "NaN"),
        ],
    )
    def test_a_function_that_gives_no_block(self, block: Callable, said: str) -> None:
        with pytest.raises(sf.InvalidInput, match=said):
            sf.Optimizer(sf.Arms(5), sf.kernels.custom(block))

    def test_what_is_no_function(self) -> None:
        with pytest.raises(sf.InvalidInput, match="block"):
            sf.kernels.custom(torch.eye(3))


def test_a_loaded_batch_has_the_units_it_began_with(tmp_path: Path) -> None:
    """Rewards that are standardised: the fall of the variance is in their units."""

    def asked(optimizer: sf.Optimizer, rounds: int) -> list[int | None]:
        arms = []
        for _ in range(rounds):
            query = optimizer.ask()
            arms.append(query.arm)
            optimizer.tell(query, 100.0 * float(torch.sin(5 * PLANE[query.arm or 0]).sum()))
        return arms

    kernel, features = (
        sf.kernels.squared_exponential(0.3),
        sf.Nystrom(sf.LeverageSampling(5.0, "adaptive", ratio=8.0)),
    )
    for seed in range(5):
        optimizer = sf.Optimizer(
            sf.Arms(PLANE), kernel, features=features, standardise=True, ridge=0.1, seed=seed
        )
        asked(optimizer, 15 + seed)
        optimizer.save(tmp_path / "run")
        loaded = sf.Optimizer.load(tmp_path / "run")
        assert asked(loaded, 12) == asked(optimizer, 12)
