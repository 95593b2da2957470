"""Acquisition: policies that choose where to measure next, and what to recommend."""

from surefoot.acquisition.adaptive_partition import AdaptivePartition
from surefoot.acquisition.argmax import maximise
from surefoot.acquisition.context import Bounds, Context, Score
from surefoot.acquisition.knowledge_gradient import RiskKnowledgeGradient
from surefoot.acquisition.noisy_improvement import NoisyExpectedImprovement
from surefoot.acquisition.policy import (
    Alternating,
    Policy,
    ScorePolicy,
    ScoreRule,
    UpperConfidenceBound,
)
from surefoot.acquisition.surrogate_bound import SurrogateBound
from surefoot.acquisition.thompson_sampling import ThompsonSampling

__all__ = [
    "AdaptivePartition",
    "Alternating",
    "Bounds",
    "Context",
    "NoisyExpectedImprovement",
    "Policy",
    "RiskKnowledgeGradient",
    "Score",
    "ScorePolicy",
    "ScoreRule",
    "SurrogateBound",
    "ThompsonSampling",
    "UpperConfidenceBound",
    "maximise",
]
