"""Figures as files: HTML by Plotly itself, pictures by Chrome."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from surefoot._internal.extras import check_installed
from surefoot.tune.output_file import check_output, output_file
from surefoot.types import InvalidInput

_HTML = ".html"


def check_figure_file(path: Path) -> None:
    """Raise `InvalidInput` or `NotInstalled` for a file that a figure cannot be written to."""
    check_output(path, (_HTML, ".png", ".svg", ".pdf"))
    if path.suffix.lower() != _HTML:
        check_installed("plot", "kaleido")


def write_figure(figure: go.Figure, path: Path) -> None:
    """Write a figure to a file.

    Args:
        figure: The figure.
        path: An `.html` file, which needs no network, or a `.png`, `.svg` or `.pdf` file, which
            needs the package kaleido, and Chrome or Chromium.

    Raises:
        InvalidInput: If the file has another ending, or there is no Chrome.
        NotInstalled: If kaleido is missing.
        WriteFailed: If the file cannot be written.
    """
    check_figure_file(path)
    drawn, ending = go.Figure(figure).update_layout(template="plotly_white"), path.suffix.lower()
    with output_file(path) as partial:
        if ending == _HTML:
            drawn.write_html(partial, include_plotlyjs=True)
            return
        try:
            partial.write_bytes(drawn.to_image(format=ending[1:], width=960, scale=2))
        except RuntimeError:
            raise InvalidInput(
                f"{path}: {ending} needs Chrome or Chromium, which was not found; install it, or "
                "write an .html file"
            ) from None


def tiled(figures: Mapping[str, go.Figure]) -> go.Figure:
    """Small figures as one, three in a row, with their names above."""
    columns = min(3, len(figures))
    rows = math.ceil(len(figures) / columns)
    whole = make_subplots(rows, columns, subplot_titles=list(figures))
    for place, figure in enumerate(figures.values()):
        row, column = divmod(place, columns)
        whole.add_traces(figure.data, rows=row + 1, cols=column + 1)
        whole.update_xaxes(figure.layout.xaxis, row=row + 1, col=column + 1)
        whole.update_yaxes(figure.layout.yaxis, row=row + 1, col=column + 1)
        axes = whole.data[-1]
        for shape in figure.layout.shapes:
            across, up = shape.xref.replace("x", axes.xaxis), shape.yref.replace("y", axes.yaxis)
            whole.add_shape(shape.update(xref=across, yref=up))
    return whole.update_layout(height=100 + 240 * rows, showlegend=False)
