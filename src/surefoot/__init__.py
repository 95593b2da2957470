"""Bayesian optimisation that keeps its footing under heavy-tailed noise."""

from surefoot import algorithms, kernels, problems, widths
from surefoot.estimators import (
    AdaptiveTruncation,
    Huber,
    LeastSquares,
    MedianOfMeans,
    StudentT,
    Truncation,
)
from surefoot.features import Exact, QuadratureFourier, RandomFourier, Sketch
from surefoot.optimizer import Optimizer
from surefoot.spaces import Arms, Box
from surefoot.tails import Moment
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
    "AdaptiveTruncation",
    "Arms",
    "Box",
    "Exact",
    "Huber",
    "Info",
    "InvalidInput",
    "LeastSquares",
    "MedianOfMeans",
    "Moment",
    "NotReady",
    "Optimizer",
    "QuadratureFourier",
    "Query",
    "RandomFourier",
    "Recommendation",
    "Sketch",
    "StudentT",
    "SurefootError",
    "Truncation",
    "algorithms",
    "kernels",
    "problems",
    "widths",
]
