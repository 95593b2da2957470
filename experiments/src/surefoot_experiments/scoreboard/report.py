"""The scoreboard's page: tables in Markdown and the performance profiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from surefoot_experiments.harness.figures import legend, new_figure
from surefoot_experiments.harness.tables import markdown, number, ran_on
from surefoot_experiments.scoreboard import scores
from surefoot_experiments.scoreboard.catalogue import SUREFOOT
from surefoot_experiments.scoreboard.task import COVERED, WRONG
from surefoot_experiments.scoreboard.trials import CHECKPOINTS, REFIT, RUNS

PACKAGES = ("surefoot", "torch", "botorch", "optuna", "numpy")
MOST_LOSSES = 40  # in a report on the terminal; the page has all
_COLOURS = (
    "#111827",
    "#d9541e",
    "#0a7f5a",
    "#7b3fa0",
    "#c99700",
    "#3f86c8",
    "#e377c2",
    "#17becf",
    "#8c564b",
    "#6b7280",
    "#808000",
    "#4363d8",
    "#9acd32",
    "#ff9896",
)
SHARES = {
    "crashes": "crashes",
    "unstable": "varies by > 30 %",
    WRONG: "at another minimum",
    COVERED: "95 % intervals with the median",
}


def report(tables: Mapping[str, pd.DataFrame], losses: int | None = None) -> str:
    """The report on the runs of a suite, in Markdown.

    Args:
        tables: Tables `checkpoints` and `runs`.
        losses: The largest number of losses that are listed; None for all.
    """
    rows, runs = scores.compared(tables[CHECKPOINTS]), tables[RUNS]
    parts = [_introduction(rows, tables), "## Overall\n", _table(rows, runs)]
    for title, by in (
        ("Kind", ["kind"]),
        ("Dimension", ["dimension"]),
        ("Half", ["half"]),
        ("Budget", ["budget"]),
        ("Kind and dimension", ["kind", "dimension"]),
        ("Half and kind", ["half", "kind"]),
        ("Half and dimension", ["half", "dimension"]),
    ):
        if all(rows[column].nunique() > 1 for column in by):
            parts += [f"## {title}\n", _groups(rows, by)]
    parts += ["## By the number of measurements\n", _checkpoints(tables[CHECKPOINTS])]
    parts += _losses(rows, losses)
    parts += _errors(runs)
    return "\n".join(parts)


def pictures(tables: Mapping[str, pd.DataFrame]) -> dict[str, Figure]:
    """The performance profiles."""
    rows = scores.compared(tables[CHECKPOINTS])
    figure, axes = new_figure(1)
    factors = np.logspace(0.0, 4.0, 200)
    curves = scores.profile(rows, factors)
    first = sorted(curves, key=lambda name: (not name.startswith(SUREFOOT), name))
    colours = {name: _COLOURS[i % len(_COLOURS)] for i, name in enumerate(_own(first))}
    for name in first:
        own = name.startswith(SUREFOOT)
        axes[0].plot(
            factors,
            curves[name],
            label=name,
            color=colours[_base(name)],
            linestyle="-" if name in colours else "--",
            linewidth=2.4 if own else 1.2,
            zorder=3.0 if own else 2.0,
        )
    axes[0].set(xscale="log", xlabel="factor of the best gap", ylabel="share of runs", ylim=(0, 1))
    legend(figure, axes[0])
    return {"profiles": figure}


def _own(names: Sequence[str]) -> list[str]:
    """The names of the rivals, in order, without those of their second scores."""
    return [name for name in names if _base(name) == name]


def _base(name: str) -> str:
    """The rival that a score is of."""
    return name.removesuffix(REFIT)


def _introduction(rows: pd.DataFrame, tables: Mapping[str, pd.DataFrame]) -> str:
    facts = ran_on(PACKAGES)
    suites = ", ".join(sorted(rows["suite"].unique()))
    halves = " and ".join(sorted(rows["half"].unique(), reverse=True)) + " half"
    counted = rows.groupby(["task", "budget"])["trial"].nunique()
    least, most = int(counted.min()), int(counted.max())
    seeds = f"{least} to {most} seeds" if least < most else f"{most} seed" + "s" * (most > 1)
    text = (
        f"# Scoreboard: {suites}\n\n"
        f"{len(counted)} tasks ({halves}), {seeds} each; "
        "the same noise in the same round of the same seed. The gap is that of the recommendation "
        "to the noiseless optimum, relative to random search's; geometric means over tasks.\n\n"
        f"{facts['date']}, {facts['cores']} cores, one thread a run. {facts['versions']}.\n"
    )
    names = set(tables[CHECKPOINTS]["rival"])
    everywhere = len(rows) // max(len(names), 1)
    every = tables[CHECKPOINTS]
    runs = every[every["evaluations"] == every["budget"]].groupby(scores.PAIR).ngroups
    if everywhere < runs:
        text += f"\n{runs - everywhere} of {runs} runs are left out: some rival lacks them.\n"
    return text


def _table(rows: pd.DataFrame, runs: pd.DataFrame) -> str:
    """A row for each rival: rank, gap, difference to surefoot, time and memory."""
    means = scores.summary(rows).sort_values("rank")
    table = pd.DataFrame(index=means.index)
    table["mean rank"] = means["rank"].map("{:.2f}".format)
    table["gap / random's"] = means[scores.RELATIVE].map(_gap)
    pairs = scores.differences(rows)
    if not pairs.empty:
        against = pairs.apply(_difference, axis=1)
        table["log10 of gap / surefoot's"] = against.reindex(means.index).fillna("")
        table["surefoot wins"] = pairs["wins"].map("{:.0%}".format).reindex(means.index).fillna("")
    for column, title in SHARES.items():
        if column in rows:
            shares = rows.groupby("rival")[column].mean().dropna()
            table[title] = shares.map("{:.0%}".format).reindex(means.index).fillna("")
    costs = runs.groupby("rival")[["ask_seconds", "ask_seconds_max", "memory"]].agg(
        {"ask_seconds": "mean", "ask_seconds_max": "max", "memory": "max"}
    )
    titles = {"ask_seconds": "CPU s an ask", "ask_seconds_max": "longest", "memory": "MiB"}
    for column, title in titles.items():
        digits = "{:.0f}".format if column == "memory" else number
        table[title] = costs[column].map(digits).reindex(means.index).fillna("")
    table.index.name = "rival"
    return markdown(table)


def _difference(row: pd.Series) -> str:
    """A mean with its standard error, which a single task has not."""
    error = "" if math.isnan(row["error"]) else f" ± {row['error']:.2f}"
    return f"{row['mean']:+.2f}{error}"


def _gap(relative: float) -> str:
    """A gap relative to random search's; a dash where that was not run."""
    return "–" if math.isnan(relative) else f"{relative:.3g}"


def _groups(rows: pd.DataFrame, by: Sequence[str]) -> str:
    """The relative gap and the mean rank of each rival, a column for each group."""
    means = scores.summary(rows, by)
    text = means.apply(lambda row: f"{_gap(row[scores.RELATIVE])} ({row['rank']:.2f})", axis=1)
    table = text.unstack(list(by)).reindex(scores.summary(rows).sort_values("rank").index)
    table.columns = [
        " ".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in table
    ]
    table.index.name = "gap (rank)"
    return markdown(table.fillna(""))


def _checkpoints(checkpoints: pd.DataFrame) -> str:
    """The relative gap after each share of the budget."""
    rows = scores.compared(checkpoints, final=False)
    rows["share"] = (100 * rows["evaluations"] / rows["budget"]).round().astype(int)
    means = scores.summary(rows, ["share"])[scores.RELATIVE].map(_gap).unstack("share")
    means.columns = [f"{share} %" for share in means.columns]
    means.index.name = "measurements"
    return markdown(means)


def _losses(rows: pd.DataFrame, most: int | None) -> list[str]:
    table = scores.losses(rows)
    tasks = rows.groupby(scores.PAIR[:-1]).ngroups
    if table.empty:
        return []
    shown = table.head(most) if most is not None else table
    lines = [f"## Where {SUREFOOT} loses\n", f"{len(table)} of {tasks} tasks, largest first.\n"]
    text = pd.DataFrame(
        {
            "task": [f"{task}, {budget}" for _, task, budget, _ in shown.index],
            "surefoot's gap": shown["ours"].map("{:.3g}".format).to_numpy(),
            "best gap": shown["best"].map("{:.3g}".format).to_numpy(),
            "rival": shown["rival"].to_numpy(),
            "factor": shown["factor"].map("{:.3g}".format).to_numpy(),
        }
    ).set_index("task")
    return [*lines, markdown(text)]


def _errors(runs: pd.DataFrame) -> list[str]:
    failed = runs[runs["error"] != ""]
    if failed.empty:
        return []
    counted = failed.groupby(["rival", "error"]).size().sort_values(ascending=False)
    lines = [f"- {rival}, {count} runs: {error[:300]}" for (rival, error), count in counted.items()]
    return ["## Runs that failed\n", *lines]
