"""Ending a measurement early: its samples, printed one by one, are clearly beyond a limit.

An outlier counts as any other sample, and the error holds at whatever sample one stops; see
`surefoot.tune.comparison.paired_test.sign_test`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from surefoot.tune.comparison.paired_test import sign_test
from surefoot.tune.measuring.printed_value import samples_of
from surefoot.tune.measuring.quantity import Quantity, plain
from surefoot.tune.measuring.supervised_process import Tail


class PrintedSamples:
    """The samples in the complete lines of a stream, each of which is read once.

    Args:
        stream: The stream.
    """

    def __init__(self, stream: Tail) -> None:
        self._stream = stream
        self._samples: list[Quantity] = []

    def so_far(self) -> list[Quantity]:
        """The samples after the last other number."""
        for line in plain(self._stream.new_lines()).split("\n"):
            found = samples_of(line)
            if found is None:
                self._samples.clear()
            self._samples += found or []
        return self._samples


Ending = Callable[[PrintedSamples], bool]
"""Whether what a measurement has printed so far is enough, before all its samples are there."""


@dataclass(frozen=True)
class Race:
    """When a measurement is lost.

    Args:
        limit: The end of the values that a run of the best known configuration may have, in the
            study's unit.
        maximize: Whether larger values are better.
        unit: The study's unit, empty if it has none.
    """

    limit: float
    maximize: bool
    unit: str = ""

    def is_lost(self, samples: Sequence[float]) -> bool:
        """Whether samples are clearly worse than the limit.

        Args:
            samples: The samples so far, in the unit of the limit.

        Example:
            >>> race = Race(10.0, maximize=False)
            >>> race.is_lost([12.0] * 6), race.is_lost([12.0] * 7), race.is_lost([12.0, 9.0] * 20)
            (False, True, False)
        """
        if math.isinf(self.limit) or not all(map(math.isfinite, samples)):
            return False
        sign = -1.0 if self.maximize else 1.0
        worse = sum(sign * (one - self.limit) > 0.0 for one in samples)
        return sign_test(worse, len(samples) - worse) > 0

    def __call__(self, printed: PrintedSamples) -> bool:
        """Whether the samples in the complete lines of an output have lost."""
        if math.isinf(self.limit):
            return False
        same = [one.into(self.unit) for one in printed.so_far()]
        return self.is_lost([one.value for one in same if one is not None])

    @classmethod
    def of(cls, given: object) -> Race:
        """The race of its fields by name; `NO_RACE` where they are of none."""
        try:
            return cls(**given) if isinstance(given, Mapping) else NO_RACE
        except TypeError:
            return NO_RACE


NO_RACE = Race(math.inf, maximize=False)


def decided(value: float, unit: str = "") -> Ending:
    """The end of the second run of a pair: it is clearly better or worse than the first.

    Args:
        value: The value of the first run.
        unit: Its unit, empty if it has none.
    """
    sides = [Race(value, maximize, unit) for maximize in (False, True)]
    return lambda printed: any(side(printed) for side in sides)


def complete_lines(printed: str) -> str:
    """An output without the line that is still being printed."""
    return printed[: printed.rfind("\n") + 1]
