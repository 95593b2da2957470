"""The default: UCB that is robust to heavy-tailed noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import torch

from surefoot._internal import checks
from surefoot._internal.effects import EFFECTS, LEVEL
from surefoot.acquisition import (
    Credible,
    GainPerCost,
    HypervolumeImprovement,
    Instability,
    NoisyExpectedImprovement,
    Plan,
    Policy,
    Reporting,
    ScorePolicy,
    ScoreRule,
    UpperConfidenceBound,
)
from surefoot.acquisition.guess import Guess, NearGuess
from surefoot.acquisition.recommendation import recommend
from surefoot.acquisition.replication import STABLE
from surefoot.acquisition.scores import PolicyState
from surefoot.algorithms._defaults import has_many_mixed_variables, initial_design_size
from surefoot.beliefs import Belief
from surefoot.estimators import Huber, StudentT
from surefoot.features import Exact, Nystrom, PivotedCholesky
from surefoot.hyperparameters import GivenHyperparameters, HyperparameterFit
from surefoot.hyperparameters.earlier import earlier_on
from surefoot.optimizer import Method, Optimizer
from surefoot.optimizer.arguments import part_of
from surefoot.problem import Problem, check_together
from surefoot.risks import Risk
from surefoot.spaces import Box, Joint, Space
from surefoot.spaces.arcs import ALL_ACTIVE
from surefoot.types import InvalidInput
from surefoot.widths import srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_ALONG = 64  # values of an environment of one variable by which a design is chosen
_COMPARED = 0.375  # of the initial design at the lowest fidelity, measured at all of them


def robust_ucb(
    problem: Problem | Space | Joint,
    kernel: Kernel | None = None,
    *,
    policy: Policy | ScoreRule | None = None,
    ridge: float | None = None,
    scale: float = 0.5,
    initial: int | None = None,
    effects: Sequence[str] = EFFECTS,
    instability: Instability = STABLE,
    seed: int = 0,
) -> Optimizer:
    """The default algorithm, for noise of unknown scale and tail; needs no hyperparameters.

    Without a kernel, a Matérn kernel and the scale and tail of the noise are fitted under Student-t
    noise, and outliers lose their weight. Without a risk, intervals allow for microscale variation
    and other smoothness parameters, and the search uses a rougher kernel where the evidence favours
    it; in a box of more than 16 variables of which some are categorical, the lengthscales share a
    prior center instead. Where the model does not predict rewards that are left out, the best
    measured point is recommended in place of the best posterior mean. With a kernel, the estimate
    is Huber's, with an empirical-Bayes prior mean and output scale.

    Args:
        problem: What is optimised, or its space alone: `Arms`, `Box`, a `parameters.Space` of named
            parameters, or `Joint` for designs in a random environment. With a `guess` the search
            begins near it and leaves it as the evidence contradicts it, unless a `Policy` chooses,
            and not a score. The function of a `prior` is the prior mean where that predicts rewards
            that are left out clearly better, in other units too, and what it recommends is the
            guess; of the parameters without one of their own if there is one, and no rules and
            conditions join them. The `estimand` "location" is the center of the fitted noise,
            robust to outliers.
        kernel: The prior covariance; None fits one (on spaces with coordinates).
        policy: Where to measure next; by default `UpperConfidenceBound()`, with `integrated=True`
            in a box of at most 16 variables, without a kernel and a risk. With a kernel,
            `acquisition.Guarded` by bounds of least squares that have a proof (`BoundsOf`) adds a
            bound on the regret.
        ridge: Where a kernel is given, the noise variance in the units of the kernel: in multiples
            of the squared output scale, which is estimated; 1 by default.
        scale: Factor of the width sqrt(2 ln(t^2 pi^2 / 0.6)).
        initial: Number of points of the initial design; by default none if a kernel is given.
        effects: Nuisance effects to include in the model if the data support them: "worker", a
            random intercept for each `worker` passed to `tell`, and "drift", a drift over the
            `time` passed to `tell`; see `HyperparameterFit`.
        instability: Which points have replicates that differ too much, and are avoided.
        seed: Seed of all random choices.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If `ridge` is given without a kernel, or an argument is out of range.

    References:
        Tipping and Lawrence 2005, "Variational inference for Student-t models"; Huber 1964,
        "Robust estimation of a location parameter"; Srinivas et al. 2010 for the width; Duan 1983,
        "Smearing estimate: a nonparametric retransformation method", for the mean.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Box([0.0], [1.0]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.algorithms.robust_ucb(space, kernel, ridge=0.01)
        >>> points = [[0.1], [0.4], [0.4], [0.4], [0.8], [0.8]]
        >>> info = optimizer.tell_all(points, [0.1, 0.4, 0.5, 100.0, 0.9, 0.8])
        >>> optimizer.belief().weights.round(decimals=1).tolist()
        [1.0, 1.0, 1.0, 0.0, 1.0, 1.0]
    """
    problem = Problem.of(problem)
    method = robust(
        problem,
        kernel,
        policy=policy,
        ridge=ridge,
        scale=scale,
        initial=initial,
        effects=effects,
        instability=instability,
    )
    return Optimizer(problem, method, seed=seed)


def robust(
    problem: Problem,
    kernel: Kernel | None = None,
    *,
    policy: Policy | ScoreRule | None = None,
    ridge: float | None = None,
    scale: float = 0.5,
    initial: int | None = None,
    effects: Sequence[str] = EFFECTS,
    instability: Instability = STABLE,
) -> Method:
    """The method of `robust_ucb` for a problem; for its arguments, see there.

    Args:
        problem: The problem.
        kernel: The prior covariance; None fits one.
        policy: Where to measure next.
        ridge: The noise variance where a kernel is given.
        scale: Factor of the width.
        initial: Number of points of the initial design.
        effects: Nuisance effects.
        instability: Which points are avoided for their replicates.

    Returns:
        The method, of which parts may be replaced.

    Raises:
        InvalidInput: If `ridge` is given without a kernel, or an argument is out of range.

    Example:
        >>> import dataclasses
        >>> import surefoot as sf
        >>> problem = sf.Problem(sf.Box([0.0], [1.0]), risk=None)
        >>> method = sf.algorithms.robust(problem)
        >>> wide = dataclasses.replace(method, width=sf.widths.constant(3.0))
        >>> optimizer = sf.Optimizer(problem, wide, seed=0)
    """
    if kernel is None and ridge is not None:
        raise InvalidInput("`ridge` requires a `kernel`: without one, the noise is fitted.")
    space, fidelity = problem.space, problem.fidelity
    if policy is None:
        policy = _policy(problem, fitted=kernel is None)
    options = problem.options
    if initial is not None:
        options["initial"] = "`initial`"
    if kernel is not None:
        options["kernel"] = "a given `kernel`"
    if isinstance(policy, NoisyExpectedImprovement):
        options["noisy improvement"] = "`NoisyExpectedImprovement`"
    check_together(options)
    guess = _guess_of(problem)
    if guess.values and not isinstance(policy, Policy):
        policy = NearGuess(guess, policy)
    if fidelity is not None and not isinstance(policy, Policy):
        policy = GainPerCost(fidelity.cost, policy)
    plan = partial(Plan, instability=instability, guess=guess)
    if kernel is not None:
        return Method(
            GivenHyperparameters(kernel, 1.0 if ridge is None else ridge, standardise=True),
            features=Exact() if problem.domain.seen.finite else Nystrom(PivotedCholesky()),
            estimator=Huber(),
            width=srinivas(scale=scale),
            policy=policy,
            plan=plan(0 if initial is None else initial),
            reporting=Reporting(interval=Credible()),
        )
    is_density = isinstance(space, Joint) and not space.environment.finite
    if is_density and space.environment.dimension == 1 and not isinstance(policy, Policy):
        policy = ScorePolicy(policy, values=_ALONG)
    fit = _fit(space, problem.risk, effects if fidelity is None else (*effects, LEVEL))
    if problem.prior is not None:
        known = problem.prior.outcome.observations
        fit = replace(fit, earlier=earlier_on(space, known.sites[known.site], known.rewards))
    first = initial_design_size(space) if initial is None else initial
    levels: Sequence[int] = ()
    if fidelity is not None:
        levels = [first, *[math.ceil(_COMPARED * first)] * (len(fidelity.levels) - 1)]
    return Method(
        fit,
        features=Nystrom(PivotedCholesky()),
        estimator=StudentT(),
        width=srinivas(scale=scale),
        policy=policy,
        plan=plan(first, levels=levels),
        reporting=Reporting("cross-validated", Credible()),
    )


def _guess_of(problem: Problem) -> Guess:
    """The guess, and of the rest the recommendation of an earlier belief."""
    earlier = _recommended(problem.prior)
    if problem.guess is None:
        return Guess(earlier)
    part = part_of(problem.space, problem.guess, "guess").design
    if not isinstance(part, Box) or not part.fixed:
        raise InvalidInput(
            f"`guess` is {checks.shown(problem.guess)}, expected values of some parameters by "
            "name, or `box.given({0: 0.3})`."
        )
    # Where rules or conditions join parameters, the rest of it may not go with the guess.
    joined = part.region.rules or part.active != ALL_ACTIVE
    return Guess(part.fixed if joined else earlier | {**part.fixed})


def _recommended(prior: Belief | None) -> dict[int, float]:
    """Coordinates of the recommendation of a belief by their index; none without one."""
    if prior is None:
        return {}
    state = PolicyState(torch.Generator().manual_seed(0))
    best = recommend(checks.instance("prior", prior, Belief), "mean", state)
    return dict(enumerate(best.point.tolist()))


def _policy(problem: Problem, *, fitted: bool) -> Policy | ScoreRule:
    """The policy of a problem.

    A fit that is certain of a wrong lengthscale, or of which rewards are outliers, ends the search
    at a local optimum; one that is integrated over the hyperparameters is not certain.
    """
    if problem.objectives:
        return HypervolumeImprovement()
    box = problem.space
    plain = problem.risk is not None or not isinstance(box, Box) or box.has_many_variables
    return UpperConfidenceBound(integrated=fitted and not plain)


def _fit(space: Space | Joint, risk: Risk | None, effects: Sequence[str]) -> HyperparameterFit:
    """The fit of kernel and noise."""
    if risk is not None:
        return HyperparameterFit(lengthscales="short", effects=effects)
    many = has_many_mixed_variables(space)
    prior: Literal["long", "pooled"] = "pooled" if many else "long"
    return HyperparameterFit(
        lengthscales=prior,
        warped=True,
        effects=effects,
        other_kernels=() if many else ("matern-1/2", "matern-3/2"),
        microscale=0.5 if many else 0.25,
    )
