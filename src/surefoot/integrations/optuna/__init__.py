"""Optuna sampler: studies, storage, parallel workers and the dashboard remain Optuna's."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surefoot._internal.extras import extra

with extra("optuna"):
    from surefoot.integrations.optuna.attributes import (
        BLAMELESS,
        ENVIRONMENT,
        INTERRUPTED,
        STANDARD_ERROR,
        TIME,
        WORKER,
    )
    from surefoot.integrations.optuna.constraints import CONSTRAINTS
    from surefoot.integrations.optuna.search_space import SearchSpace

if TYPE_CHECKING:
    from surefoot.integrations.optuna.environment import StudyEnvironment
    from surefoot.integrations.optuna.predictions import (
        OverEnvironment,
        PredictedConstraint,
        StudyDrift,
        StudyRecommendation,
    )
    from surefoot.integrations.optuna.sampler import SurefootSampler
    from surefoot.integrations.optuna.study_belief import StudyBelief

__all__ = [
    "BLAMELESS",
    "CONSTRAINTS",
    "ENVIRONMENT",
    "INTERRUPTED",
    "STANDARD_ERROR",
    "TIME",
    "WORKER",
    "OverEnvironment",
    "PredictedConstraint",
    "SearchSpace",
    "StudyBelief",
    "StudyDrift",
    "StudyEnvironment",
    "StudyRecommendation",
    "SurefootSampler",
]
_HOMES = {
    "OverEnvironment": "predictions",
    "PredictedConstraint": "predictions",
    "StudyBelief": "study_belief",
    "StudyDrift": "predictions",
    "StudyEnvironment": "environment",
    "StudyRecommendation": "predictions",
    "SurefootSampler": "sampler",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that a program starts without loading torch."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
