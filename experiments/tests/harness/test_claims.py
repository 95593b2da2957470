"""What is claimed of regrets, against numbers whose verdict is plain."""

import numpy as np
import pandas as pd
import pytest

from surefoot_experiments.harness.claims import below, decided, falling
from surefoot_experiments.harness.page import table_of
from surefoot_experiments.harness.trial import NUMBERS, Check, count
from surefoot_experiments.papers.risk_runs import LEAST, order
from surefoot_experiments.papers.risk_settings import KG, PROB


def regrets(**curves: list[float]) -> dict[str, pd.DataFrame]:
    """One trial of three milestones for each curve, named task__algorithm."""
    rows = [
        {"task": name[0], "algorithm": name[1:], "round": at, "trial": 0, "regret": regret}
        for name, curve in curves.items()
        for at, regret in zip((50, 250, 1000), curve, strict=True)
    ]
    return {NUMBERS: pd.DataFrame(rows)}


def test_a_curve_that_rises_is_not_hidden_by_one_of_another_task():
    both = falling(regrets(am=[1.0, 2.0, 3.0], bm=[100.0, 50.0, 20.0]))
    assert not both.holds
    assert both.measured == "a, m 1, 2, 3; b, m 100, 50, 20"
    assert falling(regrets(am=[3.0, 2.0, 1.0], bm=[100.0, 50.0, 20.0])).holds


@pytest.mark.parametrize(
    ("differences", "verdict"),
    [
        ([-1.0, -1.1, -0.9, -1.2, -1.0], True),
        ([-1.0, -1.1, -0.9, -1.2], False),  # too few
        ([-3.0, 3.0, -2.0, 2.5, 0.1, -1.0], False),
        ([2.0, 1.5, 1.0, 2.5, 3.0], True),
        ([0.0, 0.0, 0.0, 0.0, 0.0], True),  # never any less
    ],
)
def test_what_chance_may_do_is_undecided(differences, verdict):
    assert decided(pd.Series(differences)) is verdict


def test_verdicts_are_counted_and_shown():
    checks = [
        Check("a", True, "x"),
        Check("b", False, "x"),
        Check("c", True, "x", decided=False),
        Check("d|e", False, "x", decided=False),
    ]
    assert [check.verdict for check in checks] == ["yes", "no", "undecided", "undecided"]
    assert count(checks) == "1 of 4 claims hold, 2 undecided"
    assert count(checks[:1]) == "1 of 1 claims hold"
    rows = table_of(checks).splitlines()[2:]
    assert rows[1] == "| b | **no** | x |"
    assert rows[3] == "| d\\|e | undecided | x |"


def ends(better: np.ndarray, worse: np.ndarray) -> dict[str, pd.DataFrame]:
    rows = [
        {"algorithm": name, "round": 5, "trial": trial, "regret": value}
        for name, values in ((PROB, better), (KG, worse))
        for trial, value in enumerate(values)
    ]
    numbers = pd.DataFrame(rows)
    numbers["log10_regret"] = np.log10(numbers["regret"].clip(lower=LEAST))
    times = numbers[["algorithm", "trial"]].assign(seconds=2.0)
    return {NUMBERS: numbers, "times": times}


def test_an_order_says_how_sure_it_is_and_what_lies_at_the_least_regret():
    better, worse = np.full(6, 0.01), np.array([0.02, 0.03, 0.02, 0.04, 0.02, 0.03])
    clear = order(ends(better, worse), claims=((PROB, KG),))[0]
    assert clear.verdict == "yes"
    assert "the first is lower in 6 of 6 trials;" in clear.measured
    better[0] = 1e-9
    worse[1:] = 0.008
    doubtful = order(ends(better, worse), claims=((PROB, KG),))[0]
    assert (doubtful.verdict, doubtful.holds) == ("undecided", True)
    assert "at the floor of 0.0001 in 1 and 0;" in doubtful.measured
    assert "medians -2.00 and -2.10" in doubtful.measured


def test_the_heavy_tailed_order_says_so_too():
    noisy = ends(np.full(6, 0.01), np.array([0.02, 0.03, 0.02, 0.04, 0.02, 0.03]))
    assert below({NUMBERS: noisy[NUMBERS]}, [PROB], KG)[0].verdict == "yes"
    even = ends(np.full(6, 0.01), np.array([0.02, 0.001, 0.02, 0.001, 0.02, 0.002]))
    assert below({NUMBERS: even[NUMBERS]}, [PROB], KG)[0].verdict == "undecided"
