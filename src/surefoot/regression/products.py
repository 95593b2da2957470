"""Sums over the sites of products of their features, each weighted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import torch
from torch import Tensor


class Products(Protocol):
    """How sums over sites (S,) are found from their features (S, m)."""

    def gram(self, features: Tensor, weights: Tensor) -> Tensor:
        """F' diag(weights) F, as (m, m)."""
        ...

    def moments(self, features: Tensor, values: Tensor) -> Tensor:
        """F' values, as (m,)."""
        ...


class AtOnce:
    """Sums over all sites."""

    def gram(self, features: Tensor, weights: Tensor) -> Tensor:
        return features.T @ (features * weights[:, None])

    def moments(self, features: Tensor, values: Tensor) -> Tensor:
        return features.T @ values


AT_ONCE = AtOnce()


@dataclass(eq=False)
class ByBlocks:
    """Sums over blocks of sites, found again only where a weight or value has changed.

    Of each block the last two are known: beside those of all pulls, those of a robust estimate.

    Args:
        length: Sites in a block; only the last may have fewer.
    """

    length: int
    _grams: list[_Recent] = field(default_factory=list)
    _moments: list[_Recent] = field(default_factory=list)

    def gram(self, features: Tensor, weights: Tensor) -> Tensor:
        return self._sum(self._grams, AT_ONCE.gram, features, weights, features.shape[1:] * 2)

    def moments(self, features: Tensor, values: Tensor) -> Tensor:
        return self._sum(self._moments, AT_ONCE.moments, features, values, features.shape[1:])

    def _sum(
        self,
        known: list[_Recent],
        product: Callable[[Tensor, Tensor], Tensor],
        features: Tensor,
        weights: Tensor,
        shape: tuple[int, ...],
    ) -> Tensor:
        total = features.new_zeros(shape)
        blocks = zip(features.split(self.length), weights.split(self.length), strict=True)
        for index, (rows, own) in enumerate(blocks):
            if index == len(known):
                known.append(_Recent())
            total += known[index].get(product, rows, own)
        return total


class _Recent:
    """The products of a block with the weights that came last."""

    def __init__(self) -> None:
        self._known: list[tuple[Tensor, Tensor]] = []  # weights and product, the latest first

    def get(
        self, product: Callable[[Tensor, Tensor], Tensor], rows: Tensor, weights: Tensor
    ) -> Tensor:
        for place, one in enumerate(self._known):
            if torch.equal(one[0], weights):
                self._known.insert(0, self._known.pop(place))
                return one[1]
        found = product(rows, weights)
        self._known = [(weights.clone(), found), *self._known[:1]]
        return found
