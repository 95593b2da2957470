"""The robust default and its peers on twelve tasks, from light to heavy-tailed noise.

Every method sees the same noise: the error of a round depends on the task, the trial and the round
only.
"""

import time
import warnings
import zlib

import numpy as np
import torch

from surefoot_experiments.benchmarks.peers import METHODS
from surefoot_experiments.benchmarks.robust_vs_peers_table import report
from surefoot_experiments.harness.tables import TableOutput, benchmark
from surefoot_experiments.harness.trial import Case, Rows, Scale, Trial
from surefoot_experiments.problems import Problem, robust_tasks

SLOW = {"botorch-robust": 0.2}  # minutes a run: a share of the trials only


def run(trial: Trial) -> Rows:
    """One method on one task; the regret of the recommendation after each third of the rounds."""
    warnings.simplefilter("ignore")
    task, method = trial.case.split()
    problem = next(each for each in robust_tasks() if each.name == task)
    optimizer = METHODS[method](problem, trial.index)
    recommend_at = {trial.rounds // 3, 2 * trial.rounds // 3, trial.rounds}
    rows = []
    for round_ in range(1, trial.rounds + 1):
        started = time.perf_counter()
        point = optimizer.ask()
        seconds = time.perf_counter() - started
        optimizer.tell(point, measure(problem, point, trial.index, round_))
        recommended = None
        if round_ in recommend_at:
            recommended = float(problem.regret(optimizer.recommend().unsqueeze(0)))
        rows.append(
            {
                "task": task,
                "method": method,
                "round": round_,
                "regret": float(problem.regret(point.unsqueeze(0))),
                "recommended": recommended,
                "seconds": seconds,
                "failures": optimizer.failures,
            }
        )
    return {"runs": rows}


def measure(problem: Problem, point: torch.Tensor, seed: int, turn: int) -> float:
    """A measurement whose error is the same for every method in the same round."""
    generator = np.random.default_rng([seed, turn, zlib.crc32(problem.name.encode())])
    return float(problem.measure(point.unsqueeze(0), generator))


EXPERIMENTS = [
    benchmark(
        "robust-vs-peers",
        "The robust default against its peers",
        published=Scale(10, 60),
        quick=Scale(1, 6),
        run=run,
        output=TableOutput(report),
        cases=[
            Case(f"{task.name} {method}", trials=SLOW.get(method, 1.0))
            for task in robust_tasks()
            for method in METHODS
        ],
    )
]
