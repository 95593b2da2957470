"""Beliefs: all that follows from a history of measurements, as frozen values."""

from surefoot._internal.estimands import Estimand
from surefoot.beliefs.belief import Belief, Bounds
from surefoot.beliefs.constraints import ConstraintBelief, ConstraintBeliefs, PredictedLimit
from surefoot.beliefs.intervals import ConfidenceBounds, Credible, Interval
from surefoot.beliefs.model import Model
from surefoot.beliefs.outcome import OutcomeBelief
from surefoot.beliefs.probability import Probability, Score
from surefoot.regression.posterior import Moments

__all__ = [
    "Belief",
    "Bounds",
    "ConfidenceBounds",
    "ConstraintBelief",
    "ConstraintBeliefs",
    "Credible",
    "Estimand",
    "Interval",
    "Model",
    "Moments",
    "OutcomeBelief",
    "PredictedLimit",
    "Probability",
    "Score",
]
