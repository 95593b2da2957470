"""`surefoot tune` for 300 rounds on each kind of study, stopped and resumed, and looks at it.

From time to time measurements of a table are added, so that few rounds reach many sizes.
"""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ordinary.installed import Installed, result
from ordinary.kinds import KINDS, Kind

SIZES = (1, 2, 10, 64, 65, 100, 150, 200, 250, 300, 1000, 2000)  # each night
REPORTED = 66  # measurements at most of a report each day
CHOSEN = 3  # rounds before each size; the others are of a table
STORAGES = {"sqlite": "sqlite:///study.db", "journal": "journal:///study.log"}


@dataclass(frozen=True)
class Run:
    """Where a kind of study is stored, and at which sizes it is looked at each day.

    Args:
        storage: Its storage.
        daily: The sizes.
        least: Size from which there is a measurement.
    """

    storage: str
    daily: tuple[int, ...]
    least: int = 1


RUNS = {
    "constraint": Run("journal", (66,)),
    "environment": Run("sqlite", (66,)),
    "objectives": Run("sqlite", (66,)),
    "conditional": Run("journal", (66,)),
    "failures": Run("sqlite", (2, 66), least=2),
}


class Watched:
    """A study of a kind under the commands of a user.

    Args:
        installed: The commands.
        kind: The kind of study.
        path: The study file.
    """

    def __init__(self, installed: Installed, kind: Kind, path: Path) -> None:
        self.installed, self.kind, self.path, self.folder = installed, kind, path, path.parent

    def do(self, *arguments: object) -> str:
        """Standard output of a command, which succeeds without a warning of Python's."""
        found = self.installed.look(*arguments, folder=self.folder)
        assert found.code == 0, (arguments, found)
        assert "Traceback" not in found.err, found.err
        assert "Warning" not in found.err, found.err
        return found.out

    def tune(self, rounds: int) -> str:
        return self.do("tune", self.path, "--rounds", rounds)

    def status(self) -> dict[str, Any]:
        return json.loads(self.do("status", self.path, "--json"))

    def add(self, number: int, seed: int) -> None:
        """Import so many random measurements."""
        self.kind.table(self.folder / "rows.csv", number, seed)
        assert f"imported {number} trial" in self.do("import", self.path, "rows.csv")

    def recommend(self, path: Path | None = None) -> dict[str, Any]:
        return json.loads(self.do("recommend", path or self.path, "--json"))

    def looks(self, size: int, *, report: bool = True) -> None:
        """All that can be said of the study agrees with what was measured.

        A report makes ten fits that no command before it has made, which takes longest.
        """
        status, best = self.status(), self.recommend()
        assert status["finished"] == size
        assert best["trials"] == size
        if best["trials"] - best["failed"] > 1:
            assert best["lower"] <= best["value"] <= best["upper"]
        if report:
            self.do("report", self.path, "-o", "report.html")
            page = (self.folder / "report.html").read_text()
            assert page.count("<html") == 1
            assert page.rstrip().endswith("</html>")
            assert f"{best['trials'] - best['failed']} measurement" in page
        self.do("export", self.path, "-o", "trials.csv")
        with (self.folder / "trials.csv").open() as file:
            rows = list(csv.DictReader(file))
        ended = [row for row in rows if row["state"] in ("complete", "fail")]
        assert len(ended) == size
        assert sum(row["state"] == "fail" for row in ended) == best["failed"]

    def copy(self, size: int) -> dict[str, Any]:
        """The recommendation of a new study with the exported measurements."""
        new = self.kind.write(self.folder / f"copy{size}", "sqlite:///copy.db")
        table = self.folder / "trials.csv"
        assert f"imported {size} trial" in self.do("import", new, table)
        return self.recommend(new)

    def check_answer(self, best: dict[str, Any], within: float) -> None:
        assert self.kind.regret(best["params"]) <= within, best


def grow(study: Watched, run: Run, *, often: bool) -> None:
    """Measure up to each size, and look at the study there."""
    known = 0
    for size in [size for size in SIZES if size >= run.least] if often else run.daily:
        if size - known > CHOSEN:
            study.add(size - known - CHOSEN, seed=size)
        study.tune(size)
        known = study.status()["finished"]
        study.looks(known, report=often or size <= REPORTED)
        if size >= 66:
            best, copied = study.recommend(), study.copy(known)
            study.check_answer(best, 0.3)
            study.check_answer(copied, 0.3)
            assert copied["value"] == pytest.approx(best["value"], abs=0.3)


@pytest.mark.parametrize("often", [False, pytest.param(True, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", sorted(RUNS))
def test_a_study_grows_to_300_rounds(
    installed: Installed, tmp_path: Path, name: str, often: bool
) -> None:
    run, kind = RUNS[name], KINDS[name]
    share = "" if name in ("objectives", "environment") else "\n[confirm]\nshare = 0.03\n"
    study = Watched(installed, kind, kind.write(tmp_path, STORAGES[run.storage], tables=share))
    grow(study, run, often=often)


def interrupted(study: Watched, workers: int, rounds: int, number: int) -> None:
    """A run that is ended by a signal when it has said that the study has so many rounds."""
    tune, shown = ("tune", study.path, "--workers", workers), study.folder / "shown.txt"
    with shown.open("w") as out:
        pipes = {"stdout": out, "stderr": subprocess.STDOUT}
        process = study.installed.start(*tune, folder=study.folder, **pipes)
    while not re.search(rf"\b{rounds} of 300\b", shown.read_text()):
        assert process.poll() is None, shown.read_text()
        time.sleep(0.2)
    process.send_signal(number)
    assert process.wait() == (130 if number == signal.SIGINT else -number)
    assert study.status()["finished"] >= rounds
    assert study.recommend()["trials"] >= rounds


KILL, INTERRUPT = signal.SIGKILL, signal.SIGINT
ENDED = {"sqlite-1": {12: KILL}, "journal-2": {66: INTERRUPT}}  # when, each day
EVERY = {name: {150: KILL, 220: INTERRUPT} for name in ENDED}


@pytest.mark.parametrize(
    "ended", [ENDED, pytest.param(EVERY, marks=pytest.mark.long)], ids=["daily", "every"]
)
@pytest.mark.parametrize("name", ENDED)
def test_300_rounds_are_killed_and_resumed(
    installed: Installed, tmp_path: Path, name: str, ended: dict[str, dict[int, int]]
) -> None:
    """Each day the rounds between are of a table."""
    storage, workers = name.split("-")
    kind, every = KINDS["plain"], ended is EVERY
    study = Watched(installed, kind, kind.write(tmp_path, STORAGES[storage]))
    for rounds, number in ended[name].items():
        if not every and rounds > 20:
            study.add(rounds - 8, seed=1)
        interrupted(study, int(workers), rounds, number)
    if not every:
        study.add(297 - study.status()["finished"], seed=2)
    done = installed.run("tune", study.path, "--workers", workers, folder=tmp_path)
    assert done.code == 0, done
    assert "Traceback" not in done.out + done.err
    study.looks(300, report=every)
    study.check_answer(study.recommend(), 0.1)
    if int(workers) > 1 and not every:
        return  # the rest does not depend on how it was measured
    copied = study.copy(300)
    study.check_answer(copied, 0.1)
    url = f"sqlite:///{tmp_path}/copy300/copy.db"
    by = result(installed, "answers", url, kind.name)
    assert by["sampler"]["params"] == pytest.approx(copied["params"], abs=1e-9)
    assert by["sampler"]["value"] == pytest.approx(copied["value"], rel=1e-6)
    assert by["class"]["params"] == pytest.approx(copied["params"], abs=1e-9)
    assert by["class"]["value"] == pytest.approx(copied["value"], rel=1e-6)
