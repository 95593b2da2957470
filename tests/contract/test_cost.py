"""The order of what a round costs, stated for every named algorithm and held against counts.

A row says how calls of Python and of torch's operators grow with the rewards t, how the numbers do
that these operators read and write, and how many bytes a reward takes. A change of a round's cost
is a change of this table, and of the page that prints it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

import surefoot as sf
from support.costs import Cost, cost_of, kept
from support.optimizers import optimizer_of
from support.variants import default_on
from surefoot.acquisition import BoundsOf, Guarded
from surefoot.algorithms import (
    ata_gp_ucb,
    bbkb,
    bkb,
    cvar_ts,
    cvar_ucb,
    gp_ts,
    gp_ucb,
    robust_ucb,
    stable_opt,
    tgp_ucb,
    v_ucb,
)
from surefoot.widths import dual_mixture, self_normalised

Order = Literal["flat", "A", "m²", "t", "t²"]
GROWTH: dict[Order, Callable[[float], float]] = {
    "flat": lambda times: 1.0,
    "A": lambda times: times,
    "m²": lambda times: times**2,
    "t": lambda times: times,
    "t²": lambda times: times**2,
}
TIMES = (1, 4, 16)
ROUNDING = 1.35  # of a count, from one window of rounds to another
SEARCH = 2.0  # the same in a box, where a search takes as many steps as it needs

KERNEL = sf.kernels.squared_exponential(0.2)
SMOOTH = sf.kernels.squared_exponential(0.4)
MOMENT = sf.Moment(1.0, 4.0)
SMALL = sf.Nystrom(sf.LeverageSampling(4.0, feedback="immediate"))
HEAVY: dict[str, Any] = {"moment": MOMENT, "norm_bound": 1.0}
PROVED: dict[str, Any] = {"noise": 0.3, "norm_bound": 1.0}
BY_NOISE, BY_MOMENT = dual_mixture(**PROVED), self_normalised(**HEAVY)
SKETCH: dict[str, Any] = {"ridge": 0.1, "oversampling": 2.0, **PROVED}
LIMIT = {"load": sf.Constraint(maximum=1.5)}
RISK: dict[str, Any] = {"level": 0.3, "ridge": 0.1}


def arms(number: int) -> sf.Arms:
    return sf.Arms(torch.linspace(0.0, 1.0, number, dtype=torch.float64).unsqueeze(-1))


def joint(number: int, **kind: bool) -> sf.Joint:
    values = sf.FiniteEnvironment([0.0, 0.4, 1.0], [0.2, 0.5, 0.3])
    return sf.Joint(arms(max(5, number // 5)), values, **kind)


def box(number: int) -> sf.Box:
    return sf.Box([0.0, 0.0], [1.0, 1.0])


def named(number: int) -> sf.parameters.Space:
    return sf.parameters.Space(
        {"share": sf.parameters.Float(0, 1), "threads": sf.parameters.Int(1, 8)}
    )


def fourier(algorithm: Callable[..., sf.Optimizer], space: sf.Arms, nodes: int = 32) -> Any:
    return algorithm(space, KERNEL, features=sf.QuadratureFourier(nodes))


@dataclass(frozen=True)
class Stated:
    """The stated orders of an algorithm.

    Args:
        space: Space of about so many arms.
        build: The optimizer on it.
        calls: Growth of calls and operators with the rewards.
        numbers: Growth of the numbers that operators read and write.
        size: Bytes that a reward takes, at most.
        start: Rewards from which `numbers` holds.
        pending: Queries that are pending in each round.
    """

    space: Callable[[int], Any]
    build: Callable[[Any], sf.Optimizer]
    calls: Order = "flat"
    numbers: Order = "flat"
    size: int = 100
    start: int = 60
    pending: int = 0


def of(algorithm: Callable[..., sf.Optimizer], *given: Any, **parts: Any) -> Any:
    return lambda space: algorithm(space, *given, **parts)


ARMS = {
    "`gp_ucb`": Stated(arms, of(gp_ucb, KERNEL)),
    "`gp_ucb`, noise known": Stated(arms, of(gp_ucb, KERNEL, width=BY_NOISE)),
    "`gp_ucb`, variance known": Stated(arms, of(gp_ucb, KERNEL, width=BY_MOMENT), numbers="t"),
    "`gp_ucb`, Fourier features": Stated(arms, partial(fourier, gp_ucb)),
    "`gp_ucb`, 64 queries pending": Stated(arms, of(gp_ucb, KERNEL), pending=64),
    "`gp_ts`": Stated(arms, of(gp_ts, KERNEL, **PROVED)),
    "`tgp_ucb`": Stated(arms, of(tgp_ucb, KERNEL, **HEAVY)),
    "`ata_gp_ucb`": Stated(arms, of(ata_gp_ucb, KERNEL, horizon=10**5, **HEAVY)),
    "`ata_gp_ucb`, Nyström, q = 4": Stated(
        arms,
        of(ata_gp_ucb, KERNEL, horizon=10**5, features=SMALL, **HEAVY),
        start=500,
    ),
    "`ata_gp_ucb`, Nyström, the paper's": Stated(
        arms,
        of(ata_gp_ucb, KERNEL, horizon=10**5, features="nystrom", **HEAVY),
        start=500,
        size=5_000,  # until all arms are in the dictionary
    ),
    "`StudentT`": Stated(arms, of(optimizer_of, KERNEL, estimator=sf.StudentT()), start=4_000),
    "`robust_ucb`": Stated(arms, of(robust_ucb, KERNEL), start=4_000),
    "`robust_ucb`, guarded by `BoundsOf`": Stated(
        arms,
        of(
            robust_ucb,
            KERNEL,
            policy=Guarded(bounds=BoundsOf(self_normalised(MOMENT, 2.0))),
        ),
        numbers="t",
    ),
    "`bkb`": Stated(arms, of(bkb, KERNEL, **SKETCH | {"oversampling": 20.0})),
    "`bkb`, the theorem's dictionary": Stated(
        arms, of(bkb, KERNEL, ridge=0.1, **PROVED), start=500
    ),
    "`bkb`, guarded": Stated(arms, of(bkb, KERNEL, choose="guarded", **SKETCH)),
    "`bkb`, 8 queries pending": Stated(arms, of(bkb, KERNEL, **SKETCH), pending=8),
    "`bbkb`": Stated(arms, of(bbkb, KERNEL, **SKETCH)),
    "`v_ucb`": Stated(joint, of(v_ucb, SMOOTH, **RISK)),
    "`v_ucb`, noise known": Stated(joint, of(v_ucb, SMOOTH, level=0.3, width=BY_NOISE)),
    "`v_ucb`, environment observed": Stated(
        partial(joint, observed=True), of(v_ucb, SMOOTH, **RISK)
    ),
    "`cvar_ucb`": Stated(joint, of(cvar_ucb, SMOOTH, **RISK)),
    "`cvar_ts`": Stated(joint, of(cvar_ts, SMOOTH, **RISK)),
    "`stable_opt`": Stated(joint, of(stable_opt, SMOOTH, ridge=0.1)),
}
BOXES = {
    "`gp_ucb` in a box": Stated(box, of(gp_ucb, KERNEL, ridge=0.1), numbers="t", size=6_000),
    "`tgp_ucb` in a box": Stated(box, of(tgp_ucb, KERNEL, **HEAVY), numbers="t", size=6_000),
    "`ata_gp_ucb` in a box": Stated(
        box,
        of(ata_gp_ucb, SMOOTH, features=sf.QuadratureFourier(8, folded=False), **HEAVY),
        numbers="t",
        size=900,
    ),
    "`bkb` in a box": Stated(box, of(bkb, KERNEL, **SKETCH), numbers="t", size=3_000),
    "`bbkb` in a box": Stated(box, of(bbkb, KERNEL, **SKETCH), numbers="t", size=3_000),
    "`robust_ucb` with a kernel in a box": Stated(
        box, of(robust_ucb, KERNEL), numbers="t", size=6_000
    ),
    "`robust_ucb` with a kernel, named parameters": Stated(
        named, of(robust_ucb, KERNEL), numbers="t", size=6_000
    ),
}
FITTED = {
    "`robust_ucb`, kernel fitted": Stated(arms, of(robust_ucb), numbers="t", size=3_000),
    "`robust_ucb`, with a constraint": Stated(
        arms, of(default_on, KERNEL, outcomes=LIMIT), numbers="t", size=300
    ),
}
STATED = ARMS | BOXES | FITTED
QUICK = ("`gp_ucb` in a box", "`ata_gp_ucb` in a box", "`bbkb` in a box")


def designs(space: Any, number: int, source: torch.Generator) -> torch.Tensor:
    """Random points (number, d), some of arms more than once."""
    if not isinstance(space, sf.Arms):
        return space.sample(number, source)
    return space.points[torch.randint(len(space), (number,), generator=source)]


class Run:
    """Rounds of an optimizer, and rewards that are told at once."""

    def __init__(self, stated: Stated, number: int = 100) -> None:
        self.optimizer = stated.build(stated.space(number))
        self.noise = np.random.default_rng(0)
        self.waiting: list[sf.Query] = []
        self.pending = stated.pending

    def play(self) -> None:
        """A round."""
        self.waiting.append(self.optimizer.ask())
        if len(self.waiting) <= self.pending:
            return
        query = self.waiting.pop(0)
        at, z = float(query.point.sum()), query.environment
        told = [0.4] if z is None and self.optimizer.space.has_environment else None
        at += float(z.sum()) if z is not None else 0.0
        outcomes = dict.fromkeys(self.optimizer.outcomes, at)
        self.optimizer.tell(query, self.reward(at), told, outcomes=outcomes or None)

    def fill(self, number: int) -> None:
        """Rewards up to a number, told at once; then the queries that are to be pending."""
        space, number = self.optimizer.space, number - len(self.optimizer.history)
        if number > 0:
            source = torch.Generator().manual_seed(number)
            points, z = designs(space.design, number, source), None
            if space.has_environment:
                z = space.environment.sample(number, source)
            at = points.sum(-1).tolist()
            named = [dict.fromkeys(self.optimizer.outcomes, one) or None for one in at]
            self.optimizer.tell_all(points, [*map(self.reward, at)], z, outcomes=named)
        while len(self.waiting) < self.pending:
            self.play()

    def reward(self, at: float) -> float:
        return float(np.sin(5.0 * at) + 0.3 * self.noise.standard_t(3.0))


def counted(run: Run, rewards: int, rounds: int) -> Cost:
    """Counts of a round after so many rewards."""
    run.fill(rewards)
    run.play()
    return cost_of(run.play, rounds)


def holds(order: Order, first: float, later: float, times: float, rounding: float) -> bool:
    return later <= rounding * GROWTH[order](times) * first


def grow_as_stated(stated: Stated, start: int, rounds: int, rounding: float) -> None:
    run, costs, sizes = Run(stated), [], []
    for times in TIMES:
        costs.append(counted(run, start * times, rounds))
        sizes.append(kept(run.optimizer))
    for times, cost in zip(TIMES[1:], costs[1:], strict=True):
        assert holds(stated.calls, costs[0].calls, cost.calls, times, rounding), costs
        assert holds(stated.calls, costs[0].operators, cost.operators, times, rounding), costs
        if start >= stated.start or stated.numbers != "flat":
            assert holds(stated.numbers, costs[0].numbers, cost.numbers, times, rounding), costs
    assert sizes[-1] <= 2 * sizes[0] + stated.size * start * TIMES[-1], sizes


def redraws(name: str) -> bool:
    """Whether rewards that are told draw dictionaries, which takes long."""
    return "bkb" in name or "Nyström" in name


@pytest.mark.daily(6)
@pytest.mark.parametrize("name", ARMS)
def test_a_round_on_arms(name: str) -> None:
    grow_as_stated(ARMS[name], 60 // (1 + redraws(name)), 4, ROUNDING)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name in QUICK else pytest.mark.long) for name in BOXES]
)
def test_a_round_in_a_box(name: str) -> None:
    grow_as_stated(BOXES[name], 20, 2, SEARCH)


@pytest.mark.long
@pytest.mark.parametrize("name", FITTED)
def test_a_round_with_fits(name: str) -> None:
    grow_as_stated(FITTED[name], 60, 12, SEARCH)


@pytest.mark.long
@pytest.mark.parametrize("name", ARMS)
def test_a_round_on_arms_after_many(name: str) -> None:
    """Where bounds narrow so far that a heuristic is no longer certified, they are found twice."""
    grow_as_stated(ARMS[name], 500 if redraws(name) else 4_000, 32, SEARCH)


@pytest.mark.daily(2)
@pytest.mark.parametrize("name", ["`gp_ucb`", "`ata_gp_ucb`", "`v_ucb`", "`bkb`", "`bbkb`"])
def test_a_round_grows_with_the_arms(name: str) -> None:
    """With dictionaries that are redrawn, more where more arms are left to be told apart."""
    rounds, rounding = (12, 3.0) if redraws(name) else (4, ROUNDING)
    costs = [counted(Run(ARMS[name], 100 * times), 60, rounds) for times in TIMES]
    for times, cost in zip(TIMES[1:], costs[1:], strict=True):
        assert holds("flat", costs[0].calls, cost.calls, times, rounding), costs
        assert holds("flat", costs[0].operators, cost.operators, times, rounding), costs
        assert holds("A", costs[0].numbers, cost.numbers, times, rounding), costs


def adaptive(space: sf.Arms, nodes: int) -> sf.Optimizer:
    features = sf.QuadratureFourier(nodes, folded=False)
    return ata_gp_ucb(space, KERNEL, horizon=10**5, features=features, **HEAVY)


@pytest.mark.parametrize("build", [partial(fourier, gp_ucb), adaptive], ids=["gp_ucb", "ata"])
def test_a_round_grows_with_the_square_of_the_features(build: Any) -> None:
    costs = [counted(Run(Stated(arms, partial(build, nodes=m)), 20), 60, 4) for m in (32, 64, 128)]
    for times, cost in zip((2, 4), costs[1:], strict=True):
        assert holds("flat", costs[0].calls, cost.calls, times, ROUNDING), costs
        assert holds("flat", costs[0].operators, cost.operators, times, ROUNDING), costs
        assert holds("m²", costs[0].numbers, cost.numbers, times, ROUNDING), costs


def test_a_round_does_not_grow_with_the_pending_queries() -> None:
    for algorithm in (of(gp_ucb, KERNEL), of(bbkb, KERNEL, **SKETCH)):
        few, many = (
            counted(Run(Stated(arms, algorithm, pending=pending)), 60, 4) for pending in (4, 64)
        )
        assert many.calls - few.calls <= 6 * 60, (few, many)  # which are listed
        assert holds("flat", few.operators, many.operators, 16, ROUNDING), (few, many)


@pytest.mark.long
@pytest.mark.parametrize("name", ["`bkb`", "`bkb` in a box"])
def test_rewards_that_are_told_together_cost_the_same_each(name: str) -> None:
    costs, numbers = [], (100, 400)
    for number in numbers:
        runs = iter([Run(STATED[name]), Run(STATED[name])])
        costs.append(cost_of(lambda number=number: next(runs).fill(number), 1))  # noqa: B023
    for count in ("calls", "operators", "numbers"):
        first, many = (
            getattr(cost, count) / number for cost, number in zip(costs, numbers, strict=True)
        )
        assert many <= SEARCH * first, costs


@pytest.mark.daily(1)
@pytest.mark.parametrize("policy", ["ucb", "thompson"])
def test_a_decision_of_a_contextual_bandit(policy: Any) -> None:
    bandit, source = sf.bandits.contextual(5, policy=policy), np.random.default_rng(0)

    def play() -> None:
        bandit.tell(bandit.decide(source.standard_normal((10, 5))), source.standard_normal())

    costs, sizes, told = [], [], 0
    for number in (200, 800, 3_200):
        for _ in range(number - told):
            play()
        told = number
        costs.append(cost_of(play, 4).calls)
        sizes.append(kept(bandit))
    assert max(costs[1:]) <= ROUNDING * costs[0], costs
    assert sizes[-1] <= ROUNDING * sizes[0], sizes


@pytest.mark.long
def test_a_recommendation_within_a_batch() -> None:
    run, costs = Run(ARMS["`bbkb`"]), []
    for number in (60, 240, 960):
        run.fill(number)
        for _ in range(3):
            run.play()
        costs.append(cost_of(lambda: (run.play(), run.optimizer.recommend()), 4))
    assert max(cost.calls for cost in costs[1:]) <= ROUNDING * costs[0].calls, costs


def test_a_round_of_least_squares_is_few_calls() -> None:
    assert counted(Run(ARMS["`gp_ucb`"]), 240, 4).calls <= 450


def printed() -> str:
    """The table, as the documentation has it."""
    rows = [
        f"| {name} | {one.calls} | {one.numbers}{_from(one)} | {one.size:,} |"
        for name, one in STATED.items()
    ]
    head = "| | calls and operators | numbers | bytes a reward |\n|---|---|---|---:|"
    return "\n".join([head, *rows])


def _from(stated: Stated) -> str:
    return f", from {stated.start:,} rewards" if stated.start > 60 else ""


def test_the_documentation_prints_the_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "arms.md"
    assert printed() in page.read_text(encoding="utf-8"), printed()
