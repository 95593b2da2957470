"""Algorithms for designs beside a random environment, which maximise a risk over it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypedDict, Unpack

import torch

from surefoot.acquisition import Policy, RiskKnowledgeGradient, ScorePolicy, SurrogateBound
from surefoot.algorithms._defaults import initial_design_size, width_or
from surefoot.estimators import Estimator, LeastSquares
from surefoot.features import Exact, Features, Nystrom, PivotedCholesky
from surefoot.hyperparameters import GAUSSIAN, HyperparameterFit
from surefoot.optimizer import Optimizer
from surefoot.risks import CVaR, Risk, VaR, WorstCase
from surefoot.spaces import Joint
from surefoot.types import InvalidInput
from surefoot.widths import Width, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel


class Options(TypedDict, total=False):
    """What every algorithm here takes besides its risk, with its defaults.

    `features` (`Exact()`; `Nystrom(PivotedCholesky())` where the kernel is fitted), `estimator`
    (`LeastSquares()`),
    `width` (`widths.srinivas(scale=scale)`, sqrt(2 ln(t^2 pi^2 / 0.6))), `scale` (1) of that
    width, `ridge` (1; the noise variance, only beside a kernel), `initial` (first pairs, spread
    over designs and drawn from the environment; 0 beside a kernel), `seed` (0), `device` ("cpu").
    """

    features: Features | None
    estimator: Estimator | None
    width: Width | None
    ridge: float | None
    scale: float
    initial: int | None
    seed: int
    device: str | torch.device


def v_ucb(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    lacing: Literal["prob", "unif"] = "prob",
    search: Literal["quantiles", "surrogate"] = "quantiles",
    **options: Unpack[Options],
) -> Optimizer:
    """V-UCB: the design whose value at risk over a random environment is largest.

    Nguyen et al. 2021, Algorithm 1, at `level` alpha in (0, 1) of the lower tail. The design
    maximises the value at risk of the upper bound; the environment is a lacing value: of largest
    weight or density ("prob"), or a random one ("unif"). Without a kernel, a squared exponential
    one and the noise are learnt every 3 rounds, with Gaussian noise beside `LeastSquares` and
    Student-t noise beside any other estimator. For a continuous environment, `search` is by
    "quantiles" of values that fill it evenly, or with the paper's local neural "surrogate", which
    takes seconds a round. `options` are those of `Options`.
    """
    if search not in ("quantiles", "surrogate"):
        raise InvalidInput(f"`search` is {search!r}, expected 'quantiles' or 'surrogate'.")
    surrogate = search == "surrogate"
    policy: Policy = SurrogateBound(lacing) if surrogate else ScorePolicy(lacing=lacing)
    return _risk_averse(space, kernel, VaR(level), policy, **options)


def cvar_ucb(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    lacing: Literal["prob", "unif"] = "prob",
    **options: Unpack[Options],
) -> Optimizer:
    """CV-UCB: the design whose mean over the worst `level` of environments is largest.

    Nguyen, Dai, Low and Jaillet 2021, "Optimizing conditional value-at-risk of black-box
    functions": the environment is a lacing value of that level up to `level` at which the value at
    risk is least certain. The rest as in `v_ucb`.
    """
    return _risk_averse(space, kernel, CVaR(level), ScorePolicy(lacing=lacing), **options)


def stable_opt(space: Joint, kernel: Kernel | None = None, **options: Unpack[Options]) -> Optimizer:
    """StableOpt: the design that holds up best under the worst environment.

    Bogunovic et al. 2018, the limit of `v_ucb` at level 0 (Nguyen et al. 2021, Corollary 2.2):
    x maximises the least upper bound, z has the least lower bound there. The rest as in `v_ucb`.
    """
    return _risk_averse(space, kernel, WorstCase(), ScorePolicy(), **options)


def rho_kg(
    space: Joint,
    kernel: Kernel | None = None,
    *,
    level: float,
    fantasies: int = 10,
    samples: int = 40,
    **options: Unpack[Options],
) -> Optimizer:
    """rho-KG^apx: the pair whose measurement is expected to raise the best value at risk most.

    Cakmak et al. 2020, "Bayesian optimization of risk measures", the baseline of `v_ucb`: one step
    ahead, by `fantasies` outcomes of a measurement and `samples` functions of each posterior
    (`acquisition.RiskKnowledgeGradient`). Seconds a round, ten to a hundred times those of
    `v_ucb`; `width` only matters to what `recommend` says of the bounds. The rest as in `v_ucb`.
    """
    policy = RiskKnowledgeGradient(fantasies, samples)
    return _risk_averse(space, kernel, VaR(level), policy, **options)


def _risk_averse(
    space: Joint,
    kernel: Kernel | None,
    risk: Risk,
    policy: Policy,
    *,
    features: Features | None = None,
    estimator: Estimator | None = None,
    width: Width | None = None,
    ridge: float | None = None,
    scale: float = 1.0,
    initial: int | None = None,
    seed: int = 0,
    device: str | torch.device = "cpu",
) -> Optimizer:
    """A policy for a risk, with a kernel that is given or learnt."""
    if not isinstance(space, Joint):
        raise InvalidInput(f"`space` is {space!r}, expected `Joint(design, environment)`.")
    if kernel is None and ridge is not None:
        raise InvalidInput("`ridge` came without a `kernel`: a learnt kernel learns the noise.")
    estimator = estimator or LeastSquares()
    tail = GAUSSIAN if isinstance(estimator, LeastSquares) else None
    fit = HyperparameterFit(nu=None, dof=tail, every=3, lengthscales="short")
    plain: Features = Exact() if kernel is not None else Nystrom(PivotedCholesky())
    first = 0 if kernel is not None else initial_design_size(space.seen)
    return Optimizer(
        space,
        kernel,
        risk=risk,
        features=features or plain,
        estimator=estimator,
        width=width_or(width, scale, srinivas(scale=scale)),
        policy=policy,
        hyperparameters=fit if kernel is None else None,
        ridge=1.0 if ridge is None else ridge,
        initial=first if initial is None else initial,
        seed=seed,
        device=device,
    )
