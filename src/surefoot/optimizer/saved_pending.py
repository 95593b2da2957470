"""Pending queries as values and tensors."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import torch
from torch import Tensor

from surefoot.spaces.locations import Location
from surefoot.spaces.pending import PendingQueries, PendingQuery
from surefoot.types import Query


def to_values(pending: PendingQueries, tensors: dict[str, Tensor]) -> dict[str, Any]:
    """The queries as values, and tensors added to those given."""
    listed = []
    for id_, one in pending.by_id.items():
        query = _flat(one.query, f"pending.{id_}.query", tensors)
        location = _flat(one.location, f"pending.{id_}.location", tensors)
        listed.append([query, location, one.missing])
    return {"owner": pending.owner, "next_id": pending.next_id, "queries": listed}


def from_values(
    values: dict[str, Any], tensors: dict[str, Tensor], device: torch.device
) -> PendingQueries:
    """The queries again."""
    on = {name: x.to(device) for name, x in tensors.items() if name.startswith("pending.")}
    pending = PendingQueries(values["owner"], values["next_id"])
    for query, location, missing in values["queries"]:
        made = Query(**_raised(query, on)), Location(**_raised(location, on))
        pending.by_id[made[0].id] = PendingQuery(*made, missing)
    return pending


def _flat(item: Query | Location, name: str, tensors: dict[str, Tensor]) -> dict[str, Any]:
    values = {field.name: getattr(item, field.name) for field in fields(item)}
    for field, value in values.items():
        if isinstance(value, Tensor):
            tensors[f"{name}.{field}"] = value
            values[field] = {"tensor": f"{name}.{field}"}
    return values


def _raised(values: dict[str, Any], tensors: dict[str, Tensor]) -> dict[str, Any]:
    return {k: tensors[v["tensor"]] if isinstance(v, dict) else v for k, v in values.items()}
