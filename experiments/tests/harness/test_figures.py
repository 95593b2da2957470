"""A picture shows what there is, be it a single point."""

import pandas as pd
import pytest

from surefoot_experiments.harness.figures import curves, save
from surefoot_experiments.harness.page import MEAN_REGRET


def drawn(rounds: list[int], values: list[float]):
    rows = [
        {"algorithm": "A", "trial": trial, "round": at, "regret": value}
        for trial in (0, 1)
        for at, value in zip(rounds, values, strict=True)
    ]
    return curves({"numbers": pd.DataFrame(rows)}, MEAN_REGRET)


@pytest.mark.parametrize(
    ("rounds", "values", "marker"),
    [
        ([1], [0.5], "o"),
        pytest.param([1, 2], [0.5, float("nan")], "o", marks=pytest.mark.slow),
        pytest.param([1, 2], [0.5, 0.4], "None", marks=pytest.mark.slow),
    ],
)
def test_a_line_of_one_point_is_a_dot(tmp_path, rounds, values, marker):
    figure = drawn(rounds, values)
    save(figure, tmp_path)
    assert [line.get_marker() for line in figure.axes[0].lines] == [marker]
