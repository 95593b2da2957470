"""Whether online conformal calibration mends intervals at the points that a search chooses."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd
import torch
from botorch.test_functions import Ackley, Hartmann, Rosenbrock
from botorch.test_functions.base import BaseTestProblem
from scipy import stats
from torch import Tensor

import surefoot as sf
from surefoot_experiments.benchmarks.recommendation_coverage import NOISES, drawn_function
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

LEVEL, STEP, EARLY = 0.95, 0.1, 30  # of the online rule its step; rounds that are early
PACKAGES = ["surefoot", "torch", "numpy"]
HARD: dict[str, Callable[[], BaseTestProblem]] = {  # with Gaussian noise
    "Ackley-2": lambda: Ackley(2),
    "Rosenbrock-3": lambda: Rosenbrock(3),
    "Hartmann-6": lambda: Hartmann(6),
}

INTRODUCTION = """# Conformal calibration at chosen points

The default, {rounds} rounds and {trials} seeds, on functions of two variables drawn from a Gaussian
process with three kinds of noise, as in [coverage of the intervals of
recommendations](recommendation_coverage.md), and on three functions that are not as the model
assumes, in units of their standard deviation, with Gaussian noise. Before a reward is told,
the 95 % credible interval of f at the point that was chosen, and that of the reward: the same with
the fitted noise. Only the latter can be compared with what is measured, so that is what calibration
learns from. Its factor then multiplies the interval of f.

- **none**: the factor is 1;
- **quantile**: the conformal quantile of the earlier scores of the run, |reward - mean| in half
  widths, from 19 of them on (Vovk, Gammerman and Shafer 2005), as if they were exchangeable;
- **online**: the factor grows by {up:.1%} after a reward outside its interval and falls by
  {down:.2%} after one inside (Gibbs and Candès 2021, adaptive conformal inference).

**early** is up to round {early}, **late** after it: the share of intervals that contain f, ± its
standard error as if they were independent, and the mean factor. **rewards**: the share of
calibrated intervals that contain the reward.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def run(trial: Trial) -> Rows:
    """One run: scores of rewards, and errors in half widths, before each is told."""
    generator, scale = np.random.default_rng([trial.index, 2]), (0.1, 0.3)[trial.index % 2]
    is_drawn = trial.case in NOISES
    noise_of = NOISES[trial.case if is_drawn else "gaussian"]
    if is_drawn:
        function, dimension = drawn_function(2, generator), 2
    else:
        function, dimension = _standardised(HARD[trial.case]())
    space = sf.Box([0.0] * dimension, [1.0] * dimension)
    optimizer = sf.algorithms.robust_ucb(space, seed=trial.index)
    rows, scores, factor = [], list[float](), 1.0
    for number in range(1, trial.rounds + 1):
        query = optimizer.ask()
        truth = float(function(query.point[None]))
        reward = truth + noise_of(generator, scale)
        if number > 10:
            belief = optimizer.belief()
            value, lower, upper = (float(one[0]) for one in belief.predict([query.point]))
            half, fitted = 0.5 * (upper - lower), belief.outcome.fitted
            noise = float(stats.t.ppf(0.5 + 0.5 * LEVEL, fitted.dof)) * fitted.noise**0.5
            score = abs(reward - value) / math.hypot(half, noise * fitted.scale)
            rank = math.ceil((len(scores) + 1) * LEVEL)
            known = sorted(scores)[rank - 1] if rank <= len(scores) else 1.0
            for rule, one in (("none", 1.0), ("quantile", known), ("online", factor)):
                rows.append(
                    {
                        "rule": rule,
                        "noise": trial.case,
                        "round": number,
                        "covers": abs(truth - value) <= one * half,
                        "covers reward": score <= one,
                        "factor": one,
                    }
                )
            factor *= math.exp(STEP * ((score > factor) - (1.0 - LEVEL)))
            scores.append(score)
        optimizer.tell(query, reward)
    return {"runs": rows}


def _standardised(problem: BaseTestProblem) -> tuple[Callable[[Tensor], Tensor], int]:
    """A function to maximise of the unit cube, in standard deviations, and its dimension."""
    lower, upper = problem.bounds.double()
    points = torch.rand(4096, len(lower), generator=torch.Generator().manual_seed(0))
    values = problem(lower + points.double() * (upper - lower))
    center, spread = values.mean(), values.std()
    return lambda x: (center - problem(lower + x * (upper - lower))) / spread, len(lower)


def report(tables: Tables) -> str:
    """Coverage by rule and noise, early and late."""
    rows = tables["runs"]
    every = pd.concat([rows.assign(noise="all"), rows])
    found = {}
    for (noise, rule), group in every.groupby(["noise", "rule"], sort=False):
        parts = group[group["round"] <= EARLY], group[group["round"] > EARLY]
        early, late = (f"{_share(one['covers'])}, {one['factor'].mean():.2f}" for one in parts)
        found[f"{noise} / {rule}"] = [early, late, f"{group['covers reward'].mean():.1%}"]
    table = pd.DataFrame.from_dict(found, "index", columns=["early", "late", "rewards"])
    table.index.name = "noise or function / rule"
    introduction = INTRODUCTION.format(
        trials=rows["trial"].nunique(),
        rounds=int(rows["round"].max()),
        early=EARLY,
        up=math.expm1(STEP * LEVEL),
        down=-math.expm1(-STEP * (1.0 - LEVEL)),
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(table)}"


def _share(held: pd.Series) -> str:
    share = float(held.mean())
    return f"{100 * share:.1f} ± {100 * (share * (1 - share) / len(held)) ** 0.5:.1f} %"


EXPERIMENTS = [
    benchmark(
        "calibration",
        "Conformal calibration at chosen points",
        published=Scale(5, 60),
        quick=Scale(1, EARLY + 2),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in (*NOISES, *HARD)],
    )
]
