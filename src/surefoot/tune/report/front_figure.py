"""The figure of a Pareto front: predicted values with intervals, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from surefoot.integrations.optuna.front import Front, ParetoPoint
from surefoot.tune.report.contents import Interval
from surefoot.tune.report.formatting import interval_text, settings_html
from surefoot.tune.report.plotting import (
    BLUE,
    GREY,
    ORANGE,
    AxisRange,
    add_line,
    add_markers,
    error_bars,
    new_figure,
    shares,
)

CERTAINTY = [[0.0, "#c3d9ef"], [1.0, "#174a7c"]]
_BEYOND = {  # symbols at the border by the sides of both axes
    (0, 0): "circle",
    (0, -1): "triangle-down",
    (0, 1): "triangle-up",
    **{(-1, side): "triangle-left" for side in (-1, 0, 1)},
    **{(1, side): "triangle-right" for side in (-1, 0, 1)},
}


def front_figure(
    front: Front,
    x: str,
    y: str,
    measured: Mapping[str, Sequence[float | None]] | None = None,
    titles: Mapping[str, str] | None = None,
    recommended: Sequence[ParetoPoint] = (),
) -> go.Figure:
    """A Pareto front over two of its objectives, with 95 % intervals of its points.

    Args:
        front: The front.
        x: Name of an objective.
        y: Name of another one.
        measured: Measurements of both objectives by name, in the same order; those beyond the axes
            are triangles at the border, and a trial that lacks one of the two is left out.
        titles: Titles of the axes by name of the objective, by default the names.
        recommended: Points with a ring.

    Returns:
        The figure. The steps between the points are drawn where there are two objectives only.
    """
    known = measured or {}
    pairs = [
        (one, other)
        for one, other in zip(known.get(x, ()), known.get(y, ()), strict=True)
        if one is not None and other is not None
    ]
    values = {x: [one for one, _ in pairs], y: [other for _, other in pairs]}
    axes = {name: _axis(front, name, values[name]) for name in (x, y)}
    label = {name: escape((titles or {}).get(name, name)) for name in (x, y)}
    figure = new_figure(label[x], label[y], axes[y])
    figure.update_xaxes(range=[axes[x].low, axes[x].high])
    _add_measured(figure, axes[x], axes[y], values[x], values[y])
    members = sorted(front, key=lambda one: one.values[x])
    others = [one for one in front.candidates if one not in members]
    dominated = _places(others, x, y)
    add_markers(figure, *dominated, "dominated", color=BLUE, symbol="circle-open", size=6)
    across, up, hover = _places(members, x, y)
    if len(front.names) == 2:
        shape = "vh" if front.maximised[x] else "hv"
        add_line(figure, across, up, color=BLUE, width=1.5, shape=shape)
    add_markers(
        figure,
        across,
        up,
        hover,
        "front, with its intervals",
        color=[one.probability for one in members],
        size=10,
        line={"color": BLUE, "width": 1},
        **shares(CERTAINTY, title={"text": "probability to be optimal", "side": "right"}),
    )
    figure.data[-1].update(error_x=_bars(members, x), error_y=_bars(members, y))
    if recommended:
        add_markers(
            figure,
            *_places(recommended, x, y),
            "recommended",
            color=ORANGE,
            symbol="circle-open",
            size=16,
            line={"width": 2},
        )
    return figure


def _places(
    points: Sequence[ParetoPoint], x: str, y: str
) -> tuple[list[float], list[float], list[str]]:
    """Where points are, and their hover texts."""
    across, up = ([one.values[name] for one in points] for name in (x, y))
    return across, up, [_hover(one) for one in points]


def front_text(front: Front) -> str:
    """Text alternative of the figure: how many points, and the ends of each objective."""
    ends = (
        f"{name} from {min(values):.4g} to {max(values):.4g}"
        for name in front.names
        if (values := [one.values[name] for one in front])
    )
    return (
        f"Scatter plot of the Pareto front: {len(front)} of {len(front.candidates)} configurations "
        f"are not dominated, {', '.join(ends)}."
    )


def _axis(front: Front, name: str, measured: Sequence[float]) -> AxisRange:
    """The range of an axis: the front with its intervals, and the measurements near the others."""
    shown = [end for one in front for end in (one.lower[name], one.upper[name])]
    return AxisRange.of([*measured, *(one.values[name] for one in front.candidates)], shown)


def _add_measured(
    figure: go.Figure, across: AxisRange, up: AxisRange, x: Sequence[float], y: Sequence[float]
) -> None:
    """Draw measurements as grey points."""
    pairs = list(zip(x, y, strict=True))
    add_markers(
        figure,
        [across.clip(one) for one in x],
        [up.clip(one) for one in y],
        [f"measured {one:.5g}, {other:.5g}" for one, other in pairs],
        "measured",
        color=GREY,
        opacity=0.55,
        size=5,
        symbol=[_BEYOND[across.side(one), up.side(other)] for one, other in pairs],
    )
    figure.data[-1].visible = bool(pairs)


def _bars(members: Sequence[ParetoPoint], name: str) -> dict[str, object]:
    values, lower, upper = (
        [ends[name] for ends in one]
        for one in zip(*((one.values, one.lower, one.upper) for one in members), strict=True)
    )
    return error_bars(values, lower, upper, color="rgba(63, 134, 200, 0.5)", thickness=1.5, width=0)


def _hover(one: ParetoPoint) -> str:
    """A configuration, for the figure's hover text, which is HTML."""
    lines = [f"trial {', '.join(map(str, one.trials))}"]
    for name, value in one.values.items():
        interval = Interval(value, one.lower[name], one.upper[name])
        lines.append(f"{escape(name)} {interval_text(interval)}")
    lines.append(f"probability to be optimal {one.probability:.0%}")
    if one.feasibility < 1.0:
        lines.append(f"constraints hold with {one.feasibility:.0%}")
    return "<br>".join([*lines, settings_html(one.params)])
