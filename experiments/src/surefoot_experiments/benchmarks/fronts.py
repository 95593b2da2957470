"""True hypervolume of Pareto fronts under heavy-tailed noise: measured values and belief."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import optuna
from optuna.samplers import TPESampler

from surefoot.integrations.optuna import belief
from surefoot_experiments.harness.tables import (
    TableOutput,
    benchmark,
    number,
    ran_on,
    ratio,
    table_from,
)
from surefoot_experiments.harness.trial import Case, Purpose, Rows, Scale, Tables, Trial
from surefoot_experiments.problems.noise import Spikes

DIMENSION = 6
NOISE = 0.1  # standard deviations of each objective at uniform points
SPIKE = 10.0  # of the same
SHARE = 0.05
PACKAGES = ["surefoot", "optuna", "torch"]

INTRODUCTION = """# Pareto fronts under outliers

True hypervolume of two fronts of the same TPE trials: Optuna's `best_trials`, and
`belief(study).front()`. DTLZ2 and ZDT1 with two objectives and {dimension} parameters; each value
has Gaussian noise of {noise} standard deviations of the objective at uniform points, and with a
probability of {share:.0%} a spike of ±{spike:g} of them. Reference points: {references}. "All" is
the hypervolume of all trials, which no choice among them exceeds. Members are counted, and those
that are non-dominated by their true values. Means over the runs, with the standard error of the
ratio; seconds of processor time for the belief and the front.

Run {date} on {cores} cores, CPU, one thread, the machine shared with other work. {versions}.
"""


def dtlz2(x: np.ndarray) -> np.ndarray:
    """Values (2,) of DTLZ2, minimised (Deb et al. 2002)."""
    distance = 1.0 + ((x[1:] - 0.5) ** 2).sum()
    angle = 0.5 * np.pi * x[0]
    return np.array([distance * np.cos(angle), distance * np.sin(angle)])


def zdt1(x: np.ndarray) -> np.ndarray:
    """Values (2,) of ZDT1, minimised (Zitzler, Deb and Thiele 2000)."""
    distance = 1.0 + 9.0 * x[1:].mean()
    return np.array([x[0], distance * (1.0 - np.sqrt(x[0] / distance))])


PROBLEMS = {"dtlz2": (dtlz2, (1.5, 1.5)), "zdt1": (zdt1, (1.1, 6.0))}
"""Functions, and reference points."""


def hypervolume(values: np.ndarray, reference: tuple[float, float]) -> float:
    """Area that values (n, 2) dominate below a reference point, in steps along the first one."""
    area, below = 0.0, reference[1]
    for first, second in sorted(map(tuple, values)):
        if first < reference[0] and second < below:
            area += (reference[0] - first) * (below - second)
            below = second
    return area


def non_dominated(values: np.ndarray) -> np.ndarray:
    """Mask (n,) of the values (n, 2) that no other one dominates."""
    at_most = (values[:, None] <= values).all(-1)
    smaller = (values[:, None] < values).any(-1)
    return np.asarray(~(at_most & smaller).any(0))


def run(trial: Trial) -> Rows:
    """Both fronts of one study."""
    name, size = trial.case.split()
    function, reference = PROBLEMS[name]
    uniform = np.random.default_rng(0).random((2000, DIMENSION))
    unit = np.array([function(x) for x in uniform]).std(0)
    noise = Spikes(SHARE, SPIKE, NOISE).sample(2 * int(size), trial.generator(Purpose.NOISE))
    errors = unit * noise.numpy().reshape(-1, 2)
    truth: list[np.ndarray] = []

    def objective(one: optuna.Trial) -> tuple[float, ...]:
        x = np.array([one.suggest_float(f"x{i}", 0.0, 1.0) for i in range(DIMENSION)])
        truth.append(function(x))
        return tuple(truth[-1] + errors[one.number])

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    sampler = TPESampler(seed=trial.integer(Purpose.METHOD))
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(objective, n_trials=int(size))
    start = time.process_time()
    front = belief(study).front()
    seconds = time.process_time() - start
    values = np.array(truth)
    optimal = non_dominated(values)
    row: dict[str, Any] = {"problem": name, "size": int(size), "seconds": seconds}
    row["all"] = hypervolume(values, reference)
    chosen = {
        "best_trials": [one.number for one in study.best_trials],
        "front": [number for point in front for number in point.trials],
    }
    for method, numbers in chosen.items():
        row[method] = hypervolume(values[numbers], reference)
        row[f"{method} members"] = len(numbers)
        row[f"{method} optimal"] = int(optimal[numbers].sum())
    return {"runs": [row]}


def report(tables: Tables) -> str:
    """The table of finished runs."""
    lines = []
    for (name, size), rows in tables["runs"].groupby(["problem", "size"], sort=False):
        mean = rows.mean(numeric_only=True)
        gain, error = ratio(rows["front"], rows["best_trials"])
        line = {"problem": name, "trials": str(size), "runs": str(len(rows))}
        line["all"] = number(mean["all"])
        for method in ("best_trials", "front"):
            line[method] = number(mean[method])
            line[f"{method}: members (optimal)"] = (
                f"{mean[f'{method} members']:.1f} ({mean[f'{method} optimal']:.1f})"
            )
        line["ratio"] = f"{gain:.2f} ± {error:.2f}"
        lines.append({**line, "seconds": number(mean["seconds"])})
    return introduced(INTRODUCTION, PROBLEMS, PACKAGES) + "\n" + table_from(lines)


def introduced(
    template: str, problems: Mapping[str, tuple[Any, Any]], packages: Sequence[str]
) -> str:
    """An introduction with the settings and the machine of a benchmark of fronts.

    Args:
        template: Text with `{dimension}`, `{noise}`, `{share}`, `{spike}`, `{references}` and the
            fields of `ran_on`.
        problems: Problems and their reference points, by name.
        packages: Packages whose versions are named.
    """
    references = ", ".join(f"{name} {at}" for name, (_, at) in problems.items())
    return template.format(
        dimension=DIMENSION,
        noise=NOISE,
        share=SHARE,
        spike=SPIKE,
        references=references,
        **ran_on(packages),
    )


EXPERIMENTS = [
    benchmark(
        "fronts",
        "Pareto fronts under outliers",
        published=Scale(10, 1),
        quick=Scale(1, 1),
        run=run,
        output=TableOutput(report),
        cases=[Case(f"{name} {size}") for name in PROBLEMS for size in (40, 80)],
    )
]
