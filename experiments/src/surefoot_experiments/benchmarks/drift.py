"""Rounds one by one against one factorisation of all of them."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import surefoot as sf
from surefoot_experiments.benchmarks.round_cost import ESTIMATORS, on_arms
from surefoot_experiments.harness.tables import TableOutput, benchmark, ran_on, table_from
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.tuning_free import TuningFreeTruncation

SLOWING: dict[str, Callable[[], Any]] = {
    "TuningFreeTruncation": TuningFreeTruncation,
}
DRIFTING = ESTIMATORS | SLOWING
MOST = 100_000  # rounds of those that slow down
SHARES = (0.01, 0.1, 1.0)  # of the rounds, after which both are compared

INTRODUCTION = """# Drift of arithmetic

Rounds of `ask` and `tell` one by one, against another optimizer that is told the same at once: the
largest difference of posterior mean and variance at all arms, relative to the largest value. 100
arms of [0, 1], squared exponential kernel of lengthscale 0.2, 32 quadrature Fourier nodes,
Student-t(3) noise. Memory is that of the process, less the one after the first hundredth of the
rounds, and includes the other optimizer. V is factorised anew every 512 rounds, and where a check
every 32 finds a variance off by 1e-8; a difference of 0 is one right after that. Estimates of Huber
and under Student-t noise are solved anew from all rewards, so that nothing but V accumulates: from
the same state of the estimator, means differ by 0. What differs here is the scale of the noise, one
by one that of up to 1 % fewer rewards (Huber), and weights that end at a tolerance of 0.01
(Student-t). Tuning-free truncation and truncation by the leverage take time in proportion to the
rounds so far: they have 10⁵ rounds.

Run {date} on {cores} cores, CPU, one thread. {versions}.
"""


def differences(run: sf.Optimizer, anew: sf.Optimizer, points: torch.Tensor) -> dict[str, float]:
    """Largest difference of two posteriors, relative to the largest value."""
    ours, theirs = (one.belief().posterior for one in (run, anew))
    found = {}
    for name in ("mean", "variance"):
        first, second = (getattr(one, name)(points) for one in (ours, theirs))
        found[name] = float((first - second).abs().max() / second.abs().max())
    return found


def resident() -> int:
    """Bytes of memory in use."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def run(trial: Trial) -> Rows:
    """All rounds of one estimator."""
    torch.set_num_threads(1)
    session = on_arms(DRIFTING[trial.case]())
    rows: list[dict[str, Any]] = []
    done, seconds, first = 0, 0.0, 0
    rounds = min(trial.rounds, MOST) if trial.case in SLOWING else trial.rounds
    for share in SHARES:
        number = max(1, round(share * rounds))
        start = time.process_time()
        session.rounds(number - done)
        seconds += time.process_time() - start
        done, used = number, resident()
        first = first or used
        history = session.optimizer.history
        anew = on_arms(DRIFTING[trial.case]()).optimizer
        anew.tell_all(np.array(history.arms)[history.site.numpy()].tolist(), history.rewards)
        found = differences(session.optimizer, anew, session.points)
        row = {"estimator": trial.case, "rounds": number, **found, "seconds": seconds}
        rows.append({**row, "megabytes": (used - first) / 1e6})
    return {"runs": rows}


def report(tables: Tables) -> str:
    """A row for each estimator and number of rounds."""
    lines = [
        {
            "estimator": row["estimator"],
            "rounds": f"{row['rounds']:,}",
            "mean": f"{row['mean']:.1e}",
            "variance": f"{row['variance']:.1e}",
            "seconds": f"{row['seconds']:.0f}",
            "more memory, MB": f"{row['megabytes']:.0f}",
        }
        for row in tables["runs"].to_dict("records")
    ]
    return INTRODUCTION.format(**ran_on(["surefoot", "torch"])) + "\n" + table_from(lines)


EXPERIMENTS = [
    benchmark(
        "drift",
        "Drift of arithmetic",
        published=Scale(1, 1_000_000),
        quick=Scale(1, 1_000),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in DRIFTING],
        timed=True,
    )
]
