"""A run is followed trial by trial: by a log, a command, a page."""

from __future__ import annotations

import errno
import io
import json
import re
from pathlib import Path

import optuna
import pytest
from typer.testing import CliRunner

from support.commands import surefoot
from support.study_doubles import COMMAND
from surefoot.cli import app
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.following.event_log import event_log
from surefoot.tune.following.live_page import live_page, progress_text, watch
from surefoot.tune.following.trial_command import trial_command
from surefoot.tune.report import page
from surefoot.tune.running import run
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.types import InvalidInput

BENCH = "import sys\nsys.exit('bad') if sys.argv[3] == 'OFF' else print(float(sys.argv[2]))\n"
HOOK = """
import json, sys
with open("hooked", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(3 if sys.argv[1] == "1" else 0)
"""


@pytest.fixture
def study(write_study) -> Path:
    """A study whose command fails in one mode, and a program to call after each trial."""
    path = write_study(bench=BENCH)
    (path.parent / "hook.py").write_text(HOOK)
    return path


def tune(path: Path, *followers, rounds: int = 4) -> None:
    run(
        path,
        rounds=rounds,
        quiet=True,
        sampler=optuna.samplers.RandomSampler(seed=1),
        followers=followers,
    )


@pytest.mark.slow
def test_a_log_has_a_line_for_each_event_and_is_continued(study, tmp_path):
    log = tmp_path / "log.jsonl"
    tune(study, event_log(log), rounds=3)
    tune(study, event_log(log), rounds=4)
    events = [json.loads(line) for line in log.read_text().splitlines()]
    kinds = [event["event"] for event in events]
    assert [kinds.count(kind) for kind in ("started", "ended")] == [2, 2]
    trials = open_study(study).state().trials
    logged = [event for event in events if "number" in event]
    assert [event["number"] for event in logged] == [trial.number for trial in trials]
    for event, trial in zip(logged, trials, strict=True):
        assert event["params"] == trial.params
        assert event["event"] == ("failed" if trial.value is None else "measured")
        assert event.get("value") == trial.value
        assert ("failure" in event) == (trial.value is None)


@pytest.mark.parametrize("storage", ["sqlite:///hill.db", "journal:///hill.db"])
@pytest.mark.parametrize(
    "name", ["STUDY.toml", "hill.db", "link", "hard", "bench.py", "report.html"]
)
def test_a_log_is_never_written_into_another_file(study, storage, name):
    study.write_text(study.read_text().replace("[study]", f'[study]\nstorage = "{storage}"'))
    create_study(StudyFile.load(study))
    folder = study.parent
    (folder / "report.html").write_text("<!DOCTYPE html>")
    (folder / "link").symlink_to("hill.db")
    (folder / "hard").hardlink_to(folder / "hill.db")
    before = {one: one.read_bytes() for one in folder.iterdir()}
    said = surefoot("tune", study, "--log", folder / name, code=2)
    assert "expected a log of events" in said
    assert {one: one.read_bytes() for one in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["hill.db", "hill.db-journal", "hill.db-wal"])
def test_a_log_is_not_what_the_run_itself_creates(study, name):
    said = surefoot("tune", study, "--log", study.parent / name, code=2)
    assert "expected a log of events" in said
    assert surefoot("status", study).splitlines()[0].endswith("0 of 8 rounds")


@pytest.mark.parametrize("quiet", [[], ["--quiet"]])
def test_a_log_that_cannot_be_written_is_said_once_and_the_run_goes_on(study, monkeypatch, quiet):
    class Full(io.FileIO):
        def write(self, data):
            if self.tell() + len(data) > 300:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data[:50])

    log, opened = study.parent / "log.jsonl", Path.open

    def full(path: Path, *mode: str, **given):
        return Full(path, "a") if mode == ("ab",) else opened(path, *mode, **given)

    monkeypatch.setattr(Path, "open", full)
    said = surefoot("tune", study, "--rounds", 4, "--log", log, *quiet)
    assert said.count("log.jsonl: cannot be written: No space left on device; the run goes on") == 1
    assert "standard output" not in said
    assert open_study(study).state().finished == 4
    assert json.loads(log.read_text().splitlines()[0])["event"] == "started"


@pytest.mark.slow
def test_a_command_runs_after_each_trial_without_a_shell(study):
    line = COMMAND.split()[0] + " hook.py {number} '{value}' {mode};$(touch hacked) '{failure}'"
    tune(study, trial_command(line, StudyFile.load(study)))
    calls = [json.loads(line) for line in (study.parent / "hooked").read_text().splitlines()]
    trials = open_study(study).state().trials
    assert len(calls) == len(trials) == 4
    for (number, value, mode, *rest), trial in zip(calls, trials, strict=True):
        assert number == str(trial.number)
        assert value == ("" if trial.value is None else str(trial.value))
        assert mode == f"{trial.params['mode']};$(touch"
        assert rest[0] == "hacked)"
        assert bool(rest[1]) == (trial.value is None)
    assert not (study.parent / "hacked").exists()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("echo {numbr}", "{numbr} is not known, expected one of number, value, failure, size"),
        ("no-such-program {number}", "is not a program on PATH"),
        ("echo 'open", "expected closed quotes"),
        ("", "got an empty command"),
    ],
)
def test_a_wrong_command_is_refused_before_the_run(study, line, message):
    result = CliRunner().invoke(app, ["tune", str(study), "--on-trial", line])
    assert result.exit_code == 2
    assert f"--on-trial: {message}" in result.output or message in result.output
    assert not (study.parent / "hill.db").exists()


@pytest.mark.slow
def test_a_command_that_fails_is_noted(study):
    command = f"{COMMAND.split()[0]} hook.py {{number}}"
    given = ["tune", str(study), "--rounds", "2", "--on-trial", command]
    result = CliRunner().invoke(app, given)
    assert result.exit_code == 0
    assert "--on-trial, trial 1: exit status 3" in result.output


@pytest.mark.slow
def test_a_page_reloads_itself_while_there_is_more_to_come(study, tmp_path, monkeypatch):
    output, pages = tmp_path / "page.html", []
    write = page

    def counted(*given: object) -> str:
        pages.append(write(*given))
        return pages[-1]

    monkeypatch.setattr("surefoot.tune.report.page", counted)
    tune(study, live_page(output), rounds=3)
    assert output.read_text() == pages[-1]
    reloads = [bool(re.search(r'http-equiv="refresh" content="\d+"', each)) for each in pages]
    assert reloads == [True] * (len(pages) - 1) + [False]
    assert "<p>3 of 3 rounds · " in pages[-1]
    left = re.compile(r"<p>2 of 3 rounds, about \d+ s left at \d\d:\d\d · ")
    assert any(left.search(each) for each in pages)


@pytest.mark.long
def test_watching_ends_with_the_study(study, tmp_path):
    tune(study, rounds=2)
    output, seen = tmp_path / "page.html", []

    def sleep(seconds: float) -> None:
        tune(study, rounds=8)

    watch(study, output, lambda state: seen.append(state.finished), sleep)
    assert seen == [2, 8]
    assert 'http-equiv="refresh"' not in output.read_text()
    assert progress_text(open_study(study).state(), 8) == "8 of 8 rounds"


def test_a_page_is_an_html_file(study, tmp_path):
    for wrong in ("page.txt", "absent/page.html"):
        with pytest.raises(InvalidInput):
            live_page(tmp_path / wrong)
