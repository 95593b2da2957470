"""Functions whose best value is known: none is below it, and it is reached."""

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution

from surefoot_experiments.benchmarks.stopping_functions import BEST, FUNCTIONS, UNIT

CASES = [(half, name) for half, functions in FUNCTIONS.items() for name in functions]


def drawn(distribution, random: np.random.Generator):
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[random.integers(len(distribution.choices))]
    low, high = distribution.low, distribution.high
    unit = random.random()
    value = low * (high / low) ** unit if distribution.log else low + (high - low) * unit
    return float(value) if isinstance(distribution, FloatDistribution) else round(value)


@pytest.mark.daily(4)
@pytest.mark.parametrize(("half", "name"), CASES)
def test_no_configuration_is_better_than_the_best_value(half, name):
    known, random = FUNCTIONS[half][name](), np.random.default_rng(0)
    points = [{n: drawn(d, random) for n, d in known.space.items()} for _ in range(300)]
    left = np.array([known.left(point) for point in points])
    assert left.min() > -1e-9
    assert left.min() < 0.2  # the best value is within reach
    values = np.array([known.value(point) for point in points])
    assert np.ptp(values) > 0.5 * UNIT
    assert left[0] == pytest.approx((values[0] - BEST) / values[0])
