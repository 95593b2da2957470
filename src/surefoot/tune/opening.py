"""From a study file to the Optuna study it describes."""

from __future__ import annotations

import logging
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.storages import RDBStorage

from surefoot.integrations.optuna import StudyBelief, StudyRecommendation, SurefootSampler
from surefoot.tune import identity
from surefoot.tune.command_line import CommandTemplate
from surefoot.tune.function import FunctionObjective
from surefoot.tune.ledger import turn
from surefoot.tune.objective import CommandObjective, Objective
from surefoot.tune.observed import Observed
from surefoot.tune.storage import NoStudy, connect, locate, storage_errors
from surefoot.tune.study_file import StudyFile


@dataclass(frozen=True)
class Opened:
    """A study that can be written to; `note` is something the person should know of it."""

    study: optuna.Study
    storage: RDBStorage
    note: str | None = None


def open_study(path: Path | str) -> tuple[StudyFile, optuna.Study]:
    """The study of a study file, to look at: nothing is created or changed.

    Raises `NoStudy` where there is none yet, `StudyFileError` where the file is wrong or describes
    another study than the storage holds.
    """
    study_file = StudyFile.load(path)
    name, place = study_file.study.name, locate(study_file).label
    storage = connect(study_file, create=False)
    with storage_errors(place, "reading"):
        if name not in optuna.get_all_study_names(storage):
            raise NoStudy(
                f"{place}: holds no study {name!r}; "
                f"run `surefoot tune {study_file.path.name}` first"
            )
        study = optuna.load_study(
            study_name=name, storage=storage, sampler=default_sampler(study_file)
        )
        identity.check_same(study_file, study, place)
    return study_file, study


def begin_study(
    study_file: StudyFile, sampler: BaseSampler | None = None, worker: int = 0
) -> Opened:
    """The study of a study file, to go on with, made if it does not exist.

    Without a `sampler` it has surefoot's own, seeded for this worker. Raises `StudyFileError`,
    before anything is changed, where the storage holds another study.
    """
    name, place = study_file.study.name, locate(study_file)
    with turn(study_file.path):
        storage = connect(study_file, create=True)
        with storage_errors(place.label, "opening the study"):
            names = optuna.get_all_study_names(storage)
            if names and name not in names and place.file is not None:
                raise study_file.error(
                    "study.storage",
                    f"{place.label} is the storage of study {names[0]!r}, not of {name!r}; "
                    "choose another storage, or put study.name back",
                )
            study = optuna.create_study(
                study_name=name,
                storage=storage,
                direction=study_file.study.direction,
                sampler=sampler,
                load_if_exists=True,
            )
            note = identity.check_same(study_file, study, place.label)
            if study.user_attrs.get(identity.KEY) != identity.describe(study_file):
                study.set_user_attr(identity.KEY, identity.describe(study_file))
            if sampler is None:
                begun = len(study.get_trials(deepcopy=False))
                study.sampler = default_sampler(study_file, worker, begun)
    return Opened(study, storage, note)


def default_sampler(study_file: StudyFile, worker: int = 0, begun: int = 0) -> SurefootSampler:
    """The sampler of a worker of a run that found `begun` trials, seeded from the study's seed.

    Each worker has a seed of its own, and so has each run that goes on with a study: with the
    first run's seed it would begin with the settings that the first run began with.
    """
    seed = study_file.study.seed
    if worker or begun:
        seed = int(np.random.SeedSequence([seed, worker, begun]).generate_state(1)[0])
    return SurefootSampler(
        seed=seed,
        search_space=study_file.distributions,
        environment=study_file.study_environment,
        risk=None if study_file.risk is None else study_file.risk.functional(),
    )


def objective_of(study_file: StudyFile) -> Objective:
    """What measures a setting of this study."""
    section, folder = study_file.objective, study_file.folder
    environment, observed = study_file.environment, None
    names = list(study_file.parameters)
    if environment is not None and environment.observed:
        observed = Observed(environment.variables)
    elif environment is not None:
        names += environment.variables
    if section.function is not None:
        return FunctionObjective(section.function, names, folder, section.timeout, observed)
    template = CommandTemplate.parse(section.command or "")
    return CommandObjective(template, folder, section.timeout, observed)


def belief_of(study_file: StudyFile, study: optuna.Study) -> StudyBelief:
    """What the model holds of a study; `NotReady` without a measurement."""
    sampler = study.sampler
    beside = study_file.study_environment is not None
    if not isinstance(sampler, SurefootSampler) or (sampler.environment is not None) is not beside:
        sampler = default_sampler(study_file)
    return sampler.belief(study)


def recommendation_of(study_file: StudyFile, belief: StudyBelief) -> StudyRecommendation:
    """The belief's recommendation, with its parameters in the order of the study file."""
    best = belief.recommend()
    return replace(best, params={name: best.params[name] for name in study_file.parameters})


def quiet_optuna() -> None:
    """Leave the terminal to surefoot: for a process that is surefoot's own."""
    optuna.logging.set_verbosity(logging.WARNING)
