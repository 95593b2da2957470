"""Named algorithms and what the default composes with, on the device that is tested."""

import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.distributions import Uniform

import surefoot as sf
from support.contract_table import MOMENT, numbers
from support.device import DEVICE
from support.variants import default_on

POINTS = torch.rand(30, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
KERNEL = sf.kernels.matern(2.5, [0.3, 0.5])
SMOOTH = sf.kernels.squared_exponential(0.4)
VALUES = sf.FiniteEnvironment([0.0, 0.4, 1.0], [0.2, 0.5, 0.3])


def arms() -> sf.Arms:
    return sf.Arms(POINTS)


def box() -> sf.Box:
    return sf.Box([0.0, 0.0], [1.0, 1.0])


def mixed() -> sf.Box:
    return sf.Box([0.0] * 4, [1.0] * 4, levels={0: [0.0, 0.2, 1.0]}, choices=[(2, 3)])


def joint(environment: Any = VALUES, **kind: Any) -> sf.Joint:
    return sf.Joint(sf.Box([0.0], [1.0]), environment, **kind)


def density() -> sf.Joint:
    return joint(sf.ContinuousEnvironment(Uniform(0.0, 1.0)))


def paired() -> sf.Joint:
    return sf.Joint(sf.Arms(POINTS[:, :1]), VALUES)


KNOWN = {"noise": 0.1, "norm_bound": 2.0}
PROVED = sf.widths.dual_mixture(**KNOWN)
DEFAULT = partial(default_on, initial=3)
WAVES: dict[str, Any] = {"moment": MOMENT, "features": sf.QuadratureFourier(6, folded=False)}
RUNS: dict[str, Callable[..., sf.Optimizer]] = {
    "gp-ucb": partial(sf.algorithms.gp_ucb, arms(), KERNEL, width=PROVED),
    "gp-ucb in a box": partial(sf.algorithms.gp_ucb, box(), KERNEL, width=PROVED),
    "gp-ts": partial(sf.algorithms.gp_ts, arms(), KERNEL, **KNOWN),
    "gp-ts in a box": partial(sf.algorithms.gp_ts, box(), KERNEL, **KNOWN),
    "tgp-ucb": partial(sf.algorithms.tgp_ucb, arms(), KERNEL, moment=MOMENT),
    "ata, fourier": partial(sf.algorithms.ata_gp_ucb, arms(), SMOOTH, **WAVES),
    "ata, nystrom": partial(
        sf.algorithms.ata_gp_ucb, arms(), SMOOTH, moment=MOMENT, features="nystrom"
    ),
    "ata, a dictionary": partial(
        sf.algorithms.ata_gp_ucb,
        arms(),
        SMOOTH,
        moment=MOMENT,
        features=sf.Nystrom(sf.LeverageSampling(4.0, feedback="immediate")),
    ),
    "ata in a box": partial(sf.algorithms.ata_gp_ucb, box(), SMOOTH, **WAVES),
    "bkb": partial(sf.algorithms.bkb, arms(), KERNEL, noise=0.1, oversampling=3.0),
    "bkb in a box": partial(sf.algorithms.bkb, box(), KERNEL, noise=0.1, oversampling=3.0),
    "bbkb": partial(sf.algorithms.bbkb, arms(), KERNEL, noise=0.1, oversampling=3.0),
    "v-ucb": partial(sf.algorithms.v_ucb, joint(), SMOOTH, level=0.3, width=PROVED),
    "v-ucb on arms": partial(sf.algorithms.v_ucb, paired(), SMOOTH, level=0.3, ridge=0.1),
    "v-ucb, a density": partial(sf.algorithms.v_ucb, density(), SMOOTH, level=0.3, ridge=0.1),
    "v-ucb, fitted": partial(sf.algorithms.v_ucb, joint(), level=0.3, initial=3),
    "stable-opt": partial(sf.algorithms.stable_opt, joint(), SMOOTH, ridge=0.1),
    "cvar-ucb": partial(sf.algorithms.cvar_ucb, joint(), SMOOTH, level=0.3, ridge=0.1),
    "cvar-ts": partial(sf.algorithms.cvar_ts, joint(), SMOOTH, level=0.3, ridge=0.1),
    "default": partial(DEFAULT, box()),
    "default on arms": partial(DEFAULT, arms()),
    "default, mixed": partial(DEFAULT, mixed()),
    "default, given kernel": partial(DEFAULT, box(), KERNEL, ridge=0.1),
    "default, bounds not integrated": partial(
        DEFAULT, box(), policy=sf.acquisition.UpperConfidenceBound(integrated=False)
    ),
    "default, draws": partial(DEFAULT, box(), policy=sf.acquisition.ThompsonSampling()),
    "default, improvement": partial(
        DEFAULT, box(), policy=sf.acquisition.NoisyExpectedImprovement()
    ),
    "default, a guess": partial(DEFAULT, box(), guess=box().given({0: 0.3})),
    "default, a mean": partial(DEFAULT, box(), estimand="mean"),
    "default, CVaR": partial(DEFAULT, joint(), risk=sf.CVaR(0.4)),
    "default, a fidelity": partial(
        DEFAULT, sf.Box([0.0], [1.0]), fidelity=sf.Fidelity([1.0, 4.0], cost=[1.0, 4.0])
    ),
    "default, observed": partial(DEFAULT, joint(observed=True), risk=sf.Mean()),
    "default, a limit": partial(DEFAULT, box(), outcomes={"load": sf.Constraint(maximum=1.2)}),
    "default, safe": partial(
        default_on, box(), outcomes={"load": sf.Constraint(maximum=1.2, safe=True)}
    ),
    "default, two objectives": partial(
        DEFAULT, box(), outcomes={"cost": sf.Objective(maximise=False)}
    ),
}
ROUNDS = 6
EFFECTS = ("default", "default on arms", "default, CVaR")


def play(optimizer: sf.Optimizer, rounds: int, effects: bool) -> list[float]:
    """Rounds, on two workers and at times where these have effects; what was asked."""
    asked = []
    for _ in range(rounds):
        query = optimizer.ask()
        assert query.point.device.type == DEVICE.type
        at = [*query.point.tolist()]
        z = None
        if query.environment is not None:
            assert query.environment.device.type == DEVICE.type
            at += query.environment.tolist()
        elif optimizer.space.has_environment:
            z = [0.4]
        asked += at
        turn = len(optimizer.history)
        outcomes = {name: sum(at) for name in optimizer.outcomes}
        optimizer.tell(
            query,
            math.sin(5.0 * sum(at)),
            z,
            outcomes=outcomes or None,
            worker=f"node {turn % 2}" if effects else None,
            time=turn if effects else None,
        )
    return asked


def on_device(name: str) -> sf.Optimizer:
    made = RUNS[name](seed=1)
    return sf.Optimizer(made.problem.to(DEVICE), made.method, seed=1)


@pytest.mark.daily(1)
@pytest.mark.parametrize("name", RUNS)
def test_a_run_goes_on_from_its_file(name: str, tmp_path: Path) -> None:
    optimizer, effects = on_device(name), name in EFFECTS
    if "safe" in name:
        optimizer.tell([0.2, 0.2], 0.4, outcomes={"load": 0.4})
    play(optimizer, ROUNDS, effects)
    optimizer.save(tmp_path / "run")
    parts = {"space": density()} if "density" in name or "surrogates" in name else {}
    loaded = sf.Optimizer.load(tmp_path / "run", device=DEVICE, **parts)
    best, again = optimizer.recommend(), loaded.recommend()
    assert best.point.device.type == DEVICE.type
    assert torch.equal(again.point, best.point)
    assert (again.value, again.lower, again.upper) == (best.value, best.lower, best.upper)
    if "fidelity" not in name:  # whose levels are no values to draw
        assert all(bool(torch.isfinite(one).all()) for one in numbers(optimizer.belief()).values())
    assert play(loaded, 2, effects) == play(optimizer, 2, effects)


def test_what_a_user_passes_may_be_in_the_memory_of_a_cpu() -> None:
    optimizer, part = on_device("default"), sf.Box([0.0, 0.0], [0.5, 0.4])
    play(optimizer, 4, effects=False)
    for found in (
        optimizer.ask(within=part),
        optimizer.recommend(within=part),
        optimizer.ask(arms=POINTS[:5]),
        optimizer.ask(within=box().given({0: 0.3})),
    ):
        assert found.point.device.type == DEVICE.type
    belief = optimizer.belief()
    for one in (*belief.predict(POINTS[:3]), belief.draws(POINTS[:3], 2)):
        assert bool(torch.isfinite(one).all())
    optimizer.tell_all(POINTS[:3], [1.0, 2.0, 3.0])
    assert len(belief.conditioned(POINTS[:2], [1.0, 2.0]).outcome.observations) == 6
