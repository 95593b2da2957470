"""Problems with two objectives, and the hypervolume of their fronts."""

import numpy as np
import pytest

from surefoot_experiments.benchmarks.fronts import (
    dtlz2,
    hypervolume,
    non_dominated,
    report,
    run,
    zdt1,
)
from surefoot_experiments.harness.trial import Trial

FIRST = np.linspace(0.0, 1.0, 2001)


@pytest.mark.long
@pytest.mark.parametrize(
    ("function", "rest", "reference", "area"),
    [(dtlz2, 0.5, (1.5, 1.5), 2.25 - np.pi / 4), (zdt1, 0.0, (1.0, 1.0), 2.0 / 3.0)],
)
def test_the_front_has_its_known_area(function, rest, reference, area):
    best = np.array([function(np.array([first, rest, rest])) for first in FIRST])
    assert hypervolume(best, reference) == pytest.approx(area, abs=2e-3)
    others = np.random.default_rng(0).random((200, 3))
    values = np.array([*best, *(function(x) for x in others)])
    assert hypervolume(values, reference) <= area + 1e-12
    assert not non_dominated(values)[len(best) :].any()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning")
def test_a_run_has_a_row_in_the_report():
    import pandas as pd

    rows = run(Trial(0, 1, 0, case="dtlz2 12"))["runs"]
    assert 0.0 < rows[0]["front"] <= rows[0]["all"]
    table = pd.DataFrame([{**row, "trial": trial} for trial in range(2) for row in rows])
    assert "| dtlz2 | 12 | 2 |" in report({"runs": table})
