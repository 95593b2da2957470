"""Scores: how good it would be to measure at a point next."""

from surefoot.policies.alternating import Alternating
from surefoot.policies.noisy_improvement import NoisyExpectedImprovement
from surefoot.policies.policy import Policy, Score, Situation
from surefoot.policies.upper_confidence import UpperConfidenceBound

__all__ = [
    "Alternating",
    "NoisyExpectedImprovement",
    "Policy",
    "Score",
    "Situation",
    "UpperConfidenceBound",
]
