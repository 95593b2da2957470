"""One of several processes that tune the same study; started by `surefoot tune --workers`.

Exits with 0 when the study is complete or a stop was requested, otherwise with one line on standard
error. It also ends when its standard input is closed, which happens when its parent dies.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

import optuna
import torch

from surefoot.tune.objective import objective_of
from surefoot.tune.study import create_study
from surefoot.tune.study_file import StudyFile
from surefoot.tune.trials import StudyTrials
from surefoot.tune.worker_loop import Stop, TooManyFailures, stop_on_signals, tune
from surefoot.types import SurefootError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m surefoot.tune.worker")
    parser.add_argument("study", type=Path)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--index", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    arguments = parser.parse_args()
    stop = Stop()
    with stop_on_signals(stop):
        threading.Thread(target=_end_with_parent, daemon=True).start()
        # The workers choose configurations at the same time, on the same cores.
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // arguments.workers))
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        try:
            study_file = StudyFile.load(arguments.study)
            opened = create_study(study_file, worker=arguments.index)
            trials = StudyTrials(
                study_file, opened.study, opened.storage, arguments.rounds, arguments.run
            )
            tune(trials, objective_of(study_file), stop)
        except SurefootError as error:
            print(error, file=sys.stderr)
            return TooManyFailures.exit_code if isinstance(error, TooManyFailures) else 1
        except KeyboardInterrupt:
            return 128 + signal.SIGINT
    return 0


def _end_with_parent() -> None:
    # Not by `sys.stdin`, whose lock this thread would hold when the interpreter shuts down.
    while os.read(0, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    sys.exit(main())
