"""The report on an experiment that draws a figure: claims, final values and the setting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from pandas import DataFrame

from surefoot_experiments.harness.departures import departures_table
from surefoot_experiments.harness.trial import NUMBERS, Check, Tables, count
from surefoot_experiments.recorded_data import Data

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from surefoot_experiments.harness.manifest import Manifest

VERDICTS = (
    "A claim that one method is below another is undecided where the mean of their paired "
    "differences is within two of its standard errors of 0, or there are fewer than five trials. "
    '"No worse" means a mean of at most 1.05 times that of the other; such claims, and claims that '
    "regret falls, are answered from the means alone, even where there is only one trial. "
    "± is one standard error."
)
_SHOWN = {"no": "**no**"}


@dataclass(frozen=True)
class Measure:
    """The column of the numbers that is drawn.

    Args:
        column: Name of the column.
        label: Label of the axis.
        band: What is drawn around the mean over trials: one standard deviation of the trials, or
            the 70 % confidence interval of the mean.
        logarithmic: Whether the axis is logarithmic.
        points: Published values by algorithm and round, where they are known.
    """

    column: str
    label: str
    band: Literal["one standard deviation", "the 70 % interval"] = "one standard deviation"
    logarithmic: bool = False
    points: Mapping[str, Mapping[int, float]] = field(default_factory=dict)


MEAN_REGRET = Measure("regret", "time-average regret $R_t / t$")


@dataclass(frozen=True)
class FigureOutput:
    """A figure, and claims about it.

    The table "numbers" has the columns algorithm, round, that of the measure, and task where there
    are several panels.

    Args:
        claims: Checks the claims, which are about the published scale.
        draw: Draws the figure.
        measure: What is drawn.
    """

    claims: Callable[[Tables], list[Check]]
    draw: Callable[[Tables, Measure], Figure]
    measure: Measure = MEAN_REGRET

    def checks(self, tables: Tables) -> list[Check]:
        """The claims that are checked."""
        return self.claims(tables)

    def pictures(self, tables: Tables) -> Mapping[str, Figure]:
        """The figure."""
        return {"figure": self.draw(tables, self.measure)}

    def page(self, manifest: Manifest, tables: Tables, data: Data | None) -> str:
        """The report, in Markdown."""
        parts = [
            f"# {manifest.title}",
            f"{manifest.paper}. {manifest.figure}.",
            f"![{manifest.title}](figure.svg)",
            f"*{self._caption(manifest)}*",
            f"## What the paper says\n\n{manifest.says}",
            f"## Result\n\n{count(manifest.checks)}.{scale_note(manifest)}",
            f"{table_of(manifest.checks)}\n\n{VERDICTS}",
            self._ends(tables) + _random(tables),
            f"## Setting\n\n{manifest.setting}",
        ]
        if manifest.departures is not None:
            table = departures_table(manifest.departures)
            parts.append(f"## Departures from the published setting\n\n{table}")
        if data is not None:
            parts.append(f"## Data\n\n{sentence(data.source)}")
            if data.notes:
                parts.append(data.notes)
        parts.append(f"## Command\n\n```console\n$ {command(manifest)}\n```")
        return "\n\n".join(parts) + "\n"

    def ends(self, tables: Tables) -> DataFrame:
        """Mean and deviation over trials after the last round, by algorithm (and task)."""
        numbers = tables[NUMBERS]
        last = numbers[numbers["round"] == numbers["round"].max()]
        by = [name for name in ("task", "algorithm") if name in last]
        return last.groupby(by, sort=False)[self.measure.column].agg(["mean", "std"])

    def _caption(self, manifest: Manifest) -> str:
        trials = manifest.trials
        return (
            f"{trials} trial{'s' * (trials != 1)} of {manifest.rounds:,} rounds, seed "
            f"{manifest.seed}; bands are {self.measure.band} over trials around the mean, where "
            "not stated otherwise."
        )

    def _ends(self, tables: Tables) -> str:
        found = self.ends(tables)
        names = list(found.index.names)
        rows = [
            f"| {' | '.join(key if isinstance(key, tuple) else (key,))} | {row['mean']:.4g} | "
            f"{'' if row['std'] != row['std'] else format(row['std'], '.2g')} |"
            for key, row in found.iterrows()
        ]
        head = f"| {' | '.join(names)} | {self.measure.label}, at the end | standard deviation |"
        return "\n".join([head, "| --- " * len(names) + "| ---: | ---: |", *rows])


def scale_note(manifest: Manifest) -> str:
    """A sentence that claims are about the published scale, for a smaller one."""
    published = manifest.published
    if manifest.trials >= published.trials and manifest.rounds >= published.rounds:
        return ""
    return (
        f" They are about {published.trials} trials of {published.rounds:,} rounds; at this "
        "smaller scale some need not hold."
    )


def command(manifest: Manifest) -> str:
    """The command that runs the same trials again."""
    files = " --data DIR" if manifest.data is not None and manifest.data.read else ""
    return (
        f"surefoot-experiments run {manifest.experiment} --trials {manifest.trials} "
        f"--rounds {manifest.rounds} --seed {manifest.seed}{files}"
    )


def sentence(text: str) -> str:
    """With a capital letter and a full stop, unless it begins with the name of a file."""
    first = text.split(maxsplit=1)[0]
    return f"{text if '.' in first else text[:1].upper() + text[1:]}."


def table_of(checks: Sequence[Check]) -> str:
    """Each claim with its verdict and what was measured."""
    rows = [
        f"| {_cell(check.claim)} | {_SHOWN.get(check.verdict, check.verdict)} | "
        f"{_cell(check.measured)} |"
        for check in checks
    ]
    return "\n".join(["| claim | holds | measured |", "| --- | --- | --- |", *rows])


def _random(tables: Tables) -> str:
    """The mean regret of random arms, for comparison with the final values."""
    if "problems" not in tables:
        return ""
    lost = tables["problems"]
    if "task" in lost:
        means = lost.groupby("task", sort=False)["random"].mean()
        values = ", ".join(f"{value:.4g} ({task})" for task, value in means.items())
    else:
        values = f"{lost['random'].mean():.4g}"
    return f"\n\nThe mean regret of arms drawn at random is {values}."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
