"""Accuracy, coverage and time of BoTorch models under heavy-tailed noise, at held-out points."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, number, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.problems.functions import hartmann
from surefoot_experiments.problems.noise import kinds_of_noise

CLOUD = "SUREFOOT_CLOUD_DATA"  # environment variable: the folder of the measurements
NEAR = 0.1  # standard deviation of points about the optimum
HELD_OUT = 500
MANY = 200_000  # draws, of which the median of the noise is found
WELL_MEASURED = 9  # times, of configurations whose median is the truth
LEVELS = (0.025, 0.5, 0.975)
PACKAGES = ["surefoot", "botorch", "torch", "gpytorch"]
OTHERS_UP_TO = 400  # points, beyond which BoTorch's models take minutes
NOISES = ("gaussian", "student-t", "spikes", "pareto")
PURSUITS = 2  # runs of relevance pursuit, whose fits take up to a minute

INTRODUCTION = """# BoTorch models under heavy-tailed noise

Root mean square error of the posterior median at held-out points, in standard deviations of the
function; share of the 95 % intervals of the function that contain the truth; seconds to fit and
predict, of processor time. Means over the runs.

Hartmann-6: half of the n points are uniform and half normal about the optimum with standard
deviation {near}, as the {held_out} held-out points are. Noise of 0.3 standard deviations of the
function, with median 0: Gaussian, Student-t(2), Gaussian with 5 % spikes of ±30, Pareto(1.5).
nginx: single measurements of random configurations of {cloud} knobs, whose held-out truth is the
median of at least {well} measurements of others.

`SingleTaskGP` has BoTorch's defaults, or a Matérn-5/2 kernel with the same lengthscale prior;
relevance pursuit the same Matérn kernel, in {pursuits} runs at most. The robust conjugate process
is that of the scoreboard. A dash was not run, or not timed.

Run {date} on {cores} cores, CPU, one thread, the machine shared with other work. {versions}.
"""


class Prediction(NamedTuple):
    """Quantiles (n,) of the function at held-out points."""

    lower: Tensor
    median: Tensor
    upper: Tensor


class Data(NamedTuple):
    """Measurements on the unit cube, and held-out points with the truth there."""

    x: Tensor
    y: Tensor
    held_out: Tensor
    truth: Tensor
    scale: float


def of_botorch(model: Any, points: Tensor) -> Prediction:
    """Quantiles of the posterior of a BoTorch model."""
    with torch.no_grad():
        posterior = model.posterior(points)
        ends = [posterior.quantile(torch.tensor(level).to(points)) for level in LEVELS]
    return Prediction(*(end[..., 0] for end in ends))


def single_task(data: Data, *, matern: bool = False, pursuit: bool = False) -> Prediction:
    """`SingleTaskGP`, or relevance pursuit."""
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from botorch.models.robust_relevance_pursuit_model import RobustRelevancePursuitSingleTaskGP
    from botorch.models.utils.gpytorch_modules import get_covar_module_with_dim_scaled_prior
    from gpytorch.mlls import ExactMarginalLogLikelihood

    options: dict[str, Any] = {}
    if matern:
        dimension = data.x.shape[-1]
        options["covar_module"] = get_covar_module_with_dim_scaled_prior(
            ard_num_dims=dimension, use_rbf_kernel=False
        )
    family = RobustRelevancePursuitSingleTaskGP if pursuit else SingleTaskGP
    model = family(data.x, data.y.unsqueeze(-1), **options)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return of_botorch(model, data.held_out)


def conjugate(data: Data) -> Prediction:
    """The robust conjugate process of the scoreboard."""
    from surefoot_experiments.scoreboard.rivals.rcgp_ucb import RobustConjugateGP

    center = data.y.median()
    spread = 1.4826 * (data.y - center).abs().median()
    start = np.zeros(data.x.shape[-1] + 2)
    start[:-2], start[-1] = np.log(0.5), -4.0
    model = RobustConjugateGP(data.x, (data.y - center) / spread, start)
    with torch.no_grad():
        mean, deviation = (spread * part for part in model.predict(data.held_out))
    middle = center + mean
    return Prediction(middle - 1.96 * deviation, middle, middle + 1.96 * deviation)


def robust(data: Data) -> Prediction:
    """`RobustGP`."""
    from surefoot.integrations.botorch import RobustGP

    model = RobustGP(data.x, data.y.unsqueeze(-1))
    return of_botorch(model, data.held_out)


METHODS: dict[str, tuple[Callable[[Data], Prediction], int]] = {
    "SingleTaskGP": (single_task, OTHERS_UP_TO),
    "with a Matérn kernel": (lambda data: single_task(data, matern=True), OTHERS_UP_TO),
    "relevance pursuit": (lambda data: single_task(data, matern=True, pursuit=True), 100),
    "robust conjugate": (conjugate, OTHERS_UP_TO),
    "RobustGP": (robust, 10**9),
}


def run(trial: Trial) -> Rows:
    """All models on one data set."""
    problem, noise, size = trial.case.split()
    data = (
        nginx(int(size), trial.index)
        if problem == "nginx"
        else near_the_optimum(noise, int(size), trial.index)
    )
    rows = []
    for name, (predict, most) in METHODS.items():
        slow = name == "relevance pursuit"
        if len(data.x) > most or (slow and trial.number >= PURSUITS):
            continue
        torch.manual_seed(trial.index)
        start = time.process_time()
        lower, median, upper = predict(data)
        seconds = time.process_time() - start
        error = float((median - data.truth).square().mean().sqrt()) / data.scale
        covered = float(((lower <= data.truth) & (data.truth <= upper)).double().mean())
        row = {"task": f"{problem}, {noise}, {size}", "model": name}
        rows.append({**row, "error": error, "covered": covered, "seconds": seconds})
    return {"runs": rows}


def near_the_optimum(noise: str, size: int, seed: int) -> Data:
    """Hartmann-6, of which half of the points are near the optimum."""
    problem = hartmann()
    own = torch.Generator().manual_seed(seed)

    def near(number: int) -> Tensor:
        away = NEAR * torch.randn(number, 6, dtype=torch.float64, generator=own)
        return (OPTIMUM + away).clamp(0.0, 1.0)

    uniform = torch.rand(size - size // 2, 6, dtype=torch.float64, generator=own)
    x = torch.cat([uniform, near(size // 2)])
    kind = kinds_of_noise(0.3)[noise]
    drawn = kind.sample(size, np.random.default_rng(seed))
    location = float(kind.sample(MANY, np.random.default_rng(0)).median())
    held_out = near(HELD_OUT)
    return Data(x, problem.value(x) + drawn - location, held_out, problem.value(held_out), 1.0)


def nginx(size: int, seed: int) -> Data:
    """Latencies of nginx, one of each of some random configurations."""
    coordinates, latencies = _recorded()
    often = [config for config, values in latencies.items() if len(values) >= WELL_MEASURED]
    truth = np.array([np.median(latencies[config]) for config in often])
    others = sorted(set(latencies) - set(often))
    own = np.random.default_rng(seed)
    chosen = own.choice(others, size, replace=False)
    y = [own.choice(latencies[config]) for config in chosen]
    return Data(
        torch.as_tensor(coordinates[chosen], dtype=torch.float64),
        torch.as_tensor(np.array(y), dtype=torch.float64),
        torch.as_tensor(coordinates[often], dtype=torch.float64),
        torch.as_tensor(truth, dtype=torch.float64),
        float(np.std(truth)),
    )


@cache
def _recorded() -> tuple[np.ndarray, dict[int, np.ndarray]]:
    """Coordinates of all configurations, and the latencies of those that did not crash."""
    from surefoot_experiments.scoreboard.suites.cloud_knobs import infer

    table = pd.read_parquet(Path(os.environ[CLOUD]) / "nginx.parquet")
    knobs = table.drop(columns=["worker", "value"]).drop_duplicates("config").sort_values("config")
    space, points = infer(knobs.drop(columns="config").reset_index(drop=True))
    coordinates = np.array([space.features(point) for point in points])
    places = {config: place for place, config in enumerate(knobs["config"])}
    measured = table.dropna(subset=["value"]).groupby("config")["value"]
    return coordinates, {places[config]: values.to_numpy() for config, values in measured}


def report(tables: Tables) -> str:
    """The table of finished runs."""
    rows = tables["runs"]
    groups = rows.groupby(["task", "model"], sort=False)[["error", "covered", "seconds"]].mean()
    cells = groups.apply(
        lambda row: f"{number(row.error)} ({row.covered:.0%}), {number(row.seconds)} s", axis=1
    )
    table = cells.unstack("model").reindex(columns=list(METHODS)).fillna("–")
    runs = rows.groupby("task", sort=False)["trial"].nunique()
    table = table.loc[runs.index]
    table.insert(0, "runs", runs.map(str))
    introduction = INTRODUCTION.format(
        near=NEAR,
        held_out=HELD_OUT,
        cloud=30,
        well=WELL_MEASURED,
        pursuits=PURSUITS,
        **ran_on(PACKAGES),
    )
    return introduction + "\n" + markdown(table)


OPTIMUM = torch.tensor(
    [0.20169, 0.150011, 0.476874, 0.275332, 0.311652, 0.6573], dtype=torch.float64
)
"""Where Hartmann-6 is largest."""

EXPERIMENTS = [
    benchmark(
        "botorch-models",
        "BoTorch models under heavy-tailed noise",
        published=Scale(2, 1),
        quick=Scale(1, 1),
        run=run,
        output=TableOutput(report),
        cases=[
            Case(f"hartmann {noise} {size}", trials=1.0 if size <= 100 else 0.5)
            for size in (30, 100, 400, 2000)
            for noise in NOISES
        ]
        + [Case(f"nginx recorded {size}", trials=0.5) for size in (100, 400)],
    )
]
