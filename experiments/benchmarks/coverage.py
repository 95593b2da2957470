"""How often the true function stays inside mu +- beta sigma, with the theorems' widths.

    python benchmarks/coverage.py --jobs 2       # about half an hour; writes coverage.md
    python benchmarks/coverage.py --quick        # seconds, written to the terminal only

Each finished run is a file of its own, so a killed one goes on where it stopped; delete
`results/raw/coverage` to begin anew.
"""

import argparse
import json
import math
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
import torch
from scipy import stats

import surefoot as sf
from arm_methods import told
from missing_runs import play_missing
from result_files import write_json
from robust_table import markdown, ran_on
from surefoot_experiments.problems import ArmProblem, Gaussian, noisy_arms, pareto_arms

FOLDER = Path(__file__).parent
RAW = FOLDER / "results" / "raw" / "coverage"
DELTA = 0.1
SURE = 1e-6  # chance that an algorithm as good as its theorem is said to fail
PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]

INTRODUCTION = """# Coverage of the confidence bounds

A problem is covered when |f - mu| <= beta sigma at all 100 arms after each of {rounds:,} rounds, in
which the algorithm itself chose the arms. Widths are those of the theorems (`scale` = 1) with
delta = {delta}, told the exact norm of f and a v that bounds the moment at every arm. Random
functions, squared exponential kernel with lengthscale 0.2, scaled to max|f| = 1, ridge 1.

**needed** is the `scale` at which a problem would just have been covered, that is the largest
|f - mu| / (beta sigma) that occurred: below 1 the bound is wider than it need be.

The theorems promise that each problem is covered with probability 1 - delta: {least} of {problems}
problems on average, and fewer than {sure} with a probability below 1e-6.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""

Make = Callable[[np.random.Generator], ArmProblem]
NOISES: dict[str, Make] = {
    "student-t-3": lambda g: noisy_arms(g),
    "pareto-2": lambda g: pareto_arms(g),
    "gaussian": lambda g: noisy_arms(g, Gaussian(1.0)),
}


class Run(NamedTuple):
    """One algorithm on one problem."""

    method: str
    noise: str
    problem: int
    rounds: int


def tgp(problem: ArmProblem, rounds: int, seed: int) -> sf.Optimizer:
    """TGP-UCB with the width of Theorem 1."""
    return told(sf.algorithms.tgp_ucb, problem, seed, problem.norm_bound, delta=DELTA)


def ata(features: str, problem: ArmProblem, rounds: int, seed: int) -> sf.Optimizer:
    """ATA-GP-UCB with the widths of Lemma 1 and Theorem 4."""
    return told(
        sf.algorithms.ata_gp_ucb,
        problem,
        seed,
        problem.norm_bound,
        horizon=rounds,
        delta=DELTA,
        features=features,
    )


def gp(problem: ArmProblem, rounds: int, seed: int) -> sf.Optimizer:
    """GP-UCB with the width for noise that is 1-sub-Gaussian."""
    width = sf.widths.chowdhury_gopalan(problem.norm_bound, noise=1.0, delta=DELTA)
    return sf.algorithms.gp_ucb(problem.space, problem.kernel, width=width, seed=seed)


HEAVY = ("student-t-3", "pareto-2")
METHODS = {
    "tgp": (tgp, HEAVY),
    "ata-exact": (partial(ata, "exact"), HEAVY),
    "ata-fourier": (partial(ata, "fourier"), HEAVY),
    "ata-nystrom": (partial(ata, "nystrom"), HEAVY),
    "gp-ucb": (gp, ("gaussian",)),
}


def path_of(run: Run) -> Path:
    """Where the outcome of a finished run lies."""
    return RAW / str(run.rounds) / run.noise / f"{run.method}_{run.problem}.json"


def play(run: Run) -> None:
    """Ask and tell to the end; keep the largest |f - mu| / (beta sigma) and its round."""
    torch.set_num_threads(1)
    problem = NOISES[run.noise](np.random.default_rng([run.problem, 0]))
    noise = np.random.default_rng([run.problem, 1])
    optimizer = METHODS[run.method][0](problem, run.rounds, run.problem)
    needed, when = 0.0, 0
    for turn in range(1, run.rounds + 1):
        query = optimizer.ask()
        optimizer.tell(query, problem.measure(query.arm, noise))
        mean, deviation = optimizer.posterior.mean_and_deviation(optimizer.space.points)
        reach = float(((problem.values - mean).abs() / (optimizer.width * deviation)).max())
        if reach > needed:
            needed, when = reach, turn
    write_json(path_of(run), {**run._asdict(), "needed": needed, "when": when})


def report(runs: list[Run]) -> str:
    """The table of finished runs."""
    rows = pd.DataFrame(json.loads(path_of(run).read_text()) for run in runs)
    problems, rounds = rows["problem"].nunique(), int(rows["rounds"].max())
    groups = rows.groupby(["method", "noise"], sort=False)
    table = pd.DataFrame(
        {
            "covered": groups["needed"].agg(lambda x: f"{(x <= 1.0).sum()} of {len(x)}"),
            "needed, median": groups["needed"].median().map("{:.3f}".format),
            "needed, largest": groups["needed"].max().map("{:.3f}".format),
            "in round, median": groups["when"].median().map("{:.0f}".format),
        }
    )
    table.index = [" / ".join(key) for key in table.index]
    table.index.name = "algorithm / noise"
    introduction = INTRODUCTION.format(
        rounds=rounds,
        delta=DELTA,
        problems=problems,
        least=math.ceil((1.0 - DELTA) * problems),
        sure=problems - int(stats.binom.isf(SURE, problems, DELTA)),
        **ran_on(PACKAGES),
    )
    return introduction + "\n" + markdown(table)


def main() -> None:
    """Read the command line, play what is missing, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--problems", type=int, default=200, help="for each algorithm and noise")
    parser.add_argument("--rounds", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--quick", action="store_true", help="60 rounds of 5 problems, no file")
    options = parser.parse_args()
    if options.quick:
        options.problems, options.rounds = 5, 60
    runs = [
        Run(method, noise, problem, options.rounds)
        for problem in range(options.problems)
        for method, (_, noises) in METHODS.items()
        for noise in noises
    ]
    play_missing(runs, path_of, play, options.jobs)
    text = report(runs)
    if not options.quick:
        (FOLDER / "coverage.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
