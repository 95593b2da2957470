"""Policies, and those made of a score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, runtime_checkable

import torch

from surefoot._internal import checks
from surefoot._internal.numbers import FEW_ENOUGH
from surefoot.acquisition.argmax import ArmBound, away_from_arms, maximise
from surefoot.acquisition.lacing import Lacing, check_density, check_lacing, lacing_value
from surefoot.acquisition.scores import PolicyState, ScoreRule
from surefoot.beliefs import Belief, Candidates
from surefoot.beliefs.best_level import on_best_level
from surefoot.beliefs.probability import Score
from surefoot.regression.posterior import AtArms
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput


@runtime_checkable
class Policy(Protocol):
    """Chooses where to measure next; a user-defined policy implements these two methods.

    Where a score of designs is all that differs, pass the score itself: a function of the
    candidates of a belief and a generator that returns a function of designs, which `ScorePolicy`
    maximises.

    Example:
        >>> import surefoot as sf
        >>> class Uniform:
        ...     def check(self, space, risk):
        ...         pass
        ...     def choose(self, belief, among, state):
        ...         number = 1 if among is None else len(among)
        ...         point = belief.space.sample(number, state.generator)[0]
        ...         return belief.space.location(point)
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), sf.Method(kernel, policy=Uniform()))
        >>> bool(0.0 <= optimizer.ask().point <= 1.0)
        True
    """

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse a space or a risk that the policy cannot work on.

        Raises:
            InvalidInput: If it cannot.
        """

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """Choose a location.

        Args:
            belief: All that follows from the measurements, and from pending queries.
            among: The only designs to choose from, None for all of the space.
            state: Randomness and memory of the policy.

        Returns:
            A location of `belief.space`, as `maximise` finds or `belief.space.location` makes it.
        """


@dataclass(frozen=True)
class UpperConfidenceBound:
    r"""The upper confidence bound, of a risk where there is an environment.

    .. math:: \mathrm{risk}\,[\,\mu(x, Z) + \beta\,\sigma(x, Z)\,]

    Where measurements have failed, a failure counts as the lowest lower bound of any site.

    Args:
        integrated: Whether mean and deviation are integrated over the hyperparameters, where they
            are fitted; without microscale variation. Where rewards jump between levels, over the
            side of the edge that a design is on (`on_best_level`), too. Beyond 150 rewards they are
            taken as known.

    References:
        Srinivas et al. 2010, Algorithm 1; Nguyen et al. 2021 (V-UCB), Algorithm 1. Osborne 2010 and
        Snoek et al. 2012, Section 3.1, for integration over the hyperparameters.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> policy = sf.acquisition.UpperConfidenceBound()
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, policy=policy))
        >>> _ = optimizer.tell_all([0, 2], [1.0, 1.0])
        >>> optimizer.ask().arm
        1
    """

    integrated: bool = False

    def __post_init__(self) -> None:
        checks.truth("integrated", self.integrated)

    def __call__(self, candidates: Candidates, generator: torch.Generator) -> Score:
        if self.integrated and len(candidates.belief.weights) <= FEW_ENOUGH:
            belief = on_best_level(candidates.belief)
            band = replace(belief.band, uncertainty=belief.outcome.uncertainty.smooth)
            candidates = candidates.of(replace(belief, band=band))
        space, band = candidates.space, candidates.belief.band
        tabulated = isinstance(space, Arms) and isinstance(band.predictive, AtArms)
        if tabulated and band.shape.is_of_some and candidates.feasible.is_certain:
            return ArmBound(space, band)  # type: ignore[arg-type]
        return lambda x: candidates.bound(x, candidates.width)


@dataclass(frozen=True)
class ScorePolicy:
    """Maximises a score over designs; measures under a lacing value of the environment.

    At a lacing value, the bounds of the function enclose those of its risk: with "prob" the one
    of largest weight or density is taken, and of several the least certain; with "unif" a random
    one. A continuous environment is represented by `values` quasi-random values, drawn anew in
    each round. With the default score this is V-UCB, for any risk that has lacing values.

    Args:
        score: Function of candidates and a generator that returns a function of designs (n, dx) ->
            (n,), differentiable where they fill a box.
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
        >>> greedy = sf.acquisition.ScorePolicy(lambda candidates, generator: candidates.mean)
        >>> optimizer = sf.Optimizer(space, sf.Method(kernel, policy=greedy))
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
                f"`score` is {checks.shown(self.score)}, expected a function of candidates such "
                "as `UpperConfidenceBound()`."
            )
        check_lacing(self.lacing)
        checks.count("values", self.values, least=2)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Refuse an environment without a density where that is needed."""
        check_density(space, risk, self.lacing)
        if space.is_elsewhere and not isinstance(self.score, UpperConfidenceBound):
            raise away_from_arms(f"the policy {checks.shown(self.score)}")

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The design of largest score, under a lacing value."""
        if not belief.space.has_environment:
            score = self.score(belief.candidates, state.generator)
            return maximise(score, belief.candidates, state.generator, among)
        with torch.no_grad():
            candidates = Candidates.sampled(belief, self.values, state.generator)
            score = self.score(candidates, state.generator)
            best = maximise(score, candidates, state.generator, among)
            z = lacing_value(candidates, best, self.lacing, state.generator)
            space: Joint = belief.space  # type: ignore[assignment]
            return space.location(best.design, best.design_arm, z)


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
