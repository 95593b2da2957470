"""Nothing depends on units: rewards or coordinates times a power of two give the same asks."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import surefoot as sf
from support.variants import default_on
from surefoot.algorithms import cvar_ts, robust_ucb, stable_opt, v_ucb

UNIT = torch.rand(9, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
ORIGIN, EXTENTS = torch.tensor([1.0, 10.0]).double(), torch.tensor([2.0, 20.0]).double()
SCALES = (2.0**-300, 2.0**300)


def box(unit: float = 1.0) -> sf.Box:
    return sf.Box(unit * ORIGIN, unit * (ORIGIN + EXTENTS))


def joint(unit: float = 1.0) -> sf.Joint:
    world = sf.FiniteEnvironment(unit * torch.tensor([0.0, 0.5, 1.0]).double(), [0.2, 0.5, 0.3])
    return sf.Joint(sf.Box([0.0], [unit]), world)


def limited(reward: float) -> sf.Constraint:
    return sf.Constraint(maximum=0.8 * reward)


Build = Callable[..., sf.Optimizer]
PLAIN: dict[str, Build] = {
    "default": lambda unit, **more: default_on(box(unit), initial=2, **more),
    "given kernel": lambda unit, **more: default_on(
        box(unit), sf.kernels.matern(2.5, [unit, 9.0 * unit]), **more
    ),
    "arms": lambda unit, **more: default_on(
        sf.Arms(unit * (ORIGIN + EXTENTS * UNIT.flip(0))), initial=2, **more
    ),
    "draws": lambda unit, **more: default_on(
        box(unit), initial=2, policy=sf.acquisition.ThompsonSampling(), **more
    ),
    "improvement": lambda unit, **more: default_on(
        box(unit), initial=2, policy=sf.acquisition.NoisyExpectedImprovement(), **more
    ),
}
RISKS: dict[str, Build] = {
    "risk of the default": lambda unit: robust_ucb(
        sf.Problem(joint(unit), risk=sf.CVaR(0.4)), initial=2
    ),
    "value at risk": lambda unit: v_ucb(joint(unit), level=0.3, initial=2),
    "draws of a risk": lambda unit: cvar_ts(joint(unit), level=0.3, initial=2),
    "worst case": lambda unit: stable_opt(joint(unit), initial=2),
}


def value(at: Tensor) -> float:
    """A hill with an outlier, of numbers that are no integers."""
    distance = float((at - 0.37).square().sum())
    return math.exp(-distance) + (50.0 if float(at[0]) > 0.9 else 0.0)


def told(
    optimizer: sf.Optimizer, reward: float, unit: float, limit: bool = False, offset: float = 0.0
) -> None:
    """Nine rewards in these units, and values of a constraint."""
    space = optimizer.space
    for at in UNIT:
        outcomes = {"load": reward * float(at.sum())} if limit else None
        if isinstance(space, sf.Joint):
            z = space.environment
            under = z.points[int(2.99 * at[1])] if z.finite else unit * at[1:]
            optimizer.tell(unit * at[:1], offset + reward * value(at), under)
        elif isinstance(space, sf.Arms):
            optimizer.tell(
                unit * (ORIGIN + EXTENTS * at), offset + reward * value(at), outcomes=outcomes
            )
        else:
            point = space.snap((unit * (ORIGIN + (space.span / unit) * at))[None])[0]
            optimizer.tell(point, offset + reward * value(at), outcomes=outcomes)


def answers(optimizer: sf.Optimizer, reward: float, unit: float) -> list[list[float]]:
    """Two queries, and the recommendation, in units of 1."""
    found = []
    for query in optimizer.ask_batch(2):
        z = [] if query.environment is None else (query.environment / unit).tolist()
        found.append([*(query.point / unit).tolist(), *z])
    best = optimizer.recommend()
    ends = [best.value / reward, best.lower / reward, best.upper / reward, best.feasibility]
    return [*found, [*(best.point / unit).tolist(), *ends]]


def run(build: Build, reward: float = 1.0, unit: float = 1.0, **more: Any) -> list[list[float]]:
    optimizer = build(unit, **more)
    told(optimizer, reward, unit, limit=bool(more))
    return answers(optimizer, reward, unit)


def cases(*names: str) -> list[Any]:
    every = PLAIN | RISKS
    return [pytest.param(every[name], id=name) for name in names]


@pytest.mark.daily(1)
@pytest.mark.parametrize("build", cases(*PLAIN, *RISKS))
def test_rewards_in_another_unit_give_the_same_answers_to_the_last_bit(build: Build) -> None:
    known = run(build)
    for reward in SCALES:
        assert run(build, reward) == known


@pytest.mark.daily(1)
@pytest.mark.parametrize("build", cases("default", "given kernel", "value at risk", "worst case"))
def test_coordinates_in_another_unit_give_the_same_answers(build: Build) -> None:
    known = run(build)
    for unit in (2.0**-20, 2.0**20):
        for found, expected in zip(run(build, unit=unit), known, strict=True):
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.daily(2)
@pytest.mark.parametrize("policy", ["bound", "draw", "improvement"])
@pytest.mark.parametrize("space", [box(), sf.Arms(ORIGIN + EXTENTS * UNIT)], ids=["box", "arms"])
def test_a_given_kernel_in_the_unit_of_the_rewards_gives_the_same_answers(
    policy: str, space: sf.Arms | sf.Box
) -> None:
    policies = {
        "bound": sf.acquisition.UpperConfidenceBound,
        "draw": sf.acquisition.ThompsonSampling,
        "improvement": sf.acquisition.NoisyExpectedImprovement,
    }

    def played(reward: float) -> list[list[float]]:
        kernel = sf.kernels.scaled(sf.kernels.matern(2.5, [1.0, 9.0]), reward**2)
        optimizer = sf.Optimizer(
            space, sf.Method(kernel, ridge=0.01 * reward**2, policy=policies[policy]())
        )
        told(optimizer, reward, 1.0)
        return answers(optimizer, reward, 1.0)

    known = played(1.0)
    for reward in (2.0**-40, 2.0**40):
        for found, expected in zip(played(reward), known, strict=True):
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("name", ["given kernel", "draws of a risk"])
def test_rewards_with_an_offset_give_the_same_answers_up_to_rounding(name: str) -> None:
    def shifted(offset: float) -> list[Tensor]:
        optimizer = (PLAIN | RISKS)[name](1.0)
        told(optimizer, 1.0, 1.0, offset=offset)
        return [query.point for query in optimizer.ask_batch(2)] + [optimizer.recommend().point]

    for found, expected in zip(shifted(1e6), shifted(0.0), strict=True):
        assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-3, abs=1e-3)


@pytest.mark.long
def test_constraints_in_another_unit_give_the_same_answers() -> None:
    build = PLAIN["default"]
    known = run(build, outcomes={"load": limited(1.0)})
    for reward in SCALES:
        assert run(build, reward, outcomes={"load": limited(reward)}) == known


@pytest.mark.long
@pytest.mark.parametrize("limit", [{"maximum": 0.001}, {"minimum": -1000.0}], ids=str)
def test_a_constraint_always_at_its_limit_has_the_unit_of_the_limit(
    limit: dict[str, float],
) -> None:
    ((side, at),) = limit.items()

    def predicted(unit: float) -> list[float]:
        constraint = sf.Constraint(**{side: unit * at})
        optimizer = robust_ucb(sf.Problem(sf.Box([0.0], [1.0]), outcomes={"errors": constraint}))
        for x in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0):  # of three values an interval is twice as wide
            optimizer.tell([x], x, outcomes={"errors": unit * at})
        found = optimizer.belief().constraints.predict(torch.tensor([[0.3]]).double())["errors"]
        assert float(found.probability) > 0.99
        return [float(end) / unit for end in (found.value, found.lower, found.upper)]

    value, lower, upper = predicted(1.0)
    assert value == at
    assert 0.0 < upper - lower < 0.1 * abs(at)
    for unit in SCALES:
        assert predicted(unit) == [value, lower, upper]


def with_errors(reward: float) -> list[list[float]]:
    optimizer = PLAIN["default"](1.0)
    for at in UNIT:
        optimizer.tell(ORIGIN + EXTENTS * at, reward * value(at), sem=0.2 * reward * float(at[1]))
    return answers(optimizer, reward, 1.0)


def with_effects(reward: float) -> list[list[float]]:
    optimizer = PLAIN["default"](1.0)
    for index, at in enumerate(UNIT):
        level = 0.5 * (index % 3) + 0.1 * index
        told = {"worker": index % 3, "time": float(index)}
        optimizer.tell(ORIGIN + EXTENTS * at, reward * (value(at) + level), **told)
    return answers(optimizer, reward, 1.0)


def with_several(reward: float) -> list[list[float]]:
    goals = {"load": sf.Objective(maximise=False), "heat": sf.Watched()}
    policy = sf.acquisition.HypervolumeImprovement()
    optimizer = robust_ucb(sf.Problem(box(), outcomes=goals), initial=2, policy=policy)
    for at in UNIT:
        values = {"load": reward * float(at.sum()), "heat": reward * float(at[0])}
        optimizer.tell(ORIGIN + EXTENTS * at, reward * value(at), outcomes=values)
    return answers(optimizer, reward, 1.0)


@pytest.mark.long
@pytest.mark.parametrize("played", [with_errors, with_effects, with_several])
def test_what_is_told_beside_rewards_has_their_unit(
    played: Callable[[float], list[list[float]]],
) -> None:
    known = played(1.0)
    for reward in SCALES:
        assert played(reward) == known
