"""Measuring a study from outside: ids that last, nothing lost, nothing twice, one line each."""

from __future__ import annotations

import inspect
import io
import itertools
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState
from typer.testing import CliRunner

from support.processes import Forked
from surefoot.cli import app
from surefoot.tune.ask_tell.ask_tell import AskTell, NothingToAsk, initial_design, open_ask_tell
from surefoot.tune.ask_tell.verbs import Verbs, serve_lines
from surefoot.tune.running import run
from surefoot.tune.study.trial_attributes import OWNER, record_of, trial_worker
from surefoot.tune.study.trial_owner import this_process
from surefoot.tune.study.trials import StudyTrials
from surefoot.types import InvalidInput, SurefootError

STUDY = """
[study]
name = "paper"
direction = "minimize"
rounds = {rounds}
initial = 8
[parameters]
size = {{ type = "int", low = 1, high = 4 }}
share = {{ type = "float", low = 0, high = 1 }}
{more}
"""
SMALL = 'mode = { type = "categorical", choices = ["a", "b c"] }'

# A journal needs no database, and the defaults, which are asked for first, need no model.
WITHOUT_DATABASE = """
import sys
from surefoot.tune.ask_tell.ask_tell import open_ask_tell
study = open_ask_tell(sys.argv[1])
(one,) = study.ask()
study.tell(one.id, "12.5")
assert study.status().finished == 1
print([n for n in ("sqlalchemy", "alembic", "torch", "scipy", "pandas") if n in sys.modules])
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study file without a command."""

    def write(more: str = "", rounds: int = 8, study: str = STUDY) -> Path:
        path = tmp_path / "study.toml"
        path.write_text(study.format(rounds=rounds, more=more))
        return path

    return write


def surefoot(*arguments: object) -> tuple[int, str]:
    """Exit code and all output of a command."""
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


def everything(study: AskTell) -> list[object]:
    """All that is stored of the trials."""
    return [
        (t.number, t.state, t.value, t.params, t.user_attrs, t.system_attrs)
        for t in study.opened.state().trials
    ]


@pytest.mark.long
def test_an_experimenter_measures_a_batch_over_days(write):
    path = write(rounds=7)
    asked = open_ask_tell(path).ask(6)
    assert [one.id for one in asked] == list(range(6))
    assert open_ask_tell(path).status().asked == tuple(asked)  # by another process, later
    for one in asked[:4]:
        assert open_ask_tell(path).tell(one.id, 10.0 + one.id, sem=0.5).value == 10.0 + one.id
    assert open_ask_tell(path).tell(4, failed="the tube broke").failure == "the tube broke"
    status = open_ask_tell(path).status()
    assert (status.finished, status.failed, [one.id for one in status.asked]) == (5, 1, [5])
    (last,) = open_ask_tell(path).ask(3)  # only one round is left
    with pytest.raises(NothingToAsk, match=r"2 rounds .* are being measured \(asked for: 5, "):
        open_ask_tell(path).ask()
    for id in (5, last.id):
        open_ask_tell(path).tell(id, "1e1")
    with pytest.raises(NothingToAsk, match=r"all 7 rounds are measured"):
        open_ask_tell(path).ask()
    assert open_ask_tell(path).opened.state().belief.trials == [0, 1, 2, 3, 5, last.id]


def test_what_a_process_measured_that_is_gone_is_measured_no_longer(write):
    path = write(rounds=7)
    opened = open_ask_tell(path).opened
    here = this_process("run")
    for owner, number in ((here, 1), ({**here, "born": "1"}, 1), ({**here, "host": "other"}, 2)):
        trial = opened.study.ask()
        trial.set_user_attr(OWNER, owner)
        assert open_ask_tell(path).status().measured == number


def test_fewer_than_were_wanted_are_a_line(write):
    code, out = surefoot("ask", write(rounds=2), "-n", 3)
    assert code == 0
    assert out.splitlines()[-1] == "2 of 3: no further round of the study is left"


@pytest.mark.long
def test_processes_share_one_initial_design(write):
    path = write()
    asked = [open_ask_tell(path).ask()[0].params for _ in range(8)]
    assert asked == initial_design(open_ask_tell(path).study_file)


@pytest.mark.long
def test_defaults_come_first_and_no_model_is_loaded_for_what_is_queued(write, monkeypatch):
    path = write().with_name("study.toml")
    path.write_text(path.read_text().replace("high = 4", "high = 4, default = 2"))
    path.write_text(path.read_text().replace("high = 1 ", "high = 1, default = 0.5 "))
    (first,) = open_ask_tell(path).ask()
    assert first.params == {"size": 2, "share": 0.5}
    open_ask_tell(path).ask()
    sampler = "surefoot.integrations.optuna.sampler.SurefootSampler._up_to_date"
    monkeypatch.setattr(sampler, lambda *given: pytest.fail("a model was asked"))
    assert len(open_ask_tell(path).ask(5)) == 5


@pytest.mark.long
def test_nothing_is_asked_for_twice_at_once(write):
    small = STUDY.replace('share = {{ type = "float", low = 0, high = 1 }}', SMALL_BRACES)
    path = write(study=small, rounds=20)
    asked = [open_ask_tell(path).ask()[0] for _ in range(8)]
    assert len({tuple(one.params.items()) for one in asked}) == 8
    open_ask_tell(path).forget([3])
    (again,) = open_ask_tell(path).ask()
    assert again.params == asked[3].params


@pytest.fixture(scope="module")
def told(tmp_path_factory) -> AskTell:
    """Two configurations that were asked for and one that was told, for what changes nothing."""
    path = tmp_path_factory.mktemp("told") / "study.toml"
    path.write_text(STUDY.format(rounds=8, more=""))
    study = open_ask_tell(path)
    study.ask(3)
    study.tell(2, 1.0)
    return study


@pytest.mark.daily(2)
def test_no_two_that_wait_are_alike(write) -> None:
    study = open_ask_tell(write(rounds=200))
    for one in study.ask(6):
        study.tell(one.id, float(one.id))
    waiting = [tuple(one.params.values()) for one in study.ask(48)]
    assert len({*waiting}) == len(waiting)


@pytest.mark.daily(2)
def test_defaults_that_are_never_told_are_measured_all_the_same(write) -> None:
    path = write("[confirm]\nevery = 4", rounds=60)
    path.write_text(path.read_text().replace("low =", "default = 1, low ="))
    study = open_ask_tell(path)
    (lost,) = study.ask(1)
    again = 0
    for _ in range(13):
        (one,) = study.ask(1)
        again += one.params == lost.params
        study.tell(one.id, 1.0 + one.params["share"])
    assert again >= 2


SMALL_BRACES = SMALL.replace("{", "{{").replace("}", "}}")


@pytest.mark.long
@pytest.mark.parametrize(
    ("id", "given", "message"),
    [
        (7, {"value": 1.0}, "no id 7, expected one of 0, 1"),
        (-1, {"value": 1.0}, "no id -1"),
        (True, {"value": 1.0}, "no id True"),
        ("0", {"value": 1.0}, "no id '0'"),
        (0, {}, "got no value, expected a number, or `failed` with"),
        (0, {"value": "fast"}, "value: got 'fast', expected a finite number"),
        (0, {"value": "12,5"}, "value: got '12,5'"),
        (0, {"value": "nan"}, "value: got 'nan'"),
        (0, {"value": float("inf")}, "value: got inf"),
        (0, {"value": 10**400}, "value: got "),
        (0, {"value": True}, "value: got True"),
        (0, {"value": [1.0]}, r"value: got \[1.0\]"),
        (0, {"value": 1.0, "sem": -1}, "sem: got -1, expected a standard error of at least 0"),
        (0, {"value": 1.0, "sem": "x"}, "sem: got 'x'"),
        (0, {"value": 1.0, "values": {"p98": 3}}, "got a value of 'p98', expected none"),
        (0, {"value": 1.0, "worker": 3}, "worker: got 3, expected a text"),
        (0, {"value": 1.0, "failed": "oom"}, "expected one of the two"),
        (2, {"value": 2.0}, "trial 2 has the value 1 already, .*; got the value 2"),
        (2, {"failed": "oom"}, "trial 2 has the value 1 already.*; got a failure, oom"),
    ],
)
def test_a_wrong_value_changes_nothing(told, id, given, message):
    before = everything(told)
    with pytest.raises(InvalidInput, match=message) as error:
        told.tell(id, **given)
    assert "\n" not in str(error.value)
    assert everything(told) == before


@pytest.mark.long
def test_the_same_may_be_told_again(write):
    study = open_ask_tell(write())
    study.ask(2)
    first, failed = study.tell(0, 3.0), study.tell(1, failed="oom")
    before = everything(study)
    assert study.tell(0, "3").value == first.value
    assert study.tell(1, failed="oom").failure == failed.failure
    assert everything(study) == before


def test_a_forgotten_value_may_come_late_once_under_its_own_id(write):
    study = open_ask_tell(write())
    asked = study.ask(2)
    assert [one.id for one in study.forget([0])] == [0]
    assert [one.id for one in study.forget([0])] == [0]
    assert study.status().finished == 0
    late = study.tell(0, 4.0)
    assert (late.id, late.finished) == (0, 1)
    assert late.trial > 1
    assert study.tell(0, 4.0) == study.tell(late.trial, 4.0) == late
    assert late.line == f"trial 0 has the value 4, as trial {late.trial} (1 of 8 rounds)"
    assert study.opened.state().trials[late.trial].params == asked[0].params
    with pytest.raises(InvalidInput, match="trial 0 has the value 4 already"):
        study.tell(0, 5.0)
    for known in (0, late.trial):
        with pytest.raises(InvalidInput, match="trial 0 has the value 4, which cannot be forgo"):
            study.forget([1, known])
    assert [one.id for one in study.status().asked] == [1]


@pytest.mark.long
def test_a_late_value_that_was_not_recorded_keeps_its_id(write, monkeypatch):
    study = open_ask_tell(write())
    study.ask()
    study.forget([0])
    with monkeypatch.context() as patch:  # ended between the two steps
        patch.setattr(type(study.trials), "record", lambda *given: study.ask(0))
        with pytest.raises(InvalidInput):
            study.tell(0, 4.0)
    assert [one.id for one in study.status().asked] == [0]
    study.forget([0])
    assert study.tell(0, 4.0) == study.tell(0, 4.0)
    assert (study.tell(0, 4.0).id, study.status().finished) == (0, 1)


def test_constraints_are_told_by_name(write):
    path = write("[constraints]\np99 = { max = 20 }\nheat = { max = 1 }")
    surefoot("ask", path)
    code, said = surefoot("tell", path, 0, "-12.5", "--p99", "18.3")
    assert (code, said) == (2, "got no value of heat, expected heat=NUMBER beside the value\n")
    assert surefoot("tell", path, 0, "--p99", "-18.3", "-12.5", "heat=0.5")[0] == 0
    trial = open_ask_tell(path).opened.state().trials[0]
    assert trial.value == -12.5
    assert trial.user_attrs["constraints"] == {"p99": -18.3, "heat": 0.5}


@pytest.mark.long
def test_an_observed_environment_is_told_and_a_chosen_one_asked(write):
    for control in ("observed", "chosen"):
        name = f'[environment]\ncontrol = "{control}"\nload = {{ values = [1, 2] }}\n[risk]'
        path = write(f'{name}\nmeasure = "var"\nlevel = 0.1')
        path.write_text(path.read_text().replace('"paper"', f'"{control}"'))
        study = open_ask_tell(path)
        (asked,) = study.ask()
        if control == "observed":
            with pytest.raises(InvalidInput, match=r"the environment's load is 3.0, expected one"):
                study.tell(0, 1.0, values={"load": 3})
            study.tell(0, 1.0, values={"load": "2"})
        else:
            assert asked.environment["load"] in (1, 2)
            assert f"load={asked.environment['load']}" in asked.line
            study.tell(0, 1.0)
        (trial,) = study.opened.state().trials
        assert trial.user_attrs["surefoot:environment"]["load"] in (1, 2)


def test_a_logarithm_needs_a_positive_value(write):
    study = open_ask_tell(write("[objective]\nlog = true"))
    study.ask()
    with pytest.raises(InvalidInput, match="expected a number above 0, since log = true"):
        study.tell(0, -1.0)


def test_lines_can_be_read_by_a_shell_and_a_program(write):
    path = write(SMALL)
    code, line = surefoot("ask", path)
    assert code == 0
    assert re.fullmatch(r"0 size=\d share=\S+ (mode=a|'mode=b c')\n", line)
    (second,) = json.loads(surefoot("ask", path, "--json")[1])
    assert second.keys() == {"id", "params"}
    assert surefoot("tell", path, 0, "12.5", "--sem", "0.4", "--worker", "a") == (
        *(0, "trial 0 has the value 12.5 (1 of 8 rounds)\n"),
    )
    attributes = open_ask_tell(path).opened.state().trials[0].user_attrs
    assert (attributes["surefoot:sem"], attributes["surefoot:worker"]) == (0.4, "a")
    status = json.loads(surefoot("status", path, "--json")[1])
    assert (status["finished"], [one["id"] for one in status["asked"]]) == (1, [1])
    assert surefoot("forget", path, 1)[1].startswith("forgotten: 1 size=")
    assert surefoot("tell", path, 1, "1", "2")[1] == "got 2 values (1 2), expected one\n"


def test_predictions_are_of_named_and_given_configurations(write):
    path = write()
    study = open_ask_tell(path)
    for one in study.ask(5):
        study.tell(one.id, float(one.params["size"]))
    best, given = study.predict(["recommended", {"size": 3, "share": 0.5}])
    assert best.value.params["size"] == 1
    assert given.value.lower < 3.0 < given.value.upper
    code, said = surefoot("predict", path, "size=3,share=0.5")
    assert code == 0
    assert said.endswith("): size=3 share=0.5\n")


REFUSED = [
    ("not JSON", "no JSON"),
    ("[" * 100_000, "no JSON"),
    ("[]", "expected {"),
    ('{"verb": "sing"}', "with one of ask, tell"),
    ('{"verb": ["ask"]}', "with one of ask, tell"),
    ('{"verb": "ask", "n": 2}', "ask: got an unexpected keyword argument 'n', expected count"),
    ('{"verb": "ask", "count": "2"}', "'2' configurations"),
    ('{"verb": "ask", "count": 1e9}', "configurations, expected 1 to 1000"),
    ('{"verb": "tell", "value": 2}', "tell: missing a required argument: 'id', expected id"),
    ('{"verb": "tell", "id": 0, "value": 2, "values": 3}', "expected numbers by name"),
    ('{"verb": "tell", "id": 0, "value": NaN}', "value: got nan"),
    ('{"verb": "forget", "ids": 0}', "expected a list of ids"),
    ("", "got a line that is no JSON, expected an object"),
    (" \t", "got a line that is no JSON, expected an object"),
    ('{"verb": "forget"}', "forget: expected `ids`, or `id` of one"),
    ('{"verb": "forget", "ids": [0], "id": 0}', "forget: expected `ids`, or `id` of one"),
    ('{"verb": "recommend"}', "no round has a measurement"),
    ('{"verb": "predict", "configurations": "recommended"}', "expected a list"),
    ('{"verb": "predict", "configurations": [3]}', "got the configuration 3"),
]


def test_every_request_gets_a_line_and_a_wrong_one_changes_nothing(write):
    study = open_ask_tell(write())
    study.ask()
    before = everything(study)
    answers = io.StringIO()
    serve_lines(study, io.StringIO("\n".join(line for line, _ in REFUSED)), answers)
    lines = answers.getvalue().splitlines()
    for (_, wanted), line in zip(REFUSED, lines, strict=True):
        answer = json.loads(line)
        assert wanted in answer["error"]
        assert answer["code"] == 2
    assert everything(study) == before


def test_a_fault_of_surefoot_is_an_answer_and_the_next_request_has_one(write, monkeypatch, capfd):
    def fail(*_: object) -> None:
        raise ValueError("at mysql://me:secret@host/db")

    study, answers = open_ask_tell(write()), io.StringIO()
    monkeypatch.setattr(AskTell, "ask", fail)
    serve_lines(study, io.StringIO('{"verb": "ask"}\n{"verb": "status"}\n'), answers)
    failed, status = map(json.loads, answers.getvalue().splitlines())
    assert failed["code"] == 1
    assert failed["error"].startswith("surefoot failed: ValueError: at mysql://")
    assert "secret" not in failed["error"]
    assert status["asked"] == []
    said = capfd.readouterr().err
    assert "test_ask_tell.py" in said
    assert "secret@" not in said


LONG = b'{"verb": "status", "x": "' + b"a" * 3_000_000 + b'"}'
HOSTILE = [
    (LONG, "more than 1000000 characters"),
    (b'\xff{"verb": "status"}', "the byte 0xff in a line, expected text in UTF-8"),
    (b'{"verb": "tell", "id": 0, "value": 1, "worker": "caf\xe9"}', "the byte 0xe9"),
    (b'{"verb": "tell", "id": 0, "value": ' + b"9" * 5000 + b"}", "got inf, expected a finite"),
    (b'{"verb": "tell", "id": 0, "value": 1, "value": 2}', "got 'value' twice in an object"),
    (b'{"verb": "tell", "id": 0, "values": {"p99": 1, "p99": 2}}', "got 'p99' twice"),
    (b'{"verb": "status"}{"verb": "status"}', "no JSON"),
    (b'{"verb": "tell", "id": 0, "val', "no JSON"),
]


def test_whatever_bytes_come_each_line_has_its_own_answer(write, monkeypatch):
    path = write()
    study = open_ask_tell(path)
    study.ask()
    before = everything(study)
    lines = [line for bad, _ in HOSTILE for line in (b'\xef\xbb\xbf{"verb": "status"}\r', bad)]
    result = CliRunner().invoke(app, ["serve", str(path)], input=b"\n".join(lines))
    answers = [json.loads(line) for line in result.output.splitlines()]
    for good, bad, (_, wanted) in zip(answers[::2], answers[1::2], HOSTILE, strict=True):
        assert good["asked"][0]["id"] == 0
        assert wanted in bad["error"]
    assert (result.exit_code, everything(study)) == (0, before)


@pytest.mark.daily(3)
@pytest.mark.parametrize(
    "words", ["tell {} x 1", "tell {} 9999999999999999999 1", "ask {} -n 0", "ask {} --foo", "tell"]
)
def test_wrong_usage_is_one_line_that_names_the_help(write, words):
    code, output = surefoot(*words.format(write()).split())
    verb = words.split()[0]
    assert (code, output.count("\n")) == (2, 1)
    assert output.endswith(f"see `surefoot {verb} -h`\n") or f"`root {verb} -h`" in output


UNITS = STUDY.replace("[parameters]", '[objective]\nunit = "ms"\n[parameters]')
P99 = '[constraints]\np99 = { max = 20, unit = "ms" }'


@pytest.mark.long
@pytest.mark.parametrize(
    ("value", "sem", "p99"),
    [("12.5", "0.5", "18"), ("12.5 ms", "500 us", "18 ms"), ("0.0125s", "0.5ms", "0.018 s")],
)
def test_a_told_unit_is_converted_to_that_of_the_study(write, value, sem, p99):
    study = open_ask_tell(write(study=UNITS, more=P99))
    (asked,) = study.ask()
    told = study.tell(asked.id, value, sem=sem, values={"p99": p99})
    assert (told.value, told.line) == (12.5, "trial 0 has the value 12.5 ms (1 of 8 rounds)")
    (trial,) = study.opened.state().trials
    assert {"p99": 18.0} in trial.user_attrs.values()


@pytest.mark.parametrize(
    ("value", "sem"),
    [
        (12.5, 0.5),
        ("12500 us", 500),
        ("0.0125 s", "0.0005"),
        ("12500 us", "0.5 ms"),
        (12.5, "5e2us"),
    ],
)
def test_a_standard_error_without_a_unit_is_in_that_of_its_value(write, value, sem):
    study = open_ask_tell(write(study=UNITS))
    (asked,) = study.ask()
    assert study.tell(asked.id, value, sem=sem).value == 12.5
    trial = study.opened.state().trials[asked.id]
    assert record_of(trial)["sem"] == pytest.approx(0.5, rel=1e-12)


@pytest.mark.long
def test_other_numbers_of_the_same_id_are_refused_and_the_same_are_not(write):
    study = open_ask_tell(write(study=UNITS, more=P99))
    study.ask(2)
    told = {"value": 0.1 + 0.2, "sem": 0.4, "values": {"p99": 18.0}}
    study.tell(0, **told)
    study.tell(1, failed="oom")
    before = everything(study)
    assert study.tell(0, **told).value == 0.1 + 0.2
    assert study.tell(0, "0.30000000000000004 ms", sem="400us", values={"p99": "0.018s"}).id == 0
    for change, message in [
        ({"value": 0.3}, "has the value 0.30000000000000004 already, .*; got the value 0.3$"),
        ({"sem": 0.5}, "has sem 0.4 already, which cannot be changed; got sem 0.5"),
        ({"sem": 0}, "got sem 0$"),
        ({"values": {"p99": 19}}, "has p99 18 already, which cannot be changed; got p99 19"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            study.tell(0, **(told | change))
    with pytest.raises(InvalidInput, match=r"has a failure, oom already, .*; got the value 1$"):
        study.tell(1, 1, values={"p99": 1})
    with pytest.raises(InvalidInput, match="got 'p99' of a configuration that failed"):
        study.tell(1, failed="oom", values={"p99": 1})
    assert everything(study) == before


OTHERS = {"value": 2, "sem": 0.5, "values": {"p99": 19}, "worker": "b", "failed": "broken"}


@pytest.mark.long
@pytest.mark.parametrize("option", OTHERS)
@pytest.mark.parametrize(
    "told",
    [
        {"value": 1, "sem": 0.4, "values": {"p99": 18}, "worker": "a"},
        {"value": 1, "values": {"p99": 18}},
        {"failed": "oom", "worker": "a"},
        {"failed": "oom"},
    ],
)
def test_whatever_else_is_told_of_a_known_id_is_refused(write, told, option):
    assert OTHERS.keys() == inspect.signature(Verbs.tell).parameters.keys() - {"self", "id"}
    study = open_ask_tell(write(study=UNITS, more=P99))
    study.ask()
    verbs = Verbs(study)
    first = verbs.tell(0, **told)
    before = everything(study)
    with pytest.raises(InvalidInput):
        verbs.tell(0, **(told | {option: OTHERS[option]}))
    assert verbs.tell(0, **told) == first
    assert verbs.tell(0, **{name: one for name, one in told.items() if name != "worker"}) == first
    assert everything(study) == before


@pytest.mark.long
def test_a_worker_is_told_with_its_outcome_and_not_later(write):
    path = write()
    study = open_ask_tell(path)
    study.ask(3)
    study.tell(0, 1.0, worker=" rig 2 ")
    study.tell(1, 1.0)
    study.tell(2, failed="oom", worker="rig 2")
    found = [trial_worker(trial) for trial in study.opened.state().trials][:3]
    assert found == ["rig 2", None, "rig 2"]
    assert surefoot("tell", path, 0, 1, "--worker", "rig 2")[0] == 0
    for id, message in [
        (0, "trial 0 has the worker 'rig 2' already, which cannot be changed; got the worker 'b'"),
        (1, "has no worker, which can only be told with its outcome; got the worker 'b': leave it"),
    ]:
        code, out = surefoot("tell", path, id, 1, "--worker", "b")
        assert code == 2
        assert message in out


def test_a_constraint_may_have_the_name_of_an_option(write):
    study = open_ask_tell(write(more="[constraints]\nsem = { max = 2 }\nworker = { max = 3 }"))
    study.ask()
    told = {"value": 1, "sem": 0.5, "values": {"sem": 1, "worker": 2}, "worker": "a"}
    assert study.tell(0, **told) == study.tell(0, **told)
    with pytest.raises(InvalidInput, match=r"has sem 0\.5 already"):
        study.tell(0, **(told | {"sem": 0.25}))
    with pytest.raises(InvalidInput, match="has worker 2 already"):
        study.tell(0, **(told | {"values": {"sem": 1, "worker": 1}}))


def test_a_message_lists_some_of_many_ids(write):
    study = open_ask_tell(write(rounds=8))
    study.ask(8)
    for refused, error in [(study.ask, NothingToAsk), (lambda: study.tell(99, 1), InvalidInput)]:
        with pytest.raises(error, match=r"0, 1, 2, 3, 4, 5, \.\.\."):
            refused()


def test_numbers_are_told_with_their_errors(write):
    study = open_ask_tell(write(study=UNITS, more=P99))
    study.ask(3)
    study.tell(0, "12.5 ± 0.5 ms", values={"p99": "0.018(1) s"})
    study.tell(1, "12.5 +- 0.5", values={"p99": 18})
    trials = study.opened.state().trials
    assert [record_of(one)["sem"] for one in trials[:2]] == [0.5, 0.5]
    assert [record_of(one)["sems"] for one in trials[:2]] == [{"p99": 1.0}, None]
    assert surefoot("tell", study.study_file.path, 0, "12.5±0.5", "p99=18±1")[0] == 0  # the same
    for told, message in [
        ({"value": "12.5 ± 0.5", "values": {"p99": "18 ± 2"}}, "has p99 18 ± 1 already"),
        ({"value": "12.5 ± 0.5", "values": {"p99": 18}}, "has p99 18 ± 1 already"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            study.tell(0, **told)
    before = everything(study)
    for told, message in [
        ({"value": "1 ± 0.5", "sem": 0.5, "values": {"p99": 1}}, "expected one of the two errors"),
        ({"value": 1, "sem": "0.5 ± 0.1", "values": {"p99": 1}}, "sem: got '0.5 ± 0.1', expected"),
        ({"value": 1, "values": {"p99": "1 ± inf"}}, "p99: got '1 ± inf', expected"),
    ]:
        with pytest.raises(InvalidInput, match=message):
            study.tell(2, **told)
    assert everything(study) == before


@pytest.mark.long
@pytest.mark.parametrize("value", ["12.5 MB", "12.5 %", "12.5 banana", "1,5", "12.5 +- 1 MB"])
def test_a_told_unit_of_something_else_is_refused(write, value):
    study = open_ask_tell(write(study=UNITS))
    study.ask()
    before = everything(study)
    with pytest.raises(InvalidInput, match=r"(got '.*'|is in .*), (and those .*; )?expected"):
        study.tell(0, value)
    assert everything(study) == before


@pytest.mark.long
@pytest.mark.parametrize("begin", [lambda path: None, open_ask_tell])
def test_a_study_without_a_command_is_begun_by_asking(write, begin):
    path = write()
    begin(path)
    for command in ("recommend", "report"):
        code, output = surefoot(command, path)
        assert (code != 0, output.count("\n")) == (True, 1)
        assert "`surefoot ask study.toml`" in output


@pytest.mark.long
def test_a_program_gets_the_recommendation_that_the_command_prints(write):
    path = write()
    study = open_ask_tell(path)
    for one in study.ask(4):
        study.tell(one.id, 1.0 + one.params["share"])
    answer = Verbs(study).answer({"verb": "recommend"})
    assert answer == json.loads(surefoot("recommend", path, "--json")[1])
    written = path.with_suffix(".html")
    assert surefoot("report", path, "-o", written)[0] == 0
    report = written.read_text()
    assert "surefoot ask study.toml" in report
    assert "surefoot tune" not in report
    assert Verbs(study).answer({"verb": "forget", "id": 0, "measured": "dead"})["forgotten"]
    assert Verbs(study).answer({"verb": "recommend"})["trials"] == 3


@pytest.mark.long
def test_requests_are_answered_in_order(write):
    requests = [
        {"verb": "ask", "count": 2},
        {"verb": "tell", "id": 0, "value": 2.0, "worker": "a"},
        {"verb": "forget", "ids": [1]},
        {"verb": "status"},
        {"verb": "predict", "configurations": ["recommended"]},
    ]
    answers = io.StringIO()
    text = "\n".join(map(json.dumps, requests))
    serve_lines(open_ask_tell(write()), io.StringIO(text), answers)
    asked, told, forgotten, status, predicted = map(json.loads, answers.getvalue().splitlines())
    assert [one["id"] for one in asked["configurations"]] == [0, 1]
    assert (told["value"], forgotten["forgotten"][0]["id"], status["asked"]) == (2.0, 1, [])
    assert predicted["predictions"][0]["params"] == asked["configurations"][0]["params"]


def test_agents_have_the_same_verbs(write):
    mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    import anyio

    from surefoot.tune.ask_tell.mcp_server import mcp_server

    async def converse() -> None:
        async with mcp.Client(mcp_server(open_ask_tell(write()))) as client:
            tools = {tool.name for tool in (await client.list_tools()).tools}
            assert tools == {"ask", "tell", "predict", "recommend", "status", "forget"}
            asked = await client.call_tool("ask", {"count": 2})
            assert [one["id"] for one in asked.structured_content["configurations"]] == [0, 1]
            told = await client.call_tool("tell", {"id": 0, "value": 2.5, "sem": 0.1})
            assert told.structured_content["finished"] == 1
            wrong = await client.call_tool("tell", {"id": 9, "value": 1.0})
            assert wrong.is_error
            assert "no id 9, expected one of 1" in wrong.content[0].text
            for verb, given, message in (
                ("tell", {"id": 1, "value": True}, "value: got True, expected a finite number"),
                ("tell", {"id": True, "value": 1.0}, "no id True"),
                ("ask", {"count": True}, "True configurations, expected 1 to 1000"),
            ):
                wrong = await client.call_tool(verb, given)
                assert wrong.is_error
                assert message in wrong.content[0].text

    anyio.run(converse)


ARGUMENTS = [  # of a verb, with one that it does not take or without one that it needs
    ("ask", {"n": 5}, "ask: got an unexpected keyword argument 'n', expected count, given"),
    (
        "tell",
        {"id": 0, "value": 1.0, "stderr": 0.4},
        "tell: got an unexpected keyword argument 'stderr', expected id",
    ),
    ("tell", {"value": 1.0}, "tell: missing a required argument: 'id', expected id"),
    (
        "predict",
        {"configurations": ["default"], "at": 1},
        "predict: got an unexpected keyword argument 'at', expected configurations",
    ),
    (
        "status",
        {"verbose": True},
        "status: got an unexpected keyword argument 'verbose', expected none",
    ),
    (
        "forget",
        {"ids": [0], "all": True},
        "forget: got an unexpected keyword argument 'all', expected ids",
    ),
]


def test_no_argument_is_passed_over_by_any_program(write):
    study = open_ask_tell(write())
    study.ask()
    before = everything(study)
    for verb, given, message in ARGUMENTS:
        with pytest.raises(InvalidInput, match=re.escape(message)):
            Verbs(study).answer({"verb": verb, **given})
    assert everything(study) == before
    mcp = pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    import anyio

    from surefoot.tune.ask_tell.mcp_server import mcp_server

    async def converse() -> None:
        async with mcp.Client(mcp_server(study)) as client:
            for verb, given, message in ARGUMENTS:
                refused = await client.call_tool(verb, given)
                assert refused.is_error
                assert message in refused.content[0].text

    anyio.run(converse)
    assert everything(study) == before


def test_a_study_without_a_command_is_not_tuned(write):
    path = write()
    open_ask_tell(path)
    with pytest.raises(SurefootError, match=r"objective.command: missing; .* `surefoot ask`"):
        run(path, quiet=True)


@pytest.mark.long
def test_a_run_beside_leaves_what_was_asked_for(write_study):
    path = write_study()
    (asked,) = open_ask_tell(path).ask()
    run(path, rounds=2, quiet=True, sampler=optuna.samplers.RandomSampler(seed=0))
    study = open_ask_tell(path)
    assert [one.id for one in study.status().asked] == [asked.id]
    assert study.tell(asked.id, 1.0).finished == 3
    before = everything(study)
    with pytest.raises(InvalidInput, match=r"cannot be forgotten"):
        study.forget([1])
    assert everything(study) == before


@pytest.mark.long
@pytest.mark.parametrize("where", ["_hand_over", "_record", "interrupt"])
@pytest.mark.parametrize("after", [False, True])
def test_whoever_is_killed_loses_nothing(write, monkeypatch, where, after):
    path = write()
    open_ask_tell(path).ask(2)
    original = getattr(StudyTrials, where)

    def killed(*given: object) -> None:
        if after:
            original(*given)
        os.kill(os.getpid(), signal.SIGKILL)

    def calls() -> None:
        monkeypatch.setattr(StudyTrials, where, killed)
        study = open_ask_tell(path)
        study.tell(0, 5.0)
        study.forget([1])
        study.ask(2)

    process = Forked(calls)
    process.wait(60)
    assert process.returncode == -signal.SIGKILL
    study = open_ask_tell(path)
    assert study.tell(0, 5.0).value == 5.0
    study.forget([1])
    study.ask(2)
    assert len(study.status().asked) in (2, 4)  # the latter if what was asked was handed over
    values = [t.value for t in study.opened.state().trials if t.state == TrialState.COMPLETE]
    assert values == [5.0]


@pytest.mark.long
def test_ten_callers_at_once(write):
    # Without the confirm stage, which measures the best candidates again at any time.
    path = write(f"{SMALL}\n[confirm]\nshare = 0\nevery = 0", rounds=20)
    open_ask_tell(path)

    def call() -> None:
        for _ in range(2):
            (asked,) = open_ask_tell(path).ask()
            print(json.dumps([asked.id, dict(asked.params)]))
            open_ask_tell(path).tell(asked.id, asked.params["share"])

    callers = [Forked(call) for _ in range(10)]
    assert [caller.wait(150) for caller in callers] == [0] * 10
    told = [json.loads(line) for one in callers for line in one.shown()[0].splitlines()]
    assert sorted(id for id, _ in told) == list(range(20))
    trials = open_ask_tell(path).opened.state().trials
    for one, other in itertools.combinations(trials, 2):  # alike only one after the other
        apart = one.datetime_complete <= other.datetime_start
        assert apart or other.datetime_complete <= one.datetime_start or one.params != other.params
    assert all(trials[id].value == params["share"] for id, params in told)


@pytest.mark.long
def test_asking_and_telling_of_a_journal_import_no_database(write):
    journal = 'storage = "journal:///paper.log"\ninitial = 8'
    text = STUDY.replace("initial = 8", journal)
    for last in ("high = 4", "high = 1"):
        text = text.replace(last, f"{last}, default = 1")
    path = write(study=text)
    told = subprocess.run(
        [sys.executable, "-c", WITHOUT_DATABASE, str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert told.stdout.split("\n")[0] == "[]"


@pytest.mark.daily(2)
@pytest.mark.parametrize("storage", ["", 'storage = "journal:///study.journal"'])
@pytest.mark.parametrize(
    "command", [["tell", 0, 12.5], ["tell", 0, "--failed", "dead"], ["forget", 0], ["forget", 0, 1]]
)
def test_what_is_told_to_a_study_that_is_not_there_creates_nothing(write, storage, command):
    path = write(study=STUDY.replace("initial = 8", storage))
    before = {*path.parent.iterdir()}
    verb, *rest = command
    code, said = surefoot(verb, path, *rest)
    assert (code, len(said.splitlines())) == (2, 1)
    assert {*path.parent.iterdir()} == before


def test_a_look_at_a_study_that_is_not_there_creates_nothing(write):
    path = write()
    before = sorted(path.parent.iterdir())
    status = json.loads(surefoot("status", path, "--json")[1])
    assert (status["finished"], status["rounds"], status["asked"]) == (0, 8, [])
    assert surefoot("predict", path, "default")[0] == 2
    assert sorted(path.parent.iterdir()) == before
