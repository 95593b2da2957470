"""What a policy is, and policies made of scores or of other policies."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

import torch

from surefoot import risks
from surefoot._internal import checks
from surefoot.acquisition.argmax import ArmBound, maximise
from surefoot.acquisition.context import Context, Score, ScoreRule
from surefoot.acquisition.lacing import Lacing, check_density, check_lacing, lacing_value
from surefoot.regression.arm_posterior import ArmPosterior
from surefoot.risks import Mean, Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput

_MOST_INTEGRATED = 150  # rewards: with 300 a choice would take more than a second


@runtime_checkable
class Policy(Protocol):
    """Chooses where to measure next; a user-defined policy implements these two methods.

    Where a score of designs is all that differs, pass the score itself: a function of a `Context`
    that returns a function of designs, which `ScorePolicy` maximises.

    Example:
        >>> import surefoot as sf
        >>> class Uniform:
        ...     def check(self, space, risk):
        ...         pass
        ...     def choose(self, context, among):
        ...         number = 1 if among is None else len(among)
        ...         point = context.space.sample(number, context.generator)[0]
        ...         return context.space.location(point)
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), kernel, policy=Uniform())
        >>> bool(0.0 <= optimizer.ask().point <= 1.0)
        True
    """

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse a space or a risk that the policy cannot work on.

        Raises:
            InvalidInput: If it cannot.
        """
        ...

    def choose(self, context: Context, among: list[Location] | None) -> Location:
        """Choose a location.

        Args:
            context: The state of the optimisation.
            among: The only designs to choose from, None for all of the space.

        Returns:
            A location of `context.space`, as `maximise` finds or `context.space.location` makes it.
        """
        ...


@dataclass(frozen=True)
class UpperConfidenceBound:
    r"""The upper confidence bound, of a risk where there is an environment.

    .. math:: \mathrm{risk}\,[\,\mu(x, Z) + \beta\,\sigma(x, Z)\,]

    Where measurements have failed, a failure counts as the lowest lower bound of any site.

    Args:
        integrated: Whether mean and deviation are integrated over the hyperparameters, where they
            are fitted; without microscale variation. Beyond 150 rewards they are taken as known.

    References:
        Srinivas et al. 2010, Algorithm 1; Nguyen et al. 2021 (V-UCB), Algorithm 1. Osborne 2010 and
        Snoek et al. 2012, Section 3.1, for integration over the hyperparameters.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(space, kernel, policy=sf.acquisition.UpperConfidenceBound())
        >>> _ = optimizer.tell_all([0, 2], [1.0, 1.0])
        >>> optimizer.ask().arm
        1
    """

    integrated: bool = False

    def __post_init__(self) -> None:
        checks.truth("integrated", self.integrated)

    def __call__(self, context: Context) -> Score:
        if self.integrated and len(context.observations) <= _MOST_INTEGRATED:
            context = context.integrated(context.hyperparameter_uncertainty.smooth)
        space = context.space
        posterior = context.posterior
        tabulated = isinstance(space, Arms) and isinstance(posterior, ArmPosterior)
        if tabulated and context.feasible is None:
            return ArmBound(space, posterior, context.width)  # type: ignore[arg-type]
        return lambda x: context.bound(x, context.width)


@dataclass(frozen=True)
class ScorePolicy:
    """Maximises a score over designs; measures under a lacing value of the environment.

    At a lacing value, the bounds of the function enclose those of its risk: with "prob" the one
    of largest weight or density is taken, and of several the least certain; with "unif" a random
    one. A continuous environment is represented by `values` quasi-random values, drawn anew in
    each round. With the default score this is V-UCB, for any risk that has lacing values.

    Args:
        score: Function of a `Context` that returns a function of designs (n, dx) -> (n,),
            differentiable where they fill a box.
        lacing: Which lacing value to take.
        values: How many values represent a continuous environment.

    Raises:
        InvalidInput: If `score` is no function, `lacing` is neither, or there are fewer than two
            `values`.

    References:
        Nguyen et al. 2021, "Value-at-Risk optimization with Gaussian processes", Algorithm 1.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> greedy = sf.acquisition.ScorePolicy(lambda context: context.mean)
        >>> optimizer = sf.Optimizer(space, kernel, policy=greedy)
        >>> _ = optimizer.tell(0, 1.0)
        >>> optimizer.ask().arm
        0
    """

    score: ScoreRule = field(default_factory=UpperConfidenceBound)
    lacing: Lacing = "prob"
    values: int = 256

    def __post_init__(self) -> None:
        if not callable(self.score) or isinstance(self.score, type):
            raise InvalidInput(
                f"`score` is {checks.shown(self.score)}, expected a function of a `Context` such "
                "as `UpperConfidenceBound()`."
            )
        check_lacing(self.lacing)
        checks.count("values", self.values, least=2)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse an environment without a density where that is needed."""
        check_density(space, risk, self.lacing)

    def choose(self, context: Context, among: list[Location] | None) -> Location:
        """The design of largest score, under a lacing value."""
        if not context.space.has_environment:
            return maximise(self.score(context), context, among)
        with torch.no_grad():
            context = context.sampled(self.values)
            best = maximise(self.score(context), context, among)
            z = lacing_value(context, best.design, self.lacing)
            space: Joint = context.space  # type: ignore[assignment]
            return space.location(best.design, best.design_arm, z.cpu())


def as_policy(given: object) -> Policy:
    """The policy itself, or for a score the policy that maximises it.

    Raises:
        InvalidInput: If it is neither.
    """
    if isinstance(given, type) or not (isinstance(given, Policy) or callable(given)):
        raise InvalidInput(
            f"`policy` is {given!r}, expected a policy such as `UpperConfidenceBound()`."
        )
    return given if isinstance(given, Policy) else ScorePolicy(given)


def risk_on(space: Arms | Box | Joint, risk: object) -> Risk:
    """The risk to maximise, `Mean()` on a space without an environment.

    Raises:
        InvalidInput: If there is an environment and no risk, or the reverse.
    """
    if space.has_environment:
        if risk is None:
            raise InvalidInput(
                "a `Joint` space requires a `risk`: pass one, such as `risk=VaR(0.1)`, "
                "`CVaR(0.1)`, `Mean()` or `WorstCase()`, or use `algorithms.v_ucb`, `cvar_ucb`, "
                "`cvar_ts` or `stable_opt`."
            )
        return risks.checked(risk)
    if risk is not None:
        raise InvalidInput(
            f"`risk` is {risk!r}, but the space has no environment: pass "
            "`Joint(design, environment)`."
        )
    return Mean()
