"""Runs of `surefoot tune` and `surefoot compare` under what happens to them, each in a folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from surefoot import NotReady
from surefoot.tune import is_round, open_study
from surefoot_experiments.storms.processes import MARK, survivors
from surefoot_experiments.storms.records import Event
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
_REPORTED = re.compile(r"^trial (\d+): (\S+)  \|", re.MULTILINE)
_PAIR = re.compile(r"^pair \d+: A ([\d.e+-]+), B ([\d.e+-]+)  \|", re.MULTILINE)
_RSS = re.compile(r"VmHWM:\s+(\d+) kB")


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

    def write(self, bench: str = BENCH, rounds: int = 8, share: float = 0.0) -> None:
        """Write the study file and its command."""
        (self.folder / "bench.sh").write_text(bench)
        tables = TABLES.replace("SHARE", f"{share:g}")
        text = study_text(tables, rounds=rounds, storage="sqlite:///storm.db")
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


def _confirm(scene: Scene) -> None:
    """A run is ended in its confirm stage, and goes on."""
    scene.write(rounds=8, share=0.5)
    run = scene.start("tune", "study.toml")
    scene.wait_for(run, scene.random.randint(4, 7))
    time.sleep(scene.random.uniform(0.0, 0.5))
    scene.end(run, scene.random.choice(SIGNALS))
    scene.call("tune", "study.toml")
    scene.finish(8)


def _compare(scene: Scene) -> None:
    """A comparison is ended in a pair, and goes on."""
    scene.write(rounds=2)
    scene.call("tune", "study.toml")
    pairs = ("compare", "study.toml", "--a", "x=0.1,mode=a", "--b", "x=0.9,mode=b", "--runs", "6")
    for _ in range(2):
        run = scene.start(*pairs, "--all")
        time.sleep(scene.random.uniform(1.0, 6.0))
        scene.end(run, scene.random.choice(SIGNALS))
    scene.call(*pairs, "--all")
    lines = (scene.folder / "storm.compare.jsonl").read_text().splitlines()
    runs = [json.loads(line) for line in lines if "settings" not in json.loads(line)]
    places = Counter((one["pair"], one["setting"]) for one in runs)
    scene.figures["doubled"] += sum(times - 1 for times in places.values())
    scene.figures["doubled"] += len(runs) - len({one["value"] for one in runs})
    scene.figures["lost"] += 12 - len(places)
    known = Counter(f"{one['value']:.5g}" for one in runs)
    for start in range(scene.starts):
        for a, b in _PAIR.findall(scene.output(start + 1)):
            scene.figures["results"] += 2
            scene.figures["lost"] += sum(f"{float(one):.5g}" not in known for one in (a, b))
    scene.finish(2)


def _descendants(scene: Scene) -> None:
    """Measurements leave processes that ignore signals, lead sessions or have lost their parent."""
    left = (
        "(trap '' TERM INT HUP; sleep 60; sleep 60) &",
        "setsid sh -c \"trap '' TERM INT HUP; sleep 60; sleep 60\" &",
        "( (sleep 60 &) & )",
        "(setsid sh -c '(sleep 60 &)' &)",
        "nohup sleep 60 > /dev/null 2>&1 &",
    )
    kinds = "\n".join(scene.random.sample(left, 3))
    scene.write(f"{kinds}\n{BENCH}", rounds=6)
    run = scene.start("tune", "study.toml")
    scene.wait_for(run, scene.random.randint(0, 4))
    time.sleep(scene.random.uniform(0.0, 0.5))
    scene.end(run, scene.random.choice(SIGNALS))
    left_by_run = survivors(scene.mark, PATIENCE)
    scene.figures["orphans"] += len(left_by_run)
    scene.problems += [f"{name} ({pid}) survived" for pid, name in left_by_run.items()]
    scene.call("tune", "study.toml")
    scene.finish(6)


OTHER: Mapping[str, Any] = {"user": 65534, "group": 65534, "extra_groups": []}  # nobody
OUTPUT = 10_000_000_000  # bytes of a measurement's output


def _output(scene: Scene) -> None:
    """A measurement prints gigabytes; the memory of the run stays as it is."""
    lines = scene.random.choice(("yes 123456789 |", "tr '\\\\0' x < /dev/zero |"))
    stream = scene.random.choice(("", " >&2"))
    scene.write(f"{lines} head -c {OUTPUT}{stream}\necho\n{BENCH}", rounds=1)
    text = (scene.folder / "study.toml").read_text().replace("timeout = 20", "timeout = 600")
    (scene.folder / "study.toml").write_text(text)
    run, peak = scene.start("tune", "study.toml"), 0
    while run.poll() is None:
        try:
            found = _RSS.search(Path(f"/proc/{run.pid}/status").read_text())
        except OSError:
            break
        peak = max(peak, int(found[1]) if found else 0)
        time.sleep(0.1)
    scene.end(run, ())
    if peak > 700_000:  # kB; without output some 400,000
        scene.figures["differing"] += 1
        scene.problems.append(f"{peak:,} kB of memory")
    scene.finish(1)


def _edited(scene: Scene) -> None:
    """The study file is changed, damaged or deleted while a run goes on."""
    scene.write(rounds=30)
    file = scene.folder / "study.toml"
    text = file.read_text()
    changes: dict[str, str | None] = {
        "comment": f"{text}\n# a comment\n",
        "rounds": text.replace("rounds = 30", "rounds = 3"),
        "wider": text.replace("high = 1 }", "high = 2 }"),
        "narrower": text.replace("high = 1 }", "high = 0.5 }"),
        "command": text.replace("bench.sh {x}", "bench.sh -- {x}"),
        "parameter": text.replace("mode =", "other =").replace("{mode}", "{other}"),
        "name": text.replace('"storm"', '"calm"'),
        "damaged": text[: len(text) // 2],
        "empty": "",
        "deleted": None,
    }
    change = scene.random.choice(list(changes))
    run = scene.start("tune", "study.toml", "--workers", str(scene.random.choice((1, 2))))
    scene.wait_for(run, scene.random.randint(0, 6))
    new = changes[change]
    if new is None:
        file.unlink()
    else:
        file.write_text(new)
    time.sleep(scene.random.uniform(0.0, 3.0))
    scene.end(run, scene.random.choice(SIGNALS), ENDINGS | {1, 2})
    scene.call("recommend", "study.toml", codes={0, 2})
    scene.call("tune", "study.toml", "--rounds", "31", codes={0, 2})
    file.write_text(text)
    # A range that was widened in the middle is not narrowed again, and a new study has a name.
    goes_on = change not in ("wider",)
    scene.call("tune", "study.toml", "--rounds", "32", codes={0} if goes_on else {2})
    if goes_on:
        scene.finish(32)
    else:
        file.write_text(changes["wider"] or "")
        scene.finish(31)


def _second_user(scene: Scene) -> None:
    """A run with umask 077, and another user who looks at the study and tunes it."""
    try:
        subprocess.run([sys.executable, "-c", ""], check=True, **OTHER)
    except (OSError, subprocess.CalledProcessError) as error:
        raise NotReady(f"another account cannot run {sys.executable}: {error}") from None
    scene.write(rounds=4)
    scene.folder.chmod(scene.random.choice((0o755, 0o777, 0o1777)))
    run = scene.start("tune", "study.toml", umask=scene.random.choice((0o077, 0o027)))
    scene.wait_for(run, scene.random.randint(1, 4))
    if scene.random.random() < 0.5:
        scene.end(run, (signal.SIGTERM,))
    for file in ("study.toml", "bench.sh"):
        (scene.folder / file).chmod(scene.random.choice((0o644, 0o644, 0o600)))
    for command in ("recommend", "tune", "status", "report", "export"):
        more = {"export": ("-o", "t.csv")}.get(command, ())
        rounds = ("--rounds", "2") if command == "tune" else ()
        scene.call(command, "study.toml", *more, *rounds, codes={0, 1, 2}, **OTHER)
    scene.end(run, ())
    scene.call("tune", "study.toml")
    scene.finish(4)


def _versions(scene: Scene) -> None:
    """What is stored with a study is of an older or newer version, of surefoot or of Optuna."""
    scene.write(rounds=3)
    scene.call("tune", "study.toml", "--rounds", "2")
    with sqlite3.connect(scene.folder / "storm.db") as base:
        (text,) = base.execute(
            "SELECT value_json FROM study_user_attributes WHERE key = 'surefoot'"
        ).fetchone()
        stored = json.loads(text)
        kind = scene.random.choice(
            (
                "new table",
                "new key",
                "lacks",
                "no definition",
                "new attributes",
                "schema",
                "library",
            )
        )
        if kind == "new table":
            stored["outcomes"] = {"value": {"role": "objective"}}
        elif kind == "new key":
            stored["parameters"]["x"]["prior"] = "wide"
        elif kind == "lacks":
            del stored["parameters"]["x"]["high"]
        elif kind == "no definition":
            base.execute("DELETE FROM study_user_attributes")
        elif kind == "new attributes":
            base.execute(
                "UPDATE trial_user_attributes SET value_json = '{\"version\": 2}' "
                f"WHERE key = '{scene.random.choice(_keys(base))}'"
            )
        elif kind == "schema":
            base.execute(
                "UPDATE version_info SET schema_version = ?", (scene.random.choice((11, 99)),)
            )
        else:
            base.execute("UPDATE version_info SET library_version = '99.0.0'")
        base.execute(
            "UPDATE study_user_attributes SET value_json = ? WHERE key = 'surefoot'",
            (json.dumps(stored),),
        )
    for arguments in (("recommend",), ("status",), ("export", "-o", "t.csv"), ("tune",)):
        scene.call(arguments[0], "study.toml", *arguments[1:], codes={0, 1, 2})
        if len(scene.output().strip().splitlines()) > 1 and "Error" in scene.output():
            scene.figures["raw"] += 1
            scene.problems.append(f"{kind}: {arguments[0]}: {scene.output()[-300:]}")
    left = survivors(scene.mark, PATIENCE)
    scene.figures["orphans"] += len(left)


def _keys(base: sqlite3.Connection) -> list[str]:
    rows = base.execute("SELECT DISTINCT key FROM trial_user_attributes ORDER BY key").fetchall()
    return [key for (key,) in rows]


CLOCK = """
import datetime, os, time
_apart = float(os.environ["SUREFOOT_STORM_CLOCK"])
_time = time.time
time.time = lambda: _time() + _apart
class _Apart(datetime.datetime):
    @classmethod
    def now(cls, tz=None):
        return cls.fromtimestamp(_time() + _apart, tz)
datetime.datetime = _Apart
"""


def _clocks(scene: Scene) -> None:
    """Two runs on one storage whose clocks are hours apart; one of them is ended."""
    scene.write(rounds=12)
    (scene.folder / "clock").mkdir()
    (scene.folder / "clock" / "sitecustomize.py").write_text(CLOCK)
    paths = os.pathsep.join([str(scene.folder / "clock"), os.environ.get("PYTHONPATH", "")])
    hours = scene.random.choice((-24 * 400, -3, -0.1, 0.1, 3, 24 * 400))
    apart = {"PYTHONPATH": paths, "SUREFOOT_STORM_CLOCK": str(3600.0 * hours)}
    first = scene.start("tune", "study.toml", environment=apart)
    scene.wait_for(first, 1)
    second = scene.start("tune", "study.toml")
    scene.wait_for(second, scene.random.randint(1, 3))
    ended, other = scene.random.sample((first, second), 2)
    scene.end(ended, scene.random.choice(SIGNALS))
    scene.end(other, ())
    scene.call("recommend", "study.toml")
    scene.call("tune", "study.toml")
    scene.finish(12)


CIRCUMSTANCES: Mapping[str, Callable[[Scene], None]] = {
    "confirm": _confirm,
    "compare": _compare,
    "descendants": _descendants,
    "output": _output,
    "edited": _edited,
    "users": _second_user,
    "versions": _versions,
    "clocks": _clocks,
}


def events(kind: str, count: int, seed: int, done: set[int]) -> Iterator[Event]:
    """The events of a kind, each after it took place.

    Args:
        kind: A name of `CIRCUMSTANCES`.
        count: Number of events.
        seed: Seed of what happens, and when.
        done: Indices of events that took place before.
    """
    for index in range(count):
        if index in done:
            continue
        started, folder = time.monotonic(), Path(tempfile.mkdtemp(prefix="storm-"))
        scene = Scene(folder, Random(f"{seed} {index} {kind}"))
        try:
            CIRCUMSTANCES[kind](scene)
        except NotReady:
            raise
        except Exception as error:
            scene.figures["raw"] += 1
            scene.problems.append(f"{type(error).__name__}: {error}"[:300])
        finally:
            survivors(scene.mark, 0.0)
            shutil.rmtree(folder, ignore_errors=True)
        seconds = round(time.monotonic() - started, 2)
        detail = "; ".join(scene.problems)
        yield Event(kind, "sqlite", index, seed, seconds=seconds, detail=detail, **scene.figures)
