"""Running an experiment: trials in parallel, stored as they finish, and a complete result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from surefoot import InvalidInput
from surefoot_experiments.harness.backends import LOCAL, check_backend, run_trials
from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.figures import save, style
from surefoot_experiments.harness.manifest import Manifest
from surefoot_experiments.harness.provenance import describe
from surefoot_experiments.harness.store import (
    MANIFEST,
    Key,
    Record,
    Result,
    TrialStore,
    digest_of,
    locked,
    published,
    recover,
    tables_of,
)
from surefoot_experiments.harness.trial import Check, Scale
from surefoot_experiments.recorded_data import Data

_TRIALS = ".trials"  # beside the results
_MOST = 10**9  # trials, rounds or processes


@dataclass(frozen=True)
class Plan:
    """Settings of a run, for one experiment or several.

    Args:
        out: Folder of the results.
        trials: Number of trials, instead of the published (or quick) one.
        rounds: Number of rounds, instead of the published (or quick) one.
        jobs: Number of processes, of one thread each.
        data: Folder with recorded data.
        seed: Seed of all random numbers.
        resume: Keep finished trials and results of the same settings.
        quick: Use the quick scale instead of the published one.
        backend: loky, dask://HOST:PORT or ray://HOST:PORT.

    Raises:
        InvalidInput: A setting is outside its range, or the data folder does not exist.
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
            raise InvalidInput(f"{self.data}: no such folder, expected one with the data files")
        check_backend(self.backend)

    def scale(self, experiment: Experiment) -> Scale:
        """The number of trials and rounds of an experiment."""
        given = experiment.quick if self.quick else experiment.published
        return Scale(self.trials or given.trials, self.rounds or given.rounds)


@dataclass(frozen=True)
class Outcome:
    """A complete result.

    Args:
        folder: Where it is.
        checks: Its claims.
        trials: Number of trials.
        seconds: Time that this run took.
        kept: Whether it was complete before.
    """

    folder: Path
    checks: list[Check]
    trials: int
    seconds: float = 0.0
    kept: bool = False


Notify = Callable[[int, int], None]  # finished trials, all trials


def run(
    experiment: Experiment,
    plan: Plan,
    data: Data | None = None,
    notify: Notify = lambda finished, trials: None,
) -> Outcome:
    """Run an experiment, and leave figure, tables, manifest and page in `OUT/NAME`.

    Finished trials are kept in `OUT/.trials` until the result is complete. A former result stays
    until then, and files in its folder that are no part of it are kept.

    Args:
        experiment: The experiment.
        plan: The settings.
        data: What `experiment.load` returned; read here if None.
        notify: Called with the number of finished trials, and of all trials.

    Returns:
        The complete result.

    Raises:
        InvalidInput: Finished trials of the same settings, or a larger result, would be lost; a
            result to resume is incomplete; another process runs the same experiment; data are
            missing or malformed; or something cannot be written.
    """
    if data is None and experiment.load is not None:
        data = experiment.load(plan.data)
    target = plan.out / experiment.name
    refusal = f"{target}: another process runs this: wait until it ends, or choose another --out"
    with locked(plan.out / _TRIALS / f"{experiment.name}.lock", refusal):
        started = time.perf_counter()
        recover(target)
        state = _State.of(experiment, plan, data)
        former, store, records = state.former, state.store, state.records
        if former is not None and state.reused and former.manifest.trials >= state.manifest.trials:
            store.discard(former.records())
            manifest = former.manifest
            return Outcome(target, manifest.checks, manifest.trials, kept=True)
        trials = experiment.trials(state.manifest.scale, plan.seed, data)
        missing = [each for each in trials if (each.case, each.number) not in records]
        notify(len(trials) - len(missing), len(trials))
        jobs = 1 if experiment.timed else min(plan.jobs, max(len(missing), 1))
        finished = len(trials) - len(missing)
        for record in run_trials(experiment.run, missing, jobs, plan.backend):
            store.write(record)
            records[record.key] = record
            finished += 1
            notify(finished, len(trials))
        order = [case.name for case in experiment.cases]
        trials.sort(key=lambda trial: order.index(trial.case))
        ordered = [records[each.case, each.number] for each in trials]
        checks = _write(experiment, target, state.manifest, ordered, data)
        store.discard(record.key for record in ordered)
        seconds = time.perf_counter() - started
        return Outcome(target, checks, state.manifest.trials, seconds)


def check(experiment: Experiment, plan: Plan, data: Data | None) -> None:
    """`InvalidInput` if `run` would refuse because of what is in `OUT`."""
    _State.of(experiment, plan, data)


@dataclass(frozen=True)
class _State:
    """What is on disk when a run starts; `reused` if the former result is of the same settings."""

    manifest: Manifest
    store: TrialStore
    former: Result | None
    reused: bool
    records: dict[Key, Record]

    @classmethod
    def of(cls, experiment: Experiment, plan: Plan, data: Data | None) -> _State:
        scale = plan.scale(experiment)
        read = plan.data is not None
        manifest = describe(experiment, scale, plan.seed, data, plan.backend, read)
        store = TrialStore(plan.out / _TRIALS / f"{experiment.name}-{manifest.fingerprint}")
        records = store.read()
        former = Result.at(plan.out / experiment.name)
        reused = False
        if former is not None:
            reused = plan.resume and former.manifest.fingerprint == manifest.fingerprint
            if reused:
                former.require_complete()
                records |= former.records()
            else:
                _require_larger(scale, former)
        wanted = {(each.case, each.number) for each in experiment.trials(scale)}
        if (there := wanted & records.keys()) and not plan.resume:
            raise InvalidInput(
                f"{store.folder} holds {len(there)} finished trials of an interrupted run with "
                "these settings: continue it with --resume, or delete it to start again"
            )
        return cls(manifest, store, former, reused, records)


def _require_larger(scale: Scale, former: Result) -> None:
    there = former.manifest
    if there.trials * there.rounds > scale.trials * scale.rounds:
        raise InvalidInput(
            f"{former.folder} holds {there.trials} trials of {there.rounds:,} rounds, more than "
            f"the {scale.trials} of {scale.rounds:,} that would replace them: choose another "
            "--out, or delete it"
        )


def _write(
    experiment: Experiment,
    target: Path,
    manifest: Manifest,
    records: list[Record],
    data: Data | None,
) -> list[Check]:
    """Write all files of a result, and move them to their place once they are complete."""
    tables, output = tables_of(records, experiment.name), experiment.output
    checks = output.checks(tables)
    sources = dict.fromkeys(each for record in records for each in record.sources)
    facts = {
        "checks": checks,
        "seconds": round(sum(record.seconds for record in records), 1),
        "sources": list(sources),
    }
    manifest = manifest.model_copy(update=facts)
    with published(target) as folder:
        for name, table in tables.items():
            table.to_parquet(folder / f"{name}.parquet", index=False)
        with style():
            for name, figure in output.pictures(tables).items():
                save(figure, folder, name)
        (folder / "page.md").write_text(output.page(manifest, tables, data), encoding="utf-8")
        files = {path.name: digest_of(path) for path in sorted(folder.iterdir())}
        manifest = manifest.model_copy(update={"files": files})
        text = manifest.model_dump_json(indent=2) + "\n"
        (folder / MANIFEST).write_text(text, encoding="utf-8")
    return checks
