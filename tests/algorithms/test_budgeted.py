"""BKB against the paper's formulas, written out in `reference.budgeted`."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import surefoot as sf
from reference import budgeted, width
from reference.agreement import agree
from support.budgeted_runs import (
    ACCURACY,
    CASES,
    DELTA,
    ERROR,
    NOISE,
    NORM,
    Run,
    bkb_on,
    dictionary,
    inclusions,
    line,
    mean,
    variance,
)
from support.kernel_cases import Case, waves
from surefoot.algorithms import bkb, gp_ucb
from surefoot.estimators import Estimator

cases = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@pytest.mark.long
@cases
def test_with_everything_in_the_dictionary_the_arms_are_those_of_exact_gp_ucb(case: Case) -> None:
    beta, ridge = sf.widths.srinivas(scale=0.5), 0.2
    sketch = Run(bkb_on(case, oversampling=1e9, width=beta, ridge=ridge), case, ridge)
    exact = gp_ucb(case.space, case.kernel(), features=sf.Exact(), width=beta, ridge=ridge)
    for t in range(80):
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


@pytest.mark.long
@pytest.mark.parametrize(
    ("case", "inclusion", "ridge"),
    [
        pytest.param(CASES[name], inclusion, ridge, id=f"{name}-{inclusion}-{ridge}")
        for name, inclusion, ridge in (
            *[("se", "per-pull", 1.0), ("se", "per-pull", 0.01), ("se", "per-arm", 0.01)],
            *[("matern", "per-arm", 0.01), ("linear", "per-pull", 1.0)],
            *[("precomputed", "per-pull", 0.01), ("scaled", "per-pull", 1.0)],
        )
    ],
)
def test_mean_variance_width_and_next_arm_are_the_papers_given_the_dictionary(
    case: Case, inclusion: str, ridge: float
) -> None:
    run = Run(bkb_on(case, inclusion=inclusion, ridge=ridge), case, ridge)
    sizes = []
    for _ in range(6):
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

    @pytest.mark.long
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


class TestVarianceStarvation:
    """Figure 1: a function on [0, 1], k(x, x') = exp(-100 (x - x')^2), measured up to 1/2 only."""

    @pytest.mark.long
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
        posterior, points = optimizer.belief().posterior, optimizer.space.points
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

    @pytest.mark.long
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

    @pytest.mark.long
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
        assert sf.Optimizer.load(again)._history.model.features == larger


MOMENT = sf.Moment(1.0, 2.0)
ESTIMATORS: dict[str, Estimator] = {
    "least-squares": sf.LeastSquares(),
    "truncation": sf.Truncation(MOMENT),
    "adaptive-truncation": sf.AdaptiveTruncation(MOMENT, 60),
    "huber": sf.Huber(),
    "huber-growing": sf.Huber(growing=True),
    "student-t": sf.StudentT(),
}


@pytest.mark.long
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
