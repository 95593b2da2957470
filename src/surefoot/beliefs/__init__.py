"""Beliefs: all that follows from a history of measurements, as frozen values."""

from surefoot._internal.estimands import Estimand
from surefoot.beliefs import gains
from surefoot.beliefs.belief import Belief, Predictions, Reported
from surefoot.beliefs.candidates import Bounds, Candidates
from surefoot.beliefs.constraints import ConstraintBelief, ConstraintBeliefs, PredictedLimit
from surefoot.beliefs.failure import FailureBelief
from surefoot.beliefs.intervals import ConfidenceBounds, Credible, Interval
from surefoot.beliefs.outcome import OutcomeBelief
from surefoot.beliefs.probability import Probability, Score
from surefoot.regression.posterior import Moments

__all__ = [
    "Belief",
    "Bounds",
    "Candidates",
    "ConfidenceBounds",
    "ConstraintBelief",
    "ConstraintBeliefs",
    "Credible",
    "Estimand",
    "FailureBelief",
    "Interval",
    "Moments",
    "OutcomeBelief",
    "PredictedLimit",
    "Predictions",
    "Probability",
    "Reported",
    "Score",
    "gains",
]
