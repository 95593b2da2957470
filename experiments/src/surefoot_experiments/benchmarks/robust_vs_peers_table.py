"""The report on the robust default and its peers."""

import numpy as np
import pandas as pd

from surefoot_experiments.harness.tables import markdown, number, ran_on
from surefoot_experiments.harness.trial import Tables

PEERS = ["random", "tpe", "optuna-gp", "botorch-ucb", "botorch-lognei"]
ORDER = ["surefoot", "botorch-robust", *PEERS]
NOISES = ["gaussian", "student-t", "spikes", "pareto"]
PACKAGES = ["surefoot", "torch", "gpytorch", "botorch", "optuna", "numpy"]
FLOOR = 1e-4  # keeps one perfect run from deciding a geometric mean

INTRODUCTION = """# The robust default against its peers

Regret in standard deviations of the function over its box (the optimum minus the noiseless value
of a point), {rounds} measurements a run; lower is better. Every method sees the same noise in the
same round of the same seed. {seeds}.

- **surefoot**: `sf.algorithms.robust_ucb(sf.Box(lower, upper))`, nothing set.
- **botorch-robust**: `RobustRelevancePursuitSingleTaskGP` with LogNEI; few seeds, as it is slow.
- **botorch-ucb** (beta = 4, two standard deviations), **botorch-lognei**: `SingleTaskGP`, inputs
  normalised, outcomes standardised, 2(d + 1) Sobol points first (at most 10). All three BoTorch
  loops recommend the maximiser of the posterior mean over the box.
- **optuna-gp**: `GPSampler(deterministic_objective=False)`; **tpe**: `TPESampler`. They recommend
  `study.best_params`, which is what their user gets; **random** the best measurement too.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.
"""


def report(tables: Tables) -> str:
    """The report of all finished runs."""
    rows = tables["runs"]
    rounds = rows["round"].max()
    runs = rows.groupby(["task", "method", "trial"]).agg(
        cumulative=("regret", "mean"), seconds=("seconds", "mean"), failures=("failures", "max")
    )
    last = rows[rows["round"] == rounds].set_index(["task", "method", "trial"])
    runs["simple"] = last["recommended"]
    runs = runs.reset_index()
    runs["noise"] = runs["task"].str.split("/").str[1]
    parts = [
        introduction(runs, int(rounds)),
        "## Regret of the recommendation, mean over seeds ± standard error\n",
        markdown(per_task(runs, "simple", "mean", error=True)),
        "## Regret of the recommendation, median over seeds\n",
        markdown(per_task(runs, "simple", "median")),
        "## Mean regret a round, mean over seeds\n",
        markdown(per_task(runs, "cumulative", "mean")),
        "## Geometric means over the tasks of a kind of noise\n",
        "Of the per-task means (medians in the second block) above. The last columns compare\n"
        "surefoot with the best single non-robust peer of that row, and task by task with the\n"
        "best non-robust peer of each task; below 1 surefoot is better.\n",
        summary(runs),
        same_seeds(runs),
        "## Seconds an ask, and retries after a failed fit\n",
        markdown(costs(runs)),
    ]
    return "\n".join(parts)


def introduction(runs: pd.DataFrame, rounds: int) -> str:
    """What was run, when and on what."""
    counts = runs.groupby("method")["trial"].nunique()
    seeds = "Seeds: " + ", ".join(f"{m} {counts[m]}" for m in present(runs))
    return INTRODUCTION.format(rounds=rounds, seeds=seeds, **ran_on(PACKAGES))


def present(runs: pd.DataFrame) -> list[str]:
    """The methods that have results, in the order of the columns."""
    return [method for method in ORDER if method in set(runs["method"])]


def per_task(runs: pd.DataFrame, column: str, statistic: str, error: bool = False) -> pd.DataFrame:
    """A row for each task, a column for each method, as text."""
    grouped = runs.groupby(["task", "method"])[column]
    text = grouped.agg(statistic).map(number)
    if error:
        text = text + grouped.sem().map(lambda s: "" if np.isnan(s) else f" ± {number(s)}")
    return text.unstack().reindex(columns=present(runs), index=task_order(runs)).fillna("")


def task_order(runs: pd.DataFrame) -> list[str]:
    """Tasks by noise, so that each kind of noise can be read as a block."""
    return sorted(set(runs["task"]), key=lambda t: (NOISES.index(t.split("/")[1]), t))


def summary(runs: pd.DataFrame) -> str:
    """Geometric means over groups of tasks, and surefoot's ratios to the best peers."""
    groups = {noise: [noise] for noise in NOISES} | {"spikes and pareto": ["spikes", "pareto"]}
    blocks = []
    for column, statistic in [("simple", "mean"), ("simple", "median"), ("cumulative", "mean")]:
        table = pd.DataFrame(
            {
                label: geometric(runs[runs["noise"].isin(noises)], column, statistic)
                for label, noises in groups.items()
            }
        ).T
        text = table.map(number)
        title = "recommendation" if column == "simple" else "each round"
        text.index.name = f"{title}, {statistic}"
        blocks.append(markdown(text))
    return "\n".join(blocks)


def geometric(runs: pd.DataFrame, column: str, statistic: str) -> pd.Series:
    """The geometric mean over tasks for each method, and surefoot's ratios where it has run."""
    cells = runs.groupby(["task", "method"])[column].agg(statistic).clip(lower=FLOOR).unstack()
    logs = np.log(cells.reindex(columns=present(runs)))
    # A method that misses a task of the group would be averaged over easier or harder tasks.
    result = np.exp(logs.mean(skipna=False))
    peers = [m for m in PEERS if m in logs]
    if "surefoot" in logs and peers:
        result["ratio to best peer"] = result["surefoot"] / result[peers].min()
        best = logs[peers].min(axis=1)
        result["ratio task by task"] = np.exp((logs["surefoot"] - best).mean(skipna=False))
    return result


def same_seeds(runs: pd.DataFrame) -> str:
    """surefoot against relevance pursuit on the runs that both have."""
    pair = ["surefoot", "botorch-robust"]
    wide = runs.set_index(["task", "trial", "method"])["simple"].unstack()
    common = wide.reindex(columns=pair).dropna().clip(lower=FLOOR)
    if common.empty:
        return ""
    noise = common.index.get_level_values("task").str.split("/").str[1]
    table = np.exp(np.log(common).groupby(noise).mean()).map(number)
    table["runs"] = common.groupby(noise).size().astype(str)
    table = table.reindex([n for n in NOISES if n in table.index])
    table.index.name = "noise"
    return (
        "## Against relevance pursuit on the same tasks and seeds\n\n"
        "Geometric mean over runs of the recommendation's regret.\n\n" + markdown(table)
    )


def costs(runs: pd.DataFrame) -> pd.DataFrame:
    """Mean seconds of an ask and the number of retried fits, for each method."""
    grouped = runs.groupby("method")
    table = pd.DataFrame(
        {
            "seconds": grouped["seconds"].mean().map(number),
            "retries": grouped["failures"].sum().astype(str),
            "runs": grouped.size().astype(str),
        }
    )
    return table.reindex(present(runs))
