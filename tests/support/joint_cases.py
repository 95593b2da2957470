"""Designs beside an environment: spaces, and optimisers on them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.distributions import Uniform

import surefoot as sf
from support.kernel_cases import table
from support.optimizers import optimizer_of
from surefoot.acquisition import ScorePolicy
from surefoot.spaces.environments import truncated_normal

LINE = torch.linspace(0.0, 1.0, 8, dtype=torch.float64).unsqueeze(-1)
MASSES = np.array([2, 5, 3])
VALUES = [0.0, 0.4, 1.0]
DENSITY = sf.ContinuousEnvironment(truncated_normal(0.5, 0.2, 0.0, 1.0))
NOISE = sf.ContinuousEnvironment(Uniform(-0.1, 0.1))
TABLE = table(4)
RIDGE = 0.1


def finite() -> sf.FiniteEnvironment:
    return sf.FiniteEnvironment(VALUES, MASSES / 10)


def shifted(x: Tensor, z: Tensor) -> Tensor:
    """The design that comes of x under control noise z."""
    return x + z


JOINTS: dict[str, Callable[..., sf.Joint]] = {
    "arms": lambda **kind: sf.Joint(sf.Arms(LINE), finite(), **kind),
    "bare": lambda **kind: sf.Joint(sf.Arms(4), finite(), **kind),
    "arms-density": lambda **kind: sf.Joint(sf.Arms(LINE), DENSITY, **kind),
    "arms-shifted": lambda **kind: sf.Joint(sf.Arms(LINE), NOISE, perturbation=shifted, **kind),
    "box": lambda **kind: sf.Joint(sf.Box([0.0], [1.0]), finite(), **kind),
    "box-density": lambda **kind: sf.Joint(sf.Box([0.0], [1.0]), DENSITY, **kind),
    "box-shifted": lambda **kind: sf.Joint(
        sf.Box([0.0], [1.0]), NOISE, perturbation=shifted, **kind
    ),
}
every = pytest.mark.parametrize("name", JOINTS)
either = pytest.mark.parametrize("observed", [False, True], ids=["chosen", "observed"])


def build(name: str, seed: int = 0, observed: bool = False, **parts: Any) -> sf.Optimizer:
    kernel = sf.kernels.squared_exponential(0.3)
    if name == "bare":
        kernel = sf.kernels.precomputed(TABLE)
    given = {"risk": sf.VaR(0.3), "policy": ScorePolicy(values=16), "ridge": RIDGE, **parts}
    return optimizer_of(JOINTS[name](observed=observed), kernel, seed=seed, **given)


def places(joint: sf.Joint, number: int, seed: int = 3) -> tuple[Tensor, Tensor]:
    """Designs (number, dx) and environments (number, dz), some designs more than once."""
    generator = torch.Generator().manual_seed(seed)
    z = joint.environment.sample(number, generator)
    if isinstance(joint.design, sf.Box):
        return joint.design.sample(number, generator), z
    arms = torch.randint(len(joint.design), (number,), generator=generator)
    return joint.design.points[arms], z


def noisy(x: Tensor, z: Tensor, step: int, spike: float = 20.0) -> float:
    """A reward that is a function of the pair and the step alone; every 7th has a spike."""
    wave = float(torch.sin(5.0 * x.sum() + 3.0 * z.sum()) + 0.1 * np.sin(97.0 * step))
    return wave + (spike if step % 7 == 6 else 0.0)


def inform(optimizer: sf.Optimizer, number: int = 6, spike: float = 20.0) -> sf.Optimizer:
    """Tell rewards of pairs that were not asked for."""
    x, z = places(optimizer.space, number)
    rewards = [noisy(*pair, step, spike) for step, pair in enumerate(zip(x, z, strict=True))]
    optimizer.tell_all(x, rewards, z)
    return optimizer


def drive(optimizer: sf.Optimizer, rounds: int, first: int = 0) -> list[list[float]]:
    """Ask and tell so many rounds; the designs and environments."""
    asked = []
    for step in range(first, first + rounds):
        query = optimizer.ask()
        z, told = query.environment, None
        if z is None:
            generator = torch.Generator().manual_seed(step)
            z = told = optimizer.space.environment.sample(1, generator)[0]
        asked.append([*query.point.tolist(), *z.tolist()])
        optimizer.tell(query, noisy(query.point, z, step), told)
    return asked


def of_the_space(joint: sf.Joint, query: sf.Query) -> bool:
    """Whether the query is of a design, and of an environment unless the world draws it."""
    design, environment, z = joint.design, joint.environment, query.environment
    if isinstance(design, sf.Arms):
        right = query.arm is not None and torch.equal(design.points[query.arm], query.point)
    else:
        right = query.arm is None and design.contains(query.point)
    if joint.observed:
        return right and z is None
    if isinstance(environment, sf.FiniteEnvironment):
        index = (environment.points == z).all(-1)
        return right and bool(index.any()) and float(environment.weights[index]) > 0.0
    return right and bool(((z >= environment.lower) & (z <= environment.upper)).all())


def state(optimizer: sf.Optimizer, folder: Path) -> bytes:
    optimizer.save(folder / "state")
    return (folder / "state").read_bytes()


KERNEL = sf.kernels.squared_exponential(0.3)
