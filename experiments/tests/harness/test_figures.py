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


@pytest.mark.long
@pytest.mark.parametrize(
    ("rounds", "values", "marker"),
    [
        ([1], [0.5], "o"),
        pytest.param([1, 2], [0.5, float("nan")], "o"),
        pytest.param([1, 2], [0.5, 0.4], "None"),
    ],
)
def test_a_line_of_one_point_is_a_dot(tmp_path, rounds, values, marker):
    figure = drawn(rounds, values)
    save(figure, tmp_path)
    assert [line.get_marker() for line in figure.axes[0].lines] == [marker]


@pytest.mark.long
def test_one_legend_tells_all_rows_of_all_panels_apart():
    panels = {
        "3a": [
            "V-UCB Prob",
            "V-UCB Prob, width 3",
            "surefoot's V-UCB",
            "rho-KG as in BoRisk",
            "random",
        ],
        "4a": [
            "V-UCB Prob",
            "V-UCB Prob, quantiles",
            "robust_ucb",
            "surefoot's ATA, Nyström",
            "random",
        ],
        "other": [f"row {number}" for number in range(4)],
    }
    rows = [
        {"task": task, "algorithm": name, "trial": 0, "round": at, "regret": 0.5}
        for task, names in panels.items()
        for name in names
        for at in (1, 2)
    ]
    figure = curves({"numbers": pd.DataFrame(rows)}, MEAN_REGRET)
    [legend] = figure.legends
    shown = {
        text.get_text(): line.get_color()
        for text, line in zip(legend.get_texts(), legend.get_lines(), strict=True)
    }
    assert set(shown) == {name for names in panels.values() for name in names}
    assert len(set(shown.values())) == len(shown)
    for axes, names in zip(figure.axes, panels.values(), strict=True):
        assert {line.get_label(): line.get_color() for line in axes.lines} == {
            name: shown[name] for name in names
        }
