"""Bayesian optimisation that keeps its footing under heavy-tailed noise."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from surefoot import algorithms, kernels, problems, widths
    from surefoot.environments import ContinuousEnvironment, FiniteEnvironment
    from surefoot.estimators import (
        AdaptiveTruncation,
        Huber,
        LeastSquares,
        MedianOfMeans,
        StudentT,
        Truncation,
    )
    from surefoot.features import (
        Dictionary,
        Exact,
        Nystrom,
        QuadratureFourier,
        RandomFourier,
        Sketch,
    )
    from surefoot.joint import Joint
    from surefoot.optimizer import Optimizer
    from surefoot.risks import CVaR, Mean, VaR, WorstCase
    from surefoot.spaces import Arms, Box
    from surefoot.tails import Moment
    from surefoot.types import (
        Info,
        InvalidInput,
        NotReady,
        NumericalError,
        Query,
        Recommendation,
        SurefootError,
    )

__version__ = "0.1.0"

_HOMES = {
    "AdaptiveTruncation": "estimators",
    "Arms": "spaces",
    "Box": "spaces",
    "CVaR": "risks",
    "ContinuousEnvironment": "environments",
    "Dictionary": "features",
    "Exact": "features",
    "FiniteEnvironment": "environments",
    "Huber": "estimators",
    "Info": "types",
    "InvalidInput": "types",
    "Joint": "joint",
    "LeastSquares": "estimators",
    "Mean": "risks",
    "MedianOfMeans": "estimators",
    "Moment": "tails",
    "NotReady": "types",
    "NumericalError": "types",
    "Nystrom": "features",
    "Optimizer": "optimizer",
    "QuadratureFourier": "features",
    "Query": "types",
    "RandomFourier": "features",
    "Recommendation": "types",
    "Sketch": "features",
    "StudentT": "estimators",
    "SurefootError": "types",
    "Truncation": "estimators",
    "VaR": "risks",
    "WorstCase": "risks",
}
_MODULES = ("algorithms", "environments", "kernels", "problems", "widths")

__all__ = [
    "AdaptiveTruncation",
    "Arms",
    "Box",
    "CVaR",
    "ContinuousEnvironment",
    "Dictionary",
    "Exact",
    "FiniteEnvironment",
    "Huber",
    "Info",
    "InvalidInput",
    "Joint",
    "LeastSquares",
    "Mean",
    "MedianOfMeans",
    "Moment",
    "NotReady",
    "NumericalError",
    "Nystrom",
    "Optimizer",
    "QuadratureFourier",
    "Query",
    "RandomFourier",
    "Recommendation",
    "Sketch",
    "StudentT",
    "SurefootError",
    "Truncation",
    "VaR",
    "WorstCase",
    "algorithms",
    "environments",
    "kernels",
    "problems",
    "widths",
]


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command line answers without loading torch."""
    if name in _MODULES:
        return import_module(f"surefoot.{name}")
    if name in _HOMES:
        return getattr(import_module(f"surefoot.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'surefoot' has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
