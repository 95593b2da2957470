"""Bayesian optimisation that keeps its footing under heavy-tailed noise."""

from surefoot import algorithms, kernels, problems, widths
from surefoot.estimators import Huber, LeastSquares, StudentT
from surefoot.features import Exact, Sketch
from surefoot.optimizer import Optimizer
from surefoot.spaces import Arms, Box
from surefoot.types import (
    Info,
    InvalidInput,
    NotReady,
    Query,
    Recommendation,
    SurefootError,
)

__version__ = "0.1.0"

__all__ = [
    "Arms",
    "Box",
    "Exact",
    "Huber",
    "Info",
    "InvalidInput",
    "LeastSquares",
    "NotReady",
    "Optimizer",
    "Query",
    "Recommendation",
    "Sketch",
    "StudentT",
    "SurefootError",
    "algorithms",
    "kernels",
    "problems",
    "widths",
]
