"""From the published ATA-GP-UCB to surefoot's, one change at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from surefoot_experiments.harness.claims import by_task, decided, final
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import curves
from surefoot_experiments.harness.page import FigureOutput
from surefoot_experiments.harness.trial import NUMBERS, Check, Rows, Scale, Tables, Trial
from surefoot_experiments.papers.ablation import OWN
from surefoot_experiments.papers.arm_runs import run_arms
from surefoot_experiments.papers.arm_settings import (
    ATA,
    OWN_NYSTROM,
    OWN_QFF,
    PUBLISHED_NYSTROM,
    PUBLISHED_QFF,
)
from surefoot_experiments.papers.arm_worlds import SENSORS, STOCKS, STUDENT_T
from surefoot_experiments.papers.heavy_tails import run_recorded
from surefoot_experiments.problems import sensors, stocks
from surefoot_experiments.recorded_data import Data

PUBLISHED, ALL = "as published", "all changes"
NAMES = {
    "folded": "folded nodes",
    "dictionary": "numerical rank",
    "oversampling": "q = 4",
    "inclusion": "drawn per pull",
    "resample": "drawn when due",
    "threshold": "threshold with δ",
    "root": "Cholesky root",
}


def steps(published: ATA, own: ATA) -> dict[str, ATA]:
    """The published settings, each with one change of surefoot's, and with all of them."""
    changed = [
        one.name for one in fields(own) if getattr(own, one.name) != getattr(published, one.name)
    ]
    return {
        PUBLISHED: published,
        **{NAMES[one]: replace(published, **{one: getattr(own, one)}) for one in changed},
        ALL: own,
    }


NYSTROM, QUADRATURE = steps(PUBLISHED_NYSTROM, OWN_NYSTROM), steps(PUBLISHED_QFF, OWN_QFF)
TASKS: Mapping[str, Mapping[str, ATA]] = {
    "figure 1a, Nyström": NYSTROM,
    "figure 1a, quadrature": QUADRATURE,
    "figure 1d, Nyström": NYSTROM,
    "figure 1e, Nyström": NYSTROM,
}
_RECORDED = {"figure 1d, Nyström": STOCKS, "figure 1e, Nyström": SENSORS}


def load(folder: Path | None) -> Data:
    """The stocks and the sensors."""
    both = stocks.load(folder), sensors.load(folder)
    return Data("; ".join(one.source for one in both), {**both[0].arrays, **both[1].arrays})


def run(trial: Trial) -> Rows:
    """Every step of each task, with regret in the units of the figure."""
    numbers: list[dict[str, Any]] = []
    problems: list[dict[str, Any]] = []
    for task, rows in TASKS.items():
        if task in _RECORDED:
            result = run_recorded(trial, world=_RECORDED[task], rows=rows)
        else:
            result = run_arms(trial, make=STUDENT_T, methods=rows)
        numbers += [{"task": task, **row} for row in result[NUMBERS]]
        problems += [{"task": task, **row} for row in result["problems"]]
    return {NUMBERS: numbers, "problems": problems}


def checks(tables: Tables) -> list[Check]:
    """By how much each change alone lowers the regret at the end."""
    found = []
    for task, own in by_task(tables).items():
        trials = final(own)
        ends = trials.mean()
        whole = ends[PUBLISHED] - ends[ALL]
        for name in TASKS[task]:
            if name != PUBLISHED:
                gain = ends[PUBLISHED] - ends[name]
                of_all = f", {gain / whole:.0%} of all changes together" if whole else ""
                share = "" if name == ALL else of_all
                found.append(
                    Check(
                        f"{task}: {name} ends below the published setting",
                        bool(gain > 0),
                        f"{ends[name]:.3g} against {ends[PUBLISHED]:.3g}{share}",
                        decided(trials[name] - trials[PUBLISHED]),
                    )
                )
    return found


EXPERIMENTS = [
    Experiment(
        name="own-ata-steps",
        paper=OWN,
        figure="ablation of figures 1a, 1d and 1e",
        title="From the published ATA-GP-UCB to surefoot's",
        published=Scale(5, 12_000),
        quick=Scale(1, 300),
        run=run,
        says=(
            "The paper uses all cosines and sines of its quadrature, as many Nyström features as "
            "there are arms in the dictionary, an oversampling of ln T / ε² with ε = 0.1, and the "
            "symmetric root."
        ),
        setting=(
            "The rows of figures 1a, 1d and 1e as published, each with one of the changes that "
            "make surefoot's rows, and with all of them. The width grows with the root of the "
            "number of features m: folded nodes halve m, and the numerical rank of a dictionary is "
            "far below its number of arms for a smooth kernel. A smaller dictionary explains less, "
            "which leaves a larger variance."
        ),
        output=FigureOutput(checks, curves),
        load=load,
    )
]
