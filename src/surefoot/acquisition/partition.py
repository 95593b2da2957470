"""Partitions of a box into ever smaller cells, as rows of integers."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from surefoot.spaces import Box
from surefoot.types import InvalidInput

_EXACT = 2**51  # positions of centers are exact in float64 up to here


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells of a box; a cell is split along its longest side into equal ones.

    A cell is a row (d + 1,) of integers: its depth, and its position along each coordinate among
    cells of that depth, which all have the same shape.

    Args:
        box: The box, the only cell of depth 0.
        branching: Number N of cells that a cell is split into.
        sides: Coordinate (H,) that cells of each depth are split along.
        parts: Number of cells (H + 1, d) of each depth along each coordinate.

    Example:
        >>> import torch
        >>> import surefoot as sf
        >>> box = sf.Box([0.0, 0.0], [3.0, 1.0])
        >>> partition = Partition.of(box, torch.ones(2), branching=3, depth=4)
        >>> cells = partition.children(Partition.root(box)[0])
        >>> cells.tolist()
        [[1, 0, 0], [1, 1, 0], [1, 2, 0]]
        >>> partition.centroids(cells).tolist()
        [[0.5, 0.5], [1.5, 0.5], [2.5, 0.5]]
    """

    box: Box
    branching: int
    sides: Tensor
    parts: Tensor

    @classmethod
    def of(cls, box: Box, lengthscales: Tensor, branching: int, depth: int) -> Partition:
        """The partition down to a depth, with sides measured in lengthscales (d,).

        Raises:
            InvalidInput: If the smallest cells cannot be told apart in float64.
        """
        lengths = (box.span.cpu() / lengthscales.cpu()).tolist()
        sides: list[int] = []
        parts = [[1] * len(lengths)]
        for _ in range(depth):
            ratios = [length / number for length, number in zip(lengths, parts[-1], strict=True)]
            side = ratios.index(max(ratios))
            sides.append(side)
            finer = list(parts[-1])
            finer[side] *= branching
            if finer[side] > _EXACT:
                raise InvalidInput(
                    f"`branching` = {branching} and `max_depth` = {depth} make more than 2^51 "
                    f"cells along coordinate {side}: lower one of them."
                )
            parts.append(finer)
        return cls(box, branching, torch.tensor(sides, dtype=torch.int64), torch.tensor(parts))

    @staticmethod
    def root(box: Box) -> Tensor:
        """The cell (1, d + 1) that is the box itself."""
        return torch.zeros(1, box.dimension + 1, dtype=torch.int64)

    @property
    def half_sides(self) -> Tensor:
        """Half the sides (H + 1, d) of the cells of each depth."""
        return self.box.span.cpu() / (2.0 * self.parts)

    def centroids(self, cells: Tensor) -> Tensor:
        """Centers (n, d) of cells (n, d + 1); those of the middle child and its parent are equal.

        The latter holds to the last bit, as both are the same ratio of integers.
        """
        share = (2 * cells[:, 1:] + 1) / (2 * self.parts[cells[:, 0]]).double()
        return self.box.lower + self.box.span * share.to(self.box.span)

    def children(self, cell: Tensor) -> Tensor:
        """The cells (N, d + 1) that a cell (d + 1,) is split into, in order of position."""
        side = 1 + int(self.sides[cell[0]])
        children = cell.repeat(self.branching, 1)
        children[:, 0] += 1
        children[:, side] = self.branching * cell[side] + torch.arange(self.branching)
        return children

    def parents(self, cells: Tensor) -> Tensor:
        """The cells (n, d + 1) that cells of depth 1 or more are parts of."""
        parents = cells.clone()
        parents[:, 0] -= 1
        side = 1 + self.sides[parents[:, 0]].unsqueeze(-1)
        return parents.scatter(1, side, parents.gather(1, side) // self.branching)
