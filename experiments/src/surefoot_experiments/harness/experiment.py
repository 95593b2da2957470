"""What an experiment consists of: trials that can be run independently, and a report on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from matplotlib.figure import Figure

from surefoot_experiments.harness.departures import Departure
from surefoot_experiments.harness.manifest import Manifest
from surefoot_experiments.harness.trial import Case, Check, Rows, Scale, Tables, Trial
from surefoot_experiments.recorded_data import Data


class Output(Protocol):
    """What is reported on the tables of all trials."""

    def checks(self, tables: Tables) -> list[Check]:
        """The claims that are checked."""

    def pictures(self, tables: Tables) -> Mapping[str, Figure]:
        """Figures by file name, without the ending."""

    def page(self, manifest: Manifest, tables: Tables, data: Data | None) -> str:
        """The report, in Markdown."""


@dataclass(frozen=True)
class Experiment:
    """An experiment that can be run from the command line.

    Args:
        name: Name on the command line.
        paper: The paper it comes from.
        figure: The figure of that paper.
        title: Title of its page.
        published: Scale of the paper, or of the table in the documentation.
        quick: Scale of a run of seconds.
        run: Runs a trial and returns its rows by table. Must be picklable, and draw random
            numbers from the trial's generators only.
        output: What is reported on the tables.
        says: What the paper says of the result.
        setting: The setting, in words.
        departures: Where it is not the published one; None if nothing was published.
        cases: The cases, each with trials of its own.
        load: Reads the data set from the folder that the user names, or from None.
        needs_data: Whether there are no data without such a folder.
        timed: Whether times are measured, so that trials run one after the other.
    """

    name: str
    paper: str
    figure: str
    title: str
    published: Scale
    quick: Scale
    run: Callable[[Trial], Rows]
    output: Output
    says: str = ""
    setting: str = ""
    departures: Sequence[Departure] | None = None
    cases: Sequence[Case] = (Case(),)
    load: Callable[[Path | None], Data] | None = None
    needs_data: bool = False
    timed: bool = False

    def trials(self, scale: Scale, seed: int = 0, data: Data | None = None) -> list[Trial]:
        """All trials at a scale, first trials of every case first."""
        cases = [(each.name, each.scaled(scale)) for each in self.cases]
        return [
            Trial(number, own.rounds, seed, data, name)
            for number in range(max(own.trials for _, own in cases))
            for name, own in cases
            if number < own.trials
        ]
