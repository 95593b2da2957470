"""The recommended setting along the only variable of its environment, with its risk marked."""

from html import escape
from itertools import pairwise

import plotly.graph_objects as go

from surefoot.tune.report.data import Interval, ReportData, Surroundings
from surefoot.tune.report.environment import draw_risk, tail_of
from surefoot.tune.report.frame import BLUE, ORANGE, band, frame, interval
from surefoot.tune.report.numbers import setting
from surefoot.tune.report.ranges import Range
from surefoot.tune.report.scatter import scatter

FEW = 40  # values that are drawn one by one
FEW_TICKS = 12  # values that each have room for their number
BINS = 32


def over_one(data: ReportData, beside: Surroundings) -> go.Figure:
    """The setting along the only variable, and below it how likely each value is."""
    order = sorted(range(len(beside.places)), key=lambda index: beside.places[index])
    places = [beside.places[index][0] for index in order]
    beliefs = [beside.predicted[index] for index in order]
    tail = tail_of(data, beside)
    bad = [tail[index] for index in order]
    name = beside.names[0]
    edges = [edge for belief in beliefs for edge in (belief.lower, belief.upper)]
    axis = Range.of([], [*edges, data.value.lower, data.value.upper], margin=0.12)
    figure = frame(escape(name), "expected", axis)
    figure.update_layout(height=460)
    hover = [
        f"{escape(name)} = {escape(setting(place))}<br>{interval(belief)}"
        for place, belief in zip(places, beliefs, strict=True)
    ]
    shown = [trial for trial in data.measured if name in trial.environment]
    scatter(figure, shown, [trial.environment[name] for trial in shown], axis, "measured")
    if beside.listed and len(places) <= FEW:
        _draw_values(figure, places, beliefs, bad, hover)
    else:
        _draw_curve(figure, places, beliefs, bad, hover)
    draw_risk(figure, data, beside)
    _draw_likelihood(figure, beside, places, [beside.weights[index] for index in order], bad)
    if beside.listed and len(places) <= FEW_TICKS:
        figure.update_xaxes(tickvals=places, ticktext=[setting(place) for place in places])
    figure.update_layout(
        xaxis={"anchor": "y2"},
        yaxis={"domain": [0.27, 1.0]},
        yaxis2={
            "domain": [0.0, 0.2],
            "title": {"text": "probability"},
            "showticklabels": False,
            "zeroline": False,
            "showgrid": False,
            "rangemode": "tozero",
        },
        bargap=0.08,
    )
    return figure


def _draw_curve(
    figure: go.Figure,
    places: list[float],
    beliefs: list[Interval],
    bad: list[bool],
    hover: list[str],
) -> None:
    means = [belief.mean for belief in beliefs]
    figure.add_traces(band(places, beliefs))
    figure.add_scatter(
        x=places,
        y=means,
        mode="lines",
        name="predicted, with its interval",
        line={"color": BLUE, "width": 2},
        hovertext=hover,
        hoverinfo="text",
    )
    if any(bad):
        figure.add_scatter(
            x=places,
            y=[mean if one else None for mean, one in zip(means, bad, strict=True)],
            # A single place has no line.
            mode="lines" if sum(bad) > 1 else "markers",
            showlegend=False,
            line={"color": ORANGE, "width": 3},
            marker={"color": ORANGE, "size": 10},
            hoverinfo="skip",
        )


def _draw_values(
    figure: go.Figure,
    places: list[float],
    beliefs: list[Interval],
    bad: list[bool],
    hover: list[str],
) -> None:
    figure.add_scatter(
        x=places,
        y=[belief.mean for belief in beliefs],
        mode="markers",
        name="predicted, with its interval",
        marker={"color": [ORANGE if one else BLUE for one in bad], "size": 10},
        error_y={
            "type": "data",
            "symmetric": False,
            "array": [belief.upper - belief.mean for belief in beliefs],
            "arrayminus": [belief.mean - belief.lower for belief in beliefs],
            "color": BLUE,
            "thickness": 2,
        },
        hovertext=hover,
        hoverinfo="text",
    )


def _draw_likelihood(
    figure: go.Figure,
    beside: Surroundings,
    places: list[float],
    weights: list[float],
    bad: list[bool],
) -> None:
    """Bars of probability, of single values or of stretches that hold many."""
    low, high = places[0], places[-1]
    few = beside.listed and len(places) <= FEW
    for tail, colour in ((False, BLUE), (True, ORANGE)):
        if few:
            at = [place for place, one in zip(places, bad, strict=True) if one is tail]
            heights = [weight for weight, one in zip(weights, bad, strict=True) if one is tail]
            width = [0.5 * min(b - a for a, b in pairwise(places))] * len(at)
        else:
            step = (high - low) / BINS or 1.0
            at = [low + (index + 0.5) * step for index in range(BINS)]
            heights, width = [0.0] * BINS, [step] * BINS
            for place, weight, one in zip(places, weights, bad, strict=True):
                if one is tail:
                    heights[min(int((place - low) / step), BINS - 1)] += weight
        figure.add_bar(
            x=at,
            y=heights,
            width=width,
            yaxis="y2",
            showlegend=False,
            marker={"color": colour, "opacity": 0.55, "line": {"width": 0}},
            hovertemplate="%{x:.4g}<br>probability %{y:.3g}<extra></extra>",
        )
    figure.update_layout(barmode="stack")
