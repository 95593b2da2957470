"""The Markdown page of a result: what came out, beside what the paper says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from surefoot_experiments.data import Data
from surefoot_experiments.experiment import NUMBERS, Check, Experiment, Tables, count

if TYPE_CHECKING:
    from pandas import DataFrame

VERDICTS = (
    "A claim that one method is below another is undecided where the mean of their paired "
    "differences is within two of its standard errors of 0, or there are fewer than five trials. "
    "± is one standard error."
)
_SHOWN = {"no": "**no**"}


def page(
    experiment: Experiment,
    manifest: dict[str, Any],
    tables: Tables,
    checks: Sequence[Check],
    data: Data | None,
) -> str:
    """The page as text."""
    parts = [
        f"# {experiment.title}",
        f"{experiment.paper}. {experiment.figure}.",
        f"![{experiment.title}](figure.svg)",
        f"*{caption(experiment, manifest)}*",
        f"## What the paper says\n\n{experiment.says}",
        f"## What came out\n\n{count(checks)}.{scale_note(manifest)}",
        f"{table_of(checks)}\n\n{VERDICTS}",
        _ends(experiment, tables) + _random(tables),
        f"## How it was played\n\n{experiment.setting}",
    ]
    if data is not None:
        parts.append(f"## Data\n\n{sentence(data.source)}")
        if data.notes:
            parts.append(data.notes)
    parts.append(f"## Again\n\n```console\n$ {command(manifest)}\n```")
    return "\n\n".join(parts) + "\n"


def caption(experiment: Experiment, manifest: dict[str, Any]) -> str:
    """What the picture shows."""
    trials = manifest["trials"]
    return (
        f"{trials} trial{'s' * (trials != 1)} of {manifest['rounds']:,} rounds, seed "
        f"{manifest['seed']}; bands are {experiment.measure.band} over trials about the mean, "
        "where not said otherwise."
    )


def scale_note(manifest: dict[str, Any]) -> str:
    """That claims are about the published scale, where this is a smaller one."""
    published = manifest["published"]
    if manifest["trials"] >= published["trials"] and manifest["rounds"] >= published["rounds"]:
        return ""
    return (
        f" They are about {published['trials']} trials of {published['rounds']:,} rounds; at this "
        "smaller scale some need not hold."
    )


def command(manifest: dict[str, Any]) -> str:
    """What plays the same trials again."""
    files = " --data DIR" if (manifest["data"] or {}).get("read") else ""
    return (
        f"surefoot reproduce {manifest['experiment']} --trials {manifest['trials']} "
        f"--rounds {manifest['rounds']} --seed {manifest['seed']}{files}"
    )


def sentence(text: str) -> str:
    """With a capital letter and a full stop, unless it begins with the name of a file."""
    first = text.split(maxsplit=1)[0]
    return f"{text if '.' in first else text[:1].upper() + text[1:]}."


def ends(experiment: Experiment, tables: Tables) -> DataFrame:
    """Mean and deviation over trials after the last round, by algorithm (and task)."""
    numbers = tables[NUMBERS]
    last = numbers[numbers["round"] == numbers["round"].max()]
    by = [name for name in ("task", "algorithm") if name in last]
    return last.groupby(by, sort=False)[experiment.measure.column].agg(["mean", "std"])


def table_of(checks: Sequence[Check]) -> str:
    """Each claim with its verdict and what was measured."""
    rows = [
        f"| {_cell(check.claim)} | {_SHOWN.get(check.verdict, check.verdict)} | "
        f"{_cell(check.measured)} |"
        for check in checks
    ]
    return "\n".join(["| claim | holds | measured |", "| --- | --- | --- |", *rows])


def _ends(experiment: Experiment, tables: Tables) -> str:
    found = ends(experiment, tables)
    names = list(found.index.names)
    rows = [
        f"| {' | '.join(key if isinstance(key, tuple) else (key,))} | {row['mean']:.4g} | "
        f"{'' if row['std'] != row['std'] else format(row['std'], '.2g')} |"
        for key, row in found.iterrows()
    ]
    label = experiment.measure.label
    head = f"| {' | '.join(names)} | {label}, at the end | standard deviation |"
    return "\n".join([head, "| --- " * len(names) + "| ---: | ---: |", *rows])


def _random(tables: Tables) -> str:
    """What arms drawn at random lose, as something to hold the end values against."""
    if "problems" not in tables:
        return ""
    lost = tables["problems"]
    if "task" in lost:
        means = lost.groupby("task", sort=False)["random"].mean()
        values = ", ".join(f"{value:.4g} ({task})" for task, value in means.items())
    else:
        values = f"{lost['random'].mean():.4g}"
    return f"\n\nArms drawn at random lose {values} a round."


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
