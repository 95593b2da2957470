"""How often the true function stays inside mu +- beta sigma, with the theorems' widths."""

import math
from collections.abc import Callable
from functools import partial
from typing import Literal

import numpy as np
import pandas as pd
from scipy import stats

import surefoot as sf
from surefoot.features import Features
from surefoot_experiments.benchmarks.arm_methods import with_bounds
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.harness.variants import variant
from surefoot_experiments.problems import ArmProblem, Gaussian, noisy_arms, pareto_arms

DELTA = 0.1
SURE = 1e-6  # probability of reporting a failure of a bound that holds
PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]

INTRODUCTION = """# Coverage of the confidence bounds

A problem is covered when |f - mu| <= beta sigma at all 100 arms after each of {rounds:,} rounds, in
which the algorithm itself chose the arms. Widths are those of the theorems (`scale` = 1) with
delta = {delta}, given the exact norm of f and a v that bounds the moment at every arm. Random
functions, squared exponential kernel with lengthscale 0.2, scaled to max|f| = 1, ridge 1.
ata-fourier has 32 quadrature nodes and the width of Lemma 1 without its quadrature error;
ata-exact has the same width, with the number of distinct arms measured as the number of
features, for which the paper has no theorem; ata-nystrom has the width of Theorem 4 with an
oversampling of 4, less than the theorem requires.

**needed** is the `scale` at which a problem would just have been covered, that is the largest
|f - mu| / (beta sigma) that occurred: below 1 the bound is wider than necessary. **in round** is
the median over the problems of the round in which it occurred.

Where a theorem applies, each problem is covered with probability at least 1 - delta: {least} of
{problems} problems on average, and fewer than {sure} with a probability below 1e-6.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""

Make = Callable[[np.random.Generator], ArmProblem]
NOISES: dict[str, Make] = {
    "student-t-3": lambda g: noisy_arms(g),
    "pareto-2": lambda g: pareto_arms(g),
    "gaussian": lambda g: noisy_arms(g, Gaussian(1.0)),
}


def tgp(problem: ArmProblem, rounds: int, seed: int) -> sf.Optimizer:
    """TGP-UCB with the width of Theorem 1."""
    return with_bounds(sf.algorithms.tgp_ucb, problem, seed, problem.norm_bound, delta=DELTA)


def ata(
    features: Literal["exact", "fourier", "nystrom"], problem: ArmProblem, rounds: int, seed: int
) -> sf.Optimizer:
    """ATA-GP-UCB with the widths of Lemma 1 and Theorem 4."""
    rule = sf.LeverageSampling(4.0, accuracy=0.1, feedback="immediate")
    maps: dict[str, Features] = {
        "exact": sf.Exact(),
        "fourier": sf.QuadratureFourier(folded=True),
        "nystrom": sf.Nystrom(rule),
    }
    made = with_bounds(
        sf.algorithms.ata_gp_ucb,
        problem,
        seed,
        problem.norm_bound,
        horizon=rounds,
        delta=DELTA,
        features=maps[features],
    )
    unions = 4 if features == "nystrom" else 2
    estimator = sf.AdaptiveTruncation(problem.moment, rounds, DELTA, unions=unions)
    return variant(made, estimator=estimator)


def gp(problem: ArmProblem, rounds: int, seed: int) -> sf.Optimizer:
    """GP-UCB with the width for noise that is 1-sub-Gaussian."""
    width = sf.widths.chowdhury_gopalan(problem.norm_bound, noise=1.0, delta=DELTA)
    return sf.algorithms.gp_ucb(problem.space, problem.kernel, width=width, seed=seed)


HEAVY = ("student-t-3", "pareto-2")
Build = Callable[[ArmProblem, int, int], sf.Optimizer]
METHODS: dict[str, tuple[Build, tuple[str, ...]]] = {
    "tgp": (tgp, HEAVY),
    "ata-exact": (partial(ata, "exact"), HEAVY),
    "ata-fourier": (partial(ata, "fourier"), HEAVY),
    "ata-nystrom": (partial(ata, "nystrom"), HEAVY),
    "gp-ucb": (gp, ("gaussian",)),
}


def run(trial: Trial) -> Rows:
    """One algorithm on one problem: the largest |f - mu| / (beta sigma), and its round."""
    method, noise_name = trial.case.split()
    problem = NOISES[noise_name](np.random.default_rng([trial.index, 0]))
    noise = np.random.default_rng([trial.index, 1])
    optimizer = METHODS[method][0](problem, trial.rounds, trial.index)
    needed, when = 0.0, 0
    for round_ in range(1, trial.rounds + 1):
        query = optimizer.ask()
        optimizer.tell(query, problem.measure(int(query.arm or 0), noise))
        mean, deviation = optimizer.belief().posterior.mean_and_deviation(problem.space.points)
        reach = float(((problem.values - mean).abs() / (optimizer.width * deviation)).max())
        if reach > needed:
            needed, when = reach, round_
    row = {"method": method, "noise": noise_name, "rounds": trial.rounds}
    return {"runs": [{**row, "needed": needed, "when": when}]}


def report(tables: Tables) -> str:
    """The table of finished runs."""
    rows = tables["runs"]
    problems, rounds = rows["trial"].nunique(), int(rows["rounds"].max())
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


EXPERIMENTS = [
    benchmark(
        "coverage",
        "Coverage of the confidence bounds",
        published=Scale(200, 1_000),
        quick=Scale(5, 60),
        run=run,
        output=TableOutput(report),
        cases=[
            Case(f"{method} {noise}") for method, (_, noises) in METHODS.items() for noise in noises
        ],
    )
]
