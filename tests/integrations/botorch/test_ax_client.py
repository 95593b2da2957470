"""The example of Ax's client on the robust model."""

import runpy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("botorch")
pytest.importorskip("ax")
EXAMPLE = Path(__file__).parents[3] / "examples" / "ax_client.py"


@cache
def example() -> dict[str, Any]:
    return runpy.run_path(str(EXAMPLE))


def models_of(client: Any) -> list[Any]:
    model = client._generation_strategy.adapter.generator.surrogate.model
    return list(getattr(model, "models", [model]))


def test_a_client_with_an_outcome_constraint_proposes_from_robust_models() -> None:
    from surefoot.integrations.botorch import RobustGP

    models = models_of(example()["client"])
    assert all(isinstance(one, RobustGP) for one in models)
    assert sum(float(one.outlier_weights.min()) < 0.1 for one in models) >= 1


def test_the_best_configuration_keeps_the_constraint() -> None:
    assert set(example()["best"]) == {"a", "b"}
    assert sum(example()["best"].values()) < 1.6


@pytest.mark.parametrize("folds", [-1, 3])
def test_folds_are_predicted_at_the_hyperparameters_of_all(folds: int) -> None:
    from ax.adapter.cross_validation import cross_validate

    adapter = example()["client"]._generation_strategy.adapter
    results = cross_validate(adapter, folds=folds)
    assert len(results) >= 8
    errors = [
        abs(float(one.predicted.means_dict["memory"] - one.observed.data.means_dict["memory"]))
        for one in results
    ]
    assert sorted(errors)[len(errors) // 2] < 0.3


def test_a_saved_client_goes_on_with_robust_models(tmp_path: Path) -> None:
    from ax.api.client import Client

    from surefoot.integrations.botorch import RobustGP

    path = str(tmp_path / "client.json")
    example()["client"].save_to_json_file(path)
    client = Client.load_from_json_file(path)
    assert len(client.get_next_trials(max_trials=1)) == 1
    assert all(isinstance(one, RobustGP) for one in models_of(client))
