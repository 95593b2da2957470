"""The Optuna study of a study file: opened, created, and summarised by its model."""

from __future__ import annotations

import contextlib
import importlib
import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna import CONSTRAINTS, SurefootSampler
from surefoot.tune.definition.compatibility import DEFINITION, check_compatible, definition
from surefoot.tune.definition.schema import RiskDescription
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.confirm_stage import ConfirmStage
from surefoot.tune.study.effects_text import effect_lines
from surefoot.tune.study.model_checks import Earlier, contradictions
from surefoot.tune.study.past import in_order_of_end, past_study
from surefoot.tune.study.storage import (
    NoStudy,
    check_readable,
    connect,
    locate,
    reading,
    storage_errors,
)
from surefoot.tune.study.study_lock import study_lock
from surefoot.tune.study.trial_attributes import is_failed_round, is_round
from surefoot.tune.study.unstable import unstable_note
from surefoot.tune.units import Units
from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.integrations.optuna import (
        PredictedConstraint,
        StudyBelief,
        StudyRecommendation,
    )

_LEAST_MEASURED = 20  # measurements, from which on earlier models are compared


@dataclass(frozen=True)
class OpenStudy:
    """A study that can be written to; `note` is for the user."""

    study: optuna.Study
    storage: BaseStorage
    note: str | None = None


@dataclass(frozen=True)
class AgainstDefaults:
    """The recommendation compared with the default configuration of the study file.

    Args:
        params: The default configuration.
        value: Its predicted value.
        change: The recommendation's value less that one, as predicted jointly.
        lower: Lower end of the confidence interval of the change.
        upper: Upper end.
    """

    params: dict[str, Any]
    value: float
    change: float
    lower: float
    upper: float

    def __str__(self) -> str:
        ends = (self.lower, self.upper)
        share = abs(self.change / self.value) if self.value else math.inf
        certain = self.lower * self.upper > 0.0
        if share > 10.0 or (share <= 0.005 and certain):  # which would be 0 %
            return f"{self.change:+.4g} ({ends[0]:+.4g} to {ends[1]:+.4g})"
        shares = sorted(100.0 * end / abs(self.value) for end in ends)
        change = 100.0 * self.change / abs(self.value)
        return f"{change:+.0f} % ({shares[0]:+.0f} to {shares[1]:+.0f} %)"


@dataclass(frozen=True)
class Summary:
    """What a study has found, in its own units and direction.

    Args:
        trials: Finished trials, failed ones included.
        failed: Those of them without a measurement.
        recommended: The recommended configuration, None before the first measurement.
        risk: What the recommended value means, in a study with an environment.
        defaults: The recommendation against the default configuration, None where the study file
            has none, before the first measurement, and in a study with an environment.
        constraints: The study file's constraints at the recommendation, by name; those that were
            measured, in a study without an environment.
        warnings: What in the measurements contradicts the model, a sentence each.
        units: Units of the objective and of the parameters.
        effects: What worker and time change, a sentence each; it is taken out of all predictions.
        over_environment: Names of the constraints that were measured, in a study with an
            environment, over which they hold with the recommendation's `feasibility`.
    """

    trials: int
    failed: int
    recommended: StudyRecommendation | None
    risk: RiskDescription | None = None
    defaults: AgainstDefaults | None = None
    constraints: Mapping[str, PredictedConstraint] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    units: Units = field(default_factory=Units)
    effects: tuple[str, ...] = ()
    over_environment: tuple[str, ...] = ()

    @property
    def interval(self) -> tuple[float, float] | None:
        """Ends of the recommended value's interval, None before there are two measurements.

        From one measurement the size of the noise cannot be estimated.
        """
        if self.recommended is None or self.trials - self.failed < 2:
            return None
        return self.recommended.lower, self.recommended.upper


def open_study(path: Path | str) -> tuple[StudyFile, optuna.Study]:
    """Open the study of a study file for reading; nothing is created or changed.

    Args:
        path: The study file.

    Returns:
        The checked study file and its Optuna study.

    Raises:
        StudyFileError: If the study file is invalid, there is no study yet, or the storage holds
            another study.
        StorageFailed: If the storage cannot be read.
    """
    study_file = StudyFile.load(path)
    name, location = study_file.study.name, locate(study_file)
    storage = connect(study_file, create=False)
    with storage_errors(location, "reading"):
        if name not in optuna.get_all_study_names(storage):
            raise NoStudy(
                f"{location.label}: contains no study {name!r}; "
                f"run `surefoot tune {study_file.path.name}` first"
            )
        sampler = default_sampler(study_file)
        study = optuna.load_study(study_name=name, storage=storage, sampler=sampler)
        check_readable(study, location)
        check_compatible(study_file, study, location.label)
    return study_file, study


def create_study(
    study_file: StudyFile, sampler: BaseSampler | None = None, worker: int = 0
) -> OpenStudy:
    """Open the study of a study file for tuning; it is created if it does not exist.

    Args:
        study_file: The checked study file.
        sampler: Optuna sampler, by default surefoot's own.
        worker: Index of this worker, which has a seed of its own.

    Returns:
        The study, its storage, and a note if the objective has changed.

    Raises:
        StudyFileError: If the storage holds another study, which is left unchanged.
        StorageFailed: If the storage cannot be read or written.
    """
    name, location = study_file.study.name, locate(study_file)
    with storage_errors(location, "opening the study"), study_lock(study_file):
        storage = connect(study_file, create=True)
        names = optuna.get_all_study_names(storage)
        if names and name not in names and location.file is not None:
            raise study_file.error(
                "study.storage",
                f"{location.label} is the storage of study {names[0]!r}, not of {name!r}; "
                "choose another storage, or restore study.name",
            )
        study = optuna.create_study(
            study_name=name,
            storage=storage,
            direction=study_file.study.direction,
            sampler=sampler,
            load_if_exists=True,
        )
        check_readable(study, location)
        note = check_compatible(study_file, study, location.label)
        if study.user_attrs.get(DEFINITION) != definition(study_file):
            study.set_user_attr(DEFINITION, definition(study_file))
        if sampler is None:
            existing = len(study.get_trials(deepcopy=False))
            study.sampler = default_sampler(study_file, worker, existing)
    return OpenStudy(study, storage, note)


def import_model() -> None:
    """Import what the first choice of a configuration would import.

    That is some 800 modules, in which a signal is better not handled by Python code.
    """
    for name in (
        "surefoot.algorithms",
        "surefoot.integrations.optuna.study_belief",
        "surefoot.integrations.optuna.tracker",
        "scipy.optimize",
    ):
        importlib.import_module(name)


def default_sampler(study_file: StudyFile, worker: int = 0, existing: int = 0) -> SurefootSampler:
    """Surefoot's sampler, seeded from the study's seed.

    Each worker has a seed of its own, and so has each run that resumes a study with `existing`
    trials: with the first run's seed it would repeat that run's initial design.
    """
    seed = study_file.study.seed
    if worker or existing:
        seed = int(np.random.SeedSequence([seed, worker, existing]).generate_state(1)[0])
    return SurefootSampler(
        seed=seed,
        search_space=study_file.space,
        initial=study_file.study.initial,
        environment=study_file.study_environment,
        risk=None if study_file.risk is None else study_file.risk.functional(),
        constraints=study_file.constraints,
        log=study_file.objective.log,
        effects=study_file.objective.effects,
        estimand=study_file.objective.estimand,
        repeats=study_file.repeats.most,
        unstable=study_file.repeats.unstable or None,
    )


def fitted_model(study_file: StudyFile, study: optuna.Study) -> StudyBelief:
    """The model fitted to a study's measurements, in the study's units and direction.

    Args:
        study_file: The checked study file.
        study: Its study, as `open_study` gives it.

    Returns:
        The model, with `recommend` and `predict`.

    Raises:
        NotReady: If the study has no measurement yet.
        StorageFailed: If the storage cannot be read.
    """
    sampler = study.sampler
    has_environment = study_file.study_environment is not None
    if (
        not isinstance(sampler, SurefootSampler)
        or (sampler.environment is not None) is not has_environment
    ):
        sampler = default_sampler(study_file)
    with reading(study_file):
        return sampler.belief(study)


def recommendation(
    study_file: StudyFile, study: optuna.Study, model: StudyBelief
) -> StudyRecommendation:
    """The best candidate of the confirm stage, before it the configuration that the model prefers.

    Args:
        study_file: The checked study file.
        study: Its study.
        model: The model of that study.

    Returns:
        The recommendation, with its parameters in the order of the study file.
    """
    stage = ConfirmStage.current(study_file, study)
    with warnings.catch_warnings():  # of what `feasible` says
        warnings.simplefilter("ignore")
        best = model.recommend() if stage is None else stage.recommend(model)
    return replace(best, params=study_file.space.restricted(best.params))


def summarise(study_file: StudyFile, study: optuna.Study) -> Summary:
    """Recommend a configuration and count the trials.

    Args:
        study_file: The checked study file.
        study: Its study, as `open_study` gives it.

    Returns:
        The recommendation and the numbers of trials.

    Raises:
        StorageFailed: If the storage cannot be read.
    """
    recommended = against = None
    constraints: dict[str, PredictedConstraint] = {}
    doubts: tuple[str, ...] = ()
    effects: tuple[str, ...] = ()
    with reading(study_file):
        with contextlib.suppress(NotReady):
            model = fitted_model(study_file, study)
            recommended = recommendation(study_file, study, model)
            against = against_defaults(study_file, model, recommended)
            constraints = predicted_constraints(study_file, model, recommended)
            earlier = _earlier_recommendations(study_file, study, model)
            doubts = contradictions(study_file, study, model, recommended, earlier)
            effects = effect_lines(study_file, model, recommended.params)
            note = unstable_note(study, model, recommended.params)
            doubts = (*doubts, note) if note else doubts
        trials = study.get_trials(deepcopy=False)
    finished, failures = sum(map(is_round, trials)), sum(map(is_failed_round, trials))
    risk = study_file.risk_description
    return Summary(
        finished,
        failures,
        recommended,
        risk,
        against,
        constraints,
        doubts,
        study_file.units,
        effects,
        constraints_over_environment(study_file, trials),
    )


def _earlier_recommendations(
    study_file: StudyFile, study: optuna.Study, model: StudyBelief
) -> list[Earlier]:
    """Those after half and after three quarters of the measurements."""
    measured = len(model.trials)
    if study_file.environment is not None or measured < _LEAST_MEASURED:
        return []
    finished, found = in_order_of_end(study), []
    for count in (measured // 2, 3 * measured // 4):
        past = past_study(study, finished, count)
        then = fitted_model(study_file, past)
        found.append(Earlier(count, recommendation(study_file, past, then)))
    return found


def predicted_constraints(
    study_file: StudyFile, model: StudyBelief, recommended: StudyRecommendation
) -> dict[str, PredictedConstraint]:
    """The constraints at the recommendation, in the order of the study file."""
    if study_file.environment is not None or not study_file.constraints:
        return {}
    known = model.constraints(recommended.params)
    return {name: known[name] for name in study_file.constraints if name in known}


def constraints_over_environment(
    study_file: StudyFile, trials: Iterable[FrozenTrial]
) -> tuple[str, ...]:
    """Names of the measured constraints, in the order of the study file.

    Empty in a study without an environment, where each has a prediction of its own.
    """
    if study_file.environment is None:
        return ()
    measured = {
        name
        for trial in trials
        if trial.state == TrialState.COMPLETE
        for name in trial.user_attrs.get(CONSTRAINTS, ())
    }
    return tuple(name for name in study_file.constraints if name in measured)


def against_defaults(
    study_file: StudyFile, model: StudyBelief, recommended: StudyRecommendation
) -> AgainstDefaults | None:
    """The recommendation against the default configuration, None where that does not apply."""
    defaults = study_file.defaults
    if defaults is None or study_file.environment is not None:
        return None
    value = float(model.predict([defaults])[0][0])
    return AgainstDefaults(defaults, value, *model.difference(recommended.params, defaults))
