"""What is infeasible or an outlier looks alike in every figure."""

import numpy as np
import plotly.graph_objects as go
import pytest

from support.report_examples import NUMBER, environment_view, report_of, slice_of, trial
from surefoot.integrations.optuna import Front, ParetoPoint
from surefoot.tune.report.contents import Report
from surefoot.tune.report.environment_figures import over_one_variable
from surefoot.tune.report.figures import limited, measurements, slice_figure
from surefoot.tune.report.front_figure import front_figure
from surefoot.tune.report.plotting import ORANGE
from surefoot.types import Constraint

INFEASIBLE, OUTLIER, LIMIT_OUTLIER = 2, 4, 6
POINT = ParetoPoint((0,), {}, {"a": 1.0, "b": 2.0}, {"a": 0.0, "b": 1.0}, {"a": 2.0, "b": 3.0}, 1.0)


def example() -> Report:
    trials = tuple(
        trial(
            n,
            10.0 + n % 3,
            environment={"load": float(n)},
            constraints={"memory": 5.0 + n % 3, "a": 1.0 + 0.1 * n, "b": 2.0},
            violated=("disk",) * (n == INFEASIBLE),
            outlier=n == OUTLIER,
            outlying=("memory", "a") * (n == LIMIT_OUTLIER),
        )
        for n in range(12)
    )
    return report_of(trials, bounds={"memory": Constraint(maximum=8.0)})


def drawn(figure: go.Figure) -> go.Scatter:
    return next(one for one in figure.data if one.hovertext and "trial 2<" in one.hovertext[2])


def front(report: Report) -> go.Figure:
    found = Front({"a": False, "b": False}, [POINT], np.zeros((1, 2, 1)))
    return front_figure(found, "a", "b", report.trials)


FIGURES = {
    "slice": (lambda one: slice_figure(one, slice_of(NUMBER)), OUTLIER),
    "environment": (
        lambda one: over_one_variable(one, environment_view((0.0,), (1.0,))),
        OUTLIER,
    ),
    "limit": (lambda one: limited(one, "memory"), LIMIT_OUTLIER),
    "slice of a limit": (lambda one: slice_figure(one, slice_of(NUMBER), "memory"), LIMIT_OUTLIER),
    "front": (front, LIMIT_OUTLIER),
}


@pytest.mark.daily(2)
@pytest.mark.parametrize("name", FIGURES)
def test_open_is_infeasible_and_orange_an_outlier(name: str) -> None:
    draw, outlier = FIGURES[name]
    points = drawn(draw(example())).marker
    assert [n for n, one in enumerate(points.symbol) if one.endswith("-open")] == [INFEASIBLE]
    assert [n for n, one in enumerate(points.color) if one == ORANGE] == [outlier]


def test_measurements_have_a_ring_where_they_are_outliers() -> None:
    points = drawn(measurements(example())).marker
    assert [n for n, one in enumerate(points.symbol) if one.endswith("-open")] == [INFEASIBLE]
    assert [n for n, one in enumerate(points.line.width) if one] == [OUTLIER]
