"""Baselines of the figures, composed of public parts of surefoot."""

from surefoot_experiments.baselines import as_published
from surefoot_experiments.baselines.expected_risk import ExpectedRisk
from surefoot_experiments.baselines.knowledge_gradient import RiskKnowledgeGradient
from surefoot_experiments.baselines.median_of_means import MedianOfMeans
from surefoot_experiments.baselines.rho_kg import rho_kg

__all__ = [
    "ExpectedRisk",
    "MedianOfMeans",
    "RiskKnowledgeGradient",
    "as_published",
    "rho_kg",
]
