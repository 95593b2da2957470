"""A run is followed trial by trial: by a log, and by a report that is watched."""

from __future__ import annotations

import errno
import io
import json
import re
from pathlib import Path

import optuna
import pytest

from support.commands import surefoot
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.report import watched
from surefoot.tune.running import run
from surefoot.tune.study.opened_study import create_study, open_study
from surefoot.types import InvalidInput, NotReady

BENCH = "import sys\nsys.exit('bad') if sys.argv[3] == 'OFF' else print(float(sys.argv[2]))\n"


@pytest.fixture
def study(write_study) -> Path:
    """A study whose command fails in one mode."""
    return write_study(bench=BENCH)


def tune(path: Path, log: Path | None = None, rounds: int = 4) -> None:
    run(
        path,
        rounds=rounds,
        quiet=True,
        sampler=optuna.samplers.RandomSampler(seed=1),
        log=log,
    )


def test_a_log_has_a_line_for_each_event_and_is_continued(study, tmp_path):
    log = tmp_path / "log.jsonl"
    tune(study, log, rounds=3)
    tune(study, log, rounds=4)
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


@pytest.mark.daily(2)
@pytest.mark.parametrize("lost", [1, 2, 3, 4])
@pytest.mark.parametrize("partial", [0, 1, 30])
def test_a_killed_run_is_completed_in_its_log(study, tmp_path, lost, partial):
    log = tmp_path / "log.jsonl"
    other = {"event": "started", "time": "2026-01-01T00:00:00.000", "study": "other"}
    others = [other, {"event": "measured", "time": "2026-01-01T00:00:00.000", "number": 2}]
    log.write_text("".join(f"{json.dumps(one)}\n" for one in others) + "no JSON\n")
    tune(study, rounds=1)  # without the log
    tune(study, log, rounds=4)
    lines = log.read_text().splitlines(keepends=True)
    rest = "".join(lines[-lost:])[:partial]  # of trials and the end of the run
    log.write_text("".join(lines[:-lost]) + rest)
    tune(study, log, rounds=5)
    written = log.read_text().splitlines()
    assert written[2] == "no JSON"
    events = [json.loads(line) for line in written[3:]]
    assert sorted(one["number"] for one in events if "number" in one) == [1, 2, 3, 4]


@pytest.mark.daily(1)
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


@pytest.mark.long
@pytest.mark.parametrize("name", ["hill.db", "hill.db-journal", "hill.db-wal"])
def test_a_log_is_not_what_the_run_itself_creates(study, name):
    said = surefoot("tune", study, "--log", study.parent / name, code=2)
    assert "expected a log of events" in said
    assert surefoot("status", study).splitlines()[0].endswith("0 of 8 rounds")


@pytest.mark.long
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


@pytest.mark.long
def test_watching_ends_with_the_study(study, tmp_path):
    tune(study, rounds=2)
    output, pages = tmp_path / "page.html", []

    def sleep(seconds: float) -> None:
        tune(study, rounds=8)

    for state in watched(study, output, sleep):
        pages.append((state.finished, output.read_text()))
    assert [finished for finished, _ in pages] == [2, 8]
    reloads = [bool(re.search(r'http-equiv="refresh" content="\d+"', page)) for _, page in pages]
    assert reloads == [True, False]
    assert re.search(r"<p>2 of 8 rounds, about \d+ s left at \d\d:\d\d · ", pages[0][1])
    assert "<p>8 of 8 rounds · " in pages[1][1]


def test_watching_a_study_without_a_measurement_ends_with_the_reason(write_study, tmp_path):
    path = write_study(("rounds = 8", "rounds = 2"), bench="import sys\nsys.exit('no device')\n")
    tune(path, rounds=2)
    with pytest.raises(NotReady, match=r"2 of 2 trials failed, .*no device"):
        next(watched(path, tmp_path / "page.html", lambda seconds: pytest.fail("waits")))


def test_a_page_is_an_html_file(study, tmp_path):
    for wrong in ("page.txt", "absent/page.html"):
        with pytest.raises(InvalidInput):
            next(watched(study, tmp_path / wrong))
