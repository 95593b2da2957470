"""Widths against their theorems' formulas, and guesses where a constant is not known."""

import math
from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from reference import budgeted, heavy_tails, width
from surefoot import algorithms, widths
from surefoot._internal import doubling
from surefoot.widths import Progress
from surefoot_experiments.benchmarks.sketch_determinant import sketch_determinant

ALPHA, V = 0.5, 3.0
MOMENT = sf.Moment(ALPHA, V)
UNIT = V ** (1 / (1 + ALPHA))
NOISE = 0.7
ARMS = sf.Arms(np.linspace(0.0, 1.0, 12)[:, None])
KERNEL = sf.kernels.squared_exponential(0.3)

# Each with its norm bound left to fill in; the unit of the guess is V^(1/(1+a)) or the noise.
OF_NORM: dict[str, tuple[Callable[[float | None], Any], float]] = {
    "chowdhury_gopalan": (lambda b: widths.chowdhury_gopalan(b, NOISE), NOISE),
    "bkb": (lambda b: widths.bkb(b, NOISE), NOISE),
    "truncated": (lambda b: widths.truncated(MOMENT, b), UNIT),
    "analytic_mixture": (lambda b: widths.analytic_mixture(b, NOISE), NOISE),
    "dual_mixture": (lambda b: widths.dual_mixture(b, NOISE), NOISE),
    "sketch_determinant": (lambda b: sketch_determinant(b, NOISE), NOISE),
    "adaptive_fourier": (lambda b: widths.adaptive_fourier(MOMENT, b, horizon=99), UNIT),
    "adaptive_nystrom": (lambda b: widths.adaptive_nystrom(MOMENT, b, horizon=99), UNIT),
}
OF_HORIZON: dict[str, Callable[[int | None, float], Any]] = {
    "adaptive_fourier": lambda T, d: widths.adaptive_fourier(MOMENT, 2.0, d, horizon=T),
    "adaptive_nystrom": lambda T, d: widths.adaptive_nystrom(MOMENT, 2.0, d, horizon=T),
}

positive = st.floats(1e-6, 1e6)
shares = st.floats(1e-9, 1.0, exclude_max=True)
accuracies = st.floats(1e-6, 0.999)
alphas = st.floats(0.01, 1.0)
rounds = st.integers(0, 10**9)
counts = st.integers(1, 10**9)
scales = st.floats(0.0, 100.0)
gains = st.floats(0.0, 1e6)


def after(rewards: int, **known: Any) -> Progress:
    return Progress(
        **{"round": rewards, "information_gain": 2.0, "dimension": 8, "ridge": 0.5} | known
    )


class TestFormulas:
    @pytest.mark.long
    @given(positive, positive, gains, shares, scales)
    def test_chowdhury_gopalan(self, B: float, R: float, gain: float, d: float, s: float) -> None:
        ours = widths.chowdhury_gopalan(B, R, d, s)(after(5, information_gain=gain))
        relative = R / math.sqrt(0.5)  # the theorem's ridge is 1
        assert ours == pytest.approx(s * width.chowdhury_gopalan(B, relative, gain, d), rel=1e-12)

    @given(positive, positive, alphas, positive, rounds, gains, shares, scales)
    def test_truncated(
        self, B: float, v: float, a: float, lam: float, t: int, gain: float, d: float, s: float
    ) -> None:
        ours = widths.truncated(sf.Moment(a, v), B, d, s)
        expected = heavy_tails.truncation_width(B, v, a, d, lam, t, 2 * gain)
        progress = after(t, information_gain=gain, ridge=lam)
        assert ours(progress) == pytest.approx(s * expected, rel=1e-12)

    @given(positive, positive, alphas, positive, rounds, counts, counts, shares, accuracies, scales)
    def test_adaptive(
        self,
        B: float,
        v: float,
        a: float,
        lam: float,
        t: int,
        m: int,
        T: int,
        d: float,
        eps: float,
        s: float,
    ) -> None:
        moment, progress = sf.Moment(a, v), after(t, dimension=m, ridge=lam)
        fourier = widths.adaptive_fourier(moment, B, d, s, T)(progress)
        expected = heavy_tails.fourier_width(B, v, a, d, lam, t, m, T)
        assert fourier == pytest.approx(s * expected, rel=1e-12)
        nystrom = widths.adaptive_nystrom(moment, B, d, s, T, eps)(progress)
        expected = heavy_tails.nystrom_width(B, v, a, d, lam, t, m, T, eps)
        assert nystrom == pytest.approx(s * expected, rel=1e-12)

    @given(
        positive,
        positive,
        accuracies,
        shares,
        positive,
        st.floats(1.0, 100.0),
        st.lists(st.floats(0.0, 100.0), min_size=1, max_size=30),
        scales,
    )
    def test_bkb_over_the_root_of_the_ridge(
        self,
        F: float,
        xi: float,
        eps: float,
        d: float,
        lam: float,
        kappa: float,
        variances: list[float],
        s: float,
    ) -> None:
        progress = after(
            len(variances),
            ridge=lam,
            effective_dimension=lambda: sum(variances),
            prior_variance=kappa**2,
        )
        ours = widths.bkb(F, xi, d, s, eps)(progress)
        expected = budgeted.width(variances, xi, F, d, eps, lam, kappa) / math.sqrt(lam)
        assert ours == pytest.approx(s * expected, rel=1e-12)

    @pytest.mark.parametrize(("rewards", "prior"), [(0, 1.0), (3, 1e-4)])
    def test_bkb_takes_no_logarithm_below_zero(self, rewards: int, prior: float) -> None:
        progress = after(rewards, ridge=1.0, effective_dimension=lambda: 7.0, prior_variance=prior)
        ours = widths.bkb(2.0, 1.0, delta=0.1, accuracy=0.5)(progress)
        expected = 2 * math.sqrt(math.log(10)) + (1 + math.sqrt(2)) * 2.0
        assert ours == pytest.approx(expected, rel=1e-12)

    @pytest.mark.parametrize("name", OF_HORIZON)
    def test_before_the_first_reward_there_is_the_norm_alone(self, name: str) -> None:
        progress = after(0, dimension=0)
        factor = 1 + 1 / math.sqrt(0.9) if name == "adaptive_nystrom" else 1.0
        for moment in (MOMENT, sf.Moment(1.0, V)):
            some = replace(OF_HORIZON[name](50, 0.1), moment=moment)
            assert some(progress) == pytest.approx(2.0 * factor, rel=1e-12)


class TestGuesses:
    @given(rounds, shares)
    def test_a_horizon_covers_the_round_to_come_and_is_the_smallest_to(
        self, rewards: int, delta: float
    ) -> None:
        horizon, share = doubling.horizon(None, delta, rewards)
        epoch = (horizon // doubling.FIRST_HORIZON).bit_length() - 1
        assert horizon == doubling.FIRST_HORIZON * 2**epoch
        assert rewards + 1 <= horizon
        assert epoch == 0 or horizon < 2 * (rewards + 1)
        assert share == pytest.approx(delta / ((epoch + 1) * (epoch + 2)), rel=1e-12)
        if rewards >= 1024:
            price = math.log(2 * rewards / delta) + 2 * math.log(math.log2(rewards))
            assert math.log(horizon / share) <= price + 1e-9

    def test_shares_sum_to_delta_at_most(self) -> None:
        starts = [0, *(1024 * 2**epoch for epoch in range(300))]
        taken = [Fraction(1) / round(1 / doubling.horizon(None, 1.0, t)[1]) for t in starts]
        assert all(Fraction(0) < total < 1 for total in accumulate(taken))
        assert sum(taken) > Fraction(99, 100)

    @given(positive, positive)
    def test_a_norm_passes_any_other_when_it_was_said_to(self, unit: float, norm: float) -> None:
        ratio = norm / unit
        if ratio > 30.0:  # more rewards than there will ever be
            return
        latest = math.ceil(2.0 ** (2.0 * ratio)) if ratio > 1.0 else 0
        assert doubling.norm_bound(None, unit, latest) >= norm * (1 - 1e-12)

    @given(st.integers(2, 2**62))
    def test_a_norm_is_about_the_logarithm_of_the_rewards(self, rewards: int) -> None:
        guess = doubling.norm_bound(None, 1.0, rewards)
        assert 2**guess <= rewards < 2 ** (2 * guess)

    @given(rounds, positive)
    def test_what_is_given_is_not_guessed(self, rewards: int, given_: float) -> None:
        assert doubling.norm_bound(given_, 7.0, rewards) == given_
        assert doubling.horizon(5, 0.3, rewards) == (5, 0.3)

    @pytest.mark.long
    @pytest.mark.parametrize("name", OF_NORM)
    @given(rewards=rounds)
    def test_a_width_takes_the_guessed_norm(self, name: str, rewards: int) -> None:
        make, unit = OF_NORM[name]
        progress = after(rewards, effective_dimension=lambda: 3.0)
        norm = doubling.norm_bound(None, unit, rewards)
        assert make(None)(progress) == pytest.approx(make(norm)(progress), rel=1e-12)

    @pytest.mark.parametrize("name", OF_HORIZON)
    @given(rewards=rounds, delta=shares)
    def test_a_width_takes_the_horizon_of_its_epoch(
        self, name: str, rewards: int, delta: float
    ) -> None:
        make, progress = OF_HORIZON[name], after(rewards)
        explicit = make(*doubling.horizon(None, delta, rewards))
        assert make(None, delta)(progress) == pytest.approx(explicit(progress), rel=1e-12)

    @pytest.mark.daily(4)
    @pytest.mark.parametrize("name", OF_NORM)
    @given(first=rounds, second=rounds)
    @settings(max_examples=50)
    def test_widths_grow_with_the_rounds(self, name: str, first: int, second: int) -> None:
        guessed = OF_NORM[name][0](None)
        if "horizon" in {one.name for one in fields(guessed)}:
            guessed = replace(guessed, horizon=None)
        early, late = (
            guessed(after(t, effective_dimension=lambda: 3.0)) for t in sorted([first, second])
        )
        assert early <= late * (1 + 1e-12)

    @given(rounds, st.integers(1, 10**4), alphas, positive, shares)
    def test_the_threshold_takes_the_same_horizon(
        self, rewards: int, dimension: int, alpha: float, v: float, delta: float
    ) -> None:
        moment = sf.Moment(alpha, v)
        horizon, share = doubling.horizon(None, delta, rewards)
        guessed = sf.AdaptiveTruncation(moment, delta=delta).threshold(rewards, dimension)
        expected = heavy_tails.fourier_threshold(v, alpha, share, rewards, dimension, horizon)
        assert guessed == pytest.approx(expected, rel=1e-12)

    def test_a_noise_of_zero_is_no_unit(self) -> None:
        for make in (
            widths.chowdhury_gopalan,
            widths.bkb,
            widths.analytic_mixture,
            widths.dual_mixture,
            sketch_determinant,
        ):
            with pytest.raises(sf.InvalidInput, match="norm_bound"):
                make(None, 0.0)
            make(1.0, 0.0)


def run(optimizer: sf.Optimizer, rounds: int, seed: int) -> torch.Tensor:
    generator = np.random.default_rng(seed)
    for _ in range(rounds):
        query = optimizer.ask()
        optimizer.tell(query, float(query.point[0]) + float(generator.standard_t(2.5)))
    return optimizer.belief().posterior.mean(optimizer.space.points)


class TestAlgorithms:
    def test_they_run_without_norm_and_horizon_and_go_on_when_loaded(self, tmp_path: Path) -> None:
        for name in ("tgp_ucb", "ata_gp_ucb"):
            optimizer = getattr(algorithms, name)(ARMS, KERNEL, moment=MOMENT, seed=2)
            assert optimizer.width == pytest.approx(UNIT, rel=1e-12)
            run(optimizer, 20, seed=3)
            optimizer.save(tmp_path / name)
            loaded = sf.Optimizer.load(tmp_path / name)
            assert loaded._history.model.width == optimizer._history.model.width
            assert torch.equal(run(loaded, 10, seed=4), run(optimizer, 10, seed=4))

    @pytest.mark.long
    def test_a_guessed_horizon_is_that_of_the_epoch_whatever_came_before(self) -> None:
        """Rewards that an earlier, higher threshold had let pass are cut at a lower one."""
        moment = sf.Moment(1.0, 0.03)  # a threshold that only a new guess moves
        apart = sf.kernels.squared_exponential(0.01)
        rewards = np.random.default_rng(5).standard_t(3, size=1030)

        def after_all(**horizon: Any) -> sf.Optimizer:
            optimizer = algorithms.ata_gp_ucb(
                sf.Arms([[0.0], [0.5], [1.0]]),
                apart,
                moment=moment,
                norm_bound=1.0,
                features=sf.Exact(),
                **horizon,
            )
            for t, y in enumerate(rewards):
                optimizer.tell(t % 3, float(y))
            return optimizer

        horizon, share = doubling.horizon(None, 0.1, len(rewards))
        guessed, told = after_all(), after_all(horizon=horizon, delta=share)
        means = (
            optimizer.belief().posterior.mean(optimizer.space.points)
            for optimizer in (guessed, told)
        )
        torch.testing.assert_close(*means, rtol=1e-9, atol=1e-12)
        assert guessed.width == pytest.approx(told.width, rel=1e-12)

    def test_bkb_is_saved_with_its_optimiser(self, tmp_path: Path) -> None:
        optimizer = sf.Optimizer(
            ARMS, sf.Method(KERNEL, width=widths.bkb(None, 0.3, 0.05, 0.2, 0.4))
        )
        optimizer.tell(3, 0.5)
        optimizer.save(tmp_path / "run")
        loaded = sf.Optimizer.load(tmp_path / "run")
        assert loaded._history.model.width == optimizer._history.model.width
        assert loaded.width == optimizer.width


not_positive = st.sampled_from([0.0, -1.0, float("nan"), float("inf"), "1", True])


class TestBadInput:
    @pytest.mark.parametrize("name", OF_NORM)
    @given(value=not_positive)
    def test_norm_bounds(self, name: str, value: Any) -> None:
        with pytest.raises(sf.InvalidInput, match="`norm_bound`"):
            OF_NORM[name][0](value)

    @pytest.mark.parametrize("name", OF_HORIZON)
    @pytest.mark.parametrize("value", [0, -3, 2.5, float("nan"), "10", True])
    def test_horizons(self, name: str, value: Any) -> None:
        with pytest.raises(sf.InvalidInput, match="`horizon`"):
            OF_HORIZON[name](value, 0.1)
        with pytest.raises(sf.InvalidInput, match="`horizon`"):
            sf.AdaptiveTruncation(MOMENT, value)

    @pytest.mark.parametrize("value", [0.0, 1.0, -0.1, float("nan"), "0.1"])
    def test_probabilities(self, value: Any) -> None:
        for make in (
            lambda: widths.bkb(1.0, 1.0, delta=value),
            lambda: widths.bkb(1.0, 1.0, accuracy=value),
            lambda: widths.truncated(MOMENT, 1.0, value),
            lambda: widths.dual_mixture(1.0, 1.0, value),
            lambda: sketch_determinant(1.0, 1.0, value),
            lambda: widths.adaptive_fourier(MOMENT, 1.0, value),
            lambda: widths.adaptive_nystrom(MOMENT, 1.0, accuracy=value),
        ):
            with pytest.raises(sf.InvalidInput, match="strictly between 0 and 1"):
                make()


@given(rounds, st.integers(0, 10**6), shares)
def test_initial_rewards_do_not_count(rewards: int, initial: int, delta: float) -> None:
    counted = widths.srinivas(delta, initial=initial)
    assert counted(after(rewards + initial)) == widths.srinivas(delta)(after(rewards))
    assert counted(after(min(rewards, initial))) == widths.srinivas(delta)(after(0))


@pytest.mark.parametrize("initial", [-1, 1.5, True, None])
def test_the_number_of_initial_rewards_is_a_count(initial: Any) -> None:
    with pytest.raises(sf.InvalidInput, match="initial"):
        widths.srinivas(initial=initial)
