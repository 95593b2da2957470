"""Many arms by where the table of their features is: time, readings, memory, bytes, choices."""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch

import surefoot as sf
from surefoot.regression import shards
from surefoot_experiments.benchmarks.fresh_process import in_fresh_process
from surefoot_experiments.harness.tables import TableOutput, benchmark, ran_on, table_from
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

NUMBER = 128  # features, of an even number
ROUNDS = 40

STORAGES: dict[str, Callable[[str], Any]] = {
    "in memory": lambda folder: sf.spaces.InMemory(),
    "in memory, float32": lambda folder: sf.spaces.InMemory("float32"),
    "in a file": lambda folder: sf.spaces.InFile(folder),
    "in a file, float32": lambda folder: sf.spaces.InFile(folder, "float32"),
    "2 parts, one process": lambda folder: sf.spaces.Sharded(2),
}
ALGORITHMS: dict[str, Callable[[Any], sf.Optimizer]] = {
    "Fourier": lambda arms: sf.Optimizer(
        arms,
        sf.Method(
            sf.kernels.squared_exponential(0.2), features=sf.RandomFourier(NUMBER), ridge=0.01
        ),
    ),
    "bbkb": lambda arms: sf.algorithms.bbkb(
        arms,
        sf.kernels.squared_exponential(0.2),
        noise=0.1,
        norm_bound=3.0,
        oversampling=5.0,
        ridge=0.01,
        scale=0.3,
    ),
}

ABOUT = """Arms are uniform in the unit square, in a .npy file of float64; squared exponential
kernel of lengthscale 0.2, noise of standard deviation 0.1; a round is `ask` and `tell`. *Readings*
are the time of a round in that of a product of a float64 table of that size with a vector. *Memory*
is the most that is not backed by a file, less that before the arms, in float64 tables. *Bytes* are
of a message to one worker. *Same* says whether all queries are those of the first row."""


class Memory:
    """Memory of this process that no file backs, and the most of it so far, in bytes."""

    def __init__(self) -> None:
        self.before = self.most = self.now()
        threading.Thread(target=self._watch, daemon=True).start()

    @staticmethod
    def now() -> int:
        status = dict(
            line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines()
        )
        return sum(int(status[name].split()[0]) for name in ("RssAnon", "RssShmem")) * 1024

    def _watch(self) -> None:
        while True:
            self.most = max(self.most, self.now())
            time.sleep(0.002)


def run_of(algorithm: str, storage: str, number: int) -> dict[str, Any]:
    """Rounds on so many arms, in this process."""
    sent: list[int] = []
    ask = shards.Shards.ask

    def counted(self: Any, question: Any, needed: Any) -> Any:
        sent.append(len(pickle.dumps([*self._waiting, question])))
        return ask(self, question, needed)

    shards.Shards.ask = counted  # type: ignore[method-assign]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "arms.npy"
        points = np.lib.format.open_memmap(path, "w+", np.float64, (number, 2))
        random = np.random.default_rng(0)
        for start in range(0, number, 2**18):
            points[start : start + 2**18] = random.random((len(points[start : start + 2**18]), 2))
        points.flush()
        memory = Memory()
        run = ALGORITHMS[algorithm](sf.Arms(path, storage=STORAGES[storage](folder)))
        noise, arms, seconds = np.random.default_rng(1), [], []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            query = run.ask()
            x = query.point.numpy()
            value = np.sin(6.0 * x[0]) * np.cos(4.0 * x[1]) + 0.1 * noise.normal()
            run.tell(query, float(value))
            seconds.append(time.perf_counter() - started)
            arms.append(query.arm)
        arms.append(run.recommend().arm)
        most = memory.most - memory.before
        m = run.belief().outcome.inferred.dimension
        return {
            "features": m,
            "milliseconds": 1e3 * float(np.median(seconds[ROUNDS // 2 :])),
            "reading": 1e3 * _reading(number, m),
            "memory": most / (number * m * 8),
            "bytes": float(np.median(sent)) if sent else 0.0,
            "arms": " ".join(map(str, arms)),
        }


def _reading(number: int, dimension: int) -> float:
    """Seconds to multiply a float64 table with a vector, from a part of it."""
    part = min(number, 200_000)
    table = torch.ones(dimension, part, dtype=torch.float64)
    vector, times = torch.ones(dimension, dtype=torch.float64), []
    for _ in range(5):
        started = time.perf_counter()
        table.T @ vector
        times.append(time.perf_counter() - started)
    return float(np.median(times)) * number / part


def run(trial: Trial) -> Rows:
    """One algorithm on one storage; the number of arms is that of the rounds of the scale."""
    algorithm, storage = trial.case.split(": ")
    row = in_fresh_process(run_of, algorithm, storage, trial.rounds)
    return {"runs": [{"algorithm": algorithm, "storage": storage, "number": trial.rounds, **row}]}


def report(tables: Tables) -> str:
    """A table for each algorithm."""
    on, runs = ran_on(["surefoot", "torch", "numpy"]), tables["runs"]
    parts = [
        "# Arms in memory, in a file and on workers",
        f"Run {on['date']} on {on['cores']} cores, CPU. {on['versions']}.\n\n{ABOUT}",
    ]
    for algorithm, group in runs.groupby("algorithm", sort=False):
        first = group.iloc[0]
        rows = [
            {
                "": one.storage,
                "ms a round": f"{one.milliseconds:.0f}",
                "readings": f"{one.milliseconds / one.reading:.1f}",
                "memory": f"{one.memory:.2f}",
                "bytes": f"{one.bytes:,.0f}" if one.bytes else "",
                "same": "yes" if one.arms == first.arms else "no",
            }
            for one in group.itertuples()
        ]
        title = f"{algorithm}, {first.number:,} arms, {first.features} features"
        parts.append(f"## {title}\n\n{table_from(rows)}".rstrip())
    return "\n\n".join(parts) + "\n"


EXPERIMENTS = [
    benchmark(
        "stored-arms",
        "Arms in memory, in a file and in parts",
        published=Scale(1, 1_000_000),
        quick=Scale(1, 3_000),
        run=run,
        output=TableOutput(report),
        cases=[Case(f"{algorithm}: {storage}") for algorithm in ALGORITHMS for storage in STORAGES],
        timed=True,
    )
]
