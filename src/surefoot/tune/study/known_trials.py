"""Rows of a table that are trials of the study already, so that nothing is counted twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from optuna.trial import FrozenTrial

from surefoot.tune.study.trial_attributes import (
    IMPORTED,
    is_round,
    trial_environment,
    trial_start,
    trial_worker,
)

SAME_TIME = timedelta(seconds=1)  # a database may store whole seconds


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
