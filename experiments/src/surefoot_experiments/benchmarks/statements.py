"""Whether what a study states of its recommendation is true, as often as it says."""

from __future__ import annotations

import logging
import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import torch
from optuna.storages import InMemoryStorage
from scipy import stats

from surefoot.tune import StudyFile
from surefoot.tune.study.confirm_stage import CONFIRM, confirm_runs
from surefoot.tune.study.findings import Findings
from surefoot.tune.study.opened_study import OpenedStudy, default_sampler
from surefoot.tune.study.schedule import enter_stage
from surefoot.tune.study.stored_file import locate
from surefoot_experiments.benchmarks.confirming import System, measured, searched
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.scoreboard.space import Float, Point, Space

LEVEL, NORM, LENGTHSCALE = 30.0, 20.0, 0.5
PACKAGES = ["surefoot", "torch", "optuna", "numpy"]
STUDY = """
study = {{ name = "system", direction = "minimize", rounds = {rounds}, seed = {seed} }}
confirm = {{ share = 0.4, candidates = 2, every = 0 }}

[objective]
function = "module:name"
effects = []
unit = "ms"

[parameters]
x = {{ type = "float", low = 0, high = 1, default = 0.9 }}
y = {{ type = "float", low = 0, high = 1, default = 0.9 }}

[assume]
deviation = 1.0
norm = 20
lengthscale = [0.5, 1.0]
center = 30
"""

INTRODUCTION = """# False statements

Studies of {rounds} measurements from a study file, of which the last {confirm} are a confirm stage
of two candidates and the defaults, {trials} for each kind of noise; the errors stated are 5 %. The
mean is 30 ms and a function of two parameters with a norm of 20 in the RKHS of a Matérn-5/2 kernel
of lengthscale 0.5; the file assumes that norm, with that lengthscale or with 1, and a deviation of
1 ms of noise of any tails. The noise has mean 0 and deviation 1:

- **heavy tails**: Student's t with 3 degrees of freedom;
- **skewed**: exponential;
- **spikes**: Gaussian, and in 5 % of the measurements 4 deviations more.

As in [coverage after the confirm stage](confirming.md), measurements before the stage are random,
and then changes of the best one. In the stage, the candidates are measured in turn, none being
dropped, since a model would be fitted for each run. What is compared with the truth is the printed
sentence: both ends of the median, and the least improvement on the defaults.

**stated** is the share of studies that state a median of the recommendation, **false** how many of
these sentences are false, and **ever** in how many studies one of any candidate was after any run
of the stage. **width** is the median distance of the ends, **better** the median least improvement
that is stated, beside the **true** one. **certificates**: how many are false, of all, and the
median of what they bound, beside the truth: the mean of the recommendation, and how much better the
best is.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def _spikes(random: np.random.Generator) -> float:
    """Of mean 0 and variance 1."""
    spike = 4.0 * ((random.random() < 0.05) - 0.05)
    return float((random.standard_normal() + spike) / (1.0 + 16.0 * 0.05 * 0.95) ** 0.5)


def _median_of_spikes() -> float:
    scale = (1.0 + 16.0 * 0.05 * 0.95) ** 0.5
    grid = np.linspace(-1.0, 1.0, 20_001)
    below = 0.95 * stats.norm.cdf(grid) + 0.05 * stats.norm.cdf(grid - 4.0)
    return float((np.interp(0.5, below, grid) - 0.2) / scale)


@dataclass(frozen=True)
class Noise:
    """Noise of mean 0 and variance 1."""

    draw: Callable[[np.random.Generator], float]
    median: float


NOISE = {
    "heavy tails": Noise(lambda random: float(random.standard_t(3)) / 3**0.5, 0.0),
    "skewed": Noise(lambda random: float(random.exponential()) - 1.0, float(np.log(2.0)) - 1.0),
    "spikes": Noise(_spikes, _median_of_spikes()),
}


def _kernel(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Matérn-5/2 of the lengthscale (n, m)."""
    far = np.linalg.norm(left[:, None] - right[None], axis=-1) * 5**0.5 / LENGTHSCALE
    return (1.0 + far + far**2 / 3.0) * np.exp(-far)


def _function(index: int) -> Callable[[np.ndarray], np.ndarray]:
    """A function of the norm, of points (n, 2)."""
    random = np.random.default_rng([index, 3])
    centers, weights = random.random((20, 2)), random.standard_normal(20)
    weights *= NORM / (weights @ _kernel(centers, centers) @ weights) ** 0.5
    return lambda points: LEVEL + _kernel(points, centers) @ weights


def _point(params: Point) -> np.ndarray:
    return np.array([[float(params["x"]), float(params["y"])]])


def run(trial: Trial) -> Rows:
    """One study, and whether its statements are true."""
    optuna.logging.set_verbosity(logging.WARNING)
    torch.set_num_threads(1)
    noise, function = NOISE[trial.case], _function(trial.index)
    random = np.random.default_rng([trial.index, 4])

    def mean(params: Point) -> float:
        return float(function(_point(params))[0])

    def measure(params: Point, random: np.random.Generator) -> tuple[float, str]:
        return mean(params) + noise.draw(random), ""

    space = Space((Float("x", 0.0, 1.0), Float("y", 0.0, 1.0)))
    system = System(space, lambda params: mean(params) + noise.median, measure)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.toml"
        path.write_text(STUDY.format(rounds=trial.rounds, seed=trial.index))
        study_file = StudyFile.load(path)
    storage, sampler = InMemoryStorage(), default_sampler(study_file)
    study = optuna.create_study(storage=storage, sampler=sampler)
    opened = OpenedStudy(locate(study_file), storage, study, sampler)
    runs = confirm_runs(study_file, trial.rounds)
    for point in searched(system, trial.rounds - runs, study, random):
        measured(system, point, study_file, study, random)
    candidates = enter_stage(opened.state(), trial.rounds).candidates
    turns = [random.permutation(len(candidates)) for _ in range(runs)]
    for index in np.concatenate(turns)[:runs]:
        measured(system, candidates[index], study_file, study, random, {CONFIRM: trial.rounds})
    state = opened.state()
    stage = enter_stage(state, trial.rounds)
    of_defaults = system.truth(study_file.defaults or {})
    is_false = partial(_is_false, of_defaults=of_defaults)
    ever = any(
        is_false(replace(stage, trials=stage.trials[:number]).statement(one), system.truth(one))
        for number in range(1, runs + 1)
        for one in candidates
    )
    best, (*found, proved) = state.recommendation.params, Findings(state, []).statements
    text = found[0] if found else ""
    numbers = _numbers(text)
    bound, within = map(float, re.findall(r"(?:most|within) (-?[\d.]+) ms", proved))
    axis = np.linspace(0.0, 1.0, 101)
    every = function(np.stack(np.meshgrid(axis, axis), -1).reshape(-1, 2))
    gap = mean(best) - float(every.min())
    row = {
        "noise": trial.case,
        "rounds": trial.rounds,
        "confirm": runs,
        "stated": bool(text),
        "false": is_false(text, system.truth(best)),
        "ever": ever,
        "width": numbers[1] - numbers[0] if numbers else np.nan,
        "better": numbers[2] if len(numbers) > 2 else 0.0,
        "true": 100.0 * (1.0 - system.truth(best) / of_defaults),
        "certificate false": mean(best) > bound + 0.005 or gap > within + 0.05,
        "bound": bound,
        "mean": mean(best),
        "within": within,
        "gap": gap,
    }
    return {"runs": [row]}


def _numbers(text: str) -> list[float]:
    """Both ends of the median, and the least improvement in per cent where there is one."""
    found = re.search(r"between ([\d.]+) and ([\d.]+) ms(?:, at least ([\d.]+) %)?", text)
    return [] if found is None else [float(one) for one in found.groups() if one is not None]


def _is_false(text: str, truth: float, of_defaults: float) -> bool:
    """Whether a sentence is, but for the digits of its ends."""
    numbers, rounding = _numbers(text), 5e-4
    if not numbers:
        return False
    better = numbers[2] if len(numbers) > 2 else -np.inf
    inside = numbers[0] - rounding <= truth <= numbers[1] + rounding
    return not inside or 100.0 * (1.0 - truth / of_defaults) < better


def report(tables: Tables) -> str:
    """False statements by kind of noise."""
    rows = tables["runs"]
    groups = rows.groupby("noise", sort=False)
    median = groups.median(numeric_only=True)
    table = pd.DataFrame(
        {
            "stated": groups["stated"].mean().map("{:.0%}".format),
            "false": _counts(groups, "false", groups["stated"].sum()),
            "ever": _counts(groups, "ever", groups.size()),
            "width": median["width"].map("{:.2f} ms".format),
            "better": median["better"].map("{:.1f} %".format),
            "true": median["true"].map("{:.1f} %".format),
            "certificates": _counts(groups, "certificate false", groups.size()),
            "mean": median["bound"].map("{:.1f}".format) + median["mean"].map(" ({:.1f})".format),
            "within": median["within"].map("{:.1f}".format) + median["gap"].map(" ({:.1f})".format),
        }
    )
    table.index.name = "noise"
    introduction = INTRODUCTION.format(
        rounds=int(rows["rounds"].max()),
        confirm=int(rows["confirm"].max()),
        trials=int(groups.size().max()),
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(table)}"


def _counts(groups: pd.core.groupby.DataFrameGroupBy, name: str, of: pd.Series) -> pd.Series:
    return groups[name].sum().map("{:.0f}".format) + of.map(" of {:.0f}".format)


EXPERIMENTS = [
    benchmark(
        "statements",
        "False statements of studies",
        published=Scale(200, 80),
        quick=Scale(1, 80),
        run=run,
        output=TableOutput(report),
        cases=[Case(noise) for noise in NOISE],
    )
]
