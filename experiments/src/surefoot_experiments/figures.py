"""Pictures of experiments: Matplotlib, the same bytes for the same numbers.

A figure belongs to no window, and no setting of Matplotlib stays changed.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from scipy import stats

from surefoot_experiments.optional import optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from pandas import DataFrame

    from surefoot_experiments.experiment import Measure, Tables

# An algorithm has its colour in every figure; told apart also by those who see few of them.
_COLOURS = {
    "TGP-UCB": "#d9541e",
    "ATA-GP-UCB-QFF": "#3f86c8",
    "ATA-GP-UCB-Nyström": "#0a7f5a",
    "robust_ucb": "#7b3fa0",
    "GP-UCB": "#6b7280",
    "GP-UCB, truncated": "#3f86c8",
    "GP-UCB, all t rewards": "#111827",
    "median of means": "#c99700",
    "BKB": "#3f86c8",
    "BBKB": "#0a7f5a",
    "subset of regressors": "#d9541e",
    "exact Gaussian process": "#6b7280",
    "cholesky, published width": "#3f86c8",
    "symmetric, published width": "#0a7f5a",
    "cholesky, theorem's width": "#d9541e",
    "symmetric, theorem's width": "#c99700",
    "no truncation": "#6b7280",
    "truncated": "#d9541e",
    "adaptively truncated": "#3f86c8",
    "V-UCB": "#3f86c8",
    "V-UCB Prob": "#3f86c8",
    "V-UCB Unif": "#0a7f5a",
    "V-UCB Prob, half width": "#7b3fa0",
    "StableOpt": "#c99700",
    "rho-KG": "#d9541e",
}
_OTHERS = ("#8c564b", "#e377c2", "#17becf", "#9a6324", "#4363d8", "#808000")
_STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.hashsalt": "surefoot",  # names of clip paths, random otherwise
    "svg.fonttype": "path",
}
_ACROSS, _WIDTH, _HEIGHT, _DPI = 3, 4.2, 3.2, 150  # panels in a row; inches of each
_TICKS = 5  # most steps along the rounds, whose numbers are long
_LABEL = 2.1  # inches that a name takes


def colour_of(algorithm: str) -> str:
    """Its colour, always the same one."""
    other = _OTHERS[zlib.crc32(algorithm.encode()) % len(_OTHERS)]
    return _COLOURS.get(algorithm, other)


def new_figure(columns: int, rows: int = 1, *, share: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure with panels, row after row."""
    figure: Figure = optional("matplotlib.figure", "a figure").Figure(
        figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained"
    )
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
    return figure, list(grid.flat)


def panel(axes: Axes, algorithm: str, title: str | None = None) -> str:
    """Put a title over a panel, its algorithm's name unless given; gives the colour."""
    axes.set_title(algorithm if title is None else title)
    return colour_of(algorithm)


def band(axes: Axes, curves: DataFrame, algorithm: str, measure: Measure) -> None:
    """Mean over trials (columns) at each round (rows), and the measure's band about it."""
    spread = curves.std(axis=1)
    if measure.band == "the 70 % interval":
        trials = curves.shape[1]
        spread = spread * stats.t.ppf(0.85, max(trials - 1, 1)) / math.sqrt(trials)
    mean, spread = curves.mean(axis=1), spread.fillna(0.0)
    colour = colour_of(algorithm)
    axes.fill_between(
        curves.index, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0
    )
    axes.plot(curves.index, mean, color=colour, label=algorithm)


def curves(tables: Tables, measure: Measure) -> Figure:
    """Every algorithm's mean and band over trials, a panel for each task."""
    numbers = tables["numbers"]
    with_tasks = "task" in numbers
    tasks = list(numbers["task"].unique()) if with_tasks else [""]
    columns = min(len(tasks), _ACROSS)
    ticks = optional("matplotlib.ticker", "a figure")
    figure, axes = new_figure(columns, -(-len(tasks) // columns))
    for axis, task in zip(axes, tasks, strict=False):
        own = numbers[numbers["task"] == task] if with_tasks else numbers
        for name in own["algorithm"].unique():
            one = own[own["algorithm"] == name]
            by_round = one.pivot(index="round", columns="trial", values=measure.column)
            band(axis, by_round, name, measure)
        axis.set(title=task, xlabel="round")
        axis.xaxis.set_major_locator(ticks.MaxNLocator(_TICKS, integer=True))
        axis.xaxis.set_major_formatter(ticks.StrMethodFormatter("{x:,.0f}"))
        if measure.logarithmic:
            axis.set_yscale("log")
        elif own[measure.column].min() >= 0.0:
            axis.set_ylim(0, None)
    for axis in axes[len(tasks) :]:
        axis.remove()
    axes[0].set_ylabel(measure.label)
    legend(figure, axes[0])
    return figure


def legend(figure: Figure, axes: Axes) -> None:
    """Put the names of what a panel shows below all panels, where they hide no curve."""
    handles, labels = axes.get_legend_handles_labels()
    columns = max(1, min(len(labels), int(figure.get_figwidth() / _LABEL)))
    figure.legend(handles, labels, frameon=False, ncols=columns, loc="outside lower center")


@contextmanager
def style() -> Iterator[None]:
    """The look of all figures, within."""
    with optional("matplotlib", "a figure").rc_context(_STYLE):
        yield


def save(figure: Figure, folder: Path, name: str = "figure") -> None:
    """As SVG and PNG, without the date; a line of a single point, else invisible, as a dot."""
    for axes in figure.axes:
        for line in axes.lines:
            if np.isfinite(line.get_ydata()).sum() == 1 and line.get_marker() == "None":
                line.set(marker="o", markersize=4)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=_DPI, metadata={"Software": None})
