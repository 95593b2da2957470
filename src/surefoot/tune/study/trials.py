"""The trials of a study, shared by all workers: how the next one begins, and how each ends."""

from __future__ import annotations

import contextlib
import enum
import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from optuna.exceptions import UpdateFinishedTrialError
from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from surefoot.integrations.optuna import (
    ENVIRONMENT,
    INTERRUPTED,
    STANDARD_ERROR,
    WORKER,
    SurefootSampler,
)
from surefoot.integrations.optuna.attributes import FAILURE
from surefoot.integrations.optuna.search_space import distributions
from surefoot.parameters import Space
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import (
    MAX_FAILURES,
    Failure,
    Measurement,
    in_study_units,
    positive,
)
from surefoot.tune.plain_text import shown
from surefoot.tune.study import trial_owner
from surefoot.tune.study.compatibility import recorded_units
from surefoot.tune.study.early_stop import OVER, seconds_spent
from surefoot.tune.study.heartbeat import HEARTBEAT, SilentTrials
from surefoot.tune.study.opened_study import OpenedStudy
from surefoot.tune.study.schedule import Schedule
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import (
    ASKED,
    OWNER,
    UNITS,
    attributes_of,
    is_round,
    study_units,
)
from surefoot.types import NotReady

FIXED = "fixed_params"  # the system attribute of `Study.enqueue_trial`

TRIED_AGAIN = "surefoot:tried_again"
"""User attribute of a trial of a known configuration, after failures of others in a row."""


class NoTrial(enum.Enum):
    """Why there is no trial to begin."""

    DONE = "the study has all its rounds"
    WAIT = "every remaining round is being run by another process"


@dataclass(frozen=True)
class StudyTrials:
    """The trials of one study, for one process of one tuning run.

    Args:
        opened: The study.
        rounds: The finished trials to reach.
        run: Name of the tuning run, which may have several processes.
        worker: Name of what measures; empty if that is known at the end only.
        is_counted: Whether a running trial is one of the rounds.
        design: Configurations to queue before the sampler chooses any, given the study.
        given: Values of the given variables under which the next trials are measured, by name.
    """

    opened: OpenedStudy
    rounds: int
    run: str
    worker: str
    is_counted: Callable[[FrozenTrial], bool] = trial_owner.is_owned
    design: Callable[[StudyState], Sequence[Mapping[str, Any]]] = lambda state: ()
    given: Mapping[str, Any] = field(default_factory=dict)
    _silent: SilentTrials = field(default_factory=SilentTrials, repr=False)

    @cached_property
    def study_file(self) -> StudyFile:
        """The checked study file."""
        return self.opened.study_file

    def planned(self, state: StudyState) -> int:
        """Rounds to reach with time enough: fewer than `rounds` where the search stopped early."""
        return Schedule(state, self.rounds).target()

    def target(self, state: StudyState) -> int:
        """Rounds to reach: those planned, or fewer once time is over.

        Those that have begun by then are finished.
        """
        rounds = self.planned(state)
        if self.seconds_left(state) > 0.0:
            return rounds
        running = [one for one in state.trials if one.state == TrialState.RUNNING]
        return min(rounds, state.finished + sum(map(self.is_counted, running)))

    @property
    def _budget(self) -> float:
        return self.study_file.study.seconds

    def seconds_left(self, state: StudyState) -> float:
        """Seconds that are left of the study's budget, infinite if it has none."""
        budget = self._budget
        if math.isinf(budget):
            return budget
        if state.attributes.get(OVER, 0.0) >= budget:
            return 0.0
        return max(budget - seconds_spent(state.trials, self.run, time.monotonic()), 0.0)

    def is_complete(self) -> bool:
        """Whether the study has all its rounds."""
        state = self.opened.state()
        return state.finished >= self.target(state)

    def begin_next(self) -> Trial | NoTrial:
        """Begin a trial, with its parameters chosen, and its environment unless it is observed.

        One process at a time chooses, so each knows what the others are running, and together they
        begin no more trials than there are rounds, beside what was asked for and is not told yet.
        (Processes on different machines exclude each other if the storage is a PostgreSQL server;
        otherwise each may do one round too many.) If
        the server ends the connection, what had begun is marked as interrupted.
        """
        again = partial(self._interrupt_own, "the storage was disconnected as it began")
        return self.opened.attempt("beginning a trial", self._begin_next, again)

    def _begin_next(self) -> Trial | NoTrial:
        with self.opened.lock():
            state = self.opened.read()
            if self._interrupt_lost(state):
                state = self.opened.read()
            running = [t for t in state.trials if t.state == TrialState.RUNNING]
            begun = state.finished + sum(map(self.is_counted, running))
            schedule = Schedule(state, self.rounds).checked(begun, self.seconds_left(state))
            target = self.target(schedule.state)
            is_over = target < schedule.target()
            if is_over and state.attributes.get(OVER, 0.0) < self._budget:
                state = state.with_attribute(OVER, self._budget)
            if state.finished >= target:
                return NoTrial.DONE
            awaited = self.study_file.is_safe and running and not state.finished
            if begun >= target or awaited:
                return NoTrial.WAIT  # a safe search begins with what the defaults have shown
            self._enqueue(schedule, begun)
            trial = self.opened.study.ask()
            suggest_all(trial, self.study_file.space)
            self._choose_environment(trial)
            return trial

    def awaited(self) -> list[FrozenTrial]:
        """The running trials of other machines, if all that is left of the study are these."""
        state = self.opened.state()
        running = [trial for trial in state.trials if trial.state == TrialState.RUNNING]
        owners = [trial_owner.owner_of(trial) for trial in running]
        elsewhere = all(owner is None or trial_owner.is_elsewhere(owner) for owner in owners)
        owned = [trial for trial, owner in zip(running, owners, strict=True) if owner is not None]
        return owned if elsewhere and state.finished + len(owned) >= self.target(state) else []

    def hand_over(self, trials: Sequence[Trial]) -> None:
        """Leave trials that this process has begun to whoever will tell their values.

        They do not end with this process.
        """
        self.opened.attempt("handing over trials", partial(self._hand_over, trials))

    def _hand_over(self, trials: Sequence[Trial]) -> None:
        for trial in trials:
            self._mark(trial, {ASKED: True, OWNER: None})

    def record(self, trial: Trial | FrozenTrial, result: Measurement | Failure) -> bool:
        """Finish a trial; False if another process has marked it as interrupted meanwhile."""
        if self.study_file.objective.log:
            result = positive(result)
        what = result.value if isinstance(result, Measurement) else result.reason
        doing = f"recording trial {trial.number} ({what})"
        try:
            self.opened.attempt(doing, partial(self._record, trial, result))
        except UpdateFinishedTrialError:
            return False
        return True

    def in_study_units(self, result: Measurement | Failure) -> Measurement | Failure:
        """A measurement in the study's units, which the first one decides; an unclear failure
        if it cannot be converted.
        """
        if isinstance(result, Failure):
            return result
        doing = f"reading the units of a measurement ({result.value})"
        return self.opened.attempt(doing, partial(self._in_study_units, result))

    def _in_study_units(self, result: Measurement) -> Measurement | Failure:
        known, further = study_units(self.opened.study.user_attrs), self.study_file.scheme.further
        if not result.units.keys() - known.keys():
            return in_study_units(result, self.study_file.declared_units, known, further)
        with self.opened.lock():  # one process at a time has the first measurement
            state = self.opened.read()
            settled = self.settled(result, state)
            self.keep_units(settled, state)
        return settled

    def settled(self, result: Measurement, state: StudyState) -> Measurement | Failure:
        """A measurement in the units of a study, of which nothing is written."""
        known = study_units(state.attributes)
        if not known and any(one.state == TrialState.COMPLETE for one in state.trials):
            known = {**result.units, **recorded_units(state.attributes, state.trials)}
        further = self.study_file.scheme.further
        return in_study_units(result, self.study_file.declared_units, known, further)

    def keep_units(self, settled: Measurement | Failure, state: StudyState) -> None:
        """Record the units of a first measurement, before anything else of the trial."""
        known = study_units(state.attributes)
        if isinstance(settled, Measurement) and settled.units.keys() - known.keys():
            self.opened.study.set_user_attr(UNITS, {**settled.units, **known})

    def _record(self, trial: Trial | FrozenTrial, result: Measurement | Failure) -> None:
        known = trial.user_attrs.keys() & {STANDARD_ERROR}  # of a queued trial: not of this result
        self._mark(trial, dict.fromkeys(known, 0.0) | attributes_of(result.record))
        if isinstance(result, Measurement):
            self.opened.study.tell(trial.number, result.value)
        else:
            self.opened.study.tell(trial.number, state=TrialState.FAIL)

    def interrupt_lost(self) -> list[int]:
        """Mark the running trials whose process is gone as interrupted; returns their numbers."""
        return self.opened.attempt(
            "marking interrupted trials", lambda: self._interrupt_lost(self.opened.read())
        )

    def beat(self, trial: FrozenTrial | Trial, count: int) -> None:
        """Record that this process is alive, which may be called in another thread."""
        try:
            self._mark(trial, {HEARTBEAT: count})
        finally:
            self.opened.storage.remove_session()  # that of the thread

    def interrupt_own(self, why: str) -> None:
        """Mark this process's running trials as interrupted, after whatever has gone wrong."""
        with contextlib.suppress(Exception):
            # The interruption may have come within a transaction.
            self.opened.storage.remove_session()
            self._interrupt_own(why)

    def final_failures(self) -> list[FrozenTrial]:
        """This run's failures in a row, in order of their end, if they end it; else none.

        They do once there are five, one of them of a configuration that had been measured. Without
        that one, which several workers may pass by, they do if none is tried now or next.
        """
        state = self.opened.state()
        streak = self.failures_in_a_row(state)
        if len(streak) < MAX_FAILURES or self._is_trying_again(state):
            return []
        known, waiting = self._known(state), TrialState.WAITING
        tried = any(self._under_given(one.params) in known for one in streak)
        queued = any(one.state == waiting and not trial_owner.owner_of(one) for one in state.trials)
        is_next = known and not (tried or queued or state.finished >= self.target(state))
        return [] if is_next else streak

    def failures_in_a_row(self, state: StudyState) -> list[FrozenTrial]:
        """This run's failures since its last measurement, in order of their end."""
        mine = [
            trial
            for trial in state.trials
            if is_round(trial) and (trial_owner.owner_of(trial) or {}).get("run") == self.run
        ]
        mine.sort(key=lambda trial: trial.datetime_complete or datetime.min)
        streak: list[FrozenTrial] = []
        for trial in reversed(mine):
            if trial.state != TrialState.FAIL:
                break
            streak.insert(0, trial)
        return streak

    def _choose_environment(self, trial: Trial) -> None:
        """Record the environment to measure under while other processes are still excluded."""
        environment, sampler = self.study_file.scheme.environment, self.opened.study.sampler
        if environment is None or environment.observed:
            return
        if isinstance(sampler, SurefootSampler) and sampler.environment is not None:
            sampler.environment_of(trial)
        elif ENVIRONMENT not in trial.user_attrs:
            drawn = environment.draw(self.study_file.study.seed + trial.number)
            trial.set_user_attr(ENVIRONMENT, environment.decode(drawn))

    def _enqueue(self, schedule: Schedule, begun: int) -> None:
        """Queue the next trial as this process's, or take over one that the user has queued.

        So it has an owner from its first moment on, whenever this process may be killed.
        """
        owner, worker = trial_owner.this_process(self.run), self.worker
        attributes: dict[str, Any] = {OWNER: owner, **({WORKER: worker} if worker else {})}
        fixed: dict[str, Any] = {FIXED: dict(self.given)} if self.given else {}
        following: Sequence[Mapping[str, Any]] = ()
        trials = schedule.state.trials
        for queued in (trial for trial in trials if trial.state == TrialState.WAITING):
            if wrong := self._misfit(queued.system_attrs.get(FIXED, {})):
                self._reject(queued, wrong)
                continue
            self._mark(queued, attributes)
            return
        if not self._has_defaults(trials):
            fixed = {FIXED: self.study_file.defaults_under(self.given)}
        elif design := self.design(schedule.state):
            fixed, following = {FIXED: dict(design[0])}, design[1:]
        elif (planned := schedule.planned(begun)) is not None:
            attributes, fixed = attributes | planned.attributes, {FIXED: planned.params}
        elif (known := self._tried_again(schedule.state)) is not None:
            attributes, fixed = {**attributes, TRIED_AGAIN: True}, {FIXED: known}
        self.opened.study.add_trial(
            create_trial(state=TrialState.WAITING, user_attrs=attributes, system_attrs=fixed)
        )
        for params in following:
            self.opened.study.enqueue_trial(dict(params))

    def _tried_again(self, state: StudyState) -> dict[str, Any] | None:
        """A measured configuration, where one more failure in a row would end the run.

        It tells a command that fails by now from configurations that do, where a search tries them
        of its own accord. The recommended one, if it was measured; None where nothing was.
        """
        streak = self.failures_in_a_row(state)
        if len(streak) < MAX_FAILURES - 1 or self._is_trying_again(state, streak):
            return None
        known = self._known(state)
        if not known:
            return None
        try:
            best = self._under_given(state.recommendation.params)
        except NotReady:
            best = known[-1]
        return best if best in known else known[-1]

    def _is_trying_again(self, state: StudyState, streak: Sequence[FrozenTrial] = ()) -> bool:
        """Whether a known configuration is tried again now, or was in a row of failures."""
        ongoing = (one for one in state.trials if not one.state.is_finished())
        return any(TRIED_AGAIN in one.user_attrs for one in (*ongoing, *streak))

    def _known(self, state: StudyState) -> list[dict[str, Any]]:
        """Configurations that were measured, those that are possible under what is given now."""
        done = [one for one in state.trials if one.state == TrialState.COMPLETE]
        params = [self._under_given(one.params) for one in done]
        return [one for one in params if self.study_file.space.is_complete(one)]

    def _under_given(self, params: Mapping[str, Any]) -> dict[str, Any]:
        return self.study_file.space.restricted({**params, **self.given})

    def _misfit(self, params: Mapping[str, Any]) -> str:
        """Fault of a configuration that the user has queued, empty if it can be measured."""
        space = self.study_file.space
        for name, value in params.items():
            parameter = space.parameters.get(name)
            if parameter is None:
                return f"{shown(name)} is not a parameter"
            if not parameter.contains(value):
                return f"{name} is {shown(value)}, expected {parameter.describe()}"
        missing = [name for name in space.active(params) if name not in params]
        violated = () if missing else space.violated_by(params)
        return f"it violates {shown(violated[0])}" if violated else ""

    def _reject(self, queued: FrozenTrial, wrong: str) -> None:
        """End a trial that the user has queued and that cannot be measured; it is no round."""
        self._mark(queued, {INTERRUPTED: True, FAILURE: f"queued, and not measured: {wrong}"})
        self.opened.storage.set_trial_state_values(self._id(queued), TrialState.FAIL)

    def _has_defaults(self, trials: Sequence[FrozenTrial]) -> bool:
        """Whether the default configuration, if there is one, was measured or is being measured.

        Once is enough, whatever was given then. None is due that the rules forbid under what is
        given now.
        """
        defaults_under, space = self.study_file.defaults_under, self.study_file.space
        due = defaults_under(self.given)
        return (
            due is None
            or bool(space.violated_by(due))
            or any(
                trial.params == defaults_under({n: trial.params[n] for n in self.given})
                for trial in trials
                if (is_round(trial) or trial.state == TrialState.RUNNING)
                and self.given.keys() <= trial.params.keys()
            )
        )

    def _interrupt_lost(self, state: StudyState) -> list[int]:
        """Numbers of the running trials whose process is gone; they are marked."""
        lost: list[int] = []
        for trial in state.trials:
            owner = trial_owner.owner_of(trial)
            if owner is None or trial.state != TrialState.RUNNING:
                continue
            why = "the process that ran it is gone" if trial_owner.is_lost(owner) else ""
            if trial_owner.is_elsewhere(owner) and self._silent.is_silent(trial):
                why = "nothing was heard of the machine that ran it"
            if why:
                lost.append(trial.number)
                self.interrupt(trial, why)
        return lost

    def _interrupt_own(self, why: str) -> None:
        me = trial_owner.this_process(self.run)
        for trial in self.opened.study.get_trials(deepcopy=False, states=(TrialState.RUNNING,)):
            owner = trial_owner.owner_of(trial) or {}
            if all(owner.get(key) == me[key] for key in ("run", "host", "pid", "born")):
                self.interrupt(trial, why)

    def _id(self, trial: FrozenTrial | Trial) -> int:
        study_id = self.opened.storage.get_study_id_from_name(self.opened.study.study_name)
        return self.opened.storage.get_trial_id_from_study_id_trial_number(study_id, trial.number)

    def _mark(self, trial: FrozenTrial | Trial, attributes: Mapping[str, Any]) -> None:
        """Give a trial attributes, each of which is stored at once."""
        id = self._id(trial)
        for name, value in attributes.items():
            self.opened.storage.set_trial_user_attr(id, name, value)

    def interrupt(self, trial: FrozenTrial, why: str) -> None:
        """Mark a running trial as interrupted, within an `attempt`."""
        # It may have finished, or another process may have marked it, in the meantime.
        with contextlib.suppress(UpdateFinishedTrialError):
            self._mark(trial, {INTERRUPTED: True, FAILURE: f"interrupted: {why}"})
            self.opened.study.tell(trial.number, state=TrialState.FAIL, skip_if_finished=True)


def suggest_all(trial: Trial, space: Space) -> None:
    """Give a trial values of all parameters that are active in it."""
    known = distributions(space)
    for name in space.order:
        if space.is_active(name, trial.params):
            trial._suggest(name, known[name])
