"""Columns of configurations, by which a rule is evaluated on all of them at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import torch
from torch import Tensor

from surefoot.parameters.parameter import is_same


@dataclass(frozen=True, eq=False)
class Labels:
    """Column of a category: compared with a choice, it gives truth values (n,).

    Args:
        index: Number of the choice of each configuration (n,).
        choices: The choices.
    """

    index: Tensor
    choices: tuple[Any, ...]

    def isin(self, values: Iterable[Any]) -> Tensor:
        """Whether each label is one of several, as (n,)."""
        values = list(values)
        known = [any(is_same(one, choice) for one in values) for choice in self.choices]
        return torch.tensor(known, device=self.index.device)[self.index]

    def __eq__(self, other: object) -> Tensor:  # type: ignore[override]
        return self.isin([other])

    def __ne__(self, other: object) -> Tensor:  # type: ignore[override]
        return ~self.isin([other])

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self.index)


Column: TypeAlias = Tensor | Labels


@dataclass(eq=False)
class Columns(Mapping[str, Any]):
    """Columns by parameter name, which notes the names that are read.

    Args:
        columns: The columns.
        read: Names that were read, in their order.
    """

    columns: Mapping[str, Column]
    read: dict[str, None] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        if name not in self.columns:
            raise KeyError(f"{name!r} is no parameter; expected {', '.join(self.columns)}")
        self.read[name] = None
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __len__(self) -> int:
        return len(self.columns)
