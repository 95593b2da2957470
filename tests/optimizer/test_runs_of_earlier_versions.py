"""Runs in files that an earlier version has written, which go on in this one.

The files are of the morning of 29 November 2026, before classes moved. Where the format changes for
a reason, its number does, and they are written anew:
`python tests/optimizer/test_runs_of_earlier_versions.py`.
"""

import dataclasses
import pkgutil
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest
import torch

import surefoot as sf
from surefoot.optimizer import serialization

RUNS = Path(__file__).parent / "runs"
ROUNDS = 9


def begun() -> dict[str, sf.Optimizer]:
    """Optimizers before their first round, by the name of their file."""
    kernel = sf.kernels.squared_exponential(0.3)
    grid = torch.linspace(0.0, 1.0, 20, dtype=torch.float64).unsqueeze(-1)
    parameters = {
        "readers": sf.parameters.Int(1, 16),
        "writers": sf.parameters.Int(1, 16),
        "journal": sf.parameters.Choice(["OFF", "WAL"]),
        "checkpoint": sf.parameters.Int(100, 10000, log=True, when="journal == 'WAL'"),
    }
    named = sf.parameters.Space(parameters, constraints=["readers + writers <= 16"])
    limited = sf.Problem(sf.Box([0.0], [1.0]), outcomes={"p99": sf.Constraint(maximum=1.0)})
    joint = sf.Joint(sf.Arms(grid), sf.FiniteEnvironment([[0.0], [1.0]], [0.7, 0.3]))
    moment = sf.Moment(alpha=0.5, bound=2.0)
    return {
        "named": sf.algorithms.robust_ucb(named),
        "limited": sf.algorithms.robust_ucb(limited),
        "sketched": sf.algorithms.bbkb(sf.Arms(grid), kernel, noise=0.1, norm_bound=2.0),
        "risk": sf.algorithms.v_ucb(joint, kernel, level=0.2, ridge=0.01),
        "heavy": sf.algorithms.tgp_ucb(
            sf.Arms(grid), kernel, moment=moment, norm_bound=2.0, scale=0.1
        ),
    }


def go_on(optimizer: sf.Optimizer, rounds: int) -> None:
    for _ in range(rounds):
        query = optimizer.ask()
        reward = float(query.point.sum().sin())
        measured = {"p99": reward} if "p99" in optimizer.problem.outcomes else None
        optimizer.tell(query, reward, outcomes=measured)


@pytest.mark.parametrize("name", sorted(one.name for one in RUNS.iterdir()))
def test_it_goes_on(name: str) -> None:
    optimizer = sf.Optimizer.load(RUNS / name)
    assert len(optimizer.history.rewards) == ROUNDS
    go_on(optimizer, 1)
    assert len(optimizer.history.rewards) == ROUNDS + 1


@pytest.mark.parametrize("package", serialization._PACKAGES)
def test_a_package_has_one_class_of_a_name(package: str) -> None:
    """As files name classes by their packages, within which they may move."""
    inside = pkgutil.iter_modules(getattr(import_module(package), "__path__", ()), f"{package}.")
    places = [import_module(name) for name in (package, *(one.name for one in inside))]
    classes = {
        each
        for place in places
        for each in vars(place).values()
        if isinstance(each, type) and dataclasses.is_dataclass(each)
        if each.__module__ in {one.__name__ for one in places}
    }
    assert not [name for name, n in Counter(one.__qualname__ for one in classes).items() if n > 1]


if __name__ == "__main__":
    for name, optimizer in begun().items():
        go_on(optimizer, ROUNDS)
        optimizer.save(RUNS / name)
