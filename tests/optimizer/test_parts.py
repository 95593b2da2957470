"""Parts that are none are refused when an optimizer is made."""

from __future__ import annotations

from typing import Any

import pytest

import surefoot as sf
from support.optimizers import optimizer_of

LINE = sf.Box([0.0], [1.0])
KERNEL = sf.kernels.squared_exponential(0.2)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("kernel", "x"),
        ("kernel", sf.hyperparameters.HyperparameterFit),
        ("plan", 3),
        ("plan", sf.acquisition.Plan),
        ("reporting", "mean"),
        ("reporting", sf.acquisition.Reporting),
        ("features", []),
        ("features", 0),
        ("features", sf.Exact),
        ("estimator", 0),
        ("estimator", sf.Huber),
        ("width", 0),
        ("width", sf.widths.srinivas),
        ("policy", sf.acquisition.ThompsonSampling),
    ],
)
def test_a_part_that_is_none_is_refused(name: str, value: Any) -> None:
    with pytest.raises(sf.InvalidInput, match=name):
        optimizer_of(LINE, **{name: value})


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        (sf.acquisition.Reporting, "interval", "x"),
        (sf.acquisition.Reporting, "interval", 0.95),
        (sf.acquisition.Reporting, "interval", sf.acquisition.Credible),
        (sf.acquisition.Plan, "instability", 3),
        (sf.acquisition.Plan, "instability", sf.acquisition.Instability),
    ],
)
def test_a_rule_that_is_none_is_refused(kind: Any, name: str, value: Any) -> None:
    with pytest.raises(sf.InvalidInput, match=name):
        kind(**{name: value})


def test_named_algorithms_refuse_what_is_false_but_not_none() -> None:
    with pytest.raises(sf.InvalidInput, match="features"):
        sf.algorithms.gp_ucb(LINE, KERNEL, features=[])
    joint = sf.Joint(LINE, sf.FiniteEnvironment([[0.0], [1.0]]))
    with pytest.raises(sf.InvalidInput, match="width"):
        sf.algorithms.v_ucb(joint, level=0.1, width=0)
    with pytest.raises(sf.InvalidInput, match="recommendation"):
        sf.algorithms.v_ucb(joint, level=0.1, recommendation="best")
