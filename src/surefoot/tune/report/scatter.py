"""Measurements as grey points, behind what the model says."""

from typing import Any

import plotly.graph_objects as go

from surefoot.tune.report.data import Trial
from surefoot.tune.report.frame import GREY, SYMBOLS, describe, measured
from surefoot.tune.report.ranges import Range


def scatter(
    figure: go.Figure, shown: list[Trial], places: list[Any], axis: Range, name: str
) -> None:
    """Draw trials at their places; those beyond the axis are triangles at its border."""
    figure.add_scatter(
        x=places,
        y=[axis.clip(measured(trial)) for trial in shown],
        mode="markers",
        name=name,
        marker={
            "color": GREY,
            "opacity": 0.45,
            "size": 5,
            "symbol": [SYMBOLS[axis.side(measured(trial))] for trial in shown],
        },
        hovertext=[describe(trial) for trial in shown],
        hoverinfo="text",
    )
