"""Whether the interval after the confirm stage contains what re-measurements find."""

from __future__ import annotations

import json
import logging
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import torch
from optuna.storages import InMemoryStorage
from optuna.trial import TrialState, create_trial

from surefoot.integrations.optuna import WORKER
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.confirm_stage import confirm_runs
from surefoot.tune.study.opened_study import OpenedStudy, default_sampler
from surefoot.tune.study.schedule import Schedule
from surefoot.tune.study.stored_file import locate
from surefoot_experiments.benchmarks.recommendation_coverage import drawn_function
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.scoreboard.space import Categorical, Float, Parameter, Point, Space
from surefoot_experiments.scoreboard.suites import cloud

LEVEL, SPREAD = 50.0, 0.3  # of the synthetic functions, the latter of their logarithm
SCALE = 0.05  # of the noise, of the logarithm
WORKERS = 10
AGAIN = 30  # re-measurements of the recommendation
PACKAGES = ["surefoot", "torch", "optuna", "numpy"]

INTRODUCTION = """# Coverage after the confirm stage

Studies of {rounds} measurements, of which the last {confirm} are a confirm stage, at most {trials}
for each kind of noise. After it, the recommendation is measured {again} times.

- Synthetic latencies of two parameters: 50 times the exponential of a function drawn from a
  Gaussian process with a standard deviation of 0.3; noise of the logarithm: **Gaussian** of 0.05;
  **outliers**: the same, and 5 % of the measurements are three times as large; **skewed**:
  exponential with a mean of 0.05, less its median; **workers**: Gaussian of 0.02, and one of ten
  workers for each run, whose speeds differ with a standard deviation of 0.05, unknown or **told**.
- **nginx**: the recorded system of the scoreboard, 30 parameters, on one of ten virtual machines.

So that many studies can be run, a model chooses the recommendation and the confirm stage only. The
measurements before are random for one half, and then random changes of the configuration with the
smallest measurement so far, which is a stronger selection by luck than that of a model.

**covered** is how often the 95 % interval contains the true median of the recommended configuration
(over workers, if there are any), ± standard error, **before** the confirm stage (of what was
recommended then) and after it; **re-measured** how often it contains the median of the {again}
re-measurements, which has an error of its own. **length** is the median length of the interval
after the stage, as a share of the value, and **too low** the share of studies in which the truth
was above the interval: the recommendation was expected to be better than it is.

Trials of one number have the same function under every kind of noise. Kinds without a row were not
run.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


@dataclass(frozen=True)
class System:
    """What is measured.

    Args:
        space: Its parameters.
        truth: The median of a configuration.
        measure: A measurement, NaN for a failure, and the name of its worker, empty if not told.
    """

    space: Space
    truth: Callable[[Point], float]
    measure: Callable[[Point, np.random.Generator], tuple[float, str]]


def _synthetic(noise: str, index: int) -> System:
    generator = np.random.default_rng([index, 3])
    function = drawn_function(2, generator)
    speeds = 0.05 * generator.standard_normal(WORKERS)
    speeds -= speeds.mean()

    def level(point: Point) -> float:
        unit = torch.tensor([[float(point["x0"]), float(point["x1"])]], dtype=torch.float64)
        return float(SPREAD * function(unit))

    def error(random: np.random.Generator) -> tuple[float, str]:
        gaussian = SCALE * random.standard_normal()
        outlier = np.log(3.0) * (random.random() < 0.05)
        skewed = SCALE * (random.exponential() - np.log(2.0))
        worker = int(random.integers(WORKERS))
        on_worker = speeds[worker] + 0.4 * gaussian
        name = f"w{worker}" if noise == "workers, told" else ""
        errors = {"Gaussian": gaussian, "outliers": gaussian + outlier, "skewed": skewed}
        return errors.get(noise, on_worker), name

    def measure(point: Point, random: np.random.Generator) -> tuple[float, str]:
        one, worker = error(random)
        return LEVEL * float(np.exp(level(point) + one)), worker

    space = Space((Float("x0", 0.0, 1.0), Float("x1", 0.0, 1.0)))
    return System(space, lambda point: LEVEL * float(np.exp(level(point))), measure)


def _nginx(index: int) -> System:
    system = next(one for one in cloud.SYSTEMS if one.name == "nginx")
    simulation = cloud.Simulation(system)
    parameters = cloud.space_of("nginx").parameters
    named = {one.name.replace(".", "__"): one.name for one in parameters}

    def recorded(point: Point) -> Point:
        return {named[name]: value for name, value in point.items()}

    def truth(point: Point) -> float:
        value, _, residuals = simulation.behaviour(recorded(point))
        return float(np.exp(value + np.median(residuals)))

    def measure(point: Point, random: np.random.Generator) -> tuple[float, str]:
        return simulation.measure(recorded(point), random), ""

    renamed = [replace(one, name=name) for name, one in zip(named, parameters, strict=True)]  # type: ignore[type-var]
    return System(Space(tuple(renamed)), truth, measure)


SYSTEMS: dict[str, Callable[[int], System]] = {
    **{
        noise: partial(_synthetic, noise)
        for noise in ("Gaussian", "outliers", "skewed", "workers", "workers, told")
    },
    "nginx": _nginx,
}


def run(trial: Trial) -> Rows:
    """One study, and the re-measurements of what it recommends."""
    if trial.case == "nginx" and cloud.folder() is None:
        return {"runs": []}
    optuna.logging.set_verbosity(logging.WARNING)
    torch.set_num_threads(1)
    system = SYSTEMS[trial.case](trial.index)
    random = np.random.default_rng([trial.index, 4])
    with tempfile.TemporaryDirectory() as folder:
        study_file = _study_file(Path(folder), system.space, trial)
    storage, sampler = InMemoryStorage(), default_sampler(study_file)
    study = optuna.create_study(storage=storage, sampler=sampler)
    opened = OpenedStudy(locate(study_file), storage, study, sampler)
    confirming = confirm_runs(study_file, trial.rounds)
    for point in searched(system, trial.rounds - confirming, study, random):
        measured(system, point, study_file, study, random)
    before = opened.state().recommendation
    for begun in range(trial.rounds - confirming, trial.rounds):
        planned = Schedule(opened.state(), trial.rounds).planned(begun)
        assert planned is not None
        measured(system, planned.params, study_file, study, random, planned.attributes)
    best = opened.state().recommendation
    truth = system.truth(best.params)
    again = [system.measure(best.params, random)[0] for _ in range(AGAIN)]
    row = {
        "noise": trial.case,
        "rounds": trial.rounds,
        "confirm": confirming,
        "covered before": before.lower <= system.truth(before.params) <= before.upper,
        "covered": best.lower <= truth <= best.upper,
        "re-measured": best.lower <= float(np.nanmedian(again)) <= best.upper,
        "length": (best.upper - best.lower) / truth,
        "too low": best.upper < truth,
    }
    return {"runs": [row]}


def searched(system: System, number: int, study: optuna.Study, random: np.random.Generator) -> Any:
    """Configurations that imitate a search, as the study has measurements of the earlier ones."""
    for index in range(number):
        coordinates = random.random(system.space.width)
        done = [trial for trial in study.trials if trial.state == TrialState.COMPLETE]
        if 2 * index >= number and done:
            best = min(done, key=lambda trial: float(trial.value or 0.0))
            at = np.array(system.space.encode(best.params))
            moved = random.random(len(at)) < max(0.3, 1.0 / len(at))
            step = 0.1 * random.standard_normal(len(at))
            coordinates = np.clip(at + np.where(moved, step, 0.0), 0.0, 1.0)
        yield system.space.decode(coordinates)


def measured(
    system: System,
    point: Mapping[str, Any],
    study_file: StudyFile,
    study: optuna.Study,
    random: np.random.Generator,
    attributes: Mapping[str, Any] | None = None,
) -> None:
    value, worker = system.measure(dict(point), random)
    failed = not np.isfinite(value)
    study.add_trial(
        create_trial(
            params=dict(point),
            distributions=study_file.distributions,
            user_attrs={**(attributes or {}), **({WORKER: worker} if worker else {})},
            **({"state": TrialState.FAIL} if failed else {"value": value}),
        )
    )


def _study_file(folder: Path, space: Space, trial: Trial) -> StudyFile:
    lines = ["[study]", 'name = "system"', 'direction = "minimize"', f"rounds = {trial.rounds}"]
    lines += [f"seed = {trial.index}", "[objective]", 'function = "module:name"']
    lines += ['effects = ["worker"]', "[confirm]", "every = 0", "[parameters]"]
    lines += [f"{json.dumps(one.name)} = {_described(one)}" for one in space.parameters]
    path = folder / "study.toml"
    path.write_text("\n".join(lines))
    return StudyFile.load(path)


def _described(parameter: Parameter) -> str:
    if isinstance(parameter, Categorical):
        return f'{{ type = "categorical", choices = {json.dumps(list(parameter.choices))} }}'
    kind = {"float": "float", "integer": "int"}[parameter.kind]
    log = ", log = true" if parameter.log else ""  # type: ignore[attr-defined]
    low, high = parameter.low, parameter.high  # type: ignore[attr-defined]
    return f'{{ type = "{kind}", low = {low!r}, high = {high!r}{log} }}'


def report(tables: Tables) -> str:
    """Coverage by kind of noise."""
    rows = tables["runs"]
    groups = rows.groupby("noise", sort=False)
    table = pd.DataFrame(
        {
            "before": groups["covered before"].apply(_share),
            "covered": groups["covered"].apply(_share),
            "re-measured": groups["re-measured"].apply(_share),
            "length": groups["length"].median().map("{:.1%}".format),
            "too low": groups["too low"].mean().map("{:.0%}".format),
            "studies": groups.size().map(str),
        }
    )
    table.index.name = "noise"
    introduction = INTRODUCTION.format(
        rounds=int(rows["rounds"].max()),
        confirm=int(rows["confirm"].max()),
        trials=int(groups.size().max()),
        again=AGAIN,
        **ran_on(PACKAGES),
    )
    missing = "" if "nginx" in groups.groups else f"\nnginx was not run: {cloud.DATA} is not set.\n"
    return f"{introduction}\n{markdown(table)}{missing}"


def _share(held: pd.Series) -> str:
    share = float(held.mean())
    return f"{100 * share:.0f} ± {100 * (share * (1 - share) / len(held)) ** 0.5:.0f} %"


EXPERIMENTS = [
    benchmark(
        "confirming",
        "Coverage after the confirm stage",
        published=Scale(60, 30),
        quick=Scale(1, 20),
        run=run,
        output=TableOutput(report),
        cases=[Case(noise) for noise in SYSTEMS],
    )
]
