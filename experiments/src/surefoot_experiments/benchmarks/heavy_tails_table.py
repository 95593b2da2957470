"""The Markdown report of regrets on arms with heavy-tailed rewards."""

import pandas as pd

from surefoot_experiments.harness.tables import markdown, ran_on, ratio, with_errors
from surefoot_experiments.harness.trial import Tables

PACKAGES = ["surefoot", "torch", "gpytorch", "numpy"]
PARTS = {"known": "known moments", "unknown": "kernel only"}
ORDER = [
    "tgp",
    "ata-exact",
    "ata-fourier",
    "ata-nystrom",
    "robust",
    "gp-ucb",
    "median-of-means",
    "gp-ucb-standardised",
    "median-of-means-standardised",
]

INTRODUCTION = """# Regret on arms with heavy-tailed rewards

Mean regret a round, R_t / t, of random functions on 100 arms of [0, 1], scaled to max|f| = 1
(`surefoot_experiments.problems.random_function`): squared exponential kernel, or Matérn-5/2 where
named, with lengthscale 0.2; ridge 1. Mean over {problems} problems (more where the table says so)
± its standard error; lower is better. Every method sees the same noise in the same round of the
same problem, through `ask` and `tell`.

- **tgp**, **ata-exact**, **ata-fourier** (32 nodes), **ata-nystrom**: `tgp_ucb` and `ata_gp_ucb`
  with the widths of the paper's experiments (`baselines.as_published`),
  given alpha, v and B = max|f| as there; the Nyström dictionary is resampled adaptively.
- **robust**: `robust_ucb(arms, kernel)`, given the kernel only. In the tables with known
  moments, its rows are those of an earlier version, which centred and scaled rewards by median
  and MAD; the prior mean and output scale are now estimated by empirical Bayes.
- **gp-ucb**, **median-of-means** (9 blocks): least squares and `MedianOfMeans()` with the width of
  `robust_ucb`, half of sqrt(2 ln(t^2 pi^2 / 0.6)), on rewards as they are; **-standardised**:
  on rewards centred and scaled by median and MAD.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def report(tables: Tables) -> str:
    """The report of all finished runs."""
    rows = tables["curves"].copy()
    rows["part"] = rows["task"].str.split("/").str[0]
    parts = [
        INTRODUCTION.format(
            problems=rows.groupby("task")["trial"].nunique().min(),
            **ran_on(PACKAGES),
        )
    ]
    for task, chosen in rows[rows["part"] == "known"].groupby("task", sort=False):
        parts += [f"## {task.split('/')[1]}, with known moments\n", with_moments(chosen)]
    if (rows["part"] == "unknown").any():
        parts.append(without_moments(rows[rows["part"] == "unknown"]))
    parts += ["## Milliseconds a round\n", milliseconds(rows)]
    return "\n".join(parts)


def with_moments(rows: pd.DataFrame) -> str:
    """Mean regret at three rounds, and whether it fell, then ATA's against TGP's."""
    last = rows["round"].max()
    columns = [last // 20, last // 4, last]
    curves = rows.pivot_table("regret", ["method", "trial"], "round")[columns]
    cells = with_errors(curves.groupby("method"))
    means = curves.groupby("method").mean()
    falls = (means[columns[0]] > means[columns[1]]) & (means[columns[1]] > means[columns[2]])
    cells["decreasing"] = falls.map({True: "yes", False: "no"})
    cells.columns = [*(f"t = {t:,}" for t in columns), "decreasing"]
    cells.index.name = "method"
    text = markdown(ordered(cells))
    final = curves[last].unstack("method")
    if "tgp" not in final:
        return text
    for name in (n for n in ordered(means).index if n.startswith("ata")):
        share = final[name] / final["tgp"]
        below = int((final[name] < final["tgp"]).sum())
        text += (
            f"\n{name} ends at {final[name].mean() / final['tgp'].mean():.2f} of TGP's regret, "
            f"below it on {below} of {len(share)} problems.\n"
        )
    return text


def without_moments(rows: pd.DataFrame) -> str:
    """Mean regret after the last round for each noise, and `robust`'s ratio to plain GP-UCB."""
    last = rows["round"].max()
    final = rows[rows["round"] == last].copy()
    final["noise"] = final["task"].str.split("/").str[1]
    table = final.pivot_table("regret", ["noise", "trial"], "method", sort=False)
    methods = [name for name in ORDER if name in table]
    groups = table[methods].groupby("noise", sort=False)
    cells = with_errors(groups)
    if {"robust", "gp-ucb"} <= set(methods):
        ratios = {noise: ratio(each["robust"], each["gp-ucb"]) for noise, each in groups}
        cells["robust / gp-ucb"] = pd.Series(
            {n: f"{r:.2f} ± {e:.2f}" for n, (r, e) in ratios.items()}
        )
        cells["problems"] = groups.size().astype(str)
    cells.index.name = "noise"
    return f"## With the kernel only, {last:,} rounds\n\n" + markdown(cells)


def milliseconds(rows: pd.DataFrame) -> str:
    """Time of an ask and a tell, the reward's draw included, averaged over all rounds."""
    last = rows[rows["round"] == rows.groupby("task")["round"].transform("max")].copy()
    last["time"] = 1e3 * last["seconds"] / last["round"]
    table = last.pivot_table("time", "method", "task", sort=False).map(
        lambda x: "" if pd.isna(x) else f"{x:.2f}"
    )
    parts = (name.split("/") for name in table.columns)
    table.columns = pd.Index([f"{noise}, {PARTS[part]}" for part, noise in parts])
    return markdown(ordered(table))


def ordered(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order of the methods."""
    return table.reindex([name for name in ORDER if name in table.index])
