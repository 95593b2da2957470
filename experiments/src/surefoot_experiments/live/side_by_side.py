"""Tune a system twice at the same time, with and without repeats and effects, and check both.

Both studies run as `surefoot tune` in the same minutes and beside the same neighbour. Their
measurements take turns, and while one measures, nothing of the other runs. Then `surefoot compare`
measures the recommendation of each against the defaults, again in turns; its runs of the
recommendation also show whether the interval of the recommendation was right.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from surefoot import InvalidInput, SurefootError
from surefoot_experiments.harness.store import explained
from surefoot_experiments.live.systems import study_text, systems

ARMS = {"plain": False, "aided": True}
_MOST = 2**32 - 1  # rounds, pairs or the seed: the largest seed of a study


class CommandFailed(SurefootError):
    """A command of a live study ended with an error."""


def run_live(
    name: str,
    out: Path,
    *,
    seed: int = 0,
    rounds: int = 60,
    pairs: int = 30,
    say: Callable[[str], None] = print,
) -> Path:
    """Tune a system twice side by side, compare and report; continue where a run has stopped.

    Args:
        name: A name of `systems()`.
        out: Folder of the results.
        seed: Seed of the searches and of the neighbour.
        rounds: Measurements of each study.
        pairs: Runs of the recommendation, and of the defaults, in each comparison.
        say: Called with each line of progress.

    Returns:
        The file of the figures, `result.json` in the folder of this run.

    Raises:
        InvalidInput: If there is no such system, a number is out of range, or the folder cannot be
            written.
        NotReady: If the system is not installed.
        CommandFailed: If a command fails.
    """
    known = systems()
    if name not in known:
        raise InvalidInput(f"no system is named {name!r}, expected one of {', '.join(known)}")
    for option, number, least in (("rounds", rounds, 1), ("pairs", pairs, 1), ("seed", seed, 0)):
        if not least <= number <= _MOST:
            limit = f"at least {least}" if number < least else f"at most {_MOST:,}"
            raise InvalidInput(f"`{option}` is {number}, expected {limit}.")
    system, folder = known[name], out / f"{name}-{seed}"
    system.check()
    study = f"{name}.toml"
    for arm, aided in ARMS.items():
        (other,) = ARMS.keys() - {arm}
        with explained(folder / arm):
            (folder / arm).mkdir(parents=True, exist_ok=True)
            shutil.copy(system.bench, folder / arm / "bench.py")
            shutil.copy(Path(__file__).with_name("take_turn.py"), folder / arm)
            (folder / arm / study).write_text(study_text(system, seed, rounds, aided, other))
    if system.prepare:
        _call(folder / "plain", [sys.executable, "bench.py", *system.prepare])
    with _neighbour(out, seed):
        say(f"{name}, seed {seed}: tuning")
        _both(folder, "tune", study)
        told = _both(folder, "recommend", study, "--json")
        say(f"{name}, seed {seed}: comparing")
        compared = _both(folder, "compare", study, "--runs", str(pairs), "--all", "--json")
        _both(folder, "report", study, "-o", "report.html")
    found = {
        arm: _figures(folder / arm / f"{name}.compare.jsonl", told[arm], compared[arm])
        for arm in ARMS
    }
    file = folder / "result.json"
    file.write_text(json.dumps({"system": system.title, "seed": seed, "arms": found}, indent=1))
    return file


def _figures(runs: Path, told: str, compared: str) -> dict[str, Any]:
    """The recommendation, its comparison, and the values measured in that."""
    recommended = json.loads(told)
    lines = [json.loads(line) for line in runs.read_text().splitlines()]
    again = [line for line in lines if "value" in line and line["setting"] == "b"]
    median = statistics.median(line["value"] for line in again)
    return {
        "recommended": recommended,
        "compared": json.loads(compared),
        "again": [[line["time"], line["value"]] for line in again],
        "median": median,
        "inside": recommended["lower"] <= median <= recommended["upper"],
    }


def _both(folder: Path, *arguments: str) -> dict[str, str]:
    """Run a command of surefoot in both studies at the same time; its output by study."""
    processes = {}
    for arm in ARMS:
        with (
            (folder / arm / f"{arguments[0]}.out").open("wb") as output,
            (folder / arm / f"{arguments[0]}.err").open("wb") as errors,
        ):
            processes[arm] = subprocess.Popen(
                [sys.executable, "-m", "surefoot", *arguments],
                cwd=folder / arm,
                stdout=output,
                stderr=errors,
            )
        (folder / f"{arm}.pid").write_text(str(processes[arm].pid))
    codes = {}
    try:
        for arm, process in processes.items():
            codes[arm] = process.wait()
            (folder / f"{arm}.pid").unlink()
    finally:
        for arm, process in processes.items():
            (folder / f"{arm}.pid").unlink(missing_ok=True)
            process.send_signal(signal.SIGCONT)
            process.terminate()
            process.wait()
    for arm, code in codes.items():
        if code:
            said = (folder / arm / f"{arguments[0]}.err").read_text(errors="replace")
            raise CommandFailed(f"{folder / arm}: {arguments[0]}: {said.strip()[-300:]}")
    return {arm: (folder / arm / f"{arguments[0]}.out").read_text() for arm in ARMS}


def _call(folder: Path, command: Sequence[str]) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CommandFailed(f"{folder}: {(done.stderr or done.stdout).strip()[-300:]}")


@contextlib.contextmanager
def _neighbour(out: Path, seed: int) -> Iterator[None]:
    """The busy neighbour, for as long as the context lasts."""
    script = Path(__file__).with_name("neighbour.py")
    command = [sys.executable, str(script), "--seed", str(seed)]
    with subprocess.Popen([*command, "--log", str(out / "neighbour.jsonl")]) as process:
        try:
            yield
        finally:
            process.terminate()
