"""Acquisition: policies that choose where to measure next, and what to recommend."""

from surefoot._internal.estimands import Estimand
from surefoot.acquisition.adaptive_partition import AdaptivePartition
from surefoot.acquisition.argmax import maximise
from surefoot.acquisition.context import Bounds, Context, Score, ScoreRule
from surefoot.acquisition.expected_risk import ExpectedRisk
from surefoot.acquisition.intervals import ConfidenceBounds, Credible, Interval
from surefoot.acquisition.knowledge_gradient import RiskKnowledgeGradient
from surefoot.acquisition.lacing import Lacing
from surefoot.acquisition.largest_gap import LargestGap
from surefoot.acquisition.noisy_improvement import NoisyExpectedImprovement
from surefoot.acquisition.policy import Alternating, Policy, ScorePolicy, UpperConfidenceBound
from surefoot.acquisition.recommendation import By
from surefoot.acquisition.recorded import Recorded
from surefoot.acquisition.replication import Instability, Replication
from surefoot.acquisition.surrogate_bound import SurrogateBound
from surefoot.acquisition.thompson_sampling import ThompsonSampling

__all__ = [
    "AdaptivePartition",
    "Alternating",
    "Bounds",
    "By",
    "ConfidenceBounds",
    "Context",
    "Credible",
    "Estimand",
    "ExpectedRisk",
    "Instability",
    "Interval",
    "Lacing",
    "LargestGap",
    "NoisyExpectedImprovement",
    "Policy",
    "Recorded",
    "Replication",
    "RiskKnowledgeGradient",
    "Score",
    "ScorePolicy",
    "ScoreRule",
    "SurrogateBound",
    "ThompsonSampling",
    "UpperConfidenceBound",
    "maximise",
]
