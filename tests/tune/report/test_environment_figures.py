"""The recommended setting over its environment: what the figures and the page say of it."""

import json
import re
from dataclasses import replace

import numpy as np
import optuna
import pytest
from optuna.trial import create_trial

from support.report_examples import NUMBER, environment_view, report_of, trial
from surefoot.integrations.optuna import ENVIRONMENT
from surefoot.tune import StudyFile
from surefoot.tune.estimate_text import Units
from surefoot.tune.report import write_report
from surefoot.tune.report.contents import Interval
from surefoot.tune.report.environment_figures import (
    against_variable,
    over_all_variables,
    over_one_variable,
)
from surefoot.tune.report.page import page
from surefoot.tune.study.opened_study import create_study

EVIL = "<script>alert(1)</script>"
FEW = environment_view((4.0,), (1.0,), (2.0,), (3.0,))
MANY = environment_view(*((step / 999,) for step in range(1000)), discrete=False)
TWO = environment_view((1.0, 5.0), (1.0, 6.0), (2.0, 5.0), (2.0, 6.0), names=("load", "heat"))
TRIALS = tuple(trial(n, 10.0 + n, environment={"load": n / 4, "heat": 5.0}) for n in range(5))


def trace(figure, name: str) -> dict:
    return next(one for one in figure.to_dict()["data"] if one.get("name") == name)


def figures(text: str) -> dict[str, dict]:
    found = re.findall(r'<script type="application/json" id="figure-(.+?)">(.*?)</script>', text)
    return {name: json.loads(content) for name, content in found}


def bars(figure) -> list[dict]:
    return [one for one in figure.to_dict()["data"] if one["type"] == "bar"]


@pytest.mark.parametrize(("direction", "bad"), [("minimize", 4.0), ("maximize", 1.0)])
def test_a_few_values_are_drawn_one_by_one_and_the_bad_ones_marked(direction, bad):
    figure = over_one_variable(report_of(TRIALS, direction=direction), FEW)
    points = trace(figure, "predicted, with its interval")
    assert list(points["x"]) == [1.0, 2.0, 3.0, 4.0]
    assert list(points["y"]) == [11.0, 12.0, 13.0, 14.0]
    marked = [x for x, colour in zip(points["x"], points["marker"]["color"], strict=True)]
    colours = set(points["marker"]["color"])
    assert len(colours) == 2
    good, worst = bars(figure)
    assert list(worst["x"]) == [bad]
    assert sorted([*good["x"], *worst["x"]]) == marked
    assert sum([*good["y"], *worst["y"]]) == pytest.approx(1.0)
    assert list(trace(figure, "measured")["x"]) == [0, 0.25, 0.5, 0.75, 1.0]


def test_a_density_is_a_curve_over_a_histogram():
    figure = over_one_variable(report_of(TRIALS), MANY)
    curve = trace(figure, "predicted, with its interval")
    assert curve["mode"] == "lines"
    assert len(curve["x"]) == 1000
    good, worst = bars(figure)
    assert sum(good["y"]) == pytest.approx(0.75)
    assert sum(worst["y"]) == pytest.approx(0.25)
    assert max(x for x, y in zip(good["x"], good["y"], strict=True) if y) < 0.77


def test_the_risk_and_its_interval_are_marked():
    figure = over_one_variable(report_of(TRIALS, value=Interval(10.0, 9.5, 10.5)), FEW).to_dict()
    shapes = figure["layout"]["shapes"]
    assert {(shape["y0"], shape["y1"]) for shape in shapes} == {(10.0, 10.0), (9.5, 10.5)}
    assert "value at risk 0.25: 10" in figure["layout"]["annotations"][0]["text"]


@pytest.mark.daily(2)
@pytest.mark.parametrize("measure", ["mean", "worst-case", "cvar"])
def test_other_risks(measure):
    level = 0.3 if measure == "cvar" else None
    view = environment_view((1.0,), (2.0,), (3.0,), (4.0,), measure=measure, level=level)
    worst = bars(over_one_variable(report_of(TRIALS), view))[1]
    assert list(worst["x"]) == {"mean": [], "worst-case": [4.0], "cvar": [3.0, 4.0]}[measure]
    text = page(report_of(TRIALS, environment=view))
    assert ("Orange marks" in text) == (measure != "mean")


@pytest.mark.parametrize(
    ("direction", "means"), [("minimize", [12, 12, 11, 11, 11]), ("maximize", [11, 11, 12, 12, 12])]
)
def test_several_variables_are_shown_in_the_order_of_what_they_do(direction, means):
    figure = over_all_variables(report_of(TRIALS, direction=direction), TWO)
    curve = trace(figure, "predicted, with its interval")
    assert list(curve["y"]) == means
    assert list(curve["x"]) == [0, 25, 50, 75, 100]
    worst = trace(figure, "the worst 25 % of environments")
    assert list(worst["x"]) == [0, 25]
    assert list(worst["y"]) == means[:1] * 2


def test_each_variable_has_its_own_figure():
    data = report_of(TRIALS, environment=TWO)
    drawn = figures(page(data))
    assert {"environment", "environment-0", "environment-1"} < drawn.keys()
    for column in range(2):
        dots = against_variable(data, TWO, column).to_dict()["data"]
        shown = sorted(x for one in dots for x in one["x"])
        assert shown == sorted(place[column] for place in TWO.points)


def test_a_weight_of_zero_is_no_worst_case():
    view = environment_view(
        (1.0,), (2.0,), (9.0,), measure="worst-case", level=None, weights=(0.5, 0.5, 0.0)
    )
    assert list(bars(over_one_variable(report_of(TRIALS), view))[1]["x"]) == [2.0]


@pytest.mark.long
def test_the_page_says_what_the_number_is():
    data = report_of(TRIALS, environment=FEW)
    text = page(data)
    assert "Value at risk 0.25, predicted at the recommended configuration" in text
    assert "<p>in at least 25&nbsp;% of environments it is this bad or worse</p>" in text
    assert "moves the value at risk 0.25 by" in text
    assert '<th scope="col"><button type="button">load</button></th>' in text
    assert "load = 0.25" in figures(text)["measurements"]["data"][0]["hovertext"][1]
    assert "<h2>Environment</h2>" not in page(report_of())


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    ("measure", "kind"), [("fidelity", "fidelity"), ("var", "environment")], ids=str
)
def test_no_two_columns_of_the_trials_have_one_name(measure, kind):
    """A study may have names of its own that the columns of every study have."""
    view = environment_view((1.0,), (2.0,), names=("seconds",), measure=measure, level=None)
    parameters = (replace(NUMBER, name="weight"), replace(NUMBER, name="speed"))
    trials = tuple(
        trial(n, 10.0, environment={"seconds": 1.0}, constraints={"state": 2.0}) for n in range(3)
    )
    units = Units("ms", reported={"state": "MB"})
    for known, state in [(Units(), "state (reported)"), (units, "state [MB]")]:
        text = page(report_of(trials, parameters, environment=view, units=known))
        table = text[text.index("Table of trials") :]
        titles = re.findall(r'<th [^>]*><button type="button">([^<]*)<', table)
        assert len({*titles}) == len(titles)
        assert {"seconds", f"seconds ({kind})", "weight (parameter)", state} <= {*titles}


@pytest.mark.long
@pytest.mark.parametrize("names", [(EVIL,), (EVIL, "heat")])
def test_every_text_is_escaped(names):
    points = tuple((float(n),) * len(names) for n in range(3))
    view = environment_view(*points, names=names, name=EVIL, meaning=EVIL)
    trials = tuple(trial(n, 10.0, environment={EVIL: 1.0}) for n in range(3))
    text = page(report_of(trials, environment=view))
    assert "<script>alert" not in text
    for figure in figures(text).values():
        assert "<script>" not in json.dumps(figure)


STUDY = """
[study]
name = "rig"
direction = "maximize"
rounds = 30
[objective]
command = "rig {speed} {mode} {load}"
[parameters]
speed = { type = 'float', low = 1, high = 100, log = true }
mode = { type = 'categorical', choices = ['a', '<b>'] }
[environment]
load = { distribution = "uniform", low = 0, high = 1 }
[risk]
measure = "cvar"
level = 0.2
"""


@pytest.mark.long
def test_the_report_of_a_real_study(tmp_path):
    path = tmp_path / "rig.toml"
    path.write_text(STUDY, encoding="utf-8")
    study_file = StudyFile.load(path)
    opened = create_study(study_file).study
    random = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    generator = np.random.default_rng(0)
    loads = generator.uniform(size=22)
    for load in loads:
        params = random.ask(study_file.distributions).params
        value = 10 - 5 * load + 0.1 * generator.standard_normal()
        opened.add_trial(
            create_trial(
                value=value,
                params=params,
                distributions=study_file.distributions,
                user_attrs={ENVIRONMENT: {"load": load}},
            )
        )
    write_report(path, tmp_path / "report.html")
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Conditional value at risk 0.2, predicted at the recommended configuration" in text
    drawn = figures(text)
    curve = next(
        one
        for one in drawn["environment"]["data"]
        if one.get("name") == "predicted, with its interval" and one["mode"] == "lines"
    )
    assert len(curve["hovertext"]) == 1024
    # The residuals are of what was measured under each load, not of the risk.
    residuals = next(one for one in drawn["quantiles"]["data"] if one.get("name") == "residuals")
    shown = [float(re.search(r"residual (\S+)", told)[1]) for told in residuals["hovertext"]]
    assert max(map(abs, shown)) < 1.0
