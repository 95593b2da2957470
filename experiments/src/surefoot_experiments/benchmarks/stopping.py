"""Whether a search that stops early keeps its promise, and how many measurements it saves."""

from __future__ import annotations

import itertools
import logging

import numpy as np
import optuna
import pandas as pd
import torch

from surefoot._internal.numbers import FEWEST
from surefoot.beliefs import gains
from surefoot.integrations.optuna import SurefootSampler
from surefoot.tune.study.early_stop import EVERY, IN_A_ROW, ROUNDS_PER_PARAMETER, first_check
from surefoot_experiments.benchmarks.stopping_functions import BEST, FUNCTIONS
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

GAINS, CONFIDENCE = (0.01, 0.02, 0.05), 0.95
NOISES = {"2 %": 0.02, "5 %": 0.05}  # standard deviation, as a share of the best value
OUTLIERS = {3.0: 0.04, 0.3: 0.01}  # probability of a measurement of so many times the value
SHARE = 0.15  # of the rounds, for the confirm stage
BUDGETS = (60, 100, 150)  # measurements, those of the confirm stage included
PACKAGES = ["surefoot", "torch", "botorch", "optuna", "numpy"]

INTRODUCTION = """# Stopping early

`[stop]` with a confidence of {confidence:g} on functions whose optimum is known: the search ends
when the probability that some configuration is better than the recommended one by more than `gain`
is below {risk:g} % in {checks} checks in a row, {every} rounds apart, the first after {least}
measurements a parameter. Functions are minimised;
measurements have Gaussian noise, with a standard deviation of 2 % or 5 % of the best value, and 5 %
of them are outliers: four in five of three times the value, one in five of 0.3 times. A search has
at most {rounds} measurements.

The promise is **kept** if no configuration is better than the recommended one by more than `gain`
when the search stops; **left, largest** is by how much the best one is better. **saved of** a
number of measurements is the share that was not made, over all searches, 0 for one that does not
stop. A confirm stage of 15 % is part of all numbers of measurements. A search of {rounds}
measurements is that of a study of 100, so for 150 a search that would have stopped later counts as
one that does not.

The posterior and the checks were chosen by the functions of the half "tuning". Those of the half
"confirming" were then run once, and showed that checks must not begin earlier: without a least
number for each parameter, `database` stopped after 24 measurements for a gain of 5 %, with 7.5 %
left. {trials} a function and noise; {run} of {all} combinations of both were run.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def run(trial: Trial) -> Rows:
    """One search: when it stopped for each gain, and what was left to gain then."""
    logging.getLogger("optuna").setLevel(logging.WARNING)
    torch.set_num_threads(1)
    half, name, noise = trial.case.split("/")
    known = FUNCTIONS[half][name]()
    sampler = SurefootSampler(seed=trial.index, search_space=known.space)
    study = optuna.create_study(sampler=sampler)
    generator = np.random.default_rng([trial.index, 1])
    low, left = dict.fromkeys(GAINS, 0), float("nan")
    rows: dict[float, dict[str, object]] = {}
    for number in range(1, trial.rounds + 1):
        asked = study.ask(known.space)
        factor = generator.choice([*OUTLIERS, 1.0], p=[*OUTLIERS.values(), 0.95])
        error = NOISES[noise] * BEST * generator.standard_normal()
        study.tell(asked, factor * known.value(asked.params) + error)
        if number < first_check(len(known.space)) or number % EVERY:
            continue
        model = sampler.belief(study)
        best = model.recommend()
        left = known.left(best.params)
        largest = gains.largest(model.belief, model.points([best.params])[0]).numpy()
        for gain in GAINS:
            sure = float((largest > gain).mean()) < 1.0 - CONFIDENCE
            low[gain] = low[gain] + 1 if sure else 0
            if low[gain] >= IN_A_ROW and gain not in rows:
                rows[gain] = {"stopped": True, "after": number, "left": left}
        if len(rows) == len(GAINS):
            break
    identity = {"half": half, "function": name, "noise": noise, "rounds": trial.rounds}
    going_on = {"stopped": False, "after": trial.rounds, "left": left}
    return {"runs": [{**identity, "gain": gain, **rows.get(gain, going_on)} for gain in GAINS]}


def measurements(after: int) -> int:
    """Measurements of a study whose search stops after so many, with its confirm stage."""
    return after + max(FEWEST, int(SHARE / (1.0 - SHARE) * after))


def saved(rows: pd.DataFrame, budget: int) -> pd.Series:
    """The shares of a budget that searches save."""
    made = rows["after"].map(measurements).where(rows["stopped"], budget).clip(upper=budget)
    return 1.0 - made / budget


def report(tables: Tables) -> str:
    """What was kept and saved by half, noise and gain, and when each search stopped."""
    rows = tables["runs"]
    percent = "{:g} %".format
    summary, single = [], []
    for (half, noise, gain), group in rows.groupby(["half", "noise", "gain"], sort=False):
        summary.append({"half": half, "noise": noise, "gain": percent(100 * gain), **_cells(group)})
    for half, group in rows.groupby("half", sort=False):
        summary.append({"half": half, "noise": "all", "gain": "all", **_cells(group)})
    for (half, name, noise), group in rows.groupby(["half", "function", "noise"], sort=False):
        cells = {
            f"gain {percent(100 * gain)}": ", ".join(map(_single, of_gain.to_dict("records")))
            for gain, of_gain in group.groupby("gain", sort=False)
        }
        single.append({"half": half, "function": name, "noise": noise, **cells})
    trials = rows["trial"].nunique()
    introduction = INTRODUCTION.format(
        confidence=CONFIDENCE,
        risk=100.0 * (1.0 - CONFIDENCE),
        checks=IN_A_ROW,
        every=EVERY,
        least=ROUNDS_PER_PARAMETER,
        rounds=int(rows["rounds"].max()),
        run=rows.groupby(["function", "noise"]).ngroups,
        all=len(NOISES) * sum(map(len, FUNCTIONS.values())),
        trials="One search" if trials == 1 else f"{trials} searches",
        **ran_on(PACKAGES),
    )
    tables_ = (markdown(pd.DataFrame(each).set_index("half")) for each in (summary, single))
    return introduction + "\n" + "\nRounds of each search, and what was left:\n\n".join(tables_)


def _cells(group: pd.DataFrame) -> dict[str, str]:
    stopped = group[group["stopped"]]
    kept = int((stopped["left"] <= stopped["gain"]).sum())
    largest = f"{100.0 * stopped['left'].max():.1f} %" if len(stopped) else "–"
    shares = {f"saved of {budget}": saved(group, budget) for budget in BUDGETS}
    return {
        "stopped": f"{len(stopped)} of {len(group)}",
        "kept": f"{kept} of {len(stopped)}",
        "left, largest": largest,
        **{name: f"{100 * s.mean():.0f} ± {100 * s.sem():.0f} %" for name, s in shares.items()},
    }


def _single(row: dict[str, object]) -> str:
    after = row["after"] if row["stopped"] else "–"
    return f"{after} ({100.0 * float(row['left']):.1f} %)"  # type: ignore[arg-type]


EXPERIMENTS = [
    benchmark(
        "stopping",
        "Stopping early",
        published=Scale(1, 85),
        quick=Scale(1, 8),
        run=run,
        output=TableOutput(report),
        cases=[
            Case(f"{half}/{name}/{noise}")
            for noise, half in itertools.product(NOISES, FUNCTIONS)
            for name in FUNCTIONS[half]
        ],
    )
]
