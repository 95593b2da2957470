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
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from surefoot import NotReady
from surefoot_experiments.storms.outages import outages
from surefoot_experiments.storms.processes import survivors
from surefoot_experiments.storms.records import Event
from surefoot_experiments.storms.scene import (
    BENCH,
    ENDINGS,
    PATIENCE,
    SIGNALS,
    Scene,
)

_PAIR = re.compile(r"^pair \d+: A ([\d.e+-]+), B ([\d.e+-]+)  \|", re.MULTILINE)
_RSS = re.compile(r"VmHWM:\s+(\d+) kB")


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


class Circumstance(NamedTuple):
    """What happens to runs, and the storage of their studies."""

    play: Callable[[Scene], None]
    case: str = "sqlite"


CIRCUMSTANCES: Mapping[str, Circumstance] = {
    "confirm": Circumstance(_confirm),
    "compare": Circumstance(_compare),
    "descendants": Circumstance(_descendants),
    "output": Circumstance(_output),
    "edited": Circumstance(_edited),
    "users": Circumstance(_second_user),
    "versions": Circumstance(_versions),
    "clocks": Circumstance(_clocks),
    "outages": Circumstance(outages, "postgresql, 2 workers"),
}


def events(kind: str, count: int, seed: int, done: set[int]) -> Iterator[Event]:
    """The events of a kind, each after it took place.

    Args:
        kind: A name of `CIRCUMSTANCES`.
        count: Number of events.
        seed: Seed of what happens, and when.
        done: Indices of events that took place before.
    """
    circumstance = CIRCUMSTANCES[kind]
    for index in sorted(set(range(count)) - done):
        started, folder = time.monotonic(), Path(tempfile.mkdtemp(prefix="storm-"))
        scene = Scene(folder, Random(f"{seed} {index} {kind}"))
        try:
            circumstance.play(scene)
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
        found: dict[str, Any] = {"seconds": seconds, "detail": detail, **scene.figures}
        yield Event(kind, circumstance.case, index, seed, **found)
