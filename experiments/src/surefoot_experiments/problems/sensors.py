"""Readings of light sensors in an office: recorded ones, or simulated."""

from pathlib import Path

import numpy as np
from scipy.spatial.distance import cdist

from surefoot import InvalidInput
from surefoot_experiments.problems.normality import report
from surefoot_experiments.recorded_data import Data, read_columns, require_spread

TRAIN, TEST, COORDS = (f"light_sensors_{part}.csv" for part in ("train", "test", "coords"))
_SENSORS, _TRAIN_TIMES, _TEST_TIMES = 41, 601, 192
_SEED = 2005
_LENGTHSCALE = 0.3  # of the simulated light, as a share of the room


def load(folder: Path | None) -> Data:
    """Readings `train` and `test` (times, sensors) and `places` (sensors, 2) scaled to [0, 1]^2.

    Args:
        folder: The folder with the three files; None to simulate readings.

    Raises:
        InvalidInput: A file is missing or malformed, or does not match the others.
    """
    if folder is None:
        train, test, places = simulate()
        source = (
            f"simulated readings of {len(places)} sensors, {len(train)} to train and {len(test)} "
            f"to test; for the paper's pass --data a folder with {TRAIN}, {TEST} and {COORDS}"
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


def simulate() -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # (601, 41), (192, 41), (41, 2)
    """Simulated readings to train and to test, and the places of the sensors; always the same.

    reading = lamps(x) (1 + daylight(t) window(x)) + 40 common(t, x) + 25 own(t, x)

    with lamps and window smooth positive fields on a unit square, daylight a slow curve that is
    brighter in the test period, common a smooth field with a Student-t(3) amplitude at each time
    (passing clouds), and own centred Pareto(2.2) glints of each sensor. So readings are correlated
    in space, heavy-tailed, and brighter at some places than at others; a reading is at least 1.
    """
    random = np.random.default_rng(_SEED)
    places = random.random((_SENSORS, 2))
    gram = np.exp(-0.5 * cdist(places, places, "sqeuclidean") / _LENGTHSCALE**2)
    root = np.linalg.cholesky(gram + 1e-6 * np.eye(_SENSORS))
    lamps = 200.0 * np.exp(0.4 * root @ random.standard_normal(_SENSORS))
    window = np.exp(0.6 * root @ random.standard_normal(_SENSORS))

    def readings(times: int, brightness: float) -> np.ndarray:
        daylight = brightness * (1.0 + np.sin(np.linspace(0.0, 3.0 * np.pi, times))) / 2.0
        steady = lamps * (1.0 + daylight[:, None] * window)
        common = random.standard_t(3.0, (times, 1)) * (
            random.standard_normal((times, _SENSORS)) @ root.T
        )
        own = random.pareto(2.2, (times, _SENSORS)) - 1.0 / 1.2
        return np.maximum(steady + 40.0 * common + 25.0 * own, 1.0)

    return readings(_TRAIN_TIMES, 1.0), readings(_TEST_TIMES, 2.0), places


def _read(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    train, test = read_columns(folder / TRAIN), read_columns(folder / TEST)
    places = read_columns(folder / COORDS)
    sensors = train.shape[1]
    require_spread(folder / TRAIN, train)
    if test.shape[1] != sensors:
        raise InvalidInput(
            f"{folder / TEST}, line 1: got {test.shape[1]} columns, expected {sensors}, one for "
            f"each sensor of {TRAIN}"
        )
    require_spread(folder / TEST, test)
    if places.shape != (sensors, 2):
        raise InvalidInput(
            f"{folder / COORDS}: got {places.shape[0]} rows of {places.shape[1]} columns, "
            f"expected {sensors} rows of 2, one for each sensor of {TRAIN}"
        )
    if not np.ptp(places.to_numpy(), axis=0).all():
        raise InvalidInput(f"{folder / COORDS}: all sensors are on one line, expected a plane")
    return np.array(train, order="C"), np.array(test, order="C"), np.array(places, order="C")
