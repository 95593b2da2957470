"""The Markdown report and the picture of regrets of sketches against the exact process."""

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from surefoot_experiments.harness.tables import markdown, ran_on, ratio, with_errors
from surefoot_experiments.harness.trial import Tables

PACKAGES = ["surefoot", "torch", "gpytorch", "scikit-learn", "numpy"]
MOST_WORSE = 1.10  # what BKB must reach against exact GP-UCB
LOOKS = {  # name in the picture, colour, marker
    "gp-ucb": ("exact GP-UCB, table of all arms", "#222222", "s"),
    "gpytorch": ("exact GP-UCB, GPyTorch", "#8a8f98", "s"),
    "bkb-2-pull": ("BKB, q̄ = 2", "#a9d0f0", "o"),
    "bkb-2-arm": ("BKB, q̄ = 2, per arm", "#4a94d6", "o"),
    "bkb-5-pull": ("BKB, q̄ = 5", "#123f70", "o"),
    "bbkb-2-pull": ("BBKB, q̄ = 2", "#f6c9a8", "D"),
    "bbkb-2-arm": ("BBKB, q̄ = 2, per arm", "#ee8a3c", "D"),
    "bbkb-5-pull": ("BBKB, q̄ = 5", "#a83a08", "D"),
    "qff": ("quadrature Fourier", "#2f8f5b", "^"),
    "rff": ("random Fourier", "#9b59b6", "v"),
}

INTRODUCTION = """# Regret of sketches against the exact Gaussian process

R_t, the regret after {rounds:,} rounds, over that of a policy that pulls arms uniformly at random
(its expectation): 1 is no better than chance, 0 is perfect. Mean over problems ± its standard
error. Gaussian noise of standard deviation 0.1, ridge 0.01. All methods of a problem see
the same noise in the same round, begin on the same random arm, and have the width of BKB's
Theorem 2 at the same scale, with delta = 0.1 and the function's norm.

- **d = 1, 2, 5**: random functions (`surefoot_experiments.problems.random_function`, max|f| = 1) on
  1,000 arms of [0, 1]^d, evenly spaced in one dimension and uniform in more; squared exponential
  kernel of lengthscale 0.2, 0.3 and 0.8.
- **diabetes, d = 10**: real data, `sklearn.datasets.load_diabetes`: the arms are its 442 patients
  with their ten measurements, standardised; f is how their disease had gone on a year later,
  centred and scaled to max|f| = 1; lengthscale 5. No smooth function: patients that are alike fare
  differently. The function is the same in all runs; noise, first arm and dictionaries are not.
- **gp-ucb**: the exact process as this library has it for up to 2,048 arms, in a table of all of
  them; **gpytorch**: the same with all t observations in a GPyTorch model, on few problems for
  its time (in the picture at its ratio to gp-ucb on those).
- **bkb**, **bbkb** (batches, C = 2), with their oversampling q̄: an arm of n pulls is drawn for the
  dictionary n times ("pull", as in the paper) or once with n times the probability ("arm", as in
  the code that its authors published).
- **qff**: quadrature Fourier features, 32 nodes in one dimension and 16 an axis in two (in five
  the grid is too large); **rff**: 256 random Fourier features. These know too little about what
  they have not seen, which saves exploration where the width asks for more than is needed; there
  is no bound on what it may cost.

Run {date} on {cores} cores, CPU, one thread a run, the methods of a problem in turns. {versions}.

![Regret against milliseconds a round](figure.png)
"""


def report(tables: Tables) -> str:
    """The report of all finished runs."""
    table = tables["runs"]
    parts = [
        INTRODUCTION.format(
            rounds=int(table["rounds"].max()),
            **ran_on(PACKAGES),
        )
    ]
    for scale, chosen in table.groupby("scale"):
        parts += [
            f"## At {scale:g} of the theorem's width\n",
            f"{_problems(chosen)}.\n",
            markdown(over_tasks(with_errors(_wide(chosen, "ratio").groupby("method")))),
            "\nOver the regret of exact GP-UCB, ratio of means; BKB must be at most "
            f"{MOST_WORSE:.2f}:\n",
            markdown(against_exact(chosen)),
            "\nMilliseconds of one core a round, features (mean of the later half) and, in "
            "brackets, share\nof the rounds on the same arm as exact GP-UCB:\n",
            markdown(cost(chosen)),
        ]
    return "\n".join(parts)


def _problems(table: pd.DataFrame) -> str:
    """How many problems of each task were run."""
    numbers = table.groupby("task", sort=False)["trial"].nunique()
    if numbers.nunique() == 1:
        return f"{numbers.iloc[0]} problems of each task"
    return "Problems: " + ", ".join(f"{number} of {task}" for task, number in numbers.items())


def over_tasks(table: pd.DataFrame) -> pd.DataFrame:
    """Rows in the order of the methods, with nothing where a method did not run."""
    table = table.reindex([name for name in LOOKS if name in table.index])
    table.index.name, table.columns.name = "method", None
    return table.map(lambda text: "–" if pd.isna(text) or text == "nan" else str(text))


def against_exact(rows: pd.DataFrame) -> pd.DataFrame:
    """Regret over that of exact GP-UCB on the same problems."""
    cells: dict[str, dict[str, str]] = {}
    for task, chosen in rows.groupby("task", sort=False):
        table = chosen.pivot_table("ratio", "trial", "method")
        for name in (n for n in LOOKS if n in table and n != "gp-ucb"):
            both = table[[name, "gp-ucb"]].dropna()
            value, error = ratio(both[name], both["gp-ucb"])
            text = f"{value:.2f}" + ("" if pd.isna(error) else f" ± {error:.2f}")
            if name.startswith("bkb"):
                text += ", yes" if value <= MOST_WORSE else ", NO"
            cells.setdefault(str(task), {})[name] = text
    return over_tasks(pd.DataFrame(cells))


def cost(rows: pd.DataFrame) -> pd.DataFrame:
    """Median milliseconds a round, features, and how often the exact process' arm was asked."""
    groups = rows.groupby(["method", "task"], sort=False)
    text = (
        groups["milliseconds"].median().map("{:.2f} ms, ".format)
        + groups["dimension"].mean().map("{:.0f}".format)
        + groups["same"].mean().map(" ({:.0%})".format)
    )
    return over_tasks(text.unstack("task")[list(rows["task"].unique())])


def draw(tables: Tables, scale: float) -> Figure:
    """Regret against milliseconds a round at one scale of the width, a panel for each task.

    A method that ran on few problems is drawn at its ratio to exact GP-UCB on those.
    """
    table = tables["runs"]
    table = table[table["scale"] == scale]
    tasks = list(table["task"].unique())
    figure = Figure(figsize=(9.6, 3.5), facecolor="white")
    panels = figure.subplots(1, len(tasks), squeeze=False, sharex=True)
    for axes, task in zip(panels[0], tasks, strict=True):
        _panel(axes, table[table["task"] == task])
        axes.set_title(task, fontsize=10)
    panels[0][0].set_ylabel("regret / regret of chance")
    panels[0][0].set_xscale("log")
    panels[0][0].xaxis.set_major_formatter("{x:g}")
    panels[0][0].xaxis.set_minor_formatter(NullFormatter())
    figure.supxlabel("milliseconds of one core a round", y=0.17, fontsize=9)
    handles = {h.get_label(): h for axes in panels[0] for h in axes.containers}
    order = [look[0] for look in LOOKS.values() if look[0] in handles]
    figure.tight_layout(rect=(0, 0.17, 1, 1))
    figure.legend(
        [handles[name] for name in order],
        order,
        frameon=False,
        fontsize=8,
        ncols=5,
        loc="lower center",
    )
    return figure


def _panel(axes: Axes, rows: pd.DataFrame) -> None:
    regrets = rows.pivot_table("ratio", "trial", "method")
    times = rows.groupby("method")["milliseconds"].median()
    for name, (label, colour, marker) in LOOKS.items():
        if name not in regrets:
            continue
        mine = regrets[name].dropna()
        few = len(mine) < len(regrets)
        share = mine.mean() / regrets["gp-ucb"][mine.index].mean()
        axes.errorbar(
            times[name],
            share * regrets["gp-ucb"].mean() if few else mine.mean(),
            yerr=None if few or len(mine) == 1 else mine.sem(),
            color=colour,
            marker=marker,
            markersize=6,
            linestyle="none",
            elinewidth=1,
            label=label,
        )
    axes.set_ylim(0, 1.1 * axes.get_ylim()[1])
    axes.grid(color="#eeeeee", linewidth=0.8)
    axes.set_axisbelow(True)


def _wide(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """Rows (method, problem), columns tasks."""
    table = rows.pivot_table(value, ["method", "trial"], "task", sort=False)
    return table[list(rows["task"].unique())]
