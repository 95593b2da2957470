"""Regret on arms with heavy-tailed rewards: the paper's figures 1a to 1c, and what needs no bound.

    python benchmarks/heavy_tails.py --jobs 2            # hours; plays what is missing, then writes
    python benchmarks/heavy_tails.py --quick             # minutes, written to the terminal only
    python benchmarks/heavy_tails.py --table             # from the runs there are

Each finished run is a file of its own, so a killed comparison goes on where it stopped; delete
`results/raw/heavy_tails` to begin anew. Every method sees the same noise: a reward's error depends
on the problem and the round alone.
"""

import argparse
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

import surefoot as sf
from arm_methods import METHODS, TOLD, UNTOLD
from heavy_tails_table import report
from missing_runs import play_missing
from result_files import write_csv
from surefoot_experiments.problems import (
    ArmProblem,
    Gaussian,
    Spikes,
    StudentT,
    noisy_arms,
    pareto_arms,
)

FOLDER = Path(__file__).parent
RAW = FOLDER / "results" / "raw" / "heavy_tails"
FIELDS = ["task", "method", "problem", "round", "regret", "seconds"]
LONG, SHORT = 20_000, 3_000  # rounds with the paper's bounds, and without any
CLOSE = "untold/gaussian"  # where 5 % are to be told apart, which takes many problems
CURVE = 60  # rounds of a run at which its mean regret is kept

Make = Callable[[np.random.Generator], ArmProblem]


class Run(NamedTuple):
    """One method on one problem."""

    task: str
    method: str
    problem: int
    rounds: int


def matern() -> object:
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
TASKS = {f"told/{name}": make for name, make in BOUNDED.items()} | {
    f"untold/{name}": make for name, make in UNBOUNDED.items()
}


def methods_of(task: str) -> list[str]:
    """What is compared on a task."""
    if task.startswith("untold/"):
        return list(UNTOLD)
    names = [*TOLD, "robust", "gp-ucb", "median-of-means"]
    if task.endswith("-matern"):
        names.remove("ata-fourier")  # quadrature is for the squared exponential kernel
    return names


def path_of(run: Run) -> Path:
    """Where the curve of a finished run lies."""
    return RAW / str(run.rounds) / run.task / f"{run.method}_{run.problem}.csv"


def play(run: Run) -> None:
    """Ask and tell to the end; the curve is written then, whole or not at all."""
    torch.set_num_threads(1)
    problem = TASKS[run.task](np.random.default_rng([run.problem, 0]))
    noise = np.random.default_rng([run.problem, 1])
    optimizer = METHODS[run.method](problem, run.rounds, run.problem)
    kept, rows, total = checkpoints(run.rounds), [], 0.0
    started = time.perf_counter()
    for turn in range(1, run.rounds + 1):
        query = optimizer.ask()
        optimizer.tell(query, problem.measure(query.arm, noise))
        total += problem.regret(query.arm)
        if turn in kept:
            seconds = time.perf_counter() - started
            rows.append([run.task, run.method, run.problem, turn, total / turn, seconds])
    write_csv(path_of(run), FIELDS, rows)


def checkpoints(rounds: int) -> set[int]:
    """Rounds at which the mean regret is kept; a twentieth, a quarter and all of them for sure."""
    spread = np.geomspace(1, rounds, CURVE).round().astype(int)
    return {*spread.tolist(), rounds // 20, rounds // 4, rounds} - {0}


def runs_of(
    tasks: list[str], methods: list[str], problems: int, close: int, rounds: dict[str, int]
) -> Iterator[Run]:
    """All runs, problem after problem, so that an interrupted comparison is fair.

    The two that must be told apart play `close` problems of `CLOSE`.
    """
    for problem in range(max(problems, close)):
        for task in tasks:
            many = ("robust", "gp-ucb") if task == CLOSE else ()
            for method in (m for m in methods_of(task) if m in methods):
                if problem < problems or (problem < close and method in many):
                    yield Run(task, method, problem, rounds[task.split("/")[0]])


def main() -> None:
    """Read the command line, play what is missing, write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", default=",".join(TASKS), help=f"of {', '.join(TASKS)}")
    parser.add_argument("--methods", default=",".join(METHODS), help=f"of {', '.join(METHODS)}")
    parser.add_argument("--problems", type=int, default=20, help="random problems of each task")
    parser.add_argument("--close-problems", type=int, default=200, help=f"as many of {CLOSE}")
    parser.add_argument("--rounds", type=int, help=f"instead of {LONG} (told) and {SHORT} (untold)")
    parser.add_argument("--jobs", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--quick", action="store_true", help="400 rounds of 3 problems, no file")
    parser.add_argument("--table", action="store_true", help="write heavy_tails.md, play none")
    options = parser.parse_args()
    if options.quick:
        options.rounds = options.rounds or 400
        options.problems = options.close_problems = min(options.problems, 3)
    tasks, methods = options.tasks.split(","), options.methods.split(",")
    for name, known in [(t, TASKS) for t in tasks] + [(m, METHODS) for m in methods]:
        if name not in known:
            parser.error(f"{name!r} is not one of {', '.join(known)}")
    rounds = {"told": options.rounds or LONG, "untold": options.rounds or SHORT}
    runs = list(runs_of(tasks, methods, options.problems, options.close_problems, rounds))
    if not options.table:
        play_missing(runs, path_of, play, options.jobs)
    text = report([path_of(run) for run in runs if path_of(run).exists()])
    if not options.quick:
        (FOLDER / "heavy_tails.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
