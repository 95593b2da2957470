"""The command line as a person meets it, some of it in real processes that are really killed."""

from __future__ import annotations

import csv
import errno
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import optuna
import pytest
import typer
from optuna.trial import TrialState, create_trial
from typer.testing import CliRunner

from support.processes import forked_surefoot, is_running
from surefoot._commands.terminal import one_line_errors
from surefoot.cli import app
from surefoot.cli_words import GROUPS
from surefoot.tune import StudyFile, open_study
from surefoot.tune.plain_text import STOPPED
from surefoot.tune.study.opened_study import create_study

STUDY = """
[study]
name = "hill"
direction = "minimize"
rounds = {rounds}

[objective]
command = "{command}"
timeout = 20

[parameters]
share = {{ type = "float", low = 0, high = 1 }}
mode = {{ type = "categorical", choices = ["a b", "$(touch hacked)", "; touch hacked"] }}
"""


@pytest.fixture
def study(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study file and a shell script that measures, or does what `script` says."""

    def write(script: str = "echo $1", *, rounds: int = 6, command: str = "") -> Path:
        (tmp_path / "bench.sh").write_text(script + "\n")
        path = tmp_path / "STUDY.toml"
        command = command or "sh bench.sh {share} {mode}"
        path.write_text(STUDY.format(rounds=rounds, command=command))
        return path

    return write


def surefoot(*arguments: object) -> tuple[int, str, str]:
    """Exit code, standard output and standard error of a command, run in this process."""
    result = CliRunner().invoke(app, [str(one) for one in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def fill(path: Path, count: int = 12, failures: int = 1) -> optuna.Study:
    """Put finished trials into the study, without running anything."""
    study_file = StudyFile.load(path)
    study = create_study(study_file, optuna.samplers.RandomSampler(seed=0)).study
    random = np.random.default_rng(0)
    for number in range(count):
        share = float(random.uniform())
        failed = number < failures
        study.add_trial(
            create_trial(
                params={"share": share, "mode": "a b"},
                distributions=study_file.distributions,
                state=TrialState.FAIL if failed else TrialState.COMPLETE,
                value=None if failed else 10 + share + random.normal() * 0.01,
                user_attrs={"failure": "exit status 3", "output": "sorry"} if failed else {},
            )
        )
    return study


@pytest.mark.long
def test_help_and_version():
    code, out, _ = surefoot("--help")
    assert code == 0
    assert "Exit codes" in out
    commands = ("tune", "recommend", "compare", "report", "export", "diagnose", "reproduce")
    for command in commands:
        assert command in out
        assert surefoot(command, "--help")[0] == 0
    code, out, _ = surefoot("--version")
    assert (code, out.split()[0]) == (0, "surefoot")


@pytest.mark.long
def test_tune_shows_a_line_for_every_trial_and_recommends(study):
    path = study(rounds=3)
    code, out, err = surefoot("tune", path)
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].startswith("hill: minimize, 0 of 3 rounds finished, in ")
    assert lines[1].startswith("trial 0: ")
    assert "3 of 3" in lines[3]
    assert "recommended" in lines[3]
    assert "3 of 3 rounds finished." in lines
    assert not (path.parent / "hacked").exists()
    code, out, _ = surefoot("tune", path, "--rounds", 4, "--quiet")
    assert (code, out) == (0, "")
    assert len(open_study(path).study.trials) == 4


@pytest.mark.long
def test_fewer_rounds_than_there_are_measure_nothing(study):
    path = study(rounds=5)
    fill(path, 12, failures=1)
    code, out, _ = surefoot("tune", path, "--rounds", 10)
    assert code == 0
    assert "12 rounds finished, 1 of them failed (10 requested)." in out.splitlines()
    assert out.startswith("hill: minimize, 12 rounds finished (10 requested), in ")
    assert len(open_study(path).study.trials) == 12


@pytest.mark.long
def test_no_outliers_are_counted_during_the_initial_design(study):
    path = study("echo $1", rounds=13)
    fill(path, 10, failures=0)
    code, out, _ = surefoot("tune", path)
    assert code == 0
    lines = [line for line in out.splitlines() if line.startswith("trial ")]
    assert ["outlier" in line for line in lines] == [False, True, True]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["tune", "--workers", 0], "got 0, expected an integer from 1 to 256"),
        (["tune", "--rounds", "many"], "got many, expected an integer of at least 1"),
        (["compare", "--confidence", 95], "got 95, expected a number between 0 and 1"),
    ],
)
def test_options_out_of_range_say_what_is_expected(study, option, message):
    command, name, value = option
    code, _, err = surefoot(command, study(), name, value)
    assert code == 2
    assert f"'{name}': {message}" in err


@pytest.mark.long
def test_five_failures_stop_the_run_with_the_reason(study):
    path = study("echo out of order >&2; exit 3", rounds=20)
    code, out, err = surefoot("tune", path)
    assert code == 1
    assert len(err.splitlines()) == 1
    assert "5 failures in a row" in err
    assert "exit status 3: out of order" in err
    assert "trial 0: failed, exit status 3" in out
    assert [trial.state for trial in open_study(path).study.trials] == [TrialState.FAIL] * 5
    code, _, err = surefoot("recommend", path)
    assert code == 2
    assert (
        "no round has a measurement: 5 of 5 trials failed, the first, trial 0: exit status" in err
    )


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "change", "message"),
    [
        (["tune"], ("high = 1 ", "high = -1 "), "parameters.share.low: got 0.0, expected less tha"),
        (["tune"], ("sh bench.sh", "no-such-program"), "STUDY.toml: objective.command: 'no-such-"),
        (["tune"], ("sh bench.sh", "./bench.sh"), "objective.command: './bench.sh' is not a progr"),
        (["recommend"], ("rounds = 6", "rounds = 6"), "run `surefoot tune STUDY.toml` first"),
        (["export", "-o", "trials.csv"], ("rounds = 6", "rounds = 6"), "no such storage"),
        (["export", "-o", "trials.xls"], ("rounds = 6", "rounds = 6"), "expected .csv or .parquet"),
        (["export", "-o", "no/trials.csv"], ("rounds = 6", "rounds = 6"), "there is no folder"),
    ],
)
def test_what_is_wrong_ends_with_2_and_one_line_and_creates_nothing(
    study, monkeypatch, arguments, change, message
):
    path = study()
    text = path.read_text()
    assert change[0] in text
    path.write_text(text.replace(*change))
    monkeypatch.chdir(path.parent)
    before = {file: file.read_bytes() for file in path.parent.iterdir()}
    code, out, err = surefoot(arguments[0], "STUDY.toml", *arguments[1:])
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert {file: file.read_bytes() for file in path.parent.iterdir()} == before


def test_a_function_that_cannot_be_imported_creates_nothing(study):
    path = study()
    path.write_text(
        path.read_text().replace('command = "sh bench.sh {share} {mode}"', 'function = "gone:by"')
    )
    code, _, err = surefoot("tune", path)
    assert code == 2
    assert "STUDY.toml: objective.function: cannot use 'gone:by': ModuleNotFoundError" in err
    assert len(err.splitlines()) == 1
    assert not (path.parent / "hill.db").exists()


@pytest.mark.long
def test_recommend_gives_the_models_value_in_the_studys_units(study):
    path = study()
    fill(path)
    code, out, _ = surefoot("recommend", path, "--json")
    found = json.loads(out)
    assert code == 0
    keys = ["params", "value", "lower", "upper", "estimand", "unit", "trials", "failed"]
    assert list(found) == [*keys, "statements", "warnings", "effects", "failures"]
    assert found["estimand"] == "location"
    assert list(found["params"]) == ["share", "mode"]
    assert (found["trials"], found["failed"]) == (12, 1)
    assert found["lower"] <= found["value"] <= found["upper"]
    assert 9.5 < found["value"] < 10.6
    code, out, _ = surefoot("recommend", path)
    assert code == 0
    assert "From 12 trials, 1 of them failed." in out
    assert 'mode = "a b"' in out


@pytest.mark.long
def test_a_single_measurement_has_no_interval(study):
    path = study()
    fill(path, count=2)
    code, out, _ = surefoot("recommend", path, "--json")
    found = json.loads(out)
    assert code == 0
    assert (found["trials"], found["failed"]) == (2, 1)
    assert (found["lower"], found["upper"]) == (None, None)
    assert 10 < found["value"] < 11
    code, out, _ = surefoot("recommend", path)
    assert code == 0
    assert "(a single measurement has no interval):" in out


@pytest.mark.long
def test_export_holds_every_trial(study):
    path = study()
    fill(path)
    output = path.parent / "trials.csv"
    assert surefoot("export", path, "-o", output)[0] == 0
    with output.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == [
        "number",
        "state",
        "params_share",
        "params_mode",
        "value",
        "weight",
        "sem",
        "worker",
        "failure",
        "start",
        "seconds",
    ]
    assert [row["number"] for row in rows] == [str(number) for number in range(12)]
    assert (rows[0]["state"], rows[0]["failure"]) == ("fail", "exit status 3")
    assert (rows[0]["value"], rows[0]["weight"]) == ("", "")
    assert rows[1]["state"] == "complete"
    assert 0 <= float(rows[1]["weight"]) <= 1
    assert [file.name for file in path.parent.glob(".*")] == []


@pytest.mark.long
def test_export_to_parquet(study):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = study()
    fill(path)
    output = path.parent / "trials.parquet"
    assert surefoot("export", path, "-o", output)[0] == 0
    table = pandas.read_parquet(output)
    assert len(table) == 12
    assert table["value"].isna().sum() == 1
    assert table["start"].dtype.kind == "M"


def test_parquet_without_its_packages_names_the_extra(study, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    path = study()
    fill(path)
    code, _, err = surefoot("export", path, "-o", path.parent / "trials.parquet")
    assert code == 2
    assert "pip install pandas pyarrow" in err


class TestDiagnose:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        path = tmp_path / "runs.csv"
        values = np.random.default_rng(0).standard_t(2, 100)
        lines = ["run,y,comment", *(f"{i},{value},fine" for i, value in enumerate(values)), "100,,"]
        path.write_text("\n".join(lines))
        return path

    def test_in_words_and_in_json(self, file):
        code, out, _ = surefoot("diagnose", file)
        assert code == 0
        assert "column 'y' (1 empty cells skipped)" in out
        assert "robust_ucb" in out
        code, out, _ = surefoot("diagnose", file, "--json", "--column", "2")
        found = json.loads(out)
        assert (found["column"], found["n"], found["skipped"]) == ("y", 100, 1)
        assert set(found["moment"]) == {"alpha", "bound", "center"}

    def test_a_table_of_different_configurations_is_pointed_out(self, tmp_path):
        path = tmp_path / "trials.csv"
        lines = [f"{i / 30},{(i * 7) % 11}" for i in range(30)]
        path.write_text("\n".join(["params_share,value", *lines]))
        code, _, err = surefoot("diagnose", path)
        assert code == 0
        assert err.startswith("Warning: the rows are of different configurations (params_share)")
        (warning,) = json.loads(surefoot("diagnose", path, "--json")[1])["warnings"]
        assert "residuals" in warning

    def test_numbers_without_names(self, file):
        file.write_text("\n".join(str(value) for value in np.linspace(-1, 1, 30)))
        code, out, _ = surefoot("diagnose", file)
        assert code == 0
        assert "column '1'" in out
        assert "30" in out

    @pytest.mark.daily(4)
    @pytest.mark.parametrize(
        ("content", "arguments", "message"),
        [
            (
                "a,b\n1,2\n",
                [],
                "several columns contain numbers (a, b), expected one: choose it with",
            ),
            ("a,b\nx,y\n", [], "no column contains nothing but numbers (columns a, b)"),
            ("a,b\n1,x\n", ["--column", "c"], "no column 'c', expected one of a, b"),
            ("y\n1\nfast\n", [], "line 3: got 'fast' in column 'y', expected a finite number"),
            ("y\n1\nnan\n", [], "line 3: got 'nan'"),
            ("y\n1\n2\n", [], "has 2 values, expected at least 20"),
            ("", [], "the file is empty"),
            ("y;z\n9,123;1\n", [], "the cells are separated by ';', expected commas"),
            ("latency\n12,\n12,37\n", [], "line 3: got 2 cells, expected 1"),
            ("y\n11,foo,1\n", [], "line 2: got 3 cells, expected 1"),
            ("9,123;1\n8,456;2\n", [], "the first line has the number 9 beside text"),
        ],
    )
    def test_what_is_wrong_is_said_in_one_line(self, file, content, arguments, message):
        file.write_text(content)
        code, out, err = surefoot("diagnose", file, *arguments)
        assert (code, out) == (2, "")
        assert message in err
        assert len(err.splitlines()) == 1


def wait_for(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


# Fast at first, then one that hangs, and says which process it is.
HANGS_AT_THE_FOURTH = """
echo x >> runs
if [ $(wc -l < runs) -eq 4 ]; then sleep 600 & echo $! > hanging; wait; fi
echo $1
"""


def hanging(path: Path) -> int | None:
    file = path.parent / "hanging"
    text = file.read_text().strip() if file.exists() else ""
    return int(text) if text else None


@pytest.mark.long
def test_kill_9_loses_only_the_trial_in_flight_and_the_same_command_goes_on(study):
    path = study(HANGS_AT_THE_FOURTH, rounds=7)
    process = forked_surefoot("tune", path)
    wait_for(lambda: hanging(path) is not None)
    process.kill()
    process.communicate()
    wait_for(lambda: not is_running(hanging(path)), 10)
    before = open_study(path).study.get_trials()
    assert [trial.state.name for trial in before] == ["COMPLETE"] * 3 + ["RUNNING"]

    # And on again, until Ctrl-C: the trial that runs may end, and is recorded.
    (path.parent / "hanging").unlink()
    (path.parent / "runs").write_text("x\n" * 2)
    process = forked_surefoot("tune", path)
    wait_for(lambda: hanging(path) is not None)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    os.kill(hanging(path), signal.SIGTERM)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "")
    assert "3 of 7 rounds finished" in out
    assert "Stopping when the running trial is recorded" in out

    code, out, err = surefoot("tune", path)
    assert (code, err) == (0, "")
    assert "5 of 7 rounds finished" in out
    after = open_study(path).study.get_trials()
    assert [trial.value for trial in after[:3]] == [trial.value for trial in before[:3]]
    assert [trial.state.name for trial in after[3:]] == ["FAIL"] + ["COMPLETE"] * 4
    assert after[3].user_attrs["surefoot:interrupted"]
    # A run that goes on does not begin as the first one began.
    assert len({trial.params["share"] for trial in after[:6]}) == 6


@pytest.mark.long
def test_workers_share_the_rounds_exactly(study):
    path = study("sleep 0.1; echo $1", rounds=5)
    code, out, err = surefoot("tune", path, "--workers", 2)
    assert (code, err) == (0, "")
    assert "5 of 5 rounds finished." in out
    trials = open_study(path).study.get_trials()
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * 5
    assert len({trial.user_attrs["surefoot:process"]["pid"] for trial in trials}) > 1
    assert len({trial.params["share"] for trial in trials}) == 5


@pytest.mark.long
def test_quiet_is_silent_where_all_is_well_and_says_where_nothing_was_measured(study):
    code, out, err = surefoot("tune", study("exit 3", rounds=1), "--quiet")
    assert (code, out) == (STOPPED, "")
    assert "no round has a measurement" in err
    assert surefoot("tune", study(rounds=2), "--quiet") == (0, "", "")


def test_a_warning_is_one_line(capsys):
    with one_line_errors():
        warnings.warn("first\nsecond", stacklevel=1)
    assert capsys.readouterr().err == "Warning: first second\n"


def test_the_same_warning_comes_once(capsys):
    with one_line_errors():
        for text in ("first", "second", "first", "first"):
            with warnings.catch_warnings():  # which forgets what has been said
                warnings.warn(text, stacklevel=1)
    assert capsys.readouterr().err == "Warning: first\nWarning: second\n"


def test_a_run_goes_on_where_nobody_reads_what_it_says(study):
    """As with `surefoot tune study.toml | head -1`."""
    path = study(rounds=4)
    command = [sys.executable, "-m", "surefoot", "tune", str(path)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=path.parent, **pipes) as process:
        process.stdout.readline()
        process.stdout.close()
        said = process.stderr.read()
    assert process.returncode == 0, said
    assert said.count("Broken pipe; the run goes on without it") == 1
    assert len(open_study(path).study.get_trials()) == 4


def test_a_full_disk_behind_standard_output_is_one_line(capfd):
    with pytest.raises(typer.Exit) as ended, one_line_errors():
        raise OSError(errno.ENOSPC, "No space left on device")
    assert ended.value.exit_code == STOPPED
    assert capfd.readouterr().err == (
        "standard output cannot be written: No space left on device\n"
    )


def test_a_full_disk_of_a_file_is_not_standard_output():
    with pytest.raises(OSError, match="No space left"), one_line_errors():
        raise OSError(errno.ENOSPC, "No space left on device", "file")


def test_every_command_is_in_one_group_of_the_help():
    named = [name for names in GROUPS.values() for name in names]
    assert sorted(named) == sorted(typer.main.get_command(app).commands)
    shown = CliRunner().invoke(app, ["--help"]).output
    assert all(f"\n{title}:\n" in shown for title in GROUPS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("surefoot re", {"recommend", "report", "reproduce"}),
        ("surefoot plot --o", {"--output", "--out"}),
        ("surefoot compare --al", {"--all"}),
    ],
)
def test_a_shell_completes_commands_and_options(words, expected):
    place = str(len(words.split()) - 1)
    asked = {"_SUREFOOT_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": place}
    found = CliRunner().invoke(app, [], env=asked, prog_name="surefoot")
    assert {*found.stdout.split()} == expected


def test_a_working_folder_that_is_gone_is_said_in_a_line(tmp_path):
    folder = tmp_path / "gone"
    folder.mkdir()
    command = f"rmdir {folder}; exec {sys.executable} -m surefoot init true"
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True)
    said = "surefoot: the working folder no longer exists: change to one that does.\n"
    assert (done.returncode, done.stderr) == (1, said)
