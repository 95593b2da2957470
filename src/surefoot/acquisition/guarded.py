"""A practical choice that is measured as long as bounds with a proof certify it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition.argmax import ArmBound
from surefoot.acquisition.lacing import Lacing, check_lacing
from surefoot.acquisition.policy import Policy, ScorePolicy, UpperConfidenceBound, as_policy
from surefoot.acquisition.scores import PolicyState, ScoreRule
from surefoot.beliefs import Belief, Candidates
from surefoot.beliefs.band import Band, BandEnds, self_normalised_of
from surefoot.beliefs.estimands import Ends
from surefoot.regression.units import RewardUnits
from surefoot.risks import Risk
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location, designs_of
from surefoot.types import InvalidInput
from surefoot.widths import Width, self_normalised, srinivas
from surefoot.widths.progress import check_width


@dataclass(frozen=True)
class OwnBounds:
    """The bounds of the run, by its estimator and its width."""

    def __call__(self, belief: Belief) -> Belief:
        return belief


@dataclass(frozen=True)
class BoundsOf:
    """Bounds of least squares on the same rewards, to certify choices by another estimator.

    They are in the features of the run, of the rewards as they are: those of an `Optimizer` with
    this width, for a given kernel and features that represent it, as `Exact()`.

    Args:
        width: The width of the bounds.

    Raises:
        InvalidInput: If `width` is another one.

    Example:
        >>> import surefoot as sf
        >>> arms, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> bounds = BoundsOf(sf.widths.self_normalised(sf.Moment(alpha=1.0, bound=4.0), 2.0))
        >>> guarded = sf.acquisition.Guarded(bounds=bounds)
        >>> optimizer = sf.algorithms.robust_ucb(arms, kernel, policy=guarded)
        >>> _ = optimizer.tell_all([0, 2], [1.0, 1.0])
        >>> optimizer.ask().arm
        1
    """

    width: self_normalised

    def __post_init__(self) -> None:
        if not isinstance(self.width, self_normalised):
            raise InvalidInput(
                f"`width` is {checks.shown(self.width)}, expected `widths.self_normalised(moment, "
                "norm_bound)`: other bounds of heavy-tailed rewards refuse no choice."
            )

    def __call__(self, belief: Belief) -> Belief:
        progress = belief.outcome.progress
        sample = replace(belief.outcome.sample, units=RewardUnits())
        shape = self_normalised_of(self.width, sample, belief.posterior, progress)
        limit = self.width.limit(progress)
        band = Band(belief.posterior.of_rewards, self.width(progress), shape, limit=limit)
        return replace(belief, band=band.with_pending(belief.pending.pulls))


@dataclass(frozen=True)
class Guarded:
    r"""Chooses by narrow heuristic bounds, as long as the bounds of the run certify the choice.

    With l and u the bounds of the run, rho its risk and c the slack, a choice x, z of the policy is
    measured if

    .. math:: \max_{x'} \rho(u(x', Z)) - \rho(l(x, Z)) \leq (1 + c)\,(u(x, z) - l(x, z)),

    else the upper confidence bound of the run decides. While l and u hold, the left side is at
    least the regret of x. So the sum of regrets is at most :math:`1 + c` times that of the widths
    :math:`u - l` of what is measured, by which the regret of GP-UCB and V-UCB is bounded: the bound
    of their theorems grows by :math:`1 + c` at most, and regret is in practice that of the
    heuristic. With a slack of 0 every choice is one of the upper confidence bound. While the bounds
    are too wide to separate arms, one that is chosen n times has others measured
    :math:`n / (1 + 2 c)^2` times. Pending queries narrow the bounds, which are not proved then.

    Args:
        policy: The policy, or a score; it sees the bounds of the heuristic where these are within
            those of the run.
        slack: Factor c, at least 0.
        heuristic: Width of the narrow bounds, from rounds, information gain and dimension.
        lacing: Lacing value of the choices by the upper confidence bound.
        bounds: The bounds that certify, a function of a belief: those of the run, or those of least
            squares, `BoundsOf`, where the run's own have no proof.

    Raises:
        InvalidInput: If an argument is out of range.

    References:
        notes/guarantees.md, Proposition 6. Luo and Bayati 2023, "Geometry-aware approaches for
        balancing performance and theoretical guarantees in linear bandits", correct a policy by its
        bounds in a similar way.

    Example:
        >>> import surefoot as sf
        >>> space, kernel = sf.Arms([[0.0], [0.5], [1.0]]), sf.kernels.squared_exponential(0.2)
        >>> width = sf.widths.dual_mixture(norm_bound=2.0, noise=0.1)
        >>> guarded = sf.acquisition.Guarded(slack=1.0)
        >>> method = sf.Method(kernel, width=width, policy=guarded, ridge=0.01)
        >>> optimizer = sf.Optimizer(space, method)
        >>> _ = optimizer.tell_all([0, 2], [1.0, 1.0])
        >>> optimizer.ask().arm
        1
    """

    policy: Policy | ScoreRule = field(default_factory=UpperConfidenceBound)
    slack: float = 9.0
    heuristic: Width = field(default_factory=srinivas)
    lacing: Lacing = "prob"
    bounds: Callable[[Belief], Belief] = field(default_factory=OwnBounds)

    def __post_init__(self) -> None:
        as_policy(self.policy)
        checks.non_negative("slack", self.slack)
        check_width("heuristic", self.heuristic)
        check_lacing(self.lacing)

    def check(self, space: Arms | Box | Joint, risk: Risk) -> None:
        """Raise what the policy or the upper confidence bound raises."""
        as_policy(self.policy).check(space, risk)
        self._optimistic.check(space, risk)

    def choose(
        self, belief: Belief, among: Sequence[Location] | None, state: PolicyState
    ) -> Location:
        """The choice of the policy if it is certified, else that of the upper confidence bound."""
        width = min(belief.band.width, self.heuristic(belief.outcome.progress))
        narrow = replace(belief, band=belief.band.of_width(width))
        chosen = as_policy(self.policy).choose(narrow, among, state)
        proved = self.bounds(belief)
        at, optimistic = proved.candidates, partial(self._optimistic.choose, proved, among, state)
        known = among is None and at.has_table
        bound = UpperConfidenceBound()(at, state.generator)
        if known and isinstance(bound, ArmBound):  # bounds of all arms are found if need be
            ends = partial(self._ends, proved, bound)
            _, lower, upper = ends(chosen)
            largest = bound.ceiling.max().clamp_max(proved.band.limit)
            if self._certifies(at, chosen, largest, lower, upper):
                return chosen
            best = optimistic()
            return chosen if self._certifies(at, chosen, ends(best).upper, lower, upper) else best
        if known:  # by which the largest bound is known
            with torch.no_grad():
                _, lower, upper = at.risks(at.space.design.points)  # type: ignore[union-attr]
            arm = chosen.design_arm
            certified = self._certifies(at, chosen, upper.max(), lower[arm], upper[arm])
            return chosen if certified else optimistic()
        best = optimistic()
        with torch.no_grad():
            _, lower, upper = _risks(at, [best, chosen])
        return chosen if self._certifies(at, chosen, upper[0], lower[1], upper[1]) else best

    @staticmethod
    def _ends(belief: Belief, bound: ArmBound, location: Location) -> BandEnds:
        """Mean and bounds of an arm."""
        return belief.band.clipped([end[0] for end in bound.ends(torch.tensor([location.arm]))])

    @property
    def _optimistic(self) -> ScorePolicy:
        return ScorePolicy(lacing=self.lacing)

    def _certifies(
        self,
        candidates: Candidates,
        chosen: Location,
        largest: Tensor,
        lower: Tensor,
        upper: Tensor,
    ) -> bool:
        """Whether the regret of a choice is at most 1 + c times the width of its bounds.

        Args:
            candidates: Those whose bounds certify.
            chosen: The choice.
            largest: The largest upper bound of a risk.
            lower: Lower bound of the risk of the choice.
            upper: Its upper bound.
        """
        reach = upper - lower
        if chosen.environment is not None:
            with torch.no_grad():
                at = candidates.bounds_at(chosen)
            reach = (at.upper - at.lower)[0, 0]
        return bool(largest - lower <= (1.0 + self.slack) * reach)


def _risks(candidates: Candidates, locations: list[Location]) -> Ends:
    """Risks of mean and bounds (n,) at the designs of locations; all arms at once are looked up."""
    if candidates.has_table:
        rows = [location.design_arm for location in locations]
        mean, lower, upper = candidates.risks(candidates.space.design.points)  # type: ignore[union-attr]
        return mean[rows], lower[rows], upper[rows]
    return candidates.risks(designs_of(locations))
