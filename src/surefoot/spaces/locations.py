"""Which point, arm and pending query somebody means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.spaces.arms import Arms
from surefoot.spaces.box import Space
from surefoot.types import InvalidInput, Query

Where = Query | int | Tensor | Sequence[float]


class Place(NamedTuple):
    """Where a reward belongs, as the model sees it; `query` is the pending query that it settles.

    On a joint space, `design` and `design_arm` are x and its index, and `environment` is z.
    """

    point: Tensor
    arm: int | None
    query: int | None = None
    design: Tensor | None = None
    design_arm: int | None = None
    environment: Tensor | None = None


def locate(space: Space, where: Where, pending: Mapping[int, Query]) -> Place:
    """The place meant by a query, an arm's index or a point, `InvalidInput` if there is none.

    A point or an arm settles the first query that is pending there.
    """
    if isinstance(where, Query):
        if pending.get(where.id) is where:
            return Place(where.point, where.arm, where.id)
        point, arm = point_and_arm(space, where.point if where.arm is None else where.arm)
        return Place(point, arm, where.id if where.id in pending else None)
    point, arm = point_and_arm(space, where)
    for query in pending.values():
        if query.arm == arm and torch.equal(query.point, point):
            return Place(point, arm, query.id)
    return Place(point, arm)


def point_and_arm(
    space: Space, where: int | Tensor | Sequence[float], name: str = "point"
) -> tuple[Tensor, int | None]:
    """The point of a space, and its index among arms, `InvalidInput` if there is none."""
    if isinstance(space, Arms) and (arm := checks.integer(where)) is not None:
        return space.points[space.index(arm)], arm
    point = checks.vector(name, where, space.dimension, space.lower.device)  # type: ignore[arg-type]
    if isinstance(space, Arms):
        found = (space.points == point).all(-1).nonzero()
        if len(found) == 0:
            raise InvalidInput(
                f"the point {point.tolist()} is not one of the arms: tell the arm's index."
            )
        return point, int(found[0])
    if not space.contains(point):
        raise InvalidInput(
            f"the point {point.tolist()} is outside the box from {space.lower.tolist()} "
            f"to {space.upper.tolist()}: tell points of the space that was given."
        )
    return point, None
