"""Queries that were asked, and whose measurements have not all come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from surefoot.types import Query


class Waiting:
    """Queries by id, in order of asking, and how many measurements of each are still to come."""

    def __init__(self) -> None:
        self._queries: dict[int, Query] = {}
        self._missing: dict[int, int] = {}
        self._next_id = 0

    @property
    def queries(self) -> Mapping[int, Query]:
        """The queries by their ids."""
        return self._queries

    @property
    def missing(self) -> list[int]:
        """Measurements still to come of each query."""
        return list(self._missing.values())

    def add(self, point: Tensor, arm: int | None, repeats: int = 1) -> Query:
        """A new query, to be measured so many times."""
        query = Query(self._next_id, point, arm, repeats)
        self._next_id += 1
        self._queries[query.id], self._missing[query.id] = query, repeats
        return query

    def settle(self, query: int) -> None:
        """One measurement of a query came; one that has them all is no longer waited for."""
        self._missing[query] -= 1
        if self._missing[query] == 0:
            self.drop(query)

    def drop(self, query: int) -> int:
        """Wait for a query no longer; gives how many of its measurements were to come."""
        del self._queries[query]
        return self._missing.pop(query)

    def state(self) -> dict[str, Any]:
        """All but the points, for `restore`."""
        listed = [
            [query.id, query.arm, query.repeats, self._missing[query.id]]
            for query in self._queries.values()
        ]
        return {"queries": listed, "next_id": self._next_id}

    def restore(self, state: dict[str, Any], points: Tensor) -> None:
        """Go on from a state, with the points (n, d) of its queries."""
        self._next_id = state["next_id"]
        for (id_, arm, repeats, missing), point in zip(state["queries"], points, strict=True):
            self._queries[id_] = Query(id_, point, arm, repeats)
            self._missing[id_] = missing

    def repeated(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Points (n, d) of the queries, and the measurements missing of each (n,)."""
        points = torch.stack([query.point for query in self._queries.values()])
        return points, torch.tensor(self.missing).to(like)
