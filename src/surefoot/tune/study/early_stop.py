"""The search ends when little is left to gain with the confidence that the study file asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.tune.study.state import StudyState

STOP = "surefoot:stop"
"""Attribute of a study: the last check whether to end the search, and its result."""

LEAST_ROUNDS = 15  # before the first check
ROUNDS_PER_PARAMETER = 10  # before the first check: fewer do not determine the lengthscales
EVERY = 3  # rounds from one check to the next
IN_A_ROW = 2  # checks that must agree, since the fit of the model varies


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
        f"the probability that more than {share} is left to gain is {stored['probability']:.2g}",
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
