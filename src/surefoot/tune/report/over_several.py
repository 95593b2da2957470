"""The recommended setting over several variables of its environment, with its risk marked."""

from html import escape
from itertools import accumulate
from typing import Any

import plotly.graph_objects as go

from surefoot.tune.report.data import ReportData, Surroundings
from surefoot.tune.report.environment import draw_risk, tail_of
from surefoot.tune.report.frame import BAND, BLUE, ORANGE, frame, interval
from surefoot.tune.report.numbers import setting
from surefoot.tune.report.ranges import Range


def in_order(data: ReportData, beside: Surroundings) -> go.Figure:
    """What the environment does to the setting, from the worst to the best."""
    worst_first = -1.0 if data.direction == "maximize" else 1.0

    def steps(values: list[float]) -> tuple[list[float], list[float]]:
        pairs = sorted(
            zip(values, beside.weights, strict=True), key=lambda pair: -worst_first * pair[0]
        )
        ends = [0.0, *accumulate(100.0 * weight for _, weight in pairs)]
        return ends, [*(value for value, _ in pairs), pairs[-1][0]]

    # Bounds in orders of their own: a risk of the bounds is read off where that of the mean is.
    ends, means = steps([belief.mean for belief in beside.predicted])
    low_ends, lowers = steps([belief.lower for belief in beside.predicted])
    high_ends, uppers = steps([belief.upper for belief in beside.predicted])
    axis = Range.of([], [*lowers, *uppers, data.value.lower, data.value.upper], margin=0.1)
    figure = frame("share of environments, the worst first (%)", "expected", axis)
    figure.update_xaxes(range=[0, 100])
    edge: dict[str, Any] = {
        "mode": "lines",
        "line": {"width": 0, "shape": "hv"},
        "showlegend": False,
        "hoverinfo": "skip",
    }
    figure.add_scatter(x=high_ends, y=uppers, **edge)
    figure.add_scatter(x=low_ends, y=lowers, fill="tonexty", fillcolor=BAND, **edge)
    figure.add_scatter(
        x=ends,
        y=means,
        mode="lines",
        name="predicted, with its interval",
        line={"color": BLUE, "width": 2, "shape": "hv"},
        hovertemplate="%{x:.3g} % of environments<br>%{y:.5g} or worse<extra></extra>",
    )
    if beside.measure in ("var", "cvar") and beside.level is not None:
        share = 100.0 * beside.level
        inside = [index for index, end in enumerate(ends) if end < share]
        figure.add_scatter(
            x=[*(ends[index] for index in inside), share],
            y=[*(means[index] for index in inside), means[inside[-1]]],
            mode="lines",
            name=f"the worst {share:g} % of environments",
            line={"color": ORANGE, "width": 3, "shape": "hv"},
            hoverinfo="skip",
        )
        figure.add_vline(x=share, line={"color": ORANGE, "width": 1, "dash": "dot"})
    draw_risk(figure, data, beside)
    return figure


def against(data: ReportData, beside: Surroundings, column: int) -> go.Figure:
    """Every environment by one of its variables, the bad ones in orange."""
    tail = tail_of(data, beside)
    means = [belief.mean for belief in beside.predicted]
    axis = Range.of([], [*means, data.value.mean], margin=0.1)
    figure = frame("", "", axis)
    figure.update_layout(height=250, showlegend=False, margin={"l": 52, "r": 12, "t": 8, "b": 32})
    for bad, colour in ((False, BLUE), (True, ORANGE)):
        shown = [index for index, one in enumerate(tail) if one is bad]
        figure.add_scatter(
            x=[beside.places[index][column] for index in shown],
            y=[means[index] for index in shown],
            mode="markers",
            marker={"color": colour, "size": 6 if bad else 4, "opacity": 0.8 if bad else 0.5},
            hovertext=[_place(beside, index) for index in shown],
            hoverinfo="text",
        )
    figure.add_hline(y=data.value.mean, line={"color": ORANGE, "width": 1.5, "dash": "dash"})
    return figure


def _place(beside: Surroundings, index: int) -> str:
    values = zip(beside.names, beside.places[index], strict=True)
    lines = [f"{escape(name)} = {escape(setting(value))}" for name, value in values]
    return "<br>".join([*lines, interval(beside.predicted[index])])
