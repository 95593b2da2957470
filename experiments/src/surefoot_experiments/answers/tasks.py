"""Plain tasks of the yardstick: eight families, half of each to choose by, half to confirm."""

from __future__ import annotations

import zlib
from dataclasses import replace
from functools import partial

from surefoot import InvalidInput
from surefoot_experiments.answers.functions import Bent, ManyKnobs
from surefoot_experiments.scoreboard.space import box
from surefoot_experiments.scoreboard.suites import cloud
from surefoot_experiments.scoreboard.suites.multimodal import FAMILIES, LOG_NORMAL, Valleys
from surefoot_experiments.scoreboard.suites.steps import Jump
from surefoot_experiments.scoreboard.task import CONFIRMATION, DEVELOPMENT, Task

SUITE = "answers"
HALVES = {"choose": DEVELOPMENT, "confirm": CONFIRMATION}
CHECKPOINTS = (15, 30, 60)
SMOOTH, HEAVY, SPIKES, VALLEYS = "smooth", "heavy-tails", "spikes", "valleys"
RUGGED, STEPS, MANY, FEW = "rugged", "steps", "many-parameters", "few-measurements"
FAMILY_NAMES = (SMOOTH, HEAVY, SPIKES, VALLEYS, RUGGED, STEPS, MANY, FEW)
# Function of BoTorch, number of coordinates and noise. Instances 1 choose, instances 2 confirm.
BENT: dict[str, tuple[tuple[str, int | None, str], ...]] = {
    SMOOTH: (
        ("Branin", None, "gaussian"),
        ("Hartmann", 3, "gaussian"),
        ("Hartmann", 6, "low"),
        ("Rosenbrock", 3, "gaussian"),
    ),
    HEAVY: (
        ("Branin", None, "student-t"),
        ("Hartmann", 3, "pareto"),
        ("Hartmann", 6, "student-t"),
        ("Rosenbrock", 3, "pareto"),
    ),
    SPIKES: (
        ("Hartmann", 3, "spikes"),
        ("Hartmann", 6, "spikes"),
        ("Ackley", 2, "wide"),
        ("Rosenbrock", 3, "wide"),
    ),
    RUGGED: (
        ("Rastrigin", 3, "severe-gaussian"),
        ("Levy", 4, "severe-uniform"),
        ("Ackley", 3, "severe-cauchy"),
        ("Michalewicz", 5, "gaussian"),
    ),
    STEPS: (("Hartmann", 3, "ties"), ("Ackley", 2, "ties")),
    FEW: (
        ("Branin", None, "low"),
        ("Hartmann", 3, "gaussian"),
        ("Hartmann", 6, "spikes"),
        ("Ackley", 2, "student-t"),
        ("Levy", 4, "low"),
        ("Rosenbrock", 3, "pareto"),
    ),
}
_INSTANCES = (1, 2)
_VALLEYS = (11, 12)  # instances; earlier ones are the scoreboard's
_JUMPS = (15, 16, 11, 12)
_KNOBS = ((24, 1), (24, 2), (48, 3), (48, 4))  # parameters and instance


def tasks() -> list[Task]:
    """All tasks, the dearest first; those of recorded systems only where there are their data."""
    found = [*_bent(), *_valleys(), *_jumps(), *_knobs(), *_systems()]
    return sorted(found, key=lambda task: (-task.budget * (task.dimension + 10), task.name))


def selected(half: str) -> list[Task]:
    """The tasks of a half, all of them if it is empty.

    Raises:
        InvalidInput: There is no such half.
    """
    halves = halves_of(half)
    return [task for task in tasks() if task.half in halves]


def halves_of(half: str) -> list[str]:
    """The scoreboard's name of a half, of both if it is empty.

    Raises:
        InvalidInput: There is no such half.
    """
    if half and half not in HALVES:
        raise InvalidInput(f"`half` is {half!r}, expected choose or confirm, or nothing for both.")
    return [HALVES[half]] if half else list(HALVES.values())


def seed_of(name: str) -> int:
    """The seed of a task, its own."""
    return zlib.crc32(name.encode()) % 100_000


def _half(instance: int) -> str:
    return DEVELOPMENT if instance % 2 else CONFIRMATION


def _bent() -> list[Task]:
    found = []
    for family, functions in BENT.items():
        budget = CHECKPOINTS[0] if family == FEW else CHECKPOINTS[-1]
        for name, dimension, law in functions:
            d = dimension or 2
            for instance in _INSTANCES:
                found.append(
                    Task(
                        suite=SUITE,
                        name=f"{name.lower()}-{d}-{law}-{budget}-i{instance}",
                        kind=family,
                        half=_half(instance),
                        space=box([0.0] * d, [1.0] * d),
                        budget=budget,
                        checkpoints=tuple(each for each in CHECKPOINTS if each <= budget),
                        load=partial(Bent, name, dimension, law, instance),
                    )
                )
    return found


def _valleys() -> list[Task]:
    return [
        Task(
            suite=SUITE,
            name=f"{family.name}-{kind}-i{instance}",
            kind=VALLEYS,
            half=_half(instance),
            space=box([0.0] * family.dimension, [1.0] * family.dimension),
            budget=CHECKPOINTS[-1],
            checkpoints=CHECKPOINTS,
            load=partial(Valleys, family, instance, kind),
        )
        for instance in _VALLEYS
        for kind in ("gaussian", LOG_NORMAL)
        for family in FAMILIES
    ]


def _jumps() -> list[Task]:
    return [
        Task(
            suite=SUITE,
            name=f"jump-{problem}",
            kind=STEPS,
            half=_half(problem),
            space=Jump(problem).space,
            budget=CHECKPOINTS[-1],
            checkpoints=CHECKPOINTS,
            load=partial(Jump, problem),
        )
        for problem in _JUMPS
    ]


def _knobs() -> list[Task]:
    return [
        Task(
            suite=SUITE,
            name=f"knobs-{dimension}-i{instance}",
            kind=MANY,
            half=_half(instance),
            space=ManyKnobs(dimension, instance).space,
            budget=CHECKPOINTS[-1],
            checkpoints=CHECKPOINTS,
            load=partial(ManyKnobs, dimension, instance),
        )
        for dimension, instance in _KNOBS
    ]


def _systems() -> list[Task]:
    """Two runs of each recorded system; that of a half is never one of the other."""
    if cloud.folder() is None:
        return []
    return [
        replace(task, suite=SUITE, name=f"{task.name}-{run}", kind=MANY, checkpoints=CHECKPOINTS)
        for task in cloud.tasks([str(CHECKPOINTS[-1])])
        for run in "ab"
    ]
