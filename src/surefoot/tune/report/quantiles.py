"""The noise against a normal distribution, quantile by quantile."""

import numpy as np
import plotly.graph_objects as go
from scipy import stats

from surefoot.tune.report.data import ReportData
from surefoot.tune.report.frame import BLUE, GREY, ORANGE, SYMBOLS, frame, measured
from surefoot.tune.report.numbers import number
from surefoot.tune.report.ranges import Range


def quantiles(data: ReportData) -> go.Figure:
    """Residuals against the normal's quantiles: heavy tails bend away from the line."""
    residuals = np.sort(
        [measured(trial) - trial.predicted.mean for trial in data.measured if trial.predicted]
    )
    centre = float(np.median(residuals))
    # 1.4826 makes the median absolute deviation estimate a normal's standard deviation.
    scale = 1.4826 * float(np.median(np.abs(residuals - centre)))
    chances = (np.arange(1, residuals.size + 1) - 0.375) / (residuals.size + 0.25)  # Blom, 1958
    normal = stats.norm.ppf(chances)
    line = centre + scale * normal
    axis = Range.of(residuals, [line[0], line[-1]])
    figure = frame("quantile of a normal distribution", "measured − predicted", axis)
    figure.add_scatter(
        x=normal,
        y=line,
        mode="lines",
        name="normal noise would lie here",
        line={"color": GREY, "dash": "dot"},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=normal,
        y=[axis.clip(value) for value in residuals],
        mode="markers",
        name="residuals",
        marker={
            "color": [ORANGE if axis.side(value) else BLUE for value in residuals],
            "symbol": [SYMBOLS[axis.side(value)] for value in residuals],
            "size": 7,
        },
        hovertext=[f"residual {number(value)}" for value in residuals],
        hoverinfo="text",
    )
    return figure
