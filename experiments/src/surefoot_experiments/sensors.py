"""Readings of light sensors in an office: recorded ones, or simulated."""

from pathlib import Path

import numpy as np

from surefoot.types import InvalidInput
from surefoot_experiments.csv_columns import read_columns, require_spread
from surefoot_experiments.data import Data
from surefoot_experiments.normality import report
from surefoot_experiments.sensor_simulator import simulate

TRAIN, TEST, COORDS = (f"light_sensors_{part}.csv" for part in ("train", "test", "coords"))


def load(folder: Path | None) -> Data:
    """Readings `train` and `test` (times, sensors) and `places` (sensors, 2) scaled to [0, 1]^2.

    From the three files in the folder, or simulated. Raises `InvalidInput` for a file that is
    missing or malformed, or does not go with the others.
    """
    if folder is None:
        train, test, places = simulate()
        source = (
            f"simulated readings of {len(places)} sensors, {len(train)} to train and {len(test)} "
            f"to test; for the paper's give --data a folder with {TRAIN}, {TEST} and {COORDS}"
        )
    else:
        train, test, places = _read(folder)
        source = (
            f"{TRAIN}, {TEST} and {COORDS}: {len(train)} and {len(test)} readings of "
            f"{len(places)} sensors"
        )
    low, high = places.min(0), places.max(0)
    arrays = {"train": train, "test": test, "places": (places - low) / (high - low)}
    names = [str(number + 1) for number in range(len(places))]
    tests = report(names, test, "sensor")
    return Data(source, arrays, tests.line, tests.notes)


def _read(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    train, test = read_columns(folder / TRAIN), read_columns(folder / TEST)
    places = read_columns(folder / COORDS)
    sensors = len(train.names)
    require_spread(folder / TRAIN, train)
    if test.numbers.shape[1] != sensors:
        raise InvalidInput(
            f"{folder / TEST}, line 1: got {len(test.names)} columns, expected {sensors}, one for "
            f"each sensor of {TRAIN}"
        )
    require_spread(folder / TEST, test)
    if places.numbers.shape != (sensors, 2):
        raise InvalidInput(
            f"{folder / COORDS}: got {len(places.numbers)} rows of {len(places.names)} columns, "
            f"expected {sensors} rows of 2, one for each sensor of {TRAIN}"
        )
    if not np.ptp(places.numbers, axis=0).all():
        raise InvalidInput(f"{folder / COORDS}: all sensors are on one line, expected a plane")
    return train.numbers, test.numbers, places.numbers
