"""What `tell`, `ask` and `recommend` of the default cost, beside an earlier version of surefoot.

    python -m surefoot_experiments.benchmarks.search_cost path/of/earlier/src > search_cost.md

A process of each version, with one thread, is given the same problem in turns, so that a busy
machine slows both. Times are of the processor, the least of all turns. Every turn starts anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

import surefoot as sf
from surefoot_experiments.harness.tables import ran_on

NUMBERS, DIMENSIONS = (10, 30, 60, 150, 500, 1000), (2, 6, 10)
MANY, TURNS = 500, 3  # rewards from which on there is one turn
CALLS = ("tell", "ask", "recommend")


def measured(number: int, dimension: int) -> dict[str, Any]:
    """Seconds of each call after some rewards, one of them a spike, and the results."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(number, dimension, dtype=torch.float64, generator=generator)
    noise = 0.05 * torch.randn(number, dtype=torch.float64, generator=generator)
    rewards = noise - (points - 0.4).square().sum(-1)
    rewards[3] += 5.0
    optimizer = sf.algorithms.robust_ucb(sf.Box([0.0] * dimension, [1.0] * dimension), seed=0)
    times = [time.process_time()]
    optimizer.tell_all(points, rewards)
    times.append(time.process_time())
    asked = optimizer.ask().point
    times.append(time.process_time())
    optimizer.recommend()
    times.append(time.process_time())
    fitted = optimizer.belief().hyperparameters
    logs = [fitted.kernel.outputscale, *fitted.kernel.base_kernel.lengthscale.flatten()]
    logs = [float(np.log(float(value))) for value in [*logs, fitted.noise]]
    return {"seconds": np.diff(times).tolist(), "logs": logs, "asked": asked.tolist()}


def answer() -> None:
    """Measure what is asked for on the standard input, a line each."""
    measured(10, 2)
    for line in sys.stdin:
        print(json.dumps(measured(*json.loads(line))), flush=True)


def started(source: str) -> subprocess.Popen[str]:
    """A process that answers with the version of surefoot in a folder."""
    paths = [source, str(Path(__file__).parents[2])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "surefoot_experiments.benchmarks.search_cost"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=environment, stdin=pipe, stdout=pipe, text=True)


def asked_of(process: subprocess.Popen[str], number: int, dimension: int) -> dict[str, Any]:
    """One answer of a process."""
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps([number, dimension]), file=process.stdin, flush=True)
    found: dict[str, Any] = json.loads(process.stdout.readline())
    return found


def compare(earlier: str) -> None:
    """Print the table of an earlier version and this one."""
    processes = [started(earlier), started(str(Path(sf.__file__).parents[1]))]
    print("# Processor time of a search, before and after\n")
    print("Run {date} on {cores} cores, CPU, one thread.".format(**ran_on(("torch",))))
    print("Seconds before → after. Differences are the largest, of the logarithms of the fitted")
    print("hyperparameters and of the coordinates of the point that is asked, on the unit cube.\n")
    print("| n | d |", " | ".join(CALLS), "| fit differs by | ask differs by |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: | ---: |", flush=True)
    for number in NUMBERS:
        for dimension in DIMENSIONS:
            turns = [
                [asked_of(one, number, dimension) for one in processes]
                for _ in range(1 if number >= MANY else TURNS)
            ]
            seconds = np.min([[found["seconds"] for found in turn] for turn in turns], 0)
            cells = [f"{a:.3f} → {b:.3f} ({b / a:.2f})" for a, b in seconds.T]
            for name in ("logs", "asked"):
                before, after = (np.array(found[name]) for found in turns[0])
                cells.append(f"{np.abs(before - after).max():.0e}")
            print(f"| {number} | {dimension} |", " | ".join(cells), "|", flush=True)
    for process in processes:
        process.communicate()


if __name__ == "__main__":
    compare(*sys.argv[1:]) if len(sys.argv) > 1 else answer()
