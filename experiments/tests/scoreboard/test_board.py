"""Runs of the scoreboard: kept, continued after a kill, and reported."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest
from typer.testing import CliRunner

from surefoot import InvalidInput
from surefoot_experiments.cli import app
from surefoot_experiments.scoreboard import board
from surefoot_experiments.scoreboard.board import Selection
from surefoot_experiments.scoreboard.page import write_page
from surefoot_experiments.scoreboard.task import COVERED
from surefoot_experiments.scoreboard.trials import CHECKPOINTS, REFIT, RUNS

TASKS = ("ackley-2-gaussian", "ackley-2-spikes")
SMALL = Selection("own", "development", ["random"], 2, evaluations=["4"], names=TASKS)


def records(folder):
    return sorted(folder.rglob("*.json"))


@pytest.mark.long
def test_finished_runs_are_kept_and_only_missing_ones_run(tmp_path):
    tables = board.run(SMALL, tmp_path)
    assert len(tables[RUNS]) == 4
    assert set(tables[CHECKPOINTS]["rival"]) == {"random", "random" + REFIT}
    assert set(tables[CHECKPOINTS]["evaluations"]) == {1, 2, 4}
    paths = records(tmp_path)
    assert len(paths) == 4
    paths[0].unlink()
    before = {path: path.stat().st_mtime_ns for path in paths[1:]}
    again = board.run(SMALL, tmp_path)
    assert {path: path.stat().st_mtime_ns for path in paths[1:]} == before
    same = [CHECKPOINTS, ["task", "rival", "trial", "evaluations", "gap", "point"]]
    assert again[same[0]][same[1]].equals(tables[same[0]][same[1]])


@pytest.mark.long
def test_runs_in_other_results_are_not_made_again(tmp_path, monkeypatch):
    first, second, known = (tmp_path / name for name in ("first", "second", "known/some"))
    selection = replace(SMALL, rivals=["optuna-tpe"], seeds=1)
    tables = board.run(selection, first)
    page = write_page(tables, known / "own")
    assert "| optuna-tpe | 1.00 | – |" in page.read_text()
    monkeypatch.setattr(board, "python_of", lambda name: None)  # no environment has been built
    again = board.run(selection, second, known=tmp_path / "known")
    assert not records(second)
    columns = ["task", "rival", "trial", "evaluations", "gap", "point"]
    assert again[CHECKPOINTS][columns].equals(tables[CHECKPOINTS][columns])
    said = []
    with pytest.raises(InvalidInput, match="none of the rivals can be run"):
        board.run(replace(selection, seeds=2), second, say=said.append, known=tmp_path / "known")
    assert "optuna-tpe: skipped: build its environment" in said[0]
    with pytest.raises(InvalidInput, match="has no tables of own"):
        board.run(SMALL, second, known=second)


def test_runs_of_a_state_of_surefoot_are_not_taken_from_other_results(tmp_path):
    rows = [{"case": f"task {name}", "trial": 0} for name in ("surefoot", "surefoot:a", "random")]
    tables = {CHECKPOINTS: pd.DataFrame(rows), RUNS: pd.DataFrame(rows)}
    (tmp_path / "own").mkdir()
    for name, table in tables.items():
        table.to_parquet(tmp_path / "own" / f"{name}.parquet")
    assert set(board.runs_in(tmp_path, "own")) == {("task surefoot:a", 0), ("task random", 0)}


def test_results_of_surefoot_belong_to_a_state_of_its_files_or_to_a_label(monkeypatch):
    monkeypatch.setattr(board, "_source", lambda: "0123456789ab")
    names = ("surefoot", "surefoot:before", "random")
    assert [board.folder_of(name) for name in names] == [
        "surefoot-0123456789ab",
        "surefoot-before",
        "random",
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"suite": "nothing"}, "no suite is named"),
        ({"half": "both"}, "`half` is"),
        ({"rivals": ["nobody"]}, "no rival is named"),
        ({"rivals": ["random:label"]}, "no rival is named"),
        ({"rivals": ["surefoot:"]}, "label of 'surefoot:' is '', expected letters, digits"),
        ({"rivals": ["surefoot:a b"]}, "label of 'surefoot:a b' is 'a b', expected letters"),
        ({"rivals": ["surefoot:x/../../../escaped"]}, "is 'x/../../../escaped', expected"),
        ({"seeds": 0}, "`seeds` is 0, expected at least 1"),
        ({"names": ["hartman"]}, "no task of own"),
        *(
            (
                {"suite": suite, "evaluations": [text]},
                f"`evaluations` has '{text}', expected a number",
            )
            for suite, text in (
                ("own", "ten"),
                ("own", "0"),
                ("multimodal", "²"),
                ("bbob-noisy", "d"),
            )
        ),
    ],
)
def test_a_wrong_selection_is_refused(tmp_path, change, message):
    settings = {"suite": "own", "half": "", "rivals": ["random"], "seeds": 1} | change
    with pytest.raises(InvalidInput, match=message):
        board.run(Selection(**settings), tmp_path)


def test_a_suite_has_its_own_numbers_of_measurements_unless_others_are_given():
    def numbers(suite, *evaluations):
        tasks = Selection(suite, "", ["random"], 1, evaluations, dimensions=[2]).tasks()
        return {task.budget for task in tasks}

    assert numbers("bbob-noisy") == {60, 200}
    assert numbers("multimodal") == numbers("own") == {60}
    assert numbers("bbob-noisy", "30", "10d") == numbers("own", "30", "10d") == {30, 20}


@pytest.mark.daily(4)
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--dimensions", "2,a"], "--dimensions is '2,a', expected whole numbers such as 2,5"),
        (["--jobs", "0"], "`jobs` is 0, expected at least 1"),
        (["--jobs", "-1"], "`jobs` is -1"),
        (["--seeds", "-1"], "`seeds` is -1"),
        (["--limit", "0"], "`limit` is 0, expected seconds above 0"),
        (["--limit", "nan"], "`limit` is nan"),
        (["--limit", "1e300"], "`limit` is 1e+300"),
        (["--rivals", "surefoot:a b"], "expected letters, digits"),
    ],
)
def test_wrong_options_end_with_2_and_one_line_and_create_nothing(tmp_path, arguments, message):
    out = tmp_path / "out"
    options = ["scoreboard", "run", "own", "--out", str(out), *arguments]
    result = CliRunner().invoke(app, options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not out.exists()


def command(folder, *rivals):
    return [
        *(sys.executable, "-m", "surefoot_experiments", "scoreboard", "run", "own"),
        *("--tasks", ",".join(TASKS), "--evaluations", "8", "--seeds", "1"),
        *("--rivals", ",".join(rivals), "--out", str(folder)),
    ]


@pytest.mark.long
def test_a_run_that_is_killed_is_continued(tmp_path):
    arguments = command(tmp_path, "random", "optuna-tpe", "surefoot")
    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, start_new_session=True)
    deadline = time.monotonic() + 120
    while len(records(tmp_path)) < 3 and time.monotonic() < deadline:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = records(tmp_path)
    assert len(kept) >= 3
    before = {path: path.stat().st_mtime_ns for path in kept}
    result = CliRunner().invoke(app, arguments[3:])
    assert result.exit_code == 0, result.output
    assert {path: path.stat().st_mtime_ns for path in kept} == before
    assert len(records(tmp_path)) == 2 * 3
    assert "| surefoot |" in result.output
    assert (tmp_path / "own" / "page.md").read_text().startswith("# Scoreboard: own")
    assert (tmp_path / "own" / "profiles.svg").is_file()
    runs = [json.loads(path.read_text())["tables"][RUNS][0] for path in records(tmp_path)]
    assert {one["error"] for one in runs} == {""}
    scored = [json.loads(path.read_text())["tables"][CHECKPOINTS] for path in records(tmp_path)]
    covered = {row["rival"] for rows in scored for row in rows if row.get(COVERED) in (0.0, 1.0)}
    assert covered == {"surefoot"}
    assert "95 % intervals with the median" in result.output


def test_the_list_names_suites_and_rivals_with_what_they_need(tmp_path, monkeypatch):
    monkeypatch.setenv("SUREFOOT_ENVIRONMENTS", str(tmp_path))
    result = CliRunner().invoke(app, ["scoreboard", "list"])
    assert "suites: bbob-noisy, cloud, simopt, multimodal, own" in result.output
    assert "  surefoot\n" in result.output
    assert "  smac: needs surefoot-experiments scoreboard environments smac" in result.output
