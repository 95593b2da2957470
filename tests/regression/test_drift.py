"""Rounds one by one end where a single factorisation of all of them begins."""

import copy
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

import surefoot as sf
from support.contract_table import ESTIMATORS
from surefoot.features import exact

ROUNDS = 10_000
POINTS = torch.linspace(0.0, 1.0, 60, dtype=torch.float64).unsqueeze(-1)
VALUES = np.sin(6.0 * POINTS[:, 0].numpy())
FEATURES = {
    "fixed": lambda: sf.QuadratureFourier(16),
    "growing": sf.Exact,
    "sketched": lambda: sf.Nystrom(sf.LeverageSampling(5.0, "adaptive", feedback="immediate")),
}


def differences(features: Any, estimator: Any, rounds: int) -> list[float]:
    """Relative differences of mean, variance and information gain, after rounds one by one."""
    kernel = sf.kernels.squared_exponential(0.3)
    run = sf.Optimizer(
        sf.Arms(POINTS),
        sf.Method(kernel, features=features, estimator=estimator, ridge=0.1),
        seed=0,
    )
    noise = np.random.default_rng(0).standard_t(3.0, rounds)
    for error in noise:
        arm = run.ask().arm
        run.tell(arm, VALUES[arm] + error)  # type: ignore[arg-type]
    run.ask()
    history = run._history
    regression: Any = history.regressor.regression
    regression = getattr(regression, "tabulated", regression)
    kept, single = (
        # From the same weights, where they are found by iterations that end at a tolerance.
        replace(
            history.regressor, regression=one, state=copy.deepcopy(history.regressor.state)
        ).infer(history.observations)
        for one in (regression, regression.with_pulls(dict(regression.pulls)))
    )
    found = []
    for ours, theirs in (
        (kept.posterior.mean(POINTS), single.posterior.mean(POINTS)),
        (kept.posterior.variance(POINTS), single.posterior.variance(POINTS)),
        (kept.inferred.information_gain, single.inferred.information_gain),
    ):
        a, b = np.atleast_1d(ours), np.atleast_1d(theirs)
        found.append(float(np.abs(a - b).max() / np.abs(b).max()))
    return found


@pytest.mark.long
@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_do_not_drift(name: str) -> None:
    assert max(differences(FEATURES["fixed"](), ESTIMATORS[name](), ROUNDS)) < 1e-6


@pytest.mark.long
@pytest.mark.parametrize("name", FEATURES)
def test_features_do_not_drift(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "_LARGEST_TABLE", 10)
    assert max(differences(FEATURES[name](), sf.LeastSquares(), ROUNDS)) < 1e-6


def test_arms_outside_the_dictionary_take_part_in_new_features(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact, "_LARGEST_TABLE", 10)
    assert max(differences(sf.Exact(), sf.LeastSquares(), 200)) < 1e-6
