"""Composition that the risk-averse algorithms share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.acquisition import Plan, Policy, Recorded, Reporting
from surefoot.acquisition.recommendation import ROUNDS, By, check_by
from surefoot.algorithms._defaults import initial_design_size
from surefoot.features import Exact, Features, Nystrom, PivotedCholesky
from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit
from surefoot.optimizer import Method, Optimizer
from surefoot.problem import Problem
from surefoot.risks import Risk
from surefoot.spaces import Joint
from surefoot.types import InvalidInput
from surefoot.widths import Width
from surefoot.widths.assumptions import Theorem

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def risk_averse(
    space: Joint,
    kernel: Kernel | None,
    risk: Risk,
    policy: Policy,
    *,
    width: Width,
    ridge: float | None,
    initial: int | None,
    seed: int,
    recommendation: By = "mean",
) -> Optimizer:
    """The optimizer of a policy and a risk, whose kernel is given or fitted."""
    if not isinstance(space, Joint):
        raise InvalidInput(f"`space` is {space!r}, expected `Joint(design, environment)`.")
    if kernel is None and ridge is not None:
        raise InvalidInput("`ridge` requires a `kernel`: without one, the noise is fitted.")
    if kernel is None and isinstance(width, Theorem):
        raise InvalidInput(
            f"{width!r} came without a `kernel`, expected one, of which its bounds are proved."
        )
    check_by("recommendation", recommendation)
    features: Features = Exact()
    rule, first = kernel, 0
    if kernel is None:
        rule = HyperparameterFit("squared_exponential", dof=GAUSSIAN, every=3, lengthscales="short")
        features, first = Nystrom(PivotedCholesky()), initial_design_size(space)
    method = Method(
        rule,
        1.0 if ridge is None else ridge,
        features=features,
        width=width,
        policy=Recorded(policy) if recommendation == ROUNDS else policy,
        plan=Plan(first if initial is None else initial),
        reporting=Reporting(recommendation),
    )
    return Optimizer(Problem(space, risk=risk), method, seed=seed)
