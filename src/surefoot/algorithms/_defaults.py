"""Defaults that several algorithms share."""

from __future__ import annotations

from typing import Literal

from surefoot._internal import checks
from surefoot.acquisition import Guarded, Policy, ScorePolicy
from surefoot.acquisition.lacing import Lacing
from surefoot.spaces import Box, Joint, Space
from surefoot.spaces.joint import checked_space
from surefoot.types import InvalidInput
from surefoot.widths import Width, dual_mixture, self_normalised, srinivas

Choose = Literal["literal", "guarded"]


def initial_design_size(space: Space | Joint) -> int:
    """Size of the initial design where the kernel is fitted."""
    return min(max(8, 2 * (checked_space(space).seen.dimension + 1)), 12)


def size_in_few_rounds(space: Space, rounds: int) -> int:
    """Size of the initial design in a run of so few rounds that the usual one takes too many."""
    return max(5, min(space.dimension + 1, rounds // 2))


def has_many_mixed_variables(space: Space | Joint) -> bool:
    """Whether a box has more than 16 variables, of which some are categorical."""
    return isinstance(space, Box) and bool(space.choices) and space.has_many_variables


def optimism(choose: Choose, width: Width, lacing: Lacing = "prob") -> Policy:
    """The upper confidence bound, or a narrower one that bounds with a proof guard."""
    checks.choice("choose", choose, "literal", "guarded")
    policy = ScorePolicy(lacing=lacing)
    if choose == "literal":
        return policy
    moment = getattr(width, "moment", None)
    # Bounds by a lower moment refuse too little of what a guard is there for.
    low = moment is not None and moment.alpha < 1.0
    if low or not isinstance(width, dual_mixture | self_normalised):
        raise InvalidInput(
            f"`choose` is 'guarded' with the width {checks.shown(width)}, expected bounds with a "
            "proof: `widths.dual_mixture`, or `widths.self_normalised` of a moment of order 2."
        )
    return Guarded(policy, 9.0 if moment is None else 4.0, srinivas(width.delta), lacing)
