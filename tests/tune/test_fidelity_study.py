"""A study whose measurements have several levels of accuracy."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.commands import study_writer, surefoot
from surefoot.tune import StudyFile, StudyFileError, open_study
from surefoot.tune.ask_tell.ask_tell import open_ask_tell

STUDY = f"""
[study]
name = "demo"
direction = "minimize"
rounds = 12
initial = 4
[objective]
command = "{sys.executable} bench.py {{x}} {{seconds}}"
[parameters]
x = {{ type = "float", low = 0, high = 1 }}
[fidelity]
seconds = {{ levels = [5, 120], cost = [5, 120] }}
"""
BENCH = "import sys; x, s = map(float, sys.argv[1:]); print(3 + (x - 0.3) ** 2 + 1 / s)"
LEVELS = "seconds = { levels = [5, 120], cost = [5, 120] }"
COMMAND = f'command = "{sys.executable} bench.py {{x}} {{seconds}}"'


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes a study file and its benchmark."""
    return study_writer(tmp_path, STUDY, BENCH)


@pytest.mark.parametrize(
    ("new", "key", "message"),
    [
        ("seconds = { levels = [5], cost = [5] }", "seconds.levels", "increasing"),
        ("seconds = { levels = [9, 5], cost = [9, 5] }", "seconds.levels", "increasing"),
        ("seconds = { levels = [5, 9], cost = [5] }", "seconds.cost", "one for each"),
        ("seconds = { levels = [5, 9], cost = [0, 5] }", "seconds.cost", "above 0"),
        ("seconds = { levels = [5, 9] }", "seconds.cost", "missing"),
        ("seconds = { levels = [5, 9], costs = [5, 9] }", "seconds.costs", "cost"),
        ("seconds = 5", "seconds", "table"),
        ("", "fidelity", "expected one"),
        (f"{LEVELS}\nx2 = {{ levels = [1, 2], cost = [1, 2] }}", "fidelity", "expected one"),
        ("x = { levels = [1, 2], cost = [1, 2] }", "fidelity.x", "is a parameter"),
        (f"{LEVELS}\n[repeats]\nmost = 3", "repeats", r"\[fidelity\]"),
        (f"{LEVELS}\n[confirm]\nshare = 0.1", "confirm", r"\[fidelity\]"),
        (f'{LEVELS}\n[risk]\nmeasure = "mean"', "risk", r"given beside \[fidelity\]"),
        (
            f"{LEVELS}\n[environment]\nload = {{ values = [1, 2] }}",
            "environment",
            r"given beside \[fidelity\], expected one of the two",
        ),
    ],
)
def test_errors_name_the_key(write, new, key, message):
    with pytest.raises(StudyFileError, match=message) as error:
        StudyFile.load(write((LEVELS, new)))
    assert f" {key}" in str(error.value) or f"{key}:" in str(error.value)


def test_a_command_contains_the_level(write):
    with pytest.raises(
        StudyFileError, match=r"fidelity.seconds: not used .* no table \[fidelity\]"
    ):
        StudyFile.load(write(("{seconds}", "5")))


@pytest.mark.long
def test_a_run_spends_on_the_cheap_level_and_recommends_for_the_other(write):
    path = write()
    out = surefoot("tune", path)
    assert "value at seconds=120" in out
    state = open_study(path).state()
    levels = [trial.user_attrs["surefoot:environment"]["seconds"] for trial in state.trials]
    assert levels[:6] == [5, 5, 5, 5, 120, 120]
    best = json.loads(surefoot("recommend", path, "--json"))
    assert abs(best["params"]["x"] - 0.3) < 0.15
    page = path.parent / "page.html"
    surefoot("report", path, "-o", page)
    assert "Fidelity</h2>" in page.read_text()


def test_a_last_level_that_was_not_measured_is_said(write):
    path, said = write(), "Nothing was measured at seconds=120 yet"
    surefoot("tune", path, "--rounds", "3", "--quiet")
    assert said in surefoot("recommend", path)
    assert any(said in one for one in json.loads(surefoot("recommend", path, "--json"))["warnings"])
    surefoot("tune", path, "--rounds", "8", "--quiet")
    assert said not in surefoot("recommend", path)


def test_ask_says_the_level(write):
    study = open_ask_tell(write((COMMAND, "")))
    (asked,) = study.ask()
    assert asked.environment == {"seconds": 5}


def test_other_levels_are_another_study(write):
    open_ask_tell(write())
    with pytest.raises(StudyFileError, match=r"fidelity.seconds"):
        open_ask_tell(write(("[5, 120], cost", "[5, 60], cost")))


@pytest.mark.long
def test_constraints_hold_at_the_highest_level(write: Callable[..., Path]) -> None:
    limit = "[constraints]\np99 = { max = 9 }\n[parameters]"
    path = write(("[parameters]", limit))
    (path.parent / "bench.py").write_text(f"{BENCH}\nprint('p99=%s' % (4 + x))")
    surefoot("tune", path, "--rounds", "6", "--quiet")
    shown = surefoot("recommend", path)
    assert re.search(
        r"\n  p99, at most 9: 4\.[\d]+ \(.* to .*\), holds with probability above", shown
    )
    assert "environment" not in shown
    told = json.loads(surefoot("recommend", path, "--json"))
    p99, expected = told["constraints"]["p99"], 4.0 + told["params"]["x"]
    assert p99["lower"] < expected < p99["upper"]
    surefoot("report", path, "-o", path.with_suffix(".md"))
    summary = path.with_suffix(".md").read_text()
    assert "| p99, at most 9 |" in summary, summary
