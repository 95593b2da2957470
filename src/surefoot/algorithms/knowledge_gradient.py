"""The knowledge gradient of the value at risk over a random environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from surefoot.acquisition import RiskKnowledgeGradient
from surefoot.acquisition.recommendation import By
from surefoot.algorithms._defaults import width_or
from surefoot.algorithms._risk_averse import risk_averse
from surefoot.estimators import Estimator
from surefoot.features import Features
from surefoot.hyperparameters import HyperparameterFit
from surefoot.optimizer import Optimizer
from surefoot.risks import VaR
from surefoot.spaces import Joint
from surefoot.widths import Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


def rho_kg(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    fantasies: int = 10,
    samples: int = 40,
    values: int = 40,
    recommendation: By = "mean",
    features: Features | None = None,
    estimator: Estimator | None = None,
    width: Width | None = None,
    hyperparameters: HyperparameterFit | None = None,
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """rho-KG^apx: the one-step knowledge gradient of the value at risk.

    It measures the pair (x, z) that raises the largest value at risk among the measured designs
    most in expectation. A baseline for `v_ucb`, at ten to a hundred times the time of a round.

    Args:
        space: `Joint(design, environment)`.
        kernel: The prior covariance of x followed by z; None fits a squared exponential one, and
            the noise, every 3 rounds: Gaussian noise with `LeastSquares`, Student-t noise with any
            other estimator.
        level: Level alpha in (0, 1) of the lower tail: the value at risk is the alpha-quantile of
            f(x, Z).
        fantasies: Number of outcomes of a measurement that the expectation is over.
        samples: Number of functions drawn from each posterior.
        values: Number of values that represent a continuous environment; those of a finite one are
            all used.
        recommendation: Rule of `recommend`: "mean" for the measured design with the largest value
            at risk of the posterior mean; "lower" for that with the largest value at risk of the
            lower bound; or a function of a `Context`, a score of all designs. The authors' rule is
            `acquisition.ExpectedRisk(values, samples)`.
        features: The feature map; by default `Exact()`, or `Nystrom(PivotedCholesky())` where the
            kernel is fitted.
        estimator: Estimator of the coefficients; least squares by default.
        width: The width in place of `widths.srinivas(scale=scale)`, which is
            sqrt(2 ln(t^2 pi^2 / 0.6));
            only the interval of `recommend` depends on it.
        hyperparameters: How kernel and noise are fitted, in place of the default, without a kernel;
            `HyperparameterFit(nu=2.5, dof=GAUSSIAN, lengthscales="short")` is as in the authors'
            code.
        ridge: Regularisation lambda where a kernel is given, the noise variance in squared reward
            units; 1 by default.
        scale: Factor of the default width.
        initial: Number of pairs of the initial design, spread over the designs and drawn from the
            environment; by default none if a kernel is given.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If an argument is out of range, `space` is not a `Joint`, `ridge` is given
            without a kernel, or both `scale` and `width` are.

    References:
        Cakmak, Astudillo, Frazier and Zhou 2020, "Bayesian optimization of risk measures".

    Example:
        >>> import surefoot as sf
        >>> load = sf.FiniteEnvironment([0.0, 0.5, 1.0], [0.5, 0.3, 0.2])
        >>> space = sf.Joint(sf.Arms([[0.0], [0.5], [1.0]]), load)
        >>> kernel = sf.kernels.squared_exponential([0.5, 0.5])
        >>> optimizer = sf.algorithms.rho_kg(space, kernel, level=0.2, ridge=0.01)
        >>> for _ in range(3):
        ...     query = optimizer.ask()
        ...     x, z = float(query.point), float(query.environment)
        ...     info = optimizer.tell(query, x - 2 * x * z)
        >>> info.round
        3
    """
    return risk_averse(
        space,
        kernel,
        VaR(level),
        RiskKnowledgeGradient(fantasies, samples, values),
        features=features,
        estimator=estimator,
        width=width_or(width, scale, srinivas(scale=scale)),
        hyperparameters=hyperparameters,
        recommendation=recommendation,
        ridge=ridge,
        initial=initial,
        seed=seed,
        device=device,
    )
