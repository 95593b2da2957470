"""One of several processes that tune the same study; started by `surefoot tune --workers`.

Exits with 0 when the study is complete or a stop was requested, otherwise with one line on standard
error. Lines on standard output are messages, which its parent shows.
"""

from __future__ import annotations

import json
import os
import signal
import sys

import optuna
import torch

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.objective import Objective, objective_of
from surefoot.tune.measuring.supervised_process import KeptProcesses
from surefoot.tune.observer import Observer
from surefoot.tune.plain_text import printable
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.tune.study.opened_study import create_study, import_model
from surefoot.tune.study.trial_owner import worker_name
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.executor import ExecutorObjective
from surefoot.tune.workers.worker_loop import TooManyFailures, tune
from surefoot.types import SurefootError


def _say(text: str) -> None:
    print(printable(text).replace("\n", " "), flush=True)


def main(given: str) -> int:
    told = json.loads(given)
    executor, index, run = told["executor"], told["index"], told["run"]
    # The workers choose configurations at the same time, on the same cores.
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // told["workers"]))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    kept = KeptProcesses(*told["kept"])
    import_model()
    stop = Stop()
    try:
        with stop_on_signals(stop):
            with stop.interruptible():
                study_file = StudyFile.load(told["study"])
                opened = create_study(study_file, worker=index, joins=True, say=_say)
            name = "" if executor else worker_name(index)
            trials = StudyTrials(opened, told["rounds"], run, name, given=told["given"])
            objective: Objective = (
                ExecutorObjective(study_file, executor, run)
                if executor
                else objective_of(study_file, kept)
            )
            tune(trials, objective, stop, Observer(note=_say))
    except SurefootError as error:
        print(error, file=sys.stderr)
        return TooManyFailures.exit_code if isinstance(error, TooManyFailures) else 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0
