"""The search ends when little is left to gain with the confidence that the study file asks for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import optuna

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.study import fitted_model, recommendation
from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief

STOP = "surefoot:stop"
"""Attribute of a study: the last check whether to end the search, and its result."""

LEAST_ROUNDS = 15  # before the first check
ROUNDS_PER_PARAMETER = 10  # before the first check: fewer do not determine the lengthscales
EVERY = 3  # rounds from one check to the next
IN_A_ROW = 2  # checks that must agree, since the fit of the model varies


@dataclass(frozen=True)
class EarlyStop:
    """The decision to end the search.

    Args:
        begun: Rounds that had begun then.
        target: Rounds to reach, those of the confirm stage included.
        probability: Probability that more than `gain` was left.
        gain: The gain of the study file, as a share of the recommendation's value.
    """

    begun: int
    target: int
    probability: float
    gain: float

    def __str__(self) -> str:
        return (
            f"The search ended after {self.begun} rounds: the probability that more than "
            f"{100.0 * self.gain:g} % is left to gain is {self.probability:.2g}."
        )


def probability_left(
    study_file: StudyFile, study: optuna.Study, model: StudyBelief, gain: float
) -> float:
    """Probability that some configuration is better than the recommendation by more than a share.

    Args:
        study_file: The study file.
        study: The study.
        model: Its model.
        gain: The share, of the recommendation's predicted value.

    Returns:
        The probability.
    """
    best = recommendation(study_file, study, model)
    return model.probability_of_gain(best.params, gain)


def stored_stop(study_file: StudyFile, study: optuna.Study, rounds: int) -> EarlyStop | None:
    """The decision that was made for so many rounds or more and this `[stop]`, if any."""
    stored = _stored(study_file, study, rounds)
    if not isinstance(stored.get("target"), int) or study_file.stop is None:
        return None
    begun, target, probability = stored["begun"], stored["target"], stored["probability"]
    return EarlyStop(begun, target, probability, study_file.stop.gain)


def check_stop(
    study_file: StudyFile, study: optuna.Study, rounds: int, begun: int, confirm: int
) -> None:
    """Compute the probability and record it; the search ends once it is low in two checks.

    Args:
        study_file: A study file with `[stop]`.
        study: Its study, which no other process is reading for a decision now.
        rounds: Rounds to reach.
        begun: Rounds that have begun.
        confirm: Runs of the confirm stage after the search.
    """
    section = study_file.stop
    if section is None or begun < first_check(len(study_file.parameters)):
        return
    stored = _stored(study_file, study, rounds)
    if begun < int(stored.get("begun", 0)) + EVERY:
        return
    try:
        model = fitted_model(study_file, study)
    except NotReady:
        return
    probability = probability_left(study_file, study, model, section.gain)
    low = int(stored.get("low", 0)) + 1 if probability < 1.0 - section.confidence else 0
    found: dict[str, Any] = {
        **_identity(study_file, rounds),
        "begun": begun,
        "probability": probability,
        "low": low,
    }
    if low >= IN_A_ROW:
        found["target"] = min(rounds, begun + confirm)
    study.set_user_attr(STOP, found)


def first_check(parameters: int) -> int:
    """Rounds before the first check of a search over so many parameters.

    References:
        Loeppky, Sacks and Welch 2009, "Choosing the sample size of a computer experiment: a
        practical guide", for ten measurements a parameter.
    """
    return max(LEAST_ROUNDS, ROUNDS_PER_PARAMETER * parameters)


def _stored(study_file: StudyFile, study: optuna.Study, rounds: int) -> dict[str, Any]:
    """The last check, if it was made under the same conditions, for no fewer rounds."""
    stored = study.user_attrs.get(STOP)
    if not isinstance(stored, dict):
        return {}
    wanted = _identity(study_file, rounds)
    most = stored.get("rounds")
    same = all(stored.get(key) == wanted[key] for key in ("gain", "confidence"))
    return stored if same and isinstance(most, int) and rounds <= most else {}


def _identity(study_file: StudyFile, rounds: int) -> dict[str, Any]:
    section = study_file.stop
    return {
        "rounds": rounds,
        "gain": None if section is None else section.gain,
        "confidence": None if section is None else section.confidence,
    }
