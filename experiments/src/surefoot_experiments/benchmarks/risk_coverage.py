"""How often the interval of a risk holds the true risk, and whether regret satisfies Lemma 3."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy import stats
from torch import Tensor

import surefoot as sf
from surefoot.algorithms import cvar_ucb, stable_opt, v_ucb
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

DESIGNS, ENVIRONMENTS = 10, 8
LEVEL, NOISE, DELTA = 0.2, 0.05, 0.1
SLACK = 1e-9  # rounding errors, in an inequality that may hold with equality
SURE = 1e-6  # probability of reporting a failure of a bound that holds
PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]

INTRODUCTION = """# Coverage of the intervals of a risk

A problem is a function drawn from a Gaussian process (squared exponential kernel, lengthscale 0.3)
on {designs} designs and {environments} environments, scattered over the unit interval, with random
weights; rewards have Gaussian noise of variance {noise}. The algorithm knows kernel and noise and
plays {rounds} rounds; the columns are evaluated after each of them. Level {level}.

- **intervals hold**: problems where [risk(l), risk(u)] holds the true risk of every design, always.
- **bounds hold**: problems where f is inside mu +- beta sigma at every pair, always.
- **needed, largest**: the largest |f - mu| / (beta sigma) of any problem; below 1 beta is wide
  enough.
- **Lemma 3**: rounds in which all bounds held, and in how many of these the regret of the design
  that was asked for exceeded 2 beta sigma of the pair that was asked for.
- **regret, largest**: the largest regret / (2 beta sigma) of those rounds.

The width is sqrt(2 ln(|D| t^2 pi^2 / (6 delta))), |D| = {pairs} pairs and delta = {delta} (Srinivas
et al. 2010, Theorem 1, which Nguyen et al. 2021 build on): bounds, and with them intervals, hold in
{least} of {problems} problems on average, and in fewer than {sure} with a probability below 1e-6.
The last row has sqrt(2 ln(t^2 pi^2 / 0.6)), the width of the V-UCB paper's experiments, of which
nothing is promised. Lemma 3 allows no exception whatever the width.

Run {date} on {cores} cores, CPU, one thread. {versions}.
"""


@dataclass(frozen=True)
class Problem:
    """A function f (A, n) of designs and the values of an environment.

    Args:
        joint: The designs beside the environment.
        weights: Probabilities of the values of the environment, of shape (n,).
        points: Every pair, of shape (A n, 2).
        f: The function.
    """

    joint: sf.Joint
    weights: Tensor
    points: Tensor
    f: Tensor

    @classmethod
    def random(cls, generator: np.random.Generator) -> Problem:
        """One from the prior of the model."""
        designs = torch.from_numpy(generator.uniform(size=(DESIGNS, 1)))
        weights = torch.from_numpy(generator.dirichlet(np.ones(ENVIRONMENTS)))
        values_z = torch.from_numpy(generator.uniform(size=(ENVIRONMENTS, 1)))
        joint = sf.Joint(sf.Arms(designs), sf.FiniteEnvironment(values_z, weights))
        points = joint.points(designs, values_z).flatten(0, 1)
        squares = ((points[:, None] - points) / 0.3).square().numpy()
        values, vectors = np.linalg.eigh(np.exp(-0.5 * squares.sum(-1)))
        draw = vectors @ (np.sqrt(values.clip(0.0)) * generator.standard_normal(len(points)))
        return cls(joint, weights, points, torch.from_numpy(draw).reshape(DESIGNS, ENVIRONMENTS))


@dataclass
class Outcome:
    """What came of one problem."""

    intervals: bool = True
    bounds: bool = True
    needed: float = 0.0
    rounds: int = 0
    exceeded: int = 0
    regret: float = 0.0


THEOREM = sf.widths.srinivas(delta=DELTA / (DESIGNS * ENVIRONMENTS))
Build = Callable[[sf.Joint, object, int], sf.Optimizer]


def of(make: Callable[..., sf.Optimizer], width: sf.widths.Width, **settings: object) -> Build:
    """An algorithm with a width."""

    def build(joint: sf.Joint, kernel: object, seed: int) -> sf.Optimizer:
        return make(joint, kernel, ridge=NOISE, width=width, seed=seed, **settings)

    return build


METHODS: dict[str, Build] = {
    "V-UCB Prob": of(v_ucb, THEOREM, level=LEVEL),
    "V-UCB Unif": of(v_ucb, THEOREM, level=LEVEL, lacing="unif"),
    "CV-UCB": of(cvar_ucb, THEOREM, level=LEVEL),
    "StableOpt": of(stable_opt, THEOREM),
    "V-UCB Prob, width of the experiments": of(v_ucb, sf.widths.srinivas(), level=LEVEL),
}


def run(trial: Trial) -> Rows:
    """One algorithm on one problem, compared with the true function after each reward."""
    number = trial.index
    problem = Problem.random(np.random.default_rng([number, 0]))
    noise = np.random.default_rng([number, 1])
    optimizer = METHODS[trial.case](problem.joint, sf.kernels.squared_exponential(0.3), number)
    f, outcome = problem.f, Outcome()
    environment: Any = problem.joint.environment
    risk: Any = optimizer.risk
    true = risk(f, problem.weights)
    designs = problem.points[::ENVIRONMENTS, :1]
    for round_ in range(trial.rounds + 1):
        holds, reach = False, torch.zeros_like(f)
        if round_ > 0:
            mean, deviation = optimizer.belief().posterior.mean_and_deviation(problem.points)
            reach = optimizer.width * deviation.reshape(f.shape)
            error = (f - mean.reshape(f.shape)).abs()
            needed = float((error / reach).max())
            holds = needed <= 1.0
            _, lower, upper = optimizer.belief().predict(designs)
            held = bool(((lower - SLACK <= true) & (true <= upper + SLACK)).all())
            outcome.intervals &= held
            outcome.bounds &= holds
            outcome.needed = max(outcome.needed, needed)
        if round_ == trial.rounds:
            break
        query = optimizer.ask()
        z = environment.index(query.environment)
        if holds:
            regret, twice = float(true.max() - true[query.arm]), 2.0 * float(reach[query.arm, z])
            outcome.rounds += 1
            outcome.exceeded += regret > twice + SLACK
            outcome.regret = max(outcome.regret, regret / twice)
        reward = float(f[query.arm, z]) + NOISE**0.5 * float(noise.standard_normal())
        optimizer.tell(query, reward)
    return {"runs": [{"method": trial.case, "length": trial.rounds, **asdict(outcome)}]}


def report(tables: Tables) -> str:
    """The table of all methods."""
    rows = tables["runs"]
    rounds = int(rows["length"].max())
    problems = rows["trial"].nunique()
    groups = rows.groupby("method", sort=False)

    def of_all(part: pd.Series) -> str:
        return f"{part.sum()} of {len(part)}"

    table = pd.DataFrame(
        {
            "intervals hold": groups["intervals"].agg(of_all),
            "bounds hold": groups["bounds"].agg(of_all),
            "needed, largest": groups["needed"].max().map("{:.3f}".format),
            "Lemma 3, rounds": groups["rounds"].sum().map("{:,}".format),
            "exceeded": groups["exceeded"].sum().map(str),
            "regret, largest": groups["regret"].max().map("{:.3f}".format),
        }
    )
    table.index.name = "algorithm"
    introduction = INTRODUCTION.format(
        designs=DESIGNS,
        environments=ENVIRONMENTS,
        pairs=DESIGNS * ENVIRONMENTS,
        noise=NOISE,
        level=LEVEL,
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
        "risk-coverage",
        "Coverage of the intervals of a risk",
        published=Scale(200, 25),
        quick=Scale(5, 10),
        run=run,
        output=TableOutput(report),
        cases=[Case(method) for method in METHODS],
    )
]
