"""Whether a search that stops early keeps its promise, and how many measurements it saves."""

from __future__ import annotations

import logging

import numpy as np
import optuna
import pandas as pd
import torch
from optuna.distributions import FloatDistribution

from surefoot.integrations.optuna import SurefootSampler
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.problems import Problem, Spikes
from surefoot_experiments.problems.functions import branin, hartmann, rosenbrock

GAIN, CONFIDENCE = 0.02, 0.95
LEAST_ROUNDS, IN_A_ROW = 15, 3  # as in `surefoot tune`
BEST = 50.0  # value at the optimum
UNIT = 25.0  # a standard deviation of the function
NOISE = Spikes(probability=0.05, size=100.0, scale=0.5)
PACKAGES = ["surefoot", "torch", "botorch", "optuna", "numpy"]
PROBLEMS = {
    "branin-2": branin,
    "hartmann-3": lambda: hartmann(dimension=3),
    "rosenbrock-2": lambda: rosenbrock(dimension=2),
}

INTRODUCTION = """# Stopping early

`[stop] gain = {gain:g}, confidence = {confidence:g}` on functions whose optimum is known: the
search ends when the probability that some configuration is more than {percent:g} % better than the
recommended one is below {risk:g} % in {checks} checks in a row. Functions are minimised and scaled
to a best value of {best:g} and a standard deviation of {unit:g}; measurements have Gaussian noise
of {noise:g} and, with a probability of {spikes:g}, an outlier of ±{size:g}. A search has at most
{rounds} measurements.

The promise is **kept** if no configuration is more than {percent:g} % better than the recommended
one when the search stops. **saved** is the share of the {rounds} measurements that were not made,
over all searches, 0 for one that does not stop.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def run(trial: Trial) -> Rows:
    """One search: when it stopped, and what was left to gain then."""
    logging.getLogger("optuna").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    problem: Problem = PROBLEMS[trial.case]()
    names = [f"x{index}" for index in range(len(problem.lower))]
    space = {name: FloatDistribution(0.0, 1.0) for name in names}
    sampler = SurefootSampler(seed=trial.index, search_space=space)
    study = optuna.create_study(sampler=sampler)
    noise = np.random.default_rng([trial.index, 1])
    low, best = 0, None
    for number in range(1, trial.rounds + 1):
        asked = study.ask(space)
        error = float(NOISE.sample(1, noise))
        study.tell(asked, _value(problem, [asked.params[name] for name in names]) + error)
        if number < LEAST_ROUNDS:
            continue
        model = sampler.belief(study)
        best = model.recommend()
        unsure = model.probability_of_gain(best.params, GAIN) >= 1.0 - CONFIDENCE
        low = 0 if unsure else low + 1
        if low == IN_A_ROW:
            break
    value = BEST if best is None else _value(problem, [best.params[name] for name in names])
    stopped = low == IN_A_ROW
    row = {"problem": trial.case, "rounds": trial.rounds, "stopped": stopped, "after": number}
    return {"runs": [{**row, "left": (value - BEST) / value}]}


def _value(problem: Problem, unit: list[float]) -> float:
    point = problem.lower + (problem.upper - problem.lower) * torch.tensor(unit).double()
    return BEST + UNIT * (problem.optimum - float(problem.function(point.unsqueeze(0))))


def report(tables: Tables) -> str:
    """The table of finished runs."""
    rows = tables["runs"].copy()
    rounds = int(rows["rounds"].max())
    rows["saved"] = 1.0 - rows["after"] / rows["rounds"]
    groups = [*rows.groupby("problem", sort=False), ("all", rows)]
    table = pd.DataFrame(
        {
            name: {
                "stopped": f"{int(group['stopped'].sum())} of {len(group)}",
                "kept": _kept(group[group["stopped"]]),
                "saved": f"{100.0 * group['saved'].mean():.0f} %",
                "left, largest": _largest(group[group["stopped"]]),
            }
            for name, group in groups
        }
    ).T
    table.index.name = "function"
    introduction = INTRODUCTION.format(
        gain=GAIN,
        confidence=CONFIDENCE,
        percent=100.0 * GAIN,
        risk=100.0 * (1.0 - CONFIDENCE),
        checks=IN_A_ROW,
        best=BEST,
        unit=UNIT,
        noise=NOISE.scale,
        spikes=NOISE.probability,
        size=NOISE.size,
        rounds=rounds,
        **ran_on(PACKAGES),
    )
    return introduction + "\n" + markdown(table)


def _kept(stopped: pd.DataFrame) -> str:
    return f"{int((stopped['left'] <= GAIN).sum())} of {len(stopped)}"


def _largest(stopped: pd.DataFrame) -> str:
    return f"{100.0 * stopped['left'].max():.1f} %" if len(stopped) else ""


EXPERIMENTS = [
    benchmark(
        "stopping",
        "Stopping early",
        published=Scale(8, 60),
        quick=Scale(1, 20),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in PROBLEMS],
    )
]
