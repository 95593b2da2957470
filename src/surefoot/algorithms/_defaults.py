"""Defaults that several algorithms share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from surefoot._internal import checks
from surefoot.acquisition import Guarded, Policy, ScorePolicy
from surefoot.acquisition.lacing import Lacing
from surefoot.spaces import Box, Joint, Space
from surefoot.spaces.joint import checked_space
from surefoot.tails import Moment
from surefoot.types import InvalidInput
from surefoot.widths import Width, dual_mixture, self_normalised, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

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


def width_or(given: Width | None, scale: float, default: Width) -> Width:
    """The width given, or the default; `InvalidInput` for a scale beside a width."""
    if given is not None and scale != 1.0:
        raise InvalidInput(
            f"`scale` = {scale!r} and `width` cannot both be given: pass the scale to the "
            f"width, as in `widths.srinivas(scale={scale!r})`."
        )
    return default if given is None else given


def bounds_or_heuristic(
    given: Width | None,
    scale: float,
    kernel: Kernel | None,
    noise: float | None,
    norm_bound: float | None,
    delta: float,
    moment: Moment | None = None,
) -> Width:
    """The width given, the proved bounds of a known noise, or else the heuristic of practice."""
    if noise is None and moment is None:
        if norm_bound is not None:
            raise InvalidInput(
                "`norm_bound` came without `noise`: pass both, of which the bounds are proved."
            )
        return width_or(given, scale, srinivas(delta, scale))
    if (given is not None) + (noise is not None) + (moment is not None) > 1:
        names = "`noise` and `width`" if moment is None else "`moment` and `noise` or `width`"
        raise InvalidInput(f"{names} cannot both be given: pass one of them.")
    if kernel is None:
        raise InvalidInput(
            "`noise` came without a `kernel`: pass both, of which bounds are proved."
        )
    if moment is not None:
        return self_normalised(moment, norm_bound, delta, scale)
    return dual_mixture(norm_bound, noise, delta, scale)  # type: ignore[arg-type]


def optimism(
    choose: Choose, *, proved: bool, delta: float, lacing: Lacing = "prob", slack: float = 9.0
) -> Policy:
    """The upper confidence bound, or a narrower one that the bounds of the run guard."""
    checks.choice("choose", choose, "literal", "guarded")
    policy = ScorePolicy(lacing=lacing)
    if choose == "literal":
        return policy
    if not proved:
        raise InvalidInput(
            "`choose` is 'guarded', which needs bounds with a proof, of least squares and the "
            "default policy: pass `noise`, or a `moment` of order 2 where there is one, and no "
            "`width`, `estimator` or `policy`."
        )
    return Guarded(policy, slack, srinivas(delta), lacing)
