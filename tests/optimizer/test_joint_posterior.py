"""Posteriors and risks on a `Joint` space."""

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import covariance, gaussian_process
from reference import risk as reference
from support.joint_cases import (
    JOINTS,
    KERNEL,
    LINE,
    MASSES,
    NOISE,
    RIDGE,
    TABLE,
    VALUES,
    build,
    drive,
    either,
    every,
    inform,
    noisy,
    of_the_space,
    places,
)
from support.variants import variant
from surefoot.algorithms import cvar_ucb, stable_opt, v_ucb
from surefoot.risks import Risk

FORMULA = covariance.squared_exponential(np.array([0.3]))


class TestBelief:
    """The posterior is of the points that the model sees, and the risk is of that."""

    @pytest.mark.parametrize("name", JOINTS)
    def test_the_posterior_is_that_of_regression_on_what_is_seen(self, name: str) -> None:
        optimizer = inform(build(name), 15)
        joint = optimizer.space
        x, z = (part.numpy() for part in places(joint, 15))
        if name == "bare":
            pulled = 3.0 * x + (z == np.array(VALUES)).argmax(-1)[:, None]
            k = covariance.lookup(TABLE)
        else:
            pulled = x + z if name.endswith("shifted") else np.concatenate([x, z], 1)
            k = FORMULA
        rewards = optimizer.history.rewards.numpy()
        points = pulled[:7] + (0.0 if name == "bare" else 0.07)
        mean, variance = gaussian_process.exact(k, pulled, rewards, RIDGE, points)
        ours = optimizer.belief().posterior.mean_and_deviation(torch.from_numpy(points))
        np.testing.assert_allclose(ours[0], mean, atol=1e-6)
        np.testing.assert_allclose(ours[1], np.sqrt(variance), atol=1e-6)

    @pytest.mark.parametrize("name", ["arms-shifted", "box-shifted"])
    def test_control_noise_is_seen_in_the_designs_own_coordinates(self, name: str) -> None:
        optimizer = inform(build(name))
        x, z = places(optimizer.space, 6)
        assert optimizer.space.seen.dimension == 1
        torch.testing.assert_close(optimizer.history.sites, x + z, rtol=0.0, atol=0.0)

    @pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
    def test_a_density_that_depends_on_the_design(self, level: float) -> None:
        unit = sf.ContinuousEnvironment(torch.distributions.Uniform(torch.zeros(1), torch.ones(1)))
        joint = sf.Joint(
            sf.Box([0.0], [1.0]), unit, perturbation=lambda x, u: torch.cat([x, x * u.square()], -1)
        )
        kernel = sf.kernels.squared_exponential([0.3, 0.3])
        optimizer = sf.Optimizer(sf.Problem(joint, risk=sf.VaR(level)), sf.Method(kernel))
        optimizer.tell([0.5], 1.0, 0.1)
        belief = optimizer.belief()
        x = torch.tensor([[0.2], [1.0]], dtype=torch.float64)
        risk = belief.candidates.risk_of(lambda points: points[:, 0] + points[:, 1], x)
        np.testing.assert_allclose(risk, x[:, 0] * (1.0 + level**2), atol=2e-3)

    def test_noise_whose_size_depends_on_the_design(self) -> None:
        joint = sf.Joint(sf.Box([0.0], [1.0]), NOISE, perturbation=lambda x, z: x + x * z)
        kernel = sf.kernels.squared_exponential(0.3)
        optimizer = sf.Optimizer(
            sf.Problem(joint, risk=sf.VaR(0.3)), sf.Method(kernel, ridge=RIDGE)
        )
        optimizer.tell([0.5], 1.0, 0.1)
        assert optimizer.history.sites.tolist() == [[0.55]]
        value, lower, upper = optimizer.belief().predict([[0.0]])  # where there is none
        mean, deviation = optimizer.belief().posterior.mean_and_deviation(
            torch.zeros(1, 1).double()
        )
        reach = optimizer.width * deviation
        torch.testing.assert_close(value, mean)
        torch.testing.assert_close(
            torch.cat([lower, upper]), torch.cat([mean - reach, mean + reach])
        )

    @pytest.mark.parametrize("name", ["arms", "bare", "box"])
    @pytest.mark.parametrize(
        ("risk", "literal"),
        [
            (sf.VaR(0.3), lambda f: reference.var(f, MASSES, Fraction(3, 10))),
            (sf.CVaR(0.3), lambda f: reference.cvar(f, MASSES, Fraction(3, 10))),
            (sf.WorstCase(), lambda f: reference.worst_case(f, MASSES)),
            (sf.Mean(), lambda f: reference.mean(f, MASSES)),
        ],
        ids=["var", "cvar", "worst-case", "mean"],
    )
    def test_a_risk_is_that_of_the_bounds(
        self, name: str, risk: Risk, literal: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        optimizer = inform(build(name, risk=risk), 10)
        designs = torch.arange(4.0).double().unsqueeze(-1) if name == "bare" else LINE
        numbers = np.arange(12.0)[:, None]
        seen = np.array([[x, z] for x in LINE[:, 0].tolist() for z in VALUES])
        points = torch.from_numpy(numbers if name == "bare" else seen)
        mean, deviation = (
            part.numpy().reshape(-1, 3)
            for part in optimizer.belief().posterior.mean_and_deviation(points)
        )
        reach = optimizer.width * deviation
        expected = [literal(values) for values in (mean, mean - reach, mean + reach)]
        for ours, theirs in zip(optimizer.belief().predict(designs), expected, strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-8)

    @pytest.mark.daily(4)
    @either
    @every
    def test_the_best_design_of_those_measured(self, name: str, observed: bool) -> None:
        optimizer = inform(build(name, observed=observed), 10)
        x, _ = places(optimizer.space, 10)
        value, lower, upper = optimizer.belief().predict(x)
        assert bool(((lower <= value) & (value <= upper)).all())
        for by, score in (("mean", value), ("lower", lower)):
            found, best = optimizer.recommend(by=by), int(score.argmax())
            assert torch.equal(found.point, x[best])
            numbers = [float(part[best]) for part in (value, lower, upper)]
            assert [found.value, found.lower, found.upper] == pytest.approx(numbers)

    def test_the_safer_design_by_its_lower_bound(self) -> None:
        """One measured often and a little worse, one measured once."""
        optimizer = build("arms")
        for z in VALUES:
            optimizer.tell_all([0] * 30, [1.0] * 30, [[z]] * 30)
            optimizer.tell(7, 1.4, z)
        assert optimizer.recommend().arm == 7
        assert optimizer.recommend(by="lower").arm == 0

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("name", "estimator"),
        [
            ("arms", sf.LeastSquares()),
            ("arms-density", sf.Huber()),
            ("box", sf.Huber()),
            pytest.param("box-shifted", sf.LeastSquares()),
        ],
    )
    def test_a_kernel_is_learnt(self, name: str, estimator: object) -> None:
        optimizer = variant(v_ucb(JOINTS[name](), level=0.3), estimator=estimator)
        with pytest.raises(sf.NotReady):
            optimizer.belief()
        inform(optimizer, 24, spike=0.0)
        assert of_the_space(optimizer.space, optimizer.ask())
        scales = optimizer.belief().outcome.fitted.kernel.base_kernel.lengthscale
        assert scales.numel() == optimizer.space.seen.dimension
        found = optimizer.recommend()
        assert found.lower <= found.value <= found.upper
        assert abs(found.value) < 1.5

    @pytest.mark.parametrize("name", ["arms", "box"])
    def test_a_kernel_is_learnt_where_the_environment_has_one_value(self, name: str) -> None:
        joint = sf.Joint(JOINTS[name]().design, sf.FiniteEnvironment([0.3]))
        optimizer = v_ucb(joint, level=0.3)
        x, z = places(joint, 12)
        optimizer.tell_all(x, [noisy(*pair, 0) for pair in zip(x, z, strict=True)], z)
        found = optimizer.recommend()
        assert found.lower <= found.value <= found.upper

    @pytest.mark.parametrize("algorithm", [cvar_ucb, v_ucb])
    def test_named_algorithms_run(self, algorithm: Callable[..., sf.Optimizer]) -> None:
        kernel = sf.kernels.squared_exponential(0.3)
        drive(algorithm(JOINTS["arms"](), kernel, level=0.3, ridge=RIDGE), 5)
        drive(stable_opt(JOINTS["arms"](), kernel, ridge=RIDGE), 5)


def test_assessing_a_space_without_an_environment_gives_the_mean_and_the_bounds() -> None:
    for space in (sf.Arms(LINE), sf.Box([0.0], [1.0])):
        plain = sf.Optimizer(space, sf.Method(KERNEL, ridge=RIDGE))
        plain.tell_all([[0.0], [0.4]] if isinstance(space, sf.Box) else [0, 2], [0.5, -0.2])
        points = LINE[:3]
        mean, deviation = plain.belief().posterior.mean_and_deviation(points)
        expected = mean, mean - plain.width * deviation, mean + plain.width * deviation
        for found, wanted in zip(plain.belief().predict(points), expected, strict=True):
            torch.testing.assert_close(found, wanted, rtol=0, atol=1e-12)
