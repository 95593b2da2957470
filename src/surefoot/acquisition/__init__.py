"""Acquisition: policies that choose where to measure next, and what to recommend."""

from surefoot._internal.estimands import Estimand
from surefoot.acquisition.argmax import diverse, maximise
from surefoot.acquisition.ascent import ascend
from surefoot.acquisition.gain_per_cost import GainPerCost
from surefoot.acquisition.guarded import BoundsOf, Guarded
from surefoot.acquisition.hypervolume_improvement import HypervolumeImprovement
from surefoot.acquisition.lacing import Lacing
from surefoot.acquisition.noisy_improvement import NoisyExpectedImprovement
from surefoot.acquisition.plan import Plan
from surefoot.acquisition.policy import Policy, ScorePolicy, UpperConfidenceBound
from surefoot.acquisition.recommendation import By
from surefoot.acquisition.recorded import Recorded
from surefoot.acquisition.replication import Instability, Replication
from surefoot.acquisition.reporting import Reporting
from surefoot.acquisition.scores import PolicyState, ScoreRule
from surefoot.acquisition.thompson_sampling import ThompsonSampling
from surefoot.beliefs import Bounds, ConfidenceBounds, Credible, Interval, Score
from surefoot.regression.posterior import Evaluation

__all__ = [
    "Bounds",
    "BoundsOf",
    "By",
    "ConfidenceBounds",
    "Credible",
    "Estimand",
    "Evaluation",
    "GainPerCost",
    "Guarded",
    "HypervolumeImprovement",
    "Instability",
    "Interval",
    "Lacing",
    "NoisyExpectedImprovement",
    "Plan",
    "Policy",
    "PolicyState",
    "Recorded",
    "Replication",
    "Reporting",
    "Score",
    "ScorePolicy",
    "ScoreRule",
    "ThompsonSampling",
    "UpperConfidenceBound",
    "ascend",
    "diverse",
    "maximise",
]
