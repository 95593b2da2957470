"""Comparing rivals on the same tasks and seeds: ranks, gaps relative to random search, differences.

A run's relative gap is the gap of its recommendation divided by that of random search (its best
measurement), the geometric mean over the seeds of the task; both are at least the floor. Only runs
that every compared rival has are compared.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from surefoot_experiments.scoreboard.catalogue import RANDOM, SUREFOOT
from surefoot_experiments.scoreboard.task import GAP

FLOOR = 1e-6  # of a gap, so that no run that is all but exact decides a mean
PAIR = ["suite", "task", "budget", "evaluations", "trial"]
RELATIVE = "relative"  # the column of the logarithm of the relative gap


def compared(checkpoints: pd.DataFrame, final: bool = True) -> pd.DataFrame:
    """The runs that all rivals have, with their rank and relative gap.

    Args:
        checkpoints: Rows of the table of that name.
        final: Only the recommendation after all measurements.
    """
    rows = checkpoints
    if final:
        rows = rows[rows["evaluations"] == rows["budget"]]
    rivals = rows["rival"].nunique()
    rows = rows[rows.groupby(PAIR)["rival"].transform("nunique") == rivals].copy()
    rows["log"] = np.log(rows[GAP].clip(lower=FLOOR))
    rows["rank"] = rows.groupby(PAIR)["log"].rank(method="average")
    return relative_to_random(rows)


def relative_to_random(rows: pd.DataFrame) -> pd.DataFrame:
    """Add the logarithm of the gap relative to random search's; NaN if random did not run."""
    task = PAIR[:-1]
    random = rows[rows["rival"] == RANDOM].groupby(task)["log"].mean().rename("random")
    joined = rows.join(random, on=task)
    return joined.assign(**{RELATIVE: joined["log"] - joined["random"]})


def summary(rows: pd.DataFrame, by: Sequence[str] = ()) -> pd.DataFrame:
    """Mean rank and geometric mean of the relative gap of each rival, in groups.

    Tasks count equally, whatever their number of seeds.
    """
    keys = [*by, "rival"]
    tasks = rows.groupby([*keys, *dict.fromkeys(PAIR[:-1])])[["rank", RELATIVE]].mean()
    means = tasks.groupby(level=keys).mean()
    means[RELATIVE] = np.exp(means[RELATIVE])
    means["tasks"] = tasks.groupby(level=keys).size()
    return means


def differences(rows: pd.DataFrame, ours: str = SUREFOOT, by: Sequence[str] = ()) -> pd.DataFrame:
    """Each rival's gap as a multiple of ours on the same task and seed, with a standard error.

    The columns `mean` and `error` are of the logarithm to base 10, over tasks, or over seeds where
    there is one task only; `wins` is the share of pairs in which ours is smaller, ties counting
    half.
    """
    own = rows[rows["rival"] == ours].set_index(PAIR)["log"].rename("ours")
    pairs = rows[rows["rival"] != ours].join(own, on=PAIR).dropna(subset=["ours"])
    pairs["difference"] = (pairs["log"] - pairs["ours"]) / np.log(10.0)
    pairs["win"] = 0.5 + 0.5 * np.sign(pairs["difference"])
    keys = [*by, "rival"]
    unit = PAIR[:-1] if pairs.groupby(PAIR[:-1]).ngroups > 1 else PAIR
    tasks = pairs.groupby([*keys, *unit])[["difference", "win"]].mean()
    groups = tasks.groupby(level=keys)
    return pd.DataFrame(
        {
            "mean": groups["difference"].mean(),
            "error": groups["difference"].sem(),
            "wins": groups["win"].mean(),
        }
    )


def losses(rows: pd.DataFrame, ours: str = SUREFOOT) -> pd.DataFrame:
    """The tasks on which some rival's mean gap is smaller than ours, largest loss first."""
    task = PAIR[:-1]
    means = np.exp(rows.groupby([*task, "rival"])["log"].mean().unstack())
    if ours not in means or means.shape[1] < 2:
        return pd.DataFrame()
    others = means.drop(columns=ours)
    table = pd.DataFrame(
        {"ours": means[ours], "best": others.min(axis=1), "rival": others.idxmin(axis=1)}
    )
    table["factor"] = table["ours"] / table["best"]
    return table[table["factor"] > 1.0].sort_values("factor", ascending=False)


def profile(rows: pd.DataFrame, factors: np.ndarray) -> pd.DataFrame:
    """The share of runs whose gap is within each factor of the best rival's, by rival."""
    best = rows.groupby(PAIR)["log"].transform("min")
    ratio = np.exp(rows["log"] - best)
    return pd.DataFrame(
        {
            rival: [(own <= factor).mean() for factor in factors]
            for rival, own in ratio.groupby(rows["rival"])
        },
        index=factors,
    )
