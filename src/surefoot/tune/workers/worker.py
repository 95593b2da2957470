"""One of several processes that tune the same study; started by `surefoot tune --workers`.

Exits with 0 when the study is complete or a stop was requested, otherwise with one line on standard
error. Lines on standard output are messages, which its parent shows.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import optuna
import torch

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.kept_processes import KeptProcesses
from surefoot.tune.measuring.objective import Objective, objective_of
from surefoot.tune.observer import Observer
from surefoot.tune.plain_text import printable
from surefoot.tune.stopping import Stop, stop_on_signals
from surefoot.tune.study.opened_study import create_study, import_model
from surefoot.tune.study.server_outage import OUTAGES
from surefoot.tune.study.trial_owner import worker_name
from surefoot.tune.study.trials import StudyTrials
from surefoot.tune.workers.cluster import LOCAL, ClusterObjective
from surefoot.tune.workers.worker_loop import TooManyFailures, tune
from surefoot.types import SurefootError


def _say(text: str) -> None:
    print(printable(text).replace("\n", " "), flush=True)


def main(given: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="worker_process.py PARENT")
    parser.add_argument("study", type=Path)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--index", type=int, required=True)
    parser.add_argument("--workers", type=int, required=True)
    parser.add_argument("--kept", required=True)
    parser.add_argument("--given", type=json.loads, default={})
    parser.add_argument("--backend", default=LOCAL)
    parser.add_argument("--name")
    arguments = parser.parse_args(given)
    # The workers choose configurations at the same time, on the same cores.
    torch.set_num_threads(max(1, (os.cpu_count() or 1) // arguments.workers))
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    kept = KeptProcesses(*map(int, arguments.kept.split(",")))
    import_model()
    OUTAGES.connected, OUTAGES.say = True, _say  # by the parent
    stop = Stop()
    try:
        with stop_on_signals(stop):
            with stop.interruptible():
                study_file = StudyFile.load(arguments.study)
                opened = create_study(study_file, worker=arguments.index)
            trials = StudyTrials(
                opened,
                arguments.rounds,
                arguments.run,
                arguments.name or worker_name(arguments.index),
                given=arguments.given,
            )
            objective: Objective
            if arguments.backend == LOCAL:
                objective = objective_of(study_file, kept)
            else:
                objective = ClusterObjective(arguments.backend, arguments.name, study_file)
            tune(trials, objective, stop, Observer(note=_say))
    except SurefootError as error:
        print(error, file=sys.stderr)
        return TooManyFailures.exit_code if isinstance(error, TooManyFailures) else 1
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    return 0
