"""Common parts of the figures of a report: axes, colours, predictions and measurements.

Colours of text, grid and background are left out: they come from the page's theme.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from surefoot.tune.report.contents import Interval, Trial
from surefoot.tune.report.formatting import escape, trial_html
from surefoot.types import Constraint

BLUE = "#3f86c8"
BAND = "rgba(63, 134, 200, 0.24)"
ORANGE = "#d9541e"
GREY = "#8a8f98"
SYMBOLS = {  # by the sides of the horizontal and the vertical axis that a value is beyond
    (0, 0): "circle",
    (0, -1): "triangle-down",
    (0, 1): "triangle-up",
    **{(-1, side): "triangle-left" for side in (-1, 0, 1)},
    **{(1, side): "triangle-right" for side in (-1, 0, 1)},
}
PREDICTED = "predicted, with its interval"
SMALL = {"height": 250, "showlegend": False, "margin": {"l": 52, "r": 12, "t": 8, "b": 32}}
GRID = 41  # values along an axis
FENCE = 3.0  # interquartile ranges: far out by Tukey's rule (Exploratory Data Analysis, 1977)


@dataclass(frozen=True)
class AxisRange:
    """The ends of a vertical axis; values beyond are drawn at its border."""

    low: float
    high: float

    @classmethod
    def of(
        cls, values: Iterable[float], shown: Iterable[float] = (), margin: float = 0.06
    ) -> "AxisRange":
        """The range of `values` up to their outer fences, widened to include all of `shown`.

        `margin` is the share of the range that is added at both ends.
        """
        data = np.asarray(list(values), dtype=float)
        always = np.asarray(list(shown), dtype=float)
        data, always = data[np.isfinite(data)], always[np.isfinite(always)]
        ends = list(always)
        if data.size:
            first, third = np.quantile(data, [0.25, 0.75])
            reach = FENCE * (third - first)
            near = data[(data >= first - reach) & (data <= third + reach)]
            ends += [near.min(), near.max()]
        if not ends:
            return cls(0.0, 1.0)
        low, high = float(min(ends)), float(max(ends))
        pad = margin * (high - low) or 0.5 * abs(high) or 0.5
        return cls(low - pad, high + pad)

    @classmethod
    def of_intervals(
        cls, intervals: Iterable[Interval], shown: Iterable[float] = (), margin: float = 0.1
    ) -> "AxisRange":
        """A range that includes all of the intervals."""
        ends = [end for interval in intervals for end in (interval.lower, interval.upper)]
        return cls.of([], [*ends, *shown], margin)

    def clip(self, value: float) -> float:
        """`value`, or the border just inside the axis when it lies beyond."""
        inset = 0.02 * (self.high - self.low)
        return min(max(value, self.low + inset), self.high - inset)

    def side(self, value: float) -> int:
        """-1 below the axis, 1 above it, 0 on it."""
        return int(value > self.high) - int(value < self.low)


def new_figure(x_title: str, y_title: str, axis: AxisRange, **layout: Any) -> go.Figure:
    """An empty figure with a vertical axis of this range."""
    figure = go.Figure()
    figure.update_layout(
        height=380,
        margin={"l": 64, "r": 16, "t": 16, "b": 52},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        hoverlabel={"align": "left"},
        xaxis={"title": {"text": escape(x_title)}, "zeroline": False, "automargin": True},
        yaxis={
            "title": {"text": escape(y_title)},
            "range": [axis.low, axis.high],
            "zeroline": False,
            "automargin": True,
        },
    )
    figure.update_layout(**layout)
    return figure


def add_markers(
    figure: go.Figure,
    x: Sequence[Any],
    y: Sequence[Any],
    hover: Sequence[str],
    name: str = "",
    **marker: Any,
) -> None:
    """Draw points with texts that are shown at them."""
    figure.add_scatter(
        x=x,
        y=y,
        mode="markers",
        name=name,
        showlegend=bool(name),
        marker=marker,
        hovertext=hover,
        hoverinfo="text",
    )


def add_line(
    figure: go.Figure, x: Sequence[Any], y: Sequence[Any], name: str = "", **line: Any
) -> None:
    """Draw a line that shows no text."""
    figure.add_scatter(
        x=x, y=y, mode="lines", name=name, showlegend=bool(name), line=line, hoverinfo="skip"
    )


def shares(colours: list[str], **place: Any) -> dict[str, Any]:
    """Settings of markers that are coloured by numbers from 0 to 1, with a scale beside them."""
    bar = {"thickness": 8, "outlinewidth": 0, "tickvals": [0, 0.5, 1], **place}
    return {"colorscale": colours, "cmin": 0, "cmax": 1, "colorbar": bar}


def error_bars(
    values: Sequence[float], lower: Sequence[float], upper: Sequence[float], **line: Any
) -> dict[str, Any]:
    """Bars from lower to upper ends of intervals."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [end - value for value, end in zip(values, upper, strict=True)],
        "arrayminus": [value - end for value, end in zip(values, lower, strict=True)],
        **line,
    }


def add_band(
    figure: go.Figure, lower: tuple[Any, Any], upper: tuple[Any, Any], shape: str = "linear"
) -> None:
    """Fill the area between two curves, each given as (x, y)."""
    for x, y in (upper, lower):
        add_line(figure, x, y, width=0, shape=shape)
    figure.data[-1].update(fill="tonexty", fillcolor=BAND)


def add_curve(
    figure: go.Figure,
    x: Sequence[Any],
    intervals: Sequence[Interval],
    hover: Sequence[str],
    name: str = PREDICTED,
    mode: str = "lines",
) -> None:
    """Draw predictions as a curve in a band."""
    add_band(figure, (x, [i.lower for i in intervals]), (x, [i.upper for i in intervals]))
    figure.add_scatter(
        x=x,
        y=[interval.mean for interval in intervals],
        mode=mode,
        name=name,
        line={"color": BLUE, "width": 2},
        hovertext=hover,
        hoverinfo="text",
    )


def add_points(
    figure: go.Figure,
    x: Sequence[Any],
    intervals: Sequence[Interval],
    marked: Sequence[bool],
    hover: Sequence[str],
) -> None:
    """Draw predictions one by one with error bars, the marked ones in orange."""
    means, lower, upper = zip(*((one.mean, one.lower, one.upper) for one in intervals), strict=True)
    colours = [ORANGE if one else BLUE for one in marked]
    add_markers(figure, x, means, hover, PREDICTED, color=colours, size=10)
    figure.data[-1].error_y = error_bars(means, lower, upper, color=BLUE, thickness=2)


def add_measurements(
    figure: go.Figure,
    trials: Sequence[Trial],
    x: Sequence[Any],
    y: Sequence[float],
    axis: AxisRange,
    name: str = "",
    outlying: Iterable[bool] = (),
    across: AxisRange | None = None,
    **marker: Any,
) -> None:
    """Draw measurements alike in every figure, by default as small grey points.

    Open symbols are infeasible trials, orange ones outliers, triangles at the border values beyond
    the axes.

    Args:
        figure: Where to draw.
        trials: The trials.
        x: Where they are on the horizontal axis.
        y: Their values.
        axis: The vertical axis.
        name: Name in the legend.
        outlying: Whether each value is an outlier.
        across: The horizontal axis, where values may be beyond it.
        marker: Settings of the markers; `color` is that of values that are no outliers.
    """
    sides = [0 if across is None else across.side(one) for one in x]
    places = [axis.clip(one) for one in y]
    where = x if across is None else [across.clip(one) for one in x]
    drawn = {"size": 5, "opacity": 0.55, "color": GREY, **marker}
    if any(marked := [*outlying]):
        drawn["color"] = [ORANGE if one else drawn["color"] for one in marked]
    symbols = [
        SYMBOLS[side, axis.side(value)] + "-open" * bool(trial.violated)
        for trial, side, value in zip(trials, sides, y, strict=True)
    ]
    add_markers(
        figure, where, places, [trial_html(one) for one in trials], name, symbol=symbols, **drawn
    )


def add_limit(figure: go.Figure, limit: Constraint) -> None:
    """Draw a limit as a dashed line."""
    figure.add_hline(y=limit.center, line={"color": ORANGE, "dash": "dash"})
