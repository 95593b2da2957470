"""The recommended setting over its environment, as numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from surefoot.spaces import FiniteEnvironment
from surefoot.tune import StudyFile
from surefoot.tune.report.cuts import intervals
from surefoot.tune.report.data import Surroundings

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief


def surroundings(
    study_file: StudyFile, belief: StudyBelief, recommended: dict[str, Any]
) -> Surroundings | None:
    """What the model says of a setting under each environment; None where there is none."""
    environment, risk = study_file.study_environment, study_file.stated_risk
    if environment is None or risk is None:
        return None
    over = belief.over_environment(recommended)
    return Surroundings(
        names=tuple(environment.names),
        listed=isinstance(environment.distribution, FiniteEnvironment),
        places=tuple(tuple(place) for place in over.values.tolist()),
        predicted=intervals(over.mean, over.lower, over.upper),
        weights=tuple(over.weights.tolist()),
        measure=risk.measure,
        level=risk.level,
        risk=risk.name,
        meaning=risk.meaning,
    )
