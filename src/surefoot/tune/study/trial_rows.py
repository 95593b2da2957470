"""Many finished trials written to a storage at once."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

import optuna
from optuna.distributions import distribution_to_json
from optuna.storages import BaseStorage, RDBStorage
from optuna.storages._rdb import models
from optuna.trial import FrozenTrial
from sqlalchemy.orm import Session

AT_ONCE = 500  # trials of a transaction


def add_finished(
    study: optuna.Study, storage: BaseStorage, trials: Sequence[FrozenTrial]
) -> Iterator[int]:
    """Add finished trials to a study as `study.add_trial` does, to a database 500 at once.

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
    for begin in range(0, len(trials), AT_ONCE):
        some = trials[begin : begin + AT_ONCE]
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
