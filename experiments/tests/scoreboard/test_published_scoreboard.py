"""The runs of the scoreboard in the repository, and the figures that the pages give of them."""

from pathlib import Path

import pandas as pd
import pytest

from surefoot_experiments.scoreboard import board, scores
from surefoot_experiments.scoreboard.trials import CHECKPOINTS

ROOT = Path(__file__).parents[3]
PUBLISHED = ROOT / "experiments" / "results" / "scoreboard"
NAMES = {
    "surefoot": "surefoot",
    "optuna-gp": "Optuna GP",
    "optuna-tpe": "Optuna TPE",
    "optuna-cma": "Optuna CMA-ES",
    "random": "random search",
}


@pytest.fixture(scope="module")
def rows():
    folder = PUBLISHED / "confirmation" / "60-measurements" / "bbob-noisy"
    table = pd.read_parquet(folder / f"{CHECKPOINTS}.parquet")
    assert table["task"].nunique() == 30 * 3 * 2
    return scores.compared(table[table["rival"].isin(NAMES)])


@pytest.mark.long
def test_every_method_has_every_run():
    known = board.runs_in(PUBLISHED / "60-measurements", "bbob-noisy")
    methods = {case.split(" ")[1] for case, _ in known}
    assert methods == NAMES.keys() - {"surefoot"}
    for name in methods:  # thirty functions, three dimensions, five instances
        assert len([case for case, _ in known if case.endswith(f" {name}")]) == 30 * 3 * 5


@pytest.mark.parametrize("page", ["README.md", "docs/scoreboard.md"])
def test_the_tables_are_of_these_runs(page, rows):
    ranks = rows.groupby("rival")["rank"].mean()
    gaps = scores.summary(rows, ["kind"])[scores.RELATIVE]
    cells = {line.replace("*", ""): line for line in (ROOT / page).read_text().splitlines()}
    for rival, name in NAMES.items():
        line = next(line for line in cells if line.startswith(f"| {name} |"))
        found = {cell.strip() for cell in line.split("|")[2:-1]}
        expected = {f"{ranks[rival]:.2f}"}
        for kind in ("gaussian", "uniform", "cauchy"):
            expected.add("1" if rival == "random" else f"{gaps[kind, rival]:.3f}")
        assert found == expected, name
