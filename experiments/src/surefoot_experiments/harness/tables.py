"""The report of a benchmark: Markdown tables, with the versions and the machine."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.provenance import installed
from surefoot_experiments.harness.trial import Check, Tables
from surefoot_experiments.recorded_data import Data

if TYPE_CHECKING:
    from surefoot_experiments.harness.manifest import Manifest


@dataclass(frozen=True)
class TableOutput:
    """A report of tables, with pictures where there are some.

    Args:
        report: Writes the report on all tables, in Markdown.
        draw: Draws the pictures, by file name.
    """

    report: Callable[[Tables], str]
    draw: Callable[[Tables], Mapping[str, Figure]] = lambda tables: {}

    def checks(self, tables: Tables) -> list[Check]:
        """None: the report has its own columns for what is to be reached."""
        return []

    def pictures(self, tables: Tables) -> Mapping[str, Figure]:
        """The pictures."""
        return self.draw(tables)

    def page(self, manifest: Manifest, tables: Tables, data: Data | None) -> str:
        """The report, in Markdown."""
        return self.report(tables)


def benchmark(name: str, title: str, **settings: Any) -> Experiment:
    """An experiment named "bench-NAME"; the settings are those of `Experiment`."""
    return Experiment(f"bench-{name}", "surefoot's own", "benchmark", title, **settings)


def ran_on(packages: Sequence[str]) -> dict[str, object]:
    """The date, the number of cores, and the versions of packages, for the head of a report."""
    return {
        "date": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "versions": ", ".join(f"{name} {installed(name)}" for name in packages),
    }


def markdown(table: pd.DataFrame) -> str:
    """A table of texts in Markdown, with the index as its first column."""
    head = [table.index.name or "task", *table.columns]
    lines = [head, ["---"] + ["---:"] * len(table.columns)]
    lines += [[str(index), *row] for index, row in zip(table.index, table.to_numpy(), strict=True)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def table_from(rows: Sequence[Mapping[str, str]]) -> str:
    """Rows of texts in Markdown; a row maps columns to texts."""
    table = pd.DataFrame(rows)
    first = table.columns[0]
    table = table.set_index(first)
    table.index.name = first or " "
    return markdown(table)


def number(x: float) -> str:
    """Two significant digits, at least to the thousandth; a dash for NaN."""
    return "–" if np.isnan(x) else f"{x:.3f}" if abs(x) < 0.1 else f"{x:.2f}"


def with_errors(groups: Any) -> pd.DataFrame:
    """Mean ± standard error of each column within the groups, as text."""
    means, errors = groups.mean(), groups.sem()
    return means.map("{:.3f}".format) + errors.map(lambda e: "" if pd.isna(e) else f" ± {e:.3f}")


def ratio(ours: pd.Series, theirs: pd.Series) -> tuple[float, float]:
    """The ratio of means over the same problems, and its standard error."""
    value = ours.mean() / theirs.mean()
    return value, (ours - value * theirs).sem() / theirs.mean()
