"""The model along each parameter, every other one at the recommendation."""

import math
from html import escape
from typing import Any

import plotly.graph_objects as go

from surefoot.tune.report.data import ReportData, Slice
from surefoot.tune.report.frame import BLUE, ORANGE, band, frame, interval
from surefoot.tune.report.numbers import setting
from surefoot.tune.report.ranges import Range
from surefoot.tune.report.scatter import scatter


def slice_figure(data: ReportData, cut: Slice) -> go.Figure:
    """The model along one parameter; all slices of a report share one vertical axis."""
    edges = [
        edge
        for other in data.slices
        for belief in other.predicted
        for edge in (belief.lower, belief.upper)
    ]
    axis = Range.of([], edges, margin=0.25)
    figure = frame("", "", axis)
    figure.update_layout(height=250, showlegend=False, margin={"l": 52, "r": 12, "t": 8, "b": 32})
    shown = [trial for trial in data.measured if cut.parameter.name in trial.params]
    places = [_place(cut, trial.params[cut.parameter.name]) for trial in shown]
    scatter(figure, shown, places, axis, "measured, other parameters elsewhere")
    if cut.parameter.choices is None:
        _draw_line(figure, cut)
    else:
        _draw_choices(figure, cut)
    return figure


def _draw_line(figure: go.Figure, cut: Slice) -> None:
    places, beliefs = list(cut.settings), list(cut.predicted)
    figure.add_traces(band(places, beliefs))
    figure.add_scatter(
        x=places,
        y=[belief.mean for belief in beliefs],
        mode="lines",
        name="predicted, with its interval",
        line={"color": BLUE, "width": 2},
        hovertext=_slice_hover(cut),
        hoverinfo="text",
    )
    figure.add_vline(x=cut.recommended, line={"color": ORANGE, "width": 1.5, "dash": "dash"})
    if cut.parameter.log:
        ticks = log_ticks(places[0], places[-1])
        figure.update_xaxes(
            type="log", tickangle=0, tickvals=ticks, ticktext=[setting(tick) for tick in ticks]
        )


def _draw_choices(figure: go.Figure, cut: Slice) -> None:
    beliefs = cut.predicted
    figure.add_scatter(
        x=[_place(cut, choice) for choice in cut.settings],
        y=[belief.mean for belief in beliefs],
        mode="markers",
        name="predicted, with its interval",
        marker={
            "color": [ORANGE if choice == cut.recommended else BLUE for choice in cut.settings],
            "size": 10,
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [belief.upper - belief.mean for belief in beliefs],
            "arrayminus": [belief.mean - belief.lower for belief in beliefs],
            "color": BLUE,
            "thickness": 2,
        },
        hovertext=_slice_hover(cut),
        hoverinfo="text",
    )
    figure.update_xaxes(
        tickvals=list(range(len(cut.settings))),
        ticktext=[escape(setting(choice)) for choice in cut.settings],
        range=[-0.5, len(cut.settings) - 0.5],
    )


def _place(cut: Slice, value: Any) -> Any:
    """Where a parameter's value stands: choices stand at their position, for they may be alike."""
    if cut.parameter.choices is None:
        return value
    return cut.settings.index(value) if value in cut.settings else None


def log_ticks(low: float, high: float) -> list[float]:
    """Round numbers from `low` to `high`, as many as a small figure has room for."""
    decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= 5:
            return inside or [low, high]
    return inside[:: math.ceil(len(inside) / 5)]


def _slice_hover(cut: Slice) -> list[str]:
    name = escape(cut.parameter.name)
    return [
        f"{name} = {escape(setting(value))}<br>{interval(belief)}"
        for value, belief in zip(cut.settings, cut.predicted, strict=True)
    ]
