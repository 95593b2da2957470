"""Made-up readings of light sensors, for those who have no recorded ones."""

import numpy as np
from scipy.spatial.distance import cdist

SENSORS, TRAIN, TEST = 41, 601, 192
_SEED = 2005
_REACH = 0.3  # over which light is alike, as a share of the room


def simulate() -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # (601, 41), (192, 41), (41, 2)
    """Readings to train and to test, and the places of the sensors; always the same ones.

    reading = lamps(x) (1 + daylight(t) window(x)) + 40 common(t, x) + 25 own(t, x)

    with lamps and window smooth positive fields on a unit square, daylight a slow curve that is
    brighter in the test period, common a smooth field with a Student-t(3) amplitude at each time
    (passing clouds), and own centred Pareto(2.2) glints of each sensor. So readings are correlated
    in space, heavy-tailed, and brighter at some places than at others; a reading is at least 1.
    """
    random = np.random.default_rng(_SEED)
    places = random.random((SENSORS, 2))
    gram = np.exp(-0.5 * cdist(places, places, "sqeuclidean") / _REACH**2)
    root = np.linalg.cholesky(gram + 1e-6 * np.eye(SENSORS))
    lamps = 200.0 * np.exp(0.4 * root @ random.standard_normal(SENSORS))
    window = np.exp(0.6 * root @ random.standard_normal(SENSORS))

    def readings(times: int, brightness: float) -> np.ndarray:
        daylight = brightness * (1.0 + np.sin(np.linspace(0.0, 3.0 * np.pi, times))) / 2.0
        steady = lamps * (1.0 + daylight[:, None] * window)
        common = random.standard_t(3.0, (times, 1)) * (
            random.standard_normal((times, SENSORS)) @ root.T
        )
        own = random.pareto(2.2, (times, SENSORS)) - 1.0 / 1.2
        return np.maximum(steady + 40.0 * common + 25.0 * own, 1.0)

    return readings(TRAIN, 1.0), readings(TEST, 2.0), places
