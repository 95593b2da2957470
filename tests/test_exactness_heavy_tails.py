"""Heavy-tailed kernel bandits against the paper's formulas, written out in `reference`."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gpytorch
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import surefoot as sf
from kernel_cases import GRID, Case, cases_on, table, waves
from reference import heavy_tails
from reference.agreement import agree
from reference.heavy_tails import Root
from surefoot.estimators import Estimator
from surefoot.features import Dictionary, Features
from surefoot.types import Info

PULLS = 200
HORIZON, DELTA, NORM, ACCURACY = 1000, 0.05, 2.0, 0.3
MOMENTS = {alpha: sf.Moment(alpha, 4.0) for alpha in (1.0, 0.5)}

ridges = pytest.mark.parametrize("ridge", [1.0, 0.1])
alphas = pytest.mark.parametrize("alpha", MOMENTS)
roots = pytest.mark.parametrize("root", ["symmetric", "cholesky"])


def pulls(case: Case) -> np.ndarray:
    """Which arm (t,) each reward is of; the last two arms are never pulled."""
    return np.random.default_rng(0).integers(len(case.arms) - 2, size=PULLS)


def payoffs(case: Case) -> np.ndarray:
    """A function of the arm, with noise of infinite variance (t,)."""
    noise = 2.0 * np.random.default_rng(1).standard_t(1.5, size=PULLS)
    return np.sin(np.arange(len(case.arms)))[pulls(case)] + noise


def kernel_matrices(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K_t (t, t), k_t (A, t) and k(x, x) (A,)."""
    k_t = case.gram[:, pulls(case)]
    return k_t[pulls(case)], k_t, case.gram.diagonal()


LINE = np.linspace(0.0, 1.0, 25)[:, None]
CASES = cases_on(GRID, table(4))
WAVES = {"line": (waves(LINE, 0.25), 20, 0.25), "plane": (waves(GRID, 0.45), 6, 0.45)}

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
waving = pytest.mark.parametrize(("case", "nodes", "lengthscale"), WAVES.values(), ids=WAVES)


def run(optimizer: sf.Optimizer, case: Case, order: np.ndarray | None = None) -> list[Info]:
    """Tell all rewards, one after the other, in the order (t,) or as they come."""
    order = np.arange(PULLS) if order is None else order
    told = zip(pulls(case)[order].tolist(), payoffs(case)[order].tolist(), strict=True)
    return [optimizer.tell(arm, y) for arm, y in told]


def features(optimizer: sf.Optimizer, points: torch.Tensor | None = None) -> np.ndarray:
    """The optimiser's own phi (n, m), at the points (n, d) or at its arms.

    A kernel fixes features up to a rotation only. Least squares does not see it, but truncation in
    each direction does, so that is compared with the formula in the very same features.
    """
    at = optimizer.space.points if points is None else points
    return optimizer.posterior.embedding(at).numpy()


def on_dictionary(case: Case, **parts: Any) -> tuple[sf.Optimizer, np.ndarray]:
    """An optimiser with every third arm as its dictionary, and the literal features (A, m)."""
    chosen = np.arange(0, len(case.arms), 3)
    optimizer = case.optimizer(features=Dictionary(case.space.points[chosen]), **parts)
    K_D, k_D = case.gram[np.ix_(chosen, chosen)], case.gram[:, chosen]
    return optimizer, heavy_tails.nystrom_features(K_D, k_D)


@dataclass(frozen=True)
class Geometry:
    """What depends on the pulled points alone, and the width that follows from it."""

    variance: np.ndarray  # (A,)
    log_det: float
    width: float

    def check(self, optimizer: sf.Optimizer, info: Info) -> None:
        agree(optimizer.posterior.variance(optimizer.space.points), self.variance)
        np.testing.assert_allclose(2 * info.information_gain, self.log_det, rtol=1e-7)
        np.testing.assert_allclose([info.width, optimizer.width], self.width, rtol=1e-7)


def check_features(optimizer: sf.Optimizer, info: Info, products: np.ndarray) -> int:
    """They have the inner products (A, A) between arms; gives how many they are."""
    phi = features(optimizer)
    agree(phi @ phi.T, products)
    assert info.dimension == phi.shape[1]
    return info.dimension


def check_adaptive(
    optimizer: sf.Optimizer,
    info: Info,
    case: Case,
    ridge: float,
    root: Root,
    b_t: float,
) -> None:
    """The mean is that of Algorithm 2 in the optimiser's features, and cut rewards are told of."""
    phi = features(optimizer)
    found = heavy_tails.adaptive_truncation(phi[pulls(case)], payoffs(case), ridge, b_t, root)
    agree(optimizer.posterior.mean(optimizer.space.points), phi @ found.theta)
    np.testing.assert_allclose(info.threshold, b_t, rtol=1e-12)

    assert 0 < lost(found).sum() < PULLS / 2
    check_counts(info, found)


def lost(found: heavy_tails.AdaptivelyTruncated) -> np.ndarray:
    """Which rewards (t,) have less than half the length of their u_tau y_tau left."""
    left = np.linalg.norm(np.where(found.kept, found.products, 0.0), axis=0)
    return left < 0.5 * np.linalg.norm(found.products, axis=0)


def check_counts(info: Info, found: heavy_tails.AdaptivelyTruncated) -> None:
    assert info.truncated_total == lost(found).sum()
    assert info.truncated == lost(found)[-1]


@cases
@alphas
@ridges
def test_truncation_is_algorithm_1_with_the_width_of_theorem_1(
    case: Case, alpha: float, ridge: float
) -> None:
    v, width = MOMENTS[alpha].bound, sf.widths.truncated(MOMENTS[alpha], NORM, DELTA)
    optimizer = case.optimizer(estimator=sf.Truncation(MOMENTS[alpha]), width=width, ridge=ridge)
    infos = run(optimizer, case)

    K_t, k_t, k_xx = kernel_matrices(case)
    Y_hat = heavy_tails.truncated_rewards(payoffs(case), v, alpha)
    mean, variance = heavy_tails.truncated_posterior(K_t, k_t, k_xx, Y_hat, ridge)
    log_det = heavy_tails.log_determinant(K_t, ridge)
    beta = heavy_tails.truncation_width(NORM, v, alpha, DELTA, ridge, PULLS, log_det)

    agree(optimizer.posterior.mean(optimizer.space.points), mean)
    Geometry(variance, log_det, beta).check(optimizer, infos[-1])
    dropped = Y_hat != payoffs(case)
    assert 0 < dropped.sum() < PULLS / 2
    assert [info.truncated for info in infos] == dropped.tolist()
    assert [info.truncated_total for info in infos] == dropped.cumsum().tolist()
    b = [heavy_tails.truncation_threshold(v, alpha, t) for t in range(1, PULLS + 1)]
    np.testing.assert_allclose([info.threshold for info in infos], b, rtol=1e-12)


@cases
@alphas
@ridges
@roots
def test_adaptive_truncation_in_exact_features_is_algorithm_2(
    case: Case, alpha: float, ridge: float, root: Root
) -> None:
    v = MOMENTS[alpha].bound
    optimizer = case.optimizer(
        estimator=sf.AdaptiveTruncation(MOMENTS[alpha], HORIZON, DELTA, root),
        width=sf.widths.adaptive_fourier(MOMENTS[alpha], NORM, HORIZON, DELTA),
        ridge=ridge,
    )
    info = run(optimizer, case)[-1]

    m = check_features(optimizer, info, case.gram)
    b_t = heavy_tails.fourier_threshold(v, alpha, DELTA, PULLS, m, HORIZON)
    check_adaptive(optimizer, info, case, ridge, root, b_t)
    K_t, k_t, k_xx = kernel_matrices(case)
    _, variance = heavy_tails.truncated_posterior(K_t, k_t, k_xx, payoffs(case), ridge)
    log_det = heavy_tails.log_determinant(K_t, ridge)
    beta = heavy_tails.fourier_width(NORM, v, alpha, DELTA, ridge, PULLS, m, HORIZON)
    Geometry(variance, log_det, beta).check(optimizer, info)


@waving
@alphas
@ridges
@roots
def test_adaptive_truncation_in_fourier_features_is_algorithm_2_with_the_width_of_lemma_1(
    case: Case, nodes: int, lengthscale: float, alpha: float, ridge: float, root: Root
) -> None:
    v = MOMENTS[alpha].bound
    optimizer = case.optimizer(
        features=sf.QuadratureFourier(nodes),
        estimator=sf.AdaptiveTruncation(MOMENTS[alpha], HORIZON, DELTA, root),
        width=sf.widths.adaptive_fourier(MOMENTS[alpha], NORM, HORIZON, DELTA),
        ridge=ridge,
    )
    info = run(optimizer, case)[-1]

    unfolded = heavy_tails.quadrature_features(case.arms, nodes, lengthscale)
    m = check_features(optimizer, info, unfolded @ unfolded.T)
    assert unfolded.shape[1] == 2 * m
    b_t = heavy_tails.fourier_threshold(v, alpha, DELTA, PULLS, m, HORIZON)
    check_adaptive(optimizer, info, case, ridge, root, b_t)
    Phi = unfolded[pulls(case)]
    variance = heavy_tails.fourier_variance(Phi, unfolded, ridge)
    log_det = heavy_tails.log_determinant(Phi @ Phi.T, ridge)
    beta = heavy_tails.fourier_width(NORM, v, alpha, DELTA, ridge, PULLS, m, HORIZON)
    Geometry(variance, log_det, beta).check(optimizer, info)


@cases
@alphas
@ridges
@roots
def test_adaptive_truncation_on_a_dictionary_is_algorithm_2_with_the_width_of_theorem_4(
    case: Case, alpha: float, ridge: float, root: Root
) -> None:
    v = MOMENTS[alpha].bound
    optimizer, literal = on_dictionary(
        case,
        estimator=sf.AdaptiveTruncation(MOMENTS[alpha], HORIZON, DELTA, root, unions=4),
        width=sf.widths.adaptive_nystrom(MOMENTS[alpha], NORM, HORIZON, DELTA, ACCURACY),
        ridge=ridge,
    )
    info = optimizer.tell_all(pulls(case), payoffs(case))

    m = check_features(optimizer, info, literal @ literal.T)
    b_t = heavy_tails.nystrom_threshold(v, alpha, DELTA, PULLS, m, HORIZON)
    check_adaptive(optimizer, info, case, ridge, root, b_t)
    Phi = literal[pulls(case)]
    variance = heavy_tails.nystrom_variance(Phi, literal, case.gram.diagonal(), ridge)
    log_det = heavy_tails.log_determinant(Phi @ Phi.T, ridge)
    beta = heavy_tails.nystrom_width(NORM, v, alpha, DELTA, ridge, PULLS, m, HORIZON, ACCURACY)
    Geometry(variance, log_det, beta).check(optimizer, info)


@cases
@ridges
def test_least_squares_on_a_dictionary_is_ridge_regression_in_its_features(
    case: Case, ridge: float
) -> None:
    optimizer, literal = on_dictionary(case, ridge=ridge)
    info = run(optimizer, case)[-1]

    Phi = literal[pulls(case)]
    theta = heavy_tails.ridge_regression(Phi, payoffs(case), ridge)
    agree(optimizer.posterior.mean(optimizer.space.points), literal @ theta)
    variance = heavy_tails.nystrom_variance(Phi, literal, case.gram.diagonal(), ridge)
    agree(optimizer.posterior.variance(optimizer.space.points), variance)
    log_det = heavy_tails.log_determinant(Phi @ Phi.T, ridge)
    np.testing.assert_allclose(2 * info.information_gain, log_det, rtol=1e-7)


@waving
@ridges
def test_least_squares_in_folded_waves_is_ridge_regression_in_all_of_them(
    case: Case, nodes: int, lengthscale: float, ridge: float
) -> None:
    optimizer = case.optimizer(features=sf.QuadratureFourier(nodes), ridge=ridge)
    run(optimizer, case)
    literal = heavy_tails.quadrature_features(case.arms, nodes, lengthscale)
    theta = heavy_tails.ridge_regression(literal[pulls(case)], payoffs(case), ridge)
    agree(optimizer.posterior.mean(optimizer.space.points), literal @ theta)


@pytest.mark.parametrize("features", [sf.QuadratureFourier(20), sf.Exact()], ids=["waves", "exact"])
@alphas
def test_adaptive_widths_before_the_first_reward(features: Features, alpha: float) -> None:
    """The terms in t are zero, but for alpha = 1, where they do not depend on it."""
    width = sf.widths.adaptive_fourier(MOMENTS[alpha], NORM, HORIZON, DELTA)
    optimizer = WAVES["line"][0].optimizer(features=features, width=width)
    if alpha < 1:
        assert optimizer.width == NORM
    else:
        assert np.isfinite(optimizer.width)
        assert optimizer.width >= NORM
    optimizer.ask()


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
        difference = optimizer.posterior.coefficients.numpy() - literal.theta
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

    @roots
    @pytest.mark.parametrize(
        ("kernel", "chosen"),
        [
            (sf.kernels.squared_exponential(0.25), sf.Exact()),
            (sf.kernels.squared_exponential(0.25), sf.QuadratureFourier(20)),
            (sf.kernels.matern(1.5, 0.25), sf.Nystrom(sf.PivotedCholesky(8))),
            (sf.kernels.matern(1.5, 0.25), Dictionary(LINE[::4])),
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
            kernel,
            features=chosen,
            estimator=heavy.estimator(root),
            ridge=heavy.ridge,
        )
        pulled = heavy.generator(1).integers(len(LINE), size=heavy.pulls)
        for t, (arm, y) in enumerate(zip(pulled, heavy.rewards, strict=True), start=1):
            info = optimizer.tell(int(arm), float(y))
            heavy.check(optimizer, info, features(optimizer)[pulled[:t]], root)

    @roots
    @given(heavy=HEAVY)
    @few
    def test_on_a_box_where_every_point_brings_a_feature(self, root: Root, heavy: Heavy) -> None:
        optimizer = sf.Optimizer(
            sf.Box([0.0, 0.0], [1.0, 1.0]),
            sf.kernels.matern(1.5, 0.5),
            estimator=heavy.estimator(root),
            ridge=heavy.ridge,
        )
        points = torch.from_numpy(heavy.generator(1).uniform(size=(heavy.pulls, 2)))
        for t, y in enumerate(heavy.rewards, start=1):
            info = optimizer.tell(points[t - 1], float(y))
            heavy.check(optimizer, info, features(optimizer, points[:t]), root)

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

    @roots
    def test_when_a_new_guess_at_the_horizon_lowers_the_threshold(self, root: Root) -> None:
        """Arms that say nothing of each other: a reward let go is just below the threshold."""
        heavy = Heavy(seed=133, dof=1.0, scale=1.0, spread=1.0, alpha=1.0, ridge=0.5, pulls=1060)
        optimizer = sf.Optimizer(
            sf.Arms(6),
            sf.kernels.precomputed(np.eye(6)),
            estimator=sf.AdaptiveTruncation(heavy.moment, None, DELTA, root),
            width=sf.widths.adaptive_fourier(heavy.moment, NORM, None, DELTA),
            ridge=heavy.ridge,
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


HUGE = sf.Moment(0.5, 1e300)


@cases
@pytest.mark.parametrize(
    "estimator",
    [
        sf.Truncation(HUGE),
        sf.AdaptiveTruncation(HUGE, HORIZON),
        sf.AdaptiveTruncation(HUGE, HORIZON, root="symmetric"),
    ],
    ids=["truncation", "adaptive-cholesky", "adaptive-symmetric"],
)
def test_a_threshold_out_of_reach_leaves_least_squares(case: Case, estimator: Estimator) -> None:
    robust, plain = case.optimizer(estimator=estimator, ridge=0.1), case.optimizer(ridge=0.1)
    info = run(robust, case)[-1]
    run(plain, case)
    assert info.truncated_total == 0
    arms = plain.space.points
    agree(robust.posterior.mean(arms), plain.posterior.mean(arms).numpy())
    K_t, k_t, k_xx = kernel_matrices(case)
    mean, _ = heavy_tails.truncated_posterior(K_t, k_t, k_xx, payoffs(case), 0.1)
    agree(robust.posterior.mean(arms), mean)


@cases
@ridges
@pytest.mark.parametrize(
    "estimator", [sf.LeastSquares(), sf.Truncation(MOMENTS[0.5])], ids=["plain", "truncation"]
)
def test_a_full_dictionary_is_the_exact_process(
    case: Case, estimator: Estimator, ridge: float
) -> None:
    full = Dictionary(case.space.points)
    optimizer = case.optimizer(features=full, estimator=estimator, ridge=ridge)
    info = run(optimizer, case)[-1]

    K_t, k_t, k_xx = kernel_matrices(case)
    rewards = payoffs(case)
    if isinstance(estimator, sf.Truncation):
        rewards = heavy_tails.truncated_rewards(rewards, MOMENTS[0.5].bound, 0.5)
    mean, variance = heavy_tails.truncated_posterior(K_t, k_t, k_xx, rewards, ridge)
    agree(optimizer.posterior.mean(optimizer.space.points), mean)
    agree(optimizer.posterior.variance(optimizer.space.points), variance)
    log_det = heavy_tails.log_determinant(K_t, ridge)
    np.testing.assert_allclose(2 * info.information_gain, log_det, rtol=1e-7)


@pytest.mark.parametrize(
    ("dimension", "lengthscale", "nodes"),
    [
        *[(1, 1.0, 4), (1, 0.5, 8), (1, 0.3, 16), (1, 0.2, 26), (1, 0.15, 46)],
        *[(2, 1.0, 4), (2, 0.5, 6), (2, 0.5, 10), (2, 0.3, 14)],
    ],
)
def test_the_kernel_of_waves_errs_less_than_the_bound_on_the_unit_cube(
    dimension: int, lengthscale: float, nodes: int
) -> None:
    axis = np.linspace(0.0, 1.0, 41 if dimension == 1 else 7)
    arms = np.stack(np.meshgrid(*[axis] * dimension), -1).reshape(-1, dimension)
    case, chosen = waves(arms, lengthscale), sf.QuadratureFourier(nodes)
    optimizer = case.optimizer(features=chosen)
    optimizer.tell(0, 1.0)

    phi = features(optimizer)
    bound = chosen.error_bound(lengthscale, dimension)
    error = np.abs(phi @ phi.T - case.gram)
    assert error.max() <= bound + 1e-14  # of rounding, where the bound is below it
    np.testing.assert_allclose(
        bound, heavy_tails.quadrature_error(nodes, lengthscale, dimension), rtol=1e-9
    )
    np.testing.assert_allclose((phi**2).sum(axis=1), 1.0, rtol=1e-13)
    literal = heavy_tails.quadrature_features(arms, nodes, lengthscale)
    np.testing.assert_allclose(phi @ phi.T, literal @ literal.T, rtol=0.0, atol=1e-12)


ORDER = np.random.default_rng(2).permutation(PULLS)


class TestOrder:
    """The same pulls in another order."""

    @cases
    @pytest.mark.parametrize(
        "estimator",
        [
            sf.LeastSquares(),
            sf.AdaptiveTruncation(MOMENTS[0.5], HORIZON, DELTA),
            sf.AdaptiveTruncation(MOMENTS[0.5], HORIZON, DELTA, "symmetric"),
        ],
        ids=["plain", "adaptive-cholesky", "adaptive-symmetric"],
    )
    def test_does_not_matter(self, case: Case, estimator: Estimator) -> None:
        one, other = (case.optimizer(estimator=estimator, ridge=0.1) for _ in range(2))
        first = run(one, case)[-1]
        second = other.tell_all(pulls(case)[ORDER], payoffs(case)[ORDER])
        arms = one.space.points
        agree(other.posterior.mean(arms), one.posterior.mean(arms).numpy())
        agree(other.posterior.variance(arms), one.posterior.variance(arms).numpy())
        assert (first.truncated_total > 0) == isinstance(estimator, sf.AdaptiveTruncation)
        assert second.truncated_total == first.truncated_total

    @cases
    def test_matters_to_truncation_through_the_rounds_alone(self, case: Case) -> None:
        """The other order is least squares on what the rounds of that order keep."""
        as_told = heavy_tails.truncated_rewards(payoffs(case), MOMENTS[0.5].bound, 0.5)
        kept = heavy_tails.truncated_rewards(payoffs(case)[ORDER], MOMENTS[0.5].bound, 0.5)
        assert (kept != as_told[ORDER]).any()
        estimator = sf.Truncation(MOMENTS[0.5])
        optimizer, plain = case.optimizer(estimator=estimator, ridge=0.1), case.optimizer(ridge=0.1)
        run(optimizer, case, ORDER)
        plain.tell_all(pulls(case)[ORDER], kept)
        arms = plain.space.points
        agree(optimizer.posterior.mean(arms), plain.posterior.mean(arms).numpy())
