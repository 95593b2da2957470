"""True hypervolume that searches for a Pareto front reach, with and without outliers."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import optuna
import torch
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from gpytorch.mlls import ExactMarginalLogLikelihood
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, RandomSampler, TPESampler

from surefoot.integrations.optuna import SurefootSampler, belief
from surefoot_experiments.benchmarks.ax_sampler import AxSampler
from surefoot_experiments.benchmarks.fronts import (
    DIMENSION,
    NOISE,
    SHARE,
    SPIKE,
    dtlz2,
    hypervolume,
    introduced,
    non_dominated,
    zdt1,
)
from surefoot_experiments.benchmarks.nehvi_sampler import LogNEHVISampler
from surefoot_experiments.harness.tables import (
    TableOutput,
    benchmark,
    table_from,
)
from surefoot_experiments.harness.trial import Case, Purpose, Rows, Scale, Tables, Trial
from surefoot_experiments.problems.noise import Gaussian, Generator, Noise, Spikes, uniform
from surefoot_experiments.problems.trade_offs import DATA, SYSTEMS, trade_off

PACKAGES = ["surefoot", "optuna", "botorch", "torch"]

INTRODUCTION = """# Search for Pareto fronts

True hypervolume of each sampler's trials, with {dimension} parameters: of all trials,
of the front that the sampler's user gets (`best_trials`; of `SurefootSampler`
`belief(study).front()`, of Ax `Client.get_pareto_frontier()`), and of the trials that are
non-dominated by the posterior mean of a Gaussian process (BoTorch's `SingleTaskGP`) that is fitted
to each objective afterwards. Each value
has Gaussian noise of {noise} standard deviations of the objective at uniform points; with spikes,
{share:.0%} of them are off by ±{spike:g} standard deviations. The objectives of nginx and TPC-C are
a forest fitted to recorded medians, and the memory that follows from six parameters; their noise is
Gaussian with the median deviation of the measurements, or that of the measurements themselves
("spikes"). Reference points: {references}. Means over the runs with standard errors; seconds of
processor time for the search, on a busy machine. A method and problem have as many runs as are
named, of the same seeds as the others' first ones.

Run {date} on {cores} cores, CPU, one thread, the machine shared with other work. {versions}.
"""


def zdt2(x: np.ndarray) -> np.ndarray:
    """Values (2,) of ZDT2, minimised (Zitzler, Deb and Thiele 2000)."""
    distance = 1.0 + 9.0 * x[1:].mean()
    return np.array([x[0], distance * (1.0 - (x[0] / distance) ** 2)])


def zdt3(x: np.ndarray) -> np.ndarray:
    """Values (2,) of ZDT3, minimised (Zitzler, Deb and Thiele 2000)."""
    distance = 1.0 + 9.0 * x[1:].mean()
    share = x[0] / distance
    wave = share * np.sin(10.0 * np.pi * x[0])
    return np.array([x[0], distance * (1.0 - np.sqrt(share) - wave)])


PROBLEMS = {
    "dtlz2": (dtlz2, (1.5, 1.5)),
    "zdt1": (zdt1, (1.1, 6.0)),
    "zdt2": (zdt2, (1.1, 6.0)),
    "zdt3": (zdt3, (1.1, 6.0)),
}
"""Functions, and reference points."""

NOISES: dict[str, Noise] = {"gaussian": Gaussian(NOISE), "spikes": Spikes(SHARE, SPIKE, NOISE)}
SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "surefoot": lambda seed: SurefootSampler(seed=seed),
    "optuna-gp": lambda seed: GPSampler(seed=seed),
    "tpe": lambda seed: TPESampler(seed=seed),
    "nsga2": lambda seed: NSGAIISampler(seed=seed),
    "random": lambda seed: RandomSampler(seed=seed),
    "qlognehvi": LogNEHVISampler,
    **({"ax": AxSampler} if find_spec("ax") else {}),
}


def problem(
    name: str, noise: str, rounds: int, generator: Generator
) -> tuple[
    Callable[[np.ndarray], np.ndarray],
    tuple[float, float],
    Callable[[np.ndarray, int], np.ndarray],
]:
    """The function, the reference point, and the measurement of values (2,) in a round."""
    if name in SYSTEMS:
        system = trade_off(name)
        errors = system.errors(uniform((rounds,), generator), heavy=noise == "spikes")
        return (
            system,
            system.system.reference,
            lambda values, number: values * np.array([1.0 + errors[number], 1.0]),
        )
    function, reference = PROBLEMS[name]
    points = np.random.default_rng(0).random((2000, DIMENSION))
    unit = np.array([function(x) for x in points]).std(0)
    added = unit * NOISES[noise].sample(2 * rounds, generator).numpy().reshape(-1, 2)
    return function, reference, lambda values, number: values + added[number]


def robust_front(study: optuna.Study) -> list[int]:
    """Numbers of the trials on the front of surefoot's belief."""
    return [number for point in belief(study).front() for number in point.trials]


def front_of_ax(study: optuna.Study) -> list[int]:
    """Numbers of the trials on the front that the client predicts."""
    sampler = study.sampler
    assert isinstance(sampler, AxSampler)
    return sampler.front()


def best_trials(study: optuna.Study) -> list[int]:
    """Numbers of the trials whose measurements no other's dominate."""
    return [one.number for one in study.best_trials]


FRONTS = {"surefoot": robust_front, "ax": front_of_ax}
"""What the user of a sampler gets, where it is not `best_trials`."""


def run(trial: Trial) -> Rows:
    """One search; all samplers see the same noise in the same trial."""
    name, noise, method = trial.case.split()
    function, reference, measured = problem(
        name, noise, trial.rounds, torch.Generator().manual_seed(trial.index)
    )
    truth: list[np.ndarray] = []

    def objective(one: optuna.Trial) -> tuple[float, ...]:
        x = np.array([one.suggest_float(f"x{i}", 0.0, 1.0) for i in range(DIMENSION)])
        truth.append(function(x))
        return tuple(measured(truth[-1], one.number))

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = SAMPLERS[method](trial.integer(Purpose.METHOD))
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    rows, seconds = [], 0.0
    for size in (trial.rounds // 2, trial.rounds):
        start = time.process_time()
        study.optimize(objective, n_trials=size - len(truth))
        seconds += time.process_time() - start
        values = np.array(truth)
        own = FRONTS.get(method, best_trials)(study)
        row: dict[str, Any] = {"problem": name, "noise": noise, "size": size, "method": method}
        row["all"] = hypervolume(values, reference)
        row["front"] = hypervolume(values[own], reference)
        row["gp front"] = hypervolume(values[_gp_front(study)], reference)
        rows.append({**row, "seconds": seconds})
    return {"runs": rows}


def _gp_front(study: optuna.Study) -> np.ndarray:
    """Numbers of the trials that the posterior means of Gaussian processes call non-dominated."""
    trials = study.trials
    x = torch.tensor([list(one.params.values()) for one in trials], dtype=torch.float64)
    y = torch.tensor([one.values for one in trials], dtype=torch.float64)
    means = []
    for column in y.T:
        model = SingleTaskGP(x, column[:, None])
        fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        with torch.no_grad():
            means.append(model.posterior(x).mean[:, 0])
    return np.flatnonzero(non_dominated(torch.stack(means, -1).numpy()))


def _shown(volume: float) -> str:
    """Two decimals, none of what is beyond a hundred; a dash for what was not computed."""
    if np.isnan(volume):
        return "–"
    return f"{volume:,.0f}" if volume > 100.0 else f"{volume:.2f}"


def report(tables: Tables) -> str:
    """The table of finished runs."""
    lines = []
    keys = ["problem", "noise", "size", "method"]
    for (name, noise, size, method), rows in tables["runs"].groupby(keys, sort=False):
        line = {"problem": f"{name}, {noise}", "trials": str(size), "method": method}
        line["runs"] = str(len(rows))
        for column in ("all", "front", "gp front"):
            error = rows[column].sem()
            more = "" if np.isnan(error) else f" ± {_shown(error)}"
            line[column] = f"{_shown(rows[column].mean())}{more}"
        seconds = rows["seconds"].mean()
        lines.append({**line, "seconds": "–" if np.isnan(seconds) else f"{seconds:.0f}"})
    systems = {name: (name, one.reference) for name, one in SYSTEMS.items()}
    return introduced(INTRODUCTION, PROBLEMS | systems, PACKAGES) + "\n" + table_from(lines)


EXPERIMENTS = [
    benchmark(
        "front-search",
        "Search for Pareto fronts",
        published=Scale(10, 80),
        quick=Scale(1, 4),
        run=run,
        output=TableOutput(report),
        cases=[
            Case(f"{name} {noise} {method}")
            for name in (*PROBLEMS, *(SYSTEMS if DATA in os.environ else ()))
            for noise in NOISES
            for method in SAMPLERS
        ],
    )
]
