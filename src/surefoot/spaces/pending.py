"""Queries that were asked, and whose measurements have not all come."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from surefoot.spaces.locations import Place
from surefoot.types import Query

_PARTS = ("point", "design", "environment")


class Waiting:
    """Queries by id, in order of asking, and how many measurements of each are still to come."""

    def __init__(self) -> None:
        self._queries: dict[int, Query] = {}
        self._places: dict[int, Place] = {}
        self._missing: dict[int, int] = {}
        self._next_id = 0

    @property
    def queries(self) -> Mapping[int, Query]:
        """The queries by their ids."""
        return self._queries

    @property
    def places(self) -> Mapping[int, tuple[Query, Place]]:
        """The queries and what they stand for, by their ids."""
        return {id_: (query, self._places[id_]) for id_, query in self._queries.items()}

    @property
    def missing(self) -> list[int]:
        """Measurements still to come of each query."""
        return list(self._missing.values())

    def add(self, place: Place, repeats: int = 1, observed: bool = False) -> Query:
        """A new query, to be measured so many times; with `observed`, the world draws z."""
        query = _query(self._next_id, place, repeats, observed)
        self._next_id += 1
        self._keep(query, place._replace(query=query.id), repeats)
        return query

    def settle(self, query: int) -> None:
        """One measurement of a query came; one that has them all is no longer waited for."""
        self._missing[query] -= 1
        if self._missing[query] == 0:
            self.drop(query)

    def drop(self, query: int) -> int:
        """Wait for a query no longer; gives how many of its measurements were to come."""
        del self._queries[query], self._places[query]
        return self._missing.pop(query)

    def copy(self) -> Waiting:
        """The same queries, to be settled on their own."""
        other = Waiting()
        other._queries, other._places = dict(self._queries), dict(self._places)
        other._missing, other._next_id = dict(self._missing), self._next_id
        return other

    def state(self, tensors: dict[str, Tensor]) -> dict[str, Any]:
        """All that `restore` needs, as values, and tensors added to those given."""
        listed = []
        for id_, query in self._queries.items():
            place = self._places[id_]
            observed = place.environment is not None and query.environment is None
            arms = [place.arm, place.design_arm]
            listed.append([id_, arms, query.repeats, self._missing[id_], observed])
            for name in _PARTS:
                if getattr(place, name) is not None:
                    tensors[f"waiting.{id_}.{name}"] = getattr(place, name)
        return {"queries": listed, "next_id": self._next_id}

    def restore(
        self, state: dict[str, Any], tensors: Mapping[str, Tensor], device: torch.device
    ) -> None:
        """Go on from a state."""
        self._next_id = state["next_id"]
        for id_, (arm, design_arm), repeats, missing, observed in state["queries"]:
            parts = {name: tensors.get(f"waiting.{id_}.{name}") for name in _PARTS}
            on = {name: None if x is None else x.to(device) for name, x in parts.items()}
            place = Place(on["point"], arm, id_, on["design"], design_arm, parts["environment"])  # type: ignore[arg-type]
            self._keep(_query(id_, place, repeats, observed), place, missing)

    def repeated(self, like: Tensor) -> tuple[Tensor, Tensor]:
        """Points (n, d) of the queries, and the measurements missing of each (n,)."""
        points = torch.stack([place.point for place in self._places.values()])
        return points, torch.tensor(self.missing).to(like)

    def _keep(self, query: Query, place: Place, missing: int) -> None:
        self._queries[query.id], self._places[query.id] = query, place
        self._missing[query.id] = missing


def _query(id_: int, place: Place, repeats: int, observed: bool) -> Query:
    if place.design is None:
        return Query(id_, place.point, place.arm, repeats)
    # What a user does with a query must not reach the space.
    environment = None if observed or place.environment is None else place.environment.clone()
    return Query(id_, place.design.clone(), place.design_arm, repeats, environment)
