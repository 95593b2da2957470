"""Pending queries: asked, with rewards still to come."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from surefoot.regression.observations import Pull
from surefoot.spaces.locations import EnvironmentValue, Location, Where
from surefoot.types import Query

if TYPE_CHECKING:
    from surefoot.spaces import Arms, Box, Joint


def new_owner() -> str:
    """A random token; two optimizers never have the same one."""
    return secrets.token_hex(8)


@dataclass(eq=False)
class PendingQuery:
    """A query, the location that it stands for, and how many of its rewards are missing."""

    query: Query
    location: Location
    missing: int

    def asks_for(self, location: Location) -> bool:
        """Whether this query asks for a measurement there; any z will do if it names none."""
        mine = self.location
        if mine.design_arm != location.design_arm or not _is_told(mine.design, location.design):
            return False
        return self.query.environment is None or torch.equal(mine.environment, location.environment)  # type: ignore[arg-type]


def _is_told(asked: Tensor, told: Tensor) -> bool:
    """Whether a design (dx,) that was told is the one asked, or that rounded to float32."""
    return torch.equal(asked, told) or torch.equal(asked.to(torch.float32).to(told), told)


@dataclass(eq=False)
class PendingQueries:
    """The pending queries of one optimizer, by their ids and in the order of asking.

    A query is matched by its id and the token of the optimizer that made it, not by its point
    alone: a query of another optimizer, or one that is settled, matches none of these.

    Args:
        owner: Token that new queries get.
        next_id: Id of the next query.
        by_id: The queries.
    """

    owner: str = field(default_factory=new_owner)
    next_id: int = 0
    by_id: dict[int, PendingQuery] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.by_id)

    @property
    def queries(self) -> list[Query]:
        """The queries."""
        return [pending.query for pending in self.by_id.values()]

    @property
    def missing(self) -> int:
        """Rewards still to come, over all queries."""
        return sum(pending.missing for pending in self.by_id.values())

    @property
    def arms(self) -> list[int]:
        """Arms of the queries, where the inputs of the model are finitely many."""
        return [p.location.arm for p in self.by_id.values() if p.location.arm is not None]

    @property
    def pulls(self) -> list[Pull]:
        """The queries, as many pulls of each as have no reward yet."""
        waiting = self.by_id.values()
        return [Pull(one.location.point, one.location.arm, one.missing) for one in waiting]

    def repeated(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Points (n, d) of the queries, and how many rewards of each are missing (n,)."""
        points = torch.stack([pending.location.point for pending in self.by_id.values()])
        return points, torch.tensor([pending.missing for pending in self.by_id.values()]).to(like)

    def add(self, location: Location, repeats: int = 1, *, observed: bool = False) -> Query:
        """Make a query for a location.

        Args:
            location: Where to measure.
            repeats: How many rewards are expected.
            observed: Whether the environment draws z, which the query then leaves open.

        Returns:
            The query, whose tensors are copies.
        """
        z = None if observed or location.environment is None else location.environment.clone()
        design, arm = location.design.clone(), location.design_arm
        query = Query(self.next_id, design, arm, repeats, z, self.owner, location.params)
        self.by_id[self.next_id] = PendingQuery(query, location, repeats)
        self.next_id += 1
        return query

    def find(self, query: Query) -> PendingQuery | None:
        """This very query, or a copy of it, if it is pending."""
        pending = self.by_id.get(query.id)
        if pending is None or pending.query is query:
            return pending
        return pending if _same(pending.query, query) else None

    def asked(self, id_: int | None) -> list[Location]:
        """Location of a query; none where there is no query."""
        return [] if id_ is None else [self.by_id[id_].location]

    def asked_by(self, query: object) -> tuple[Location, int] | None:
        """Location and id of this very query, or a copy of it, if it is pending."""
        pending = self.find(query) if isinstance(query, Query) else None
        return None if pending is None else (pending.location, pending.query.id)

    def settle(self, id_: int | None) -> None:
        """Count one reward of a query, which is no longer pending when it has them all."""
        if id_ is None:
            return
        pending = self.by_id[id_]
        if pending.missing == 1:
            del self.by_id[id_]
        else:
            self.by_id[id_] = replace(pending, missing=pending.missing - 1)

    def drop(self, id_: int | None) -> int:
        """Remove a query; returns how many of its rewards were missing."""
        return self.by_id.pop(id_).missing  # type: ignore[arg-type]

    def copy(self) -> PendingQueries:
        """A copy that is settled on its own."""
        return replace(self, by_id=dict(self.by_id))


def _same(left: Query, right: Query) -> bool:
    """Whether two queries of one id are the same: copies of an optimizer share its token."""
    if left.owner != right.owner or not torch.equal(left.point, right.point):
        return False
    z, other = left.environment, right.environment
    return z is other or (z is not None and other is not None and torch.equal(z, other))


def locate(
    space: Arms | Box | Joint,
    where: Where,
    environment: EnvironmentValue,
    pending: PendingQueries,
) -> tuple[Location, int | None]:
    """Location that is meant, and the pending query that a reward there counts for.

    A query stands for the location that it asked for, and counts for itself if it is pending and
    for nothing otherwise. A point or an arm counts for the first query that is pending there.

    Args:
        space: The space of the optimizer.
        where: A query, the index of an arm, a point or a configuration; a design on a `Joint`
            space.
        environment: The z (dz,) of the measurement, None for that of the query.
        pending: The pending queries.

    Returns:
        The location, and the id of the query, None if there is none.

    Raises:
        InvalidInput: If the space has no such point or environment.
    """
    if not isinstance(where, Query):
        location = space.locate(where, environment)
        id_ = next((at for at, its in pending.by_id.items() if its.asks_for(location)), None)
        for asked in pending.asked(id_):
            if not torch.equal(asked.design, location.design):  # but for the rounding of float32
                location = space.locate(asked.design, environment)
        return location, id_
    found = pending.find(where)
    if found is None:
        z = where.environment if environment is None else environment
        return space.locate(where.point, z), None
    asked = found.location
    if environment is None and not space.observed:
        return asked, where.id
    design = asked.design if asked.design_arm is None else asked.design_arm
    return space.locate(design, environment), where.id
