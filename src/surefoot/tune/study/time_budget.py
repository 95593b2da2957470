"""The time that the runs of a study have taken."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from optuna.trial import FrozenTrial

from surefoot.tune.study.trial_attributes import is_interrupted
from surefoot.tune.study.trial_owner import owner_of


def seconds_spent(trials: Sequence[FrozenTrial], run: str, now: datetime) -> float:
    """Seconds that tuning runs have taken, each from its first trial to its last measurement.

    It follows from the trials alone, and so survives a crash. The time between two runs does not
    count, and neither do trials that other programs have measured or that were imported.

    Args:
        trials: Trials of the study.
        run: Name of the run that is going on, which has taken the time until now.
        now: The present time.
    """
    ends: dict[str, tuple[datetime, datetime]] = {}
    for trial in trials:
        owner, began = owner_of(trial), trial.datetime_start
        if owner is None or began is None:
            continue
        name = owner["run"]
        ended = None if is_interrupted(trial) else trial.datetime_complete
        first, last = ends.get(name, (began, began))
        last = now if name == run else max(last, ended or began)
        ends[name] = min(first, began), last
    return sum(max((last - first).total_seconds(), 0.0) for first, last in ends.values())
