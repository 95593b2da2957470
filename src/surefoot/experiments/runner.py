"""Playing an experiment: trials in parallel, kept as they finish, and a result that is whole."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from surefoot.experiments import manifest as manifests
from surefoot.experiments.backends import LOCAL, check_backend, play_all
from surefoot.experiments.data import Data
from surefoot.experiments.experiment import Check, Experiment, Scale, Trial
from surefoot.experiments.figures import save, style
from surefoot.experiments.page import page
from surefoot.experiments.trial_store import TrialStore
from surefoot.experiments.whole import require_room, whole_folder
from surefoot.types import InvalidInput

_TRIALS = ".trials"  # beside the results
_ROOM = 50.0  # megabytes, several times what the largest experiment leaves


@dataclass(frozen=True)
class Plan:
    """How experiments are to be played.

    `trials` and `rounds` take the place of the published ones, or with `quick` of the quick ones.
    `data` is the folder with recorded data. With `resume`, finished trials and results of the same
    settings are taken over, so that a result of few trials grows into one of more.
    """

    out: Path
    trials: int | None = None
    rounds: int | None = None
    jobs: int = 1
    data: Path | None = None
    seed: int = 0
    resume: bool = False
    quick: bool = False
    backend: str = LOCAL

    def __post_init__(self) -> None:
        for name in ("trials", "rounds", "jobs"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidInput(f"`{name}` is {value}, expected at least 1.")
        if self.seed < 0:
            raise InvalidInput(f"`seed` is {self.seed}, expected an integer >= 0.")
        if self.data is not None and not self.data.is_dir():
            raise InvalidInput(f"{self.data}: there is no such folder, expected one with the data")
        check_backend(self.backend)

    def scale(self, experiment: Experiment) -> Scale:
        """How many trials of how many rounds it is to have."""
        given = experiment.quick if self.quick else experiment.published
        return Scale(
            given.trials if self.trials is None else self.trials,
            given.rounds if self.rounds is None else self.rounds,
        )


@dataclass(frozen=True)
class Outcome:
    """A result that is in place: where, its claims, and whether it was there before."""

    folder: Path
    checks: list[Check]
    seconds: float
    taken_over: bool = False


Notice = Callable[[int, int], None]  # trials finished, trials in all


def reproduce(
    experiment: Experiment,
    plan: Plan,
    data: Data | None = None,
    notice: Notice = lambda finished, trials: None,
) -> Outcome:
    """Play an experiment, and leave `OUT/NAME` with figure, numbers, manifest and page.

    `data` is what `experiment.load` gave, read here if None. Each finished trial is kept in
    `OUT/.trials` until the result is whole and has taken its place; one that was there before
    stays until then. Raises `InvalidInput` where finished trials of the same settings would be
    lost, for data that are missing or malformed, and (`CannotWrite`) where there is no room.
    """
    scale = plan.scale(experiment)
    if data is None and experiment.load is not None:
        data = experiment.load(plan.data)
    require_room(plan.out, _ROOM)
    facts = manifests.describe(experiment, scale, plan.seed, data, plan.backend, plan.data)
    target = plan.out / experiment.name
    before = manifests.read(target)
    if target.exists() and before is None:
        raise InvalidInput(f"{target} is there and is no result of `reproduce`: choose another out")
    if plan.resume and before is not None and _same(before, facts):
        checks = [Check(**check) for check in before["checks"]]
        return Outcome(target, checks, before["seconds"]["wall"], taken_over=True)

    store = TrialStore(plan.out / _TRIALS / f"{experiment.name}-{facts['fingerprint']}")
    if plan.resume and before is not None and before["fingerprint"] == facts["fingerprint"]:
        store.adopt(target, before["seconds"]["trials"] / before["trials"])
    started = time.perf_counter()
    _play_missing(experiment, plan, scale, data, store, notice)
    facts["seconds"] = {
        "wall": round(time.perf_counter() - started, 1),
        "trials": round(sum(store.finished()[number] for number in range(scale.trials)), 1),
    }
    checks = _write(experiment, target, store, facts, data)
    store.clear()
    return Outcome(target, checks, facts["seconds"]["wall"])


def _play_missing(
    experiment: Experiment,
    plan: Plan,
    scale: Scale,
    data: Data | None,
    store: TrialStore,
    notice: Notice,
) -> None:
    there = set(store.finished()) & set(range(scale.trials))
    if there and not plan.resume:
        raise InvalidInput(
            f"{store.folder} holds {len(there)} finished trials of a run with these settings that "
            "was stopped: go on with --resume, or delete it to begin anew"
        )
    todo = [
        Trial(number, scale.rounds, plan.seed, data)
        for number in range(scale.trials)
        if number not in there
    ]
    notice(len(there), scale.trials)
    played = play_all(experiment.play, todo, min(plan.jobs, max(len(todo), 1)), plan.backend)
    for finished, (number, rows, seconds) in enumerate(played, len(there) + 1):
        store.save(number, rows, seconds)
        notice(finished, scale.trials)


def _write(
    experiment: Experiment,
    target: Path,
    store: TrialStore,
    facts: dict[str, Any],
    data: Data | None,
) -> list[Check]:
    """All files of the result, moved into place when they are whole."""
    tables = store.tables(facts["trials"], experiment.name)
    checks = experiment.checks(tables)
    facts["checks"] = [asdict(check) for check in checks]
    with whole_folder(target) as folder:
        for name, table in tables.items():
            table.to_parquet(folder / f"{name}.parquet", index=False)
        with style():
            save(experiment.draw(tables, experiment.measure), folder)
        text = page(experiment, facts, tables, checks, data)
        (folder / "page.md").write_text(text, encoding="utf-8")
        facts["says"], facts["setting"] = experiment.says, experiment.setting
        content = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
        (folder / manifests.FILE).write_text(content, encoding="utf-8")
    return checks


def _same(before: dict[str, Any], facts: dict[str, Any]) -> bool:
    return all(before[name] == facts[name] for name in ("fingerprint", "trials", "rounds"))
