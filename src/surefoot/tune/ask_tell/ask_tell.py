"""`AskTell`: a study whose configurations are measured from outside, by any processes."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from optuna.trial import FrozenTrial, Trial, TrialState, create_trial

from surefoot.integrations.optuna import ENVIRONMENT
from surefoot.integrations.optuna.endings import discard
from surefoot.tune.ask_tell.answers import Asked, Prediction, Status, Told
from surefoot.tune.ask_tell.told_values import Given, result_of
from surefoot.tune.comparison.named_settings import given_values, named_settings
from surefoot.tune.definition.schema import MANY
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.measuring.measurement import (
    Failure,
    Measurement,
    recorded,
)
from surefoot.tune.measuring.quantity import VALUE, Quantity
from surefoot.tune.plain_text import LONGEST_REASON, listed, shown, storable
from surefoot.tune.study import trial_owner
from surefoot.tune.study.location import NoStudy
from surefoot.tune.study.opened_study import OpenedStudy, create_study, initial_size, open_study
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import (
    ASKED,
    LATE,
    asked_id,
    is_asked,
    is_interrupted,
    is_round,
    record_of,
    trial_environment,
)
from surefoot.tune.study.trials import NoTrial, StudyTrials
from surefoot.types import InvalidInput, SurefootError

Result = TypeVar("Result")
_SEM, _WORKER = f"{VALUE}sem", f"{VALUE}worker"  # names that no constraint can have


class NothingToAsk(SurefootError):
    """All rounds of the study are measured, or being measured."""


@dataclass(frozen=True)
class AskTell:
    """A study that is asked for configurations and told their values.

    Nothing of it is kept in this process but the model: any number of processes may ask and tell at
    the same time, and whatever was told is stored when the call returns.

    Args:
        trials: The trials of the study.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "demo.toml"
        >>> _ = path.write_text('''
        ... study = { name = "demo", direction = "minimize", rounds = 20 }
        ... parameters = { threads = { type = "int", low = 1, high = 32, default = 4 } }
        ... ''')
        >>> study = open_ask_tell(path)
        >>> (asked,) = study.ask()
        >>> asked.params
        {'threads': 4}
        >>> study.tell(asked.id, 12.5).value
        12.5
    """

    trials: StudyTrials

    @property
    def opened(self) -> OpenedStudy:
        """The study."""
        return self.trials.opened

    @property
    def study_file(self) -> StudyFile:
        """The checked study file."""
        return self.trials.study_file

    def ask(self, count: int = 1, given: Mapping[str, Any] | None = None) -> list[Asked]:
        """Configurations to measure, none of which is being measured already.

        Only the confirm stage may measure one of its candidates more than once at a time. They
        stay asked for until they are told or forgotten, whatever becomes of this process.

        Args:
            count: Number of configurations at most.
            given: Value of each given variable of the study, by name.

        Returns:
            At least one configuration, fewer than `count` near the end of the study.

        Raises:
            NothingToAsk: If no round is left.
            InvalidInput: If a given variable has no value, or one out of its range.
            StorageFailed: If the storage cannot be read or written.
        """
        if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MANY:
            raise InvalidInput(f"got {shown(count)} configurations, expected 1 to {MANY}")
        trials = replace(self.trials, given=given_values(self.study_file, given or {}))
        begun: list[Trial] = []
        for _ in range(count):
            trial = trials.begin_next()
            if isinstance(trial, NoTrial):
                break
            begun.append(trial)
        if not begun:
            raise NothingToAsk(self._nothing_left())
        self.trials.hand_over(begun)
        return [Asked.of(trial) for trial in begun]

    def tell(self, id: int, value: Given = None, **given: Any) -> Told:
        """Record the outcome of a configuration that was asked for.

        The same outcome may be told again, as after an interruption, with its worker or without;
        nothing can be added to it. The value of a forgotten
        configuration is recorded as a trial of its own.

        Args:
            id: Id of the configuration, as `ask` gave it.
            value: The measurement, a number or its text; None for a failure.
            **given: Keywords of `result_of`: `sem`, `values`, `worker` and `failed`.

        Returns:
            What is recorded.

        Raises:
            InvalidInput: If there is no such configuration, it has another outcome already, or a
                value is invalid; nothing is changed then.
            StorageFailed: If the storage cannot be read or written.
        """
        return self._locked(f"recording trial {shown(id)}", partial(self._tell, id, value, given))

    def forget(self, ids: Sequence[int], measured: str = "") -> list[Asked]:
        """Give up configurations that were asked for; others are asked for in their place.

        Args:
            ids: Their ids.
            measured: Why the outcomes of configurations that have one are wrong. They are discarded
                and stay in the storage; another one can be told.

        Returns:
            The configurations.

        Raises:
            InvalidInput: If one was not asked for, or has an outcome without `measured`, or none
                with it; nothing is changed then.
            StorageFailed: If the storage cannot be read or written.
        """
        if not isinstance(measured, str):
            raise InvalidInput(f"measured: got {shown(measured)}, expected a text")
        why = storable(measured).strip()
        return self._locked("forgetting trials", partial(self._forget, ids, why))

    def predict(
        self,
        configurations: Sequence[str | Mapping[str, Any]],
        given: Mapping[str, Any] | None = None,
    ) -> list[Prediction]:
        """Predicted values of configurations, or the risk in a study with an environment.

        Args:
            configurations: Each as values by parameter name, or named: `recommended`, `default`,
                `trial N` or `name=value,...`.
            given: Values of the given variables of the study, by name, of each configuration
                without its own.

        Returns:
            The predictions, in the order of the configurations.

        Raises:
            InvalidInput: If a configuration does not fit the study.
            NotReady: If the study has no measurement yet.
            StorageFailed: If the storage cannot be read.
        """
        named = named_settings(self.study_file, configurations, given)
        state = self.opened.state()
        scheme = self.study_file.scheme
        several = state.objectives.objectives if scheme.objectives else {}
        missing = tuple(one for one in scheme.further if one not in several)
        values = state.belief.assess([one.params for one in named])
        return [
            Prediction(
                value,
                {name: one.assess([value.params])[0] for name, one in several.items()},
                state.study_file.units,
                missing,
            )
            for value in values
        ]

    def recommend(
        self, given: Mapping[str, Any] | None = None, prefer: Sequence[str] = ()
    ) -> dict[str, Any]:
        """The recommended configuration as JSON values, as `surefoot recommend --json` prints it.

        Args:
            given: Value of each given variable of the study, by name.
            prefer: Limits of some of several objectives, such as "latency<=20".

        Raises:
            InvalidInput: If a limit is none of an objective.
            NotReady: If the study has no measurement yet.
            StorageFailed: If the storage cannot be read.
        """
        from surefoot.tune.study.findings import summarise
        from surefoot.tune.study.front_text import preferences

        limits = preferences(self.opened.state().study_file, prefer) if prefer else {}
        return summarise(self.opened, given_values(self.study_file, given or {}), limits).as_dict()

    def status(self) -> Status:
        """The rounds, and the configurations that wait for their outcome.

        Raises:
            StorageFailed: If the storage cannot be read.
        """
        state = self.opened.state()
        return Status(
            name=self.study_file.study.name,
            direction=self.study_file.directions,
            rounds=self.trials.planned(state),
            finished=state.finished,
            failed=state.failed,
            measured=sum(
                one.state == TrialState.RUNNING
                and (owner := trial_owner.owner_of(one)) is not None
                and not trial_owner.is_lost(owner)
                for one in state.trials
            ),
            asked=tuple(Asked.of(one) for one in state.trials if is_asked(one)),
            unmeasured=state.unmeasured,
        )

    def _tell(self, id: object, value: Given, given: Mapping[str, Any]) -> Told:
        state = self.opened.read()
        settled = partial(self.trials.settled, state=state)
        result = result_of(self.study_file, settled, value, **given)
        trial = _standing_for(self._trial(state.trials, id), state.trials)
        if is_interrupted(trial) and ASKED in trial.user_attrs:
            trial = self._begun_anew(trial)
        if trial.state.is_finished():
            return self._told_before(trial, result)
        if not is_asked(trial):
            raise InvalidInput(
                f"trial {shown(id)} is being measured by another program, expected one that "
                f"was asked for; `surefoot status {self.study_file.as_word}` lists them"
            )
        seconds = time.time() - (trial.datetime_start or datetime.now()).timestamp()
        self.trials.keep_units(result, state)
        self.trials.record(trial, replace(result, seconds=max(seconds, 0.0)))
        state = self.opened.read()
        return self._told(state.trials[trial.number], state)

    def _told_before(self, trial: FrozenTrial, result: Measurement | Failure) -> Told:
        before, there = self._told(trial, self.opened.read()), _texts(_recorded(trial))
        for name, now in _texts(result).items():
            if (had := there.get(name)) != now:
                if name == _WORKER and had is None:
                    raise InvalidInput(
                        f"trial {before.id} has no worker, which can only be told with its outcome;"
                        f" got {now}: leave it out"
                    )
                raise InvalidInput(
                    f"trial {before.id} has {had or f'no {name}'} already, which cannot be "
                    f"changed; got {now}"
                )
        return before

    def _begun_anew(self, trial: FrozenTrial) -> FrozenTrial:
        """A running trial of the configuration of a forgotten one."""
        environment = {ENVIRONMENT: one} if (one := trial_environment(trial)) else {}
        self.opened.study.add_trial(
            create_trial(
                state=TrialState.RUNNING,
                params=trial.params,
                distributions=trial.distributions,
                user_attrs={**environment, ASKED: True, LATE: asked_id(trial)},
            )
        )
        return _standing_for(trial, self.opened.read().trials)

    def _forget(self, ids: Sequence[int], why: str) -> list[Asked]:
        state = self.opened.read()
        chosen = [_standing_for(self._trial(state.trials, id), state.trials) for id in ids]
        outcomes = {
            trial.number: self._told(trial, state).outcome for trial in chosen if is_round(trial)
        }
        for trial in chosen:
            id, outcome = asked_id(trial), outcomes.get(trial.number)
            if outcome and not why:
                raise InvalidInput(
                    f"trial {id} has {outcome}, which cannot be forgotten; `measured` says why it "
                    "is wrong, and discards it"
                )
            if outcome or (is_interrupted(trial) and (why or ASKED in trial.user_attrs)):
                continue
            if trial.state.is_finished():
                raise InvalidInput(f"trial {id} was interrupted, expected one that was asked for")
            if not is_asked(trial):
                raise InvalidInput(
                    f"trial {id} is being measured by another program, expected one that was asked "
                    "for"
                )
            if why:
                raise InvalidInput(f"trial {id} has no outcome yet; forget it without `measured`")
        for trial in chosen:
            if (outcome := outcomes.pop(trial.number, None)) is not None:
                reason = f"trial {asked_id(trial)} had {outcome}, discarded: {why}"
                discard(self.opened.study, trial, reason[:LONGEST_REASON])
            else:
                self.trials.interrupt(trial, "forgotten")
        return [Asked.of(trial) for trial in chosen]

    def _trial(self, trials: Sequence[FrozenTrial], id: object) -> FrozenTrial:
        if isinstance(id, int) and not isinstance(id, bool) and 0 <= id < len(trials):
            trial = trials[id]
            if trial.state != TrialState.WAITING:
                return trial
        known = listed([asked_id(one) for one in trials if is_asked(one)])
        wanted = f"one of {known}" if known else "one that `ask` gave"
        raise InvalidInput(f"{self.study_file.path.name}: no id {shown(id)}, expected {wanted}")

    def _locked(self, doing: str, do: Callable[[], Result]) -> Result:
        def locked() -> Result:
            with self.opened.lock():
                return do()

        return self.opened.attempt(doing, locked)

    def _told(self, trial: FrozenTrial, state: StudyState) -> Told:
        return Told.of(trial, state.finished, self.trials.planned(state), state.study_file.units)

    def _nothing_left(self) -> str:
        status, name = self.status(), self.study_file.as_word
        if not self.trials.seconds_left(self.opened.state()):
            return (
                f"{name}: the budget of {self.study_file.study.budget} is over after "
                f"{status.finished} of {status.rounds} rounds; `surefoot recommend {name}` says "
                "what is best"
            )
        if status.finished >= status.rounds:
            return (
                f"{name}: all {status.rounds} rounds are measured; "
                f"`surefoot recommend {name}` says what is best, more rounds go on"
            )
        left = status.rounds - status.finished
        waiting = listed([one.id for one in status.asked]) or "none"
        return (
            f"{name}: the {left} rounds that are left are being measured (asked for: {waiting}); "
            "tell their values, or forget them"
        )


def open_ask_tell(path: Path | str, *, create: bool = True) -> AskTell:
    """Open a study to measure it from outside; it is created if it does not exist.

    Args:
        path: The study file, which needs no command.
        create: Whether it is created; if not, `NoStudy` is raised where it does not exist.

    Returns:
        The study.

    Raises:
        StudyFileError: If the study file is invalid, or the storage holds another study.
        StorageFailed: If the storage cannot be read or written.
    """
    return _of(create_study(StudyFile.load(path), create=create))


def look_at_ask_tell(path: Path | str) -> AskTell:
    """Open a study that exists to look at it; nothing is created or changed.

    Args:
        path: The study file.

    Returns:
        The study.

    Raises:
        StudyFileError: If the study file is invalid, or the storage holds another study;
            `NoStudy` if it has none.
        StorageFailed: If the storage cannot be read.
    """
    return _of(open_study(path))


def status_of(path: Path | str) -> Status:
    """The progress of a study, also before it is created; see `AskTell.status`."""
    try:
        return look_at_ask_tell(path).status()
    except NoStudy:
        study_file = StudyFile.load(path)
        study = study_file.study
        return Status(study.name, study_file.directions, study.rounds, 0, 0, 0, ())


def _of(opened: OpenedStudy) -> AskTell:
    trials = StudyTrials(
        opened,
        opened.study_file.study.rounds,
        uuid.uuid4().hex[:12],
        worker="",
        is_counted=lambda trial: is_asked(trial) or trial_owner.is_owned(trial),
        design=left_of_design,
    )
    return AskTell(trials)


def _recorded(trial: FrozenTrial) -> Measurement | Failure:
    """Outcome that a finished trial was told."""
    known = {"value": trial.value, **record_of(trial)}
    return recorded({name: one for name, one in known.items() if one is not None})


def _texts(result: Measurement | Failure) -> dict[str, str]:
    """All that was told, in words by name: each number or the reason, and the worker if any."""
    worker = {_WORKER: f"the worker {shown(result.worker)}"} if result.worker else {}
    if isinstance(result, Failure):
        return {VALUE: f"a failure, {result.reason}", **worker}
    under = result.environment or {}
    return {
        VALUE: f"the value {_text(result.value)}",
        _SEM: f"sem {_text(result.sem)}",
        **{name: f"{name} {_with_error(one)}" for name, one in result.others.items()},
        **{name: f"{name} {_text(one)}" for name, one in under.items()},
        **worker,
    }


def _with_error(one: Quantity) -> str:
    return f"{_text(one.value)} ± {_text(one.sem)}" if one.sem else _text(one.value)


def _text(number: float) -> str:
    return repr(float(number)).removesuffix(".0")


def _standing_for(trial: FrozenTrial, trials: Sequence[FrozenTrial]) -> FrozenTrial:
    """The latest trial under the same id: that with the value of a forgotten one, or itself."""
    id = asked_id(trial)
    return next((one for one in reversed(trials) if one.user_attrs.get(LATE) == id), trial)


def left_of_design(state: StudyState) -> list[dict[str, Any]]:
    """Configurations of the initial design that are not in the study, as many as it lacks.

    The design follows from the seed of the study, so that every process draws the same. Where
    constraints or an environment are measured, or a variable is given, a model chooses during the
    initial design too, and there is none to be drawn ahead; nor is there where trials must not
    fail, or where a guess or an older study says where to begin.

    Args:
        state: The study.

    Returns:
        The configurations, none once the study has as many rounds as the design has points.
    """
    study_file = state.study_file
    known_before = bool(study_file.guess) or study_file.prior is not None
    measured = study_file.reported or not study_file.scheme.is_replayed
    if known_before or measured or study_file.study.safe:
        return []
    begun = sum(one.state == TrialState.RUNNING or is_round(one) for one in state.trials)
    known = [trial.params for trial in state.trials]
    design = initial_design(study_file)
    left = []
    for params in design[begun:] + design[:begun]:
        if params not in known:
            known.append(params)
            left.append(params)
    return left[: max(len(design) - begun, 0)]


def initial_design(study_file: StudyFile) -> list[dict[str, Any]]:
    """Evenly spread configurations to begin a study with, by its seed.

    Args:
        study_file: The study file.

    Returns:
        Configurations, in the order of the study file; some may be alike in a small space.
    """
    import torch

    from surefoot.algorithms._defaults import initial_design_size

    space = study_file.space
    encoding = space.encoding
    number = initial_size(study_file) or initial_design_size(encoding.box)
    generator = torch.Generator().manual_seed(study_file.study.seed)
    return [
        space.restricted(encoding.decode(location.point))
        for location in encoding.box.spread(number, generator)
    ]
