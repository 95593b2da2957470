"""Lacing values: the environments at which a measurement narrows the bounds of a risk."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.beliefs import Candidates
from surefoot.risks.risk import Risk, support_only
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location

Lacing = Literal["prob", "unif", "prob-random"]
"""Which lacing value to measure under: "prob" for the one of largest weight or density, of several
the least certain; "prob-random" for the same, of several a random one; "unif" for a random one."""


def check_lacing(lacing: str) -> None:
    """Refuse anything but the names of `Lacing`."""
    checks.choice("lacing", lacing, *get_args(Lacing))


def check_density(space: Arms | Box | Joint, risk: Risk, lacing: Lacing) -> None:
    """Refuse an environment without a density where lacing values are chosen by it."""
    if space.has_environment and _by_density(space, risk, lacing):
        some = space.environment.examples(1, torch.Generator().manual_seed(0))
        space.environment.likelihood(some, some[:, 0])


def _by_density(space: Arms | Box | Joint, risk: Risk, lacing: Lacing) -> bool:
    """Whether the density matters; the worst case is the least value, however likely."""
    return lacing != "unif" and not space.observed and not support_only(risk)


def lacing_value(
    candidates: Candidates, design: Location, lacing: Lacing, generator: torch.Generator
) -> Tensor:
    """A lacing value (dz,) for a design, among the values that represent Z.

    Args:
        candidates: What to choose from on a `Joint` space, with values of Z.
        design: The design.
        lacing: Which of them.
        generator: Source of randomness.

    References:
        Nguyen et al. 2021, Definition 1 and Theorem 1.
    """
    space, z, risk = candidates.space, candidates.z, candidates.belief.risk
    environment = space.environment
    _, lower, upper = candidates.bounds_at(design)
    likely = candidates.weights_at(design.design.unsqueeze(0)).reshape(-1)
    laces = risk.lacing(lower[0], upper[0], likely)
    if lacing != "unif" and int(laces.sum()) == 1:
        return z[int(laces.int().argmax())]
    if lacing == "unif" or not (environment.finite or _by_density(space, risk, lacing)):
        return z[_random(laces, generator)]
    likely = environment.likelihood(z, likely)
    most = likely[laces].max()
    # A density may be infinite at an end, where a difference is not a number.
    best = laces & ((likely == most) | (likely >= most - 1e-12 * most.abs()))
    if lacing == "prob-random":
        return z[_random(best, generator)]
    return z[int((upper - lower)[0].masked_fill(~best, -torch.inf).argmax())]


def _random(allowed: Tensor, generator: torch.Generator) -> int:
    """Index of a random true entry of a mask (m,)."""
    indices = allowed.nonzero().squeeze(-1)
    return int(indices[torch.randint(len(indices), (), generator=generator)])
