"""The example of Ax's client on the robust model."""

import runpy
from pathlib import Path

import pytest

pytest.importorskip("botorch")
pytest.importorskip("ax")
EXAMPLE = Path(__file__).parents[3] / "examples" / "ax_client.py"


@pytest.mark.slow
def test_a_client_with_an_outcome_constraint_proposes_from_robust_models() -> None:
    from surefoot.integrations.botorch import RobustGP

    model = runpy.run_path(str(EXAMPLE))["model"]
    models = list(getattr(model, "models", [model]))
    assert all(isinstance(one, RobustGP) for one in models)
    assert sum(float(one.outlier_weights.min()) < 0.1 for one in models) >= 1
