"""What is asked of a search, whatever the space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol

import torch
from torch import Tensor

from surefoot.acquisition.policy import Situation
from surefoot.spaces import Arms, Box
from surefoot.spaces.locations import Place, Where
from surefoot.spaces.pending import Waiting
from surefoot.types import InvalidInput, Recommendation

if TYPE_CHECKING:
    from gpytorch.kernels import Kernel

By = Literal["mean", "lower"]


class Search(Protocol):
    """Finds places on one kind of space."""

    @property
    def seen(self) -> Arms | Box:
        """The space that the model sees."""
        ...

    @property
    def observed(self) -> bool:
        """Whether the world draws a part of the place that is asked for."""
        ...

    def locate(self, where: Where, environment: Any, waiting: Waiting) -> Place:
        """The place that somebody means; `InvalidInput` if there is none."""
        ...

    def note(self, place: Place) -> None:
        """A reward came from there."""
        ...

    def spread(self, number: int, generator: torch.Generator) -> list[Place]:
        """Places spread evenly, to begin with; fewer where there are not so many."""
        ...

    def guess(self, kernel: Kernel | None, waiting: Waiting, generator: torch.Generator) -> Place:
        """A place to measure before anything is known."""
        ...

    def listed(self, arms: Sequence | Tensor) -> list[Place]:
        """The places that are the only ones to choose from; `InvalidInput` for none of them."""
        ...

    def best(self, policy: Any, situation: Situation, among: list[Place] | None) -> Place:
        """The place to measure next, of those `among` which it must be."""
        ...

    def recommend(self, situation: Situation, by: By) -> Recommendation:
        """The best place of all, by its value or by the lower bound of it."""
        ...

    def state(self, tensors: dict[str, Tensor]) -> None:
        """Add to the tensors what `restore` needs."""
        ...

    def restore(self, tensors: dict[str, Tensor]) -> None:
        """Go on from a state."""
        ...


def checked(by: str) -> By:
    """What to recommend by, `InvalidInput` if it is unknown."""
    if by not in ("mean", "lower"):
        raise InvalidInput(f"`by` is {by!r}, expected 'mean' or 'lower'.")
    return by  # type: ignore[return-value]


def no_environment(environment: object) -> None:
    """`InvalidInput` if an environment came for a space that has none."""
    if environment is not None:
        raise InvalidInput(
            f"an environment {environment!r} came, but the space has none: pass "
            "`Joint(design, environment)` as the space, or leave it out."
        )
