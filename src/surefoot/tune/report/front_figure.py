"""The figure of a Pareto front: predicted values with intervals, and what was measured."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import plotly.graph_objects as go

from surefoot.integrations.optuna.front import Front, ParetoPoint
from surefoot.tune.report.contents import Interval, Report, Trial
from surefoot.tune.report.formatting import escape, interval_text, settings_html
from surefoot.tune.report.plotting import (
    BLUE,
    ORANGE,
    AxisRange,
    add_line,
    add_markers,
    add_measurements,
    error_bars,
    new_figure,
    shares,
)

CERTAINTY = ["#c3d9ef", "#174a7c"]


def front_figure(
    front: Front,
    x: str,
    y: str,
    trials: Iterable[Trial] = (),
    titles: Mapping[str, str] | None = None,
    recommended: Sequence[ParetoPoint] = (),
) -> go.Figure:
    """A Pareto front over two of its objectives, with 95 % intervals of its points.

    Args:
        front: The front.
        x: Name of an objective.
        y: Name of another one.
        trials: Measurements, with the objectives among their `constraints`; one that lacks one of
            the two is left out.
        titles: Titles of the axes by name of the objective, by default the names.
        recommended: Points with a ring.

    Returns:
        The figure. The steps between the points are drawn where there are two objectives only.
    """
    measured = [one for one in trials if {x, y} <= one.constraints.keys()]
    values = {name: [one.constraints[name] for one in measured] for name in (x, y)}
    axes = {name: _axis(front, name, values[name]) for name in (x, y)}
    label = {x: x, y: y, **(titles or {})}
    figure = new_figure(label[x], label[y], axes[y])
    figure.update_xaxes(range=[axes[x].low, axes[x].high])
    add_measurements(
        figure,
        measured,
        values[x],
        values[y],
        axes[y],
        "measured",
        [bool({x, y} & {*one.outlying}) for one in measured],
        axes[x],
    )
    figure.data[-1].visible = bool(measured)
    members = sorted(front, key=lambda one: one.values[x])
    dominated = _places([one for one in front.candidates if one not in members], x, y)
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


def fronts(report: Report) -> dict[str, go.Figure]:
    """The front over every two of its objectives by their names; none of a single objective."""
    if (found := report.front) is None:
        return {}
    first = found.front.names[0]
    trials = [
        replace(
            one,
            constraints={first: value, **one.constraints},
            outlying=(*one.outlying, *[first] * one.outlier),
        )
        for one, value in report.readings()
    ]
    titles = {name: found.units.named(name) for name in found.front.names}
    return {
        f"{x}, {y}": front_figure(found.front, x, y, trials, titles, [found.chosen])
        for x, y in combinations(found.front.names, 2)
    }


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
