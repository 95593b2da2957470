"""Regret of sketches against the exact Gaussian process, beside the cost of a round of each.

A trial runs all methods on one problem in turns, in one process of one thread, so that a busy
machine slows all of them; what is compared are ratios.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from sklearn.datasets import load_diabetes

import surefoot as sf
from surefoot.widths import Width
from surefoot_experiments.benchmarks.exact_gp import ExactGP
from surefoot_experiments.benchmarks.sketch_regret_table import draw, report
from surefoot_experiments.benchmarks.sketch_runs import (
    NOISE,
    RIDGE,
    Asking,
    Player,
    Track,
    budgeted,
    in_turns,
    theorem,
)
from surefoot_experiments.harness.tables import TableOutput, benchmark
from surefoot_experiments.harness.trial import Case, Rows, Scale, Trial
from surefoot_experiments.problems import KernelFunction, random_function

ARMS = 1_000
BLOCK = 50  # rounds of a method before the next one's turn
SCALES = (0.1, 0.03, 1.0)  # of the width of Theorem 2, that of the picture first
LENGTHSCALES = {1: 0.2, 2: 0.3, 5: 0.8}  # by dimension: a thousand rounds suffice to learn
SLOW_PROBLEMS = 3  # on which GPyTorch runs too, at the first scale


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
SKETCHES: dict[str, tuple[Any, float, Any]] = {  # algorithm, oversampling, inclusion
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


def run(trial: Trial) -> Rows:
    """All methods on one problem, in turns, after a first round on one random arm."""
    task, scale = trial.case.rsplit(maxsplit=1)[0], float(trial.case.rsplit(maxsplit=1)[1])
    problem = TASKS[task](trial.index)
    methods = ["gp-ucb", *SKETCHES, "rff"]
    if problem.space.dimension in NODES:
        methods.append("qff")
    if trial.number < SLOW_PROBLEMS and scale == SCALES[0]:
        methods.append("gpytorch")
    random = np.random.default_rng([trial.index, 1])
    noise = NOISE * random.standard_normal(trial.rounds)
    first = int(random.integers(len(problem.space)))
    width = theorem(problem.norm, scale)
    values = problem.values.numpy()
    tracks = {}
    for name in methods:
        tracks[name] = Track(player(name, problem, width, trial.index), values, noise)
        tracks[name].open_with(first)
    in_turns(list(tracks.values()), trial.rounds, BLOCK)
    uniform = float(values.max() - values.mean())
    exact = np.array(tracks["gp-ucb"].arms)
    common = {"task": task, "scale": scale, "rounds": trial.rounds}
    rows = [
        {
            **common,
            "method": name,
            "regret": track.regret(trial.rounds),
            "ratio": track.regret(trial.rounds) / uniform,
            "milliseconds": track.milliseconds(trial.rounds),
            "dimension": track.dimension(trial.rounds),
            "batches": track.player.batches,
            "same": float((np.array(track.arms) == exact).mean()),
        }
        for name, track in tracks.items()
    ]
    return {"runs": rows}


EXPERIMENTS = [
    benchmark(
        "sketch-regret",
        "Regret of sketches against the exact Gaussian process",
        published=Scale(20, 1_000),
        quick=Scale(1, 30),
        run=run,
        output=TableOutput(report, lambda tables: {"figure": draw(tables, SCALES[0])}),
        cases=[Case(f"{task} {scale:g}") for task in TASKS for scale in SCALES],
    )
]
