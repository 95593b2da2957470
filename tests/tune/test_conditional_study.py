"""Conditional parameters, special values and units of a study file."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from typer.testing import CliRunner

from support.study_doubles import Scripted, measurement, trials_of
from surefoot.cli import app
from surefoot.tune.comparison.named_settings import named_setting
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.study_file import StudyFile, StudyFileError
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.tune.stopping import Stop
from surefoot.tune.study.findings import summarise
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.tune.study.table_import import import_table
from surefoot.tune.study.tables import export
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.worker_loop import tune
from surefoot.types import InvalidInput

SIZE = ("log = true }", 'log = true, special = [0], unit = "kB", when = "mode == \'FULL\'" }')
UNIT = ("timeout = 30", 'timeout = 30\nunit = "ms"')
BOTH = (SIZE, UNIT)
DEFAULTS = (
    ("high = 1 }", "high = 1, default = 0.5 }"),
    ('"FULL"] }', '"FULL"], default = "OFF" }'),
)


@dataclass
class Branch(Scripted):
    """Best in the mode FULL without a size limit, which is 0."""

    def measure(self, params: dict, stop: Stop) -> Measurement | Failure:
        self.asked.append(dict(params))
        value = 2.0 + params["share"]
        if params["mode"] == "FULL":
            value += -1.5 if params["size"] == 0 else params["size"] / 65536
        return measurement(value, 0.1)


def _trials(path, rounds: int) -> StudyTrials:
    study_file = StudyFile.load(path)
    opened = create_study(study_file)
    return StudyTrials(opened, rounds, "a run", "here/w0")


@pytest.mark.long
def test_the_best_branch_and_special_value_are_found_across_a_kill(write_study):
    path, objective = write_study(*BOTH), Branch()
    tune(_trials(path, 8), objective, Stop())

    def cut_off() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tune(_trials(path, 15), Scripted(before=cut_off), Stop())
    tune(_trials(path, 15), objective, Stop())
    assert len(objective.asked) == 15
    assert all(("size" in one) is (one["mode"] == "FULL") for one in objective.asked)
    summary = summarise(open_study(path))
    assert summary.recommended.params["mode"] == "FULL"
    assert summary.recommended.params["size"] == 0
    shown = CliRunner().invoke(app, ["recommend", str(path)]).stdout
    assert " ms (95 %" in shown
    assert "size = 0 (special)" in shown
    page = path.parent / "report.html"
    assert CliRunner().invoke(app, ["report", str(path), "-o", str(page)]).exit_code == 0
    text = page.read_text()
    assert "size [kB]" in text
    assert "measured [ms]" in text
    assert "0 (special)" in text


def test_defaults_have_the_parameters_that_are_active_in_them(write_study):
    path = write_study(*BOTH, *DEFAULTS)
    assert StudyFile.load(path).defaults == {"share": 0.5, "mode": "OFF"}
    objective = Scripted()
    tune(trials_of(path, rounds=2), objective, Stop())
    assert objective.asked[0] == {"share": 0.5, "mode": "OFF"}
    full = DEFAULTS[1][0], '"FULL"], default = "FULL" }'
    with pytest.raises(StudyFileError, match=r"parameters\.size\.default: missing"):
        StudyFile.load(write_study(*BOTH, DEFAULTS[0], full))


@pytest.mark.long
def test_a_study_does_not_go_on_under_another_condition_but_may_get_units(write_study):
    tune(trials_of(write_study(SIZE), rounds=2), Scripted(), Stop())
    tune(trials_of(write_study(*BOTH), rounds=3), Scripted(), Stop())
    other = SIZE[0], SIZE[1].replace("FULL", "OFF")
    with pytest.raises(StudyFileError, match=r"parameters\.size: .*the study in .* has"):
        create_study(StudyFile.load(write_study(other)))


def test_settings_by_name_have_the_active_parameters(write_study):
    study_file = StudyFile.load(write_study(*BOTH))
    assert named_setting(study_file, "mode=OFF,share=1").params == {"share": 1.0, "mode": "OFF"}
    assert named_setting(study_file, "mode=FULL,share=1,size=0").params["size"] == 0
    for wrong, message in (
        ("mode=FULL,share=1", "no value of size"),
        ("mode=OFF,share=1,size=0", "size: given, but it is active only when mode == 'FULL'"),
        ("mode=FULL,share=1,size=1", "from 512 to 65536, or 0"),
    ):
        with pytest.raises(InvalidInput, match=message):
            named_setting(study_file, wrong)


@pytest.mark.long
def test_a_table_comes_back_as_it_was(write_study, tmp_path):
    path = write_study(*BOTH)
    tune(trials_of(path, rounds=8), Branch(), Stop())
    table = tmp_path / "trials.csv"
    export(open_study(path), table)
    other = write_study(*BOTH, ('name = "hill"', 'name = "other"'))
    assert import_table(other, table).trials == 8
    params = [[t.params for t in open_study(p).study.trials] for p in (path, other)]
    assert params[1] == params[0]


@pytest.mark.parametrize(
    ("line", "texts", "filled"),
    [
        ("run --a={a} --b={b}", {"b": None}, ["run", "--a=1"]),
        ("run --a={a} --b={b}", {"b": ""}, ["run", "--a=1", "--b="]),
        ("run {b} {a}", {"b": None}, ["run", "", "1"]),
        ("run {b:.2f} {a}", {"b": "off"}, ["run", "off", "1"]),
        ("run --ab={a},{b}", {"b": None}, ["run", "--ab=1,"]),
        ("sh -c 'a {a} b {b}'", {"b": None}, ["sh", "-c", "a 1 b "]),
    ],
)
def test_an_inactive_parameter_in_a_command(line, texts, filled):
    assert CommandTemplate.parse(line).fill({"a": 1}, texts) == filled


@pytest.mark.long
def test_a_function_is_not_passed_an_inactive_parameter(write_study):
    command = 'command = "'
    text = (
        "def measure(share, mode, size=None):\n"
        "    assert (size is None) is (mode != 'FULL')\n    return share\n"
    )
    path = write_study(*BOTH, bench=text)
    lines = [
        'function = "bench:measure"' if line.startswith(command) else line
        for line in path.read_text().splitlines()
    ]
    path.write_text("\n".join(lines).replace("rounds = 8", "rounds = 4"))
    result = CliRunner().invoke(app, ["tune", str(path)])
    assert "4 of 4 rounds finished." in result.stdout, result.output
    (path.parent / "bench.py").write_text(text.replace("=None", ""))
    result = CliRunner().invoke(app, ["tune", str(path), "--rounds", "5"])
    assert result.exit_code == 2
    assert "conditional, so it needs a default" in result.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mode == 'FULL'", "mode == 'full'", r"parameters\.size\.when: .*'full' is no choice"),
        ("mode == 'FULL'", "mod == 'FULL'", r"parameters\.size\.when: .*'mod' is no parameter"),
        (
            "mode == 'FULL'",
            "share > 0.5 and share < 0.5",
            r"parameters\.size\.when: got 'share > .*', which holds for no share",
        ),
        ("mode == 'FULL'", "size > 1", r"parameters\.size\.when: depends on itself"),
        ("special = [0]", "special = [0, 0]", r"parameters\.size\.special: got \[0, 0\]"),
        (
            "special = [0]",
            "special = ['a']",
            r"parameters\.size\.special: got 'a' in the list, expected",
        ),
        ('unit = "kB"', "unit = ''", r"parameters\.size\.unit: got ''"),
        ('unit = "ms"', "unit = 5", r"objective\.unit: got 5, expected a text"),
        ("high = 1 }", "high = 1, inactive = '' }", r"parameters\.share\.inactive: given without"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(write_study, old, new, message):
    path = write_study(*BOTH)
    path.write_text(path.read_text().replace(old, new))
    with pytest.raises(StudyFileError, match=message) as caught:
        StudyFile.load(path)
    assert "\n" not in str(caught.value)
