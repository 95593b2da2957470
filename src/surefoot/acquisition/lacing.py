"""Lacing values: the environments at which a measurement narrows the bounds of a risk."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.acquisition.context import Context
from surefoot.risks import Risk, WorstCase
from surefoot.spaces import Arms, Box, ContinuousEnvironment, Joint

Lacing = Literal["prob", "unif"]


def check_lacing(lacing: str) -> None:
    """Refuse anything but "prob" and "unif"."""
    checks.choice("lacing", lacing, "prob", "unif")


def check_density(space: Arms | Box | Joint, risk: Risk, lacing: Lacing) -> None:
    """Refuse an environment without a density where lacing values are chosen by it."""
    if not isinstance(space, Joint) or not _by_density(space, risk, lacing):
        return
    if isinstance(space.environment, ContinuousEnvironment):
        one = space.environment.sample(1, torch.Generator().manual_seed(0))
        space.environment.log_prob(one)


def _by_density(space: Joint, risk: Risk, lacing: Lacing) -> bool:
    """Whether the density matters; the worst case is the least value, however likely."""
    return lacing == "prob" and not space.observed and not isinstance(risk, WorstCase)


def lacing_value(context: Context, x: Tensor, lacing: Lacing) -> Tensor:
    """A lacing value (dz,) for a design (dx,), among the values that represent Z.

    Args:
        context: The state of the optimization on a `Joint` space, with values of Z.
        x: The design.
        lacing: "prob" for the one of largest weight or density, "unif" for a random one.

    References:
        Nguyen et al. 2021, Definition 1 and Theorem 1.
    """
    space: Joint = context.space  # type: ignore[assignment]
    environment, z = space.environment, context.z
    _, lower, upper = context.bounds(x.unsqueeze(0))
    laces = context.risk.lacing(lower[0], upper[0], context.weights)
    if lacing == "prob" and int(laces.sum()) == 1:
        return z[int(laces.int().argmax())]
    continuous = isinstance(environment, ContinuousEnvironment)
    if lacing == "unif" or (continuous and not _by_density(space, context.risk, lacing)):
        allowed = laces.nonzero().squeeze(-1)
        return z[allowed[torch.randint(len(allowed), (), generator=context.generator)]]
    likely = context.weights
    if isinstance(environment, ContinuousEnvironment):
        likely = environment.log_prob(z.cpu()).to(laces.device)
    most = likely[laces].max()
    # A density may be infinite at an end, where a difference is not a number.
    best = laces & ((likely == most) | (likely >= most - 1e-12 * most.abs()))
    return z[int((upper - lower)[0].masked_fill(~best, -torch.inf).argmax())]
