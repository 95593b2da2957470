"""How often `surefoot judge` keeps a change that is none, finds one that is, and at what price."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pandas as pd

from surefoot.tune.judging.judge import DISCARD, KEEP, Rules
from surefoot.tune.judging.rank_bets import evidence
from surefoot_experiments.harness.tables import TableOutput, benchmark, markdown, ran_on
from surefoot_experiments.harness.trial import Case, Rows, Scale, Tables, Trial

POOLS, PATIENCES = (30, 60, 120), (0.5, 1.0, 2.0)
DEVIATIONS = (1.0, 2.0, 3.0)  # robust ones: 1.4826 times the median absolute deviation
FIRST = 10  # runs that are looked at before all
PACKAGES = ["surefoot", "numpy"]
Noise = Callable[[int, np.random.Generator], np.ndarray]
NOISES: dict[str, tuple[Noise, float]] = {  # with their robust deviations
    "t(2)": (lambda n, random: random.standard_t(2, n), 1.4826 * math.sqrt(2.0 / 3.0)),
    "Gaussian": (lambda n, random: random.standard_normal(n), 1.0),
    "log-normal, 40 %": (
        lambda n, random: np.exp(0.4 * random.standard_normal(n)),
        1.4826 * (1.0 - math.exp(-0.4 * 0.6745)),  # about, of the lower side
    ),
}

INTRODUCTION = """# Keeping and discarding proposed changes

Sessions of {proposals} proposals by the rules of `surefoot judge`: a change that is none is kept
with a probability of 5 % at most in a whole session. **pool**: runs of the incumbent, once in a
session; **patience**: logarithm of the likelihood ratio against a change of one robust deviation
of the noise at which a proposal is discarded. **false**: sessions of proposals that change nothing
in which one was kept, and **runs** for each of their proposals in the mean, with the pool's share.
**1 dev.** and so on: the share of changes of so many deviations that were kept, of one in each
session. At most {sessions} sessions of a kind. Run {date} on {cores} cores, CPU. {versions}.

"""
BOUND = """
A test that knew the noise (Student-t with 2 degrees of freedom) and the incumbent exactly would
need {scale:.1f} runs for each proposal that changes nothing, to find a change by the scale of the
noise in 8 of 10 with the same error, and {robust:.1f} to find one by its robust deviation: by Wald
and Wolfowitz (1948), no test with these errors has fewer. So 5 runs a proposal are not enough for
the first, and for the second only if nothing had to be learnt of the incumbent. The default, a pool
of 60 and a patience of 0.5, keeps to 5 runs and finds changes by 2 deviations.
"""


def run(trial: Trial) -> Rows:
    """One session of proposals that change nothing, and one change of each size."""
    noise, deviation = NOISES[trial.case]
    random = np.random.default_rng([trial.index, *trial.case.encode()])
    pool = noise(max(POOLS), random)
    runs = noise(trial.rounds * Rules().most, random).reshape(trial.rounds, -1)
    rows = []
    for size in POOLS:
        found = {
            change: [
                _decisions(pool[:size], one - change * deviation, number)
                for number, one in enumerate(runs if not change else runs[:1])
            ]
            for change in (0.0, *DEVIATIONS)
        }
        for patience in PATIENCES:
            row: dict[str, object] = {"noise": trial.case, "pool": size, "patience": patience}
            none = [each[patience] for each in found[0.0]]
            row["false"] = any(decision == KEEP for decision, _ in none)
            row["runs"] = float(np.mean([count for _, count in none])) + size / trial.rounds
            for change in DEVIATIONS:
                row[f"{change:g} dev."] = found[change][0][patience][0] == KEEP
            rows.append(row)
    return {"sessions": rows}


def _decisions(pool: np.ndarray, runs: np.ndarray, number: int) -> dict[float, tuple[str, int]]:
    """The decision about a proposal for each patience, and after how many runs."""
    threshold, found = Rules().threshold, {}
    for length in (FIRST, len(runs)):
        after = list(evidence(list(pool), list(runs[:length]), seed=number))
        for patience in PATIENCES:
            for count, one in enumerate(after, 1):
                if one.log_capital >= threshold:
                    found[patience] = (KEEP, count)
                    break
                if one.log_ratio <= -patience or count == len(runs):
                    found[patience] = (DISCARD, count)
                    break
        if len(found) == len(PATIENCES):
            break
    return found


def report(tables: Tables) -> str:
    """Errors, power and price of each setting, and the bound."""
    rows = tables["sessions"]
    groups = rows.groupby(["noise", "pool", "patience"], sort=False)
    table = groups.mean(numeric_only=False)
    sessions = int(groups.size().max())
    noises, pools, patiences = zip(*table.index, strict=True)
    shown = pd.DataFrame(
        {
            "pool": list(map(str, pools)),
            "patience": list(map(str, patiences)),
            "false": [_percent(one) for one in table["false"]],
            "runs": [f"{float(one):.1f}" for one in table["runs"]],
            **{
                name: [_percent(one) for one in table[name]]
                for name in (f"{change:g} dev." for change in DEVIATIONS)
            },
        }
    ).set_axis(pd.Index(noises, name="noise"))
    rules = Rules()
    introduction = INTRODUCTION.format(
        proposals=rules.proposals, sessions=sessions, **ran_on(PACKAGES)
    )
    bound = BOUND.format(scale=least_runs(1.0), robust=least_runs(NOISES["t(2)"][1]))
    return f"{introduction}{markdown(shown)}{bound}"


def least_runs(change: float, power: float = 0.8) -> float:
    """Wald's bound on the mean number of runs without a change, where all else is known.

    Args:
        change: Size of the change, in scales of Student-t noise with 2 degrees of freedom.
        power: Share of changes that are found.

    References:
        Wald and Wolfowitz, Optimum character of the sequential probability ratio test (1948).
    """
    x = np.tan(np.linspace(-math.pi / 2, math.pi / 2, 200_002)[1:-1])
    density = (2.0 + x**2) ** -1.5
    ratio = 1.5 * np.log((2.0 + (x - change) ** 2) / (2.0 + x**2))
    weight = density * (1.0 + x**2)  # of the grid of angles
    divergence = float((weight * ratio).sum() / weight.sum())
    error = Rules().error / Rules().proposals
    least = (1.0 - error) * math.log((1.0 - error) / (1.0 - power))
    return (least + error * math.log(error / power)) / divergence


def _percent(share: float) -> str:
    return f"{100.0 * float(share):.0f} %"


EXPERIMENTS = [
    benchmark(
        "judging",
        "Keeping and discarding proposed changes",
        published=Scale(60, 30),
        quick=Scale(1, 3),
        run=run,
        output=TableOutput(report),
        cases=[Case(noise) for noise in NOISES],
    )
]
