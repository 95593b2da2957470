"""Trials beyond their limits, with and without a safe search, and what safety costs."""

from __future__ import annotations

import math
import warnings
import zlib
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pandas as pd
import torch

from surefoot import Constraint, Problem
from surefoot.integrations.optuna import CONSTRAINTS, SurefootSampler
from surefoot_experiments.benchmarks.constrained_problems import (
    PROBLEMS,
    VALUE,
    Additive,
    ConstrainedProblem,
    Relative,
)
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.scoreboard.rivals.optuna_samplers import Study
from surefoot_experiments.scoreboard.space import Categorical, Point

CASES = ("gardner-1", "mystery", "queue", "server", "gardner-2", "new-branin", "pipeline")
PACKAGES = ["surefoot", "torch", "optuna", "numpy"]
_DRAWN, _MOVED, _PATH = 4000, 3000, 33

INTRODUCTION = """# Safe search

The [constrained problems](constraints.md), all of them with Student-t noise and 5 % spikes in
objective and constraints, each of {rounds} rounds from one start that keeps its limits, by as much
as most configurations within them. The segment from the start to the best configuration keeps them,
too, and both have the same categories, so that a safe search can reach it; *safe* is
`Constraint(..., safe=True)` with a confidence of 0.95.

- **trials beyond**: trials of a run whose true value is beyond a limit, the start aside; mean, and
  in parentheses the most;
- **regret**: by how much the recommended configuration is worse than the best one within the
  limits, in standard deviations of the objective; mean and median of the recommendations that
  violate nothing;
- **violates**: recommendations beyond a limit, **none**: runs without a feasible one.

The search was chosen by the problems without *.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def run(trial: Trial) -> Rows:
    """One problem with and without a safe search."""
    torch.set_num_threads(1)
    return {"runs": list(_runs(trial))}


def _runs(trial: Trial) -> Iterator[dict[str, object]]:
    problem = PROBLEMS[trial.case]
    if isinstance(problem.measure, Additive | Relative):
        problem = replace(problem, measure=replace(problem.measure, heavy=True))
    start = safe_start(problem, np.random.default_rng([trial.index, 7]))
    for safe in (False, True):
        limits = {n: Constraint(maximum=one, safe=safe) for n, one in problem.limits.items()}
        study = Study(problem.space, SurefootSampler(Problem(outcomes=limits), seed=trial.index))
        study.study.enqueue_trial(start)
        beyond = 0
        with warnings.catch_warnings(action="ignore"):
            for round_ in range(trial.rounds):
                point = study.ask()
                key = [trial.index, round_, zlib.crc32(trial.case.encode())]
                measured = problem.measure(point, np.random.default_rng(key))
                value = measured.pop(VALUE)
                study._trial.set_user_attr(CONSTRAINTS, measured)
                study.tell(point, value)
                beyond += problem.violation(point) > 0.0
            best = study.sampler.belief(study.study).recommend()
        violates = problem.violation(dict(best.params)) > 0.0
        regret = problem.regret(dict(best.params))
        yield {
            "problem": trial.case,
            "search": "safe" if safe else "default",
            "beyond": beyond,
            "regret": regret if best.feasible and not violates else math.nan,
            "violates": float(best.feasible and violates),
            "none": float(not best.feasible),
            "rounds": trial.rounds,
            "start": problem.regret(start),
        }


def safe_start(problem: ConstrainedProblem, generator: np.random.Generator) -> Point:
    """A configuration within the limits, from which a straight way to the best one is, too."""
    space = problem.space
    width = sum(one.width for one in space.parameters)
    drawn = [space.decode(row) for row in generator.random((_DRAWN, width))]
    within = [point for point in drawn if problem.violation(point) <= 0.0]
    best = min(within, key=lambda point: problem.truth(point)[VALUE])
    for step in range(_MOVED):
        reach = 0.1 * 0.998**step
        moved = np.array(space.encode(best)) + reach * generator.standard_normal(width)
        tried = _with_categories(problem, space.decode(moved), best)
        if problem.violation(tried) <= 0.0:
            best = min(best, tried, key=lambda point: problem.truth(point)[VALUE])
    to = np.array(space.encode(best))
    usual = float(np.median([problem.violation(point) for point in within]))
    for point in within:
        start = _with_categories(problem, point, best)
        at = np.array(space.encode(start))
        way = [space.decode(at + share * (to - at)) for share in np.linspace(0.0, 1.0, _PATH)]
        worse = problem.regret(start) >= 1.0
        inside = problem.violation(start) <= usual  # a start is seldom at a limit
        if worse and inside and all(problem.violation(one) <= 0.0 for one in way):
            return start
    raise RuntimeError("no start was found")


def _with_categories(problem: ConstrainedProblem, point: Point, other: Point) -> Point:
    names = [one.name for one in problem.space.parameters if isinstance(one, Categorical)]
    return {**point, **{name: other[name] for name in names}}


def report(tables: Tables) -> str:
    """Trials beyond limits and regret by problem, then over all problems of a half."""
    rows = tables["runs"]
    halves = rows.assign(problem="all " + rows["problem"].map(lambda name: PROBLEMS[name].half))
    marked = rows["problem"].map(lambda name: name + "*" * (PROBLEMS[name].half == "confirmation"))
    table = pd.concat([_summary(rows.assign(problem=marked)), _summary(halves)])
    introduction = INTRODUCTION.format(rounds=int(rows["rounds"].max()), **ran_on(PACKAGES))
    return f"{introduction}\n{markdown(table)}"


def _summary(rows: pd.DataFrame) -> pd.DataFrame:
    groups = rows.groupby(["problem", "search"], sort=False)
    share, two = "{:.0%}".format, "{:.2f}".format
    mean, most = groups["beyond"].mean().map("{:.1f}".format), groups["beyond"].max().map(str)
    return pd.DataFrame(
        {
            "runs": groups.size().map(str),
            "trials beyond": mean + " (" + most + ")",
            "regret": groups["regret"].mean().map(two),
            "median": groups["regret"].median().map(two),
            "violates": groups["violates"].mean().map(share),
            "none": groups["none"].mean().map(share),
        }
    ).reset_index("search")


EXPERIMENTS = [
    benchmark(
        "safe_search",
        "Safe search",
        published=Scale(3, 40),
        quick=Scale(1, 6),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in CASES],
    )
]
