"""BKB against the paper's formulas, written out in `reference.budgeted`."""

import math
import pickle
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import surefoot as sf
from kernel_cases import LENGTHSCALES, Case, bare, cases_on, table, waves
from reference import budgeted, covariance, width
from reference.agreement import agree
from surefoot.algorithms import bkb, gp_ucb
from surefoot.estimators import Estimator
from surefoot.features import oversampling
from surefoot.types import InvalidInput

NORM, NOISE, DELTA, ACCURACY = 2.0, 0.5, 0.1, 0.5
ERROR = 1e-7  # chance that a correct library fails one of the statistical tests

inclusions = pytest.mark.parametrize("inclusion", ["per-pull", "per-arm"])


def bkb_on(case: Case, space: sf.Arms | sf.Box | None = None, **parts: Any) -> sf.Optimizer:
    given = {"norm_bound": NORM, "noise": NOISE, "oversampling": 2.0}
    return bkb(space or case.space, case.kernel(), **given | parts)


def line(
    number: int, lengthscale: float, nu: float = 0.5, seed: int = 7, spread: float = 1.0
) -> Case:
    """Irregular arms on a line; with nu = 1/2 none of them is explained by the others."""
    arms = spread * np.sort(np.random.default_rng(seed).uniform(size=number))[:, None]
    scale = np.array([lengthscale])
    return Case(arms, lambda: sf.kernels.matern(nu, lengthscale), covariance.matern(nu, scale))


PLANE = np.random.default_rng(3).uniform(size=(30, 2))  # irregular: no two arms ever tie


def quadrupled_matern(x: np.ndarray, z: np.ndarray) -> float:
    return 4.0 * covariance.matern_five_halves(LENGTHSCALES)(x, z)


CASES = cases_on(PLANE, table(2)) | {
    "scaled": Case(
        PLANE,
        lambda: sf.kernels.scaled(sf.kernels.matern(2.5, LENGTHSCALES), 4.0),
        quadrupled_matern,
    ),
}
cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@dataclass
class Run:
    """An optimiser, and all that the formulas need to know of what it has seen."""

    optimizer: sf.Optimizer
    case: Case
    ridge: float
    noise: np.random.Generator = field(default_factory=lambda: np.random.default_rng(11))
    pulled: list[int] = field(default_factory=list)
    rewards: list[float] = field(default_factory=list)

    def ask_and_tell(self, rounds: int = 1) -> None:
        for _ in range(rounds):
            query = self.optimizer.ask()
            assert query.arm is not None
            self._tell(query, query.arm)

    def tell(self, arm: int) -> None:
        on_arms = isinstance(self.optimizer.space, sf.Arms)
        self._tell(arm if on_arms else self.case.points[arm], arm)

    def _tell(self, where: sf.Query | int | torch.Tensor, arm: int) -> None:
        reward = math.sin(arm) + NOISE * float(self.noise.normal())
        self.optimizer.tell(where, reward)
        self.pulled.append(arm)
        self.rewards.append(reward)

    @property
    def dictionary(self) -> np.ndarray:
        """Arms of the dictionary (m,), but for any that the others explain."""
        return dictionary(self.optimizer, self.case.points)

    @property
    def sketched(self) -> budgeted.Sketched:
        return budgeted.Sketched(self.case.gram, np.array(self.pulled), self.dictionary, self.ridge)

    def beta(self, variance: np.ndarray) -> float:
        """Theorem 2's, from the paper's variance of every arm (A,)."""
        of_pulls, kappa = variance[self.pulled], math.sqrt(self.case.gram.diagonal().max())
        return budgeted.width(of_pulls, NOISE, NORM, DELTA, ACCURACY, self.ridge, kappa)


def dictionary(optimizer: sf.Optimizer, points: torch.Tensor | None = None) -> np.ndarray:
    """Arms (m,), or indices into the points (A, d), of the dictionary."""
    if points is None:
        points = optimizer.space.points
    embedding = optimizer.posterior.embedding
    kept = getattr(embedding, "embedding", embedding).dictionary
    same = (kept[:, None, :] == points).all(-1)
    assert same.any(1).all(), "a point of the dictionary was never measured"
    return same.to(torch.int8).argmax(1).numpy()


def variance(optimizer: sf.Optimizer) -> np.ndarray:
    """sigma^2 of every arm (A,)."""
    return optimizer.posterior.variance(optimizer.space.points).numpy()


def mean(optimizer: sf.Optimizer) -> np.ndarray:
    return optimizer.posterior.mean(optimizer.space.points).numpy()


@cases
def test_with_everything_in_the_dictionary_the_arms_are_those_of_exact_gp_ucb(case: Case) -> None:
    beta, ridge = sf.widths.srinivas(scale=0.5), 0.2
    sketch = Run(bkb_on(case, oversampling=1e9, width=beta, ridge=ridge), case, ridge)
    exact = gp_ucb(case.space, case.kernel(), features=sf.Exact(), width=beta, ridge=ridge)
    for t in range(150):
        if t > 0:
            asked = exact.ask()
            m = budgeted.exact_mean(
                case.gram, np.array(sketch.pulled), np.array(sketch.rewards), ridge
            )
            v = ridge * budgeted.exact_variance(case.gram, np.array(sketch.pulled), ridge)
            literal = np.argmax(m + 0.5 * width.srinivas(t + 1, 0.1) * np.sqrt(v))
        sketch.ask_and_tell()
        arm, reward = sketch.pulled[-1], sketch.rewards[-1]
        if t > 0:
            assert (arm, arm) == (asked.arm, literal), t
            exact.forget(asked, failed=False)
        exact.tell(arm, reward)
    assert len(set(sketch.pulled)) > 4
    agree(mean(sketch.optimizer), mean(exact))
    np.testing.assert_allclose(variance(sketch.optimizer), variance(exact), rtol=1e-7)


@cases
@pytest.mark.parametrize(
    ("inclusion", "ridge"), [("per-pull", 1.0), ("per-pull", 0.01), ("per-arm", 0.01)]
)
def test_mean_variance_width_and_next_arm_are_the_papers_given_the_dictionary(
    case: Case, inclusion: str, ridge: float
) -> None:
    run = Run(bkb_on(case, inclusion=inclusion, ridge=ridge), case, ridge)
    sizes = []
    for _ in range(10):
        run.ask_and_tell(20)
        sketched = run.sketched
        m, v = sketched.mean(np.array(run.rewards)), sketched.variance()
        beta = run.beta(v)

        agree(mean(run.optimizer), m)
        np.testing.assert_allclose(variance(run.optimizer), ridge * v, rtol=1e-7)
        np.testing.assert_allclose(math.sqrt(ridge) * run.optimizer.width, beta, rtol=1e-7)
        next_ = run.optimizer.ask()
        assert next_.arm == np.argmax(m + beta * np.sqrt(v))
        run.optimizer.forget(next_, failed=False)
        sizes.append((len(run.dictionary), len(set(run.pulled))))
    if ridge == 1.0:
        assert any(kept < pulled for kept, pulled in sizes)


@pytest.mark.parametrize("ridge", [0.01, 1.0, 100.0])
def test_convention_variance_is_the_papers_times_lambda_and_width_the_papers_over_its_root(
    ridge: float,
) -> None:
    """After n pulls of one arm the paper's variance of it is k / (n k + lambda)."""
    case = CASES["scaled"]
    optimizer = bkb_on(case, oversampling=1e9, ridge=ridge)
    optimizer.tell_all([3, 3, 3, 3, 3], [0.0, 0.0, 0.0, 0.0, 0.0])
    papers = 4.0 / (5 * 4.0 + ridge)
    assert variance(optimizer)[3] == pytest.approx(ridge * papers, rel=1e-9)
    beta = budgeted.width(np.full(5, papers), NOISE, NORM, DELTA, ACCURACY, ridge, kappa=2.0)
    assert optimizer.width == pytest.approx(beta / math.sqrt(ridge), rel=1e-9)
    reach = optimizer.width * math.sqrt(variance(optimizer)[3])
    assert reach == pytest.approx(beta * math.sqrt(papers), rel=1e-9)


class TestFirstRound:
    """Algorithm 1 before its loop."""

    def test_the_first_arm_is_uniform_whatever_its_variance(self) -> None:
        space, kernel = sf.Arms([[1.0], [2.0], [-3.0], [0.5], [5.0]]), sf.kernels.linear()
        first = [
            bkb(space, kernel, norm_bound=1.0, noise=1.0, seed=seed).ask().arm
            for seed in range(300)
        ]
        for arm in range(5):
            assert stats.binomtest(first.count(arm), 300, 0.2).pvalue > ERROR / 5

    @pytest.mark.parametrize("ridge", [0.1, 1e6])
    def test_the_first_dictionary_is_the_first_arm(self, ridge: float) -> None:
        optimizer = bkb_on(line(9, 0.3), oversampling=1.0, ridge=ridge)
        query = optimizer.ask()
        optimizer.tell(query, 1.0)
        assert dictionary(optimizer).tolist() == [query.arm]


def chances(inclusion: str, papers: np.ndarray, counts: np.ndarray, q: float) -> np.ndarray:
    """The chance of each arm, given the paper's variance of it and its pulls."""
    p = budgeted.inclusion(papers, q)
    if inclusion == "per-arm":
        return np.minimum(counts * p, 1.0)
    return budgeted.inclusion_of_arm(p, counts)


class TestChances:
    """Who enters the dictionary, and how often."""

    @inclusions
    @given(
        st.lists(st.tuples(st.floats(0.0, 10.0), st.integers(1, 10**6)), min_size=1, max_size=9),
        st.floats(1.0, 1e6),
    )
    def test_are_the_formulas(
        self, inclusion: Any, arms: list[tuple[float, int]], q: float
    ) -> None:
        papers, counts = (np.array(column, dtype=float) for column in zip(*arms, strict=True))
        rule = sf.LeverageSampling(q, inclusion=inclusion)
        ours = rule.chances(torch.from_numpy(papers), torch.from_numpy(counts)).numpy()
        np.testing.assert_allclose(
            ours, chances(inclusion, papers, counts, q), rtol=1e-7, atol=1e-10
        )
        assert ((ours >= 0) & (ours <= 1)).all()

    @given(
        st.lists(st.floats(0.0, 1e-3), min_size=1, max_size=5),
        st.integers(1, 10**6),
        st.integers(1, 10**5),
        st.floats(0.01, 0.99),
        st.floats(0.01, 0.99),
    )
    def test_without_an_oversampling_take_that_of_theorem_1(
        self, papers: list[float], pulls: int, T: int, delta: float, epsilon: float
    ) -> None:
        q = budgeted.oversampling(T, delta, epsilon)
        assert oversampling(T, delta, epsilon) == pytest.approx(q, rel=1e-12)
        relative, counts = torch.tensor(papers).double(), torch.full((len(papers),), float(pulls))
        rule = sf.LeverageSampling(
            None, horizon=T, delta=delta, accuracy=epsilon, inclusion="per-arm"
        )
        expected = chances("per-arm", relative.numpy(), np.array(pulls), q)
        np.testing.assert_allclose(rule.chances(relative, counts), expected, rtol=1e-9)

    @given(st.integers(1, 10**6), st.floats(0.01, 0.99))
    def test_without_a_horizon_double_the_guess_and_share_delta_out(
        self, pulls: int, delta: float
    ) -> None:
        guess = 0
        while 1024 * 2**guess < pulls + 1:
            guess += 1
        share = delta / ((guess + 1) * (guess + 2))
        q = budgeted.oversampling(1024 * 2**guess, share, ACCURACY)
        rule = sf.LeverageSampling(None, delta=delta, accuracy=ACCURACY, inclusion="per-arm")
        small = torch.tensor([1e-9 / pulls], dtype=torch.float64)
        ours = rule.chances(small, torch.tensor([float(pulls)], dtype=torch.float64))
        assert float(ours) == pytest.approx(1e-9 * q, rel=1e-9)

    @inclusions
    def test_draws_keep_to_them_and_are_independent(self, inclusion: Any) -> None:
        """Exact binomial tests of each arm, and of each pair being in together."""
        papers = np.array([1e-4, 0.003, 0.01, 0.02, 0.05, 0.1, 0.3, 2.0])
        counts = np.array([900.0, 3.0, 40.0, 1.0, 4.0, 3.0, 1.0, 1.0])
        expected = chances(inclusion, papers, counts, 2.0)
        rule, generator = (
            sf.LeverageSampling(2.0, inclusion=inclusion),
            torch.Generator().manual_seed(5),
        )
        relative, pulls = torch.from_numpy(papers), torch.from_numpy(counts)
        draws = 4000
        drawn = torch.stack([rule.draw(relative, pulls, generator) for _ in range(draws)])
        together = (drawn.double().T @ drawn.double()).numpy().astype(int)
        tests = 36  # of 8 arms and 28 pairs
        for i in range(8):
            for j in range(i, 8):
                p = expected[i] if i == j else expected[i] * expected[j]
                assert stats.binomtest(together[i, j], draws, p).pvalue > ERROR / tests, (i, j)

    @inclusions
    def test_next_dictionary_of_a_fixed_history(self, inclusion: str, tmp_path: Path) -> None:
        """One more reward told to many copies of one optimiser, each with a seed of its own."""
        case, ridge, q, copies = line(14, 0.5), 0.5, 1.5, 150
        run = Run(bkb_on(case, oversampling=q, inclusion=inclusion, ridge=ridge), case, ridge)
        for arm in [0, 0, 0, 0, 1, 2, 2, 3, 4, 5, 5, 5, 6, 7, 8, 9, 10, 10, 11, 12]:
            run.tell(arm)
        run.optimizer.save(tmp_path / "run")
        papers = run.sketched.variance()
        counts = np.bincount([*run.pulled, 10], minlength=14).astype(float)
        expected = chances(inclusion, papers, counts, q)
        none = float(np.prod(1 - expected))
        expected[10] += none  # where the draw is empty the last pull is taken in

        found = np.zeros(14, dtype=int)
        for seed in range(copies):
            copy = sf.Optimizer.load(tmp_path / "run")
            copy.reseed(seed)
            copy.tell(10, 1.0)
            found[dictionary(copy)] += 1
        assert found[13] == 0  # never pulled
        assert 0.1 < expected[:13].min() < 0.5
        for arm in range(13):
            p = min(expected[arm], 1.0)
            assert stats.binomtest(found[arm], copies, p).pvalue > ERROR / 13, arm

    @inclusions
    @pytest.mark.parametrize("space", [None, sf.Box([0.0], [1.0])], ids=["arms", "box"])
    def test_every_round_of_a_run(self, space: sf.Box | None, inclusion: str) -> None:
        """Over the rounds, arms in the dictionary less their chances are a martingale.

        The chance of round t + 1 follows from the dictionary of round t. Arms are put together by
        their chance, and each sum is within Freedman's bound but with probability `ERROR`.
        """
        case, ridge, q = line(40, 0.6), 1.0, 4.0
        optimizer = bkb_on(case, space, oversampling=q, inclusion=inclusion, ridge=ridge)
        run = Run(optimizer, case, ridge)
        choice = np.random.default_rng(2)
        often = choice.dirichlet(np.full(40, 0.7))
        edges = np.linspace(0.0, 1.0, 9)
        excess, spread, empty = np.zeros(8), np.zeros(8), 0.0
        run.tell(0)
        for _ in range(180):
            papers = run.sketched.variance()
            run.tell(int(choice.choice(40, p=often)))
            counts = np.bincount(run.pulled, minlength=40).astype(float)
            p = chances(inclusion, papers, counts, q)
            inside = np.zeros(40)
            inside[run.dictionary] = 1.0
            assert (inside[p == 0.0] == 0).all()
            assert (inside[p == 1.0] == 1).all()
            bins = np.clip(np.digitize(p, edges) - 1, 0, 7)
            np.add.at(excess, bins, inside - p)
            np.add.at(spread, bins, p * (1 - p))
            empty += float(np.prod(1 - p))
        assert empty < 1e-8  # an empty draw takes in the last pull, which these chances leave out
        assert (spread > 10).sum() >= 6
        for x, v in zip(np.abs(excess), spread, strict=True):
            assert x <= freedman(v, ERROR / 8)

        sketched = run.sketched
        v = sketched.variance()
        agree(optimizer.posterior.mean(case.points).numpy(), sketched.mean(np.array(run.rewards)))
        ours = optimizer.posterior.variance(case.points).numpy()
        np.testing.assert_allclose(ours, ridge * v, rtol=1e-7)
        assert optimizer.width == pytest.approx(run.beta(v) / math.sqrt(ridge), rel=1e-7)


def freedman(variance: float, error: float) -> float:
    """What a martingale of steps at most 1 stays within, at this predictable variance.

    P(|M| >= x and V <= v) <= 2 exp(-x^2 / (2 (v + x / 3))) (Freedman 1975, Theorem 1.6), for
    v = 1, 2, 4, ..., 2^15 at once.
    """
    v = 2.0 ** math.ceil(math.log2(max(variance, 1.0)))
    assert v <= 2**15
    logarithm = math.log(2 * 16 / error)
    return logarithm / 3 + math.sqrt(logarithm**2 / 9 + 2 * v * logarithm)


def admissible(runs: int, delta: float) -> int:
    """How many of the runs may fail, each with probability delta at most.

    More do with probability 1e-7 at most, by the binomial tail.
    """
    return int(stats.binom.isf(ERROR, runs, delta))


class TestTheorem1:
    """sigma^2 / a <= sigma~^2 <= a sigma^2 and |S| <= 3 (1 + kappa^2 / lambda) a q-bar d_eff.

    The theorem's q-bar is near 10^3, so a dictionary is smaller than the pulls only after
    thousands of them, or where lambda is thousands of kappa^2. The first test goes the first way:
    8,000 pulls of a few arms and one of each other arm, by one optimiser that seldom draws, whose
    dictionary is then accurate; 50 copies of it go on by themselves, and draw in each round. By the
    proof, which leads from one accurate dictionary to the next, such a copy fails with probability
    delta at most, independently of the others. The second runs 50 times from the first round, with
    bounds on the size below the number of pulls.
    """

    def test_variances_are_within_a_factor_of_the_exact_ones(self, tmp_path: Path) -> None:
        case, ridge, horizon, runs, rounds = line(160, 1.0), 500.0, 10_000, 50, 16
        a, q = budgeted.alpha(ACCURACY), budgeted.oversampling(horizon, DELTA, ACCURACY)
        theory: dict[str, Any] = {"horizon": horizon, "delta": DELTA, "accuracy": ACCURACY}
        counts = np.ones(160)
        counts[10::20] = 1000.0
        pulls = np.random.default_rng(0).permutation(np.repeat(np.arange(160), counts.astype(int)))
        prefix = sf.Optimizer(
            case.space,
            case.kernel(),
            features=sf.Nystrom(
                sf.LeverageSampling(None, "adaptive", feedback="immediate", **theory)
            ),
            width=sf.widths.bkb(NORM, NOISE, DELTA, ACCURACY),
            ridge=ridge,
        )
        prefix.tell_all(pulls, np.zeros(len(pulls)))
        prefix.save(tmp_path / "run")
        every_round = sf.Optimizer.load(
            tmp_path / "run", features=sf.Nystrom(sf.LeverageSampling(None, **theory))
        )
        state = pickle.dumps(every_round)

        def exact(posterior: np.ndarray) -> np.ndarray:
            return posterior.diagonal() / ridge

        K, failures, smallest, largest, sizes = case.gram, 0, 1.0, 1.0, []
        start = budgeted.posterior_covariance(K, counts, ridge)
        ratio = variance(prefix) / ridge / exact(start)
        assert ratio.min() >= 1 / a
        assert ratio.max() <= a
        assert (exact(start) * ridge).max() < 1 / a  # the prior variance is none of the answers
        for seed in range(runs):
            optimizer = pickle.loads(state)
            optimizer.reseed(seed)
            now, n, failed = start, counts.copy(), False
            for _ in range(rounds):
                query = optimizer.ask()
                optimizer.tell(query, 0.0)
                n[query.arm] += 1
                row = now[query.arm]
                now = now - np.outer(row, row) / (ridge + row[query.arm])
                ratio = variance(optimizer) / ridge / exact(now)
                smallest, largest = min(smallest, ratio.min()), max(largest, ratio.max())
                sizes.append(len(dictionary(optimizer)))
                bound = budgeted.dictionary_bound(1.0, ridge, ACCURACY, q, float(n @ exact(now)))
                failed |= ratio.min() < 1 / a or ratio.max() > a or sizes[-1] > bound
            failures += failed
        agree(exact(now), exact(budgeted.posterior_covariance(K, n, ridge)))
        assert max(sizes) < 120  # of 160 arms pulled
        assert len(set(sizes)) > 10
        assert largest > 1.0 + 1e-5  # the dictionaries do leave something out
        assert failures <= admissible(runs, DELTA)

    def test_dictionaries_are_within_the_bound_on_their_size(self) -> None:
        """From the first round on; lambda = 10^4 kappa^2, so that the bound is below t.

        The proof (Proposition 8) has each round fail with probability exp(-2 d), where the bound
        is 3 d: rounds count once this is delta / T at most. The first dictionary of all has one
        arm whatever the bound.
        """
        case, ridge, horizon, runs = line(100, 0.5), 1e4, 60, 50
        a, q = budgeted.alpha(0.4), budgeted.oversampling(horizon, DELTA, 0.4)
        theory: dict[str, Any] = {"horizon": horizon, "delta": DELTA, "accuracy": 0.4}
        failures, counted, sizes = 0, 0, []
        for seed in range(runs):
            optimizer = bkb_on(case, oversampling=None, ridge=ridge, seed=seed, **theory)
            choice, pulled, failed = np.random.default_rng(seed), [], False
            now = case.gram
            for t in range(1, horizon + 1):
                arm = int(choice.integers(100))
                optimizer.tell(arm, 0.0)
                pulled.append(arm)
                now = now - np.outer(now[arm], now[arm]) / (ridge + now[arm, arm])
                exact = now.diagonal() / ridge
                ratio = variance(optimizer) / ridge / exact
                failed |= ratio.min() < 1 / a or ratio.max() > a
                d_eff = float(exact[pulled].sum())
                bound = budgeted.dictionary_bound(1.0, ridge, 0.4, q, d_eff)
                if math.exp(-2 * bound / 3) <= DELTA / horizon:
                    size = len(dictionary(optimizer))
                    failed |= size > bound
                    counted += 1
                    if t == horizon:
                        assert bound < len(set(pulled))
                        sizes.append(size)
            failures += failed
            np.testing.assert_allclose(
                d_eff, budgeted.effective_dimension(case.gram, np.array(pulled), ridge), rtol=1e-7
            )
        assert counted > runs * horizon / 2
        assert failures <= admissible(runs, DELTA)
        assert 2 < np.mean(sizes) < 10


class TestVarianceStarvation:
    """Figure 1: a function on [0, 1], k(x, x') = exp(-100 (x - x')^2), measured up to 1/2 only."""

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize("evaluations", [6, 63, 215])
    def test_subset_of_regressors_starves_and_bkb_does_not(
        self, evaluations: int, seed: int
    ) -> None:
        ridge, lengthscale = 0.01, 1 / math.sqrt(200)
        world = np.random.default_rng([evaluations, seed])
        pulled = np.floor(world.uniform(0, 151, size=evaluations)).astype(int)
        grid = np.linspace(0, 1, 301)
        case = waves(grid[:, None], lengthscale)
        K = np.exp(-100 * (grid[:, None] - grid) ** 2)
        f = world.multivariate_normal(np.zeros(301), K, method="eigh")
        optimizer = bkb_on(case, ridge=ridge, oversampling=4.0, seed=seed)
        optimizer.tell_all(pulled, f[pulled] + 0.1 * world.standard_normal(evaluations))

        S = dictionary(optimizer)
        assert len(S) <= min(evaluations, 30)
        sketched = budgeted.Sketched(K, pulled, S, ridge)
        exact = ridge * budgeted.exact_variance(K, pulled, ridge)
        posterior, points = optimizer.posterior, optimizer.space.points
        starved = (ridge * posterior.factor.leverage(posterior.embedding(points))).numpy()
        ours = variance(optimizer)
        agree(ours, ridge * sketched.variance())
        # Away from the data this is a difference of features that nearly cancel.
        np.testing.assert_allclose(starved, ridge * sketched.subset_of_regressors(), atol=1e-4)

        assert (ours / exact).min() >= 1 / 3  # the factor a of accuracy 1/2
        assert (ours / exact).max() <= 3
        far = grid > 0.75
        assert (starved < 0.1 * exact)[far].all()
        assert starved[grid > 0.9].max() < 1e-4
        assert ours[far].min() > 0.95

        error = np.abs(f - mean(optimizer))[far] / 3
        assert (error <= np.sqrt(ours[far])).mean() == 1.0
        assert (error > np.sqrt(starved[far])).mean() > 0.2


class TestSaving:
    """A run that stops in the middle, and one whose horizon is extended."""

    @inclusions
    def test_a_loaded_run_draws_the_same_dictionaries(self, inclusion: str, tmp_path: Path) -> None:
        case = line(30, 0.3)
        run = Run(bkb_on(case, inclusion=inclusion, ridge=0.3, seed=4), case, 0.3)
        run.ask_and_tell(25)
        run.optimizer.save(tmp_path / "run")
        loaded = Run(sf.Optimizer.load(tmp_path / "run"), case, 0.3, run.noise)
        loaded.noise = np.random.default_rng(1)
        run.noise = np.random.default_rng(1)
        sizes = set()
        assert loaded.dictionary.tolist() == run.dictionary.tolist()
        for _ in range(20):
            run.ask_and_tell()
            loaded.ask_and_tell()
            assert loaded.pulled[-1] == run.pulled[-1]
            assert loaded.dictionary.tolist() == run.dictionary.tolist()
            assert loaded.optimizer.width == run.optimizer.width
            sizes.add(len(run.dictionary))
        assert len(sizes) > 1

    def test_oversampling_grows_with_a_horizon_that_is_extended(self, tmp_path: Path) -> None:
        """ "Tuning q": only the selection is done anew, on the arms pulled so far."""
        case, ridge = line(30, 0.3), 2.0
        run = Run(bkb_on(case, oversampling=1.0, ridge=ridge), case, ridge)
        run.ask_and_tell(40)
        run.optimizer.save(tmp_path / "run")
        before = len(run.dictionary)
        assert before < len(set(run.pulled))

        larger = sf.Nystrom(
            sf.LeverageSampling(None, horizon=10**6, delta=DELTA, accuracy=ACCURACY)
        )
        loaded = Run(
            sf.Optimizer.load(tmp_path / "run", features=larger),
            case,
            ridge,
            pulled=list(run.pulled),
            rewards=list(run.rewards),
        )
        np.testing.assert_array_equal(variance(loaded.optimizer), variance(run.optimizer))
        q = budgeted.oversampling(10**6, DELTA, ACCURACY)
        assert (budgeted.inclusion(run.sketched.variance(), q)[run.pulled] == 1.0).all()
        loaded.ask_and_tell()
        assert set(loaded.dictionary) == set(loaded.pulled)
        v = ridge * budgeted.exact_variance(case.gram, np.array(loaded.pulled), ridge)
        np.testing.assert_allclose(variance(loaded.optimizer), v, rtol=1e-7)
        again = tmp_path / "again"
        loaded.optimizer.save(again)
        assert sf.Optimizer.load(again)._model.features == larger


POWERS = np.array([1.0, 2.0, -1.0, 0.5, 3.0, -2.5, 1e-3])


class TestDegenerateArms:
    """Arms that explain each other, or that the kernel makes nothing of."""

    @inclusions
    def test_ten_thousand_copies_of_an_arm(self, inclusion: str) -> None:
        """The formulas see a copy as the same arm, pulled once more."""
        distinct = np.array([[0.1], [0.4], [0.5], [0.9]])
        which = np.concatenate([np.zeros(10_000, dtype=int), [1, 2, 3]])
        optimizer = bkb(
            sf.Arms(distinct[which]),
            sf.kernels.matern(1.5, 0.3),
            norm_bound=NORM,
            noise=NOISE,
            oversampling=3.0,
            inclusion=inclusion,
            ridge=0.5,
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

    def test_a_thousand_pulls_of_an_arm(self) -> None:
        case = line(4, 0.3)
        optimizer, pulled = bkb_on(case, ridge=0.5), np.array([1, 3, *[2] * 1000])
        rewards = np.random.default_rng(0).normal(size=1002)
        optimizer.tell_all(pulled, rewards)
        sketched = budgeted.Sketched(case.gram, pulled, dictionary(optimizer), 0.5)
        agree(mean(optimizer), sketched.mean(rewards))
        np.testing.assert_allclose(variance(optimizer), 0.5 * sketched.variance(), rtol=1e-7)

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
            case.space,
            case.kernel(),
            features=sf.Dictionary(case.arms[S]),
            ridge=0.1,
        )
        pulled, rewards = np.arange(8).repeat(2), np.random.default_rng(0).normal(size=16)
        optimizer.tell_all(pulled, rewards)
        sketched = budgeted.Sketched(case.gram, pulled, S, 0.1)
        agree(mean(optimizer), sketched.mean(rewards))
        agree(variance(optimizer), 0.1 * sketched.variance())

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

    @settings(max_examples=25, deadline=None)
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


class TestBadInput:
    """Values that no rule can have."""

    @pytest.mark.parametrize("value", [0.99, 0.0, -1.0, math.nan, math.inf, "2", True])
    @pytest.mark.parametrize("name", ["oversampling", "ratio"])
    def test_oversampling_and_ratio_are_numbers_of_at_least_one(
        self, name: str, value: Any
    ) -> None:
        with pytest.raises(InvalidInput, match=f"`{name}` is .*expected a"):
            sf.LeverageSampling(**{name: value})

    @given(st.floats(max_value=1.0, exclude_max=True, allow_nan=False))
    def test_no_oversampling_below_one(self, value: float) -> None:
        with pytest.raises(InvalidInput, match="`oversampling`"):
            bkb_on(CASES["se"], oversampling=value)

    @given(st.floats(1.0, 1e300))
    def test_any_oversampling_from_one_on(self, value: float) -> None:
        assert sf.LeverageSampling(value, "adaptive", value).oversampling == value

    @pytest.mark.parametrize("name", ["resample", "inclusion"])
    @pytest.mark.parametrize("word", ["never", "", "EVERY-ROUND", None, 1])
    def test_unknown_words(self, name: str, word: Any) -> None:
        with pytest.raises(InvalidInput, match=f"`{name}` is {word!r}, expected '"):
            sf.LeverageSampling(**{name: word})

    @pytest.mark.parametrize("value", [0.0, 1.0, -0.5, 1.5, math.nan, "0.1"])
    @pytest.mark.parametrize("name", ["delta", "accuracy"])
    def test_delta_and_accuracy_are_strictly_between_0_and_1(self, name: str, value: Any) -> None:
        for make in (
            lambda: sf.LeverageSampling(**{name: value}),
            lambda: oversampling(10, **{name: value}),
            lambda: bkb_on(CASES["se"], **{name: value}),
        ):
            with pytest.raises(InvalidInput, match=f"`{name}`"):
                make()

    @pytest.mark.parametrize("value", [0, -3, 2.5, "10", True])
    def test_a_horizon_is_a_count(self, value: Any) -> None:
        for make in (
            lambda: oversampling(value),
            lambda: sf.LeverageSampling(None, horizon=value),
        ):
            with pytest.raises(InvalidInput, match="`horizon`"):
                make()

    def test_a_dictionary_is_drawn_by_a_kernel_that_is_given(self) -> None:
        with pytest.raises(InvalidInput, match="`LeverageSampling` needs a kernel that is given"):
            sf.Optimizer(sf.Arms(PLANE), features=sf.LeverageSampling())

    @pytest.mark.parametrize("points", [0, [], [[]], [[math.nan]]])
    def test_a_set_of_arms_is_not_empty(self, points: Any) -> None:
        with pytest.raises(InvalidInput, match="`points`"):
            sf.Arms(points)

    @pytest.mark.parametrize("arm", [-1, 30, 2.5])
    def test_a_wrong_tell_changes_nothing(self, arm: Any) -> None:
        run = Run(bkb_on(CASES["se"]), CASES["se"], 1.0)
        run.ask_and_tell(5)
        before = run.dictionary.tolist(), mean(run.optimizer), run.optimizer.width
        for where, reward in ((arm, 1.0), (0, math.nan), (0, math.inf)):
            with pytest.raises(InvalidInput):
                run.optimizer.tell(where, reward)
        assert run.dictionary.tolist() == before[0]
        assert (mean(run.optimizer) == before[1]).all()
        assert run.optimizer.width == before[2]


MOMENT = sf.Moment(1.0, 2.0)
ESTIMATORS: dict[str, Estimator] = {
    "least-squares": sf.LeastSquares(),
    "truncation": sf.Truncation(MOMENT),
    "adaptive-truncation": sf.AdaptiveTruncation(MOMENT, 60),
    "huber": sf.Huber(),
    "huber-growing": sf.Huber(growing=True),
    "median-of-means": sf.MedianOfMeans(5),
    "student-t": sf.StudentT(),
}


@pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
def test_every_estimator_finds_a_good_arm_on_a_sketch(estimator: Estimator) -> None:
    """One hill of height 1 on 30 arms, and noise a tenth of it."""
    case = line(30, 0.25, nu=2.5)
    f = np.exp(-(((case.arms[:, 0] - 0.6) / 0.2) ** 2))
    optimizer = bkb_on(
        case,
        estimator=estimator,
        oversampling=4.0,
        ridge=0.1,
        width=sf.widths.srinivas(scale=0.5),
    )
    world = np.random.default_rng(0)
    for _ in range(60):
        query = optimizer.ask()
        info = optimizer.tell(query, f[query.arm] + 0.1 * world.standard_normal())
        assert math.isfinite(info.width)
    found = optimizer.recommend()
    assert f[found.arm] > 0.9
    assert -math.inf < found.lower <= found.value <= found.upper < math.inf
    assert abs(found.value - f[found.arm]) < 0.2
    assert len(dictionary(optimizer)) < len(set(optimizer.history.arms))
