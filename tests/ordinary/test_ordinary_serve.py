"""`surefoot serve` for a thousand requests, and `ask` and `tell` beside it."""

from __future__ import annotations

import json
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest

from ordinary.installed import Installed
from ordinary.kinds import KINDS, bowl

IMPORTED = 55  # measurements before the first request
STUDY = """
[study]
name = "asked"
direction = "minimize"
rounds = 2000
storage = "journal:///asked.log"

[parameters]
x = { type = "float", low = 0, high = 1 }
y = { type = "float", low = 0, high = 1 }
"""


class Served:
    """`surefoot serve` as a process, and the answers that it owes."""

    def __init__(self, installed: Installed, path: Path) -> None:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        self.process = installed.start("serve", path, folder=path.parent, **pipes)
        self.requests = 0

    def __call__(self, verb: str, **arguments: Any) -> dict[str, Any]:
        self.process.stdin.write(json.dumps({"verb": verb, **arguments}) + "\n")
        self.process.stdin.flush()
        self.requests += 1
        return json.loads(self.process.stdout.readline())

    def close(self) -> None:
        _, shown = self.process.communicate()
        assert (self.process.returncode, shown) == (0, "")


@pytest.mark.parametrize(
    ("asked", "requests"),
    [(15, 1000), pytest.param(300, 2000, marks=pytest.mark.long)],
    ids=["daily", "every"],
)
def test_requests(installed: Installed, tmp_path: Path, asked: int, requests: int) -> None:
    path, noise = tmp_path / "asked.toml", random.Random(3)
    path.write_text(STUDY)
    KINDS["plain"].table(tmp_path / "rows.csv", IMPORTED, seed=1)
    assert installed.look("import", path, "rows.csv", folder=tmp_path).code == 0
    finished, served = IMPORTED, Served(installed, path)
    for number in range(asked):
        (one,) = served("ask")["configurations"]
        if number % 7 == 3:
            assert served("forget", ids=[one["id"]])["forgotten"][0]["id"] == one["id"]
            continue
        told = (
            {"failed": "it ended early"}
            if number % 7 == 5
            else {"value": bowl(one["params"]) + noise.gauss(0, 0.1)}
        )
        answer = served("tell", id=one["id"], **told)
        finished += 1
        assert (answer["id"], answer["finished"]) == (one["id"], finished)
        assert "code" in served("tell", id=one["id"], value=99.0)  # another value is refused
    (best,) = served("predict", configurations=["recommended"])["predictions"]
    assert bowl(best["params"]) <= 0.2
    while served.requests < requests:
        status = served("status")
        assert (status["finished"], status["asked"]) == (finished, [])
    served.close()
    shown = installed.look("recommend", path, "--json", folder=tmp_path).json
    assert shown["params"] == pytest.approx(best["params"], abs=1e-9)
    assert shown["value"] == pytest.approx(best["value"], rel=1e-6)
    assert shown["trials"] == finished
