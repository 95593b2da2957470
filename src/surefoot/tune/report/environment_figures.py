"""The recommended configuration over its random environment, with the risk marked."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import plotly.graph_objects as go

from surefoot._internal.numbers import ROUNDING
from surefoot.tune.report.contents import EnvironmentView, Report
from surefoot.tune.report.formatting import (
    escape,
    interval_text,
    setting,
    settings_html,
    within,
)
from surefoot.tune.report.plotting import (
    BLUE,
    GRID,
    ORANGE,
    PREDICTED,
    SMALL,
    AxisRange,
    add_band,
    add_curve,
    add_line,
    add_markers,
    add_measurements,
    add_points,
    new_figure,
)

MAX_TICKS = 12


def description(view: EnvironmentView) -> str:
    """The figures in words."""
    if view.is_fidelity:
        return (
            "The model's prediction for the recommended configuration at each level. The dashed "
            f"line is the {view.risk.name}, with its interval. Grey points are measurements, also "
            "of other configurations."
        )
    tail = "" if view.risk.measure == "mean" else f" Orange marks {_tail_text(view)}."
    if len(view.names) == 1:
        return (
            "The model's prediction for the recommended configuration under each environment, with "
            f"the environment's probability below. The dashed line is the {view.risk.name}, with "
            f"its interval.{tail} Grey points are measurements, also of other configurations."
        )
    return (
        "The model's prediction for the recommended configuration, with the environments sorted "
        f"from worst to best. The dashed line is the {view.risk.name}, with its interval.{tail} "
        "Below, each dot is an environment, plotted against one of its variables."
    )


def in_tail(report: Report, view: EnvironmentView) -> list[bool]:
    """Environments at least as bad as the value at risk, or the worst one."""
    if view.risk.measure in ("mean", "fidelity"):
        return [False] * len(view.points)
    sign = -1.0 if report.direction == "maximize" else 1.0
    possible = [index for index, weight in enumerate(view.weights) if weight > 0.0]
    tail, reached = [False] * len(view.points), 0.0
    for index in sorted(possible, key=lambda index: -sign * view.predicted[index].mean):
        tail[index] = True
        reached += view.weights[index]
        if reached >= (view.risk.level or 0.0) - ROUNDING:
            break
    return tail


def over_one_variable(report: Report, view: EnvironmentView) -> go.Figure:
    """The prediction along the only variable, above the variable's distribution."""
    name, order = view.names[0], sorted(range(len(view.points)), key=lambda i: view.points[i])
    x = [view.points[index][0] for index in order]
    predicted = [view.predicted[index] for index in order]
    weights = [view.weights[index] for index in order]
    tail = in_tail(report, view)
    tail = [tail[index] for index in order]
    axis = AxisRange.of_intervals([*predicted, report.value], margin=0.12)
    figure = new_figure(name, "predicted", axis, height=460)
    trials = [trial for trial in report.measured if name in trial.environment]
    add_measurements(
        figure,
        trials,
        [one.environment[name] for one in trials],
        [one.value or 0.0 for one in trials],
        axis,
        "measured",
        [one.outlier for one in trials],
    )
    hover = [
        f"{escape(name)} = {escape(setting(value))}<br>{interval_text(interval)}"
        for value, interval in zip(x, predicted, strict=True)
    ]
    one_by_one = view.discrete and len(x) <= GRID
    if one_by_one:
        add_points(figure, x, predicted, tail, hover)
    else:
        add_curve(figure, x, predicted, hover)
        _mark_tail(figure, x, [interval.mean for interval in predicted], tail)
    _mark_risk(figure, report, view)
    if not view.is_fidelity:
        _add_distribution(figure, x, weights, tail, one_by_one)
    if one_by_one and len(x) <= MAX_TICKS:
        figure.update_xaxes(tickvals=x, ticktext=[setting(value) for value in x])
    return figure


def over_all_variables(report: Report, view: EnvironmentView) -> go.Figure:
    """The prediction under each environment, sorted from the worst to the best."""
    sign = -1.0 if report.direction == "maximize" else 1.0

    def steps(values: list[float]) -> tuple[list[float], list[float]]:
        pairs = sorted(zip(values, view.weights, strict=True), key=lambda pair: -sign * pair[0])
        ends = [0.0, *accumulate(100.0 * weight for _, weight in pairs)]
        return ends, [*(value for value, _ in pairs), pairs[-1][0]]

    # Each bound is sorted by itself: so the band at the level is the interval of the risk.
    ends, means = steps([interval.mean for interval in view.predicted])
    lower = steps([interval.lower for interval in view.predicted])
    upper = steps([interval.upper for interval in view.predicted])
    axis = AxisRange.of([], [*lower[1], *upper[1], report.value.lower, report.value.upper], 0.1)
    figure = new_figure("share of environments, from the worst (%)", "predicted", axis)
    figure.update_xaxes(range=[0, 100])
    add_band(figure, lower, upper, "hv")
    figure.add_scatter(
        x=ends,
        y=means,
        mode="lines",
        name=PREDICTED,
        line={"color": BLUE, "width": 2, "shape": "hv"},
        hovertemplate="%{x:.3g} % of environments<br>%{y:.5g} or worse<extra></extra>",
    )
    if view.risk.level is not None:
        share = 100.0 * view.risk.level
        inside = [index for index, end in enumerate(ends) if end < share]
        add_line(
            figure,
            [*(ends[index] for index in inside), share],
            [*(means[index] for index in inside), means[inside[-1]]],
            f"the worst {share:g} % of environments",
            color=ORANGE,
            width=3,
            shape="hv",
        )
        figure.add_vline(x=share, line={"color": ORANGE, "width": 1, "dash": "dot"})
    _mark_risk(figure, report, view)
    return figure


def against_variable(report: Report, view: EnvironmentView, column: int) -> go.Figure:
    """The predicted mean under each environment against one variable."""
    tail = in_tail(report, view)
    means = [interval.mean for interval in view.predicted]
    figure = new_figure("", "", AxisRange.of([], [*means, report.value.mean], 0.1), **SMALL)
    for bad, colour in ((False, BLUE), (True, ORANGE)):
        shown = [index for index, one in enumerate(tail) if one is bad]
        hover = [
            settings_html(dict(zip(view.names, view.points[index], strict=True)))
            + f"<br>{interval_text(view.predicted[index])}"
            for index in shown
        ]
        x, y = [view.points[index][column] for index in shown], [means[index] for index in shown]
        size, opacity = (6, 0.8) if bad else (4, 0.5)
        add_markers(figure, x, y, hover, color=colour, size=size, opacity=opacity)
    figure.add_hline(y=report.value.mean, line={"color": ORANGE, "width": 1.5, "dash": "dash"})
    return figure


def _tail_text(view: EnvironmentView) -> str:
    if view.risk.measure == "worst-case":
        return "the worst environment"
    share = f"{100 * (view.risk.level or 0.0):g} %"
    if view.discrete:
        return f"the worst environments, which together have a probability of at least {share}"
    return f"the worst {share} of environments"


def _mark_tail(
    figure: go.Figure, x: Sequence[float], means: Sequence[float], tail: Sequence[bool]
) -> None:
    """Draw the part of a curve that is in the tail in orange."""
    if any(tail):
        figure.add_scatter(
            x=x,
            y=[mean if one else None for mean, one in zip(means, tail, strict=True)],
            mode="lines" if sum(tail) > 1 else "markers",  # a single point has no line
            showlegend=False,
            line={"color": ORANGE, "width": 3},
            marker={"color": ORANGE, "size": 10},
            hoverinfo="skip",
        )


def _mark_risk(figure: go.Figure, report: Report, view: EnvironmentView) -> None:
    """Draw a line across the figure at the risk, in a band that is its interval."""
    value = report.value
    figure.add_hrect(
        y0=value.lower, y1=value.upper, fillcolor=ORANGE, opacity=0.12, line_width=0, yref="y"
    )
    figure.add_hline(
        y=value.mean,
        line={"color": ORANGE, "width": 1.5, "dash": "dash"},
        annotation={
            "text": f"{escape(view.risk.name)}: {within(value.mean, value.upper - value.lower)}",
            "font": {"color": ORANGE},
            "yanchor": "bottom",
            "showarrow": False,
        },
        annotation_position="top left" if report.direction == "minimize" else "bottom right",
    )


def _add_distribution(
    figure: go.Figure,
    x: Sequence[float],
    weights: Sequence[float],
    tail: Sequence[bool],
    one_by_one: bool,
) -> None:
    """Draw the probabilities of single values, or a histogram, on an axis below the figure's."""
    low, high = x[0], x[-1]
    step = (high - low) / GRID or 1.0
    for bad, colour in ((False, BLUE), (True, ORANGE)):
        chosen = [(at, w) for at, w, one in zip(x, weights, tail, strict=True) if one is bad]
        if one_by_one:
            centres, heights = [at for at, _ in chosen], [weight for _, weight in chosen]
            width = 0.5 * min(b - a for a, b in pairwise(x))
        else:
            centres, width = [low + (index + 0.5) * step for index in range(GRID)], step
            heights = [0.0] * GRID
            for at, weight in chosen:
                heights[min(int((at - low) / step), GRID - 1)] += weight
        figure.add_bar(
            x=centres,
            y=heights,
            width=[width] * len(centres),
            yaxis="y2",
            showlegend=False,
            marker={"color": colour, "opacity": 0.55, "line": {"width": 0}},
            hovertemplate="%{x:.4g}<br>probability %{y:.3g}<extra></extra>",
        )
    figure.update_layout(
        barmode="stack",
        bargap=0.08,
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
    )
