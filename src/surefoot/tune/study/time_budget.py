"""The time that the runs of a study have taken, and their pace."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from optuna.trial import FrozenTrial

from surefoot.tune.study.early_stop import EndOfSearch
from surefoot.tune.study.trial_attributes import is_interrupted, is_round
from surefoot.tune.study.trial_owner import owner_of

if TYPE_CHECKING:
    from surefoot.tune.study.state import StudyState

OVER = "surefoot:over"
"""Attribute of a study, the largest budget in seconds that a run found to be over.

The time between the last measurement and that does not count later, and nothing may begin in it."""

SEARCHED = "surefoot:searched"
"""Attribute of a study whose search has ended with its share of the budget: when, and until when.

It is of one budget: with a larger one the search goes on."""

RECENT = 10  # rounds by which the pace of a run is estimated


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
        name, began = run_of(trial), trial.datetime_start
        if not name or began is None:
            continue
        ended = None if is_interrupted(trial) else trial.datetime_complete
        first, last = ends.get(name, (began, began))
        last = now if name == run else max(last, ended or began)
        ends[name] = min(first, began), last
    return sum(max((last - first).total_seconds(), 0.0) for first, last in ends.values())


def end_of_share(state: StudyState) -> EndOfSearch | None:
    """The end of the search with its share of the budget, if there was one."""
    study, stored = state.study_file.study, state.attributes.get(SEARCHED)
    if not isinstance(stored, dict) or stored.get("budget") != study.seconds:
        return None
    reason = f"what is left of the {study.budget} is for measuring the best again"
    return EndOfSearch(stored["begun"], stored["target"], reason)


def check_share(state: StudyState, begun: int, confirm: int, seconds_left: float) -> StudyState:
    """Record the end of the search once only the share of the confirm stage is left of the budget.

    Args:
        state: The study, which no other process is reading for a decision now.
        begun: Rounds that have begun.
        confirm: Runs of the confirm stage after the search.
        seconds_left: Seconds that are left of the budget.

    Returns:
        The study with the record, or as it was.
    """
    budget = state.study_file.study.seconds
    if math.isinf(budget) or seconds_left > state.study_file.confirm.share * budget:
        return state
    found = {"budget": budget, "begun": begun, "target": begun + confirm}
    return state.with_attribute(SEARCHED, found)


def run_of(trial: FrozenTrial) -> str:
    """Name of the run that a trial belongs to, empty where it was measured from outside."""
    return (owner_of(trial) or {"run": ""})["run"]


def latest_run(trials: Sequence[FrozenTrial]) -> str:
    """Name of the run that has begun the latest trial, empty before the first one."""
    begun = [one for one in trials if one.datetime_start is not None]
    return run_of(max(begun, key=lambda one: one.datetime_start)) if begun else ""


def seconds_to_end(trials: Sequence[FrozenTrial], run: str, rounds: int, now: datetime) -> float:
    """Seconds until further rounds have ended at the pace of a run's latest ones.

    The time between two runs does not count. NaN while the run has fewer than two rounds, and once
    the time is over, as when the run has died.

    Args:
        trials: Trials of the study.
        run: Name of the run.
        rounds: Number of further rounds.
        now: The present time.
    """
    own = [one for one in trials if is_round(one) and run_of(one) == run]
    ends = sorted(one.datetime_complete for one in own if one.datetime_complete)[-RECENT:]
    if len(ends) < 2:
        return math.nan
    pace = (ends[-1] - ends[0]).total_seconds() / (len(ends) - 1)
    left = rounds * pace - (now - ends[-1]).total_seconds()
    return left if left > 0.0 else math.nan
