"""What `surefoot reproduce` does: one experiment or all of them, with progress."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from surefoot.types import InvalidInput
from surefoot_experiments.catalogue import ALL, EXPERIMENTS, find
from surefoot_experiments.data import Data
from surefoot_experiments.experiment import Experiment, count
from surefoot_experiments.gallery import write_gallery
from surefoot_experiments.optional import optional
from surefoot_experiments.runner import Outcome, Plan, reproduce, require_place

Say = Callable[[str], None]


def listing() -> str:
    """A line for each experiment: name, paper and figure, title, and its published scale."""
    width = max(map(len, EXPERIMENTS))
    return "\n".join(
        f"{one.name:<{width}}  {_short(one.paper)}, {one.figure}: {one.title} "
        f"({one.published.trials} x {one.published.rounds:,} rounds)"
        for one in EXPERIMENTS.values()
    )


def run(name: str | None, plan: Plan, say: Say) -> None:
    """Play what is named, and say where it is; `InvalidInput` before anything is written."""
    if name is None:
        raise InvalidInput("name an experiment, or `all`; `surefoot reproduce --list` shows them")
    chosen = list(EXPERIMENTS.values()) if name == ALL else [find(name)]
    for module in ("pandas", "pyarrow", "joblib", "matplotlib", "pymunk"):
        optional(module, "`reproduce`")
    # Before the first is played: hours later is no time to learn that a file is missing, or that
    # another is in its place.
    if name == ALL and plan.data is None:
        left_out = [one for one in chosen if one.needs_data]
        chosen = [one for one in chosen if not one.needs_data]
        for one in left_out:
            say(f"{one.name}: left out, since nobody ships its data: give --data a folder")
    data = _loaded(chosen, plan.data)
    for experiment in chosen:
        require_place(experiment, plan, data[experiment.name])
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("trials"),
        TimeElapsedColumn(),
    )
    for experiment in chosen:
        recorded = data[experiment.name]
        if recorded is not None and recorded.line:
            say(f"{experiment.name}: {recorded.line}")
        with Progress(*columns, console=console, disable=not console.is_terminal) as progress:
            task = progress.add_task(experiment.name, total=None)

            def notice(finished: int, trials: int) -> None:
                progress.update(task, completed=finished, total=trials)  # noqa: B023

            outcome = reproduce(experiment, plan, recorded, notice)
        say(_told(experiment, plan, outcome))
    if name == ALL:
        say(f"wrote {write_gallery(plan.out, list(EXPERIMENTS), say)}")


def _loaded(chosen: list[Experiment], folder: Path | None) -> dict[str, Data | None]:
    """The data of each, every set read once."""
    read: dict[object, Data] = {}
    data: dict[str, Data | None] = {}
    for experiment in chosen:
        if experiment.load is not None and experiment.load not in read:
            read[experiment.load] = experiment.load(folder)
        data[experiment.name] = None if experiment.load is None else read[experiment.load]
    return data


def _told(experiment: Experiment, plan: Plan, outcome: Outcome) -> str:
    how = f"took {outcome.seconds:.0f} s"
    if outcome.taken_over:
        more = outcome.trials > plan.scale(experiment).trials
        how = "was there already" + f", with {outcome.trials} trials" * more
    return f"{experiment.name}: {count(outcome.checks)}; {how}; {outcome.folder / 'page.md'}"


def _short(paper: str) -> str:
    return paper.split(",")[0]
