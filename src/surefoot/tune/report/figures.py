"""The figures of every report: convergence, measurements, slices and the noise's quantiles."""

import math
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
import plotly.graph_objects as go
from scipy import stats

from surefoot.tune.estimate_text import measured_text as number
from surefoot.tune.report.contents import DecisionRow, Report, Slice
from surefoot.tune.report.formatting import escape, interval_text, setting, trial_html
from surefoot.tune.report.plotting import (
    BAND,
    BLUE,
    GREY,
    ORANGE,
    SMALL,
    SYMBOLS,
    AxisRange,
    add_curve,
    add_limit,
    add_line,
    add_markers,
    add_measurements,
    add_points,
    new_figure,
    shares,
)

# Weights of measurements, from outliers to those in full.
WEIGHTS = [ORANGE, "#d9a441", BLUE]


def convergence(report: Report) -> go.Figure:
    """The recommendation's value over time, by the model of that time and by the final one."""
    history = report.history
    then, now = [point.then for point in history], [point.now.mean for point in history]
    axis = AxisRange.of(
        [end for interval in then for end in (interval.lower, interval.upper)],
        [*now, report.value.lower, report.value.upper],
    )
    hover = [
        f"after {point.trials} measurements<br>at that time {interval_text(point.then)}"
        f"<br>final model {interval_text(point.now)}"
        for point in history
    ]
    figure = new_figure("measurements", report.units.titled("recommendation's value"), axis)
    counts = [point.trials for point in history]
    figure.update_xaxes(nticks=min(10, 1 + counts[-1] - counts[0]))
    add_curve(figure, counts, then, hover, name="predicted at that time", mode="lines+markers")
    diamond = {"color": ORANGE, "symbol": "diamond-open", "size": 9, "line": {"width": 2}}
    add_markers(figure, counts, now, hover, "by the final model", **diamond)
    return figure


def left_to_gain(report: Report) -> go.Figure:
    """The probability that more than the gain of `[stop]` is left, over time."""
    counts = [point.trials for point in report.history]
    figure = new_figure("measurements", "probability", AxisRange(0.0, 1.0), **SMALL)
    hover = [
        f"after {count} measurements<br>probability {value:.3f}"
        for count, value in zip(counts, report.left_to_gain, strict=True)
    ]
    add_markers(figure, counts, list(report.left_to_gain), hover, "more is left", color=BLUE)
    figure.data[-1].mode = "lines+markers"
    figure.add_hline(y=1.0 - report.confidence, line={"color": ORANGE, "dash": "dash"})
    return figure


def drift(report: Report) -> go.Figure:
    """The recommended configuration at the times of the trials, with 95 % intervals."""
    effects = report.effects
    hover = [
        f"at the time of trial {number}<br>{interval_text(interval)}"
        for number, interval in zip(effects.trials, effects.drift, strict=True)
    ]
    order = list(range(len(effects.trials)))
    figure = new_figure(
        "trials in order of time", "recommended", AxisRange.of_intervals(effects.drift), **SMALL
    )
    add_curve(figure, order, effects.drift, hover)
    return figure


def measurements(report: Report) -> go.Figure:
    """Every measurement, coloured by its weight in the model; failed trials on the lower edge."""
    value, (trials, values) = report.value, zip(*report.readings(), strict=True)
    axis = AxisRange.of(values, [value.lower, value.upper])
    if report.failed:
        axis = AxisRange(axis.low - 0.08 * (axis.high - axis.low), axis.high)
    figure = new_figure("trial", report.units.titled("measured"), axis)
    figure.add_hrect(y0=value.lower, y1=value.upper, fillcolor=BAND, line_width=0)
    figure.add_hline(y=value.mean, line={"color": BLUE, "width": 1.5})
    corner = {"x": 1, "xanchor": "right", "y": 1.02, "yanchor": "bottom"}
    add_measurements(
        figure,
        trials,
        [trial.number for trial in trials],
        values,
        axis,
        color=[1.0 if trial.weight is None else trial.weight for trial in trials],
        opacity=1.0,
        size=9,
        line={"color": ORANGE, "width": [2 if trial.outlier else 0 for trial in trials]},
        **shares(WEIGHTS, orientation="h", len=160, lenmode="pixels", **corner),
    )
    figure.data[-1].update(name="measurements", customdata=values)
    if report.failed:
        numbers, hover = zip(*((one.number, trial_html(one)) for one in report.failed), strict=True)
        low = [0.03] * len(numbers)
        add_markers(figure, numbers, low, hover, color=GREY, symbol="x", size=8)
        figure.data[-1].update(name="failed", yaxis="y2")
        # A second axis keeps them at the bottom whatever range the first one shows.
        figure.update_layout(yaxis2={"overlaying": "y", "range": [0, 1], "visible": False})
    if any(axis.side(value) for value in values):
        figure.update_layout(meta={"views": _views(values, axis)})
    return figure


def limited(report: Report, name: str) -> go.Figure:
    """Every measurement of a limited quantity, with its limit."""
    trials, values = zip(*report.readings(name), strict=True)
    axis = _limited_axis(report, name)
    figure = new_figure("trial", "", axis, **SMALL)
    add_measurements(
        figure,
        trials,
        [trial.number for trial in trials],
        values,
        axis,
        outlying=[name in trial.outlying for trial in trials],
        color=BLUE,
        opacity=0.75,
        size=6,
    )
    add_limit(figure, report.bounds[name])
    return figure


def _limited_axis(report: Report, name: str) -> AxisRange:
    """The vertical axis of all figures of a limited quantity."""
    return AxisRange.of([value for _, value in report.readings(name)], [report.bounds[name].center])


def paired(report: Report, row: DecisionRow) -> go.Figure:
    """The runs of one quantity, those of a pair joined, and both medians with their intervals."""
    medians = [one.interval for one in (row.other, row.recommended) if one is not None]
    limits = [report.bounds[row.name]] if row.limit else []
    sides = list(zip(*row.pairs, strict=True))
    values = [[one.value or 0.0 for one in side] for side in sides]
    shown = [end for one in medians for end in (one.lower, one.upper)]
    axis = AxisRange.of([*chain(*values)], shown + [one.center for one in limits])
    figure = new_figure("", "", axis, **SMALL)
    joined = [[*map(axis.clip, ends), None] for ends in zip(*values, strict=True)]
    add_line(figure, [0, 1, None] * len(joined), [*chain(*joined)], color=GREY, width=1)
    for place, (side, measured) in enumerate(zip(sides, values, strict=True)):
        add_measurements(figure, side, [place] * len(side), measured, axis, size=7, opacity=1.0)
        figure.data[-1].hovertext = [
            f"pair {one.number}: {number(value)}" for one, value in zip(side, measured, strict=True)
        ]
    hover = [f"median {interval_text(one)}" for one in medians]
    add_points(figure, [-0.2, 1.2], medians, [False, True], hover)
    figure.update_xaxes(
        tickvals=[0, 1],
        ticktext=[report.decision.other, "recommended"],
        range=[-0.5, 1.5],
        showgrid=False,
    )
    for one in limits:
        add_limit(figure, one)
    return figure


def _views(values: Sequence[float], axis: AxisRange) -> list[dict[str, Any]]:
    """The buttons above the figure: without the outliers, or with all values."""
    low, high = min(values), max(values)
    log = low > 0
    least, most = (float(np.log10(low)), float(np.log10(high))) if log else (low, high)
    pad = 0.1 * (most - least)
    return [
        {
            "label": "without outliers",
            "y": [axis.clip(value) for value in values],
            "type": "linear",
            "range": [axis.low, axis.high],
        },
        {
            "label": "all values, log scale" if log else "all values",
            "y": values,
            "type": "log" if log else "linear",
            "range": [least - pad, most + pad],
        },
    ]


def slice_figure(report: Report, along: Slice, limited: str = "") -> go.Figure:
    """The model of the value, or of a limited quantity, along one parameter.

    All slices of a quantity share one vertical axis.
    """
    name, choices = along.parameter.name, along.parameter.choices
    axis = _limited_axis(report, limited) if limited else _slice_axis(report)
    figure = new_figure(report.units.parameters.get(name, ""), "", axis, **SMALL)
    known = [pair for pair in report.readings(limited) if name in pair[0].params]
    trials, values = [trial for trial, _ in known], [value for _, value in known]
    positions = [_position(along, trial.params[name]) for trial in trials]
    outlying = [limited in one.outlying if limited else one.outlier for one in trials]
    add_measurements(
        figure, trials, positions, values, axis, "measured, other parameters differ", outlying
    )
    if limited:
        add_limit(figure, report.bounds[limited])
    hover = [
        f"{escape(name)} = {escape(setting(value))}<br>{interval_text(interval)}"
        for value, interval in zip(along.values, along.predicted, strict=True)
    ]
    if choices is not None:
        marked = [value == along.recommended for value in along.values]
        positions = list(range(len(along.values)))
        add_points(figure, positions, along.predicted, marked, hover)
        labels = [escape(setting(value)) for value in along.values]
        figure.update_xaxes(
            tickvals=positions, ticktext=labels, range=[-0.5, len(along.values) - 0.5]
        )
        return figure
    special = along.parameter.special
    scale, apart = (
        [i for i, value in enumerate(along.values) if (value in special) is wanted]
        for wanted in (False, True)
    )
    numbers = [along.values[i] for i in scale]
    add_curve(figure, numbers, [along.predicted[i] for i in scale], [hover[i] for i in scale])
    at = _position(along, along.recommended)
    figure.add_vline(x=at, line={"color": ORANGE, "width": 1.5, "dash": "dash"})
    ticks = log_ticks(numbers[0], numbers[-1]) if along.parameter.log else []
    places = [_position(along, along.values[i]) for i in apart]
    if apart:
        marked = [along.values[i] == along.recommended for i in apart]
        predicted, texts = [along.predicted[i] for i in apart], [hover[i] for i in apart]
        add_points(figure, places, predicted, marked, texts)
        ticks = ticks or linear_ticks(numbers[0], numbers[-1])
    if ticks:
        labels = [setting(value) for value in (*(along.values[i] for i in apart), *ticks)]
        figure.update_xaxes(tickangle=0, tickvals=[*places, *ticks], ticktext=labels)
    if along.parameter.log:
        figure.update_xaxes(type="log")
    return figure


def _slice_axis(report: Report) -> AxisRange:
    """The vertical axis that all slices share.

    It has all predicted means up to their outer fences; an interval that is much wider where
    nothing was measured leaves the axis, and does not squash the others.
    """
    predicted = [interval for each in report.slices for interval in each.predicted]
    ends = [end for interval in predicted for end in (interval.lower, interval.upper)]
    shown = [report.value.lower, report.value.upper]
    means = AxisRange.of([interval.mean for interval in predicted], shown)
    fenced = AxisRange.of(ends, shown)
    reach = 0.75 * (means.high - means.low)
    return AxisRange.of(
        [],
        [max(fenced.low, means.low - reach), min(fenced.high, means.high + reach)],
        margin=0.1,
    )


def _position(along: Slice, value: Any) -> Any:
    """The horizontal position of a value; choices are placed by index, as labels may be equal.

    Special values are left of the scale.
    """
    special = along.parameter.special
    if along.parameter.choices is None and value not in special:
        return value
    if along.parameter.choices is None:
        scale = [one for one in along.values if one not in special]
        share = -0.12 * (len(special) - sorted(special).index(value))
        low, high = scale[0], scale[-1]
        return low * (high / low) ** share if along.parameter.log else low + share * (high - low)
    return along.values.index(value) if value in along.values else None


def linear_ticks(low: float, high: float) -> list[float]:
    """At most five round numbers from `low` to `high`."""
    size = 10.0 ** math.floor(math.log10(high - low))
    step = next(
        s * size for s in (0.2, 0.25, 0.5, 1.0, 2.0, 2.5, 5.0) if (high - low) / s <= 4.0 * size
    )
    return [step * index for index in range(math.ceil(low / step), math.floor(high / step) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """At most five round numbers from `low` to `high`."""
    decades = range(math.floor(math.log10(low)), math.floor(math.log10(high)) + 1)
    inside: list[float] = []
    for steps in ((1, 2, 5), (1, 3), (1,)):
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        inside = [tick for tick in ticks if low <= tick <= high]
        if len(inside) <= 5:
            return inside or [low, high]
    return inside[:: math.ceil(len(inside) / 5)]


def quantiles(report: Report) -> go.Figure:
    """A normal quantile plot of the residuals: heavy tails bend away from the line."""
    known = ((one.predicted, value) for one, value in report.readings())
    residuals = np.sort([value - one.mean for one, value in known if one is not None])
    # As an estimate of the standard deviation, the median absolute deviation resists outliers.
    scale = stats.median_abs_deviation(residuals, scale="normal")
    # Blom, 1958
    normal = stats.norm.ppf((np.arange(1, residuals.size + 1) - 0.375) / (residuals.size + 0.25))
    line = np.median(residuals) + scale * normal
    axis = AxisRange.of(residuals, [line[0], line[-1]])
    figure = new_figure(
        "quantile of a normal distribution", report.units.titled("measured − predicted"), axis
    )
    add_line(figure, normal, line, "normal noise", color=GREY, dash="dot")
    add_markers(
        figure,
        normal,
        [axis.clip(value) for value in residuals],
        [f"residual {number(value)}" for value in residuals],
        "residuals",
        color=[ORANGE if axis.side(value) else BLUE for value in residuals],
        symbol=[SYMBOLS[0, axis.side(value)] for value in residuals],
        size=7,
    )
    return figure
