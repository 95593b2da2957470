"""Optuna sampler: studies, storage, parallel workers and the dashboard remain Optuna's."""

from typing import TYPE_CHECKING

from surefoot._internal.extras import extra
from surefoot._internal.lazy import lazily

with extra("optuna"):
    from surefoot.integrations.optuna.attributes import (
        BLAMELESS,
        ENVIRONMENT,
        INTERRUPTED,
        STANDARD_ERROR,
        STANDARD_ERRORS,
        TIME,
        WORKER,
    )
    from surefoot.integrations.optuna.constraints import CONSTRAINTS
    from surefoot.integrations.optuna.search_space import distributions

if TYPE_CHECKING:
    from surefoot.integrations.optuna.annotation import annotated
    from surefoot.integrations.optuna.environment import StudyEnvironment
    from surefoot.integrations.optuna.fitted_values import FittedValues
    from surefoot.integrations.optuna.front import Front, ParetoPoint
    from surefoot.integrations.optuna.multi_objective import MultiObjectiveBelief, belief
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
    "STANDARD_ERRORS",
    "TIME",
    "WORKER",
    "FittedValues",
    "Front",
    "MultiObjectiveBelief",
    "OverEnvironment",
    "ParetoPoint",
    "PredictedConstraint",
    "StudyBelief",
    "StudyDrift",
    "StudyEnvironment",
    "StudyRecommendation",
    "SurefootSampler",
    "annotated",
    "belief",
    "distributions",
]
_HOMES = {
    "FittedValues": "fitted_values",
    "Front": "front",
    "MultiObjectiveBelief": "multi_objective",
    "OverEnvironment": "predictions",
    "ParetoPoint": "front",
    "PredictedConstraint": "predictions",
    "StudyBelief": "study_belief",
    "StudyDrift": "predictions",
    "StudyEnvironment": "environment",
    "StudyRecommendation": "predictions",
    "SurefootSampler": "sampler",
    "annotated": "annotation",
    "belief": "multi_objective",
}
# Imported on first use, so that a program starts without loading torch.
__getattr__ = lazily(__name__, {name: f"{__name__}.{home}" for name, home in _HOMES.items()})
