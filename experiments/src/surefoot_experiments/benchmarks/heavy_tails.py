"""Regret on arms with heavy-tailed rewards: the paper's figures 1a to 1c, and unknown moments.

Every method sees the same noise: the error of a reward depends on the problem and the round only.
"""

import time
from collections.abc import Callable

import numpy as np
from gpytorch.kernels import Kernel

import surefoot as sf
from surefoot_experiments.benchmarks.arm_methods import METHODS, WITH_MOMENTS, WITHOUT_MOMENTS
from surefoot_experiments.benchmarks.heavy_tails_table import report
from surefoot_experiments.harness.tables import TableOutput, benchmark
from surefoot_experiments.harness.trial import Case, Rows, Scale, Trial
from surefoot_experiments.problems import (
    ArmProblem,
    Gaussian,
    Spikes,
    StudentT,
    noisy_arms,
    pareto_arms,
)

SHORT = 0.15  # rounds without known moments, as a share of those with them
CLOSE = "unknown/gaussian"  # where a difference of 5 % is tested, which takes many problems
CLOSE_METHODS, CLOSE_PROBLEMS = ("robust", "gp-ucb"), 10.0
CURVE = 60  # rounds at which the mean regret is kept

Make = Callable[[np.random.Generator], ArmProblem]


def matern() -> Kernel:
    """The rougher kernel of the paper's experiments."""
    return sf.kernels.matern(2.5, 0.2)


BOUNDED: dict[str, Make] = {  # v, alpha and B are known
    "student-t-3": lambda g: noisy_arms(g),
    "pareto-2": lambda g: pareto_arms(g),
    "student-t-3-matern": lambda g: noisy_arms(g, kernel=matern()),
    "pareto-2-matern": lambda g: pareto_arms(g, matern()),
}
UNBOUNDED: dict[str, Make] = {  # and here they are not
    "gaussian": lambda g: noisy_arms(g, Gaussian(1.0)),
    "student-t-1.3": lambda g: noisy_arms(g, StudentT(1.3, 1.0), alpha=0.2),
    "spikes": lambda g: noisy_arms(g, Spikes(0.05, 50.0, 1.0)),
    "pareto": lambda g: pareto_arms(g),
}
TASKS = {f"known/{name}": make for name, make in BOUNDED.items()} | {
    f"unknown/{name}": make for name, make in UNBOUNDED.items()
}


def methods_of(task: str) -> list[str]:
    """The methods that are compared on a task."""
    if task.startswith("unknown/"):
        return list(WITHOUT_MOMENTS)
    names = [*WITH_MOMENTS, "robust", "gp-ucb", "median-of-means"]
    if task.endswith("-matern"):
        names.remove("ata-fourier")  # quadrature is for the squared exponential kernel
    return names


def run(trial: Trial) -> Rows:
    """One method on one problem, with its mean regret at some rounds."""
    task, method = trial.case.split()
    problem = TASKS[task](np.random.default_rng([trial.index, 0]))
    noise = np.random.default_rng([trial.index, 1])
    optimizer = METHODS[method](problem, trial.rounds, trial.index)
    kept, rows, total = checkpoints(trial.rounds), [], 0.0
    started = time.perf_counter()
    for round_ in range(1, trial.rounds + 1):
        query = optimizer.ask()
        arm = int(query.arm or 0)
        optimizer.tell(query, problem.measure(arm, noise))
        total += problem.regret(arm)
        if round_ in kept:
            seconds = time.perf_counter() - started
            row = {"task": task, "method": method, "round": round_}
            rows.append({**row, "regret": total / round_, "seconds": seconds})
    return {"curves": rows}


def checkpoints(rounds: int) -> set[int]:
    """Rounds at which the mean regret is kept; a twentieth, a quarter and all of them for sure."""
    spread = np.geomspace(1, rounds, CURVE).round().astype(int)
    return {*spread.tolist(), rounds // 20, rounds // 4, rounds} - {0}


def _case(task: str, method: str) -> Case:
    """The case of a method on a task; two methods have more problems where they are close."""
    many = task == CLOSE and method in CLOSE_METHODS
    rounds = SHORT if task.startswith("unknown/") else 1.0
    return Case(f"{task} {method}", CLOSE_PROBLEMS if many else 1.0, rounds)


EXPERIMENTS = [
    benchmark(
        "heavy-tails",
        "Regret on arms with heavy-tailed rewards",
        published=Scale(20, 20_000),
        quick=Scale(1, 800),
        run=run,
        output=TableOutput(report),
        cases=[_case(task, method) for task in TASKS for method in methods_of(task)],
    )
]
