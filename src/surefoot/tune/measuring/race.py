r"""Ending a measurement early: its samples, printed one by one, are clearly beyond a limit.

Where each sample is worse than the limit with probability 1/2 at most, whatever came before, the
expectation of :math:`1 \pm \lambda`, with the plus for a worse sample, is at most 1 for every
:math:`\lambda \in (0, 1)`. So the average over :math:`\lambda` of the products of these,

.. math:: \int_0^1 (1 + \lambda)^a (1 - \lambda)^b \, d\lambda
    = 2^{a + b + 1} B(a + 1, b + 1) \, I_{1/2}(b + 1, a + 1)

for a worse and b better samples, is a non-negative supermartingale that starts at 1. By Ville's
inequality it ever reaches :math:`1 / \alpha` with probability :math:`\alpha` at most, at whatever
sample one stops. An outlier counts as any other sample.

References:
    Ville, Étude critique de la notion de collectif (1939). Robbins, Statistical methods related to
    the law of the iterated logarithm, Annals of Mathematical Statistics 41 (1970).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from surefoot.tune.measuring.printed_value import samples_of
from surefoot.tune.measuring.quantity import Quantity, plain
from surefoot.tune.measuring.supervised_process import Tail

ERROR = 0.025  # probability of ending a run whose samples are no worse than the limit


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


class Ending(Protocol):
    """When a measurement ends before all its samples are there."""

    def ends(self, printed: PrintedSamples) -> bool:
        """Whether what it has printed so far is enough."""


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
            >>> race.is_lost([12.0] * 7), race.is_lost([12.0] * 8), race.is_lost([12.0, 9.0] * 20)
            (False, True, False)
        """
        if math.isinf(self.limit) or not all(map(math.isfinite, samples)):
            return False
        from scipy import special

        sign = -1.0 if self.maximize else 1.0
        worse = sum(sign * (one - self.limit) > 0.0 for one in samples)
        ends = worse + 1.0, len(samples) - worse + 1.0
        evidence = special.betaln(*ends) + (len(samples) + 1) * math.log(2.0)
        return bool(evidence + math.log(special.betainc(*ends[::-1], 0.5)) >= -math.log(ERROR))

    def ends(self, printed: PrintedSamples) -> bool:
        """Whether the samples in the complete lines of an output have lost."""
        if math.isinf(self.limit):
            return False
        same = [one.into(self.unit) for one in printed.so_far()]
        return self.is_lost([one.value for one in same if one is not None])

    def as_dict(self) -> dict[str, object]:
        """JSON values, from which `of` makes it again."""
        return asdict(self)

    @classmethod
    def of(cls, given: object) -> Race:
        """The race of JSON values; `NO_RACE` where they are of none."""
        try:
            return cls(**given) if isinstance(given, Mapping) else NO_RACE
        except TypeError:
            return NO_RACE


NO_RACE = Race(math.inf, maximize=False)


@dataclass(frozen=True)
class Decided:
    """The second run of a pair, once it is clearly better or worse than the first.

    Args:
        value: The value of the first run.
        unit: Its unit, empty if it has none.
    """

    value: float
    unit: str = ""

    def ends(self, printed: PrintedSamples) -> bool:
        """Whether the samples in the complete lines of an output are clearly on one side of it."""
        sides = (Race(self.value, maximize, self.unit) for maximize in (False, True))
        return any(side.ends(printed) for side in sides)


@dataclass(frozen=True)
class Slice:
    """A run that ends after so many samples.

    Args:
        samples: The number, at least 1.
    """

    samples: int

    def ends(self, printed: PrintedSamples) -> bool:
        """Whether the complete lines of an output have as many samples."""
        return len(printed.so_far()) >= self.samples


@dataclass(frozen=True)
class First:
    """The first of several endings.

    Args:
        endings: The endings.
    """

    endings: tuple[Ending, ...]

    def ends(self, printed: PrintedSamples) -> bool:
        """Whether one of them has come."""
        return any(one.ends(printed) for one in self.endings)


def complete_lines(printed: str) -> str:
    """An output without the line that is still being printed."""
    return printed[: printed.rfind("\n") + 1]
