"""Defaults that several algorithms share."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, TypeVar

import torch

from surefoot import kernels
from surefoot._internal import checks
from surefoot.acquisition import Guarded, Policy, ScorePolicy
from surefoot.acquisition.lacing import Lacing
from surefoot.optimizer.arguments import check_space
from surefoot.spaces import Arms, Box, Joint, Space
from surefoot.spaces.box import as_space
from surefoot.types import InvalidInput
from surefoot.widths import Progress, Width, dual_mixture, srinivas

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

_LONG, _FEW = 10_000, 512  # rounds without a horizon, and points that are compared
_Space = TypeVar("_Space", bound="Arms | Box | Joint")


def initial_design_size(space: Space | Joint) -> int:
    """Size of the initial design where the kernel is fitted."""
    space = as_space(space)
    check_space(space)
    return min(max(8, 2 * (space.seen.dimension + 1)), 12)


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
) -> Width:
    """The width given, the proved bounds of a known noise, or else the heuristic of practice."""
    if noise is None:
        if norm_bound is not None:
            raise InvalidInput(
                "`norm_bound` came without `noise`: pass both, of which the bounds are proved."
            )
        return width_or(given, scale, srinivas(delta, scale))
    if given is not None:
        raise InvalidInput("`noise` and `width` cannot both be given: pass one of them.")
    if kernel is None:
        raise InvalidInput(
            "`noise` came without a `kernel`: pass both, of which bounds are proved."
        )
    return dual_mixture(norm_bound, noise, delta, scale)


def optimism(*, proved: bool, delta: float, lacing: Lacing = "prob") -> Policy:
    """The upper confidence bound: where bounds are proved, a narrow one that they guard."""
    policy = ScorePolicy(lacing=lacing)
    return Guarded(policy, heuristic=srinivas(delta), lacing=lacing) if proved else policy


def warn_if_vacuous(
    width: Width,
    kernel: Kernel,
    space: Space,
    ridge: float,
    norm_bound: float | None,
    horizon: int | None,
) -> None:
    """Warn of bounds that cannot separate any two points within the horizon.

    After T rounds at a single point its deviation is sqrt(k ridge / (k T + ridge)), and no point
    has less; f differs by at most B d_k between two points, d_k the distance in the kernel. Without
    a norm bound or a horizon, the size of f or the number of rounds is not known: a run of 10,000
    rounds is supposed, and nothing is said without a norm bound.
    """
    if norm_bound is None:
        return
    rounds = _LONG if horizon is None else horizon
    points = space.examples(_FEW, torch.Generator().manual_seed(0))[:_FEW]
    with torch.no_grad():
        gram = kernels.block(kernel, points, points)
    largest = float(gram.diagonal().max())
    gaps = gram.diagonal()[:, None] + gram.diagonal()[None] - 2.0 * gram
    most = norm_bound * float(gaps.max().clamp_min(0.0).sqrt())
    gain = 0.5 * math.log1p(rounds * largest / ridge)
    progress = Progress(rounds, gain, dimension=1, ridge=ridge, prior_variance=largest)
    reach = width(progress) * math.sqrt(largest * ridge / (rounds * largest + ridge))
    if 2.0 * reach > most:
        warnings.warn(
            f"the bounds cannot separate any two points in {rounds:,} rounds: they are at least "
            f"+-{reach:.3g} wide where all rounds are at one point, and the function differs by at "
            f"most {most:.3g}. Queries will be hardly better than random: pass a smaller `scale`, "
            "for which nothing is proved, or use `robust_ucb`.",
            stacklevel=3,
        )


def placed(space: _Space, device: str | torch.device) -> _Space:
    """The space with its tensors on a device."""
    space = as_space(space)
    check_space(space)
    return space.to(checks.device(device))  # type: ignore[return-value]
