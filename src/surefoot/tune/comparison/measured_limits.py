"""Whether compared configurations keep the limits of the study, by their own runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from surefoot.tune.comparison.paired_test import sign_test
from surefoot.tune.definition.constraint_text import limit_words
from surefoot.tune.measuring.measurement import Failure, Measurement
from surefoot.types import Constraint

Letter = Literal["A", "B"]
VERDICTS = {None: "undecided", False: "broken", True: "kept"}


@dataclass(frozen=True)
class LimitRuns:
    """The runs of one configuration that measured a limited quantity.

    Args:
        value: Median of the quantity, in the units of its limit.
        runs: Runs that measured it.
        within: Runs within the limit.
        keeps: Whether more than half of all runs are within the limit, at the confidence of the
            comparison; None while undecided.
    """

    value: float
    runs: int
    within: int
    keeps: bool | None

    def __str__(self) -> str:
        return (
            f"{self.value:.5g}, {VERDICTS[self.keeps]} ({self.within} of {self.runs} runs within)"
        )


@dataclass(frozen=True)
class MeasuredLimit:
    """A limit of the study and the runs of both configurations.

    Args:
        name: Name of the quantity.
        limit: Its limit.
        sides: The runs by configuration, "A" and "B".
        unit: Unit of the quantity, empty if the study file has none.
    """

    name: str
    limit: Constraint
    sides: Mapping[Letter, LimitRuns]
    unit: str = ""

    def text(self, a: str = "A", b: str = "B") -> str:
        """The limit, and the verdict on both configurations by these names."""
        sides = f"{a} {self.sides['A']}; {b} {self.sides['B']}"
        return f"{self.name}, {limit_words(self.limit, self.unit)}: {sides}"


def measured_limits(
    limits: Mapping[str, Constraint],
    pairs: Sequence[Mapping[str, Measurement | Failure]],
    confidence: float,
) -> tuple[MeasuredLimit, ...]:
    """The limits that both configurations have measured.

    The sequential sign test of whether a run is within a limit more often than not: exact for any
    noise, and at any number of runs.

    Args:
        limits: Limits of the study by name.
        pairs: Results of "a" and "b" by pair.
        confidence: One minus the probability of a wrong verdict on a configuration and a limit.

    Returns:
        Each limit with a run of A and one of B that measured its quantity.
    """
    found = []
    for name, limit in limits.items():
        a, b = (readings_of(name, pairs, label) for label in ("a", "b"))
        if a and b:
            sides = {"A": _runs(a, limit, confidence), "B": _runs(b, limit, confidence)}
            found.append(MeasuredLimit(name, limit, sides))  # type: ignore[arg-type]
    return tuple(found)


def readings_of(
    name: str, pairs: Sequence[Mapping[str, Measurement | Failure]], label: str
) -> list[float]:
    """The values of a quantity in the runs of one configuration, "a" or "b"."""
    runs = (pair.get(label) for pair in pairs)
    return [
        run.readings[name].value
        for run in runs
        if isinstance(run, Measurement) and name in run.readings
    ]


def _runs(values: Sequence[float], limit: Constraint, confidence: float) -> LimitRuns:
    within = sum(limit.excess(value) <= 0.0 for value in values)
    sign = sign_test(len(values) - within, within, confidence)
    return LimitRuns(float(np.median(values)), len(values), within, sign < 0 if sign else None)
