"""Tune SQLite on this machine, then compare the recommendation with SQLite's defaults.

All files are in the folder `demo/` of the repository. Stopped at any moment, it resumes when run
again; delete the folder to start again.
"""

import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from bench import Setting, measure
from rich.console import Console
from rich.progress import track
from rich.table import Table

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "demo"
STUDY = "sqlite.toml"
REPEATS = 30
DEFAULTS = Setting()

console = Console(highlight=False)


def main() -> int:
    DEMO.mkdir(exist_ok=True)
    for leftover in DEMO.glob("bench-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    for name in ("bench.py", STUDY):
        shutil.copy(HERE / name, DEMO / name)
    try:
        surefoot("tune", STUDY)
        found = json.loads(surefoot("recommend", STUDY, "--json", capture=True))
        tuned = Setting(**found["params"])
        settings = {
            "SQLite's defaults": DEFAULTS,
            f"the same, {tuned.batch} per commit": replace(DEFAULTS, batch=tuned.batch),
            "recommended": tuned,
        }
        show(found, settings, compare(list(settings.values())))
        surefoot("report", STUDY, "-o", "report.html", capture=True)
    except KeyboardInterrupt:
        console.print("\nStopped. The same command resumes the study.")
        return 130
    except subprocess.CalledProcessError as error:
        return int(error.returncode)
    console.print(f"\nReport: {DEMO / 'report.html'}")
    return 0


def surefoot(*arguments: str, capture: bool = False) -> str:
    """Run this installation's command line in the demo's folder."""
    own = Path(sys.executable).parent
    # The study file's command is `python`, which must be this environment's.
    path = os.pathsep.join([str(own), os.environ.get("PATH", "")])
    done = subprocess.run(
        [own / "surefoot", *arguments],
        cwd=DEMO,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE if capture else None,
        text=True,
        check=True,
    )
    return done.stdout or ""


def compare(settings: list[Setting]) -> list[np.ndarray]:
    """Alternating measurements (REPEATS,) of each configuration.

    Each turn has a random order, so that a load on the machine that changes over time affects all
    configurations alike.
    """
    measured: list[list[float]] = [[] for _ in settings]
    order = random.Random(0)
    label = "Comparing with the defaults"
    for _ in track(range(REPEATS), description=label, console=console):
        for index in order.sample(range(len(settings)), len(settings)):
            measured[index].append(measure(settings[index], folder=DEMO))
    return [np.array(values) for values in measured]


def show(
    found: dict[str, Any],  # what `surefoot recommend --json` prints
    settings: dict[str, Setting],
    measured: list[np.ndarray],
) -> None:
    table = Table(title=f"Milliseconds for 1,000 operations, {REPEATS} alternating runs")
    table.add_column("configuration")
    for name in ("median", "95th percentile", "relative to recommended"):
        table.add_column(name, justify="right")
    best = float(np.median(measured[-1]))
    for name, values in zip(settings, measured, strict=True):
        middle, high = np.quantile(values, [0.5, 0.95])
        table.add_row(name, f"{middle:,.1f}", f"{high:,.1f}", f"{middle / best:,.1f} x")
    console.print(table)
    tuned = settings["recommended"]
    console.print(
        f"Recommended: page size {tuned.usable_page_size}, cache {tuned.cache_mb:.1f} MB, "
        f"synchronous = {tuned.sync}, journal = {tuned.journal}, "
        f"{tuned.batch} operations per commit (by default SQLite commits after each)."
    )
    console.print(
        f"The model predicted {found['value']:.1f} ({found['lower']:.1f} to {found['upper']:.1f}); "
        f"the median of the comparison is {best:.1f}."
    )
    if tuned.journal == "WAL" and tuned.sync == "NORMAL":
        console.print(
            "After a power failure this configuration may lose the last commits, but not corrupt "
            "the file. If every commit must be durable, remove NORMAL from sqlite.toml."
        )


if __name__ == "__main__":
    sys.exit(main())
