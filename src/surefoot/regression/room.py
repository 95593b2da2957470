"""Room for the features of all arms, in the storage that the arms name."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import Tensor

from surefoot.regression.embedding import Embedding
from surefoot.regression.products import block_length
from surefoot.regression.table import Kept, Source, Table
from surefoot.spaces.storage import InMemory, Rows

if TYPE_CHECKING:
    from surefoot.spaces import Arms

_MOST_CACHED = 2**17  # arms of which tables in main memory may be computed at once, and several


@dataclass(eq=False)
class Room:
    """Features of all arms, of one feature map at a time, as rows (m, A).

    A table whose features were overwritten by those of another computes them again when it is
    used, so that there is never more than one in the storage, and every table remains valid.

    Args:
        arms: The arms.
        prior: k(x, x) of the arms (A,).
    """

    arms: Arms
    prior: Tensor
    rows: Rows = field(init=False)
    holder: object = None

    def __post_init__(self) -> None:
        self.rows = Rows(self.arms.storage, len(self.arms), self.prior.device)

    @property
    def is_ample(self) -> bool:
        """Whether there is memory for several tables, and for those of their computation."""
        return self.arms.storage == InMemory() and len(self.arms) <= _MOST_CACHED

    def table(self, embedding: Embedding) -> Table:
        """The table of a map, whose features at all arms are computed when they are needed."""
        points, none = self.arms.points, self.prior.new_zeros(0, 0)
        if not embedding.dimension:
            source: Source = Kept(self.prior.new_zeros(len(points), 0))
        else:
            source = Kept(embedding(points)) if self.is_ample else InRoom(self, embedding)
        return Table(embedding, points, self.prior, source, none)

    def growing(self, embedding: Embedding) -> Table:
        """The table of a map which points are to join."""
        none = self.prior.new_zeros(0, 0)
        return Table(embedding, self.arms.points, self.prior, InRoom(self, embedding), none)

    def fill(self, embedding: Embedding, holder: object) -> None:
        """Features of all arms, computed in blocks."""
        rows, start = self.rows.first(embedding.dimension), 0
        for part in self.arms.points.split(block_length(embedding.dimension, rows.device)):
            rows[:, start : start + len(part)] = embedding(part).T
            start += len(part)
        self.holder = holder


@dataclass(eq=False)
class InRoom:
    """Features of one map in a room.

    Args:
        room: The room.
        embedding: The feature map.
        holder: What tells its features from others, the same for a map of which it is a part.
    """

    room: Room
    embedding: Embedding
    holder: object = field(default_factory=object)

    @property
    def columns(self) -> Tensor:
        """Features (A, m) in the precision of the storage."""
        if self.room.holder is not self.holder and self.embedding.dimension:
            self.room.fill(self.embedding, self.holder)
        return self.room.rows.first(self.embedding.dimension).T

    def joined(self, embedding: Embedding, row: Tensor) -> InRoom:
        """The features of a map that has one more, which is a row (A,)."""
        dimension = self.embedding.dimension
        if dimension and self.room.holder is not self.holder:
            self.room.fill(self.embedding, self.holder)
        self.room.rows.first(dimension + 1)[dimension] = row
        self.room.holder = self.holder
        return InRoom(self.room, embedding, self.holder)
