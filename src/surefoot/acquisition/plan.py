"""Plan of the measurements: initial design and replicates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from surefoot._internal import checks
from surefoot.acquisition.guess import Guess
from surefoot.acquisition.replication import STABLE, Instability
from surefoot.spaces import Arms, Box, Joint
from surefoot.spaces.locations import Location
from surefoot.types import InvalidInput


@dataclass(frozen=True)
class Plan:
    """Initial design, and how often points are measured.

    Args:
        initial: Number of points of the initial design.
        repeat_until: With a factor above 1, a point is to be measured until its variance has
            fallen by that factor (`Query.repeats`; Calandriello et al. 2022), though never more
            often than all points before it.
        instability: Which points have replicates that differ too much: they are avoided like
            points that failed. By default none has.
        levels: Number of points of the initial design that are measured under each value of a
            finite environment, the first ones of the same design; `initial` is their sum then. By
            default each point is measured under a random value.
        guess: Where the optimum is thought to be: it is the first point of the initial design, and
            every second one of the others is near it. By default nothing is guessed.

    Raises:
        InvalidInput: If an argument is out of range.

    Example:
        >>> import surefoot as sf
        >>> plan = sf.acquisition.Plan(initial=5)
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), sf.Method(plan=plan))
        >>> len({float(query.point) for query in optimizer.ask_batch(5)})
        5
    """

    initial: int = 0
    repeat_until: float = 1.0
    instability: Instability = STABLE
    levels: Sequence[int] = ()
    guess: Guess = field(default_factory=lambda: Guess({}))

    def __post_init__(self) -> None:
        if self.levels:
            counts = tuple(checks.count("levels", one, least=0) for one in self.levels)
            object.__setattr__(self, "levels", counts)
            object.__setattr__(self, "initial", sum(counts))
        checks.count("initial", self.initial, least=0)
        if checks.positive("repeat_until", self.repeat_until) < 1.0:
            raise InvalidInput(f"`repeat_until` is {self.repeat_until!r}, expected at least 1.")
        checks.rule("instability", self.instability, "acquisition.Instability(0.3)")

    def design(self, space: Arms | Box | Joint, generator: torch.Generator) -> list[Location]:
        """Locations of the initial design."""
        if not self.levels:
            return self._guessed(space.spread(self.initial, generator), space, generator)
        values = space.environment.examples(0, generator)
        if not isinstance(space, Joint) or len(values) != len(self.levels):
            raise InvalidInput(
                f"`levels` has {len(self.levels)} numbers, expected one for each value of a "
                "finite environment."
            )
        plain = space.design.spread(max(self.levels), generator)
        designs = self._guessed(plain, space.design, generator)
        return [
            space.location(one.design, one.design_arm, z)
            for z, number in zip(values, self.levels, strict=True)
            for one in designs[:number]
        ]

    def _guessed(
        self, spread: list[Location], space: Arms | Box | Joint, generator: torch.Generator
    ) -> list[Location]:
        """The locations of a design, of which some are moved to the guess."""
        if not self.guess.values or not spread:
            return spread
        box = space.design
        if not isinstance(box, Box):
            raise InvalidInput("a guess is for a `Box`, or a `parameters.Space`.")
        moved = self.guess.moved(torch.stack([one.design for one in spread]), box, generator)
        if isinstance(space, Joint):
            pairs = zip(moved, spread, strict=True)
            return [space.location(x, None, one.environment) for x, one in pairs]  # type: ignore[arg-type]
        return [box.location(x) for x in moved]
