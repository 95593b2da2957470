"""A guard refuses an adversary, and never the heuristic that it is offered for."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

import surefoot as sf
from support.optimizers import optimizer_of
from surefoot import algorithms
from surefoot.acquisition import Guarded

ROUNDS, NORM, NOISE = 120, 2.0, 0.1
LINE = np.linspace(0.0, 1.0, 30)[:, None]
GRAM = np.exp(-((LINE - LINE.T) ** 2) / (2 * 0.2**2))
WEIGHTS = np.random.default_rng(0).uniform(-1.0, 1.0, len(LINE))
F = GRAM @ WEIGHTS * NORM / np.sqrt(WEIGHTS @ GRAM @ WEIGHTS)
KERNEL = sf.kernels.squared_exponential(0.2)
VARIANCE = sf.Moment(1.0, NOISE**2, "mean")
OFFERED: dict[str, tuple[Callable[..., sf.Optimizer], dict[str, Any]]] = {
    "gp_ucb, noise": (algorithms.gp_ucb, {"width": sf.widths.dual_mixture(NORM, NOISE)}),
    "gp_ucb, moment": (algorithms.gp_ucb, {"width": sf.widths.self_normalised(VARIANCE, NORM)}),
    "bkb": (algorithms.bkb, {"noise": NOISE, "norm_bound": NORM, "oversampling": 5.0}),
}
POLICIES: dict[str, Callable[..., int]] = {
    "heuristic": lambda belief, _: int(belief.band.bound(belief.space.points, 1.0).argmax()),
    "greedy": lambda belief, _: int(belief.band.predictive.mean(belief.space.points).argmax()),
    "worst": lambda _, __: int(F.argmin()),
    "fixed": lambda _, __: int(abs(F - np.median(F)).argmin()),
    "uniform": lambda _, round_: round_ % len(F),
}


@dataclass
class Plays:
    """A policy that plays what it is told to, and keeps it."""

    rule: Callable[..., int]
    wanted: int = -1
    round: int = 0

    def check(self, space: Any, risk: Any) -> None:
        pass

    def choose(self, belief: Any, among: Any, state: Any) -> Any:
        self.round += 1
        self.wanted = self.rule(belief, self.round)
        return belief.space.location(belief.space.points[self.wanted], self.wanted)


def played(name: str, policy: Plays) -> int:
    """Rounds in which a guard plays another arm than the policy."""
    make, given = OFFERED[name]
    offered = make(sf.Arms(LINE), KERNEL, choose="guarded", **given)
    assert isinstance(offered.policy, Guarded)
    model, slack = offered._history.model, offered.policy.slack
    guard = replace(offered.policy, policy=policy)
    parts: dict[str, Any] = {"features": model.features, "width": model.width, "policy": guard}
    optimizer = optimizer_of(sf.Arms(LINE), KERNEL, ridge=0.01, **parts)
    noise, refused = np.random.default_rng(0), 0
    optimizer.tell(0, float(F[0]))
    for _ in range(ROUNDS):
        arm = optimizer.ask().arm
        assert arm is not None
        _, lower, upper = optimizer.belief().predict(LINE)
        promised = (1.0 + slack) * float(upper[arm] - lower[arm])
        assert F.max() - F[arm] <= promised + 1e-9
        refused += arm != policy.wanted
        error = float(noise.standard_t(3)) / 3**0.5 if "moment" in name else noise.normal()
        optimizer.tell(arm, float(F[arm] + NOISE * error))
    return refused


@pytest.mark.long
@pytest.mark.parametrize("name", OFFERED)
def test_it_refuses_what_is_known_to_be_bad(name: str) -> None:
    refused = {kind: played(name, Plays(rule)) for kind, rule in POLICIES.items()}
    assert refused["worst"] > ROUNDS / 2
    assert refused["fixed"] > ROUNDS / 6
    for kind in ("greedy", "uniform"):  # most of whose rounds are worth their measurement
        assert refused[kind] <= ROUNDS / 6
    assert refused["heuristic"] == 0


def test_bounds_that_refuse_less_guard_nothing() -> None:
    """By a moment of order 1.5 the worst arm is refused in 40 of these 120 rounds."""
    moment = sf.Moment(0.5, NOISE**1.5, "mean")
    with pytest.raises(sf.InvalidInput, match="a moment of order 2"):
        algorithms.gp_ucb(
            sf.Arms(LINE), KERNEL, width=sf.widths.self_normalised(moment), choose="guarded"
        )
