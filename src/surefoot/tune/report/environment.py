"""What the figures of an environment share: which of it is bad, and the mark of the risk."""

from html import escape

import plotly.graph_objects as go

from surefoot.tune.report.data import ReportData, Surroundings
from surefoot.tune.report.frame import ORANGE
from surefoot.tune.report.numbers import within


def note(beside: Surroundings) -> str:
    """What the figures show, in words."""
    bad = "" if beside.measure == "mean" else f" Orange marks {bad_ones(beside)}."
    if len(beside.names) == 1:
        return (
            "The recommended setting, as the model sees it, under each environment, with how "
            f"likely that is below. The dashed line is the {beside.risk}, with its interval.{bad} "
            "Grey points are measurements, of other settings, too."
        )
    return (
        "The recommended setting, as the model sees it, in the order of what the environment does "
        f"to it, the worst first. The dashed line is the {beside.risk}, with its interval.{bad} "
        "Below, each dot is an environment, placed by one variable of it."
    )


def tail_of(data: ReportData, beside: Surroundings) -> list[bool]:
    """Which environments are the bad ones: as bad as the value at risk or worse, or the worst."""
    if beside.measure == "mean":
        return [False] * len(beside.places)
    sign = -1.0 if data.direction == "maximize" else 1.0
    possible = [index for index, weight in enumerate(beside.weights) if weight > 0.0]
    order = sorted(possible, key=lambda index: -sign * beside.predicted[index].mean)
    tail, reached = [False] * len(beside.places), 0.0
    for index in order:
        tail[index] = True
        reached += beside.weights[index]
        if reached >= (beside.level or 0.0) - 1e-9:
            break
    return tail


def bad_ones(beside: Surroundings) -> str:
    """What is drawn in orange, in words."""
    if beside.measure == "worst-case":
        return "the worst environment"
    share = f"{100 * (beside.level or 0.0):g} %"
    if beside.listed:
        return f"the worst environments, until they are at least {share} of all"
    return f"the worst {share} of environments"


def draw_risk(figure: go.Figure, data: ReportData, beside: Surroundings) -> None:
    """A line across the figure at the risk, in a band that is its interval."""
    value = data.value
    figure.add_hrect(
        y0=value.lower, y1=value.upper, fillcolor=ORANGE, opacity=0.12, line_width=0, yref="y"
    )
    figure.add_hline(
        y=value.mean,
        line={"color": ORANGE, "width": 1.5, "dash": "dash"},
        annotation={
            "text": f"{escape(beside.risk)}: {within(value.mean, value.upper - value.lower)}",
            "font": {"color": ORANGE},
            "yanchor": "bottom",
            "showarrow": False,
        },
        annotation_position="top left" if data.direction == "minimize" else "bottom right",
    )
