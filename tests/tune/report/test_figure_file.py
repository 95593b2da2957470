"""Figures as files, and several of them side by side."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import plotly.graph_objects as go
import pytest

from support.report_examples import report_of, trial
from surefoot.tune.report import figure_file
from surefoot.tune.report.figure_file import check_figure_file, tiled, write_figure
from surefoot.tune.report.figures import limited
from surefoot.types import Constraint, InvalidInput, NotInstalled

PICTURES = (".png", ".svg", ".pdf")


def figures(number: int) -> dict[str, go.Figure]:
    limits = {f"q{n}": Constraint(maximum=float(n)) for n in range(number)}
    trials = tuple(trial(n, 1.0, constraints=dict.fromkeys(limits, float(n))) for n in range(4))
    report = report_of(trials, bounds=limits)
    return {name: limited(report, name) for name in limits}


@pytest.mark.daily(1)
@pytest.mark.parametrize("number", [1, 2, 3, 4, 7])
def test_each_of_several_figures_keeps_its_axis_its_limit_and_its_name(number: int) -> None:
    drawn = figures(number)
    whole = tiled(drawn)
    assert [one.text for one in whole.layout.annotations] == list(drawn)
    assert len(whole.data) == len(whole.layout.shapes) == number
    for place, (points, line, one) in enumerate(
        zip(whole.data, whole.layout.shapes, drawn.values(), strict=True)
    ):
        assert (line.xref, line.yref, line.y0) == (f"{points.xaxis} domain", points.yaxis, place)
        axis = whole.layout[points.yaxis.replace("y", "yaxis")]
        assert axis.range == one.layout.yaxis.range


@pytest.mark.long
@pytest.mark.parametrize("number", [1, 4])
def test_an_html_file_needs_no_network_and_changes_no_figure(tmp_path: Path, number: int) -> None:
    figure = tiled(figures(number))
    before = figure.to_dict()
    write_figure(figure, tmp_path / "limits.html")
    text = (tmp_path / "limits.html").read_text()
    assert "q0" in text
    assert "<script src" not in text
    assert go.Figure(before) == figure


@pytest.mark.parametrize("ending", PICTURES)
def test_a_picture_without_its_package_says_what_to_install(tmp_path, monkeypatch, ending) -> None:
    monkeypatch.setattr("surefoot._internal.extras.find_spec", lambda name: None)
    with pytest.raises(NotInstalled, match=r"kaleido.*surefoot\[plot\]"):
        check_figure_file(tmp_path / f"x{ending}")


@pytest.mark.daily(1)
@pytest.mark.parametrize("ending", PICTURES)
def test_a_picture_without_chrome_says_so_and_leaves_no_file(tmp_path, monkeypatch, ending) -> None:
    def without(*_: object, **__: object) -> bytes:
        raise RuntimeError("\n\nKaleido requires Google Chrome to be installed.")

    monkeypatch.setattr(figure_file, "check_installed", lambda *_: None)
    monkeypatch.setattr(go.Figure, "to_image", without)
    with pytest.raises(InvalidInput, match=r"needs Chrome or Chromium.*write an .html file"):
        write_figure(go.Figure(), tmp_path / f"x{ending}")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(find_spec("kaleido") is None, reason="needs surefoot[plot]")
def test_a_picture_is_one(tmp_path: Path) -> None:
    try:
        write_figure(go.Figure(), tmp_path / "x.png")
    except InvalidInput:
        pytest.skip("needs Chrome")
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")


def test_other_endings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"expected .html or .png or .svg or .pdf"):
        check_figure_file(tmp_path / "x.jpg")
