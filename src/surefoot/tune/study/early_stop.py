"""The search ends when little is left to gain, or when the time is over."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from optuna.trial import FrozenTrial

from surefoot.tune.definition.constraint_text import probability_text
from surefoot.tune.study.trial_attributes import SECONDS, is_interrupted, is_round
from surefoot.tune.study.trial_owner import owner_of
from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.tune.study.state import StudyState

STOP = "surefoot:stop"
"""Attribute of a study: the last check whether to end the search, and its result."""

LEAST_ROUNDS = 15  # before the first check, and by which the pace of a run is estimated
ROUNDS_PER_PARAMETER = 10  # before the first check: fewer do not determine the lengthscales
EVERY = 3  # rounds from one check to the next
IN_A_ROW = 2  # checks that must agree, since the fit of the model varies


OVER = "surefoot:over"
"""Attribute of a study, the largest budget in seconds that a run found to be over.

The time between the last measurement and that does not count later, and nothing may begin in it."""
SEARCHED = "surefoot:searched"
"""Attribute of a study whose search has ended with its share of the budget: when, and until when.

It is of one budget: with a larger one the search goes on."""


@dataclass(frozen=True)
class EndOfSearch:
    """The decision to end the search before all rounds.

    Args:
        begun: Rounds that had begun then.
        target: Rounds to reach, those of the confirm stage included.
        reason: Why it ended.
    """

    begun: int
    target: int
    reason: str

    def __str__(self) -> str:
        return f"The search ended after {self.begun} rounds: {self.reason}."


def probability_left(state: StudyState, gain: float) -> float:
    """Probability that some configuration is better than the recommendation by more than a share.

    Args:
        state: The study.
        gain: The share, of the recommendation's predicted value.

    Returns:
        The probability.
    """
    return state.belief.probability_of_gain(state.recommendation.params, gain)


def stored_stop(state: StudyState, rounds: int) -> EndOfSearch | None:
    """The decision that was made for so many rounds or more and this `[stop]`, if any."""
    stored, section = _stored(state, rounds), state.study_file.stop
    if not isinstance(stored.get("target"), int) or section is None:
        return None
    share = f"{100.0 * section.gain:g} %"
    return EndOfSearch(
        stored["begun"],
        stored["target"],
        f"the probability that more than {share} is left to gain is "
        f"{probability_text(stored['probability'])}",
    )


def check_stop(state: StudyState, rounds: int, begun: int, confirm: int) -> StudyState:
    """Compute the probability and record it; the search ends once it is low in two checks.

    Args:
        state: The study, which no other process is reading for a decision now.
        rounds: Rounds to reach.
        begun: Rounds that have begun.
        confirm: Runs of the confirm stage after the search.

    Returns:
        The study with the record, or as it was where no check is due.
    """
    section = state.study_file.stop
    if section is None or begun < first_check(len(state.study_file.parameters)):
        return state
    stored = _stored(state, rounds)
    if begun < int(stored.get("begun", 0)) + EVERY:
        return state
    try:
        probability = probability_left(state, section.gain)
    except NotReady:
        return state
    # Where no configuration is known to satisfy the constraints, all is left to gain.
    low = probability < 1.0 - section.confidence and state.recommendation.feasible
    found: dict[str, Any] = {
        **_identity(state, rounds),
        "begun": begun,
        "probability": probability,
        "low": int(stored.get("low", 0)) + 1 if low else 0,
    }
    if found["low"] >= IN_A_ROW:
        found["target"] = min(rounds, begun + confirm)
    return state.with_attribute(STOP, found)


def first_check(parameters: int) -> int:
    """Rounds before the first check of a search over so many parameters.

    References:
        Loeppky, Sacks and Welch 2009, "Choosing the sample size of a computer experiment: a
        practical guide", for ten measurements a parameter.
    """
    return max(LEAST_ROUNDS, ROUNDS_PER_PARAMETER * parameters)


def earliest_stop(parameters: int) -> int:
    """Rounds before the first decision to end a search over so many parameters."""
    return first_check(parameters) + (IN_A_ROW - 1) * EVERY


def _stored(state: StudyState, rounds: int) -> dict[str, Any]:
    """The last check, if it was made under the same conditions, for no fewer rounds."""
    stored = state.attributes.get(STOP)
    if not isinstance(stored, dict):
        return {}
    wanted = _identity(state, rounds)
    most = stored.get("rounds")
    same = all(stored.get(key) == wanted[key] for key in ("gain", "confidence"))
    return stored if same and isinstance(most, int) and rounds <= most else {}


def _identity(state: StudyState, rounds: int) -> dict[str, Any]:
    section = state.study_file.stop
    return {
        "rounds": rounds,
        "gain": None if section is None else section.gain,
        "confidence": None if section is None else section.confidence,
    }


def seconds_spent(trials: Sequence[FrozenTrial], run: str, now: float) -> float:
    """Seconds that tuning runs have taken, each from its first trial to its last measurement.

    It follows from the trials alone, and so survives a crash. The time between two runs does not
    count, and neither do trials that other programs have measured or that were imported.

    Args:
        trials: Trials of the study.
        run: Name of the run that is going on, which has taken the time until now.
        now: The present time by the clock that cannot be set, in seconds. Optuna's trials have the
            local time.
    """
    ends: dict[str, tuple[float, float]] = {}
    for trial in trials:
        if (owner := owner_of(trial)) is None:
            continue
        name, began = owner["run"], owner["began"]
        first, last = ends.get(name, (began, began))
        lasted = 0.0 if is_interrupted(trial) else trial.user_attrs.get(SECONDS, 0.0)
        ends[name] = min(first, began), now if name == run else max(last, began + lasted)
    return sum(max(last - first, 0.0) for first, last in ends.values())


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
    ends = sorted(one.datetime_complete for one in own if one.datetime_complete)[-LEAST_ROUNDS:]
    if len(ends) < 2:
        return math.nan
    pace = (ends[-1] - ends[0]).total_seconds() / (len(ends) - 1)
    left = rounds * pace - (now - ends[-1]).total_seconds()
    return left if left > 0.0 else math.nan
