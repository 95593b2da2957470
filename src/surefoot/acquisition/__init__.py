"""Acquisition: policies that choose where to measure next, and what to recommend."""

from surefoot._internal.estimands import Estimand
from surefoot.acquisition.adaptive_partition import AdaptivePartition
from surefoot.acquisition.argmax import diverse, maximise
from surefoot.acquisition.ascent import ascend
from surefoot.acquisition.context import Bounds, Context, Score, ScoreRule
from surefoot.acquisition.intervals import ConfidenceBounds, Credible, Interval
from surefoot.acquisition.lacing import Lacing
from surefoot.acquisition.largest_gap import LargestGap
from surefoot.acquisition.noisy_improvement import NoisyExpectedImprovement
from surefoot.acquisition.policy import Policy, ScorePolicy, UpperConfidenceBound
from surefoot.acquisition.recommendation import By
from surefoot.acquisition.recorded import Recorded
from surefoot.acquisition.replication import Instability, Replication
from surefoot.acquisition.surrogate_bound import SurrogateBound
from surefoot.acquisition.thompson_sampling import ThompsonSampling
from surefoot.regression.posterior import Evaluation

__all__ = [
    "AdaptivePartition",
    "Bounds",
    "By",
    "ConfidenceBounds",
    "Context",
    "Credible",
    "Estimand",
    "Evaluation",
    "Instability",
    "Interval",
    "Lacing",
    "LargestGap",
    "NoisyExpectedImprovement",
    "Policy",
    "Recorded",
    "Replication",
    "Score",
    "ScorePolicy",
    "ScoreRule",
    "SurrogateBound",
    "ThompsonSampling",
    "UpperConfidenceBound",
    "ascend",
    "diverse",
    "maximise",
]
