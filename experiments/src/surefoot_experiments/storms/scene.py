"""A folder in which `surefoot` is started, ended and continued, and what went wrong in it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from surefoot.tune import is_round, open_study
from surefoot_experiments.storms.processes import MARK, survivors
from surefoot_experiments.storms.study_text import study_text

PATIENCE = 10.0  # seconds until a surviving process counts as an orphan
LATEST_END = 150.0  # seconds for a run to end
SIGNALS = ((signal.SIGKILL,), (signal.SIGTERM,), (signal.SIGINT,), (signal.SIGINT, signal.SIGINT))
ENDINGS = {0, 130, 143, -2, -9, -15}  # exit codes of a run that was ended, or had ended
# A value that no other measurement has.
BENCH = """
sleep 0.0$(($$ % 9))
echo "$(date +%s%N | tail -c 13).$$"
"""
TABLES = """
[parameters]
x = { type = "float", low = 0, high = 1 }
mode = { type = "categorical", choices = ["a", "b"] }

[confirm]
share = SHARE
every = 0
"""
SQLITE = "sqlite:///storm.db"
_REPORTED = re.compile(r"^trial (\d+): (\S+)  \|", re.MULTILINE)


@dataclass
class Scene:
    """A folder with a study, and what went wrong in it.

    Args:
        folder: The folder.
        random: Chooses what happens, and when.
        figures: Counts by figure of an `Event`.
        problems: What went wrong.
    """

    folder: Path
    random: Random
    figures: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    mark: str = field(default_factory=lambda: uuid.uuid4().hex)
    starts: int = 0

    def write(
        self, bench: str = BENCH, rounds: int = 8, share: float = 0.0, storage: str = SQLITE
    ) -> None:
        """Write the study file and its command."""
        (self.folder / "bench.sh").write_text(bench)
        tables = TABLES.replace("SHARE", f"{share:g}")
        text = study_text(tables, rounds=rounds, storage=storage)
        (self.folder / "study.toml").write_text(text)

    def start(
        self, *arguments: str, environment: Mapping[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[bytes]:
        """Start `surefoot`, with its output added to a file of its own."""
        self.starts += 1
        with (self.folder / f"out{self.starts}").open("wb") as out:
            return subprocess.Popen(
                [sys.executable, "-m", "surefoot", *arguments],
                cwd=self.folder,
                env={**os.environ, MARK: self.mark, **(environment or {})},
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.STDOUT,
                **options,
            )

    def output(self, start: int = 0) -> str:
        """Output of a start, by default the latest."""
        return (self.folder / f"out{start or self.starts}").read_text(errors="replace")

    def wait_for(self, process: subprocess.Popen[bytes], results: int) -> None:
        """Wait until a run has shown so many results, or has ended."""
        start, deadline = self.starts, time.monotonic() + LATEST_END
        while time.monotonic() < deadline and process.poll() is None:
            if len(_REPORTED.findall(self.output(start))) >= results:
                return
            time.sleep(0.02)

    def end(
        self, process: subprocess.Popen[bytes], numbers: Sequence[int], codes: set[int] = ENDINGS
    ) -> None:
        """Send signals, wait for the end, and count what is raw."""
        for index, number in enumerate(numbers):
            time.sleep(self.random.uniform(0.0, 0.5) if index else 0.0)
            process.send_signal(number)
        try:
            code: int | None = process.wait(LATEST_END)
        except subprocess.TimeoutExpired:
            code = None
            process.kill()
            process.wait()
        self.check(f"exit code {code}", code not in codes)

    def call(self, *arguments: str, codes: set[int] | None = None, **options: Any) -> None:
        """Run `surefoot` to its end."""
        self.end(self.start(*arguments, **options), (), {0} if codes is None else codes)

    def check(self, what: str, wrong: bool) -> None:
        """Count a wrong end, or a traceback in the latest output, as raw."""
        output = self.output()
        if wrong or "Traceback" in output or "Exception ignored" in output:
            self.figures["raw"] += 1
            self.problems.append(f"{what}: {output[-300:]}")

    def finish(self, rounds: int) -> None:
        """Compare all that was shown with the study, and look for what is left."""
        left = survivors(self.mark, PATIENCE)
        self.figures["orphans"] += len(left)
        self.problems += [f"{name} ({pid}) survived" for pid, name in left.items()]
        study = open_study(self.folder / "study.toml").study
        trials = [one for one in study.get_trials(deepcopy=False) if is_round(one)]
        values = [f"{one.value:.5g}" for one in trials if one.value is not None]
        exact = Counter(one.value for one in trials if one.value is not None)
        self.figures["doubled"] += sum(times - 1 for times in exact.values())
        self.figures["doubled"] += max(0, len(trials) - rounds)
        shown = [
            value
            for start in range(self.starts)
            for _, value in _REPORTED.findall(self.output(start + 1))
        ]
        shown = [f"{float(one):.5g}" for one in shown if one not in ("failed,",)]
        self.figures["results"] += len(shown)
        missing = set(shown) - set(values)  # no two are equal, and two runs may show the same one
        self.figures["lost"] += len(missing) + max(0, rounds - len(trials))
        if missing or len(trials) != rounds:
            self.problems.append(f"{len(trials)} of {rounds} rounds, not found: {missing}")
