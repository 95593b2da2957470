"""Compare surefoot's robust default with its peers on twelve tasks from light to heavy tails.

    python benchmarks/robust_vs_peers.py --seeds 10 --methods surefoot,random,tpe
    python benchmarks/robust_vs_peers.py --table

Each finished run is a file of its own, so a killed comparison goes on where it stopped. Every
method sees the same noise: the error of round t depends on the task, the seed and t alone.
"""

import argparse
import os
import time
import warnings
import zlib
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch

from methods import METHODS
from result_files import write_csv
from robust_table import write_table
from surefoot_experiments.problems import Problem, robust_tasks

FOLDER = Path(__file__).parent
RAW = FOLDER / "results" / "raw" / "robust_vs_peers"
FIELDS = ["task", "method", "seed", "round", "regret", "recommended", "seconds", "failures"]
ROUNDS = 60
RECOMMEND_AT = (20, 40, 60)
SLOW = {"botorch-robust"}  # minutes a run

Run = tuple[int, str, str]  # seed, task, method


def path_of(run: Run) -> Path:
    """Where the rounds of a finished run lie."""
    seed, task, method = run
    return RAW / method / f"{task.replace('/', '_')}_{seed}.csv"


def play(run: Run) -> None:
    """One run of one method: `ROUNDS` measurements, written at the end, whole or not at all."""
    seed, task, method = run
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    problem = next(p for p in robust_tasks() if p.name == task)
    optimiser = METHODS[method](problem, seed)
    rows = []
    for turn in range(1, ROUNDS + 1):
        started = time.perf_counter()
        point = optimiser.ask()
        seconds = time.perf_counter() - started
        optimiser.tell(point, measure(problem, point, seed, turn))
        recommended = (
            float(problem.regret(optimiser.recommend().unsqueeze(0)))
            if turn in RECOMMEND_AT
            else None
        )
        regret = float(problem.regret(point.unsqueeze(0)))
        rows.append([task, method, seed, turn, regret, recommended, seconds, optimiser.failures])
    write_csv(path_of(run), FIELDS, rows)


def measure(problem: Problem, point: torch.Tensor, seed: int, turn: int) -> float:
    """A measurement whose error is the same for every method in the same round."""
    generator = np.random.default_rng([seed, turn, zlib.crc32(problem.name.encode())])
    return float(problem.measure(point.unsqueeze(0), generator))


def missing(methods: list[str], tasks: list[str], seeds: range, slow: int) -> Iterator[Run]:
    """The runs still to do, seed after seed, so that an interrupted comparison is balanced.

    Methods in `SLOW` play the seeds below `slow` only.
    """
    for seed in seeds:
        for task in tasks:
            for method in methods:
                run = seed, task, method
                wanted = seed < slow or method not in SLOW
                if wanted and not path_of(run).exists():
                    yield run


def play_all(runs: list[Run], jobs: int) -> int:
    """Play the runs in `jobs` processes of one thread each, say how each went, count failures."""
    failed = 0
    print(f"{len(runs)} runs to do", flush=True)
    started = time.perf_counter()
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        pending = {pool.submit(play, run): run for run in runs}
        for done, future in enumerate(as_completed(pending), start=1):
            error = future.exception()
            failed += error is not None
            outcome = f"FAILED {error!r}" if error else "done"
            clock = f"{time.perf_counter() - started:7.0f} s"
            print(f"{clock} {done}/{len(runs)} {pending[future]} {outcome}", flush=True)
    return failed


def main() -> None:
    """Read the command line, play what is missing, or write the table."""
    tasks = [problem.name for problem in robust_tasks()]
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--methods", default=",".join(METHODS), help=f"of {', '.join(METHODS)}")
    parser.add_argument("--tasks", default=",".join(tasks), help="a comma-separated list")
    parser.add_argument("--seeds", type=int, default=10, help="seeds 0 to SEEDS - 1")
    parser.add_argument("--slow-seeds", type=int, default=2, help="as many for botorch-robust")
    parser.add_argument("--first-seed", type=int, default=0, help="start at another seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--table", action="store_true", help="write robust_vs_peers.md, run none")
    options = parser.parse_args()
    if options.table:
        print(write_table(RAW, FOLDER / "robust_vs_peers.md"))
        return
    methods, chosen = options.methods.split(","), options.tasks.split(",")
    for name, known in [(m, list(METHODS)) for m in methods] + [(t, tasks) for t in chosen]:
        if name not in known:
            parser.error(f"{name!r} is not one of {', '.join(known)}")
    seeds = range(options.first_seed, options.seeds)
    runs = list(missing(methods, chosen, seeds, options.slow_seeds))
    if failed := play_all(runs, options.jobs):
        raise SystemExit(f"{failed} of {len(runs)} runs failed: run again to play only those.")


if __name__ == "__main__":
    main()
