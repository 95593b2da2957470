"""Tune SQLite on this machine, then compare the recommendation with SQLite's defaults.

All files are in the folder `demo/` of the repository. Stopped at any moment, it resumes when run
again; delete the folder to start again.
"""

import json
import os
import shutil
import statistics
import subprocess
import sys
from pathlib import Path

from bench import Setting, measure
from rich.console import Console

HERE = Path(__file__).resolve().parent
DEMO = HERE.parents[1] / "demo"
STUDY = "sqlite.toml"
UNBATCHED = 3  # measurements of SQLite's defaults with a commit after each operation

console = Console(highlight=False)


def main() -> int:
    DEMO.mkdir(exist_ok=True)
    for leftover in DEMO.glob("bench-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    for name in ("bench.py", STUDY):
        shutil.copy(HERE / name, DEMO / name)
    try:
        surefoot("tune", STUDY)
        console.print("\nThe recommendation against the defaults, measured in turn:")
        surefoot("compare", STUDY, "--runs", "30", "--all")
        surefoot("report", STUDY, "-o", "report.html", capture=True)
        found = json.loads(surefoot("recommend", STUDY, "--json", capture=True))
        explain(Setting(**found["params"]))
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


def explain(tuned: Setting) -> None:
    """Say what the recommendation means for SQLite."""
    console.print(
        f"\nRecommended: page size {tuned.page_size}, cache {tuned.cache_mb:.1f} MB, "
        f"synchronous = {tuned.sync}, journal = {tuned.journal}, "
        f"{tuned.batch} operations per commit."
    )
    unbatched = statistics.median(measure(Setting(), folder=DEMO) for _ in range(UNBATCHED))
    console.print(
        "With its defaults and a commit after each operation, SQLite takes "
        f"{unbatched:,.0f} ms for 1,000 operations."
    )
    if tuned.journal == "WAL" and tuned.sync == "NORMAL":
        console.print(
            "After a power failure this configuration may lose the last commits, but not corrupt "
            "the file. If every commit must be durable, remove NORMAL from sqlite.toml."
        )


if __name__ == "__main__":
    sys.exit(main())
