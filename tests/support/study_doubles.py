"""An objective with scripted results, and a study whose sampler needs no model."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import optuna
from optuna.trial import FrozenTrial

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import VALUE, Failure, Measurement
from surefoot.tune.measuring.quantity import Quantity
from surefoot.tune.stopping import Stop
from surefoot.tune.study.opened_study import create_study
from surefoot.tune.study.trials import StudyTrials

STUDY = """
[study]
name = "hill"
direction = "minimize"
rounds = 8

[objective]
command = "{command}"
timeout = 30

[parameters]
size = {{ type = "int", low = 512, high = 65536, log = true }}
share = {{ type = "float", low = 0, high = 1 }}
mode = {{ type = "categorical", choices = ["OFF", "NORMAL", "FULL"] }}
"""
COMMAND = f"{sys.executable} bench.py {{size}} {{share}} {{mode}}"
BENCH = "import sys\nprint('measured', float(sys.argv[2]) * 2)\n"


def measurement(
    value: float,
    seconds: float,
    environment: Mapping[str, float] | None = None,
    sem: float = 0.0,
    unit: str | None = None,
    others: Mapping[str, Quantity | float] | None = None,
    **rest: Any,
) -> Measurement:
    """A measurement of numbers; with a `unit`, even an empty one, it came as text."""
    given = {VALUE: read(value, unit, sem), **(others or {})}
    readings = {n: one if isinstance(one, Quantity) else Quantity(one) for n, one in given.items()}
    return Measurement(readings, seconds, environment, **rest)


def read(value: float, unit: str | None = "", sem: float = 0.0) -> Quantity:
    """A number as it is read from a text, or where the unit is None not from one."""
    return Quantity(value, sem) if unit is None else Quantity(value, sem, unit, f"{value} {unit}")


@dataclass
class Scripted:
    """An objective that gives what it is told to, then 1.0 for ever; counts what it is asked."""

    results: list[Measurement | Failure] = field(default_factory=list)
    asked: list[dict[str, Any]] = field(default_factory=list)
    before: Callable[[], None] = lambda: None
    closed: bool = False

    def check(self) -> None:
        return None

    def measure(self, params: dict[str, Any], stop: Stop, *most: object) -> Measurement | Failure:
        self.before()
        self.asked.append(dict(params))
        return self.results.pop(0) if self.results else measurement(1.0, 0.1)

    def close(self) -> None:
        self.closed = True


def trials_of(path: Path, rounds: int = 8, run: str = "a run") -> StudyTrials:
    """The trials of a study whose sampler needs no model."""
    study_file = StudyFile.load(path)
    opened = create_study(study_file, optuna.samplers.RandomSampler(seed=0))
    return StudyTrials(opened, rounds, run, "w0")


def all_of(trials: StudyTrials) -> tuple[FrozenTrial, ...]:
    """All trials of a study at present."""
    return trials.opened.state().trials


def target_of(trials: StudyTrials) -> int:
    """Rounds that a study is to reach now."""
    return trials.target(trials.opened.state())
