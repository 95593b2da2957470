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

from surefoot.tune import open_study
from surefoot.tune import run as tune
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

CELLS = 100  # in each parameter: configurations of one cell are alike
WORKERS = 10
SLOW = 0.4  # logarithm of how much slower an unstable configuration is on some workers
NOISE = 0.02  # standard deviation between workers, of the logarithm
SPIKE = 3.0  # factor of an outlier
CASES = {"unstable": (0.3, 0.0), "spikes": (0.0, 0.05)}  # shares: unstable cells, outliers
SECTIONS = {"": "", "repeats": "[repeats]"}
MODULE = "system_with_unstable_configurations"
FUNCTION = """
import itertools
import numpy as np
from surefoot_experiments.benchmarks.repeats import CASES, System

system, numbers = System(*CASES["{case}"]), itertools.count()

def measure(**params):
    return system.measure(params, np.random.default_rng([{index}, next(numbers)]))
"""
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


class System:
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
    system = System(*CASES[trial.case])
    for name, section in SECTIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            path = _written(Path(folder), trial, section)
            summary = tune(path, quiet=True).summary
            study = open_study(path).study
            unstable = study.sampler.belief(study).unstable
        best = summary.recommended.params  # type: ignore[union-attr]
        yield {
            "case": trial.case,
            "study file": name,
            "rounds": trial.rounds,
            "unstable": system.is_unstable(best),
            "loss": system.value(best) / 10.0 - 1.0,
            "avoided": len(unstable),
            "rightly": sum(map(system.is_unstable, unstable)),
        }


def _written(folder: Path, trial: Trial, section: str) -> Path:
    """The study file, beside the module with its objective function."""
    parameters = [f'x{i} = {{ type = "float", low = 0.0, high = 1.0 }}' for i in range(3)]
    lines = ["[study]", 'name = "system"', 'direction = "minimize"', f"rounds = {trial.rounds}"]
    lines += [f"seed = {trial.index}", "[objective]", f'function = "{MODULE}:measure"', section]
    (folder / f"{MODULE}.py").write_text(FUNCTION.format(case=trial.case, index=trial.index))
    path = folder / "study.toml"
    path.write_text("\n".join([*lines, "[parameters]", *parameters]))
    return path


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
