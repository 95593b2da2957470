"""The example of the BoTorch model."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("botorch")
EXAMPLE = Path(__file__).parents[3] / "examples" / "botorch_model.py"


@pytest.mark.long
def test_a_closed_loop_leaves_the_outlier_out() -> None:
    names = runpy.run_path(str(EXAMPLE))
    assert float(names["model"].outlier_weights[5]) < 0.1
    assert float(names["problem"](names["best"])) > names["problem"].optimal_value - 10.0
