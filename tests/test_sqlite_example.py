"""The SQLite example measures, and cleans up after itself."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from surefoot.tune import StudyFile

EXAMPLE = Path(__file__).parents[1] / "examples" / "sqlite"
BENCH = [sys.executable, str(EXAMPLE / "bench.py"), "--seconds", "0.01"]


@pytest.mark.long
@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["--page-size", "8192", "--cache-mb", "0.25", "--sync", "NORMAL", "--journal", "WAL"],
        ["--batch", "512", "--page-size", "65536"],
    ],
)
def test_bench_prints_a_latency_and_leaves_nothing(arguments, tmp_path):
    done = subprocess.run(
        BENCH + arguments, cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert 0 < float(done.stdout) < 1e6
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "arguments", [["--batch", "0"], ["--sync", "MAYBE"], ["--page-size", "9000"]]
)
def test_bench_refuses_a_wrong_setting(arguments, tmp_path):
    done = subprocess.run(BENCH + arguments, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 2
    assert arguments[0] in done.stderr


@pytest.mark.long
def test_a_terminated_bench_leaves_nothing(tmp_path):
    bench = subprocess.Popen([*BENCH[:2], "--seconds", "60"], cwd=tmp_path)
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("bench-*/bench.db")) and time.monotonic() < deadline:
        time.sleep(0.01)
    bench.terminate()
    assert bench.wait(timeout=30) == 143
    assert list(tmp_path.iterdir()) == []


@pytest.mark.long
def test_the_study_file_uses_every_option_of_the_bench_that_is_tuned():
    study = StudyFile.load(EXAMPLE / "sqlite.toml")
    for name in study.parameters:
        assert f"--{name.replace('_', '-')} {{{name}}}" in study.objective.command
    sizes = study.parameters["page_size"]
    for size in (sizes.choices[0], sizes.choices[-1]):
        subprocess.run([*BENCH, "--page-size", str(size)], check=True, capture_output=True)
