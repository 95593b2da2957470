"""A heuristic choice is measured as long as bounds with a proof certify it."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from reference import gaussian_process, guarded, risk
from reference.covariance import squared_exponential
from surefoot.acquisition import BoundsOf, Guarded, UpperConfidenceBound
from surefoot.widths import constant

LINE = np.linspace(0.0, 1.0, 15)[:, None]
LOAD = np.array([[0.0], [0.4], [1.0]])
WEIGHTS = np.array([2, 2, 1])
KERNEL = sf.kernels.squared_exponential(0.2)
PAIRS = sf.kernels.squared_exponential([0.2, 0.6])
RIDGE = 0.04


def noise(number: int) -> np.ndarray:
    return 0.2 * np.random.default_rng(1).standard_normal(number)


def played(policy: Any, width: float, rounds: int = 25) -> list[int]:
    """Arms that a policy chooses."""
    optimizer = sf.Optimizer(
        sf.Arms(LINE), sf.Method(KERNEL, width=constant(width), policy=policy, ridge=RIDGE), seed=0
    )
    optimizer.tell(3, 0.1)
    arms = []
    for error in noise(rounds):
        arms.append(optimizer.ask().arm)
        optimizer.tell(arms[-1], float(np.sin(6.0 * LINE[arms[-1], 0]) + error))
    return arms


def by_the_reference(c: float, width: float, heuristic: float, rounds: int = 25) -> list[int]:
    """The same from the formulas."""
    pointwise = squared_exponential(np.array([0.2]))
    arms, rewards, chosen = [3], [0.1], []
    for error in noise(rounds):
        mean, variance = gaussian_process.exact(
            pointwise, LINE[arms], np.array(rewards), RIDGE, LINE
        )
        arm = guarded.guarded_arm(mean, np.sqrt(variance), width, heuristic, c)
        chosen.append(arm)
        arms.append(arm)
        rewards.append(float(np.sin(6.0 * LINE[arm, 0]) + error))
    return chosen


@pytest.mark.long
@pytest.mark.parametrize("slack", [0.0, 0.5, 4.0])
def test_choices_are_those_of_the_formulas(slack: float) -> None:
    policy = Guarded(slack=slack, heuristic=constant(0.5))
    assert played(policy, 12.0) == by_the_reference(slack, 12.0, 0.5)


def test_between_optimism_and_the_heuristic() -> None:
    greedy, bold = played(UpperConfidenceBound(), 0.5), played(UpperConfidenceBound(), 12.0)
    between = played(Guarded(slack=0.5, heuristic=constant(0.5)), 12.0)
    assert played(Guarded(slack=0.0, heuristic=constant(0.5)), 12.0) == bold
    assert played(Guarded(slack=1e9, heuristic=constant(0.5)), 12.0) == greedy
    assert between not in (greedy, bold)
    assert played(Guarded(heuristic=constant(50.0)), 12.0) == bold  # never wider than the run's


@pytest.mark.daily(1)
@pytest.mark.parametrize("name", ["VaR", "CVaR", "worst", "mean"])
def test_regret_is_bounded_by_what_is_measured(name: str) -> None:
    """With bounds that hold, in every round: the inequality of which the theorem is a sum."""
    level, m = Fraction(1, 5), WEIGHTS
    risks = {
        "VaR": (sf.VaR(0.2), lambda f: float(risk.var(f, m, level))),
        "CVaR": (sf.CVaR(0.2), lambda f: float(risk.cvar(f, m, level))),
        "worst": (sf.WorstCase(), lambda f: float(f.min())),
        "mean": (sf.Mean(), lambda f: float(f @ m / m.sum())),
    }
    measure, literal = risks[name]
    slack = 2.0
    policy = sf.acquisition.ScorePolicy(lacing="unif")
    space = sf.Joint(sf.Arms(LINE), sf.FiniteEnvironment(LOAD, m / m.sum()))
    optimizer = sf.Optimizer(
        sf.Problem(space, risk=measure),
        sf.Method(
            PAIRS,
            width=constant(8.0),
            policy=Guarded(policy, slack, constant(0.5), "unif"),
            ridge=RIDGE,
        ),
    )
    f = np.sin(6.0 * LINE) * (1.0 - LOAD.T)
    optimizer.tell([0.5], 0.0, [0.4])
    for error in noise(20):
        query = optimizer.ask()
        optimizer.forget(query, failed=False)
        bounds = optimizer.belief().candidates.bounds(torch.from_numpy(LINE))
        low, high = bounds.lower.numpy(), bounds.upper.numpy()
        x = int(np.abs(LINE - query.point.numpy()).argmin())
        z = int(np.abs(LOAD - query.environment.numpy()).argmin())
        assert (low <= f).all()
        assert (f <= high).all()
        assert guarded.is_certified(low, high, literal, x, z, slack + 1e-9)
        regret = max(literal(row) for row in f) - literal(f[x])
        assert regret <= (1 + slack) * (high[x, z] - low[x, z]) + 1e-9
        optimizer.tell(optimizer.expect(query.point, query.environment), float(f[x, z] + error))


@pytest.mark.long
@pytest.mark.parametrize("slack", [1.0, 4.0])
def test_bounds_that_separate_nothing_share_the_measurements(slack: float) -> None:
    """One arm is chosen until the other has 1 / (1 + 2 c)^2 of its measurements."""
    distant, ridge, chosen = sf.Arms([[0.0], [100.0]]), 1e-4, 200
    for other in (2, 3, 22, 23):
        optimizer = sf.Optimizer(
            distant,
            sf.Method(KERNEL, width=constant(1e6), policy=Guarded(slack=slack), ridge=ridge),
        )
        optimizer.tell_all([0] * chosen + [1] * other, [1.0] * chosen + [0.0] * other)
        assert optimizer.ask().arm == int(other * (1.0 + 2.0 * slack) ** 2 < chosen)


def test_any_policy_may_be_guarded(tmp_path) -> None:
    policy = Guarded(sf.acquisition.ThompsonSampling(), slack=0.0)
    assert played(policy, 12.0) == played(UpperConfidenceBound(), 12.0)
    with pytest.raises(sf.InvalidInput, match="policy"):
        Guarded(3)  # type: ignore[arg-type]
    with pytest.raises(sf.InvalidInput, match="slack"):
        Guarded(slack=-1.0)
    with pytest.raises(sf.InvalidInput, match="heuristic"):
        Guarded(heuristic=2.0)  # type: ignore[arg-type]
    with pytest.raises(sf.InvalidInput, match="`width`"):
        BoundsOf(sf.widths.dual_mixture(1.0, 1.0))  # type: ignore[arg-type]
    optimizer = sf.algorithms.gp_ucb(
        sf.Arms(LINE),
        KERNEL,
        width=sf.widths.dual_mixture(None, noise=0.2),
        choose="guarded",
        ridge=RIDGE,
    )
    optimizer.tell_all([0, 7, 14], [0.0, 0.5, 0.2])
    optimizer.save(tmp_path / "run")
    loaded = sf.Optimizer.load(tmp_path / "run")
    assert loaded.policy == optimizer.policy
    assert loaded.ask().arm == optimizer.ask().arm


MOMENT = sf.Moment(alpha=1.0, bound=3.0)
PROVED = sf.widths.self_normalised(MOMENT, 2.0)


@pytest.mark.long
def test_bounds_of_least_squares_are_those_of_a_run_with_it() -> None:
    bounds = BoundsOf(PROVED)
    robust = sf.algorithms.robust_ucb(
        sf.Arms(LINE), KERNEL, ridge=RIDGE, policy=Guarded(slack=1.0, bounds=bounds)
    )
    other = sf.Optimizer(sf.Arms(LINE), sf.Method(KERNEL, width=PROVED, ridge=RIDGE))
    points = torch.from_numpy(LINE)
    for arm, error in zip(played(UpperConfidenceBound(), 2.0), 30.0 * noise(25) ** 3, strict=True):
        for optimizer in (robust, other):
            optimizer.tell(arm, float(np.sin(6.0 * LINE[arm, 0]) + error))
        ends, expected = bounds(robust.belief()).band.ends(points), other.belief().band.ends(points)
        torch.testing.assert_close(torch.stack([*ends[1:]]), torch.stack([*expected[1:]]))
        query = robust.ask()
        limit = MOMENT.bound**0.5
        low, high = (end.clamp(-limit, limit).numpy()[:, None] for end in ends[1:])
        assert guarded.is_certified(low, high, lambda f: float(f[0]), query.arm, 0, 1.0 + 1e-9)
        robust.forget(query, failed=False)


def test_pending_queries_narrow_them() -> None:
    bounds = BoundsOf(PROVED)
    optimizer = sf.algorithms.robust_ucb(
        sf.Arms(LINE), KERNEL, ridge=RIDGE, policy=Guarded(slack=0.0, bounds=bounds)
    )
    optimizer.tell_all([0, 7, 14], [0.0, 0.5, 0.2])
    assert len({query.arm for query in optimizer.ask_batch(4)}) > 1


def test_in_a_box_a_point_is_certified_too() -> None:
    box = sf.Box([0.0], [1.0])
    optimizer = sf.algorithms.gp_ucb(
        box,
        KERNEL,
        width=sf.widths.dual_mixture(norm_bound=2.0, noise=0.2),
        choose="guarded",
        ridge=RIDGE,
    )
    optimizer.tell([0.5], 0.1)
    grid = torch.linspace(0.0, 1.0, 400, dtype=torch.float64)[:, None]
    for error in noise(6):
        query = optimizer.ask()
        optimizer.forget(query, failed=False)
        _, lower, upper = optimizer.belief().band.ends(torch.cat([query.point[None], grid]))
        assert upper.max() - lower[0] <= 5.0 * (upper[0] - lower[0]) + 1e-6
        optimizer.tell(query.point, float(torch.sin(6.0 * query.point) + error))
