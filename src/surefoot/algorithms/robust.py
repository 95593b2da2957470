"""The default: UCB that is robust to heavy-tailed noise."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import torch

from surefoot._internal import checks
from surefoot._internal.effects import EFFECTS
from surefoot._internal.estimands import Estimand
from surefoot.acquisition import (
    Credible,
    GainPerCost,
    Instability,
    NoisyExpectedImprovement,
    Plan,
    Policy,
    Reporting,
    ScoreRule,
    UpperConfidenceBound,
)
from surefoot.acquisition.guess import Guess, NearGuess
from surefoot.acquisition.recommendation import recommend
from surefoot.acquisition.replication import STABLE
from surefoot.acquisition.scores import PolicyState
from surefoot.algorithms._defaults import has_many_mixed_variables, initial_design_size, placed
from surefoot.beliefs import Belief, Model
from surefoot.estimators import Huber, StudentT
from surefoot.features import Exact, Nystrom, PivotedCholesky
from surefoot.hyperparameters import GivenHyperparameters, HyperparameterFit
from surefoot.hyperparameters.earlier import earlier_on
from surefoot.optimizer import Optimizer
from surefoot.optimizer.arguments import part_of
from surefoot.risks import Mean, Risk
from surefoot.spaces import Box, Fidelity, Joint, Space
from surefoot.spaces.arcs import ALL_ACTIVE
from surefoot.spaces.box import as_space
from surefoot.types import InvalidInput, Outcome
from surefoot.widths import srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_COMPARED = 0.375  # of the initial design at the lowest fidelity, measured at all of them


def robust_ucb(
    space: Space | Joint,
    kernel: Kernel | None = None,
    *,
    risk: Risk | None = None,
    fidelity: Fidelity | None = None,
    policy: Policy | ScoreRule | None = None,
    ridge: float | None = None,
    scale: float = 0.5,
    initial: int | None = None,
    outcomes: Mapping[str, Outcome] | None = None,
    effects: Sequence[str] = EFFECTS,
    guess: Box | Mapping[str, Any] | None = None,
    prior: Belief | None = None,
    instability: Instability = STABLE,
    estimand: Estimand = "location",
    safe: bool = False,
    seed: int = 0,
    device: str | torch.device = "cpu",
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
        space: `Arms`, `Box`, a `parameters.Space` of named parameters, or `Joint` for designs in a
            random environment.
        kernel: The prior covariance; None fits one (on spaces with coordinates).
        risk: The risk measure to maximise, on a `Joint` space.
        fidelity: Levels of accuracy, and their costs: each query has one as its `environment`, and
            what is recommended and reported is of the last level.
        policy: Where to measure next; by default `UpperConfidenceBound()`, with `integrated=True`
            in a box of at most 16 variables, without a kernel and a risk. With a kernel,
            `acquisition.Guarded` by bounds of least squares that have a proof (`BoundsOf`) adds a
            bound on the regret.
        ridge: Where a kernel is given, the noise variance in the units of the kernel: in multiples
            of the squared output scale, which is estimated; 1 by default.
        scale: Factor of the width sqrt(2 ln(t^2 pi^2 / 0.6)).
        initial: Number of points of the initial design; by default none if a kernel is given.
        outcomes: Other quantities that are measured with the reward, by name: a `Constraint`, an
            `Objective` or one that is only `Watched`.
        effects: Nuisance effects to include in the model if the data support them: "worker", a
            random intercept for each `worker` passed to `tell`, and "drift", a drift over the
            `time` passed to `tell`; see `HyperparameterFit`.
        guess: Where the optimum is thought to be, as values of some parameters by name, or
            `box.given({0: 0.3})`. It is measured first, and the search begins near it and leaves it
            as the evidence contradicts it, unless a `Policy` chooses, and not a score.
        prior: Belief of an earlier run on a related system, in the same space: its function is the
            prior mean where that predicts rewards that are left out clearly better, in other
            units too. What it recommends is the guess; of the parameters without one of their own
            if there is one, and no rules and conditions join them.
        instability: Which points have replicates that differ too much, and are avoided.
        estimand: What is reported of the rewards at a point: "location" is the center of the fitted
            noise, median and mean if that is symmetric, and robust to outliers; "median" and "mean"
            are those of the rewards, outliers included. The recommended point is the same.
        safe: Whether no point is asked for whose measurement may fail, see `Plan`.
        seed: Seed of all random choices.
        device: Device of the tensors.

    Returns:
        The optimizer.

    Raises:
        InvalidInput: If `ridge` is given without a kernel, a `fidelity` with an environment, or an
            argument is out of range.

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
    space = as_space(space)
    if kernel is None and ridge is not None:
        raise InvalidInput("`ridge` requires a `kernel`: without one, the noise is fitted.")
    if policy is None:
        policy = UpperConfidenceBound() if kernel is not None else search_policy(space, risk)
    _check_prior(space, prior, kernel, risk, fidelity, policy)
    guessed = _guess_of(space, guess, prior)
    if guessed.values and not isinstance(policy, Policy):
        policy = NearGuess(guessed, policy)
    if kernel is None:
        space = placed(space, device)
        fit = _fit(space, risk, effects)
        if prior is not None:
            known = prior.observations
            fit = replace(fit, earlier=earlier_on(space, known.sites[known.site], known.rewards))  # type: ignore[arg-type]
        first = initial_design_size(space) if initial is None else initial
        levels: Sequence[int] = ()
        if fidelity is not None:
            space, risk, policy = _at_levels(space, fidelity, risk, policy)
            levels = [first, *[math.ceil(_COMPARED * first)] * (len(fidelity.levels) - 1)]
        model = _model(space, fit, scale)
        return Optimizer(
            space,
            model.hyperparameters,
            risk=risk,
            features=model.features,
            estimator=model.estimator,
            width=model.width,
            policy=policy,
            plan=Plan(first, instability=instability, safe=safe, levels=levels, guess=guessed),
            reporting=Reporting("cross-validated", Credible(), estimand),
            outcomes=outcomes,
            seed=seed,
        )
    space = placed(space, device)
    if fidelity is not None:
        space, risk, policy = _at_levels(space, fidelity, risk, policy)
    return Optimizer(
        space,
        GivenHyperparameters(kernel, 1.0 if ridge is None else ridge, standardise=True),
        risk=risk,
        features=Exact() if space.seen.finite else Nystrom(PivotedCholesky()),
        estimator=Huber(),
        width=srinivas(scale=scale),
        policy=policy,
        plan=Plan(
            0 if initial is None else initial, instability=instability, safe=safe, guess=guessed
        ),
        reporting=Reporting(interval=Credible(), estimand=estimand),
        outcomes=outcomes,
        seed=seed,
    )


def robust_model(
    space: Space | Joint,
    risk: Risk | None = None,
    effects: Sequence[str] = EFFECTS,
    scale: float = 0.5,
) -> Model:
    """The model of `robust_ucb` where a kernel is fitted; for its arguments, see there."""
    return _model(space, _fit(space, risk, effects), scale)


def _model(space: Space | Joint, fit: HyperparameterFit, scale: float) -> Model:
    return Model(space.seen, fit, Nystrom(PivotedCholesky()), StudentT(), srinivas(scale=scale))


def _check_prior(
    space: Space | Joint,
    prior: Belief | None,
    kernel: Kernel | None,
    risk: Risk | None,
    fidelity: Fidelity | None,
    policy: Policy | ScoreRule,
) -> None:
    """`InvalidInput` for an earlier belief that cannot be used."""
    if prior is None:
        return
    checks.instance("prior", prior, Belief)
    beside = {
        "a given `kernel`": kernel is not None,
        "a `risk`": risk is not None,
        "a `fidelity`": fidelity is not None,
        "`NoisyExpectedImprovement`": isinstance(policy, NoisyExpectedImprovement),
        "a space other than a `Box`": not isinstance(space, Box),
    }
    for what, is_there in beside.items():
        if is_there:
            raise InvalidInput(f"`prior` came with {what}: leave one of them out.")


def _guess_of(
    space: Space | Joint, guess: Box | Mapping[str, Any] | None, prior: Belief | None
) -> Guess:
    """The guess, and of the rest the recommendation of an earlier belief."""
    if guess is None:
        return Guess(_recommended(prior))
    part = part_of(space, guess, "guess").design
    if not isinstance(part, Box) or not part.fixed:
        raise InvalidInput(
            f"`guess` is {checks.shown(guess)}, expected values of some parameters by name, or "
            "`box.given({0: 0.3})`."
        )
    # Where rules or conditions join parameters, the rest of it may not go with the guess.
    if part.region.rules or part.active is not ALL_ACTIVE:
        return Guess(part.fixed)
    return Guess(_recommended(prior) | {**part.fixed})


def _recommended(prior: Belief | None) -> dict[int, float]:
    """Coordinates of the recommendation of a belief by their index; none without one."""
    if prior is None:
        return {}
    best = recommend(prior, "mean", PolicyState(torch.Generator().manual_seed(0)))
    return dict(enumerate(best.point.tolist()))


def _at_levels(
    space: Space | Joint, fidelity: Fidelity, risk: Risk | None, policy: Policy | ScoreRule
) -> tuple[Joint, Risk, Policy | ScoreRule]:
    """The space of designs with a level of fidelity each, its risk and its policy."""
    checks.instance("fidelity", fidelity, Fidelity)
    if isinstance(space, Joint) or risk is not None:
        what = "a `risk`" if risk is not None else "a `Joint` space"
        raise InvalidInput(
            f"`fidelity` came with {what}, expected a space without an environment: leave one of "
            "them out."
        )
    by_level = policy if isinstance(policy, Policy) else GainPerCost(fidelity.cost, policy)
    return fidelity.of(space), Mean(), by_level


def search_policy(space: Space | Joint, risk: Risk | None = None) -> UpperConfidenceBound:
    """The policy where a kernel is fitted.

    A fit that is certain of a wrong lengthscale, or of which rewards are outliers, ends the search
    at a local optimum; one that is integrated over the hyperparameters is not certain.
    """
    plain = risk is not None or not isinstance(space, Box) or space.has_many_variables
    return UpperConfidenceBound(integrated=not plain)


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
        other_nus=() if many else (0.5, 1.5),
        microscale=0.5 if many else 0.25,
    )
