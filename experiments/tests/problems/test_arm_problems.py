"""Arm problems: norms and moments are those claimed, draws follow their law and repeat."""

import math
import pickle
from itertools import pairwise

import numpy as np
import pytest
import torch
from scipy import integrate, stats

import surefoot as sf
from surefoot import InvalidInput
from surefoot_experiments import problems

DRAWS = 20_000
# Dvoretzky-Kiefer-Wolfowitz: 20,000 draws from the law pass this with probability below 1e-6.
KOLMOGOROV = 0.0195

SYMMETRIC = {
    "gaussian": (problems.Gaussian(0.7), stats.norm(scale=0.7)),
    "student-t-3": (problems.StudentT(3.0, 1.0), stats.t(3.0)),
    "student-t-1.3": (problems.StudentT(1.3, 0.5), stats.t(1.3, scale=0.5)),
    "cauchy": (problems.Stable(1.0, 2.0), stats.cauchy(scale=2.0)),
    "stable-2": (problems.Stable(2.0, 1.0), stats.norm(scale=math.sqrt(2.0))),
}
LAWS = {
    "additive": problems.Additive(problems.StudentT(3.0, 1.0)),
    "stable": problems.Additive(problems.Stable(1.5, 1.0)),
    "pareto": problems.ParetoRewards(2.0),
    "corrupted": problems.CorruptedArm(3, 10.0),
    "resampled": problems.ResampledRows(torch.arange(60.0, dtype=torch.float64).reshape(12, 5)),
}
MAKERS = {
    "student-t": problems.noisy_arms,
    "pareto": problems.pareto_arms,
    "corrupted": problems.corrupted_arms,
    "resampled": lambda generator: problems.resampled_arms("walks", walks(generator)),
}


def walks(generator: np.random.Generator, days: int = 200, arms: int = 6) -> torch.Tensor:
    """Prices (days, arms) that move together, far from zero."""
    steps = generator.standard_t(3, size=(days, arms)) + generator.standard_t(3, size=(days, 1))
    return torch.from_numpy(100.0 + steps.cumsum(0))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def absolute_moment(law: stats.rv_continuous, order: float, shift: float = 0.0) -> float:
    """E|shift + x|^order by quadrature, on pieces that meet where it has a kink."""

    def integrand(x: float) -> float:
        return abs(shift + x) ** order * law.pdf(x)

    edges = sorted({-math.inf, -shift - 5.0, -shift, -shift + 5.0, -5.0, 0.0, 5.0, math.inf})
    return sum(
        integrate.quad(integrand, low, high, limit=500, epsabs=1e-10)[0]
        for low, high in pairwise(edges)
    )


class TestFunctions:
    @pytest.mark.parametrize("least", [-1.0, 0.0])
    def test_values_are_scaled_and_positive_where_coefficients_are(self, least: float) -> None:
        for seed in range(5):
            values = problems.random_function(rng(seed), least=least).values
            assert float(values.abs().max()) == pytest.approx(1.0, abs=1e-12)
            assert least < 0 or bool((values > 0).all())

    @pytest.mark.parametrize("nu", [0.5, 1.5])
    @pytest.mark.parametrize("dimension", [1, 3])
    def test_the_norm_is_that_of_the_values(self, nu: float, dimension: int) -> None:
        """f'K^{-1}f, for kernels rough enough for K to be inverted."""
        function = problems.random_function(
            rng(), sf.kernels.matern(nu, 0.2), arms=40, dimension=dimension
        )
        points = function.space.points
        gram = function.kernel(points, points).to_dense()
        squared = float(function.values @ torch.linalg.solve(gram, function.values))
        assert function.norm == pytest.approx(math.sqrt(squared), rel=1e-6)

    def test_the_kernel_is_the_papers_unless_given(self) -> None:
        function = problems.random_function(rng())
        points = function.space.points
        assert points[:, 0].tolist() == pytest.approx(np.linspace(0.0, 1.0, 100).tolist())
        gram = function.kernel(points, points).to_dense()
        torch.testing.assert_close(gram, torch.exp(-((points - points.T) ** 2) / 0.08))

    def test_in_more_dimensions_arms_fill_the_cube(self) -> None:
        points = problems.random_function(rng(), dimension=2, arms=400).space.points
        assert points.shape == (400, 2)
        assert bool(((points >= 0) & (points <= 1)).all())
        for coordinate in points.T.numpy():
            # Dvoretzky-Kiefer-Wolfowitz as below, for 400 points.
            assert stats.kstest(coordinate, stats.uniform.cdf).statistic < 0.138

    def test_an_interpolant_has_the_norm_of_its_values(self) -> None:
        root = rng().normal(size=(5, 5))
        gram, values = torch.from_numpy(root @ root.T), torch.from_numpy(rng(1).normal(size=5))
        expected = math.sqrt(float(values @ torch.linalg.solve(gram, values)))
        assert problems.interpolant(values, gram).norm == pytest.approx(expected, rel=1e-8)
        flat = torch.ones(3, 3, dtype=torch.float64)
        assert problems.interpolant(flat[0] * 2.0, flat).norm == pytest.approx(2.0)
        with pytest.raises(InvalidInput, match="not in the range"):
            problems.interpolant(torch.tensor([1.0, 2.0, 3.0]), flat)


class TestMoments:
    @pytest.mark.long
    @pytest.mark.parametrize("order", [1.0, 2.0, 1.2, 1.9])
    @pytest.mark.parametrize("label", SYMMETRIC)
    def test_noise_has_the_absolute_moment_it_says(self, label: str, order: float) -> None:
        noise, law = SYMMETRIC[label]
        limit = {"student-t-3": 3.0, "student-t-1.3": 1.3, "cauchy": 1.0}.get(label, math.inf)
        if order >= limit:
            with pytest.raises(InvalidInput, match="no moment of order"):
                noise.absolute_moment(order)
            return
        assert noise.absolute_moment(order) == pytest.approx(absolute_moment(law, order), rel=1e-4)

    @pytest.mark.parametrize(("index", "order"), [(1.5, 1.0), (1.5, 1.2), (1.9, 1.8)])
    def test_stable_moments_are_those_of_the_characteristic_function(
        self, index: float, order: float
    ) -> None:
        """E|x|^p = 2 Gamma(1 + p) sin(pi p / 2) / pi, times the integral of (1 - phi(s))/s^(1+p)
        over s > 0.
        """

        def integrand(s: float) -> float:
            return -math.expm1(-((2.0 * s) ** index)) / s ** (1.0 + order)

        pieces = [(0.0, 1e-3), (1e-3, 1.0), (1.0, 100.0), (100.0, math.inf)]
        integral = sum(integrate.quad(integrand, *piece, limit=500)[0] for piece in pieces)
        factor = 2.0 * math.gamma(1.0 + order) * math.sin(math.pi * order / 2.0) / math.pi
        moment = problems.Stable(index, 2.0).absolute_moment(order)
        assert moment == pytest.approx(factor * integral, rel=1e-5)

    @pytest.mark.long
    @pytest.mark.parametrize("order", [1.2, 1.9, 2.0])
    @pytest.mark.parametrize("label", ["gaussian", "student-t-3", "student-t-1.3"])
    def test_the_bound_of_additive_noise_holds_at_every_mean(
        self, label: str, order: float
    ) -> None:
        noise, law = SYMMETRIC[label]
        if label == "student-t-1.3" and order > 1.2:
            return
        means = torch.tensor([-1.0, -0.4, 0.0, 0.7, 1.0], dtype=torch.float64)
        bound = problems.Additive(noise).moment(order, means)
        actual = [absolute_moment(law, order, mean) for mean in means.tolist()]
        assert max(actual) <= bound * (1.0 + 1e-4)
        if order == 2.0:
            assert max(actual) == pytest.approx(bound, rel=1e-4)

    @pytest.mark.parametrize("order", [1.0, 1.5, 2.0])
    def test_the_bound_of_spikes_holds(self, order: float) -> None:
        noise = problems.Spikes(0.05, 50.0, 0.5)
        body = stats.norm(scale=0.5)
        spiked = 0.95 * absolute_moment(body, order)
        spiked += 0.05 * absolute_moment(body, order, shift=50.0)
        assert spiked <= noise.absolute_moment(order) * (1.0 + 1e-9)
        assert spiked == pytest.approx(noise.absolute_moment(order), rel=0.02)

    @pytest.mark.parametrize("alpha", [0.3, 0.9])
    def test_pareto_moments_are_exact_and_those_of_the_paper(self, alpha: float) -> None:
        problem = problems.pareto_arms(rng(), alpha=alpha)
        v = problem.largest ** (1 + alpha) / (2**alpha * (1 - alpha))  # heavy-tailed payoffs, 6
        assert problem.moment.alpha == alpha
        assert problem.moment.bound == pytest.approx(v, rel=1e-12)
        law = stats.pareto(2.0, scale=problem.largest / 2.0)
        # Quadrature in the logarithm, where the tail falls like an exponential.
        moment = integrate.quad(
            lambda z: math.exp((2 + alpha) * z + law.logpdf(math.exp(z))),
            math.log(problem.largest / 2.0),
            500.0,
            limit=1000,
        )[0]
        assert moment == pytest.approx(problem.moment.bound, rel=1e-6)

    def test_student_t_has_the_bound_of_the_paper(self) -> None:
        problem = problems.noisy_arms(rng())
        assert problem.moment.alpha == 1.0
        assert problem.moment.bound == pytest.approx(problem.largest**2 + 3.0)

    @pytest.mark.parametrize("label", ["corrupted", "resampled"])
    def test_finite_laws_have_the_largest_moment_of_any_arm(self, label: str) -> None:
        problem = MAKERS[label](rng())
        order = 1.0 + problem.alpha
        if label == "corrupted":
            assert isinstance(problem.law, problems.CorruptedArm)
            sizes = [(0.0,)] * len(problem.values)
            sizes[problem.law.arm] = (10.0, -10.0)
            moments = [
                np.mean([abs(f + size) ** order for size in each])
                for f, each in zip(problem.values.tolist(), sizes, strict=True)
            ]
        else:
            assert isinstance(problem.law, problems.ResampledRows)
            moments = (problem.law.rows.abs() ** order).mean(0).tolist()
        assert problem.moment.bound == pytest.approx(max(moments), rel=1e-12)

    def test_a_moment_that_is_infinite_is_refused(self) -> None:
        with pytest.raises(InvalidInput, match="smaller `alpha`"):
            _ = problems.noisy_arms(rng(), problems.StudentT(1.3, 1.0), alpha=0.5).moment
        with pytest.raises(InvalidInput, match=r"`alpha` below 1\.0"):
            _ = problems.pareto_arms(rng(), alpha=1.0).moment


@pytest.mark.parametrize("kind", ["numpy", "torch"])
class TestDraws:
    def generator(self, kind: str) -> np.random.Generator | torch.Generator:
        return rng(2) if kind == "numpy" else torch.Generator().manual_seed(2)

    @pytest.mark.parametrize("label", SYMMETRIC)
    def test_additive_rewards_follow_their_law(self, label: str, kind: str) -> None:
        noise, law = SYMMETRIC[label]
        means = torch.full((DRAWS,), 0.25, dtype=torch.float64)
        draws = problems.Additive(noise).draw(means.long(), means, self.generator(kind))
        assert stats.kstest(draws, lambda y: law.cdf(y - 0.25)).statistic < KOLMOGOROV

    def test_stable_noise_has_its_characteristic_function(self, kind: str) -> None:
        draws = problems.Stable(1.5, 2.0).sample(DRAWS, self.generator(kind))
        for s in (0.1, 0.3, 1.0, 3.0):
            # Hoeffding: a mean of 20,000 cosines is as far off with probability below 1e-7.
            expected = math.exp(-((2.0 * s) ** 1.5))
            assert float((s * draws).cos().mean()) == pytest.approx(expected, abs=0.041)

    def test_pareto_rewards_are_pareto_with_the_mean_of_the_arm(self, kind: str) -> None:
        means = torch.full((DRAWS,), 0.6, dtype=torch.float64)
        draws = problems.ParetoRewards(2.0).draw(means.long(), means, self.generator(kind))
        law = stats.pareto(2.0, scale=0.3)
        assert law.mean() == pytest.approx(0.6)
        assert stats.kstest(draws, law.cdf).statistic < KOLMOGOROV

    def test_only_the_corrupted_arm_is_corrupted(self, kind: str) -> None:
        arms = torch.arange(DRAWS) % 2
        means = torch.tensor([0.3, 0.6], dtype=torch.float64)[arms]
        draws = problems.CorruptedArm(1, 10.0).draw(arms, means, self.generator(kind))
        assert torch.equal(draws[arms == 0], means[arms == 0])
        errors = (draws - means)[arms == 1]
        torch.testing.assert_close(errors.abs(), torch.full_like(errors, 10.0))
        low, high = stats.binom.ppf([1e-7, 1 - 1e-7], len(errors), 0.5)
        assert low <= int((errors > 0).sum()) <= high

    def test_resampled_rewards_are_entries_of_their_column(self, kind: str) -> None:
        law = LAWS["resampled"]
        arms = torch.arange(DRAWS) % 5
        draws = law.draw(arms, torch.zeros(DRAWS, dtype=torch.float64), self.generator(kind))
        rows, columns = draws.long() // 5, draws.long() % 5
        assert torch.equal(columns, arms)
        low, high = stats.binom.ppf([1e-8, 1 - 1e-8], DRAWS, 1 / 12)
        counts = torch.bincount(rows, minlength=12)
        assert bool(((counts >= low) & (counts <= high)).all())


@pytest.mark.parametrize("label", LAWS)
def test_two_runs_of_one_seed_see_the_same_noise_whatever_they_pull(label: str) -> None:
    law, here, there = LAWS[label], rng(7), rng(7)
    ones = torch.ones(4, dtype=torch.float64)
    first = law.draw(torch.tensor([0, 1, 2, 3]), ones, here)
    second = law.draw(torch.tensor([4, 3, 2, 1]), 0.5 * ones, there)
    assert here.random() == there.random()
    if label in ("additive", "stable"):
        torch.testing.assert_close(first - 1.0, second - 0.5, rtol=0.0, atol=1e-12)
    if label == "pareto":
        torch.testing.assert_close(first, 2.0 * second)
    if label == "resampled":
        assert torch.equal(first.long() // 5, second.long() // 5)


@pytest.mark.parametrize("label", MAKERS)
class TestProblems:
    def test_regret_is_the_distance_to_the_best_arm(self, label: str) -> None:
        problem = MAKERS[label](rng())
        assert problem.optimum == float(problem.values.max())
        assert float(problem.regrets.min()) == 0.0
        assert problem.regret(1) == float(problem.optimum - problem.values[1])

    def test_measuring_one_by_one_is_measuring_all(self, label: str) -> None:
        problem = MAKERS[label](rng())
        arms = [0, 3, 3, 1]
        generator = rng(5)
        each = [problem.measure(arm, generator) for arm in arms]
        assert all(isinstance(y, float) for y in each)
        if not (label == "student-t" or label == "pareto"):
            return
        together = problem.measure_all(arms, rng(5))
        assert each == together.tolist()

    def test_the_same_generator_gives_the_same_problem(self, label: str) -> None:
        first, again, other = (MAKERS[label](rng(seed)) for seed in (1, 1, 2))
        assert torch.equal(first.values, again.values)
        assert first.norm_bound == again.norm_bound
        assert first.name == again.name
        assert not torch.equal(first.values, other.values)

    def test_a_problem_survives_pickling(self, label: str) -> None:
        problem = MAKERS[label](rng())
        copy = pickle.loads(pickle.dumps(problem))
        assert torch.equal(copy.values, problem.values)
        assert copy.moment == problem.moment
        assert copy.measure(2, rng()) == problem.measure(2, rng())

    def test_an_algorithm_can_be_told_all_it_needs(self, label: str) -> None:
        problem = MAKERS[label](rng())
        optimizer = sf.algorithms.tgp_ucb(
            problem.space, problem.kernel, moment=problem.moment, norm_bound=problem.norm_bound
        )
        generator = rng(1)
        for _ in range(5):
            query = optimizer.ask()
            assert query.arm is not None
            optimizer.tell(query, problem.measure(query.arm, generator))
        assert optimizer.recommend().arm in range(len(problem.values))

    @pytest.mark.parametrize("arms", [[1000], [-1], [0.5], [[0, 1]], [True, 1000]])
    def test_an_arm_that_is_not_there_is_refused(self, label: str, arms: list) -> None:
        with pytest.raises(InvalidInput, match="expected a vector of integers from 0"):
            MAKERS[label](rng()).measure_all(arms, rng())


def test_the_kernel_of_resampled_rows_is_their_correlation() -> None:
    rows = walks(rng())
    problem = problems.resampled_arms("walks", rows)
    points = problem.space.points
    gram = problem.kernel(points, points).to_dense()
    correlation = np.corrcoef(rows.numpy().T)
    np.testing.assert_allclose(gram, correlation, atol=1e-12)
    f = rows.mean(0)
    torch.testing.assert_close(problem.values, f)
    expected = math.sqrt(float(f @ torch.linalg.solve(torch.from_numpy(correlation), f)))
    assert problem.norm_bound == pytest.approx(expected, rel=1e-8)
    related = walks(rng(9))
    other = problems.resampled_arms("walks", rows, related=related)
    np.testing.assert_allclose(
        other.kernel(points, points).to_dense(), np.corrcoef(related.numpy().T), atol=1e-12
    )
    assert torch.equal(other.values, problem.values)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: problems.Stable(0.0, 1.0), "`index` is 0.0"),
        (lambda: problems.Stable(1.5, -1.0), "`scale` is -1.0"),
        (lambda: problems.ParetoRewards(1.0), "`shape` is 1.0"),
        (lambda: problems.random_function(rng(), least=1.0), "`least` is 1.0"),
        (lambda: problems.random_function(rng(), arms=1), "`arms` is 1"),
        (lambda: problems.resampled_arms("flat", torch.ones(9, 3)), "column 0 never changes"),
        (
            lambda: problems.resampled_arms("few", walks(rng(), days=4, arms=9)),
            "not in the range",
        ),
        (
            lambda: LAWS["pareto"].draw(torch.tensor([0]), torch.tensor([-0.1]), rng()),
            "expected none below 0",
        ),
    ],
)
def test_bad_problems_are_refused(make, match) -> None:
    with pytest.raises(InvalidInput, match=match):
        make()
