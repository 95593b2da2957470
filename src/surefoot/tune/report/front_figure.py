"""The figure of a Pareto front: predicted values with intervals, and what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from surefoot.integrations.optuna.front import Front, ParetoPoint
from surefoot.tune.report.contents import Interval
from surefoot.tune.report.formatting import interval_text, settings_html
from surefoot.tune.report.plotting import BLUE, GREY, AxisRange, new_figure

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
    measured: Mapping[str, Sequence[float]] | None = None,
    titles: Mapping[str, str] | None = None,
) -> go.Figure:
    """A Pareto front over two of its objectives, with 95 % intervals of its points.

    Args:
        front: The front.
        x: Name of an objective.
        y: Name of another one.
        measured: Measurements of both objectives by name, in the same order; those beyond the axes
            are triangles at the border.
        titles: Titles of the axes by name of the objective, by default the names.

    Returns:
        The figure. The steps between the points are drawn where there are two objectives only.
    """
    values = {name: list((measured or {}).get(name, ())) for name in (x, y)}
    axes = {name: _axis(front, name, values[name]) for name in (x, y)}
    label = {name: escape((titles or {}).get(name, name)) for name in (x, y)}
    figure = new_figure(label[x], label[y], axes[y])
    figure.update_xaxes(range=[axes[x].low, axes[x].high])
    _add_measured(figure, axes[x], axes[y], values[x], values[y])
    members = sorted(front, key=lambda one: one.values[x])
    others = [one for one in front.candidates if one not in members]
    figure.add_scatter(
        x=[one.values[x] for one in others],
        y=[one.values[y] for one in others],
        mode="markers",
        name="dominated",
        marker={"color": BLUE, "symbol": "circle-open", "size": 6},
        hovertext=[_hover(one) for one in others],
        hoverinfo="text",
    )
    if len(front.names) == 2:
        figure.add_scatter(
            x=[one.values[x] for one in members],
            y=[one.values[y] for one in members],
            mode="lines",
            line={"color": BLUE, "width": 1.5, "shape": "vh" if front.maximised[x] else "hv"},
            showlegend=False,
            hoverinfo="skip",
        )
    figure.add_scatter(
        x=[one.values[x] for one in members],
        y=[one.values[y] for one in members],
        error_x=_bars(members, x),
        error_y=_bars(members, y),
        mode="markers",
        name="front, with its intervals",
        marker={
            "color": [one.probability for one in members],
            "colorscale": CERTAINTY,
            "cmin": 0,
            "cmax": 1,
            "size": 10,
            "line": {"color": BLUE, "width": 1},
            "colorbar": {
                "title": {"text": "probability to be optimal", "side": "right"},
                "thickness": 8,
                "outlinewidth": 0,
                "tickvals": [0, 0.5, 1],
            },
        },
        hovertext=[_hover(one) for one in members],
        hoverinfo="text",
    )
    return figure


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
    figure.add_scatter(
        x=[across.clip(one) for one in x],
        y=[up.clip(one) for one in y],
        mode="markers",
        name="measured",
        visible=bool(pairs),
        marker={
            "color": GREY,
            "opacity": 0.55,
            "size": 5,
            "symbol": [_BEYOND[across.side(one), up.side(other)] for one, other in pairs],
        },
        hovertext=[f"measured {one:.5g}, {other:.5g}" for one, other in pairs],
        hoverinfo="text",
    )


def _bars(members: Sequence[ParetoPoint], name: str) -> dict[str, object]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [one.upper[name] - one.values[name] for one in members],
        "arrayminus": [one.values[name] - one.lower[name] for one in members],
        "color": "rgba(63, 134, 200, 0.5)",
        "thickness": 1.5,
        "width": 0,
    }


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
