"""Systems tuned in the cloud: nginx with 30 knobs and PostgreSQL under TPC-C with 121.

A forest fitted to the median of each recorded configuration is the truth. The noise at a point is
that of a configuration that was measured on ten virtual machines, has a similar median and is most
alike in the eyes of the forest. A second forest says how often a configuration crashes.

References:
    Freischuetz, Kanellis, Kroth, Venkataraman, "TUNA: Tuning Unstable and Noisy Cloud
    Applications", EuroSys 2025: the measurements.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from surefoot import InvalidInput
from surefoot_experiments.scoreboard.space import Point, Space, Value
from surefoot_experiments.scoreboard.suites.cloud_knobs import Knobs, infer
from surefoot_experiments.scoreboard.task import (
    CONFIRMATION,
    DEVELOPMENT,
    GAP,
    Task,
    budgets,
    quarters,
)

SUITE = "cloud"
DATA = "SUREFOOT_CLOUD_DATA"  # environment variable: the folder of the measurements
CACHE = "SUREFOOT_SCOREBOARD_CACHE"  # environment variable: where fitted forests are kept
BUDGET = 200
CHECKPOINTS = (50, 100, 200)
TREES = 200
WORKERS = 10
WELL_MEASURED = 8  # virtual machines that a configuration ran on, to lend its noise
SIMILAR = 20  # configurations of similar median that noise is taken from
UNSTABLE = 0.3  # range over ten virtual machines, as a share of the smallest value
Behaviour = tuple[float, float, np.ndarray]


@dataclass(frozen=True)
class System:
    """A recorded system; `sign` is -1 if larger values are better."""

    name: str
    half: str
    sign: float


SYSTEMS = (System("nginx", DEVELOPMENT, 1.0), System("tpcc-azure", CONFIRMATION, -1.0))


@dataclass(frozen=True)
class Forests:
    """What is fitted to the measurements of a system; values are logarithms, lower is better.

    Args:
        knobs: Its parameters.
        truth: Forest of the median.
        crashes: Forest of the share of crashes.
        leaves: Leaves of the configurations that lend their noise, (donors, trees).
        medians: Medians of those.
        residuals: Their residuals on each virtual machine, (donors, 10).
        best: The smallest prediction that a search found among points that seldom crash.
    """

    knobs: Knobs
    truth: Any
    crashes: Any
    leaves: np.ndarray
    medians: np.ndarray
    residuals: np.ndarray
    best: float


@dataclass(frozen=True)
class Simulation:
    """A system as a function to minimise."""

    system: System

    def measure(self, point: Point, generator: np.random.Generator) -> float:
        """A measurement on a random virtual machine; NaN for a crash."""
        worker, chance = int(generator.integers(WORKERS)), generator.random()
        value, crash, residuals = self.behaviour(point)
        if chance < crash:
            return float("nan")
        sign = self.system.sign
        return sign * float(np.exp(sign * (value + residuals[worker])))

    def score(self, point: Point) -> dict[str, float]:
        """Per cent lost against the best, and whether a deployment fails.

        A configuration fails if it crashes in half of its starts or more, and is unstable if its
        values on ten virtual machines are more than 30 % apart.
        """
        value, crash, residuals = self.behaviour(point)
        lost = value - self.forests.best
        share = np.expm1(lost) if self.system.sign > 0 else -np.expm1(-lost)
        unstable = np.expm1(np.ptp(residuals)) > UNSTABLE
        return {
            GAP: 100.0 * float(share),
            "crashes": float(crash >= 0.5),
            "unstable": float(unstable),
        }

    @property
    def forests(self) -> Forests:
        """What is fitted to the measurements."""
        return forests_of(self.system.name)

    def behaviour(self, point: Point) -> Behaviour:
        """The median's logarithm, the share of crashes, and residuals on ten virtual machines."""
        return _behaviour(self.system.name, tuple(point.items()))


@lru_cache(maxsize=8)  # an interval is held against a thousand measurements at one point
def _behaviour(system: str, items: tuple[tuple[str, Value], ...]) -> Behaviour:
    forests = forests_of(system)
    features = forests.knobs.features(dict(items))[None].astype(np.float32)
    value, leaves = _predicted(forests.truth, features)
    crash, _ = _predicted(forests.crashes, features)
    similar = np.argsort(np.abs(forests.medians - value), kind="stable")[:SIMILAR]
    shared = (forests.leaves[similar] == leaves).sum(axis=1)
    return value, crash, forests.residuals[similar[int(shared.argmax())]]


def _predicted(
    forest: Any,
    features: np.ndarray,  # (1, width), of single precision
) -> tuple[float, np.ndarray]:
    """The mean over the trees, and the leaf in each; a fraction of the time of `predict`."""
    trees = [tree.tree_ for tree in forest.estimators_]
    leaves = np.array([tree.apply(features)[0] for tree in trees])
    values = [tree.value[leaf, 0, 0] for tree, leaf in zip(trees, leaves, strict=True)]
    return float(np.mean(values)), leaves


def tasks(evaluations: Sequence[str] = ()) -> list[Task]:
    """A task for each system.

    Args:
        evaluations: Numbers of measurements; one of 200 if none is given, scored at 50 and 100 too.
    """
    return [
        Task(
            suite=SUITE,
            name=system.name,
            kind=system.name,
            half=system.half,
            space=space_of(system.name),
            budget=budget,
            checkpoints=CHECKPOINTS if budget == BUDGET else quarters(budget),
            load=partial(Simulation, system),
        )
        for system in SYSTEMS
        for budget in budgets(evaluations or [str(BUDGET)], len(space_of(system.name).parameters))
    ]


def folder() -> Path | None:
    """The folder of the measurements, None if it has not been named."""
    named = os.environ.get(DATA)
    return Path(named) if named and Path(named).is_dir() else None


@cache
def space_of(name: str) -> Space:
    """The search space of a system."""
    return infer(_configurations(_measurements(name)))[0].space


def _measurements(name: str) -> pd.DataFrame:
    return pd.read_parquet(_path(name))


def _configurations(measurements: pd.DataFrame) -> pd.DataFrame:
    """A row of knobs for each configuration, in the order of their numbers."""
    first = measurements.drop_duplicates("config").set_index("config").sort_index()
    return first.drop(columns=["worker", "value"])


def _path(name: str) -> Path:
    where = folder()
    if where is None:
        raise InvalidInput(
            f"the suite {SUITE} needs the folder of the measurements: set {DATA} to it."
        )
    return where / f"{name}.parquet"


@cache
def forests_of(name: str) -> Forests:
    """The forests of a system, fitted once and kept on disk."""
    memory = joblib.Memory(os.environ.get(CACHE, "scoreboard-cache"), verbose=0)
    sign = next(system.sign for system in SYSTEMS if system.name == name)
    forests: Forests = memory.cache(fit)(_measurements(name), sign)
    return forests


def fit(measurements: pd.DataFrame, sign: float) -> Forests:
    """Fit the forests.

    Args:
        measurements: Columns `config`, `worker` and `value` (NaN for a crash), then the knobs.
        sign: -1 if larger values are better.
    """
    from sklearn.ensemble import RandomForestRegressor

    groups = measurements.groupby("config", sort=True)
    knobs, points = infer(_configurations(measurements))
    features = np.array([knobs.features(point) for point in points])
    logs = sign * np.log(measurements["value"])
    medians = logs.groupby(measurements["config"]).median().to_numpy()
    failed = (1.0 - groups["value"].count() / groups.size()).to_numpy()
    settings = {"n_estimators": TREES, "random_state": 0, "n_jobs": 1}
    ran = np.isfinite(medians)
    truth = RandomForestRegressor(min_samples_leaf=2, max_features=1 / 3, **settings)
    truth.fit(features[ran], medians[ran])
    crashes = RandomForestRegressor(min_samples_leaf=2, max_features=1 / 3, **settings)
    crashes.fit(features, failed)
    by_worker = logs.groupby([measurements["config"], measurements["worker"]]).median().unstack()
    donors = (by_worker.notna().sum(axis=1) >= WELL_MEASURED).to_numpy()
    residuals = by_worker[donors].to_numpy() - medians[donors][:, None]
    residuals = np.where(np.isnan(residuals), 0.0, residuals)
    return Forests(
        knobs=knobs,
        truth=truth,
        crashes=crashes,
        leaves=truth.apply(features[donors]),
        medians=medians[donors],
        residuals=residuals,
        best=_search(knobs, truth, crashes, points),
    )


def _search(knobs: Knobs, truth: Any, crashes: Any, points: Sequence[Point]) -> float:
    """The smallest prediction found by mutating good points, among those that seldom crash."""
    generator = np.random.default_rng(0)
    space = knobs.space
    population = [space.encode(point) for point in points]
    for _ in range(_GENERATIONS):
        values = _penalised(knobs, truth, crashes, population)
        kept = [population[i] for i in np.argsort(values, kind="stable")[:_PARENTS]]
        population = kept + [
            _mutated(parent, generator) for parent in kept for _ in range(_CHILDREN)
        ]
    return float(_penalised(knobs, truth, crashes, population).min())


_GENERATIONS, _PARENTS, _CHILDREN = 60, 20, 20
_CHANGED = 0.1  # share of the coordinates that a mutation changes


def _mutated(coordinates: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    chosen = generator.random(len(coordinates)) < _CHANGED
    return np.where(chosen, generator.random(len(coordinates)), coordinates)


def _penalised(
    knobs: Knobs, truth: Any, crashes: Any, population: Sequence[np.ndarray]
) -> np.ndarray:
    features = np.array([knobs.features(knobs.space.decode(each)) for each in population])
    return np.where(crashes.predict(features) < 0.5, truth.predict(features), np.inf)
