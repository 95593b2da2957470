"""Optuna sampler: studies, storage, parallel workers and the dashboard remain Optuna's."""

from surefoot.integrations.optuna.constraints import CONSTRAINTS
from surefoot.integrations.optuna.environment import ENVIRONMENT, StudyEnvironment
from surefoot.integrations.optuna.model import (
    OverEnvironment,
    PredictedConstraint,
    StudyBelief,
    StudyRecommendation,
)
from surefoot.integrations.optuna.sampler import SurefootSampler
from surefoot.integrations.optuna.tracker import BLAMELESS, INTERRUPTED

__all__ = [
    "BLAMELESS",
    "CONSTRAINTS",
    "ENVIRONMENT",
    "INTERRUPTED",
    "OverEnvironment",
    "PredictedConstraint",
    "StudyBelief",
    "StudyEnvironment",
    "StudyRecommendation",
    "SurefootSampler",
]
