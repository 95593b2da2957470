"""Regret under value at risk: the experiments of Nguyen et al. 2021, and two with heavy tails.

    python benchmarks/risk_regret.py --jobs 2 --data DIR     # hours; plays what is missing, writes
    python benchmarks/risk_regret.py --quick                 # minutes, written to the terminal only
    python benchmarks/risk_regret.py --table                 # from the runs there are

`--data` is the folder of portfolio.csv, without which that task is left out. Each finished run is
a file of its own, so a killed comparison goes on where it stopped; delete
`results/raw/risk_regret` to begin anew.
"""

import argparse
import json
import os
from functools import partial
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch

from missing_runs import play_missing
from result_files import write_json
from risk_play import METHODS, NEED_DATA, TASKS, Run, file_of, methods_of, played
from risk_regret_table import draw, report

FOLDER = Path(__file__).parent
RAW = FOLDER / "results" / "raw" / "risk_regret"
PICTURE = FOLDER.parent / "docs" / "images" / "risk_regret.png"
RUNS = 10
QUICK_RUNS, QUICK_EVALUATIONS = 2, 6

path_of = partial(file_of, RAW)


def play(run: Run, data: str) -> None:
    """One run to its end; written whole or not at all."""
    torch.set_num_threads(1)
    write_json(path_of(run), played(run, data))


def main() -> None:
    """Read the command line, play what is missing, write the table and the picture."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=TASKS, metavar="TASK", default=list(TASKS))
    parser.add_argument("--methods", nargs="+", choices=METHODS, default=METHODS)
    parser.add_argument("--runs", type=int, default=RUNS, help="first points to begin with")
    parser.add_argument("--data", default=os.environ.get("SUREFOOT_DATA"), help="folder of data")
    parser.add_argument("--jobs", type=int, default=1, help="processes of one thread each")
    parser.add_argument("--quick", action="store_true", help="a few evaluations, no file")
    parser.add_argument("--table", action="store_true", help="write from the runs there are")
    options = parser.parse_args()
    number = min(options.runs, QUICK_RUNS) if options.quick else options.runs
    runs = [
        Run(task, method, run, QUICK_EVALUATIONS if options.quick else TASKS[task].evaluations)
        for run in range(number)
        for task in options.only
        for method in methods_of(task)
        if method in options.methods
    ]
    if not options.table:
        if options.data is None:
            left_out = [run for run in runs if run.task in NEED_DATA]
            runs = [run for run in runs if run.task not in NEED_DATA]
            print(f"{len(left_out)} runs are left out for want of --data", flush=True)
        play_missing(runs, path_of, partial(play, data=options.data or ""), options.jobs)
    rows = [json.loads(path_of(run).read_text()) for run in runs if path_of(run).exists()]
    if not rows:
        parser.error("there is no finished run: run without --table first")
    text = report(rows)
    if not options.quick:
        (FOLDER / "risk_regret.md").write_text(text)
        draw(rows, PICTURE)
    print(text)


if __name__ == "__main__":
    main()
