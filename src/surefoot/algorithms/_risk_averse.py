"""Composition that the risk-averse algorithms share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefoot._internal import checks
from surefoot.acquisition import Plan, Policy, Recorded, Reporting
from surefoot.acquisition.recommendation import ROUNDS, By, check_by
from surefoot.algorithms._defaults import initial_design_size
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import Exact, Features, Nystrom, PivotedCholesky
from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit
from surefoot.optimizer import Method, Optimizer
from surefoot.problem import Problem
from surefoot.risks import Risk
from surefoot.spaces import Joint
from surefoot.types import InvalidInput
from surefoot.widths import Width

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def risk_averse(
    space: Joint,
    kernel: Kernel | None,
    risk: Risk,
    policy: Policy,
    *,
    features: Features | None,
    estimator: Estimator | None,
    width: Width,
    ridge: float | None,
    initial: int | None,
    seed: int,
    device: str | torch.device,
    hyperparameters: HyperparameterFit | None = None,
    recommendation: By = "mean",
) -> Optimizer:
    """The optimizer of a policy and a risk, whose kernel is given or fitted."""
    if not isinstance(space, Joint):
        raise InvalidInput(f"`space` is {space!r}, expected `Joint(design, environment)`.")
    if kernel is None and ridge is not None:
        raise InvalidInput("`ridge` requires a `kernel`: without one, the noise is fitted.")
    _check_fit(kernel, hyperparameters)
    check_by("recommendation", recommendation)
    estimator = LeastSquares() if estimator is None else estimator
    tail = GAUSSIAN if getattr(estimator, "assumes_gaussian_noise", False) else None
    fit = hyperparameters
    if kernel is None and fit is None:
        fit = HyperparameterFit("squared_exponential", dof=tail, every=3, lengthscales="short")
    plain: Features = Exact() if kernel is not None else Nystrom(PivotedCholesky())
    first = 0 if kernel is not None else initial_design_size(space)
    method = Method(
        fit if kernel is None else kernel,
        features=plain if features is None else features,
        estimator=estimator,
        width=width,
        policy=Recorded(policy) if recommendation == ROUNDS else policy,
        ridge=1.0 if ridge is None else ridge,
        plan=Plan(first if initial is None else initial),
        reporting=Reporting(recommendation),
    )
    return Optimizer(Problem(space, risk=risk).to(device), method, seed=seed)


def _check_fit(kernel: object, fit: object) -> None:
    """`InvalidInput` for a fit that is none, or one that came with a kernel."""
    if fit is None:
        return
    if kernel is not None:
        raise InvalidInput("`kernel` and `hyperparameters` cannot both be given: pass one of them.")
    if not hasattr(fit, "uncertainty") or isinstance(fit, type):
        raise InvalidInput(
            f"`hyperparameters` is {checks.shown(fit)}, expected a `HyperparameterFit`."
        )
