"""Playing an experiment: trials in parallel, kept as they finish, and a result that is whole."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from surefoot.types import InvalidInput
from surefoot_experiments import manifest as manifests
from surefoot_experiments.backends import LOCAL, check_backend, play_all
from surefoot_experiments.data import Data
from surefoot_experiments.experiment import Check, Experiment, Scale, Trial
from surefoot_experiments.figures import save, style
from surefoot_experiments.legs import Legs
from surefoot_experiments.lock import alone
from surefoot_experiments.page import page
from surefoot_experiments.result import Result
from surefoot_experiments.trial_store import TrialStore
from surefoot_experiments.whole import copy_into, folder_if_used, require_room, whole_folder

_TRIALS = ".trials"  # beside the results
_ROOM = 50.0  # megabytes, several times what the largest experiment leaves
_MOST = 10**9  # trials, rounds or processes


@dataclass(frozen=True)
class Plan:
    """How experiments are to be played.

    `trials` and `rounds` take the place of the published ones, or with `quick` of the quick ones.
    `data` is the folder with recorded data. With `resume`, finished trials and results of the same
    settings are taken over, so that a result of few trials grows into one of more; one of more
    trials than asked for stays as it is.
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
            if value is not None and not 1 <= value <= _MOST:
                limit = "at least 1" if value < 1 else f"at most {_MOST:,}"
                raise InvalidInput(f"`{name}` is {value}, expected {limit}.")
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
    """A result that is in place: where, its claims, and whether it was there before.

    `seconds` went by while its trials were played, in all legs of a run that was stopped.
    """

    folder: Path
    checks: list[Check]
    trials: int
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
    stays until then, and files in its folder that are not of it go along.

    Raises `InvalidInput` where finished trials of the same settings, or a result of more trials
    times rounds, would be lost; for a result to take over that is not whole; where another process
    plays the same; for data that are missing or malformed, and (`CannotWrite`) where there is no
    room.
    """
    if data is None and experiment.load is not None:
        data = experiment.load(plan.data)
    lock = plan.out / _TRIALS / f"{experiment.name}.lock"
    refusal = (
        f"{plan.out / experiment.name}: another process is playing this: wait for its end, or "
        "choose another out"
    )
    with folder_if_used(plan.out), alone(lock, refusal):
        require_room(plan.out, _ROOM)
        place = _Place.of(experiment, plan, data)
        former, store, facts = place.former, place.store, place.facts
        if former is not None and place.same and former.trials >= facts["trials"]:
            if all(number < former.trials for number in store.finished()):
                store.clear(former.trials)  # left by a process that died before it could
            wall = former.manifest["seconds"]["wall"]
            return Outcome(former.folder, former.checks, former.trials, wall, taken_over=True)
        legs = store.legs()
        if former is not None and place.same:
            store.adopt(former)
            legs.grow_from(former.manifest)
        _play_missing(experiment, plan, facts, data, store, legs, notice)
        facts["seconds"] = {
            "wall": round(legs.wall, 1),
            "trials": round(sum(store.finished()[each] for each in range(facts["trials"])), 1),
        }
        facts["sources"] = legs.sources
        checks = _write(experiment, plan.out / experiment.name, store, facts, data)
        store.clear(facts["trials"])
        wall = facts["seconds"]["wall"]
        return Outcome(plan.out / experiment.name, checks, facts["trials"], wall)


def require_place(experiment: Experiment, plan: Plan, data: Data | None) -> None:
    """`InvalidInput` where `reproduce` would refuse for what is in its place already."""
    _Place.of(experiment, plan, data)


@dataclass(frozen=True)
class _Place:
    """What there is where a result is to be."""

    facts: dict[str, Any]
    store: TrialStore
    former: Result | None
    same: bool  # whether that was played with these settings, and trials are to be taken over

    @classmethod
    def of(cls, experiment: Experiment, plan: Plan, data: Data | None) -> _Place:
        scale = plan.scale(experiment)
        facts = manifests.describe(experiment, scale, plan.seed, data, plan.backend, plan.data)
        store = TrialStore(plan.out / _TRIALS / f"{experiment.name}-{facts['fingerprint']}")
        former = Result.at(plan.out / experiment.name)
        played_so = former is not None and former.manifest["fingerprint"] == facts["fingerprint"]
        same = plan.resume and played_so
        if former is not None:
            _require_no_loss(former, scale, same)
        there = set(store.finished()) & set(range(scale.trials))
        if there and not plan.resume:
            raise InvalidInput(
                f"{store.folder} holds {len(there)} finished trials of a run with these settings "
                "that was stopped: go on with --resume, or delete it to begin anew"
            )
        store.require_whole()
        return cls(facts, store, former, same)


def _require_no_loss(former: Result, scale: Scale, same: bool) -> None:
    if same:
        former.require_whole()
    elif former.trials * former.rounds > scale.trials * scale.rounds:
        raise InvalidInput(
            f"{former.folder} holds {former.trials} trials of {former.rounds:,} rounds, more than "
            f"the {scale.trials} of {scale.rounds:,} that would take their place: choose another "
            "--out, or delete it"
        )


def _play_missing(
    experiment: Experiment,
    plan: Plan,
    facts: dict[str, Any],
    data: Data | None,
    store: TrialStore,
    legs: Legs,
    notice: Notice,
) -> None:
    trials = facts["trials"]
    there = set(store.finished()) & set(range(trials))
    todo = [
        Trial(number, facts["rounds"], plan.seed, data)
        for number in range(trials)
        if number not in there
    ]
    notice(len(there), trials)
    played = play_all(experiment.play, todo, min(plan.jobs, max(len(todo), 1)), plan.backend)
    for finished, (number, rows, seconds) in enumerate(played, len(there) + 1):
        store.save(number, rows, seconds)
        legs.keep(manifests.sources())
        notice(finished, trials)


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
        facts["files"] = sorted(path.name for path in folder.iterdir())
        content = json.dumps(facts, indent=2, ensure_ascii=False) + "\n"
        (folder / manifests.FILE).write_text(content, encoding="utf-8")
        if (former := Result.at(target)) is not None:
            copy_into(folder, former.strangers)
    return checks
