"""Figures of a study for notebooks, and a notebook that shows them."""

from __future__ import annotations

import json
import math
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from optuna.trial import TrialState, create_trial
from typer.testing import CliRunner

import surefoot as sf
from surefoot.cli import app
from surefoot.integrations.optuna import CONSTRAINTS, Front, ParetoPoint
from surefoot.tune import open_study
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
from surefoot.types import InvalidInput

STUDY = """
study = { name = "figures", direction = "minimize", rounds = 20, initial = 12 }
[parameters]
size = { type = "int", low = 1, high = 1024, log = true }
share = { type = "float", low = 0, high = 1, step = 0.125 }
mode = { type = "categorical", choices = ["on", "off"] }
depth = { type = "int", low = 1, high = 4, when = "mode == 'on'" }
"""
NOTEBOOK = Path(__file__).parents[1] / "examples" / "notebook" / "study.ipynb"


@pytest.fixture(scope="module")
def path(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("plot") / "study.toml"
    path.write_text(STUDY)
    study = open_ask_tell(path)
    for one in study.ask(12):
        value = math.log2(one.params["size"]) + one.params["share"] + 0.1 * (one.id % 3)
        study.tell(one.id, 100.0 if one.id == 4 else value)
    return path


@pytest.fixture(scope="module")
def drawn(path) -> sf.plot.StudyFigures:
    return sf.plot.study(path)


@pytest.mark.long
def test_figures_are_those_of_the_report(drawn, path):
    assert next(iter(drawn.slices())) == "size"
    assert {"size", "share", "mode"} <= set(drawn.slices())
    for figure in (drawn.convergence(), drawn.measurements(), drawn.tails()):
        assert len(figure.data) > 0
    with pytest.raises(InvalidInput, match="no drift was found"):
        drawn.effects()
    opened = open_study(path)
    assert sf.plot.study(opened).state.opened is opened


@pytest.mark.long
def test_a_figure_is_found_by_its_name(drawn):
    assert drawn.named("tails").to_json() == drawn.tails().to_json()
    titles = [one.text for one in drawn.named("slices").layout.annotations]
    assert titles == list(drawn.slices())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("limits", r"\[constraints\]"),
        ("pairs", "surefoot compare"),
        ("front", r"\[objectives\]"),
        ("effects", "no drift"),
        ("limit", "expected one of convergence, "),
        ("report", "expected one of convergence, "),
        ("__init__", "expected one of convergence, "),
    ],
)
def test_what_a_study_has_no_figure_of_is_said(drawn, name, message):
    with pytest.raises(InvalidInput, match=message):
        drawn.named(name)


def test_a_command_writes_a_figure(path, tmp_path):
    found = CliRunner().invoke(
        app, ["plot", str(path), "convergence", "--out", str(tmp_path / "a.html")]
    )
    assert (found.exit_code, found.stdout) == (0, f"wrote {tmp_path / 'a.html'}\n")
    assert "by the final model" in (tmp_path / "a.html").read_text()


def test_the_help_names_every_figure():
    text = " ".join(CliRunner().invoke(app, ["plot", "--help"]).stdout.split())
    for name in sf.plot.FIGURES:
        assert f" {name} " in text
        assert callable(getattr(sf.plot.StudyFigures, name))


def test_a_surface_has_the_values_that_the_model_predicts(drawn):
    contour, points = drawn.surface("size", "share").data
    assert list(contour.y) == [i / 8 for i in range(9)]
    assert (contour.x[0], contour.x[-1]) == (1, 1024)
    assert all(isinstance(one, int) for one in contour.x)
    best = drawn.report.findings.recommended.params
    one = {**best, "size": contour.x[3], "share": contour.y[5]}
    assert np.asarray(contour.z)[5, 3] == pytest.approx(drawn.state.belief.predict([one])[0][0])
    assert len(points.x) == 12
    assert [s == "circle-open" for s in points.marker.symbol] == [i == 4 for i in range(12)]


@pytest.mark.parametrize("names", [("size", "mode"), ("size", "x"), ("size", "size")])
def test_a_surface_is_over_two_numbers(drawn, names):
    with pytest.raises(InvalidInput):
        drawn.surface(*names)


def test_parallel_coordinates_show_every_measurement(drawn):
    figure = drawn.parallel()
    lines = [one for one in figure.data if one.mode == "lines" and len(one.x or ()) > 2]
    assert len(lines) == 12 == len(drawn.report.measured)
    text = str(figure.layout)
    assert all(name in text for name in ("size", "share", "mode"))
    assert "depth" not in text, "not every configuration has it"


def point(trial: int, *values: float) -> ParetoPoint:
    ends = [dict(zip("abc", (one + by for one in values), strict=False)) for by in (0.0, -0.5, 0.5)]
    return ParetoPoint((trial,), {"<x>": trial}, *ends, 0.5)


FRONT = Front(
    {"a": False, "b": True},
    [point(0, 3.0, 9.0), point(1, 1.0, 2.0), point(2, 2.0, 1.0), point(3, 2.0, 6.0)],
    np.zeros((4, 2, 1)),
)


def test_a_front_has_its_points_with_their_intervals():
    trials = [create_trial(values=[a, b]) for a, b in [(1.2, 2.5), (2.2, 900.0), (-80.0, 4.0)]]
    figure = sf.plot.front(FRONT, trials=[*trials, create_trial(state=TrialState.FAIL)])
    measured, dominated, steps, front = figure.data
    assert list(front.x) == [1.0, 2.0, 3.0] == list(steps.x)
    assert list(front.y) == [2.0, 6.0, 9.0]
    assert list(front.error_x.array) == [0.5] * 3 == list(front.error_y.arrayminus)
    assert list(dominated.x) == [2.0]
    assert steps.line.shape == "hv"  # the first is minimised: nothing is better at more of it
    assert list(measured.marker.symbol) == ["circle", "triangle-up", "triangle-left"]
    low, high = figure.layout.yaxis.range
    assert all(low < one < high for one in measured.y)
    assert high < 20.0, "an outlier squashes the front"
    assert "&lt;x&gt; = 0" in front.hovertext[2]


def test_measurements_that_lack_an_objective_are_left_out_of_its_figure():
    """A further objective is recorded beside the value, since it was declared later perhaps."""
    trials = [
        create_trial(value=1.5, user_attrs={CONSTRAINTS: {"b": 4.0}}),
        create_trial(value=2.5),
        create_trial(values=[1.2, 2.5]),
    ]
    measured = sf.plot.front(FRONT, trials=trials).data[0]
    assert (list(measured.x), list(measured.y)) == ([1.5, 1.2], [4.0, 2.5])


def test_a_front_of_three_objectives_is_drawn_over_two_that_are_named():
    candidates = [point(0, 3.0, 9.0, 1.0), point(1, 1.0, 2.0, 2.0)]
    front = Front({"a": False, "b": True, "c": True}, candidates, np.zeros((2, 3, 1)))
    figure = sf.plot.front(front, "c", "b")
    assert list(figure.data[-1].x) == [1.0, 2.0]
    assert len(figure.data) == 3, "without steps, which the third objective would belie"
    for names in [(), ("a",), ("a", "a"), ("a", "x"), ([], "a")]:
        with pytest.raises(InvalidInput, match="a, b, c"):
            sf.plot.front(front, *names)


@pytest.mark.parametrize("given", [None, 3, [point(0, 3.0, 9.0)], object()])
def test_what_is_no_front_is_refused_with_what_to_pass(given):
    with pytest.raises(InvalidInput, match=r"belief\(study\)\.front\(\)"):
        sf.plot.front(given)


@pytest.mark.long
def test_a_notebook_shows_tables_and_figures(tmp_path):
    shutil.copy(NOTEBOOK, tmp_path)
    command = ["-m", "nbconvert", "--to", "notebook", "--execute", "--inplace", NOTEBOOK.name]
    done = subprocess.run(
        [sys.executable, *command], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    cells = json.loads((tmp_path / NOTEBOOK.name).read_text())["cells"]
    outputs = [cell["outputs"][-1]["data"] for cell in cells[2:]]
    for output in outputs[:2]:
        assert "<table>" in "".join(output["text/html"])
    assert all("application/vnd.plotly.v1+json" in output for output in outputs[2:])
    assert [one.name for one in tmp_path.iterdir()] == [NOTEBOOK.name]
    page = [sys.executable, "-m", "nbconvert", "--to", "html", NOTEBOOK.name]
    subprocess.run(page, cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / NOTEBOOK.name).with_suffix(".html").read_text().count("Plotly.newPlot(") == 3
