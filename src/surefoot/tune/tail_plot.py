"""A plot of tails: a normal quantile plot, and the survival function of the deviations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special

from surefoot.tails import MAD_TO_SD, TailDiagnosis
from surefoot.tune.output_file import check_output, output_file
from surefoot.types import InvalidInput

POINTS, LINE, NORMAL = "#1f4e8c", "#c2410c", "#6b7280"
SURVIVAL = "share of larger deviations"


@dataclass(frozen=True, eq=False)
class Curve:
    """Points or a line of one of both panels: quantiles, and P(|y - median| > x) against x."""

    panel: int
    name: str
    x: NDArray[np.float64]
    y: NDArray[np.float64]
    style: str  # as Matplotlib has it: `.` for points, `-` and `--` for lines
    colour: str


def check_plot(path: Path) -> None:
    """Raise `InvalidInput` for a file that cannot be plotted to."""
    check_output(path, (".html", ".png"))
    if path.suffix.lower() == ".png":
        _matplotlib()


def write_plot(
    values: NDArray[np.float64], diagnosis: TailDiagnosis, name: str, path: Path
) -> None:
    """Plot values and their diagnosis.

    Args:
        values: The values (n,).
        diagnosis: Their diagnosis by `surefoot.tails.diagnose`.
        name: Name of the values, for the axes.
        path: A .html file, which needs no network, or a .png file, which needs Matplotlib.

    Raises:
        InvalidInput: If the file has another ending, or Matplotlib is missing.
        WriteFailed: If the file cannot be written.
    """
    check_plot(path)
    curves = _curves(np.sort(values), diagnosis)
    draw = _html if path.suffix.lower() == ".html" else _png
    with output_file(path) as partial:
        draw(curves, diagnosis, name, partial)


def _curves(values: NDArray[np.float64], diagnosis: TailDiagnosis) -> list[Curve]:
    n = len(values)
    quantiles = special.ndtri((np.arange(1, n + 1) - 0.5) / n)
    scale = MAD_TO_SD * float(np.median(np.abs(values - np.median(values)))) or float(values.std())
    fitted = np.median(values) + scale * quantiles
    deviations = np.sort(np.abs(values - np.median(values)))[::-1]
    survival = (np.arange(n) + 0.5) / n
    # On a log scale the bulk of the values would take most of the room.
    shown = deviations >= max(deviations[int(0.7 * (n - 1))], np.nextafter(0, 1))
    deviations, survival = deviations[shown], survival[shown]
    threshold = deviations[min(diagnosis.tail_count, len(deviations) - 1)]
    reach = np.geomspace(threshold, deviations[0] * 1.5, 50)
    tail = diagnosis.tail_count / n * (reach / threshold) ** -diagnosis.tail_index
    grid = np.geomspace(deviations[-1], deviations[0], 200)
    normal = 2 * special.ndtr(-grid / scale)
    visible = normal > 0.1 / n
    return [
        Curve(1, "values", quantiles, values, ".", POINTS),
        Curve(1, "normal", quantiles, fitted, "--", NORMAL),
        Curve(2, "deviations", deviations, survival, ".", POINTS),
        Curve(2, "normal", grid[visible], normal[visible], "--", NORMAL),
        Curve(2, "fitted tail", reach, tail, "-", LINE),
    ]


def _titles(diagnosis: TailDiagnosis) -> tuple[str, str]:
    return (
        f"Against the normal: distance {diagnosis.ks:.3f}, {diagnosis.p_text}",
        f"Tail index {diagnosis.tail_index:.2f} "
        f"({diagnosis.tail_lower:.2f} to {diagnosis.tail_upper:.2f})",
    )


def _html(curves: list[Curve], diagnosis: TailDiagnosis, name: str, path: Path) -> None:
    from plotly.graph_objects import Figure, Scatter
    from plotly.subplots import make_subplots

    figure: Figure = make_subplots(rows=1, cols=2, subplot_titles=_titles(diagnosis))
    for one in curves:
        style: dict[str, Any] = {"mode": "markers", "marker": {"color": one.colour, "size": 5}}
        if one.style != ".":
            dash = "dash" if one.style == "--" else "solid"
            style = {"mode": "lines", "line": {"color": one.colour, "dash": dash}}
        again = (one.panel, one.name) == (2, "normal")  # the legend has it
        trace = Scatter(x=one.x, y=one.y, name=one.name, showlegend=not again, **style)
        figure.add_trace(trace, row=1, col=one.panel)
    figure.update_xaxes(title_text="quantiles of the normal", row=1, col=1)
    figure.update_yaxes(title_text=name, row=1, col=1)
    figure.update_xaxes(title_text=f"|{name} - median|", type="log", row=1, col=2)
    figure.update_yaxes(title_text=SURVIVAL, type="log", row=1, col=2)
    figure.update_layout(template="plotly_white", title=f"Tails of {name} ({diagnosis.n} values)")
    figure.write_html(path, include_plotlyjs=True)


def _png(curves: list[Curve], diagnosis: TailDiagnosis, name: str, path: Path) -> None:
    figure = _matplotlib()(figsize=(11, 4.5), layout="constrained")
    panels = figure.subplots(1, 2)
    for one in curves:
        panels[one.panel - 1].plot(one.x, one.y, one.style, color=one.colour, label=one.name)
    panels[0].set(xlabel="quantiles of the normal", ylabel=name)
    panels[1].set(xlabel=f"|{name} - median|", ylabel=SURVIVAL, xscale="log", yscale="log")
    for axes, title in zip(panels, _titles(diagnosis), strict=True):
        axes.set_title(title, fontsize=10)
        axes.legend(frameon=False)
    figure.suptitle(f"Tails of {name} ({diagnosis.n} values)")
    figure.savefig(path, dpi=150, format="png")


def _matplotlib() -> Any:
    """Matplotlib's `Figure`, which needs no display."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise InvalidInput(
            "plotting to .png needs Matplotlib: pip install matplotlib (or plot to .html)"
        ) from None
    return Figure
