"""One of several processes that tune the same study; started by `surefoot tune --workers`.

Ends with 0 when the study is complete or a stop was asked for, otherwise with one line on standard
error. It ends, too, when its standard input is closed, as happens when its parent dies.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

import torch

from surefoot.tune.ledger import Ledger
from surefoot.tune.loop import Failing, tune
from surefoot.tune.opening import begin_study, objective_of, quiet_optuna
from surefoot.tune.stopping import Stop, on_signals
from surefoot.tune.study_file import StudyFile
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
    with on_signals(stop, lambda: None):
        threading.Thread(target=_end_with_parent, daemon=True).start()
        # The workers choose their settings at the same time, on the same cores.
        torch.set_num_threads(max(1, (os.cpu_count() or 1) // arguments.workers))
        quiet_optuna()
        try:
            study_file = StudyFile.load(arguments.study)
            opened = begin_study(study_file, worker=arguments.index)
            ledger = Ledger(
                study_file, opened.study, opened.storage, arguments.rounds, arguments.run
            )
            tune(ledger, objective_of(study_file), stop)
        except SurefootError as error:
            print(error, file=sys.stderr)
            return Failing.exit_code if isinstance(error, Failing) else 1
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
