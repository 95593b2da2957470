"""Playing one method on one problem under risk, and recording what it would recommend."""

import time
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

import surefoot as sf
from surefoot import problems
from surefoot.problems import RiskProblem, StudentT

HEAVY = StudentT(2.0, 0.3)  # of unit standard deviation of the function, as in `robust_tasks`
SYNTHETIC: dict[str, Callable[..., RiskProblem]] = {
    "branin-11": problems.branin_11,
    "goldstein-price-11": problems.goldstein_price_11,
    "hartmann-12": problems.hartmann_12,
    "hartmann-21": problems.hartmann_21,
}
HEAVY_TAILED = ("branin-11", "hartmann-12")


class Task(NamedTuple):
    """A problem, made from the folder of data files, and how many evaluations follow the first."""

    make: Callable[[str], RiskProblem]
    evaluations: int


def _without_data(make: Callable[..., RiskProblem], **options: object) -> Task:
    return Task(lambda data: make(**options), 60)


TASKS: dict[str, Task] = {
    **{name: _without_data(make) for name, make in SYNTHETIC.items()},
    **{f"{n}-continuous": _without_data(make, continuous=True) for n, make in SYNTHETIC.items()},
    "portfolio": Task(problems.portfolio, 80),
    "robot-pushing": Task(lambda data: problems.robot_pushing(), 100),
    **{f"{n}-student-t": _without_data(SYNTHETIC[n], noise=HEAVY) for n in HEAVY_TAILED},
}
NEED_DATA = ("portfolio",)

_MAKE: dict[str, Callable[..., sf.Optimizer]] = {
    "v-ucb-prob": sf.algorithms.v_ucb,
    "v-ucb-unif": partial(sf.algorithms.v_ucb, lacing="unif"),
    "rho-kg": lambda space, **options: sf.algorithms.rho_kg(space, **options),
    "v-ucb-huber": partial(sf.algorithms.v_ucb, estimator=sf.Huber()),
    "v-ucb-student-t": partial(sf.algorithms.v_ucb, estimator=sf.StudentT()),
    "random": sf.algorithms.v_ucb,  # the model that says which of the random designs is best
}
METHODS = list(_MAKE)


class Run(NamedTuple):
    """One method on one problem with one set of first points."""

    task: str
    method: str
    run: int
    evaluations: int


def methods_of(task: str) -> list[str]:
    """What is compared on a task."""
    if task.endswith("-student-t"):
        return ["v-ucb-prob", "v-ucb-huber", "v-ucb-student-t", "random"]
    return ["v-ucb-prob", "v-ucb-unif", "rho-kg", "random"]


@cache
def problem_of(task: str, data: str) -> RiskProblem:
    """The problem of a task, once a process: some take seconds to make and to solve."""
    return TASKS[task].make(data)


def played(run: Run, data: str) -> dict:
    """The regret of the recommendation after each evaluation, and CPU seconds of each ask.

    The regret at 0 is that of the first points, which are those of the run, not of the method, as
    is the noise. An ask comes before the recommendation, so that its time holds the fit.
    """
    problem = problem_of(run.task, data)
    x, z = problem.first_points(np.random.default_rng([run.run, 0]))
    noise = np.random.default_rng([run.run, 1])
    level = problem.risk.level
    optimizer = _MAKE[run.method](problem.joint, level=level, initial=0, seed=run.run)
    optimizer.tell_all(x, [problem.measure(*pair, noise) for pair in zip(x, z, strict=True)], z)
    chance = torch.Generator().manual_seed(run.run)
    regrets: list[float] = []
    seconds: list[float] = []
    for _ in range(run.evaluations):
        started = time.process_time()
        if run.method == "random":
            design, under = _random_pair(problem, chance)
            query = optimizer.expect(design, under)
        else:
            query = optimizer.ask()
            design, under = query.point, query.environment
        seconds.append(time.process_time() - started)
        regrets.append(_regret(problem, optimizer))
        optimizer.tell(query, problem.measure(design, under, noise), under)
    regrets.append(_regret(problem, optimizer))
    return {**run._asdict(), "regrets": regrets, "seconds": seconds}


def file_of(raw: Path, run: Run) -> Path:
    """Where a finished run lies."""
    return raw / str(run.evaluations) / run.task / f"{run.method}_{run.run}.json"


def _random_pair(problem: RiskProblem, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    joint = problem.joint
    return joint.design.sample(1, generator)[0], joint.environment.sample(1, generator)[0]


def _regret(problem: RiskProblem, optimizer: sf.Optimizer) -> float:
    return float(problem.regret(optimizer.recommend().point.unsqueeze(0)))
