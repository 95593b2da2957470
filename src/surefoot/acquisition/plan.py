"""Plan of the measurements: initial design and replicates."""

from __future__ import annotations

from dataclasses import dataclass

from surefoot._internal import checks
from surefoot.acquisition.replication import STABLE, Instability
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
        safe: Whether no point is asked for whose measurement may fail, from a point that was told
            first outward, with a probability of 0.95.

    Raises:
        InvalidInput: If an argument is out of range.

    Example:
        >>> import surefoot as sf
        >>> plan = sf.acquisition.Plan(initial=5)
        >>> optimizer = sf.Optimizer(sf.Box([0.0], [1.0]), plan=plan)
        >>> len({float(query.point) for query in optimizer.ask_batch(5)})
        5
    """

    initial: int = 0
    repeat_until: float = 1.0
    instability: Instability = STABLE
    safe: bool = False

    def __post_init__(self) -> None:
        checks.count("initial", self.initial, least=0)
        if checks.positive("repeat_until", self.repeat_until) < 1.0:
            raise InvalidInput(f"`repeat_until` is {self.repeat_until!r}, expected at least 1.")
        checks.truth("safe", self.safe)
        checks.rule("instability", self.instability, "acquisition.Instability(0.3)")
