"""Defaults that several algorithms share."""

from __future__ import annotations

from surefoot.spaces import Arms, Box, Joint, Space
from surefoot.types import InvalidInput
from surefoot.widths import Width


def initial_design_size(space: Space | Joint) -> int:
    """Size of the initial design where the kernel is fitted."""
    if not isinstance(space, Arms | Box | Joint):
        raise InvalidInput(f"`space` is {space!r}, expected `Arms`, `Box` or `Joint`.")
    return min(max(8, 2 * (space.seen.dimension + 1)), 12)


def default_scale(space: Space | Joint) -> float:
    """Factor of the width, where the algorithm is the default.

    Half of the width is enough for few variables, or continuous ones. With many of which some are
    categorical, only few differ between the points of a search, and it stays in the first region
    that looks good.
    """
    if not isinstance(space, Box):
        return 0.5
    return 1.0 if space.choices and space.has_many_variables else 0.5


def width_or(given: Width | None, scale: float, default: Width) -> Width:
    """The width given, or the default; `InvalidInput` for a scale beside a width."""
    if given is not None and scale != 1.0:
        raise InvalidInput(
            f"`scale` = {scale!r} and `width` cannot both be given: pass the scale to the "
            f"width, as in `widths.srinivas(scale={scale!r})`."
        )
    return default if given is None else given
