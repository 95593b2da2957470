"""How often `surefoot compare` finds a difference where there is none, and where there is one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from surefoot.tune.comparison.comparison import differences_of
from surefoot.tune.comparison.paired_test import decision_times, paired_test, precisions
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial
from surefoot_experiments.scoreboard.suites.cloud import DATA, folder

BATCH = 250  # comparisons of a trial
LOOKS = (40, 200)  # pairs at most
MOST_PAIRS = 1600  # of a comparison of different configurations
MOST_ERRORS = 600  # of one with standard errors
WELL_MEASURED = 9  # measurements of a configuration of the recorded systems
DIFFERENCES = (0.05, 0.1, 0.3)
PACKAGES = ["surefoot", "numpy"]
Measurements = Any  # array (comparisons, pairs, 2), in the order of time
Law = Callable[[tuple[int, int, int], np.random.Generator], Measurements]

INTRODUCTION = """# Comparing two configurations

The test of `surefoot compare` at 95 % confidence, looked at after every pair. Run {date} on
{cores} cores, CPU. {versions}.

## Equal configurations

The share of {number} comparisons of a configuration with itself in which a difference was ever
found, up to {looks[0]} or {looks[1]} pairs, ± standard error.

- **lasting**: the logarithm of the noise is an autoregressive process of order 1, with correlation
  0.9 between one run and the next, and standard deviation 20 %. **random walk**: it adds up steps
  of 2 %.
- **neighbour**: runs are 1.5 times as slow while a neighbour is there, which comes with a
  probability of 5 % a run and goes with 10 %.
- **drift**: 30 % slower over {looks[0]} pairs. **step**: 50 % slower after 20 pairs, or within the
  21st.
- **nginx**, **tpcc-azure**: measurements of TUNA (EuroSys 2025) on ten virtual machines. Each
  comparison is of one configuration with {measured} measurements or more, each run one of them,
  crashes included. **in turn**: ten runs on one virtual machine, then ten on another.

"""
POWER = """
## Different configurations

B is a factor better than A, in {number} comparisons each: pairs until the difference was found,
the median and the number within which nine in ten were. **missed** is the share in which it was
not found within {looks[0]} pairs, the default; **wrong** that in which A was found to be better
within {most} pairs.

"""
ERRORS = """
## Runs with standard errors

Pairs until a difference of 10 % was found, in {number} comparisons each, with the standard errors
of the runs and without them: the median and the number within which nine in ten were. The noise of
a run is Gaussian, in excess of its standard error by the share given; **equal** is the share of
comparisons of equal configurations in which a difference was found with the errors, up to
{looks[1]} pairs.

- **alike**: all errors are 10 %. **varied**: log-normal about 10 %, with a standard deviation of
  0.7 of the logarithm. **bad runs**: 10 %, and 60 % for three runs in ten.
- **uninformative**: errors of 2 %, as varied, in runs that differ by 15 % anyway.

"""


def _of_log_noise(scale: float) -> Law:
    return lambda shape, random: np.exp(scale * random.standard_normal(shape))


def _run_numbers(shape: tuple[int, int, int]) -> np.ndarray:
    """Number (1, pairs, 2) of each run of a comparison."""
    return np.arange(2 * shape[1]).reshape(1, shape[1], 2)


def _lasting(shape: tuple[int, int, int], random: np.random.Generator) -> Measurements:
    steps = random.standard_normal((shape[0], 2 * shape[1]))
    noise = steps.copy()
    for run in range(1, 2 * shape[1]):
        noise[:, run] = 0.9 * noise[:, run - 1] + (1.0 - 0.9**2) ** 0.5 * steps[:, run]
    return np.exp(0.2 * noise).reshape(shape)


def _walk(shape: tuple[int, int, int], random: np.random.Generator) -> Measurements:
    steps = random.standard_normal((shape[0], 2 * shape[1]))
    return np.exp(0.02 * steps.cumsum(-1)).reshape(shape)


def _neighbour(shape: tuple[int, int, int], random: np.random.Generator) -> Measurements:
    chances = random.random((shape[0], 2 * shape[1]))
    there = np.zeros((shape[0], 2 * shape[1]), dtype=bool)
    for run in range(1, 2 * shape[1]):
        there[:, run] = chances[:, run] < np.where(there[:, run - 1], 0.9, 0.05)
    return np.where(there.reshape(shape), 1.5, 1.0) * _of_log_noise(0.1)(shape, random)


def _drift(shape: tuple[int, int, int], random: np.random.Generator) -> Measurements:
    factor = 1.0 + 0.3 * _run_numbers(shape) / (2.0 * LOOKS[0])
    return factor * _of_log_noise(0.1)(shape, random)


def _step(after: int) -> Law:
    """A step after so many runs."""

    def law(shape: tuple[int, int, int], random: np.random.Generator) -> Measurements:
        factor = np.where(_run_numbers(shape) < after, 1.0, 1.5)
        return factor * _of_log_noise(0.1)(shape, random)

    return law


def _outliers(shape: tuple[int, int, int], random: np.random.Generator) -> Measurements:
    factor = np.where(random.random(shape) < 0.05, 5.0, 1.0)
    return factor * _of_log_noise(0.05)(shape, random)


def _recorded(name: str, in_turn: bool = False) -> Law:
    """Runs of one configuration of a recorded system; infinite for a crash."""

    def law(shape: tuple[int, int, int], random: np.random.Generator) -> Measurements:
        measured = _well_measured(name)
        found = np.empty(shape)
        for row in found:
            values = measured[random.integers(len(measured))]
            if in_turn:
                blocks = random.integers(len(values), size=-(-2 * shape[1] // 10))
                row[:] = values[np.repeat(blocks, 10)[: row.size]].reshape(row.shape)
                row *= np.exp(0.01 * random.standard_normal(row.shape))
            else:
                row[:] = random.choice(values, row.shape)
        return found

    return law


def _well_measured(name: str) -> list[np.ndarray]:
    where: Path | None = folder()
    assert where is not None  # `run` has asked
    table = pd.read_parquet(where / f"{name}.parquet", columns=["config", "value"])
    groups = table.groupby("config")["value"]
    rows = [group.fillna(np.inf).to_numpy() for _, group in groups if len(group) >= WELL_MEASURED]
    return [row for row in rows if np.isfinite(row).any()]


LAWS: dict[str, Law] = {
    "Gaussian": lambda shape, random: random.normal(size=shape),
    "log-normal, 40 %": _of_log_noise(0.4),
    "Pareto, tail index 1.5": lambda shape, random: random.pareto(1.5, size=shape),
    "Cauchy": lambda shape, random: random.standard_cauchy(shape),
    "outliers": _outliers,
    "lasting": _lasting,
    "random walk": _walk,
    "neighbour": _neighbour,
    "drift": _drift,
    "step after 20 pairs": _step(40),
    "step within the 21st pair": _step(41),
    "nginx": _recorded("nginx"),
    "nginx, in turn": _recorded("nginx", in_turn=True),
    "tpcc-azure": _recorded("tpcc-azure"),
    "tpcc-azure, in turn": _recorded("tpcc-azure", in_turn=True),
}
POWERS: dict[str, Law] = {
    "log-normal, 5 %": _of_log_noise(0.05),
    "log-normal, 10 %": _of_log_noise(0.1),
    "log-normal, 40 %": _of_log_noise(0.4),
    "neighbour": _neighbour,
    "drift": _drift,
    "nginx": _recorded("nginx"),
}


def _varied(middle: float) -> Law:
    return lambda shape, random: middle * np.exp(0.7 * random.standard_normal(shape))


SEMS: dict[str, tuple[Law, float]] = {  # standard errors, and the noise in excess of them
    "alike": (lambda shape, random: np.full(shape, 0.1), 0.05),
    "varied": (_varied(0.1), 0.03),
    "bad runs": (lambda shape, random: np.where(random.random(shape) < 0.3, 0.6, 0.1), 0.05),
    "uninformative": (_varied(0.02), 0.15),
}


def _with_errors(name: str, random: np.random.Generator) -> Rows:
    """Numbers of pairs with and without the standard errors, and of equal configurations."""
    law, excess = SEMS[name]
    shape = (BATCH // 5, MOST_ERRORS, 2)
    sems = law(shape, random)
    noise = np.sqrt(sems**2 + excess**2) * random.standard_normal(shape)
    shares = precisions(np.hypot(sems[..., 0], sems[..., 1]))
    noise = noise[..., 1] - noise[..., 0]
    rows = zip(
        decision_times(noise - 0.1, shares=shares),
        decision_times(noise - 0.1),
        decision_times(noise[:, : LOOKS[1]], shares=shares[:, : LOOKS[1]]),
        strict=True,
    )
    names = ("pairs", "without", "equal")
    return {
        "errors": [
            {"noise": f"{name}, {excess:.0%}", **dict(zip(names, map(int, row), strict=True))}
            for row in rows
        ]
    }


def run(trial: Trial) -> Rows:
    """A batch of comparisons of one kind of noise."""
    kind, _, law = trial.case.partition(": ")
    if folder() is None and law.startswith(("nginx", "tpcc")):
        return {"runs": []}
    random = np.random.default_rng([trial.index, *law.encode()])
    if kind == "errors":
        return _with_errors(law, random)
    if kind == "equal":
        differences = _differences(LAWS[law]((BATCH, LOOKS[1], 2), random), 1.0, random)
        times = decision_times(differences)
        return {"runs": [{"kind": kind, "noise": law, "pairs": int(n)} for n in times]}
    rows = []
    for share in DIFFERENCES:
        measured = POWERS[law]((BATCH // 5, MOST_PAIRS, 2), random)
        differences = _differences(measured, 1.0 - share, random)
        times = decision_times(differences)
        for row, pairs in zip(differences, times, strict=True):
            better = not pairs or paired_test(row[:pairs]).sign < 0
            rows.append(
                {"kind": kind, "noise": law, "share": share, "pairs": int(pairs), "right": better}
            )
    return {"runs": rows}


def _differences(measured: Measurements, factor: float, random: np.random.Generator) -> np.ndarray:
    """B minus A, where B is a factor times as large, in random order; 0 for two crashes."""
    b_first = random.integers(2, size=measured.shape[:2]).astype(bool)
    ordered = np.where(b_first[..., None], measured[..., ::-1], measured)  # A, then B
    ordered = ordered * np.array([1.0, factor])
    both = np.isinf(ordered).all(-1)
    flat = np.where(both[..., None], 0.0, ordered).reshape(-1, 2)
    return differences_of(flat).reshape(measured.shape[:2])


def report(tables: Tables) -> str:
    """Error rates and numbers of pairs."""
    rows = tables["runs"]
    equal, different = rows[rows["kind"] == "equal"], rows[rows["kind"] == "different"]
    groups = equal.groupby("noise", sort=False)["pairs"]
    shares = pd.DataFrame({f"up to {most} pairs": groups.apply(_found(most)) for most in LOOKS})
    by_noise = different.groupby(["noise", "share"], sort=False)
    power = pd.DataFrame(
        {
            "median": by_noise["pairs"].apply(_within(0.5)),
            "nine in ten": by_noise["pairs"].apply(_within(0.9)),
            "missed": by_noise["pairs"].apply(_missed),
            "wrong": by_noise["right"].apply(lambda right: f"{100.0 * (1.0 - right.mean()):.1f} %"),
        }
    ).reset_index("share")
    power["share"] = power["share"].map("{:.0%}".format)
    texts = {"looks": LOOKS, "measured": WELL_MEASURED, "most": f"{MOST_PAIRS:,}"}
    introduction = INTRODUCTION.format(number=_number(groups), **texts, **ran_on(PACKAGES))
    missing = "" if folder() else f"\nRecorded systems were not run: {DATA} names no folder.\n"
    return (
        introduction
        + markdown(shares)
        + missing
        + POWER.format(number=_number(by_noise["pairs"]), **texts)
        + markdown(power.rename(columns={"share": "difference"}))
        + _errors_report(tables["errors"])
    )


def _errors_report(rows: pd.DataFrame) -> str:
    groups = rows.groupby("noise", sort=False)
    columns = {
        f"{text}, {name}": groups[column].apply(_within(quantile))
        for column, text in (("pairs", "with"), ("without", "without"))
        for quantile, name in ((0.5, "median"), (0.9, "nine in ten"))
    }
    table = pd.DataFrame({**columns, "equal": groups["equal"].apply(_found(LOOKS[1]))})
    return ERRORS.format(number=_number(groups["pairs"]), looks=LOOKS) + markdown(table)


def _number(groups: object) -> str:
    return f"{int(groups.size().max()):,}"  # type: ignore[attr-defined]


def _found(most: int) -> Callable[[pd.Series], str]:
    def share(pairs: pd.Series) -> str:
        found = ((pairs > 0) & (pairs <= most)).mean()
        return f"{100.0 * found:.1f} ± {100.0 * (found * (1 - found) / len(pairs)) ** 0.5:.1f} %"

    return share


def _within(quantile: float) -> Callable[[pd.Series], str]:
    def number(pairs: pd.Series) -> str:
        times = pairs.where(pairs > 0, np.inf).quantile(quantile, interpolation="higher")
        return f"{int(times):,}" if np.isfinite(times) else f"more than {MOST_PAIRS:,}"

    return number


def _missed(pairs: pd.Series) -> str:
    return f"{100.0 * ((pairs == 0) | (pairs > LOOKS[0])).mean():.0f} %"


EXPERIMENTS = [
    benchmark(
        "comparing",
        "Comparing two configurations",
        published=Scale(8, MOST_PAIRS),
        quick=Scale(1, MOST_PAIRS),
        run=run,
        output=TableOutput(report),
        cases=[
            *(Case(f"equal: {name}") for name in LAWS),
            *(Case(f"different: {name}", trials=0.5) for name in POWERS),
            *(Case(f"errors: {name}") for name in SEMS),
        ],
    )
]
