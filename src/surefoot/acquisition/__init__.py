"""Acquisition functions: where to measure next."""

from surefoot.acquisition.alternating import Alternating
from surefoot.acquisition.joint_situation import JointPolicy, JointSituation
from surefoot.acquisition.knowledge_gradient import RiskKnowledgeGradient
from surefoot.acquisition.noisy_improvement import NoisyExpectedImprovement
from surefoot.acquisition.policy import Policy, Score, Situation
from surefoot.acquisition.risk_bound import RiskBound
from surefoot.acquisition.surrogate_bound import SurrogateBound
from surefoot.acquisition.upper_confidence import UpperConfidenceBound

__all__ = [
    "Alternating",
    "JointPolicy",
    "JointSituation",
    "NoisyExpectedImprovement",
    "Policy",
    "RiskBound",
    "RiskKnowledgeGradient",
    "Score",
    "Situation",
    "SurrogateBound",
    "UpperConfidenceBound",
]
