"""Copies of studies whose trials carry what the model says of them, for Optuna's own views."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from copy import copy

import optuna
from optuna.exceptions import DuplicatedStudyError, ExperimentalWarning
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial

from surefoot._internal.user_warnings import warn
from surefoot.integrations.optuna.attributes import ENVIRONMENT
from surefoot.integrations.optuna.common_space import chosen_for, configuration_distributions
from surefoot.integrations.optuna.environment import StudyEnvironment
from surefoot.integrations.optuna.multi_objective import belief, sampler_of
from surefoot.integrations.optuna.sampler import SurefootSampler
from surefoot.integrations.optuna.study_belief import StudyBelief
from surefoot.types import InvalidInput

PREDICTED, LOWER, UPPER, WEIGHT = "predicted", "predicted lower", "predicted upper", "model weight"


def annotated(
    study: Study,
    storage: str | BaseStorage | None = None,
    study_name: str | None = None,
    sampler: SurefootSampler | None = None,
) -> Study:
    """Copy a study, with the model's prediction and weight of each trial as user attributes.

    Optuna cannot change finished trials, so the study itself stays as it is.
    `optuna.visualization` and optuna-dashboard then draw the attributes as they draw values:
    `"predicted"` at the trial's configuration (and environment), without noise, `"predicted
    lower"` and `"predicted upper"`, the ends of its 95 % interval, and `"model weight"`, from 1
    (full weight) to 0 (treated as an outlier). With several objectives the names begin with the
    objective's, as `"latency predicted"`. Trials that are not in the model have none of them.

    Args:
        study: A study of Optuna, whichever sampler ran it.
        storage: Where the copy is kept, as for `optuna.create_study`; by default in memory.
        study_name: Name of the copy, by default that of the study.
        sampler: Sampler whose model is asked, as for `belief`.

    Returns:
        The copy.

    Raises:
        NotReady: If no trial has finished with a value.
        InvalidInput: If `study` is no study, a trial has one of these attributes already, or the
            storage has a study of that name.

    Example:
        >>> import optuna
        >>> from surefoot.integrations.optuna import annotated
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        >>> study.optimize(lambda trial: trial.suggest_float("x", 0, 1) ** 2, n_trials=10)
        >>> trial = annotated(study).trials[3]
        >>> known = trial.user_attrs
        >>> abs(known["predicted"] - trial.value) < 0.1, known["model weight"] > 0.5
        (True, True)
    """
    sampler = sampler_of(study, sampler)
    environment = sampler.environment
    if environment is None:
        found: Mapping[str, StudyBelief] = belief(study, sampler).objectives
    else:
        found = {"value": sampler.belief(study)}
    trials = study.get_trials(deepcopy=False)
    attributes: dict[int, dict[str, float]] = {trial.number: {} for trial in trials}
    for objective, one in found.items():
        before = f"{objective} " if len(found) > 1 else ""
        for part, numbers in one.parts:
            inside = {*numbers}
            known = [trial for trial in trials if trial.number in inside]
            for trial, row in zip(known, _rows(part, known, environment), strict=True):
                attributes[trial.number] |= {
                    f"{before}{what}": value for what, value in row.items()
                }
    copies = [_with(trial, attributes[trial.number]) for trial in trials]
    name = study.study_name if study_name is None else study_name
    try:
        made = optuna.create_study(storage=storage, study_name=name, directions=study.directions)
    except DuplicatedStudyError as error:
        raise InvalidInput(
            f"the storage has a study {name!r} already, expected a new name: pass `study_name`, or "
            "delete the earlier copy."
        ) from error
    if study.metric_names is not None:
        # which the user has had
        with warnings.catch_warnings(action="ignore", category=ExperimentalWarning):
            made.set_metric_names(study.metric_names)
    for key, value in study.user_attrs.items():
        made.set_user_attr(key, value)
    for one in copies:
        try:
            made.add_trial(one)
        except ValueError as error:  # of one that was enqueued outside a range
            warn(f"trial {one.number} is left out of the copy, as Optuna refuses it: {error}")
    return made


def _rows(
    part: StudyBelief, trials: Sequence[FrozenTrial], environment: StudyEnvironment | None
) -> list[dict[str, float]]:
    """Predictions and weights of trials that are in a model."""
    if not trials:
        return []
    under = None
    if environment is not None:
        usual = environment.unrecorded
        under = [trial.user_attrs.get(ENVIRONMENT, usual) for trial in trials]
    ends = part.predict(chosen_for(trials, configuration_distributions(part.encoding.space)), under)
    weights = dict(zip(part.trials, part.weights.tolist(), strict=True))
    columns = [*(end.tolist() for end in ends), [weights[trial.number] for trial in trials]]
    names = PREDICTED, LOWER, UPPER, WEIGHT
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _with(trial: FrozenTrial, attributes: Mapping[str, float]) -> FrozenTrial:
    if taken := sorted(trial.user_attrs.keys() & attributes.keys()):
        raise InvalidInput(
            f"trial {trial.number} has the user attribute {taken[0]!r} already, expected none of "
            "that name: annotate the study itself, not an annotated copy, or rename the attribute."
        )
    found = copy(trial)
    found.user_attrs = {**trial.user_attrs, **attributes}
    return found
