"""Heavy-tailed kernel bandits against the paper's formulas, written out in `reference`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from reference import heavy_tails
from reference.agreement import agree
from reference.heavy_tails import Root
from support.heavy_tailed_cases import (
    ACCURACY,
    CASES,
    DELTA,
    HORIZON,
    LINE,
    MOMENTS,
    NORM,
    PULLS,
    alphas,
    check_counts,
    features,
    lost,
    pulls,
)
from support.kernel_cases import GRID, Case, waves
from surefoot.features import Dictionary, Features
from surefoot.types import Info

ridges = pytest.mark.parametrize("ridge", [1.0, 0.1])
in_pairs = pytest.mark.parametrize(  # any two choices meet
    ("alpha", "ridge", "root"),
    [
        (1.0, 1.0, "symmetric"),
        (0.5, 1.0, "cholesky"),
        pytest.param(1.0, 0.1, "cholesky"),
        pytest.param(0.5, 0.1, "symmetric"),
    ],
)


def payoffs(case: Case) -> np.ndarray:
    """A function of the arm, with noise of infinite variance (t,)."""
    noise = 2.0 * np.random.default_rng(1).standard_t(1.5, size=PULLS)
    return np.sin(np.arange(len(case.arms)))[pulls(case)] + noise


def kernel_matrices(case: Case) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """K_t (t, t), k_t (A, t) and k(x, x) (A,)."""
    k_t = case.gram[:, pulls(case)]
    return k_t[pulls(case)], k_t, case.gram.diagonal()


WAVES = {"line": (waves(LINE, 0.25), 20, 0.25), "plane": (waves(GRID, 0.45), 6, 0.45)}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
waving = pytest.mark.parametrize(("case", "nodes", "lengthscale"), WAVES.values(), ids=WAVES)


def run(optimizer: sf.Optimizer, case: Case, order: np.ndarray | None = None) -> list[Info]:
    """Tell all rewards, one after the other, in the order (t,) or as they come."""
    order = np.arange(PULLS) if order is None else order
    told = zip(pulls(case)[order].tolist(), payoffs(case)[order].tolist(), strict=True)
    return [optimizer.tell(arm, y) for arm, y in told]


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
        agree(optimizer.belief().posterior.variance(optimizer.space.points), self.variance)
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
    agree(optimizer.belief().posterior.mean(optimizer.space.points), phi @ found.theta)
    np.testing.assert_allclose(info.threshold, b_t, rtol=1e-12)

    assert 0 < lost(found).sum() < PULLS / 2
    check_counts(info, found)


@pytest.mark.long
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

    agree(optimizer.belief().posterior.mean(optimizer.space.points), mean)
    Geometry(variance, log_det, beta).check(optimizer, infos[-1])
    dropped = Y_hat != payoffs(case)
    assert 0 < dropped.sum() < PULLS / 2
    assert [info.truncated for info in infos] == dropped.tolist()
    assert [info.truncated_total for info in infos] == dropped.cumsum().tolist()
    b = [heavy_tails.truncation_threshold(v, alpha, t) for t in range(1, PULLS + 1)]
    np.testing.assert_allclose([info.threshold for info in infos], b, rtol=1e-12)


@pytest.mark.long
@cases
@in_pairs
def test_adaptive_truncation_in_exact_features_is_algorithm_2(
    case: Case, alpha: float, ridge: float, root: Root
) -> None:
    v = MOMENTS[alpha].bound
    optimizer = case.optimizer(
        estimator=sf.AdaptiveTruncation(MOMENTS[alpha], HORIZON, DELTA, root),
        width=sf.widths.adaptive_fourier(MOMENTS[alpha], NORM, DELTA, horizon=HORIZON),
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


@pytest.mark.long
@waving
@in_pairs
def test_adaptive_truncation_in_fourier_features_is_algorithm_2_with_the_width_of_lemma_1(
    case: Case, nodes: int, lengthscale: float, alpha: float, ridge: float, root: Root
) -> None:
    v = MOMENTS[alpha].bound
    optimizer = case.optimizer(
        features=sf.QuadratureFourier(nodes),
        estimator=sf.AdaptiveTruncation(MOMENTS[alpha], HORIZON, DELTA, root),
        width=sf.widths.adaptive_fourier(MOMENTS[alpha], NORM, DELTA, horizon=HORIZON),
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


@pytest.mark.long
@cases
@in_pairs
def test_adaptive_truncation_on_a_dictionary_is_algorithm_2_with_the_width_of_theorem_4(
    case: Case, alpha: float, ridge: float, root: Root
) -> None:
    v = MOMENTS[alpha].bound
    optimizer, literal = on_dictionary(
        case,
        estimator=sf.AdaptiveTruncation(MOMENTS[alpha], HORIZON, DELTA, root, unions=4),
        width=sf.widths.adaptive_nystrom(
            MOMENTS[alpha], NORM, DELTA, horizon=HORIZON, accuracy=ACCURACY
        ),
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


@pytest.mark.long
@cases
@ridges
def test_least_squares_on_a_dictionary_is_ridge_regression_in_its_features(
    case: Case, ridge: float
) -> None:
    optimizer, literal = on_dictionary(case, ridge=ridge)
    info = run(optimizer, case)[-1]

    Phi = literal[pulls(case)]
    theta = heavy_tails.ridge_regression(Phi, payoffs(case), ridge)
    agree(optimizer.belief().posterior.mean(optimizer.space.points), literal @ theta)
    variance = heavy_tails.nystrom_variance(Phi, literal, case.gram.diagonal(), ridge)
    agree(optimizer.belief().posterior.variance(optimizer.space.points), variance)
    log_det = heavy_tails.log_determinant(Phi @ Phi.T, ridge)
    np.testing.assert_allclose(2 * info.information_gain, log_det, rtol=1e-7)


@pytest.mark.long
@waving
@ridges
def test_least_squares_in_folded_waves_is_ridge_regression_in_all_of_them(
    case: Case, nodes: int, lengthscale: float, ridge: float
) -> None:
    optimizer = case.optimizer(features=sf.QuadratureFourier(nodes), ridge=ridge)
    run(optimizer, case)
    literal = heavy_tails.quadrature_features(case.arms, nodes, lengthscale)
    theta = heavy_tails.ridge_regression(literal[pulls(case)], payoffs(case), ridge)
    agree(optimizer.belief().posterior.mean(optimizer.space.points), literal @ theta)


@pytest.mark.parametrize("features", [sf.QuadratureFourier(20), sf.Exact()], ids=["waves", "exact"])
@alphas
def test_adaptive_widths_before_the_first_reward(features: Features, alpha: float) -> None:
    """The terms in t are zero, but for alpha = 1, where they do not depend on it."""
    width = sf.widths.adaptive_fourier(MOMENTS[alpha], NORM, DELTA, horizon=HORIZON)
    optimizer = WAVES["line"][0].optimizer(features=features, width=width)
    if alpha < 1:
        assert optimizer.width == NORM
    else:
        assert np.isfinite(optimizer.width)
        assert optimizer.width >= NORM
    optimizer.ask()
