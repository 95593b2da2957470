"""The value-at-risk experiments in a round."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest

from surefoot import InvalidInput
from surefoot_experiments import EXPERIMENTS, Trial, find
from surefoot_experiments.harness.figures import style
from surefoot_experiments.harness.trial import NUMBERS
from surefoot_experiments.papers.risk_runs import LEAST
from surefoot_experiments.papers.value_at_risk import load_portfolio


@pytest.mark.long
@pytest.mark.parametrize("name", ["value-at-risk-3a", "value-at-risk-4a", "own-risk-heavy-tails-c"])
def test_an_experiment_plays_draws_and_checks(name):
    experiment = pickle.loads(pickle.dumps(find(name)))
    tables = {
        name: pd.DataFrame(rows).assign(trial=0)
        for name, rows in experiment.run(Trial(0, 1, 1)).items()
    }
    numbers = tables[NUMBERS]
    assert numbers["regret"].min() >= 0.0
    logarithm = np.log10(numbers["regret"].clip(lower=LEAST))
    assert np.allclose(numbers["log10_regret"], logarithm, rtol=1e-12)
    # Rounds count from 0, the first points, which are the same for all methods.
    by_round = numbers.pivot_table("regret", "round", "algorithm")
    assert list(by_round.index) == [0, 1]
    logarithms = np.log10(by_round.clip(lower=LEAST))
    for check in experiment.output.checks(tables):
        found = re.fullmatch(
            "(.*) (ends below|lies below) (.*?)( in the mean over the rounds)?", check.claim
        )
        if found is None:  # of more trials than there are here
            assert "on par" in check.claim
            assert check.verdict == "undecided"
            continue
        better, how, worse = found.group(1, 2, 3)
        values = logarithms.loc[1] if how == "ends below" else logarithms.mean()
        assert check.holds == (values[better] < values[worse]), check
    with style():
        assert experiment.output.pictures({NUMBERS: numbers})["figure"].axes


@pytest.mark.long
def test_a_trial_has_the_same_numbers_each_time_and_others_than_the_next():
    run = find("own-risk-heavy-tails-a").run
    first = run(Trial(0, 1, 1))[NUMBERS]
    assert run(Trial(0, 1, 1))[NUMBERS] == first
    assert run(Trial(1, 1, 1))[NUMBERS] != first


def test_every_figure_is_there():
    figures = {name.removeprefix("value-at-risk-") for name in EXPERIMENTS if "value-at" in name}
    assert figures == {"3a", "3b", "3c", "3d", "4a", "4b", "4c", "4d", "5a", "5b"}


def test_the_portfolio_says_which_file_it_needs(tmp_path):
    with pytest.raises(InvalidInput, match=r"portfolio\.csv.*--data"):
        load_portfolio(None)
    with pytest.raises(InvalidInput, match=r"portfolio\.csv"):
        load_portfolio(tmp_path)
