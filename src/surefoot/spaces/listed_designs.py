"""Designs that come together: points, configurations, queries or a data frame."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot.spaces.names import UNNAMED
from surefoot.types import InvalidInput, Query

if TYPE_CHECKING:
    from surefoot.spaces.arms import Arms
    from surefoot.spaces.box import Box
    from surefoot.spaces.joint import Joint

Designs = Tensor | Sequence[Any] | Mapping[str, Any]
"""Points (n, d), a list of configurations or queries, or one configuration alone."""


def rows_of(space: Arms | Box | Joint, points: Any) -> Any:
    """The rows of a data frame, by column for named parameters; other points as they are."""
    if not (hasattr(points, "to_numpy") and hasattr(points, "columns")):
        return points
    named = getattr(space.design, "names", UNNAMED) != UNNAMED
    return points.to_dict("records") if named else points.to_numpy()


def named_rows(space: Arms | Box | Joint, designs: Any) -> list[Any] | None:
    """Designs of which some are configurations or queries, one each; None for a matrix."""
    rows = rows_of(space, designs)
    if isinstance(rows, Mapping | Query):
        return [rows]
    is_list = isinstance(rows, list | tuple)
    return [*rows] if is_list and any(isinstance(one, Mapping | Query) for one in rows) else None


def located_designs(space: Arms | Box | Joint, designs: Any, name: str) -> Tensor:
    """Designs (n, dx) of a space.

    Args:
        space: The space, or a part of it.
        designs: Points (n, dx), a list of configurations or queries, one of these alone, or a data
            frame.
        name: Name of that argument.

    Raises:
        InvalidInput: If the space has no such design.
    """
    design, rows = space.design, named_rows(space, designs)
    if rows is None:
        matrix = checks.matrix(name, rows_of(space, designs), design.lower.device)
        return torch.stack([design.locate(row, name=name).design for row in matrix])
    located = []
    for number, row in enumerate(rows):
        where = row.point if isinstance(row, Query) else row
        try:
            located.append(design.locate(where, name=name).design)
        except InvalidInput as error:
            if len(rows) == 1:
                raise
            raise InvalidInput(f"`{name}[{number}]`: {error}") from error
    return torch.stack(located)
