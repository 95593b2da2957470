"""Which point, arm and pending query somebody means."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from surefoot import _checks
from surefoot.spaces import Arms, Space
from surefoot.types import InvalidInput, Query

Where = Query | int | Tensor | Sequence[float]


class Place(NamedTuple):
    """Where a reward belongs; `query` is the id of the pending query that it settles."""

    point: Tensor
    arm: int | None
    query: int | None


def locate(space: Space, where: Where, pending: Mapping[int, Query]) -> Place:
    """The place meant by a query, an arm's index or a point, `InvalidInput` if there is none.

    A point or an arm settles the first query that is pending there.
    """
    if isinstance(where, Query):
        if pending.get(where.id) is where:
            return Place(where.point, where.arm, where.id)
        point, arm = _point_and_arm(space, where.point if where.arm is None else where.arm)
        return Place(point, arm, where.id if where.id in pending else None)
    point, arm = _point_and_arm(space, where)
    for query in pending.values():
        if query.arm == arm and torch.equal(query.point, point):
            return Place(point, arm, query.id)
    return Place(point, arm, None)


def _point_and_arm(
    space: Space, where: int | Tensor | Sequence[float]
) -> tuple[Tensor, int | None]:
    if isinstance(space, Arms) and (arm := _checks.integer(where)) is not None:
        return space.points[space.index(arm)], arm
    point = _checks.vector("point", where, space.dimension, space.lower.device)  # type: ignore[arg-type]
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
