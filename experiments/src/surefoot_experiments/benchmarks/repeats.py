"""Tuning where some configurations are unstable, with and without repeats."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import torch

from surefoot.tune.schedule import Schedule
from surefoot.tune.study import create_study, fitted_model, recommendation
from surefoot.tune.study_file import StudyFile
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

CELLS = 100  # in each parameter: configurations of one cell are alike
WORKERS = 10
SLOW = 0.4  # logarithm of how much slower an unstable configuration is on some workers
NOISE = 0.02  # standard deviation between workers, of the logarithm
SPIKE = 3.0  # factor of an outlier
CASES = {"unstable": (0.3, 0.0), "spikes": (0.0, 0.05)}  # shares: unstable cells, outliers
SECTIONS = {"": "", "repeats": "[repeats]"}
PACKAGES = ["surefoot", "torch", "optuna", "numpy"]

INTRODUCTION = """# Repeats

A latency of three parameters is minimised with a study file, {rounds} measurements in all, of which
the last 15 % confirm; {trials} runs a row. Each measurement is made on a random one of ten
workers, which differ by {noise:.0%}.

- **unstable**: {share:.0%} of the configurations are {slow:.0%} slower on one to three of the ten
  workers; which ones cannot be told from their parameters.
- **spikes**: no configuration is unstable, but {spikes:.0%} of the measurements are outliers of
  {spike:g} times the value.

**unstable** is how often the recommended configuration is an unstable one, **loss** by how much it
is slower than the best one on a usual worker, median and mean, and **avoided** the mean number of
configurations that were taken for unstable, with how many of them are.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


class _System:
    """A bowl, on which cells of configurations are unstable."""

    def __init__(self, share: float, spikes: float) -> None:
        self._share, self._spikes = share, spikes

    def residuals(self, params: Mapping[str, float]) -> np.ndarray:
        """Logarithms of how much slower each worker is (10,)."""
        cell = [int(CELLS * value) for value in params.values()]
        generator = np.random.default_rng([7, *cell])
        found = NOISE * generator.standard_normal(WORKERS)
        if generator.random() < self._share:
            found += SLOW * (generator.permutation(WORKERS) < generator.integers(1, 4))
        return found

    def value(self, params: Mapping[str, float]) -> float:
        """The latency on a usual worker, 10 at best."""
        away = np.array([*params.values()]) - np.linspace(0.3, 0.7, len(params))
        return 10.0 * (1.0 + 4.0 * float(np.mean(away**2)))

    def measure(self, params: Mapping[str, float], generator: np.random.Generator) -> float:
        """A measurement on a random worker."""
        worker = int(generator.integers(WORKERS))
        spike = SPIKE if generator.random() < self._spikes else 1.0
        return self.value(params) * float(np.exp(self.residuals(params)[worker])) * spike

    def is_unstable(self, params: Mapping[str, float]) -> bool:
        """Whether a worker is more than 30 % slower than another."""
        return bool(np.expm1(np.ptp(self.residuals(params))) > 0.3)


def run(trial: Trial) -> Rows:
    """The same task without and with repeats."""
    return {"runs": list(_runs(trial))}


def _runs(trial: Trial) -> Iterator[dict[str, object]]:
    optuna.logging.set_verbosity(logging.WARNING)
    torch.set_num_threads(1)
    for name, section in SECTIONS.items():
        system = _System(*CASES[trial.case])
        with tempfile.TemporaryDirectory() as folder:
            study_file = _study_file(Path(folder), trial, section)
            study = create_study(study_file).study
            schedule = Schedule(study_file, study, trial.rounds)
            for number in range(trial.rounds):
                planned = schedule.planned(number)
                if planned is not None:
                    study.enqueue_trial(planned.params, user_attrs=planned.attributes)
                asked = study.ask(dict(study_file.space.distributions))
                generator = np.random.default_rng([trial.index, number])
                study.tell(asked, system.measure(asked.params, generator))
            model = fitted_model(study_file, study)
            best = recommendation(study_file, study, model).params
        yield {
            "case": trial.case,
            "study file": name,
            "rounds": trial.rounds,
            "unstable": system.is_unstable(best),
            "loss": system.value(best) / 10.0 - 1.0,
            "avoided": len(model.unstable),
            "rightly": sum(map(system.is_unstable, model.unstable)),
        }


def _study_file(folder: Path, trial: Trial, section: str) -> StudyFile:
    file = folder / "study.toml"
    parameters = [f'x{i} = {{ type = "float", low = 0.0, high = 1.0 }}' for i in range(3)]
    lines = ["[study]", 'name = "system"', 'direction = "minimize"', f"rounds = {trial.rounds}"]
    lines += [f"seed = {trial.index}", "[objective]", 'function = "builtins:max"', section]
    file.write_text("\n".join([*lines, "[parameters]", *parameters]))
    return StudyFile.load(file)


def report(tables: Tables) -> str:
    """How often an unstable configuration is recommended, and what repeats cost."""
    rows = tables["runs"]
    groups = rows.groupby(["case", "study file"], sort=False)
    percent = "{:.1%}".format
    avoided, rightly = groups["avoided"].mean(), groups["rightly"].mean()
    table = pd.DataFrame(
        {
            "unstable": groups["unstable"].mean().map("{:.0%}".format),
            "loss": groups["loss"].median().map(percent),
            "mean loss": groups["loss"].mean().map(percent),
            "avoided": avoided.map("{:.1f}".format) + " (" + rightly.map("{:.1f}".format) + ")",
        }
    ).reset_index("study file")
    share, spikes = CASES["unstable"][0], CASES["spikes"][1]
    introduction = INTRODUCTION.format(
        rounds=int(rows["rounds"].max()),
        trials=rows["trial"].nunique(),
        noise=NOISE,
        share=share,
        slow=np.expm1(SLOW),
        spikes=spikes,
        spike=SPIKE,
        **ran_on(PACKAGES),
    )
    return f"{introduction}\n{markdown(table)}"


EXPERIMENTS = [
    benchmark(
        "repeats",
        "Repeats",
        published=Scale(10, 60),
        quick=Scale(1, 8),
        run=run,
        output=TableOutput(report),
        cases=[Case(name) for name in CASES],
    )
]
