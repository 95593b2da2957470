"""Sums over the sites of weighted products of their features, and blocks of arms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from surefoot._internal.numbers import NUMBERS_AT_ONCE

_PANEL = 16  # features that joined and are multiplied together


class AtOnce:
    """Sums over all sites."""

    def gram(self, features: Tensor, weights: Tensor) -> Tensor:
        """F' diag(weights) F, as (m, m)."""
        return features.T @ (features * weights[:, None])

    def moments(self, features: Tensor, values: Tensor) -> Tensor:
        """F' values, as (m,)."""
        return features.T @ values


AT_ONCE = AtOnce()


@dataclass(eq=False)
class ByBlocks:
    """Sums over blocks of sites, found again only where a weight or value has changed.

    Of each block the last two are known: beside those of all pulls, those of a robust estimate.
    Features that joined one by one enter in products of the same shape and layout, so that no bit
    depends on when they did.

    Args:
        length: Sites in a block; only the last may have fewer.
        base: Features that did not join.
    """

    length: int
    base: int
    _grams: list[_Recent] = field(default_factory=list)
    _moments: list[_Recent] = field(default_factory=list)

    def gram(self, features: Tensor, weights: Tensor) -> Tensor:
        return self._sum(self._grams, _joined_gram, features, weights, features.shape[1:] * 2)

    def moments(self, features: Tensor, values: Tensor) -> Tensor:
        return self._sum(self._moments, _joined_moments, features, values, features.shape[1:])

    def of_first(self, number: int) -> ByBlocks:
        """The same for the first features, or for these and others that join."""
        grams = [one.of_first(lambda gram: gram[:number, :number]) for one in self._grams]
        moments = [one.of_first(lambda moments: moments[:number]) for one in self._moments]
        return ByBlocks(self.length, self.base, grams, moments)

    def _sum(
        self,
        known: list[_Recent],
        joined: Callable[[Tensor, Tensor, int, Tensor | None], Tensor],
        features: Tensor,
        weights: Tensor,
        shape: tuple[int, ...],
    ) -> Tensor:
        total = features.new_zeros(shape)
        blocks = zip(features.split(self.length), weights.split(self.length), strict=True)
        for index, (rows, own) in enumerate(blocks):
            if index == len(known):
                known.append(_Recent())
            total += known[index].get(partial(joined, rows, own, self.base), own)
        return total


Products = AtOnce | ByBlocks
"""How sums over sites (S,) are found from their features (S, m)."""


class _Recent:
    """The products of a block with the weights that came last."""

    def __init__(self, known: Sequence[tuple[Tensor, Tensor]] = ()) -> None:
        self._known = list(known)  # weights and product, the latest first

    def of_first(self, part: Callable[[Tensor], Tensor]) -> _Recent:
        return _Recent([(weights, part(product)) for weights, product in self._known])

    def get(self, product: Callable[[Tensor | None], Tensor], weights: Tensor) -> Tensor:
        """The product, from one that is known for the same weights and the first features."""
        at = (place for place, one in enumerate(self._known) if torch.equal(one[0], weights))
        place = next(at, len(self._known))
        before = self._known.pop(place) if place < len(self._known) else (weights.clone(), None)
        found = product(before[1])
        self._known = [(before[0], found), *self._known[:1]]
        return found


def _joined_gram(rows: Tensor, weights: Tensor, base: int, known: Tensor | None) -> Tensor:
    """F' diag(weights) F of a block, given that of its first features."""
    if known is None:
        known = AT_ONCE.gram(rows[:, :base].contiguous(), weights)
    first, number = len(known), rows.shape[1]
    if first == number:
        return known
    gram = rows.new_empty(number, number)
    gram[:first, :first] = known
    for start, stop, whole in _panels(rows, base, first):
        side = whole.T @ (weights[:, None] * whole[:, start:])
        side = side[:stop, : stop - start]
        gram[:start, start:stop] = side[:start]
        gram[start:stop, :start] = side[:start].T
        corner = side[start:].triu()
        gram[start:stop, start:stop] = corner + corner.triu(1).T
    return gram


def _joined_moments(rows: Tensor, values: Tensor, base: int, known: Tensor | None) -> Tensor:
    """F' values of a block, given that of its first features."""
    if known is None:
        known = AT_ONCE.moments(rows[:, :base].contiguous(), values)
    first, number = len(known), rows.shape[1]
    if first == number:
        return known
    moments = torch.cat([known, rows.new_empty(number - first)])
    for start, stop, whole in _panels(rows, base, first):
        moments[start:stop] = (whole[:, start:].T @ values)[: stop - start]
    return moments


def _panels(rows: Tensor, base: int, first: int) -> Iterator[tuple[int, int, Tensor]]:
    """Features from `first` on, by as many as are multiplied together.

    Yields:
        Where they begin and end, and all features up to there, with zeros in place of those that
        have not joined: of the same shape whether they have or not, and so rounded in the same way.
    """
    number = rows.shape[1]
    for start in range(first - (first - base) % _PANEL, number, _PANEL):
        stop = min(start + _PANEL, number)
        whole = rows.new_zeros(len(rows), start + _PANEL)
        whole[:, :stop] = rows[:, :stop]
        yield start, stop, whole


_NUMBERS_ELSEWHERE = 2**24  # which keeps a GPU busy, for 128 MB of its memory


def block_length(dimension: int, device: torch.device) -> int:
    """Arms at a time, with so many features each; a cache holds several such blocks."""
    numbers = NUMBERS_AT_ONCE // 8 if device.type == "cpu" else _NUMBERS_ELSEWHERE
    return max(64, numbers // max(dimension, 1))
