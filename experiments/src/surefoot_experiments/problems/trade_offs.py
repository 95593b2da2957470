"""Two objectives of recorded systems: what was measured, against the memory that it takes.

A forest fitted to the median of each recorded configuration is the truth of the measured objective;
the memory follows from the parameters. Both are minimised.

References:
    Freischuetz, Kanellis, Kroth, Venkataraman, "TUNA: Tuning Unstable and Noisy Cloud
    Applications", EuroSys 2025: the measurements.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from surefoot import InvalidInput

DATA = "SUREFOOT_CLOUD_DATA"  # environment variable: the folder of the measurements
_TREES, _LEAF = 60, 5
_WELL_MEASURED = 9  # times, of configurations that lend their noise


@dataclass(frozen=True)
class System:
    """A recorded system.

    Args:
        sign: -1 if larger measurements are better.
        knobs: Its parameters; one with the values "on" and "off" is on in the upper half.
        memory: Memory (n,) that values (n, knobs) take.
        reference: Reference point of the hypervolume.
    """

    sign: float
    knobs: tuple[str, ...]
    memory: Callable[[np.ndarray], np.ndarray]
    reference: tuple[float, float]


SYSTEMS = {
    "nginx": System(  # microseconds, kB of a connection
        1.0,
        (
            "client_header_buffer_size",
            "connection_pool_size",
            "postpone_output",
            "lingering_time",
            "open_file_cache_min_uses",
            "sendfile",
        ),
        lambda knobs: knobs[:, :3].sum(1) / 1024.0,
        (54_000.0, 130.0),
    ),
    "tpcc-azure": System(  # transactions per second, GB with 20 sessions
        -1.0,
        (
            "shared_buffers",
            "work_mem",
            "max_wal_size",
            "geqo_pool_size",
            "max_parallel_workers",
            "enable_indexscan",
        ),
        lambda knobs: (8.0 * knobs[:, 0] + 20.0 * knobs[:, 1]) / 1e6,
        (0.0, 12.0),
    ),
}


@dataclass(frozen=True, eq=False)
class TradeOff:
    """Two objectives of a system, on the unit cube.

    Args:
        system: The system.
        forest: Forest of the logarithm of the median.
        lower: Least value of each parameter.
        upper: Largest.
        residuals: Relative deviations of single measurements from the median.
    """

    system: System
    forest: Any
    lower: np.ndarray
    upper: np.ndarray
    residuals: np.ndarray

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Values (2,) at a point (6,)."""
        knobs = self.lower + (self.upper - self.lower) * x[None]
        switch = (self.upper == 1.0) & (self.lower == 0.0)
        knobs = np.where(switch, np.round(knobs), knobs)
        measured = self.system.sign * np.exp(self.forest.predict(knobs))
        return np.concatenate([measured, self.system.memory(knobs)])

    def errors(self, uniform: np.ndarray, heavy: bool) -> np.ndarray:
        """Relative errors (n,) of the measured objective, of uniform numbers (n,).

        Those of the system's measurements, or Gaussian ones with their median deviation.
        """
        if heavy:
            return np.asarray(np.quantile(self.residuals, uniform, method="inverted_cdf"))
        from scipy.special import ndtri

        return np.asarray(1.4826 * np.median(np.abs(self.residuals)) * ndtri(uniform))


def folder() -> Path:
    """The folder of the measurements."""
    named = os.environ.get(DATA, "")
    if not named or not Path(named).is_dir():
        raise InvalidInput(
            f"{DATA} is {named!r}, expected the folder of the measurements (nginx.parquet and "
            "tpcc-azure.parquet): set it."
        )
    return Path(named)


@cache
def trade_off(name: str) -> TradeOff:
    """A system by name."""
    from sklearn.ensemble import RandomForestRegressor

    system = SYSTEMS[name]
    table = pd.read_parquet(folder() / f"{name}.parquet").dropna(subset=["value"])
    configurations = table.groupby("config")
    first = configurations[list(system.knobs)].first()
    columns = [
        first[knob].to_numpy(float)
        if pd.api.types.is_numeric_dtype(first[knob])
        else (first[knob].astype(str) == "on").to_numpy(float)
        for knob in system.knobs
    ]
    knobs, medians = np.stack(columns, -1), configurations["value"].median()
    forest = RandomForestRegressor(_TREES, min_samples_leaf=_LEAF, random_state=0)
    forest.fit(knobs, np.log(medians.to_numpy()))
    often = configurations["value"].transform("count") >= _WELL_MEASURED
    relative = (table["value"] / configurations["value"].transform("median") - 1.0)[often]
    lower, upper = np.quantile(knobs, [0.01, 0.99], axis=0)
    return TradeOff(system, forest, lower, upper, np.sort(relative.to_numpy()))
