"""ATA-GP-UCB as in the experiments of its authors, against the formulas in their very features."""

from pathlib import Path

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import heavy_tails
from reference.agreement import agree
from support.budgeted_runs import dictionary
from support.heavy_tailed_cases import CASES, HORIZON, LINE, MOMENTS, NORM, PULLS, alphas, pulls
from support.kernel_cases import GRID, Case, waves

ROOTS = ["symmetric", "cholesky"]
roots = pytest.mark.parametrize("root", ROOTS)
in_pairs = pytest.mark.parametrize(  # any two choices meet
    ("case", "alpha", "root"),
    [
        pytest.param(case, alpha, root, id=f"{name}-{alpha}-{root}")
        for index, (name, case) in enumerate(CASES.items())
        for alpha, root in zip(MOMENTS, ROOTS[:: 1 if index % 2 else -1], strict=True)
    ],
)
ACCURACY, DELTA = 0.3, 0.1


def payoffs(case: Case) -> np.ndarray:
    """A function of the arm, with noise of infinite variance (t,)."""
    noise = 2.0 * np.random.default_rng(1).standard_t(1.5, size=PULLS)
    return np.sin(np.arange(len(case.arms)))[pulls(case)] + noise


def published(case: Case, features: sf.features.Features, alpha: float, root: str) -> sf.Optimizer:
    return case.optimizer(
        features=features,
        estimator=sf.AdaptiveTruncation(MOMENTS[alpha], HORIZON, 1.0, root, unions=1),
        width=sf.widths.adaptive_fourier(MOMENTS[alpha], NORM, DELTA, horizon=HORIZON),
        ridge=1.0,
        seed=4,
    )


def sketched(q: float, **parts: str) -> sf.Nystrom:
    return sf.Nystrom(sf.LeverageSampling(q, "every-round", root="symmetric", **parts))


def check(
    optimizer: sf.Optimizer,
    case: Case,
    arms: np.ndarray,
    rewards: np.ndarray,
    literal: np.ndarray,
    alpha: float,
    root: str,
    residual: np.ndarray,
) -> bool:
    """Mean, variance, width and next arm in literal features (A, m); was a term cut?"""
    t, (_, m), v = len(arms), literal.shape, MOMENTS[alpha].bound
    b_t = heavy_tails.published_threshold(v, alpha, t, m, HORIZON)
    found = heavy_tails.adaptive_truncation(literal[arms], rewards, 1.0, b_t, root)
    mean = literal @ found.theta
    variance = residual + heavy_tails.fourier_variance(literal[arms], literal, 1.0)
    beta = heavy_tails.fourier_width(NORM, v, alpha, DELTA, 1.0, t, m, HORIZON)
    at = optimizer.space.points
    agree(optimizer.belief().posterior.mean(at), mean)
    agree(optimizer.belief().posterior.variance(at), variance)
    assert optimizer.width == pytest.approx(beta, rel=1e-12)
    score, query = mean + beta * np.sqrt(variance), optimizer.ask()
    assert score[query.arm] >= score.max() - 1e-6
    optimizer.forget(query, failed=False)
    return not found.kept.all()


@pytest.mark.daily(2)
@pytest.mark.parametrize(
    ("case", "nodes", "lengthscale"),
    [(waves(LINE, 0.25), 20, 0.25), (waves(GRID, 0.45), 6, 0.45)],
    ids=["line", "plane"],
)
@alphas
@roots
def test_quadrature_has_a_cosine_and_a_sine_of_every_node(
    case: Case, nodes: int, lengthscale: float, alpha: float, root: str
) -> None:
    optimizer = published(case, sf.QuadratureFourier(nodes, folded=False), alpha, root)
    literal = heavy_tails.quadrature_features(case.arms, nodes, lengthscale)
    arms, rewards, none = pulls(case), payoffs(case), np.zeros(len(case.arms))
    cut = False
    for t, (arm, reward) in enumerate(zip(arms, rewards, strict=True), start=1):
        info = optimizer.tell(int(arm), float(reward))
        assert info.dimension == 2 * nodes ** case.arms.shape[1]
        if t % 20 == 0:
            phi = optimizer.belief().posterior.embedding(optimizer.space.points).numpy()
            np.testing.assert_allclose(phi, literal, rtol=0.0, atol=1e-9)
            cut |= check(optimizer, case, arms[:t], rewards[:t], literal, alpha, root, none)
    assert cut


@pytest.mark.long
@in_pairs
def test_a_dictionary_drawn_every_round_has_a_feature_for_each_arm(
    case: Case, alpha: float, root: str
) -> None:
    """The published q takes in nearly all arms; features are those of the symmetric root."""
    q = heavy_tails.published_oversampling(HORIZON, ACCURACY)
    optimizer = published(case, sketched(q), alpha, root)
    arms, rewards, cut = pulls(case), payoffs(case), False
    for t, (arm, reward) in enumerate(zip(arms, rewards, strict=True), start=1):
        info = optimizer.tell(int(arm), float(reward))
        if t % 20 == 0:
            S = dictionary(optimizer)
            assert info.dimension == len(S) == len(set(S.tolist()))
            phi = heavy_tails.nystrom_features(case.gram[np.ix_(S, S)], case.gram[:, S])
            residual = np.maximum(case.gram.diagonal() - (phi**2).sum(1), 0.0)
            cut |= check(optimizer, case, arms[:t], rewards[:t], phi, alpha, root, residual)
    assert cut


def test_the_dimension_is_the_number_of_arms_whatever_the_rank() -> None:
    arms = sf.Arms(torch.linspace(0.0, 1.0, 40, dtype=torch.float64).unsqueeze(-1))
    dimensions = {}
    for root in ("symmetric", "cholesky"):
        features = sf.Nystrom(sf.LeverageSampling(1e6, root=root))
        optimizer = sf.Optimizer(
            arms, sf.Method(sf.kernels.squared_exponential(0.3), features=features)
        )
        dimensions[root] = optimizer.tell_all(range(40), np.zeros(40)).dimension
    assert dimensions["symmetric"] == 40
    assert dimensions["cholesky"] < 20


@pytest.mark.long
def test_former_dictionaries_are_kept_and_a_saved_run_goes_on_the_same(tmp_path: Path) -> None:
    """A small q, so that dictionaries change: tables that are kept must be those of their arms."""
    case = CASES["matern"]

    def make() -> sf.Optimizer:
        return published(case, sketched(2.0), 1.0, "symmetric")

    optimizer = make()
    sizes = set()
    for arm, reward in zip(pulls(case)[:60], payoffs(case)[:60], strict=True):
        sizes.add(optimizer.tell(int(arm), float(reward)).dimension)
    assert len(sizes) > 2
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    for arm, reward in zip(pulls(case)[60:90], payoffs(case)[60:90], strict=True):
        infos = [one.tell(int(arm), float(reward)) for one in (optimizer, loaded)]
        assert infos[0].dimension == infos[1].dimension
        assert loaded.ask().arm == optimizer.ask().arm
    at = optimizer.space.points
    torch.testing.assert_close(
        loaded.belief().posterior.mean(at),
        optimizer.belief().posterior.mean(at),
        rtol=0.0,
        atol=1e-12,
    )


@pytest.mark.parametrize("sites", [3, 40])
@pytest.mark.parametrize("ridge", [1.0, 1e-4])
def test_the_symmetric_root_is_the_same_from_few_sites_and_from_many(
    sites: int, ridge: float
) -> None:
    generator = np.random.default_rng(sites)
    features = torch.from_numpy(generator.normal(size=(sites, 12)))
    features[-1] = features[0]  # of which two are the same
    counts = torch.from_numpy(generator.integers(1, 50, size=sites).astype(float))
    factor = sf.regression.ridge.RidgeFactor.of(features, ridge, counts)
    product = factor.symmetric_product(features, counts)
    expected = heavy_tails.inverse_root(factor.gram.numpy(), "symmetric")
    np.testing.assert_allclose(product(np.eye(12)), expected, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(product(np.ones(12)), expected.sum(1), rtol=1e-7, atol=1e-9)


class TestBadInput:
    @pytest.mark.parametrize("delta", [0.0, -0.1, 1.5, True, "1"])
    def test_delta_is_above_0_and_at_most_1(self, delta: object) -> None:
        with pytest.raises(sf.InvalidInput, match=r"`delta`.*above 0 and at most 1"):
            sf.AdaptiveTruncation(MOMENTS[1.0], delta=delta)

    @pytest.mark.parametrize("folded", [0, 1, "no", None])
    def test_folded_is_a_boolean(self, folded: object) -> None:
        with pytest.raises(sf.InvalidInput, match="`folded`"):
            sf.QuadratureFourier(8, folded=folded)

    def test_a_root_is_one_of_two_and_the_symmetric_one_is_for_arms(self) -> None:
        with pytest.raises(sf.InvalidInput, match=r"`root`.*'cholesky' or 'symmetric'"):
            sf.LeverageSampling(root="lu")
        with pytest.raises(
            sf.InvalidInput, match="the root 'symmetric' is for arms: on a box pass `Nystrom"
        ):
            sf.Optimizer(
                sf.Box([0.0], [1.0]), sf.Method(sf.kernels.matern(2.5, 0.2), features=sketched(5.0))
            )

    def test_one_feature_in_one_round_is_never_cut(self) -> None:
        estimator = sf.AdaptiveTruncation(MOMENTS[1.0], 1, 1.0, unions=1)
        assert estimator.threshold(1, 1) == np.inf
        optimizer = sf.Optimizer(
            sf.Arms([[0.0]]), sf.Method(sf.kernels.squared_exponential(0.2), estimator=estimator)
        )
        assert optimizer.tell(0, 1e9).truncated == 0
