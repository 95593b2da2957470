"""Adaptive truncation by updates is the sum over all pulls, in every round."""

from dataclasses import dataclass
from functools import cached_property

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from reference import heavy_tails
from reference.heavy_tails import Root
from support.heavy_tailed_cases import (
    CASES,
    DELTA,
    HORIZON,
    LINE,
    NORM,
    alphas,
    check_counts,
    features,
    roots,
)
from surefoot.features import Dictionary, Features
from surefoot.types import Info


@dataclass(frozen=True)
class Heavy:
    """Rewards of Student's t, and an estimator whose threshold cuts some of them."""

    seed: int
    dof: float
    scale: float
    spread: float  # of the rewards that the moment bound is for, in units of the scale
    alpha: float
    ridge: float
    pulls: int

    def generator(self, stream: int) -> np.random.Generator:
        return np.random.default_rng([self.seed, stream])

    @cached_property
    def rewards(self) -> np.ndarray:
        return self.scale * (1.0 + self.generator(0).standard_t(self.dof, size=self.pulls))

    @cached_property
    def moment(self) -> sf.Moment:
        return sf.Moment(self.alpha, (self.spread * self.scale) ** (1.0 + self.alpha))

    def estimator(self, root: Root) -> sf.AdaptiveTruncation:
        return sf.AdaptiveTruncation(self.moment, HORIZON, DELTA, root)

    def check(
        self,
        optimizer: sf.Optimizer,
        info: Info,
        Phi: np.ndarray,
        root: Root,
        horizon: int = HORIZON,
        delta: float = DELTA,
    ) -> bool:
        """The coefficients after the pulls Phi (t, m) are the literal ones; was a term cut?

        The error is measured against the truncated and the plain estimate together: the cheap way
        takes what is cut away from the plain estimate, so a reward of 1e9 leaves the rounding of
        numbers of that size, which the literal sum never sees.
        """
        t, m = Phi.shape
        v = self.moment.bound
        b_t = heavy_tails.fourier_threshold(v, self.alpha, delta, t, m, horizon)
        y = self.rewards[:t]
        literal = heavy_tails.adaptive_truncation(Phi, y, self.ridge, b_t, root)
        plain = heavy_tails.ridge_regression(Phi, y, self.ridge)
        difference = optimizer.belief().posterior.coefficients.numpy() - literal.theta
        scale = np.linalg.norm(literal.theta) + np.linalg.norm(plain)
        assert np.linalg.norm(difference) <= 1e-10 * scale
        check_counts(info, literal)
        return not literal.kept.all()


HEAVY = st.builds(
    Heavy,
    seed=st.integers(0, 2**32 - 1),
    dof=st.floats(0.8, 3.0) | st.just(1e6),  # from beyond Cauchy to as good as normal
    scale=st.floats(-3.0, 6.0).map(lambda power: 10.0**power),
    spread=st.floats(0.3, 10.0),
    alpha=st.floats(0.05, 1.0),
    ridge=st.floats(-2.0, 1.0).map(lambda power: 10.0**power),
    pulls=st.integers(1, 60),
)
few = settings(max_examples=8, deadline=None, database=None, derandomize=True)


class TestCheapAdaptiveTruncationIsTheLiteralOne:
    """After every tell, with all pulls summed anew in every direction."""

    @pytest.mark.long
    @roots
    @pytest.mark.parametrize(
        ("kernel", "chosen"),
        [
            pytest.param(sf.kernels.squared_exponential(0.25), sf.Exact()),
            (sf.kernels.squared_exponential(0.25), sf.QuadratureFourier(20)),
            pytest.param(sf.kernels.matern(1.5, 0.25), sf.Nystrom(sf.PivotedCholesky(8))),
            pytest.param(sf.kernels.matern(1.5, 0.25), Dictionary(LINE[::4])),
        ],
        ids=["exact", "waves", "sketch", "dictionary"],
    )
    @given(heavy=HEAVY)
    @few
    def test_on_arms(
        self,
        kernel: gpytorch.kernels.Kernel,
        chosen: Features,
        root: Root,
        heavy: Heavy,
    ) -> None:
        optimizer = sf.Optimizer(
            sf.Arms(LINE),
            sf.Method(kernel, features=chosen, estimator=heavy.estimator(root), ridge=heavy.ridge),
        )
        pulled = heavy.generator(1).integers(len(LINE), size=heavy.pulls)
        for t, (arm, y) in enumerate(zip(pulled, heavy.rewards, strict=True), start=1):
            info = optimizer.tell(int(arm), float(y))
            heavy.check(optimizer, info, features(optimizer)[pulled[:t]], root)

    @pytest.mark.long
    @roots
    @given(heavy=HEAVY)
    @few
    def test_on_a_box_where_every_point_brings_a_feature(self, root: Root, heavy: Heavy) -> None:
        optimizer = sf.Optimizer(
            sf.Box([0.0, 0.0], [1.0, 1.0]),
            sf.Method(
                sf.kernels.matern(1.5, 0.5), estimator=heavy.estimator(root), ridge=heavy.ridge
            ),
        )
        points = torch.from_numpy(heavy.generator(1).uniform(size=(heavy.pulls, 2)))
        for t, y in enumerate(heavy.rewards, start=1):
            info = optimizer.tell(points[t - 1], float(y))
            heavy.check(optimizer, info, features(optimizer, points[:t]), root)

    @pytest.mark.long
    @roots
    @alphas
    def test_in_a_long_run(self, alpha: float, root: Root) -> None:
        """Rewards that can no longer be cut are let go; what this loses would show late."""
        heavy = Heavy(seed=3, dof=1.0, scale=2.0, spread=1.5, alpha=alpha, ridge=0.5, pulls=400)
        case = CASES["precomputed"]
        optimizer = case.optimizer(estimator=heavy.estimator(root), ridge=heavy.ridge)
        pulled = heavy.generator(1).integers(len(case.arms), size=heavy.pulls)
        cut = 0
        for t, (arm, y) in enumerate(zip(pulled, heavy.rewards, strict=True), start=1):
            info = optimizer.tell(int(arm), float(y))
            cut += heavy.check(optimizer, info, features(optimizer)[pulled[:t]], root)
        assert cut > heavy.pulls / 2

    @pytest.mark.daily(1)
    @roots
    def test_when_a_new_guess_at_the_horizon_lowers_the_threshold(self, root: Root) -> None:
        """Arms that say nothing of each other: a reward let go is just below the threshold."""
        heavy = Heavy(seed=133, dof=1.0, scale=1.0, spread=1.0, alpha=1.0, ridge=0.5, pulls=1060)
        optimizer = sf.Optimizer(
            sf.Arms(6),
            sf.Method(
                sf.kernels.precomputed(np.eye(6)),
                estimator=sf.AdaptiveTruncation(heavy.moment, None, DELTA, root),
                width=sf.widths.adaptive_fourier(heavy.moment, NORM, DELTA),
                ridge=heavy.ridge,
            ),
        )
        pulled = heavy.generator(1).integers(6, size=heavy.pulls)
        optimizer.tell_all(pulled[:1000], heavy.rewards[:1000])
        infos = {}
        for t in range(1001, heavy.pulls + 1):
            info = optimizer.tell(int(pulled[t - 1]), float(heavy.rewards[t - 1]))
            horizon, delta = (1024, DELTA / 2) if t < 1024 else (2048, DELTA / 6)
            Phi = features(optimizer)[pulled[:t]]
            assert heavy.check(optimizer, info, Phi, root, horizon, delta)
            v = heavy.moment.bound
            beta = heavy_tails.fourier_width(NORM, v, 1.0, delta, heavy.ridge, t, 6, horizon)
            assert info.width == pytest.approx(beta, rel=1e-12)
            infos[t] = info
        assert infos[1024].truncated == 1
        assert infos[1024].truncated_total > infos[1023].truncated_total + 1
