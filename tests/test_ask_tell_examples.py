"""The clients of `surefoot ask`, `tell` and `serve` in examples/ask_tell measure a whole study."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from surefoot.tune.ask_tell.ask_tell import open_ask_tell

EXAMPLES = Path(__file__).parents[1] / "examples" / "ask_tell"
ROUNDS = 5


@pytest.mark.long
@pytest.mark.parametrize(
    ("client", "program", "package"),
    [
        pytest.param("loop.sh", "sh", "", marks=pytest.mark.long),
        ("client.mjs", "node", ""),
        pytest.param("client.R", "Rscript", "", marks=pytest.mark.long),
        ("mcp_client.py", sys.executable, "mcp"),
    ],
)
def test_clients_measure_a_study(client, program, package, tmp_path):
    if shutil.which(program) is None or (package and find_spec(package) is None):
        pytest.skip(f"{package or program} is not installed")
    for name in (client, "study.toml"):
        shutil.copy(EXAMPLES / name, tmp_path)
    study = tmp_path / "study.toml"
    study.write_text(study.read_text().replace("rounds = 12", f"rounds = {ROUNDS}"))
    command = tmp_path / "surefoot"  # that of this Python, whatever is on the PATH
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m surefoot "$@"\n')
    command.chmod(0o755)
    done = subprocess.run(
        [program, client, study.name],
        cwd=tmp_path,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=False,
        timeout=150,
    )
    assert done.returncode == 0, done.stderr
    assert "threads" in done.stdout.splitlines()[-1]
    status = open_ask_tell(study).status()
    assert (status.finished, status.failed, status.asked) == (ROUNDS, 0, ())
