"""Which design and environment somebody means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.spaces.arms import Arms
from surefoot.spaces.environments import FiniteEnvironment
from surefoot.spaces.joint import Joint
from surefoot.spaces.locations import Place, Where, point_and_arm
from surefoot.types import InvalidInput, Query


def place_of(
    joint: Joint, design: Tensor, design_arm: int | None, environment: Tensor, query: int | None
) -> Place:
    """The place of a design (dx,) and an environment (dz,)."""
    arm = joint.pair(design_arm, environment)
    if arm is not None and isinstance(joint.seen, Arms):
        point = joint.seen.points[arm]
    else:
        point = joint.points(design.unsqueeze(0), environment.unsqueeze(0))[0, 0]
    return Place(point, arm, query, design, design_arm, environment)


def locate_joint(
    joint: Joint,
    where: Where,
    environment: Tensor | Sequence[float] | float | None,
    pending: Mapping[int, tuple[Query, Place]],
) -> Place:
    """The place meant by a query, a design or its index, and an environment.

    A query brings the environment that it asked for, unless the world drew it. `InvalidInput`
    where there is no such design or environment, or no environment came.
    """
    query = None
    if isinstance(where, Query):
        if environment is None:
            environment = where.environment
        query = where.id if where.id in pending else None
        design, arm = point_and_arm(joint.design, where.point if where.arm is None else where.arm)
    else:
        design, arm = point_and_arm(joint.design, where)
    if environment is None:
        drawn = "the world draws it" if joint.observed else "the reward says nothing without it"
        raise InvalidInput(
            f"no environment came with the design {design.tolist()}, and {drawn}: pass "
            "`environment=z` with the reward."
        )
    z = checked_environment(joint, environment)
    if query is None and not isinstance(where, Query):
        query = _waiting_there(joint, design, z, pending)
    return place_of(joint, design, arm, z, query)


def checked_environment(joint: Joint, environment: Tensor | Sequence[float] | float) -> Tensor:
    """The value (dz,) of Z that somebody means, `InvalidInput` if it cannot be one."""
    if isinstance(environment, bool):
        raise InvalidInput(f"`environment` is {environment!r}, expected numbers (dz,).")
    given = checks.listed(environment)
    known = joint.environment
    z = checks.vector("environment", given, known.dimension)
    if isinstance(known, FiniteEnvironment):
        index = known.index(z)
        if index is None:
            nearest = known.points[(known.points - z).square().sum(-1).argmin()]
            raise InvalidInput(
                f"the environment {z.tolist()} is none of the {len(known)} values it can take "
                f"(the nearest is {nearest.tolist()}): tell one of them, or describe it with "
                "`ContinuousEnvironment`."
            )
        return known.points[index].clone()
    room, (low, high) = 1e-9 * (known.upper - known.lower), known.ends
    if bool(((z < low - room) | (z > high + room)).any()):
        raise InvalidInput(
            f"the environment {z.tolist()} is outside its range from {low.tolist()} to "
            f"{high.tolist()}: give the environment a distribution that reaches there."
        )
    return z


def _waiting_there(
    joint: Joint, design: Tensor, z: Tensor, pending: Mapping[int, tuple[Query, Place]]
) -> int | None:
    """The first query for this design, and for this environment where the query chose it."""
    for query, place in pending.values():
        same = place.design is not None and torch.equal(place.design, design)
        if same and (joint.observed or torch.equal(place.environment, z)):  # type: ignore[arg-type]
            return query.id
    return None
