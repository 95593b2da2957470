"""Who may begin the next trial, and how trials end: the study's records, shared by all workers."""

from __future__ import annotations

import contextlib
import enum
import fcntl
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from surefoot.integrations.optuna import BLAMELESS, ENVIRONMENT, INTERRUPTED, SurefootSampler
from surefoot.tune import liveness
from surefoot.tune.objective import Failure, Measurement
from surefoot.tune.storage import locate, storage_errors
from surefoot.tune.study_file import StudyFile

# User attributes of a trial.
PROCESS = "surefoot:process"
FAILURE, OUTPUT, SECONDS = "failure", "output", "seconds"


class NoTrial(enum.Enum):
    """Why there is no trial to begin."""

    DONE = "the study holds as many finished trials as it should"
    WAIT = "every trial that is left to do is being run by another process"


def counts(trial: FrozenTrial) -> bool:
    """Whether a trial is one of the study's rounds: finished, and not by an interruption."""
    return trial.state.is_finished() and not trial.user_attrs.get(INTERRUPTED)


def failed(trial: FrozenTrial) -> bool:
    """Whether a trial is a round that gave no measurement."""
    return counts(trial) and trial.state == TrialState.FAIL


def environment_of(trial: FrozenTrial | Trial) -> dict[str, Any]:
    """What a trial is measured under, by name; empty where there is no such thing, or not yet."""
    return dict(trial.user_attrs.get(ENVIRONMENT) or {})


def is_interrupted(trial: FrozenTrial) -> bool:
    """Whether a trial's run was cut off, which says nothing about its setting."""
    return trial.state == TrialState.FAIL and bool(trial.user_attrs.get(INTERRUPTED))


def reason_of(trial: FrozenTrial) -> str:
    """Why a trial failed, in one line; empty if it did not."""
    if trial.state != TrialState.FAIL:
        return ""
    return str(trial.user_attrs.get(FAILURE, "failed, without a reason recorded"))


@contextlib.contextmanager
def turn(path: Path) -> Iterator[None]:
    """Wait for this process's turn among those of one machine that tune the same study file.

    The lock is on the study file itself and goes with the process, so nothing is left behind.
    """
    with path.open("rb") as file:
        with contextlib.suppress(OSError):  # a file system without locks: see `Ledger.claim`
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@dataclass(frozen=True)
class Ledger:
    """The trials of one study, for one process of one tuning run.

    `run` names the tuning run, which may have several processes.
    """

    study_file: StudyFile
    study: optuna.Study
    storage: RDBStorage
    rounds: int
    run: str

    def trials(self) -> list[FrozenTrial]:
        with self._errors("reading the study"):
            return self.study.get_trials(deepcopy=False)

    def finished(self) -> int:
        return sum(map(counts, self.trials()))

    def claim(self) -> Trial | NoTrial:
        """Begin a trial, with its parameters chosen, and its environment where that is chosen.

        One process at a time chooses, so each sees what the others are running, and together they
        begin no more trials than there are rounds. (Processes on different machines do not wait
        for each other and may do one round too many each.)
        """
        with turn(self.study_file.path), self._errors("beginning a trial"):
            self.give_up_lost()
            trials = self.study.get_trials(deepcopy=False)
            done = sum(map(counts, trials))
            held = sum(t.state == TrialState.RUNNING and PROCESS in t.user_attrs for t in trials)
            if done >= self.rounds:
                return NoTrial.DONE
            if done + held >= self.rounds:
                return NoTrial.WAIT
            self._queue(trials)
            trial = self.study.ask(fixed_distributions=self.study_file.distributions)
            self._choose_environment(trial)
            return trial

    def record(self, trial: Trial, result: Measurement | Failure) -> bool:
        """Finish a trial; False if another process had given it up in the meantime."""
        what = result.value if isinstance(result, Measurement) else result.reason
        with self._errors(f"recording trial {trial.number} ({what})"):
            try:
                trial.set_user_attr(SECONDS, round(result.seconds, 6))
                if isinstance(result, Measurement):
                    if result.environment is not None:
                        trial.set_user_attr(ENVIRONMENT, dict(result.environment))
                    self.study.tell(trial, result.value)
                else:
                    trial.set_user_attr(FAILURE, result.reason)
                    trial.set_user_attr(OUTPUT, result.output)
                    if result.blameless:
                        trial.set_user_attr(BLAMELESS, True)
                    self.study.tell(trial, state=TrialState.FAIL)
            except UpdateFinishedTrialError:
                return False
        return True

    def give_up_lost(self) -> None:
        """Mark the running trials whose process is gone as interrupted."""
        timeout = self.study_file.objective.timeout
        for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            process = trial.user_attrs.get(PROCESS)
            if process is not None and liveness.is_gone(process, timeout):
                self._interrupt(trial, "the process that ran it is gone")

    def give_up_own(self, why: str) -> None:
        """Mark what this process has running as interrupted, after whatever has gone wrong."""
        mine = liveness.this_process(self.run)
        with contextlib.suppress(Exception):
            self.storage.remove_session()  # the interruption may have come within a transaction
            for trial in self.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
                owner = trial.user_attrs.get(PROCESS, {})
                if all(owner.get(key) == mine[key] for key in ("run", "host", "pid", "born")):
                    self._interrupt(trial, why)

    def failures_in_a_row(self) -> list[FrozenTrial]:
        """This run's latest failures, back to its last measurement, in order of their end."""
        mine = [
            trial
            for trial in self.trials()
            if counts(trial) and trial.user_attrs.get(PROCESS, {}).get("run") == self.run
        ]
        mine.sort(key=lambda trial: trial.datetime_complete or datetime.min)
        streak: list[FrozenTrial] = []
        for trial in reversed(mine):
            if trial.state != TrialState.FAIL:
                break
            streak.insert(0, trial)
        return streak

    def _choose_environment(self, trial: Trial) -> None:
        """Record what the trial is to be measured under, while the others still wait."""
        environment, sampler = self.study_file.study_environment, self.study.sampler
        if environment is None or environment.observed:
            return
        if isinstance(sampler, SurefootSampler) and sampler.environment is not None:
            sampler.environment_of(trial)
        elif ENVIRONMENT not in trial.user_attrs:
            drawn = environment.draw(self.study_file.study.seed + trial.number)
            trial.set_user_attr(ENVIRONMENT, environment.decode(drawn))

    def _queue(self, trials: list[FrozenTrial]) -> None:
        """See that the next trial is queued with this process's mark.

        So it has an owner from its first moment on, whenever this process may be killed.
        """
        mark = {PROCESS: liveness.this_process(self.run)}
        waiting = [trial for trial in trials if trial.state == TrialState.WAITING]
        if waiting:
            self.storage.set_trial_user_attr(self._id(waiting[0]), PROCESS, mark[PROCESS])
        else:
            self.study.add_trial(create_trial(state=TrialState.WAITING, user_attrs=mark))

    def _id(self, trial: FrozenTrial) -> int:
        study_id = self.storage.get_study_id_from_name(self.study.study_name)
        return self.storage.get_trial_id_from_study_id_trial_number(study_id, trial.number)

    def _interrupt(self, trial: FrozenTrial, why: str) -> None:
        attributes: dict[str, Any] = {INTERRUPTED: True, FAILURE: f"interrupted: {why}"}
        with contextlib.suppress(UpdateFinishedTrialError):  # it did finish, or another gave it up
            for key, value in attributes.items():
                self.storage.set_trial_user_attr(self._id(trial), key, value)
            self.study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)

    def _errors(self, doing: str) -> contextlib.AbstractContextManager[None]:
        return storage_errors(locate(self.study_file).label, doing)
