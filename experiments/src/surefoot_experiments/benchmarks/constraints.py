"""Whether recommendations satisfy noisy constraints, and what they lose, against Ax."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator

import numpy as np
import pandas as pd

from surefoot_experiments.benchmarks.constrained_problems import (
    PROBLEMS,
    VALUE,
    ConstrainedProblem,
)
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.scoreboard.environments import HERE, python_of
from surefoot_experiments.scoreboard.rival import process_of

LIMIT = 900.0  # seconds for a request
METHODS = {"surefoot": (HERE, "constrained_surefoot"), "Ax": ("ax", "constrained_ax")}
PACKAGES = ["surefoot", "torch", "optuna", "numpy"]

INTRODUCTION = """# Noisy constraints

Problems with one or two constraints, whose true values are known; objective and constraints are
measured with noise, {rounds} times in a run. surefoot is its Optuna sampler with a confidence of
0.95, Ax its default with outcome constraints and `get_best_parameterization`. Each has the same
noise in the same round, and takes no repeats beyond those that it chooses.

- **violates**: how often the true value of a constraint is beyond its limit at the recommended
  configuration, and in parentheses by how much at most, as a share of the limit (of 1 if that
  is 0);
- **regret**: by how much the recommended configuration is worse than the best one within the
  limits, in standard deviations of the objective over all configurations within them; mean and
  median of the recommendations that violate nothing;
- **none**: how often nothing is recommended, or with a message that nothing is known to satisfy
  the constraints;
- **tried**: share of the measured configurations that violate a constraint;
- **seconds**: processor time of a run, median.

surefoot was not tuned on problems marked *. `gardner-1` and `-2` are of Gardner et al. (2014),
`mystery` and `new-branin` of Sasena (2002); `queue` is an M/M/c queue (profit, p99 of the sojourn
time), `server` and `pipeline` are formulas of 5 and 4 parameters, one of them categorical
(throughput; p99, memory, cores), `inventory` is an (s, S) policy (cost, days with unmet demand).
{left_out}
Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""
LEFT_OUT = "\nAx is left out: its environment was not built.\n"


def run(trial: Trial) -> Rows:
    """One problem by each method whose environment has been built."""
    return {"runs": list(_runs(trial))}


def _runs(trial: Trial) -> Iterator[dict[str, object]]:
    problem = PROBLEMS[trial.case]
    for method, (environment, module) in METHODS.items():
        if python_of(environment) is None:
            continue
        process = process_of(environment, module)
        limits = {"limits": dict(problem.limits)}
        process.begin(problem.space, trial.rounds, trial.index, limits, LIMIT)
        seconds, tried = 0.0, 0
        for round_ in range(trial.rounds):
            asked = process.ask(LIMIT)
            point = asked["point"]
            measured = problem.measure(point, _noise(trial, round_))
            told = process.tell(point, measured.pop(VALUE), LIMIT, measured)
            seconds += asked["seconds"] + told["seconds"]
            tried += problem.violation(point) > 0.0
        point = process.recommend(LIMIT).point
        process.end(LIMIT)
        yield {
            "problem": trial.case,
            "method": method,
            "rounds": trial.rounds,
            **_scores(problem, point),
            "tried": tried / trial.rounds,
            "seconds": seconds,
        }


def _noise(trial: Trial, round_: int) -> np.random.Generator:
    return np.random.default_rng([trial.index, round_, zlib.crc32(trial.case.encode())])


def _scores(problem: ConstrainedProblem, point: dict[str, float | int | str]) -> dict[str, float]:
    if not point:
        return {"none": 1.0, "violates": math.nan, "violation": math.nan, "regret": math.nan}
    violation = problem.violation(point)
    regret = math.nan if violation > 0.0 else problem.regret(point)
    return {
        "none": 0.0,
        "violates": float(violation > 0.0),
        "violation": max(violation, 0.0),
        "regret": regret,
    }


def report(tables: Tables) -> str:
    """Violations and regret by problem and method, then over all problems of a half."""
    rows = tables["runs"]
    halves = rows.assign(problem="all " + rows["problem"].map(lambda name: PROBLEMS[name].half))
    rows = rows.assign(problem=rows["problem"].map(_title))
    table = pd.concat([_summary(rows), _summary(halves)])
    introduction = INTRODUCTION.format(
        rounds=int(rows["rounds"].max()),
        left_out="" if set(METHODS) <= set(rows["method"]) else LEFT_OUT,
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(table)}"


def _summary(rows: pd.DataFrame) -> pd.DataFrame:
    groups = rows.groupby(["problem", "method"], sort=False)
    share, two = "{:.0%}".format, "{:.2f}".format
    most = groups["violation"].max().fillna(0.0).map(share)
    violates = groups["violates"].mean().map(share)
    return pd.DataFrame(
        {
            "runs": groups.size().map(str),
            "violates": violates + " (" + most + ")",
            "regret": groups["regret"].mean().map(two),
            "median": groups["regret"].median().map(two),
            "none": groups["none"].mean().map(share),
            "tried": groups["tried"].mean().map(share),
            "seconds": groups["seconds"].median().map("{:.0f}".format),
        }
    ).reset_index("method")


def _title(name: str) -> str:
    problem = PROBLEMS[name]
    mark = "*" if problem.half == "confirmation" else ""
    return f"{name}{mark}, {problem.noise}"


EXPERIMENTS = [
    benchmark(
        "constraints",
        "Noisy constraints",
        published=Scale(10, 40),
        quick=Scale(1, 6),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in PROBLEMS],
    )
]
