"""The figures over time: how the recommendation settled, and every measurement."""

from typing import Any

import numpy as np
import plotly.graph_objects as go

from surefoot.tune.report.data import ReportData
from surefoot.tune.report.frame import (
    BAND,
    BLUE,
    GREY,
    ORANGE,
    SYMBOLS,
    band,
    describe,
    frame,
    interval,
    measured,
)
from surefoot.tune.report.ranges import Range

# From an outlier, through a doubt, to a measurement taken in full.
WEIGHTS = [[0.0, ORANGE], [0.5, "#d9a441"], [1.0, BLUE]]


def convergence(data: ReportData) -> go.Figure:
    """The recommendation as it evolved, as believed then and in hindsight."""
    counts = [point.trials for point in data.history]
    believed = [point.believed for point in data.history]
    hindsight = [point.hindsight.mean for point in data.history]
    axis = Range.of(
        [edge for belief in believed for edge in (belief.lower, belief.upper)],
        [*hindsight, data.value.lower, data.value.upper],
    )
    hover = [
        f"after {point.trials} measurements<br>believed then {interval(point.believed)}"
        f"<br>in hindsight {interval(point.hindsight)}"
        for point in data.history
    ]
    figure = frame("measurements", "recommendation's value", axis)
    figure.add_traces(band(counts, believed))
    figure.add_scatter(
        x=counts,
        y=[belief.mean for belief in believed],
        mode="lines+markers",
        name="believed then",
        line={"color": BLUE, "width": 2},
        hovertext=hover,
        hoverinfo="text",
    )
    figure.add_scatter(
        x=counts,
        y=hindsight,
        mode="markers",
        name="in hindsight",
        marker={"color": ORANGE, "symbol": "diamond-open", "size": 9, "line": {"width": 2}},
        hovertext=hover,
        hoverinfo="text",
    )
    return figure


def measurements(data: ReportData) -> go.Figure:
    """Every measurement, coloured by its weight in the model; failed trials on the lower edge."""
    values = [measured(trial) for trial in data.measured]
    axis = Range.of(values, [data.value.lower, data.value.upper])
    if data.failed:
        axis = Range(axis.low - 0.08 * (axis.high - axis.low), axis.high)
    figure = frame("trial", "measured", axis)
    figure.add_hrect(y0=data.value.lower, y1=data.value.upper, fillcolor=BAND, line_width=0)
    figure.add_hline(y=data.value.mean, line={"color": BLUE, "width": 1.5})
    figure.add_scatter(
        x=[trial.number for trial in data.measured],
        y=[axis.clip(value) for value in values],
        mode="markers",
        name="measurements",
        showlegend=False,
        marker={
            "color": [1.0 if trial.weight is None else trial.weight for trial in data.measured],
            "colorscale": WEIGHTS,
            "cmin": 0,
            "cmax": 1,
            "colorbar": {
                "orientation": "h",
                "x": 1,
                "xanchor": "right",
                "y": 1.02,
                "yanchor": "bottom",
                "len": 160,
                "lenmode": "pixels",
                "thickness": 8,
                "outlinewidth": 0,
                "tickvals": [0, 0.5, 1],
            },
            "symbol": [SYMBOLS[axis.side(value)] for value in values],
            "size": 9,
            "line": {"color": ORANGE, "width": [2 if t.outlier else 0 for t in data.measured]},
        },
        hovertext=[describe(trial) for trial in data.measured],
        hoverinfo="text",
        customdata=values,
    )
    if data.failed:
        figure.add_scatter(
            x=[trial.number for trial in data.failed],
            y=[0.03] * len(data.failed),
            yaxis="y2",
            mode="markers",
            name="failed",
            showlegend=False,
            marker={"color": GREY, "symbol": "x", "size": 8},
            hovertext=[describe(trial) for trial in data.failed],
            hoverinfo="text",
        )
        # An axis of their own keeps them at the bottom whatever the other one shows.
        figure.update_layout(yaxis2={"overlaying": "y", "range": [0, 1], "visible": False})
    if any(axis.side(value) for value in values):
        figure.update_layout(meta={"views": _views(values, axis)})
    return figure


def _views(values: list[float], axis: Range) -> list[dict[str, Any]]:
    """The buttons above the figure: the readable range, or one that holds every value."""
    low, high = min(values), max(values)
    positive = low > 0
    least, most = (float(np.log10(low)), float(np.log10(high))) if positive else (low, high)
    pad = 0.1 * (most - least)
    return [
        {
            "label": "readable range",
            "y": [axis.clip(value) for value in values],
            "type": "linear",
            "range": [axis.low, axis.high],
        },
        {
            "label": "all values, log scale" if positive else "all values",
            "y": values,
            "type": "log" if positive else "linear",
            "range": [least - pad, most + pad],
        },
    ]
