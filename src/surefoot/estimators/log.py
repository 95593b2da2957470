"""What an estimator keeps of the rewards, so that a round costs the same after however many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from torch import Tensor


@runtime_checkable
class Log(Protocol):
    """Rewards by site, as much of them as an estimator still needs."""

    def append(self, site: int, reward: float) -> float:
        """Take in the next reward; gives what of it counts in the sums Phi'y."""
        ...

    def redrawn(self) -> None:
        """Be told that the features are others from now on."""
        ...

    def state(self) -> dict[str, Tensor]:
        """What there is, as tensors."""
        ...

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from a state."""
        ...


@dataclass(frozen=True)
class Terms:
    """What is known of a run beforehand: the ridge, the largest k(x, x) and m there can be."""

    ridge: float
    prior: float
    dimension: int


@runtime_checkable
class Logging(Protocol):
    """An estimator that keeps a log of its own."""

    def log(self, terms: Terms) -> Log:
        """An empty log."""
        ...
