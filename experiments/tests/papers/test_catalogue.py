"""Every experiment in a few rounds: what it gives, and that its trials are their own."""

import pickle
from functools import cache

import numpy as np
import pandas as pd
import pytest

from surefoot import InvalidInput
from surefoot_experiments import EXPERIMENTS, Trial, find
from surefoot_experiments.harness.figures import style
from surefoot_experiments.harness.trial import NUMBERS, Purpose
from surefoot_experiments.papers import ata_steps
from surefoot_experiments.problems import sensors, stocks
from surefoot_experiments.recorded_data import Data

SMALL = 12


@cache
def data_for(load: object) -> Data | None:
    if load is stocks.load:
        prices = np.random.default_rng(0).lognormal(3.0, 0.5, (60, 12))
        return Data("made up", {"prices": prices})
    if load is ata_steps.load:
        both = data_for(stocks.load), sensors.load(None)
        return Data("made up", {**both[0].arrays, **both[1].arrays})
    return sensors.load(None) if load is sensors.load else None


HERE = [name for name in EXPERIMENTS if "risk" not in name]  # whose rounds take longer


def trial_of(name: str, number: int = 0) -> Trial:
    return Trial(number, SMALL, 1, data_for(find(name).load))


@cache
def played(name: str, number: int) -> dict:
    """The numbers of a trial, as another process has them: of a copy of the experiment."""
    return pickle.loads(pickle.dumps(find(name))).run(trial_of(name, number))


@pytest.mark.long
@pytest.mark.parametrize("name", HERE)
def test_an_experiment_plays_draws_and_checks(name):
    experiment = find(name)
    tables: dict[str, list[pd.DataFrame]] = {}
    for number in range(2):
        for table, rows in played(name, number).items():
            tables.setdefault(table, []).append(pd.DataFrame(rows).assign(trial=number))
    whole = {table: pd.concat(frames, ignore_index=True) for table, frames in tables.items()}
    numbers = whole[NUMBERS]
    assert {"algorithm", "round", experiment.output.measure.column} <= set(numbers)
    assert numbers["round"].max() == SMALL
    assert numbers[experiment.output.measure.column].between(0, np.inf).all()
    checks = experiment.output.checks(whole)
    assert checks
    assert all(check.claim and check.measured and check.holds in (True, False) for check in checks)
    with style():
        assert experiment.output.pictures(whole)["figure"].axes


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in HERE if name != "bkb-time"])
def test_a_trial_has_the_same_numbers_each_time_and_others_than_the_next(name):
    first = played(name, 0)
    assert find(name).run(trial_of(name)) == first
    assert played(name, 1)[NUMBERS] != first[NUMBERS]


def test_regrets_do_not_depend_on_the_clock():
    run = find("bkb-time").run
    assert run(trial_of("bkb-time"))[NUMBERS] == run(trial_of("bkb-time"))[NUMBERS]


@pytest.mark.long
@pytest.mark.parametrize("name", HERE)
def test_one_round_of_one_trial_is_enough(name):
    experiment = find(name)
    rows = experiment.run(Trial(0, 1, 0, data_for(experiment.load)))
    tables = {table: pd.DataFrame(each).assign(trial=0) for table, each in rows.items()}
    assert experiment.output.checks(tables)
    with style():
        experiment.output.pictures(tables)


def test_generators_differ_by_seed_trial_and_purpose_and_shared_ones_by_seed_only():
    def first(seed: int, number: int, purpose: Purpose) -> float:
        return float(Trial(number, 1, seed).generator(purpose).random())

    drawn = [first(s, n, p) for s in (0, 1) for n in (0, 1) for p in Purpose]
    shared = [
        Trial(n, 1, s).shared_generator(Purpose.NOISE).random() for s in (0, 1) for n in (0, 1)
    ]
    assert len(set(drawn)) == len(drawn)
    assert shared[0] == shared[1] != shared[2] == shared[3]
    assert not set(shared) & set(drawn)


@pytest.mark.parametrize(
    ("name", "hint"),
    [("heavy-tails-1", "heavy-tails-1a"), ("bkb1", "bkb-1"), ("qqqq", "command `list`")],
)
def test_an_unknown_name_is_answered_with_the_nearest(name, hint):
    with pytest.raises(InvalidInput, match=hint):
        find(name)


def test_starvation_is_seen_where_nothing_was_measured():
    experiment = find("bkb-1")
    rows = experiment.run(Trial(0, 63, 0))
    checks = experiment.output.checks({NUMBERS: pd.DataFrame(rows[NUMBERS]).assign(trial=0)})
    assert [check.holds for check in checks[:2]] == [True, True]
