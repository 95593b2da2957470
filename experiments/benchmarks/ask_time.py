"""Time and memory of one ask with a long history (d = 5), beside Optuna's GPSampler.

    python benchmarks/ask_time.py                    # writes benchmarks/ask_time.md
    python benchmarks/ask_time.py --sizes 20,40 --output -

Every cell is a fresh process of one thread: peak memory is a process's, and nothing is warm that
a user's process would not have warm. A history of uniform points is told, then a few rounds of
ask and tell are timed.
"""

import argparse
import datetime
import json
import os
import resource
import statistics
import subprocess
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from methods import METHODS, Method, Optuna
from surefoot_experiments.problems import Problem, ackley

SIZES = (60, 300, 1000, 2000)
COMPARED = ("surefoot", "optuna-gp")
DIMENSION = 5
WARM_UP = 30
ROUNDS = 3


def history(problem: Problem, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Uniform points (count, d) of the box and one measurement of each, (count,)."""
    generator = np.random.default_rng(0)
    cube = torch.from_numpy(generator.random((count, problem.dimension)))
    points = problem.lower + (problem.upper - problem.lower) * cube
    return points, problem.measure(points, generator)


def load(optimiser: Method, points: torch.Tensor, values: torch.Tensor) -> None:
    """Tell an optimiser measurements of points that it did not ask for."""
    if isinstance(optimiser, Optuna):
        optimiser.add(points, values)
        return
    for point, y in zip(points, values, strict=True):
        optimiser.tell(point, float(y))


def time_one(method: str, size: int) -> dict[str, float]:
    """Seconds of ask and tell after `size` measurements, and the growth of memory in MiB.

    Growth counts from a first ask with few measurements, so imports are not part of it.
    """
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    problem = ackley(dimension=DIMENSION)
    small = METHODS[method](problem, 0)
    load(small, *history(problem, WARM_UP))
    small.ask()
    before = peak_memory()

    optimiser = METHODS[method](problem, 0)
    started = time.perf_counter()
    load(optimiser, *history(problem, size))
    loading = time.perf_counter() - started
    generator = np.random.default_rng(1)
    asks, tells = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        point = optimiser.ask()
        asks.append(time.perf_counter() - started)
        y = float(problem.measure(point.unsqueeze(0), generator))
        started = time.perf_counter()
        optimiser.tell(point, y)
        tells.append(time.perf_counter() - started)
    return {
        "first": asks[0],
        "ask": statistics.median(asks[1:]),
        "tell": statistics.median(tells),
        "loading": loading,
        "memory": peak_memory() - before,
    }


def peak_memory() -> float:
    """The largest resident size of this process so far, in MiB."""
    unit = 2**20 if sys.platform == "darwin" else 2**10  # macOS counts bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def in_fresh_process(method: str, size: int) -> dict[str, float]:
    """The result of `time_one` from a process that has done nothing else."""
    command = [sys.executable, __file__, "--one", method, str(size)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{method} at {size} measurements failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def table(results: dict[tuple[str, int], dict[str, float]]) -> str:
    """The report as Markdown."""
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "gpytorch", "optuna"))
    lines = [
        "# Time and memory of one ask",
        "",
        f"Ackley in {DIMENSION} dimensions with Gaussian noise. `n` measurements of uniform points",
        f"are told, then {ROUNDS} rounds are asked and told. First ask: nothing is cached. Ask:",
        "the median of those after it. Memory: growth of the peak resident size over a process",
        f"that has asked once with {WARM_UP} measurements.",
        "",
        f"Run {datetime.date.today().isoformat()} on {os.cpu_count()} cores, CPU, one thread. "
        f"{versions}.",
        "",
        "| method | n | first ask, s | ask, s | tell, s | telling the n, s | memory, MiB |",
        "| --- | ---: | ---: | ---: | ---: | ---: | ---: |",
    ]
    for (method, size), r in results.items():
        lines.append(
            f"| {method} | {size} | {r['first']:.2f} | {r['ask']:.2f} | {r['tell']:.4f} "
            f"| {r['loading']:.2f} | {r['memory']:.0f} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Read the command line, time every cell in its own process, write the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--methods", default=",".join(COMPARED), help=f"of {', '.join(METHODS)}")
    parser.add_argument(
        "--sizes", default=",".join(map(str, SIZES)), help="numbers of measurements"
    )
    parser.add_argument("--output", default=str(Path(__file__).with_suffix(".md")), help="- = none")
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(time_one(options.one[0], int(options.one[1]))))
        return
    results = {}
    for size in map(int, options.sizes.split(",")):
        for method in options.methods.split(","):
            results[method, size] = in_fresh_process(method, size)
            print(method, size, results[method, size], flush=True)
    text = table(results)
    if options.output != "-":
        Path(options.output).write_text(text)
    print(text)


if __name__ == "__main__":
    main()
