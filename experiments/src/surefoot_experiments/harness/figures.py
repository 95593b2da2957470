"""Figures of experiments: Matplotlib, with the same bytes for the same numbers.

Figures belong to no window, and no setting of Matplotlib is changed for good.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator, StrMethodFormatter
from pandas import DataFrame
from scipy import stats

from surefoot_experiments.harness.page import Measure
from surefoot_experiments.harness.trial import NUMBERS, Tables

# An algorithm has the same colour in every figure, from a palette for colour-blind readers.
_COLOURS = {
    "TGP-UCB": "#d9541e",
    "ATA-GP-UCB-QFF": "#3f86c8",
    "ATA-GP-UCB-Nyström": "#0a7f5a",
    "surefoot's ATA, quadrature": "#7b3fa0",
    "surefoot's ATA, Nyström": "#c99700",
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
    "V-UCB Prob, width 3": "#17becf",
    "V-UCB Prob, quantiles": "#17becf",
    "surefoot's V-UCB": "#7b3fa0",
    "StableOpt": "#c99700",
    "rho-KG": "#d9541e",
    "rho-KG as in BoRisk": "#d9541e",
    "surefoot's rho-KG": "#c99700",
    "random": "#6b7280",
}
_OTHERS = ("#8c564b", "#e377c2", "#17becf", "#9a6324", "#4363d8", "#808000")
_ALL = tuple(dict.fromkeys((*_OTHERS, *_COLOURS.values())))
_STYLE: Any = {
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
    """The colour of an algorithm, the same in every figure that has room for it."""
    other = _OTHERS[zlib.crc32(algorithm.encode()) % len(_OTHERS)]
    return _COLOURS.get(algorithm, other)


def colours_of(algorithms: Iterable[str]) -> dict[str, str]:
    """The colours of the algorithms of one figure, which differ while there are enough of them.

    Algorithms that have a colour of their own choose first.
    """
    names = list(dict.fromkeys(algorithms))
    colours: dict[str, str] = {}
    for name in sorted(names, key=lambda name: name not in _COLOURS):
        free = [colour for colour in _ALL if colour not in colours.values()]
        own = colour_of(name)
        colours[name] = own if own in free or not free else free[0]
    return {name: colours[name] for name in names}


def new_figure(columns: int, rows: int = 1, *, share: bool = False) -> tuple[Figure, list[Axes]]:
    """A figure and its panels, row by row."""
    figure: Figure = Figure(figsize=(_WIDTH * columns, _HEIGHT * rows), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share, sharey=share)
    return figure, list(grid.flat)


def panel(axes: Axes, algorithm: str, title: str | None = None) -> str:
    """Set the title of a panel, the algorithm's name unless given, and return its colour."""
    axes.set_title(algorithm if title is None else title)
    return colour_of(algorithm)


def band(axes: Axes, curves: DataFrame, algorithm: str, measure: Measure, colour: str) -> None:
    """Draw the mean over trials (columns) at each round (rows), with the measure's band."""
    spread = curves.std(axis=1)
    if measure.band == "the 70 % interval":
        trials = curves.shape[1]
        spread = spread * stats.t.ppf(0.85, max(trials - 1, 1)) / math.sqrt(trials)
    mean, spread = curves.mean(axis=1), spread.fillna(0.0)
    axes.fill_between(
        curves.index, mean - spread, mean + spread, color=colour, alpha=0.18, linewidth=0
    )
    axes.plot(curves.index, mean, color=colour, label=algorithm)
    points = measure.points.get(algorithm, {})
    axes.scatter(list(points), list(points.values()), marker="x", color=colour)


def curves(tables: Tables, measure: Measure) -> Figure:
    """Mean and band of every algorithm over trials, with a panel for each task."""
    numbers = tables[NUMBERS]
    with_tasks = "task" in numbers
    tasks = list(numbers["task"].unique()) if with_tasks else [""]
    columns = min(len(tasks), _ACROSS)
    figure, axes = new_figure(columns, -(-len(tasks) // columns))
    colours = colours_of(numbers["algorithm"])
    for axis, task in zip(axes, tasks, strict=False):
        own = numbers[numbers["task"] == task] if with_tasks else numbers
        for name in own["algorithm"].unique():
            one = own[own["algorithm"] == name]
            by_round = one.pivot(index="round", columns="trial", values=measure.column)
            band(axis, by_round, name, measure, colours[name])
        axis.set(title=task, xlabel="round")
        axis.xaxis.set_major_locator(MaxNLocator(_TICKS, integer=True))
        axis.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        if measure.logarithmic:
            axis.set_yscale("log")
        elif own[measure.column].min() >= 0.0:
            axis.set_ylim(0, None)
    for axis in axes[len(tasks) :]:
        axis.remove()
    axes[0].set_ylabel(measure.label)
    legend(figure, *axes[: len(tasks)])
    return figure


def legend(figure: Figure, *axes: Axes) -> None:
    """Place one legend of some panels below all panels."""
    entries: dict[str, Artist] = {}
    for one in axes:
        handles, labels = one.get_legend_handles_labels()
        entries.update(zip(labels, handles, strict=True))
    labels, handles = list(entries), list(entries.values())
    columns = max(1, min(len(labels), int(figure.get_figwidth() / _LABEL)))
    figure.legend(handles, labels, frameon=False, ncols=columns, loc="outside lower center")


@contextmanager
def style() -> Iterator[None]:
    """Apply the style of all figures within the context."""
    with matplotlib.rc_context(_STYLE):
        yield


def save(figure: Figure, folder: Path, name: str = "figure") -> None:
    """Save as SVG and PNG without a date; a line of one point is drawn as a dot."""
    for axes in figure.axes:
        for line in axes.lines:
            values = np.asarray(line.get_ydata(), dtype=float)
            if np.isfinite(values).sum() == 1 and line.get_marker() == "None":
                line.set(marker="o", markersize=4)
    figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
    figure.savefig(folder / f"{name}.png", dpi=_DPI, metadata={"Software": None})
