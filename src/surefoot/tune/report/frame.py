"""What the figures of a report share: their frame, their colours, what a point says of itself.

Colours of text, grid and ground are left out: they come from the page's own theme.
"""

from html import escape
from typing import Any

import plotly.graph_objects as go

from surefoot.tune.report.data import Interval, Trial
from surefoot.tune.report.numbers import number, setting, within
from surefoot.tune.report.ranges import Range

BLUE = "#3f86c8"
BAND = "rgba(63, 134, 200, 0.24)"
ORANGE = "#d9541e"
GREY = "#8a8f98"
SYMBOLS = {-1: "triangle-down", 0: "circle", 1: "triangle-up"}  # by the side of the axis
HEIGHT = 380


def frame(across: str, up: str, axis: Range) -> go.Figure:
    figure = go.Figure()
    figure.update_layout(
        height=HEIGHT,
        margin={"l": 64, "r": 16, "t": 16, "b": 52},
        legend={"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "traceorder": "normal"},
        hoverlabel={"align": "left"},
        xaxis={"title": {"text": across}, "zeroline": False, "automargin": True},
        yaxis={
            "title": {"text": up},
            "range": [axis.low, axis.high],
            "zeroline": False,
            "automargin": True,
        },
    )
    return figure


def band(places: list[Any], beliefs: list[Interval]) -> list[go.Scatter]:
    edge = {"mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
    return [
        go.Scatter(x=places, y=[belief.upper for belief in beliefs], **edge),
        go.Scatter(
            x=places,
            y=[belief.lower for belief in beliefs],
            fill="tonexty",
            fillcolor=BAND,
            **edge,
        ),
    ]


def describe(trial: Trial) -> str:
    lines = [f"trial {trial.number}"]
    if trial.value is not None:
        lines.append(f"measured {number(trial.value)}")
    if trial.predicted is not None:
        lines.append(f"predicted {interval(trial.predicted)}")
    if trial.weight is not None:
        lines.append(f"weight {trial.weight:.2f}" + (": outlier" if trial.outlier else ""))
    if trial.failure:
        lines.append(f"failed: {escape(trial.failure[:120])}")
    known = {**trial.params, **trial.environment}
    lines += [f"{escape(name)} = {escape(setting(value))}" for name, value in known.items()]
    return "<br>".join(lines)


def interval(belief: Interval) -> str:
    width = belief.upper - belief.lower
    ends = f"{within(belief.lower, width)} to {within(belief.upper, width)}"
    return f"{within(belief.mean, width)} ({ends})"


def measured(trial: Trial) -> float:
    return float("nan") if trial.value is None else trial.value
