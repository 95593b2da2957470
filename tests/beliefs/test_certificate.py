"""What is proved of a design, and what is said where nothing is."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from support.optimizers import optimizer_of
from surefoot import widths
from surefoot.algorithms import bkb, gp_ucb, robust_ucb, tgp_ucb, v_ucb

LINE = np.linspace(0.0, 1.0, 20)[:, None]
ARMS, KERNEL = sf.Arms(LINE), sf.kernels.squared_exponential(0.2)
GRAM = np.exp(-((LINE - LINE.T) ** 2) / (2 * 0.2**2))
WEIGHTS = np.random.default_rng(0).uniform(-1.0, 1.0, len(LINE))
F = GRAM @ WEIGHTS * 2.0 / np.sqrt(WEIGHTS @ GRAM @ WEIGHTS)
VARIANCE = sf.Moment(1.0, 0.25, "mean")
PROVED: dict[str, dict[str, Any]] = {
    "noise": {"width": widths.dual_mixture(2.0, 0.5)},
    "variance": {"width": widths.self_normalised(VARIANCE, 2.0)},
    "a multiple of the deviation": {"width": widths.chowdhury_gopalan(2.0, 0.5)},
}
proofs = pytest.mark.parametrize("known", PROVED.values(), ids=PROVED)


def told(make: Callable[..., sf.Optimizer] = gp_ucb, number: int = 200, **parts: Any) -> Any:
    optimizer = make(ARMS, KERNEL, **parts)
    noise = 0.5 * np.random.default_rng(1).standard_normal(number)
    arms = np.arange(number) % len(F)
    optimizer.tell_all(arms.tolist(), F[arms] + noise)
    return optimizer


@pytest.mark.long
@proofs
def test_it_is_true_of_the_design_and_of_all_others(known: dict[str, Any]) -> None:
    belief = told(**known).belief()
    found = belief.certificate()
    _, lower, upper = belief.predict(LINE)
    assert found.arm is not None
    assert (
        found.lower == pytest.approx(float(lower.max())) == pytest.approx(float(lower[found.arm]))
    )
    assert found.lower <= F[found.arm]
    assert F.max() <= found.upper == pytest.approx(float(upper.max()))
    assert F.max() - F[found.arm] <= found.within <= found.upper - found.lower
    assert found.delta == 0.1
    assert any("norm of f" in text for text in found.assumptions)
    assert any("RBFKernel with lengthscale 0.2" in text for text in found.assumptions)
    assert str(found).startswith(f"f at {LINE[found.arm].tolist()} is at least")


@pytest.mark.daily(1)
@proofs
def test_the_design_and_delta_may_be_given(known: dict[str, Any]) -> None:
    belief = told(**known).belief()
    found = belief.certificate(0.01, design=LINE[3])
    other = replace(known["width"], delta=0.01)
    expected = told(width=other).belief().certificate(design=LINE[3])
    assert found.arm == expected.arm == 3
    for name in ("lower", "upper", "within", "delta"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name), rel=1e-9)
    usual = belief.certificate(design=LINE[3])
    assert found.lower < usual.lower
    assert found.within > usual.within


@pytest.mark.long
def test_what_bounds_share_does_not_count_twice() -> None:
    """The largest difference from the best design is less than that of the bounds."""
    found = told(number=2_000, **PROVED["variance"]).belief().certificate()
    assert F.max() - F[found.arm] <= found.within < 0.75 * (found.upper - found.lower)


def test_before_much_is_measured_the_norm_says_how_far_apart_values_are() -> None:
    found = told(number=1, **PROVED["variance"]).belief().certificate()
    distance = np.sqrt(2.0 - 2.0 * GRAM[found.arm].min())
    assert 0.0 < found.within <= 2.0 * distance + 1e-9 < found.upper - found.lower + 1e-9


@pytest.mark.long
def test_a_recommendation_has_that_of_its_point() -> None:
    optimizer = told(**PROVED["noise"])
    best, belief = optimizer.recommend(), optimizer.belief()
    assert best.certificate is not None
    assert str(best.certificate) == str(belief.certificate(design=best.point))
    assert best.certificate.arm == best.arm
    assert best.rows["proved"] == str(best.certificate)
    for missing in (told(), told(width=widths.dual_mixture(None, 0.5)), told(robust_ucb)):
        assert missing.recommend().certificate is None


def test_of_a_risk_it_is_a_bound_of_the_risk() -> None:
    loads = sf.FiniteEnvironment([[0.0], [0.5], [1.0]], [0.3, 0.4, 0.3])
    space = sf.Joint(ARMS, loads)
    pair = sf.kernels.squared_exponential([0.2, 0.5])
    optimizer = v_ucb(space, pair, level=0.3, width=widths.dual_mixture(3.0, 0.1), ridge=0.01)
    for row in range(60):
        x, z = LINE[row % 20], [0.5 * (row // 20)]
        optimizer.tell(x, float(np.sin(3.0 * x[0]) * (1.0 - z[0])), environment=z)
    belief = optimizer.belief()
    found, (_, lower, upper) = belief.certificate(), belief.predict(LINE)
    assert found.lower == pytest.approx(float(lower.max()))
    assert found.upper == pytest.approx(float(upper.max()))
    assert str(found).startswith("VaR(")


UNIFORM = sf.ContinuousEnvironment(torch.distributions.Uniform(0.0, 1.0))


@pytest.mark.parametrize(
    ("environment", "risk"),
    [
        *((UNIFORM, one) for one in (sf.VaR(0.3), sf.CVaR(0.3), sf.WorstCase(), sf.Mean())),
        (sf.ContinuousEnvironment(torch.distributions.Beta(2.0, 5.0)), sf.VaR(0.3)),
        (sf.FiniteEnvironment(np.linspace(0.0, 1.0, 1025)[:, None]), sf.VaR(0.3)),
    ],
)
def test_of_an_environment_that_is_represented_by_some_values_nothing_is_proved(
    environment: sf.FiniteEnvironment | sf.ContinuousEnvironment, risk: sf.VaR
) -> None:
    pair = sf.kernels.squared_exponential([0.2, 0.5])
    method = sf.Method(pair, 0.01, width=widths.dual_mixture(3.0, 0.1))
    problem = sf.Problem(sf.Joint(ARMS, environment), risk=risk)
    optimizer = sf.Optimizer(problem, method, seed=0)
    for x, z in ((0.0, 0.0), (0.5, 0.5), (0.5, 1.0)):
        optimizer.tell(LINE[int(19 * x)], x, environment=[z])
    with pytest.raises(sf.InvalidInput, match="the environment has a density, or more values"):
        optimizer.belief().certificate()
    assert optimizer.recommend().certificate is None


def test_a_variance_is_enough_for_the_value_at_risk() -> None:
    """Bounds of f for all loads at once are bounds of its quantile, under Student's t(3)."""
    loads = np.array([0.0, 0.5, 1.0])
    space = sf.Joint(ARMS, sf.FiniteEnvironment(loads[:, None], [0.3, 0.4, 0.3]))
    pair = sf.kernels.squared_exponential([0.2, 0.5])
    f = np.sin(3.0 * LINE) * (1.0 - loads)
    bounds = widths.self_normalised(sf.Moment(1.0, 0.01, "mean"), 12.0)
    optimizer = v_ucb(space, pair, level=0.3, width=bounds)
    noise = 0.1 * np.random.default_rng(0).standard_t(3, f.shape) / 3**0.5
    for x, z in np.ndindex(*f.shape):
        optimizer.tell(LINE[x], float(f[x, z] + noise[x, z]), environment=[loads[z]])
    found = optimizer.belief().certificate()
    risk = sf.VaR(0.3)(torch.from_numpy(f), torch.tensor([0.3, 0.4, 0.3], dtype=torch.float64))
    assert found.arm is not None
    assert found.lower <= float(risk[found.arm]) <= float(risk.max()) <= found.upper
    assert float(risk.max() - risk[found.arm]) <= found.within
    assert "E|y - f(x)|^2 is at most 0.01 at every x" in found.assumptions


def test_in_a_box_the_designs_that_are_compared_are_an_assumption() -> None:
    optimizer = gp_ucb(
        sf.Box([0.0], [1.0]),
        KERNEL,
        width=sf.widths.dual_mixture(norm_bound=2.0, noise=0.1),
        ridge=0.01,
    )
    optimizer.tell_all(LINE, np.sin(3.0 * LINE[:, 0]))
    found = optimizer.belief().certificate()
    assert found.arm is None
    assert found.lower <= 1.0 <= found.upper
    assert any("designs" in text or "fill the space" in text for text in found.assumptions)
    at = optimizer.belief().certificate(design=[0.25])
    assert at.design.tolist() == [0.25]
    assert at.within >= 1.0 - np.sin(0.75)


def sketched(**parts: Any) -> sf.Optimizer:
    inducing = sf.Dictionary(torch.from_numpy(LINE[[2, 15]]))
    return told(features=sf.Nystrom(inducing), **parts)


def failed() -> sf.Optimizer:
    optimizer = told(**PROVED["noise"])
    optimizer.forget(optimizer.ask(), failed=True)
    return optimizer


MOMENT = sf.Moment(1.0, 5.0)
REFUSED: dict[str, tuple[Callable[[], sf.Optimizer], str]] = {
    "no theorem": (told, "has no theorem"),
    "no norm": (lambda: told(width=widths.dual_mixture(None, 0.5)), "norm of f is not known"),
    "half a scale": (lambda: told(width=widths.dual_mixture(2.0, 0.5, scale=0.5)), "`scale` = 0.5"),
    "each round by itself": (
        lambda: told(tgp_ucb, moment=MOMENT, norm_bound=2.0),
        "Theorem 1 holds in each round",
    ),
    "a dictionary of the theory": (
        lambda: told(bkb, noise=0.5, norm_bound=2.0, oversampling=2.0),
        "oversampling",
    ),
    "another estimator": (
        lambda: told(optimizer_of, estimator=sf.Huber(), width=widths.analytic_mixture(2.0, 0.5)),
        "for `LeastSquares`, not `Huber`",
    ),
    "approximate features": (
        lambda: told(features=sf.QuadratureFourier(12), **PROVED["noise"]),
        "approximate the kernel",
    ),
    "a sketch": (
        lambda: sketched(width=widths.chowdhury_gopalan(2.0, 0.5)),
        "features that represent the kernel",
    ),
    "failures": (failed, "measurements failed"),
    "a norm below that of all that is near": (
        lambda: told(number=4000, width=widths.dual_mixture(0.1, 0.5), ridge=0.25),
        "the measurements contradict what is assumed, that the noise is 0.5-sub-Gaussian and the",
    ),
    "a norm below it, and a variance": (
        lambda: told(number=4000, width=widths.self_normalised(VARIANCE, 0.1)),
        "the measurements contradict what is assumed, that E.* is at most 0.25 at every x and the",
    ),
}


@pytest.mark.daily(3)
@pytest.mark.filterwarnings("ignore:the bounds cannot separate", "ignore:the rewards contradict")
@pytest.mark.parametrize("name", REFUSED)
def test_without_an_assumption_there_is_none_and_it_says_which(name: str) -> None:
    make, reason = REFUSED[name]
    optimizer = make()
    with pytest.raises(sf.InvalidInput, match=f"there is no certificate: .*{reason}"):
        optimizer.belief().certificate()
    assert optimizer.recommend().certificate is None


@pytest.mark.daily(1)
@pytest.mark.parametrize("delta", [0.0, 1.0, -0.1, "small"])
def test_a_delta_that_is_no_probability(delta: Any) -> None:
    with pytest.raises(sf.InvalidInput, match="`delta`"):
        told(**PROVED["noise"]).belief().certificate(delta)


def test_a_sketch_pays_for_what_it_leaves_out() -> None:
    found, exact = (make(**PROVED["variance"]).belief().certificate() for make in (sketched, told))
    assert found.lower <= F[found.arm]
    assert found.lower < exact.lower


@pytest.mark.long
def test_few_are_false_in_runs_that_the_bounds_steer() -> None:
    """Student's t(3), 30 runs, looked at every 10 rounds; delta is 0.1."""
    false = 0
    for seed in range(30):
        optimizer = gp_ucb(
            ARMS, KERNEL, width=sf.widths.self_normalised(VARIANCE, norm_bound=2.0), seed=seed
        )
        noise = np.random.default_rng(seed)
        wrong = False
        for round_ in range(60):
            arm = optimizer.ask().arm
            assert arm is not None
            error = 0.5 * float(noise.standard_t(3)) / 3**0.5
            optimizer.tell(arm, float(F[arm]) + error)
            if round_ % 10 == 9:
                found = optimizer.belief().certificate()
                wrong |= F[found.arm] < found.lower or F.max() > found.upper
                wrong |= F.max() - F[found.arm] > found.within
        false += wrong
    assert false <= 6
