"""An opened study: its file, storage, sampler and last model as one value."""

from __future__ import annotations

import contextlib
import importlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna import SurefootSampler
from surefoot.integrations.optuna.earlier_study import OlderStudy
from surefoot.integrations.optuna.endings import trials_of
from surefoot.problem import Problem
from surefoot.tune.definition.schema import FEW_ROUNDS
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.plain_text import shown
from surefoot.tune.study.compatibility import DEFINITION, check_compatible, continued
from surefoot.tune.study.failures import without_measurement
from surefoot.tune.study.location import Location, NoStudy
from surefoot.tune.study.parameter_units import ParameterConversion
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.storage_faults import overcome
from surefoot.tune.study.stored_file import is_storage, locate, study_in
from surefoot.tune.study.study_lock import study_lock
from surefoot.tune.study.trial_attributes import trial_start
from surefoot.types import InvalidInput, SurefootError

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief, StudyRecommendation
    from surefoot.optimizer import Method

Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class OpenedStudy:
    """The study of a study file in its storage.

    Args:
        location: The study file and where its study is stored, found once.
        storage: The storage.
        study: The study in it.
        sampler: The sampler that models the study: its own, if that is surefoot's.
        note: A message for the user, or empty.
        recommended: Recommendations of this process by the number of measurements.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "demo.toml"
        >>> _ = path.write_text('''
        ... study = { name = "demo", direction = "minimize", rounds = 20 }
        ... objective = { command = "sh bench.sh {threads}" }
        ... parameters = { threads = { type = "int", low = 1, high = 32 } }
        ... ''')
        >>> opened = create_study(StudyFile.load(path))
        >>> opened.study.enqueue_trial({"threads": 4})
        >>> len(open_study(path).state().trials)
        1
    """

    location: Location
    storage: BaseStorage
    study: optuna.Study
    sampler: SurefootSampler
    note: str = ""
    recommended: dict[int, StudyRecommendation] = field(default_factory=dict, repr=False)
    _beliefs: dict[int, StudyBelief] = field(default_factory=dict, repr=False)

    @cached_property
    def study_file(self) -> StudyFile:
        """The checked study file."""
        return self.location.study_file

    def state(self) -> StudyState:
        """The trials and attributes of the study at present, from one reading.

        Raises:
            StorageFailed: If the storage cannot be read.
        """
        return self.attempt("reading the study", self.read)

    def read(self) -> StudyState:
        """`state` within an `attempt`, with the storage's own errors."""
        return StudyState(self, tuple(trials_of(self.study)), self.study.user_attrs)

    def belief(self, trials: Sequence[FrozenTrial]) -> StudyBelief:
        """The model of the study given its trials, formed once for the same finished ones.

        Args:
            trials: All trials, as they have just been read.

        Raises:
            NotReady: If none has a value.
            StorageFailed: If the storage cannot be read.
        """
        if not any(trial.state == TrialState.COMPLETE for trial in trials):
            raise without_measurement(self.study_file, trials)
        finished = sum(trial.state.is_finished() for trial in trials)
        if finished not in self._beliefs:
            self._beliefs.clear()  # a finished trial never changes
            self._beliefs[finished] = self.attempt(
                "reading the study", lambda: self.sampler.belief(self.study, trials)
            )
        return self._beliefs[finished]

    def belief_of_logarithms(self, trials: Sequence[FrozenTrial]) -> StudyBelief:
        """The model of the logarithms of the values, which are positive, given the trials."""
        sampler = _default_sampler(self.study_file, None, log=True)
        return self.attempt("reading the study", lambda: sampler.belief(self.study, trials))

    def modelled_anew(self) -> OpenedStudy:
        """The same study with a sampler that has read nothing of it."""
        return replace(self, sampler=default_sampler(self.study_file), recommended={}, _beliefs={})

    def attempt(
        self, doing: str, do: Callable[[], Result], before: Callable[[], None] = lambda: None
    ) -> Result:
        """The result of a function that uses the storage.

        It is called again while the database server ends the connections in it, and after a while
        if the database refuses its statements for now, as where one took too long.

        Args:
            doing: Names what it does, for the error.
            do: The function.
            before: Called before each further time, to undo what the last one has written.

        Raises:
            StorageFailed: If the storage fails.
        """

        def undo() -> None:
            self.storage.remove_session()  # with its transaction, which cannot go on
            if (engine := getattr(self.storage, "engine", None)) is not None:
                engine.dispose()  # the server may be another one after a failover
            before()

        with self.location.errors(doing):
            return overcome(do, undo)

    def lock(
        self, sleep: Callable[[float], None] = time.sleep
    ) -> contextlib.AbstractContextManager[None]:
        """Exclude the other processes that tune the study; see `study_lock`."""
        return study_lock(self.location, sleep)


def open_study(path: Path | str) -> OpenedStudy:
    """Open the study of a study file for reading; nothing is created or changed.

    Args:
        path: The study file.

    Returns:
        The study.

    Raises:
        StudyFileError: If the study file is invalid, there is no study yet, or the storage holds
            another study.
        StorageFailed: If the storage cannot be read.
    """
    study_file = StudyFile.load(path)
    name, location = study_file.study.name, locate(study_file)
    storage = location.connect(create=False)
    with location.errors("reading"):
        if not location.has_study(storage):
            raise _no_study(location)
        older = _older_study(study_file)
        sampler = _default_sampler(study_file, older)
        with location.readable("the study"):
            study = optuna.load_study(study_name=name, storage=storage, sampler=sampler)
        trials = location.trials(study)
        _check_others(study_file, older, trials)
        check_compatible(study_file, study, trials, location.label)
    return OpenedStudy(location, storage, study, sampler)


def with_recorded_units(study_file: StudyFile) -> StudyFile:
    """A study file with the units that the measurements of its study have, if there is one."""
    with contextlib.suppress(NoStudy):
        return open_study(study_file.path).state().study_file
    return study_file


def check_study(study_file: StudyFile) -> None:
    """Check that `create_study` could open a study's storage; nothing is created or changed.

    A server is not connected.

    Raises:
        StudyFileError: If the storage cannot be used, or holds another study.
        StorageFailed: If a file cannot be read.
    """
    location = locate(study_file)
    location.check()
    if not location.shared:
        with contextlib.suppress(NoStudy):
            open_study(study_file.path)
    default_sampler(study_file)


def create_study(
    study_file: StudyFile,
    sampler: BaseSampler | None = None,
    worker: int = 0,
    *,
    create: bool = True,
    joins: bool = False,
    say: Callable[[str], None] | None = None,
) -> OpenedStudy:
    """Open the study of a study file for tuning; it is created if it does not exist.

    Args:
        study_file: The checked study file.
        sampler: Optuna sampler, by default surefoot's own.
        worker: Index of this worker, which has a seed of its own.
        create: Whether it is created; if not, `NoStudy` is raised where it does not exist.
        joins: Whether another process has opened it, so that a server that refuses a connection is
            tried again; else whoever mistyped its URL is told at once.
        say: Shows a line about what is waited for; by default on standard error.

    Returns:
        The study, with a note if the objective has changed.

    Raises:
        StudyFileError: If the storage holds another study, which is left unchanged.
        StorageFailed: If the storage cannot be read or written.
    """
    older = _older_study(study_file)  # before anything is created
    found = locate(study_file)
    location = found if say is None else replace(found, say=say)
    then = "no measurement was begun: check study.storage, and its server if it has one"
    with location.errors("opening the study", then):
        at_once = () if joins else (SurefootError,)
        return overcome(
            lambda: _create_study(location, sampler, worker, older, create), at_once=at_once
        )


def _create_study(
    location: Location,
    sampler: BaseSampler | None,
    worker: int,
    older: OlderStudy | None,
    create: bool,
) -> OpenedStudy:
    study_file, name = location.study_file, location.study_file.study.name
    with study_lock(location):
        storage = location.connect(create=create)
        exists = location.has_study(storage)
        if not exists and not create:
            raise _no_study(location)
        if not exists and not location.shared and (names := location.study_names(storage)):
            raise location.error(
                f"{location.label} is the storage of study {names[0]!r}, not of {name!r}; "
                "choose another storage, to which `surefoot import` adds that study's "
                "measurements, or restore study.name",
            )
        with location.readable("the study"):
            study = (
                optuna.load_study(study_name=name, storage=storage, sampler=sampler)
                if exists  # creating it would try to insert it first
                else optuna.create_study(
                    study_name=name,
                    storage=storage,
                    direction=study_file.study.direction,
                    sampler=sampler,
                    load_if_exists=True,
                )
            )
        trials = location.trials(study)
        _check_others(study_file, older, trials)
        note = check_compatible(study_file, study, trials, location.label)
        if study.user_attrs.get(DEFINITION) != (defined := continued(study_file, study, trials)):
            study.set_user_attr(DEFINITION, defined)
    if sampler is None:
        study.sampler = _default_sampler(study_file, older, worker, len(trials))
    return OpenedStudy(location, storage, study, _modelling(study, study_file), note)


def _no_study(location: Location) -> NoStudy:
    study_file = location.study_file
    name, next_step = study_file.study.name, study_file.first_step
    return NoStudy(f"{location.label}: contains no study {name!r}; {next_step}")


def _modelling(study: optuna.Study, study_file: StudyFile) -> SurefootSampler:
    """The sampler of a study, or surefoot's default beside one that models another objective."""
    sampler = study.sampler
    has_environment = study_file.scheme.environment is not None
    if isinstance(sampler, SurefootSampler) and (
        (sampler.environment is not None) is has_environment
    ):
        return sampler
    return default_sampler(study_file)


def default_sampler(study_file: StudyFile) -> SurefootSampler:
    """Surefoot's sampler, seeded from the study's seed."""
    return _default_sampler(study_file, _older_study(study_file))


def initial_size(study_file: StudyFile) -> int | None:
    """Size of the initial design: what is asked for, or few where rounds are; else None."""
    study = study_file.study
    if study.initial or study_file.is_safe or study.rounds >= FEW_ROUNDS:
        return study.initial
    from surefoot.algorithms._defaults import size_in_few_rounds

    return size_in_few_rounds(study_file.space.encoding.box, study.rounds)


def _default_sampler(
    study_file: StudyFile,
    older: OlderStudy | None,
    worker: int = 0,
    existing: int = 0,
    log: bool = False,
) -> SurefootSampler:
    """Surefoot's sampler with the study of `[prior]`; of logarithms, whatever the file says.

    Each worker has a seed of its own, and so has each run that resumes a study with `existing`
    trials: with the first run's seed it would repeat that run's initial design.
    """
    seed = study_file.study.seed
    if worker or existing:
        seed = int(np.random.SeedSequence([seed, worker, existing]).generate_state(1)[0])
    problem = Problem(
        outcomes={**study_file.constraints, **study_file.scheme.further},
        guess=study_file.guess or None,
        prior=older,
        safe=study_file.study.safe,
        assume=None if log else study_file.contents.assumed,
        estimand=study_file.objective.estimand,
        **study_file.scheme.arguments(study_file.scheme),
    )
    sampler = SurefootSampler(
        problem,
        seed=seed,
        search_space=study_file.space,
        method=partial(_robust, study_file),
        initial=study_file.study.initial,
        log=log or study_file.objective.log,
        effects=study_file.objective.effects,
        repeats=study_file.repeats.most,
        unstable=study_file.repeats.unstable or None,
    )
    sampler.keep_fits(study_file.folder / f"{study_file.study.name}.fits")
    return sampler


def _robust(study_file: StudyFile, problem: Problem, **options: Any) -> Method:
    """The default with the study's initial design, whose size is known where torch is loaded."""
    from surefoot.algorithms import robust

    return robust(problem, **{**options, "initial": initial_size(study_file)})


def _check_others(
    study_file: StudyFile, older: OlderStudy | None, trials: Sequence[FrozenTrial]
) -> None:
    """Refuse an older study with measurements that are in the study itself."""
    if older is not None and not _moments(older.trials).isdisjoint(_moments(trials)):
        raise study_file.error(
            "prior.from",
            "has measurements of this very study, which would count twice; expected those of a "
            "related system, since `surefoot import` is for those of the same one",
        )


def _moments(trials: Sequence[FrozenTrial]) -> set[tuple[Any, ...]]:
    """When measurements began and what they were, by which copies of them are known."""
    known = ((trial_start(one), one.values) for one in trials)
    return {(start, *values) for start, values in known if start is not None and values}


def _older_study(study_file: StudyFile) -> OlderStudy | None:
    """The study of `[prior]` with parameters in the units of the file, None if there is none."""
    if study_file.prior is None:
        return None
    file = study_file.folder / study_file.prior.source
    if not is_storage(file):
        raise study_file.error(
            "prior.from",
            f"got {shown(study_file.prior.source)}, which is no storage of a study, expected a "
            "file that `surefoot tune` has written, such as 'old.db'",
        )
    try:
        study = study_in(study_file, file)[0]
        direction = StudyDirection[study_file.study.direction.upper()]
        conversion = ParameterConversion.between(study, file, study_file)
        older = OlderStudy.of(study).with_params(conversion.params)
        older.check(study_file.space.encoding, direction, study_file.objective.log)
    except InvalidInput as error:
        raise study_file.error("prior.from", str(error)) from None
    return older


def import_model() -> None:
    """Import everything that the first choice of a configuration would import.

    There are some 800 modules, in which a signal is better not handled by Python code.
    """
    for name in (
        "surefoot.algorithms",
        "surefoot.integrations.optuna.study_belief",
        "surefoot.integrations.optuna.tracker",
        "scipy.optimize",
    ):
        importlib.import_module(name)
