"""Trials, what they give, and the claims that are checked on it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from pandas import DataFrame

from surefoot import InvalidInput
from surefoot_experiments.recorded_data import Data

NUMBERS = "numbers"  # the main table of the experiments that draw a figure


class Purpose(IntEnum):
    """What random numbers are drawn for; each purpose has a generator of its own."""

    PROBLEM = 0
    NOISE = 1
    METHOD = 2


@dataclass(frozen=True)
class Scale:
    """The number of trials, and of rounds in each.

    Raises:
        InvalidInput: One of them is below 1.
    """

    trials: int
    rounds: int

    def __post_init__(self) -> None:
        for name, value in (("trials", self.trials), ("rounds", self.rounds)):
            if value < 1:
                raise InvalidInput(f"`{name}` is {value}, expected at least 1.")


@dataclass(frozen=True)
class Case:
    """A part of an experiment that has trials of its own.

    Args:
        name: Its name; "" in an experiment that has one case only.
        trials: Number of trials, as a multiple of the scale's.
        rounds: Number of rounds, as a multiple of the scale's.
    """

    name: str = ""
    trials: float = 1.0
    rounds: float = 1.0

    def scaled(self, scale: Scale) -> Scale:
        """The scale of this case; at least one trial of one round."""
        trials, rounds = self.trials * scale.trials, self.rounds * scale.rounds
        return Scale(max(1, round(trials)), max(1, round(rounds)))


@dataclass(frozen=True)
class Trial:
    """One trial of a case, and the source of its random numbers.

    Random numbers depend on `seed` and `number` alone: a trial gives the same numbers in any
    process, in any order, and with any number of other trials.

    Args:
        number: Index of the trial within its case, from 0.
        rounds: Number of rounds.
        seed: Seed of the whole experiment.
        data: Recorded data, for an experiment that needs some.
        case: Name of the case.
    """

    number: int
    rounds: int
    seed: int
    data: Data | None = None
    case: str = ""

    def generator(self, purpose: Purpose) -> np.random.Generator:
        """A new generator for a purpose; every call starts from the same state."""
        return np.random.default_rng(self._sequence(purpose))

    def integer(self, purpose: Purpose) -> int:
        """A seed in [0, 2^32), for methods that take an integer."""
        return int(self._sequence(purpose).generate_state(1)[0])

    @property
    def index(self) -> int:
        """A seed for this trial: its number, if the seed of the experiment is 0."""
        return 10**6 * self.seed + self.number

    def shared_generator(self, purpose: Purpose) -> np.random.Generator:
        """A generator that is the same in all trials of a seed."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(purpose, 1)))

    def array(self, name: str) -> np.ndarray:
        """An array of the data set; `InvalidInput` if the trial has no data."""
        if self.data is None:
            raise InvalidInput("this experiment needs a data set, and the trial has none.")
        return self.data.arrays[name]

    def _sequence(self, purpose: Purpose) -> np.random.SeedSequence:
        return np.random.SeedSequence([self.seed, self.number], spawn_key=(purpose,))


Rows = Mapping[str, list[dict[str, Any]]]  # rows of each table; a row maps columns to values
Tables = Mapping[str, DataFrame]  # the rows of all trials, with the column `trial`


@dataclass(frozen=True)
class Check:
    """A claim, whether the numbers support it, and those numbers.

    Args:
        claim: The claim in words.
        holds: Whether the numbers support it.
        measured: The numbers in words.
        decided: False if the difference is within what chance explains.
    """

    claim: str
    holds: bool
    measured: str
    decided: bool = True

    @property
    def verdict(self) -> str:
        """yes, no or undecided."""
        return ("yes" if self.holds else "no") if self.decided else "undecided"


def count(checks: Sequence[Check]) -> str:
    """How many claims hold, and how many are undecided, in words."""
    verdicts = [check.verdict for check in checks]
    undecided = verdicts.count("undecided")
    rest = f", {undecided} undecided" if undecided else ""
    return f"{verdicts.count('yes')} of {len(checks)} claims hold{rest}"
