"""Numbers against the formulas written out, and against other libraries."""

from collections.abc import Callable
from dataclasses import dataclass

import gpytorch
import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, Matern

import surefoot as sf
from reference import covariance, gaussian_process, width
from reference.agreement import agree
from support.kernel_cases import GRID, KERNELS, LENGTHSCALES, table
from surefoot.algorithms import gp_ucb
from surefoot.features import NystromEmbedding, pivoted_cholesky
from surefoot.regression.observations import Pull

PULLS = 120


@dataclass(frozen=True)
class Case:
    """One function of two coordinates (or of an index), as surefoot and as the formulas see it."""

    space: Callable[[], sf.Arms | sf.Box]
    kernel: Callable[[], gpytorch.kernels.Kernel]
    formula: covariance.Pointwise


TABLE = table()
CASES = {
    **{
        f"{name}-arms": Case(lambda: sf.Arms(GRID), kernel, formula)
        for name, (kernel, formula) in KERNELS.items()
    },
    **{
        f"{name}-box": Case(lambda: sf.Box([0.0, 0.0], [1.0, 1.0]), kernel, formula)
        for name, (kernel, formula) in KERNELS.items()
    },
    "precomputed-arms": Case(
        lambda: sf.Arms(12), lambda: sf.kernels.precomputed(TABLE), covariance.lookup(TABLE)
    ),
}


def data(space: sf.Arms | sf.Box) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Pulled points (t, d), some of them often, rewards (t,), and points (n, d) to predict at."""
    generator = np.random.default_rng(0)
    if isinstance(space, sf.Arms):
        arms = space.points.numpy()
        pulled = arms[generator.integers(len(arms), size=PULLS)]
        return pulled, generator.normal(size=PULLS), arms
    distinct = generator.uniform(size=(60, 2))
    pulled = np.concatenate([distinct, distinct[generator.integers(60, size=PULLS - 60)]])
    return pulled, generator.normal(size=PULLS), generator.uniform(size=(25, 2))


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


@pytest.mark.parametrize("ridge", [1.0, 0.1])
class TestAgainstFormulas:
    @pytest.mark.long
    def test_mean_and_variance_are_those_of_the_gaussian_process(
        self, case: Case, ridge: float
    ) -> None:
        space = case.space()
        pulled, rewards, points = data(space)
        optimizer = gp_ucb(space, case.kernel(), ridge=ridge)
        for x, y in zip(pulled, rewards, strict=True):
            optimizer.tell(x, y)

        mean, variance = gaussian_process.exact(case.formula, pulled, rewards, ridge, points)

        at = torch.from_numpy(points)
        agree(optimizer.belief().posterior.mean(at), mean)
        agree(optimizer.belief().posterior.variance(at), variance)

    @pytest.mark.long
    def test_information_gain_and_widths(self, case: Case, ridge: float) -> None:
        space = case.space()
        pulled, rewards, _ = data(space)
        theorem = sf.widths.chowdhury_gopalan(norm_bound=2.0, noise=0.7, delta=0.05, scale=0.5)
        optimizer = gp_ucb(space, case.kernel(), ridge=ridge, width=theorem)
        info = optimizer.tell_all(pulled, rewards)

        gain = gaussian_process.information_gain(case.formula, pulled, ridge)

        np.testing.assert_allclose(info.information_gain, gain, rtol=1e-7)
        expected = 0.5 * width.chowdhury_gopalan(2.0, 0.7 / ridge**0.5, gain, 0.05)
        np.testing.assert_allclose(info.width, expected, rtol=1e-7)
        np.testing.assert_allclose(optimizer.width, expected, rtol=1e-7)

    def test_pending_queries_lower_the_variance_as_measurements_do(
        self, case: Case, ridge: float
    ) -> None:
        space = case.space()
        pulled, rewards, points = data(space)
        pulled, rewards, pending = pulled[:10], rewards[:10], points[-4:]
        optimizer = gp_ucb(space, case.kernel(), ridge=ridge)
        optimizer.tell_all(pulled, rewards)

        mean, _ = gaussian_process.exact(case.formula, pulled, rewards, ridge, points)
        _, variance = gaussian_process.exact(
            case.formula, np.concatenate([pulled, pending]), np.zeros(14), ridge, points
        )

        at = torch.from_numpy(points)
        located = [space.locate(point) for point in pending]
        posterior = optimizer.belief().posterior.updated([Pull(x.point, x.arm, 1) for x in located])
        agree(posterior.mean(at), mean)
        agree(posterior.variance(at), variance)


@pytest.mark.parametrize("ridge", [1.0, 0.1])
def test_sketch_is_the_dtc_posterior_of_its_dictionary(ridge: float) -> None:
    case = CASES["matern-box"]
    pulled, rewards, points = data(case.space())
    optimizer = gp_ucb(
        case.space(), case.kernel(), features=sf.Nystrom(sf.PivotedCholesky(15)), ridge=ridge
    )
    optimizer.tell_all(pulled, rewards)
    embedding = optimizer.belief().posterior.embedding
    assert isinstance(embedding, NystromEmbedding)
    dictionary = embedding.dictionary.numpy()
    assert dictionary.shape == (12, 2)  # four fifths of it, the rest is for points to come

    mean, variance = gaussian_process.on_dictionary(
        case.formula, dictionary, pulled, rewards, ridge, points
    )

    at = torch.from_numpy(points)
    agree(optimizer.belief().posterior.mean(at), mean)
    agree(optimizer.belief().posterior.variance(at), variance)


@pytest.mark.long
def test_a_dictionary_shrinks_so_that_a_round_takes_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pivoted_cholesky, "_WORK", 2 * 40**3)
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(330, 2, generator=generator, dtype=torch.float64)
    optimizer = gp_ucb(
        sf.Box([0.0, 0.0], [1.0, 1.0]),
        sf.kernels.matern(0.5, 0.2),
        features=sf.Nystrom(sf.PivotedCholesky(40)),
        ridge=0.1,
    )
    sizes = {}
    for number, point in enumerate(points, 1):
        optimizer.tell(point, 0.0)
        sizes[number] = len(optimizer.belief().posterior.embedding.dictionary)
    assert sizes[40] == 40  # exact
    assert max(sizes.values()) == 40
    assert max(sizes[number] for number in range(320, 331)) == 20
    assert min(sizes[number] for number in range(320, 331)) >= 16


def test_srinivas_width_is_for_the_round_to_come() -> None:
    optimizer = gp_ucb(
        sf.Arms(GRID), sf.kernels.squared_exponential(0.2), width=sf.widths.srinivas(scale=0.5)
    )
    assert optimizer.width == pytest.approx(0.5 * width.srinivas(1, 0.1))
    info = optimizer.tell(0, 1.0)
    assert info.width == pytest.approx(0.5 * width.srinivas(2, 0.1))


def test_a_scaled_kernel_is_a_variance_times_the_kernel() -> None:
    case = CASES["matern-box"]
    pulled, rewards, points = data(case.space())
    optimizer = gp_ucb(case.space(), sf.kernels.scaled(case.kernel(), 3.0), ridge=0.5)
    optimizer.tell_all(pulled, rewards)

    def formula(x: np.ndarray, z: np.ndarray) -> float:
        return 3.0 * case.formula(x, z)

    mean, variance = gaussian_process.exact(formula, pulled, rewards, 0.5, points)
    at = torch.from_numpy(points)
    agree(optimizer.belief().posterior.mean(at), mean)
    agree(optimizer.belief().posterior.variance(at), variance)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kernel", "theirs"),
    [
        (sf.kernels.squared_exponential(LENGTHSCALES), RBF(LENGTHSCALES)),
        (sf.kernels.matern(0.5, LENGTHSCALES), Matern(LENGTHSCALES, nu=0.5)),
        (sf.kernels.matern(1.5, LENGTHSCALES), Matern(LENGTHSCALES, nu=1.5)),
        (sf.kernels.matern(2.5, 0.4), Matern(0.4, nu=2.5)),
    ],
)
def test_agrees_with_scikit_learn(kernel: gpytorch.kernels.Kernel, theirs: object) -> None:
    space = sf.Box([0.0, 0.0], [1.0, 1.0])
    pulled, rewards, points = data(space)
    optimizer = gp_ucb(space, kernel, ridge=0.1)
    optimizer.tell_all(pulled, rewards)
    peer = GaussianProcessRegressor(ConstantKernel(1.0) * theirs, alpha=0.1, optimizer=None)
    mean, deviation = peer.fit(pulled, rewards).predict(points, return_std=True)
    ours = optimizer.belief().posterior.mean_and_deviation(torch.from_numpy(points))
    agree(ours[0], mean)
    agree(ours[1], deviation)


def test_agrees_with_gpytorch() -> None:
    space = sf.Box([0.0, 0.0], [1.0, 1.0])
    pulled, rewards, points = data(space)
    optimizer = gp_ucb(space, sf.kernels.squared_exponential(LENGTHSCALES), ridge=0.1)
    optimizer.tell_all(pulled, rewards)

    class Peer(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            likelihood = gpytorch.likelihoods.GaussianLikelihood().double()
            likelihood.noise = torch.tensor(0.1, dtype=torch.float64)
            super().__init__(torch.from_numpy(pulled), torch.from_numpy(rewards), likelihood)
            self.mean = gpytorch.means.ZeroMean()
            self.kernel = sf.kernels.squared_exponential(LENGTHSCALES)

        def forward(self, x: torch.Tensor) -> gpytorch.distributions.MultivariateNormal:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    peer = Peer().eval()
    at = torch.from_numpy(points)
    with torch.no_grad(), gpytorch.settings.fast_computations(False, False, False):
        theirs = peer(at)
    agree(optimizer.belief().posterior.mean(at), theirs.mean)
    agree(optimizer.belief().posterior.variance(at), theirs.variance)
