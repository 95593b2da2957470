"""Regret of sketches against the exact Gaussian process, beside what a round of each costs.

    python benchmarks/sketch_regret.py --jobs 2     # plays what is missing, then writes
    python benchmarks/sketch_regret.py --quick      # a minute, written to the terminal only
    python benchmarks/sketch_regret.py --table      # table and picture from the runs there are

A run plays all methods on one problem in turns, in one process of one thread, so that a busy
machine slows all of them; what is compared are ratios. Each finished run is a file of its own;
delete `results/raw/sketch_regret` to begin anew.
"""

import argparse
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import torch
from sklearn.datasets import load_diabetes

import surefoot as sf
from exact_gp import ExactGP
from missing_runs import play_missing
from result_files import write_json
from sketch_play import Asking, Inclusion, Player, Track, budgeted, in_turns
from sketch_problem import NOISE, RIDGE, theorem
from sketch_regret_table import draw, report
from surefoot.widths import Width
from surefoot_experiments.problems import KernelFunction, random_function

FOLDER = Path(__file__).parent
RAW = FOLDER / "results" / "raw" / "sketch_regret"
PICTURE = FOLDER.parent / "docs" / "images" / "sketch_regret.png"
ROUNDS, SEEDS, ARMS = 1_000, 20, 1_000
BLOCK = 50  # rounds of a method before the next one's turn
SCALES = (0.1, 0.03, 1.0)  # of the width of Theorem 2, that of the picture first
LENGTHSCALES = {1: 0.2, 2: 0.3, 5: 0.8}  # by dimension: a thousand rounds can learn something
SLOW_SEEDS = 3  # problems on which GPyTorch plays too, at the first scale


def rkhs(dimension: int) -> Callable[[int], KernelFunction]:
    """Random functions."""

    def make(seed: int) -> KernelFunction:
        kernel = sf.kernels.squared_exponential(LENGTHSCALES[dimension])
        random = np.random.default_rng([seed, dimension])
        return random_function(random, kernel, arms=ARMS, dimension=dimension)

    return make


def diabetes(seed: int) -> KernelFunction:
    """442 patients with ten standardised measurements, and how their disease went on.

    The function is no member of the kernel's space of any useful norm (rows that are alike differ),
    so the norm is that of its ridge fit.
    """
    data = load_diabetes(scaled=False)
    points = torch.from_numpy((data.data - data.data.mean(0)) / data.data.std(0))
    values = torch.from_numpy(data.target - data.target.mean())
    values = values / values.abs().max()
    kernel = sf.kernels.squared_exponential(5.0)
    with torch.no_grad():
        gram = kernel(points).to_dense()
    weights = torch.linalg.solve(gram + RIDGE * torch.eye(len(gram)), values)
    norm = float(weights @ gram @ weights) ** 0.5
    return KernelFunction(sf.Arms(points), kernel, values, norm)


TASKS: dict[str, Callable[[int], KernelFunction]] = {
    "d = 1": rkhs(1),
    "d = 2": rkhs(2),
    "d = 5": rkhs(5),
    "diabetes, d = 10": diabetes,
}
NODES = {1: 32, 2: 16}  # of quadrature, by dimension
WAVES = 256  # random Fourier features
SKETCHES: dict[str, tuple[Callable[..., sf.Optimizer], float, Inclusion]] = {
    f"{name}-{oversampling}-{inclusion.removeprefix('per-')}": (make, oversampling, inclusion)
    for name, make in (("bkb", sf.algorithms.bkb), ("bbkb", sf.algorithms.bbkb))
    for oversampling, inclusion in ((2, "per-pull"), (2, "per-arm"), (5, "per-pull"))
}


def player(name: str, problem: KernelFunction, width: Width, seed: int) -> Player:
    """The method of this name on a problem."""
    space, kernel = problem.space, problem.kernel
    if name == "gpytorch":
        return ExactGP(space.points, kernel, RIDGE, width)
    if name in SKETCHES:
        make, oversampling, inclusion = SKETCHES[name]
        return budgeted(make, problem, oversampling, inclusion, width, seed)
    features: dict[str, sf.Exact | sf.QuadratureFourier | sf.RandomFourier] = {
        "gp-ucb": sf.Exact(),
        "rff": sf.RandomFourier(WAVES, seed),
    }
    if name == "qff":
        features[name] = sf.QuadratureFourier(NODES[space.dimension])
    return Asking(
        sf.algorithms.gp_ucb(
            space, kernel, features=features[name], width=width, ridge=RIDGE, seed=seed
        )
    )


class Run(NamedTuple):
    """All methods on one problem at one scale of the width."""

    task: str
    scale: float
    seed: int
    rounds: int


def methods_of(run: Run, dimension: int) -> list[str]:
    """What is compared in a run."""
    names = ["gp-ucb", *SKETCHES, "rff"]
    if dimension in NODES:
        names.append("qff")
    if run.seed < SLOW_SEEDS and run.scale == SCALES[0]:
        names.append("gpytorch")
    return names


def path_of(run: Run) -> Path:
    """Where a finished run lies."""
    return RAW / str(run.rounds) / run.task / f"{run.scale}_{run.seed}.json"


def play(run: Run) -> None:
    """All methods in turns, the first round on one random arm; written whole or not at all."""
    torch.set_num_threads(1)
    problem = TASKS[run.task](run.seed)
    random = np.random.default_rng([run.seed, 1])
    noise = NOISE * random.standard_normal(run.rounds)
    first = int(random.integers(len(problem.space)))
    width = theorem(problem.norm, run.scale)
    values = problem.values.numpy()
    tracks = {}
    for name in methods_of(run, problem.space.dimension):
        tracks[name] = Track(player(name, problem, width, run.seed), values, noise)
        tracks[name].open_with(first)
    in_turns(list(tracks.values()), run.rounds, BLOCK)
    uniform = float(values.max() - values.mean())
    exact = np.array(tracks["gp-ucb"].arms)
    rows = [
        {
            **run._asdict(),
            "method": name,
            "regret": track.regret(run.rounds),
            "ratio": track.regret(run.rounds) / uniform,
            "milliseconds": track.milliseconds(run.rounds),
            "dimension": track.dimension(run.rounds),
            "batches": track.player.batches,
            "same": float((np.array(track.arms) == exact).mean()),
        }
        for name, track in tracks.items()
    ]
    write_json(path_of(run), rows)


def main() -> None:
    """Read the command line, play what is missing, write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--seeds", type=int, default=SEEDS, help="random problems of each task")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--jobs", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--quick", action="store_true", help="60 rounds of 2 problems, no file")
    parser.add_argument("--table", action="store_true", help="write from the runs there are")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seeds = 60, min(options.seeds, 2)
    runs = [
        Run(task, scale, seed, options.rounds)
        for seed in range(options.seeds)
        for task in options.tasks
        for scale in SCALES
    ]
    if not options.table:
        play_missing(runs, path_of, play, options.jobs)
    rows = [
        row for run in runs if path_of(run).exists() for row in json.loads(path_of(run).read_text())
    ]
    if not rows:
        parser.error("there is no finished run: run without --table first")
    text = report(rows)
    if not options.quick:
        (FOLDER / "sketch_regret.md").write_text(text)
        draw(rows, SCALES[0], PICTURE)
    print(text)


if __name__ == "__main__":
    main()
