"""A study with variables that are known before each choice: asked, told, recommended under them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from optuna.trial import create_trial
from typer.testing import CliRunner

from support.study_doubles import measurement
from surefoot.cli import app
from surefoot.tune import StudyFile, StudyFileError, open_study
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
from surefoot.tune.ask_tell.verbs import Verbs
from surefoot.tune.comparison.compare import Comparing
from surefoot.tune.comparison.named_settings import named_setting, named_settings
from surefoot.tune.report.collect import collect
from surefoot.tune.report.page import page, summary
from surefoot.tune.study.best_by_given import best_by_given
from surefoot.types import InvalidInput

STUDY = """
[study]
name = "demo"
direction = "minimize"
rounds = 40
initial = 6
[parameters]
cache = { type = "float", low = 0, high = 1, default = 0.5 }
[environment]
control = "given"
load = { type = "float", low = 0, high = 200 }
"""
MACHINE = 'machine = { type = "categorical", choices = ["old", "new"] }\n'


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study file without a command."""

    def write(more: str = "", *changes: tuple[str, str]) -> Path:
        path, text = tmp_path / "study.toml", STUDY + more
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path.write_text(text)
        return path

    return write


def surefoot(*arguments: object) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def test_every_configuration_has_the_given_values_and_defaults_come_first(write):
    study = open_ask_tell(write(MACHINE))
    first, second = study.ask(2, {"load": "120", "machine": "new"})
    (third,) = study.ask(given={"load": 7.5, "machine": "old"})
    assert first.params == {"cache": 0.5, "load": 120.0, "machine": "new"}
    assert (second.params["load"], second.params["machine"]) == (120.0, "new")
    assert third.params["load"] == 7.5
    assert third.params["cache"] != 0.5  # not the defaults again


def test_the_best_configuration_follows_the_given_value(write):
    path = write()
    opened = open_ask_tell(path).opened
    for number in range(24):
        load, cache = (200.0 * (0.618034 * number % 1.0), 0.754878 * number % 1.0)
        params = {"cache": cache, "load": load}
        value = (cache - load / 250.0 - 0.1) ** 2
        ranges = opened.study_file.distributions
        opened.study.add_trial(create_trial(params=params, distributions=ranges, value=value))
    found = best_by_given(open_study(path).state())
    assert [one.params["load"] for one in found] == [0.0, 50.0, 100.0, 150.0, 200.0]
    for one in found:
        assert one.params["cache"] == pytest.approx(one.params["load"] / 250.0 + 0.1, abs=0.06)
    code, out, _ = surefoot("recommend", path, "--given", "load=100", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["params"]["load"] == 100.0
    assert told["params"]["cache"] == pytest.approx(0.5, abs=0.06)
    code, out, _ = surefoot("recommend", path)
    lines = out.splitlines()
    assert lines[0].split()[:2] == ["load", "cache"]
    assert len(lines) == 6


def test_of_many_given_variables_each_varies_alone_and_no_row_is_there_twice(write):
    more = (
        "hour = { type = 'int', low = 0, high = 23 }\nusers = { type = 'int', low = 1, high = 9 }\n"
    )
    study = open_ask_tell(path := write(more))
    for value, load in ((3.0, 10.0), (2.0, 180.0), (2.5, 50.0)):
        (asked,) = study.ask(given={"load": load, "hour": 6, "users": 3})
        study.tell(asked.id, value)
    code, out, _ = surefoot("recommend", path)
    *rows, empty, note = out.splitlines()[1:]
    assert code == 0
    assert empty == ""
    assert note == "One at a time; the others as at the latest trial, load=50, hour=6, users=3."
    under = [tuple(row.split()[:3]) for row in rows]
    assert len(set(under)) == len(under)
    assert under.count(("50", "6", "3")) == 1


@pytest.mark.long
def test_without_a_name_it_is_recommended_under_the_values_of_the_latest_trial(write):
    study = open_ask_tell(path := write())
    for value, load in ((3.0, 10.0), (2.0, 180.0), (2.5, 60.0)):
        (asked,) = study.ask(given={"load": load})
        study.tell(asked.id, value)
    state = open_study(path).state()
    assert state.recommendation.params["load"] == 60.0
    setting = named_setting(study.study_file, "recommended", {"load": 180.0})
    assert setting.params["load"] == 180.0


@pytest.mark.long
def test_that_the_defaults_are_best_is_said_of_the_values_that_it_holds_under(write):
    path, random = write(), np.random.default_rng(1)
    opened = open_ask_tell(path).opened
    rows = [*random.uniform([0.0, 20.0], [1.0, 200.0], (28, 2)).tolist(), [0.5, 40.0], [0.5, 100.0]]
    for cache, load in rows:
        value = 10.0 * (cache - load / 200.0) ** 2 + 0.001 * random.standard_normal()
        distributions = opened.study_file.distributions
        params = {"cache": cache, "load": load}
        trial = create_trial(params=params, distributions=distributions, value=value)
        opened.study.add_trial(trial)
    report = collect(open_study(path).state())
    sentence = "Under load=100: keep the defaults: no configuration is known to be better."
    assert report.decision.advice == sentence
    assert f"**{sentence}**" in summary(report)


@pytest.mark.long
def test_a_report_compares_what_was_measured_under_the_same_conditions(write):
    path = write()
    opened = open_ask_tell(path).opened
    for number, load in enumerate([200.0, 150.0, 100.0, 50.0] * 4):  # ever less work
        cache = 0.754878 * number % 1.0
        opened.study.add_trial(
            create_trial(
                params={"cache": cache, "load": load},
                distributions=opened.study_file.distributions,
                value=10.0 * load + (cache - load / 200.0) ** 2,
            )
        )
    report = collect(open_study(path).state())
    assert report.given == "load=50"
    assert ">under load=50<" in page(report)
    assert "| parameter | recommended under load=50 |" in summary(report)
    first = report.decision.rows[0].other.interval.mean
    assert first == pytest.approx(500.0, abs=20.0)  # the first one's load was 200
    assert all(one.then.mean < 800.0 for one in report.history[2:])
    assert "may differ; the band is of the prediction under load=50." in page(report)


@pytest.mark.daily(1)
@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "no value of load, machine.*--given load=VALUE --given machine=VALUE"),
        ({"load": 10}, "no value of machine"),
        ({"load": 201, "machine": "old"}, "load: got '201', expected a number from 0 to 200"),
        ({"load": 10, "machine": "odd"}, "machine: got 'odd', expected one of old, new"),
        ({"load": 10, "machine": "old", "day": 3}, "'day', expected load, machine"),
    ],
)
def test_values_that_do_not_fit_are_refused_and_nothing_is_asked(write, given, message):
    study = open_ask_tell(write(MACHINE))
    for ask in (lambda: study.ask(given=given), lambda: Verbs(study).ask(given=given)):
        with pytest.raises(InvalidInput, match=message):
            ask()
    assert study.status().asked == ()


@pytest.mark.long
@pytest.mark.parametrize(
    ("text", "value"), [("120", 120.0), ("120rps", 120.0), ("0.12 krps", 120.0), ("3 req", None)]
)
def test_a_value_may_have_the_unit_of_its_variable(write, text, value):
    study = open_ask_tell(write("", ("high = 200", "high = 200, unit = 'rps'")))
    if value is None:
        with pytest.raises(InvalidInput, match=f"load: got '{text}', expected .*, in rps"):
            study.ask(given={"load": text})
        return
    assert study.ask(given={"load": text})[0].params["load"] == value


def test_a_value_without_a_known_unit_takes_none(write):
    with pytest.raises(InvalidInput, match=r"load: got '120rps', expected a number from 0 to 200$"):
        open_ask_tell(write()).ask(given={"load": "120rps"})


@pytest.mark.parametrize(
    ("a", "b", "differ"),
    [
        ("cache=0.1,load=20", "cache=0.9,load=20", ""),
        ("cache=0.1,load=20", "cache=0.1,load=90", "A is under load=20.0 and B under load=90.0"),
    ],
)
def test_a_comparison_under_different_values_is_warned_of(write, a, b, differ):
    study_file = StudyFile.load(write())
    comparing = Comparing(study_file, *named_settings(study_file, [a, b]), 2, 0.95, False)
    run = measurement(1.0, 0.1)
    result = comparing.result([{"a": run, "b": run}])
    assert result.warning.startswith(differ)
    assert bool(result.warning) is bool(differ)
    assert ([line for line in result.lines() if "Warning" in line] != []) is bool(differ)
    assert result.as_dict()["warning"] == result.warning


def test_a_study_without_such_variables_takes_none(write):
    text = STUDY.partition("[environment]")[0]
    path = write("", (STUDY.partition("[environment]")[2], ""), ("[environment]", ""))
    assert path.read_text().strip() == text.strip()
    with pytest.raises(InvalidInput, match=r"load.*no variable"):
        open_ask_tell(path).ask(given={"load": 3})


OPTION = ("--given", "load=150")


@pytest.fixture(scope="module")
def measured(tmp_path_factory) -> Path:
    """A study whose best cache depends on the load, and whose command measures that."""
    path = tmp_path_factory.mktemp("given") / "study.toml"
    (path.parent / "bench.sh").write_text('awk "BEGIN{print ($1-$2/250-0.1)^2}"\n')
    path.write_text(STUDY + '[objective]\ncommand = "sh bench.sh {cache} {load}"\n')
    opened = open_ask_tell(path).opened
    for number in range(24):
        params = {"cache": 0.754878 * number % 1.0, "load": 200.0 * (0.618034 * number % 1.0)}
        value = (params["cache"] - params["load"] / 250.0 - 0.1) ** 2
        ranges = opened.study_file.distributions
        opened.study.add_trial(create_trial(params=params, distributions=ranges, value=value))
    return path


@pytest.mark.long
def test_what_is_recommended_under_a_value_is_predicted_under_it(measured):
    best = json.loads(surefoot("recommend", measured, *OPTION, "--json")[1])
    names = ["recommended", "default", "cache=0.25", "cache=0.25,load=20", "trial 3"]
    code, out, err = surefoot("predict", measured, *names, *OPTION, "--json")
    assert (code, err) == (0, "")
    found = [one["params"] for one in json.loads(out)]
    assert found[0] == best["params"]
    assert json.loads(out)[0]["value"] == pytest.approx(best["value"])
    assert found[1] == {"cache": 0.5, "load": 150.0}
    assert [one["load"] for one in found[2:4]] == [150.0, 20.0]
    verbs = Verbs(open_ask_tell(measured))
    told = verbs.predict([*names[:2], {"cache": 0.25}], {"load": 150})["predictions"]
    assert [one["params"] for one in told] == found[:3]


@pytest.mark.long
def test_what_is_recommended_under_a_value_is_compared_under_it(measured):
    code, out, err = surefoot("compare", measured, "--runs", 8, *OPTION, "--json")
    assert (code, err) == (0, "")
    result = json.loads(out)
    assert result["a"] == {"cache": 0.5, "load": 150.0}
    assert result["b"]["load"] == 150.0
    assert result["better"] == "B"
    told = surefoot("recommend", measured, *OPTION)[1]
    assert "Measured against the defaults in 7 pairs" in told
    assert "Measured against" not in surefoot("recommend", measured, "--given", "load=20")[1]


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "default"], "expected --given load=VALUE, `trial N`"),
        (["predict", "cache=0.5"], "no value of load"),
        (["predict", "default", "--given", "load=201"], "load: got '201'"),
        (["predict", "default", "--given", "day=2"], "got a value of 'day', expected load"),
        (["predict", "trial 1", *OPTION], "each of the configurations has its own; leave out"),
        (["predict", "cache=1,load=2", *OPTION], "got a value of load, but each of the conf"),
        (["compare"], "got 'default' without a value of load"),
        (["compare", "--a", "trial 1", "--b", "trial 2", *OPTION], "leave out --given load"),
        (["check", "--config", "trial 1", *OPTION], "leave out --given load"),
    ],
)
def test_a_given_value_that_is_missing_or_idle_is_refused(measured, words, message):
    code, out, err = surefoot(words[0], measured, *words[1:])
    assert (code, out) == (2, "")
    assert message in err


def test_each_given_variable_needs_a_value(write):
    with pytest.raises(InvalidInput, match=r"without a value of machine, .*--given machine=VALUE"):
        named_setting(StudyFile.load(write(MACHINE)), "default", {"load": 3.0})


@pytest.mark.parametrize("name", ["default", "recommended"])
def test_names_without_a_given_value_are_refused(write, name):
    with pytest.raises(InvalidInput, match="without a value of load"):
        named_setting(StudyFile.load(write()), name)


@pytest.mark.parametrize(
    ("more", "changes", "message"),
    [
        ('[risk]\nmeasure = "mean"', (), "risk: given beside .*known before the choice and has no"),
        ("[repeats]\nmost = 3", (), "repeats: given beside"),
        ("[confirm]\nshare = 0.2", (), "confirm: given beside"),
        ("[stop]\ngain = 0.02", (), "stop: given beside"),
        ("", [('control = "given"', "")], "environment.load: got a `type`"),
        ("", [('type = "float", low = 0, high = 200', "values = [1, 2]")], "got a distribution"),
        ("", [("high = 200", "high = 200, default = 3")], "environment.load.default: given"),
        ("", [("high = 200", "high = 200, when = 'cache > 0'")], "environment.load.when: given"),
        (
            "",
            [('load = { type = "float", ', "load = { ")],
            r"'uniform', or .*'given' a `type`: 'int', 'float'",
        ),
        ("", [("high = 200", "high = -1")], "environment.load.low: got 0"),
        ("", [("\nload", "\ncache")], "environment.cache: is a parameter, too"),
        ("", [("load = {", "# load = {")], "environment: got no variable"),
    ],
)
def test_what_does_not_combine_is_refused_with_its_key(write, more, changes, message):
    with pytest.raises(StudyFileError, match=message):
        StudyFile.load(write(more, *changes))


def test_rules_and_conditions_may_read_a_given_variable(write):
    more = MACHINE + '[[require]]\nrule = "cache <= load"\n[[require]]\nrule = "load <= 100"\n'
    extra = (
        'boost = { type = "int", low = 1, high = 9, default = 2, when = "machine == \'new\'" }\n'
    )
    path = write(more, ("[environment]", extra + "[environment]"))
    study_file = StudyFile.load(path)
    study = open_ask_tell(path)
    asked = study.ask(3, {"load": 0.25, "machine": "new"})
    assert all(one.params["cache"] <= 0.25 and "boost" in one.params for one in asked)
    (old,) = study.ask(given={"load": 0.25, "machine": "old"})
    assert "boost" not in old.params
    with pytest.raises(InvalidInput, match="load <= 100"):
        study.ask(given={"load": 120, "machine": "old"})
    (first,) = study.ask(given={"load": 9, "machine": "old"})
    assert first.params["cache"] == 0.5  # the defaults, which the rules have forbidden until now
    assert study_file.defaults_under({"load": 1.0, "machine": "old"}) == {
        "cache": 0.5,
        "load": 1.0,
        "machine": "old",
    }


@pytest.mark.long
def test_a_run_measures_under_its_given_values_with_all_workers(write, tmp_path):
    (tmp_path / "bench.sh").write_text("echo $1\n")
    command = '[objective]\ncommand = "sh bench.sh {cache}"\n[parameters]'
    path = write("", ("[parameters]", command))
    code, _, err = surefoot("tune", path, "--rounds", 2)
    assert code == 2
    assert "--given load=VALUE" in err
    assert not (tmp_path / "demo.db").exists()
    for load, rounds, workers in ((50, 2, 1), (150, 4, 2)):
        options = ["--rounds", rounds, "--workers", workers, "--given", f"load={load}"]
        assert surefoot("tune", path, *options)[0] == 0
    trials = open_study(path).state().trials
    assert [trial.params["load"] for trial in trials] == [50.0, 50.0, 150.0, 150.0]
