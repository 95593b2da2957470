"""The Markdown report and the picture of regrets under value at risk."""

import math
from pathlib import Path

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from scipy import stats

from robust_table import markdown, ran_on

PACKAGES = ["surefoot", "torch", "gpytorch", "botorch", "numpy"]
FLOOR = 1e-4  # of a regret: how exactly the optimum is known
FLOORS = {"robot-pushing": 1e-2}
SHARE = 0.7  # of the intervals
OURS = "v-ucb-prob"
LOOKS = {  # name in the picture, colour
    OURS: ("V-UCB Prob", "#123f70"),
    "v-ucb-unif": ("V-UCB Unif", "#6fb1e6"),
    "rho-kg": ("ρKG$^{apx}$", "#ee8a3c"),
    "v-ucb-huber": ("V-UCB Prob, Huber", "#2f8f5b"),
    "v-ucb-student-t": ("V-UCB Prob, Student-t", "#9b59b6"),
    "random": ("random", "#8a8f98"),
}
PANELS = 4  # a row

INTRODUCTION = """# Regret under value at risk

log10 of how far the value at risk of the recommended design lies below the best one; lower is
better. {runs} runs; methods of a run begin with the same first points and see the same noise, and
the kernel is learnt every 3 rounds. The tasks are those of Nguyen et al. 2021 (value at risk),
Section 4 (`surefoot.problems`), with the numbers of coordinates of x and of z in their names;
level 0.1, for the portfolio 0.2.

- **branin**, **goldstein-price** (its logarithm), **hartmann**: zero mean and unit standard
  deviation, noise of variance 0.01, 3, 3 and 10 first points, 60 evaluations after them. Z has 100
  values, 64 where it has two coordinates, or is continuous. **-student-t**: t(2) noise times 0.3.
- **portfolio**: annual return in %, 100 equally likely z, 20 first points, 80 evaluations.
- **robot-pushing**: a simulation of a hand that pushes a disc, and is not quite where it should
  be; 64 z, 30 first points, 100 evaluations. Its optimum is known to 0.01, and regrets below that
  count as that, as 0.0001 in the others.
- **v-ucb-prob**, **v-ucb-unif**: `algorithms.v_ucb` with a lacing value of largest probability or
  a random one; **v-ucb-huber**, **v-ucb-student-t**: "prob" with these estimators; **rho-kg**:
  `algorithms.rho_kg`; **random**: random pairs, and of their designs the one that the model of
  V-UCB recommends.

Run {date} on {cores} cores, CPU, one thread a run. {versions}.

![log10 regret against evaluations](../docs/images/risk_regret.png)
"""


def report(rows: list[dict]) -> str:
    """The report of finished runs."""
    whole, half = _logs(rows, 1.0), _logs(rows, 0.5)
    runs = pd.DataFrame(rows)["run"].nunique()
    cell = f"median, mean [{SHARE:.0%} interval of the mean]"
    return "\n".join(
        [
            INTRODUCTION.format(runs=runs, **ran_on(PACKAGES)),
            f"## After all evaluations: {cell}\n",
            markdown(_summaries(whole)),
            f"## After half of them: {cell}\n",
            markdown(_summaries(half)),
            f"## What {OURS} gains\n",
            f"log10 regret of {OURS} minus that of the other on the same run, after all\n"
            "evaluations, mean ± standard error; below 0 it is better.\n",
            markdown(_against(whole)),
            "## CPU seconds an ask, the fit of the kernel included\n",
            markdown(_seconds(rows)),
        ]
    )


def draw(rows: list[dict], path: Path) -> None:
    """Mean log10 regret against evaluations with its 70 % interval, a panel for each task."""
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    high, wide = math.ceil(len(tasks) / PANELS), min(len(tasks), PANELS)
    plt.rcParams.update(
        {"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 130}
    )
    height = 2.1 * high + 0.6  # inches
    figure, panels = plt.subplots(
        high, wide, figsize=(2.4 * wide, height), squeeze=False, facecolor="white"
    )
    for axes in panels.flat[len(tasks) :]:
        axes.set_visible(False)
    for axes, task in zip(panels.flat, tasks, strict=False):
        _panel(axes, [row for row in rows if row["task"] == task])
        axes.set_title(task, fontsize=9)
    figure.text(0.5, 0.36 / height, "evaluations after the first points", ha="center")
    figure.supylabel("log$_{10}$ regret", fontsize=9)
    lines = {line.get_label(): line for axes in panels.flat for line in axes.lines}
    names = [label for label, _ in LOOKS.values() if label in lines]
    figure.tight_layout(rect=(0, 0.5 / height, 1, 1))
    figure.legend(
        [lines[name] for name in names],
        names,
        frameon=False,
        fontsize=8,
        ncols=len(names),
        loc="lower center",
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path)
    plt.close(figure)


def _panel(axes: Axes, rows: list[dict]) -> None:
    for method, (label, colour) in LOOKS.items():
        mine = [_log_regret(row) for row in rows if row["method"] == method]
        if not mine:
            continue
        curves = np.array(mine)
        centre, reach = curves.mean(0), _reach(curves)
        evaluations = np.arange(curves.shape[1])
        axes.plot(evaluations, centre, color=colour, linewidth=1.4, label=label)
        axes.fill_between(
            evaluations, centre - reach, centre + reach, color=colour, alpha=0.15, linewidth=0
        )
    axes.grid(color="#eeeeee", linewidth=0.8)
    axes.set_axisbelow(True)


def _log_regret(row: dict) -> np.ndarray:
    """log10 of the regrets of a run, of which none counts as less than its optimum is known."""
    return np.log10(np.maximum(row["regrets"], FLOORS.get(row["task"], FLOOR)))


def _reach(values: np.ndarray) -> np.ndarray:
    """Half the interval of the mean over runs, the first axis, by Student's t; 0 for one run."""
    runs = len(values)
    if runs == 1:
        return np.zeros(values.shape[1:])
    quantile = stats.t.ppf(0.5 + SHARE / 2.0, runs - 1)
    return quantile * values.std(0, ddof=1) / math.sqrt(runs)


def _logs(rows: list[dict], share: float) -> pd.DataFrame:
    """log10 regret of every run after this share of its evaluations."""
    return pd.DataFrame(
        [
            {
                "task": row["task"],
                "method": row["method"],
                "run": row["run"],
                "log": _log_regret(row)[round(share * row["evaluations"])],
            }
            for row in rows
        ]
    )


def _summaries(logs: pd.DataFrame) -> pd.DataFrame:
    def text(values: pd.Series) -> str:
        reach = float(_reach(values.to_numpy()))
        mean = values.mean()
        between = f" [{mean - reach:.2f}, {mean + reach:.2f}]" if len(values) > 1 else ""
        return f"{values.median():.2f}, {mean:.2f}{between}"

    return _by_task(logs.groupby(["task", "method"], sort=False)["log"].agg(text))


def _against(logs: pd.DataFrame) -> pd.DataFrame:
    cells = {}
    for task, chosen in logs.groupby("task", sort=False):
        table = chosen.pivot(index="run", columns="method", values="log")
        for method in (m for m in table if OURS in table and m != OURS):
            gains = (table[OURS] - table[method]).dropna()
            error = f" ± {gains.sem():.2f}" if len(gains) > 1 else ""
            if len(gains):
                cells[task, method] = f"{gains.mean():+.2f}{error}"
    index = pd.MultiIndex.from_tuples(cells or [("none", OURS)], names=["task", "method"])
    return _by_task(pd.Series(list(cells.values()) or [""], index=index))


def _seconds(rows: list[dict]) -> pd.DataFrame:
    """Median over runs of the mean over a run."""
    table = pd.DataFrame(
        [(row["task"], row["method"], np.mean(row["seconds"])) for row in rows],
        columns=["task", "method", "seconds"],
    )
    means = table.groupby(["task", "method"], sort=False)["seconds"].median()
    return _by_task(means.map("{:.3f}".format))


def _by_task(cells: pd.Series) -> pd.DataFrame:
    """A row for each task, a column for each method."""
    tasks = cells.index.get_level_values("task").unique()
    table = cells.unstack("method").reindex(tasks)
    table = table[[name for name in LOOKS if name in table]]
    table.columns.name = None
    return table.fillna("–")
