"""Sampled dictionaries of arms that explain each other, or of which the kernel is zero."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from reference import budgeted, covariance
from reference.agreement import agree
from support.budgeted_runs import (
    NOISE,
    NORM,
    PLANE,
    Run,
    bkb_on,
    dictionary,
    inclusions,
    line,
    mean,
    variance,
)
from support.kernel_cases import Case, bare, waves
from support.variants import variant
from surefoot.algorithms import bkb

POWERS = np.array([1.0, 2.0, -1.0, 0.5, 3.0, -2.5, 1e-3])


class TestDegenerateArms:
    """Arms that explain each other, or that the kernel makes nothing of."""

    @inclusions
    def test_ten_thousand_copies_of_an_arm(self, inclusion: str) -> None:
        """The formulas see a copy as the same arm, pulled once more."""
        distinct = np.array([[0.1], [0.4], [0.5], [0.9]])
        which = np.concatenate([np.zeros(10_000, dtype=int), [1, 2, 3]])
        arms, kernel = sf.Arms(distinct[which]), sf.kernels.matern(1.5, 0.3)
        optimizer = variant(
            bkb(arms, kernel, norm_bound=NORM, noise=NOISE, ridge=0.5),
            features=sf.Nystrom(sf.LeverageSampling(3.0, inclusion=inclusion)),
        )
        world = np.random.default_rng(0)
        pulled = np.concatenate([world.permutation(10_000)[:40], [10_000, 10_002, 10_001]])
        rewards = world.normal(size=43)
        optimizer.tell_all(pulled, rewards)
        K = covariance.gram(covariance.matern(1.5, np.array([0.3])), distinct, distinct)
        S = which[dictionary(optimizer)]
        assert 1 < len(S) <= 4
        sketched = budgeted.Sketched(K, which[pulled], S, 0.5)
        agree(mean(optimizer), sketched.mean(rewards)[which])
        agree(variance(optimizer), 0.5 * sketched.variance()[which])
        assert optimizer.ask().arm is not None

    @pytest.mark.long
    def test_a_thousand_pulls_of_an_arm(self) -> None:
        case = line(4, 0.3)
        optimizer, pulled = bkb_on(case, ridge=0.5), np.array([1, 3, *[2] * 1000])
        rewards = np.random.default_rng(0).normal(size=1002)
        optimizer.tell_all(pulled, rewards)
        sketched = budgeted.Sketched(case.gram, pulled, dictionary(optimizer), 0.5)
        agree(mean(optimizer), sketched.mean(rewards))
        np.testing.assert_allclose(variance(optimizer), 0.5 * sketched.variance(), rtol=1e-7)

    @pytest.mark.long
    @pytest.mark.parametrize("ridge", [1.0, 0.01])
    def test_colinear_arms(self, ridge: float) -> None:
        arms = np.outer(np.concatenate([POWERS, POWERS]), [0.3, 0.4])
        case = Case(arms, sf.kernels.linear, covariance.linear)
        run = Run(bkb_on(case, ridge=ridge), case, ridge)
        for _ in range(4):
            run.ask_and_tell(15)
            assert len(run.dictionary) == 1
            v = run.sketched.variance()
            agree(mean(run.optimizer), run.sketched.mean(np.array(run.rewards)))
            np.testing.assert_allclose(variance(run.optimizer), ridge * v, rtol=1e-7)
            np.testing.assert_allclose(
                v, budgeted.exact_variance(case.gram, np.array(run.pulled), ridge), rtol=1e-7
            )

    def test_copies_and_colinear_arms_in_a_dictionary_change_nothing(self) -> None:
        """A pseudo-inverse of K_S with them is the inverse without."""
        arms = np.concatenate([np.outer(POWERS, [0.3, 0.4, 0.5]), [[1.0, 0.0, 2.0]]])
        case = Case(arms, sf.kernels.linear, covariance.linear)
        S = np.array([0, 0, 1, 7, 5, 7, 7])
        optimizer = sf.Optimizer(
            case.space, sf.Method(case.kernel(), features=sf.Dictionary(case.arms[S]), ridge=0.1)
        )
        pulled, rewards = np.arange(8).repeat(2), np.random.default_rng(0).normal(size=16)
        optimizer.tell_all(pulled, rewards)
        sketched = budgeted.Sketched(case.gram, pulled, S, 0.1)
        agree(mean(optimizer), sketched.mean(rewards))
        agree(variance(optimizer), 0.1 * sketched.variance())

    @pytest.mark.long
    @pytest.mark.parametrize("seed", range(4))
    @pytest.mark.parametrize("ridge", [1.0, 0.01])
    def test_an_arm_of_which_the_kernel_makes_nothing(self, ridge: float, seed: int) -> None:
        """Of x = 0 a linear kernel says mean 0 and variance 0, and its pull teaches nothing."""
        case = Case(
            np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [0.0, 0.5]]),
            sf.kernels.linear,
            covariance.linear,
        )
        run = Run(bkb_on(case, ridge=ridge, seed=seed), case, ridge)
        for arm in [0, 1, 0, 2, 0, 3, *[0, 1] * 20]:
            run.tell(arm)
            m, v = mean(run.optimizer), variance(run.optimizer)
            assert np.isfinite(m).all()
            assert np.isfinite(v).all()
            assert abs(m[:2]).max() == 0.0
            assert v[:2].max() <= 1e-15
            assert math.isfinite(run.optimizer.width)
        run.ask_and_tell(60)

    @pytest.mark.long
    @pytest.mark.parametrize("lengthscale", [1e2, 1e4, 1e6, 1e8])
    @pytest.mark.parametrize("kernel", ["se", "matern"])
    def test_lengthscales_at_which_rounding_makes_the_kernel_indefinite(
        self, kernel: str, lengthscale: float
    ) -> None:
        scale, arms = np.array([lengthscale]), np.linspace(0, 1, 15)[:, None]
        case = {
            "se": waves(arms, lengthscale),
            "matern": Case(
                arms,
                lambda: sf.kernels.matern(2.5, lengthscale),
                covariance.matern_five_halves(scale),
            ),
        }[kernel]
        assert np.linalg.eigvalsh(case.gram)[0] <= 1e-15
        run = Run(bkb_on(case, ridge=0.1, oversampling=5.0), case, 0.1)
        for arm in range(15):
            run.tell(arm)
        run.ask_and_tell(20)
        v = run.sketched.variance()
        agree(mean(run.optimizer), run.sketched.mean(np.array(run.rewards)))
        np.testing.assert_allclose(variance(run.optimizer), 0.1 * v, rtol=1e-7)
        assert run.optimizer.width == pytest.approx(run.beta(v) / math.sqrt(0.1), rel=1e-7)

    @pytest.mark.long
    @pytest.mark.parametrize("least", [-1e-9, -1e-12, 0.0])
    def test_a_matrix_that_rounding_made_indefinite(self, least: float) -> None:
        loadings = np.random.default_rng(1).normal(size=(10, 3))
        covariances = loadings @ loadings.T
        covariances += least * covariances.max() * np.eye(10)
        case = bare(covariances)
        run = Run(bkb_on(case, ridge=0.1, oversampling=20.0), case, 0.1)
        for arm in range(10):
            run.tell(arm)
        run.ask_and_tell(20)
        assert len(run.dictionary) == 3
        agree(mean(run.optimizer), run.sketched.mean(np.array(run.rewards)))
        agree(variance(run.optimizer), 0.1 * run.sketched.variance())

    @pytest.mark.long
    @settings(max_examples=15, deadline=None)
    @given(
        st.floats(-6.0, 6.0),
        st.floats(-6.0, 8.0),
        st.floats(-3.0, 5.0),
        st.floats(0.0, 12.0),
        st.integers(0, 2**31),
    )
    def test_scales_of_all_sizes_leave_finite_numbers(
        self, ridge: float, scale: float, lengthscale: float, q: float, seed: int
    ) -> None:
        """Powers of ten: of the ridge, the prior variance, the lengthscale, the oversampling."""
        kernel = sf.kernels.scaled(sf.kernels.matern(2.5, 10.0**lengthscale), 10.0**scale)
        optimizer = bkb(
            sf.Arms(PLANE),
            kernel,
            norm_bound=NORM,
            noise=NOISE,
            oversampling=10.0**q,
            ridge=10.0**ridge,
            seed=seed,
        )
        for _ in range(12):
            query = optimizer.ask()
            optimizer.tell(query, math.sin(query.id))
            v = variance(optimizer)
            assert np.isfinite(mean(optimizer)).all()
            assert ((v >= 0) & (v <= 10.0**scale * (1 + 1e-9))).all()
            assert math.isfinite(optimizer.width)
            assert len(dictionary(optimizer)) >= 1
