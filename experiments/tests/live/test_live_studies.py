"""Live studies: their study files, turns of their measurements, and the page."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from surefoot import InvalidInput, NotReady
from surefoot.tune.definition.study_file import StudyFile
from surefoot_experiments import live
from surefoot_experiments.live.page import write_page
from surefoot_experiments.live.side_by_side import run_live
from surefoot_experiments.live.systems import study_text, systems

TAKE_TURN = Path(live.__file__).with_name("take_turn.py")


@pytest.mark.parametrize("name", systems())
def test_the_study_files_differ_in_repeats_and_effects_only(name, tmp_path):
    files = []
    for aided in (False, True):
        path = tmp_path / f"{aided}.toml"
        path.write_text(study_text(systems()[name], 3, 14, aided, other="other"))
        files.append(StudyFile.load(path))
    plain, aided = files
    assert plain.study == aided.study
    assert (plain.study.seed, plain.study.rounds) == (3, 14)
    assert plain.defaults == aided.defaults is not None
    assert (list(plain.objective.effects), plain.repeats.most) == ([], 1)
    assert (list(aided.objective.effects), aided.repeats.most) == (["worker", "drift"], 10)
    assert plain.objective.command == aided.objective.command
    assert "take_turn.py ../lock ../other.pid" in plain.objective.command


def test_an_unknown_system_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="expected one of sqlite, postgresql, redis"):
        run_live("mongodb", tmp_path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rounds": 0}, "`rounds` is 0, expected at least 1"),
        ({"pairs": 0}, "`pairs` is 0, expected at least 1"),
        ({"seed": -1}, "`seed` is -1, expected at least 0"),
        ({"seed": 2**32}, "`seed` is 4294967296, expected at most 4,294,967,295"),
    ],
)
def test_numbers_out_of_range_are_refused_before_anything_is_made(tmp_path, options, message):
    with pytest.raises(InvalidInput, match=message):
        run_live("sqlite", tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path):
    (tmp_path / "out").touch()
    with pytest.raises(InvalidInput, match="out/sqlite-0/plain: cannot be written: Not a dir"):
        run_live("sqlite", tmp_path / "out")


def test_a_system_that_is_not_installed_is_refused_before_anything_is_made(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(live.systems, "DEBIAN", tmp_path)
    for name, program in (("redis", "redis-server"), ("postgresql", "pgbench")):
        with pytest.raises(NotReady, match=f"is not installed: no program is named {program}"):
            run_live(name, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_other_process_is_suspended_meanwhile(tmp_path):
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as other:
        (tmp_path / "other.pid").write_text(str(other.pid))
        look = f"print(open('/proc/{other.pid}/stat').read().rpartition(')')[2].split()[0])"
        command = [sys.executable, TAKE_TURN, tmp_path / "lock", tmp_path / "other.pid"]
        done = subprocess.run(
            [*command, sys.executable, "-c", f"{look}; raise SystemExit(3)"],
            capture_output=True,
            text=True,
            check=False,
        )
        state = Path(f"/proc/{other.pid}/stat").read_text().rpartition(")")[2].split()[0]
        other.kill()
    assert (done.stdout.strip(), done.returncode) == ("T", 3)
    assert state != "T"


def test_the_page_has_a_row_for_each_study(tmp_path):
    with pytest.raises(NotReady, match="no finished run"):
        write_page(tmp_path)
    recommended = {
        "lower": 9.0,
        "upper": 11.0,
        "trials": 60,
        "defaults": {"value": 20.0, "change": -10.0, "lower": -12.0, "upper": -8.0},
        "warnings": [],
        "effects": ["The level of the measurements changed during the study."],
    }
    compared = {
        "better": "B",
        "pairs": 2,
        "percent": {"estimate": -48.0, "lower": -60.0, "upper": None},
    }
    arm = {
        "recommended": recommended,
        "compared": compared,
        "again": [[5.0, 10.0], [50.0, 12.0]],
        "median": 11.0,
        "inside": True,
    }
    run = {"system": "Redis", "seed": 0, "arms": {"plain": arm, "aided": arm}}
    (tmp_path / "redis-0").mkdir()
    (tmp_path / "redis-0" / "result.json").write_text(json.dumps(run))
    (tmp_path / "neighbour.jsonl").write_text("[0.0, 10.0]\n")
    page = write_page(tmp_path)
    assert (tmp_path / "page.md").read_text() == page
    row = next(line for line in page.splitlines() if "aided" in line and "Redis" in line)
    assert "-48 % (-60 to no bound), better" in row
    assert "-50 % (-60 to -40)" in row
    assert "11, inside | 10, 12 | yes | 0" in row
    assert "aided: better than the defaults in 1 of 1 runs; the change" in page


@pytest.mark.long
def test_a_busy_time_that_is_cut_short_is_written_down(tmp_path):
    """Otherwise the measurements that it disturbed would count as quiet ones."""
    log = tmp_path / "neighbour.jsonl"
    code = "neighbour.QUIET, neighbour.BUSY = (0.0, 0.0), (60.0, 60.0); neighbour.main()"
    code = f"from surefoot_experiments.live import neighbour; {code}"
    began = time.time()
    command = [sys.executable, "-c", code, "--seed", "0", "--log", str(log)]
    with subprocess.Popen(command) as process:
        while not log.exists():
            time.sleep(0.01)
        time.sleep(0.5)
        process.terminate()
        assert process.wait(timeout=10.0) == 143
    ((first, last),) = map(json.loads, log.read_text().splitlines())
    assert began < first < last < time.time()
