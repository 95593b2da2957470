"""Bayesian optimisation and kernel bandits under heavy-tailed noise.

With sketched features for many arms, and risk measures for uncertain environments.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from surefoot._internal.lazy import lazily

if TYPE_CHECKING:
    from surefoot import acquisition as acquisition
    from surefoot import algorithms as algorithms
    from surefoot import beliefs as beliefs
    from surefoot import estimators as estimators
    from surefoot import features as features
    from surefoot import hyperparameters as hyperparameters
    from surefoot import kernels as kernels
    from surefoot import models as models
    from surefoot import parameters as parameters
    from surefoot import plot as plot
    from surefoot import risks as risks
    from surefoot import spaces as spaces
    from surefoot import widths as widths
    from surefoot.estimators import AdaptiveTruncation as AdaptiveTruncation
    from surefoot.estimators import Huber as Huber
    from surefoot.estimators import LeastSquares as LeastSquares
    from surefoot.estimators import StudentT as StudentT
    from surefoot.estimators import Truncation as Truncation
    from surefoot.features import Dictionary as Dictionary
    from surefoot.features import Exact as Exact
    from surefoot.features import LeverageSampling as LeverageSampling
    from surefoot.features import Nystrom as Nystrom
    from surefoot.features import PivotedCholesky as PivotedCholesky
    from surefoot.features import QuadratureFourier as QuadratureFourier
    from surefoot.features import RandomFourier as RandomFourier
    from surefoot.optimizer import Method as Method
    from surefoot.optimizer import Optimizer as Optimizer
    from surefoot.problem import Problem as Problem
    from surefoot.risks import CVaR as CVaR
    from surefoot.risks import Mean as Mean
    from surefoot.risks import VaR as VaR
    from surefoot.risks import WorstCase as WorstCase
    from surefoot.spaces import Arms as Arms
    from surefoot.spaces import Box as Box
    from surefoot.spaces import ContinuousEnvironment as ContinuousEnvironment
    from surefoot.spaces import Fidelity as Fidelity
    from surefoot.spaces import FiniteEnvironment as FiniteEnvironment
    from surefoot.spaces import Joint as Joint
    from surefoot.spaces import environments as environments
    from surefoot.tails import Moment as Moment
    from surefoot.types import Assumptions as Assumptions
    from surefoot.types import Constraint as Constraint
    from surefoot.types import Info as Info
    from surefoot.types import InvalidInput as InvalidInput
    from surefoot.types import Measurement as Measurement
    from surefoot.types import NotInstalled as NotInstalled
    from surefoot.types import NotReady as NotReady
    from surefoot.types import NumericalError as NumericalError
    from surefoot.types import Objective as Objective
    from surefoot.types import Query as Query
    from surefoot.types import Recommendation as Recommendation
    from surefoot.types import SurefootError as SurefootError
    from surefoot.types import Watched as Watched

__version__ = "0.1.0"

_NAMES = {
    "estimators": (
        "AdaptiveTruncation",
        "Huber",
        "LeastSquares",
        "StudentT",
        "Truncation",
    ),
    "features": (
        "Dictionary",
        "Exact",
        "LeverageSampling",
        "Nystrom",
        "PivotedCholesky",
        "QuadratureFourier",
        "RandomFourier",
    ),
    "optimizer": ("Method", "Optimizer"),
    "problem": ("Problem",),
    "risks": ("CVaR", "Mean", "VaR", "WorstCase"),
    "spaces": ("Arms", "Box", "ContinuousEnvironment", "Fidelity", "FiniteEnvironment", "Joint"),
    "tails": ("Moment",),
    "types": (
        "Assumptions",
        "Constraint",
        "Info",
        "InvalidInput",
        "Measurement",
        "NotInstalled",
        "NotReady",
        "NumericalError",
        "Objective",
        "Query",
        "Recommendation",
        "SurefootError",
        "Watched",
    ),
}
_MODULES = {
    name: f"surefoot.{name}"
    for name in (
        "acquisition",
        "algorithms",
        "bandits",
        "beliefs",
        "estimators",
        "features",
        "hyperparameters",
        "kernels",
        "models",
        "parameters",
        "plot",
        "risks",
        "spaces",
        "widths",
    )
} | {"environments": "surefoot.spaces.environments"}
_HOMES = {name: f"surefoot.{module}" for module, names in _NAMES.items() for name in names}

__all__ = sorted([*_HOMES, *_MODULES])


_named = lazily(__name__, _HOMES)


def __getattr__(name: str) -> Any:
    """Import on first use, so that the command line answers without loading torch."""
    return import_module(_MODULES[name]) if name in _MODULES else _named(name)


def __dir__() -> list[str]:
    return __all__
