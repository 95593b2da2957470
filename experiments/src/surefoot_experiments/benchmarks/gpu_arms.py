"""Many arms on a GPU: time of a round, readings of the table of features, and memory."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import surefoot as sf
from surefoot_experiments.benchmarks.fresh_process import in_fresh_process
from surefoot_experiments.harness.tables import TableOutput, benchmark, ran_on, table_from
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

NUMBER = 256  # features
ROUNDS = 60
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SMOOTH = sf.kernels.squared_exponential(0.2)


def _with_features(
    arms: sf.Arms, features: Any, kernel: Any = SMOOTH, policy: Any = None
) -> sf.Optimizer:
    policy = sf.acquisition.UpperConfidenceBound() if policy is None else policy
    return sf.Optimizer(
        arms.to(DEVICE), sf.Method(kernel, features=features, ridge=0.01, policy=policy)
    )


def _inducing_points() -> sf.Dictionary:
    return sf.Dictionary(torch.from_numpy(np.random.default_rng(2).random((NUMBER, 2))))


ALGORITHMS: dict[str, Callable[[Any], sf.Optimizer]] = {
    "Fourier": lambda points: _with_features(sf.Arms(points), sf.RandomFourier(NUMBER)),
    "Fourier, float32": lambda points: _with_features(
        sf.Arms(points, storage=sf.spaces.InMemory("float32")), sf.RandomFourier(NUMBER)
    ),
    "inducing points": lambda points: _with_features(
        sf.Arms(points), _inducing_points(), sf.kernels.matern(1.5, 0.2)
    ),
    "Thompson sampling, Fourier": lambda points: _with_features(
        sf.Arms(points), sf.RandomFourier(NUMBER), policy=sf.acquisition.ThompsonSampling()
    ),
    "bbkb": lambda points: sf.algorithms.bbkb(
        sf.Arms(points).to(DEVICE), SMOOTH, noise=0.1, norm_bound=3.0, oversampling=5.0,
        ridge=0.01, scale=0.3,
    ),
}  # fmt: skip

ABOUT = """Arms are uniform in the unit square; the noise has a standard deviation of 0.1; a round
is `ask` and `tell`, in the median of the second half of 60. *Readings* are its time in that of a
product of a float64 table of that size with a vector. *Memory* is the most that was allocated on
the GPU, in float64 tables."""


def _now() -> float:
    if DEVICE == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter()


def run_of(algorithm: str, number: int) -> dict[str, Any]:
    """Rounds on so many arms, in this process."""
    run = ALGORITHMS[algorithm](np.random.default_rng(0).random((number, 2)))
    noise, seconds = np.random.default_rng(1), []
    for _ in range(ROUNDS):
        started = _now()
        query = run.ask()
        x = query.point.tolist()
        run.tell(query, float(np.sin(6.0 * x[0]) * np.cos(4.0 * x[1]) + 0.1 * noise.normal()))
        seconds.append(_now() - started)
    features = run.belief().outcome.inferred.dimension
    most = torch.cuda.max_memory_allocated() if DEVICE == "cuda" else 0
    return {
        "features": features,
        "milliseconds": 1e3 * float(np.median(seconds[ROUNDS // 2 :])),
        "reading": 1e3 * _reading(number, features),
        "memory": most / (number * features * 8),
        "on": torch.cuda.get_device_name() if DEVICE == "cuda" else "CPU",
    }


def _reading(number: int, features: int) -> float:
    """Seconds to multiply a float64 table with a vector."""
    table = torch.ones(features, number, dtype=torch.float64, device=DEVICE)
    vector, times = torch.ones(features, dtype=torch.float64, device=DEVICE), []
    for _ in range(12):
        started = _now()
        table.T @ vector
        times.append(_now() - started)
    return float(np.median(times[2:]))


def run(trial: Trial) -> Rows:
    """One algorithm; the number of arms is that of the rounds of the scale."""
    row = in_fresh_process(run_of, trial.case, trial.rounds)
    return {"runs": [{"algorithm": trial.case, "number": trial.rounds, **row}]}


def report(tables: Tables) -> str:
    """One row an algorithm."""
    on, runs = ran_on(["surefoot", "torch", "numpy"]), tables["runs"]
    first = runs.iloc[0]
    rows = [
        {
            "": one.algorithm,
            "features": f"{one.features}",
            "ms a round": f"{one.milliseconds:.2f}",
            "reading, ms": f"{one.reading:.2f}",
            "readings": f"{one.milliseconds / one.reading:.1f}",
            "memory": f"{one.memory:.2f}" if one.memory else "",
        }
        for one in runs.itertuples()
    ]
    return (
        "# Many arms on a GPU\n\n"
        f"Run {on['date']} on {first.on}, {first.number:,} arms. {on['versions']}.\n\n{ABOUT}\n\n"
        + table_from(rows).rstrip()
        + "\n"
    )


EXPERIMENTS = [
    benchmark(
        "gpu-arms",
        "Many arms on a GPU",
        published=Scale(1, 1_000_000),
        quick=Scale(1, 3_000),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in ALGORITHMS],
        timed=True,
    )
]
