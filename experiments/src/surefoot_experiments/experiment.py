"""What an experiment is: trials to be played, and what is claimed of their numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from surefoot.types import InvalidInput
from surefoot_experiments.data import Data
from surefoot_experiments.figures import curves

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame

NUMBERS = "numbers"  # the table that every experiment has


class Purpose(IntEnum):
    """What a trial draws random numbers for, each from a generator of its own."""

    PROBLEM = 0
    NOISE = 1
    METHOD = 2


@dataclass(frozen=True)
class Scale:
    """How many trials of how many rounds."""

    trials: int
    rounds: int

    def __post_init__(self) -> None:
        for name, value in (("trials", self.trials), ("rounds", self.rounds)):
            if value < 1:
                raise InvalidInput(f"`{name}` is {value}, expected at least 1.")


@dataclass(frozen=True)
class Trial:
    """One trial: its number, how long it is, and where its random numbers come from.

    They depend on `seed` and `number` alone, so that a trial has the same numbers in whatever
    process and order it is played, and however many others there are.
    """

    number: int
    rounds: int
    seed: int
    data: Data | None = None

    def generator(self, purpose: Purpose) -> np.random.Generator:
        """A fresh generator; asked for twice, it begins anew."""
        return np.random.default_rng(self._sequence(purpose))

    def integer(self, purpose: Purpose) -> int:
        """A seed in [0, 2^32) for what takes an integer."""
        return int(self._sequence(purpose).generate_state(1)[0])

    def shared_generator(self, purpose: Purpose) -> np.random.Generator:
        """One that is the same in all trials of a seed."""
        return np.random.default_rng(np.random.SeedSequence(self.seed, spawn_key=(purpose, 1)))

    def array(self, name: str) -> np.ndarray:
        """An array of the data set; `InvalidInput` if there is none."""
        if self.data is None:
            raise InvalidInput("this experiment needs a data set, and the trial has none.")
        return self.data.arrays[name]

    def _sequence(self, purpose: Purpose) -> np.random.SeedSequence:
        return np.random.SeedSequence([self.seed, self.number], spawn_key=(purpose,))


Rows = Mapping[str, list[dict[str, Any]]]  # by table; a row names its columns
Tables = Mapping[str, "DataFrame"]  # the same of all trials, with `trial` (and `experiment`) added


@dataclass(frozen=True)
class Check:
    """A claim, whether the numbers bear it out, and which numbers.

    It is not `decided` where as much might have come of chance.
    """

    claim: str
    holds: bool
    measured: str
    decided: bool = True

    @classmethod
    def of(cls, values: Mapping[str, Any]) -> Check:
        """One that was written to a manifest, before there were undecided ones or since."""
        return cls(
            values["claim"], values["holds"], values["measured"], values.get("decided", True)
        )

    @property
    def verdict(self) -> str:
        """yes, no or undecided."""
        return ("yes" if self.holds else "no") if self.decided else "undecided"


def count(checks: Sequence[Check]) -> str:
    """How many of them hold, and how many are undecided."""
    verdicts = [check.verdict for check in checks]
    doubtful = verdicts.count("undecided")
    rest = f", {doubtful} undecided" if doubtful else ""
    return f"{verdicts.count('yes')} of {len(checks)} claims hold{rest}"


@dataclass(frozen=True)
class Measure:
    """The column of the numbers that is drawn, and how.

    The label is that of the axis, and `band` is about the mean over trials: one standard deviation
    of them, or the 70 % confidence interval of the mean.
    """

    column: str
    label: str
    band: Literal["one standard deviation", "the 70 % interval"] = "one standard deviation"
    logarithmic: bool = False


MEAN_REGRET = Measure("regret", "time-average regret $R_t / t$")


@dataclass(frozen=True)
class Experiment:
    """A figure that can be played again.

    `play` gives the rows of a trial by table; it must be picklable, and draw from the trial's
    generators alone. The table "numbers" has the columns algorithm, round and that of `measure`
    (and task, where there are several panels). `says` is what the paper says, `setting` how it is
    played here, with each departure from the paper. `checks` are claims about the published scale.
    `load` reads the data set, from the folder that the user names or None; with `needs_data` there
    is nothing to read without a folder.
    """

    name: str
    paper: str
    figure: str
    title: str
    published: Scale
    quick: Scale
    play: Callable[[Trial], Rows]
    says: str
    setting: str
    checks: Callable[[Tables], list[Check]]
    measure: Measure = MEAN_REGRET
    draw: Callable[[Tables, Measure], Figure] = curves
    load: Callable[[Path | None], Data] | None = None
    needs_data: bool = False
