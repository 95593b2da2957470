"""Finished trials added to a study: none that it has already, and many at once."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any

import optuna
from optuna.distributions import distribution_to_json
from optuna.storages import BaseStorage, RDBStorage
from optuna.storages._rdb import models
from optuna.trial import FrozenTrial
from sqlalchemy.orm import Session

from surefoot._internal.numbers import ROWS_AT_ONCE
from surefoot.tune.study.trial_attributes import (
    IMPORTED,
    is_round,
    trial_environment,
    trial_start,
    trial_worker,
)

SAME_TIME = timedelta(seconds=1)  # a database may store whole seconds


def add_finished(
    study: optuna.Study, storage: BaseStorage, trials: Sequence[FrozenTrial]
) -> Iterator[int]:
    """Add finished trials to a study as `study.add_trial` does, to a database many at once.

    `add_trial` makes a transaction of ten statements and more of each trial.

    Args:
        study: The study.
        storage: Its storage, without a cache.
        trials: Finished trials with one value or none, and without intermediate values.

    Yields:
        The number of trials that are stored.
    """
    if not isinstance(storage, RDBStorage):
        for number, trial in enumerate(trials, 1):
            study.add_trial(trial)
            yield number
        return
    for begin in range(0, len(trials), ROWS_AT_ONCE):
        some = trials[begin : begin + ROWS_AT_ONCE]
        for trial in some:
            trial._validate()
        with Session(storage.engine) as session, session.begin():
            _insert(session, study._study_id, some)
        yield begin + len(some)


def _insert(session: Session, study_id: int, trials: Sequence[FrozenTrial]) -> None:
    # The lock that Optuna takes of a study whose next trial is numbered.
    models.StudyModel.find_or_raise_by_id(study_id, session, for_update=True)
    there = session.query(models.TrialModel).filter_by(study_id=study_id).count()
    rows = [
        models.TrialModel(
            study_id=study_id,
            number=there + index,
            state=trial.state,
            datetime_start=trial.datetime_start,
            datetime_complete=trial.datetime_complete,
        )
        for index, trial in enumerate(trials)
    ]
    session.add_all(rows)
    session.flush()
    for row, trial in zip(rows, trials, strict=True):
        if trial.value is not None:
            value, kind = models.TrialValueModel.value_to_stored_repr(trial.value)
            session.add(
                models.TrialValueModel(
                    trial_id=row.trial_id, objective=0, value=value, value_type=kind
                )
            )
        for name, one in trial.params.items():
            distribution = trial.distributions[name]
            session.add(
                models.TrialParamModel(
                    trial_id=row.trial_id,
                    param_name=name,
                    param_value=distribution.to_internal_repr(one),
                    distribution_json=distribution_to_json(distribution),
                )
            )
        session.add_all(
            models.TrialUserAttributeModel(
                trial_id=row.trial_id, key=key, value_json=json.dumps(one)
            )
            for key, one in trial.user_attrs.items()
        )


def new_rows(
    rows: Sequence[tuple[FrozenTrial, datetime | None]], trials: Sequence[FrozenTrial]
) -> list[FrozenTrial]:
    """The rows that are not in the study yet.

    A row is a trial of the study if it was imported before, or if it has the same parameters,
    environment and value (or no value), and neither start nor worker contradicts that where both
    have one. Each trial stands for one row, so equal rows remain measurements of their own.

    Args:
        rows: Each row as a trial, and when its measurement began, None where it is unknown.
        trials: The trials of the study.

    Returns:
        The rows to add, in their order.
    """
    known = [trial for trial in trials if is_round(trial)]
    imported = {
        trial.user_attrs[IMPORTED]: trial for trial in known if IMPORTED in trial.user_attrs
    }
    again = {row.user_attrs[IMPORTED] for row, _ in rows} & imported.keys()
    left: dict[Any, list[FrozenTrial]] = defaultdict(list)
    for trial in known:
        if trial.user_attrs.get(IMPORTED) not in again:
            left[_measurement(trial)].append(trial)
    new = []
    for row, begun in rows:
        if row.user_attrs[IMPORTED] in again:
            continue
        same = left[_measurement(row)]
        found = next((trial for trial in same if _agrees(trial, row, begun)), None)
        if found is None:
            new.append(row)
        else:
            same.remove(found)
    return new


def _measurement(trial: FrozenTrial) -> Any:
    """Key that is equal in two records of the same measurement."""
    given = (trial.params, trial_environment(trial))
    return (*(tuple(sorted(values.items())) for values in given), trial.value)


def _agrees(trial: FrozenTrial, row: FrozenTrial, begun: datetime | None) -> bool:
    workers = (trial_worker(trial), trial_worker(row))
    if None not in workers and workers[0] != workers[1]:
        return False
    start = trial_start(trial)
    return begun is None or start is None or abs(start - begun) <= SAME_TIME
