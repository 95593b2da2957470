"""A small space of which every configuration has been measured."""

from __future__ import annotations

import itertools
import math

import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from support.study_doubles import Scripted, trials_of
from support.study_spaces import space_of
from surefoot._internal.user_warnings import warn
from surefoot.integrations.optuna.search_space import ExhaustedSpace
from surefoot.tune import open_study
from surefoot.tune.display import console_of, display_of
from surefoot.tune.stopping import Stop
from surefoot.tune.study.findings import configurations, exhausted_note
from surefoot.tune.workers.worker_loop import tune


@pytest.mark.parametrize(
    ("scales", "number"),
    [
        ({"a": IntDistribution(1, 4), "b": CategoricalDistribution(["x", "y"])}, 8),
        ({"a": FloatDistribution(0.0, 1.0, step=0.1)}, 11),
        ({"a": IntDistribution(0, 10, step=5)}, 3),
        ({"a": IntDistribution(1, 4), "b": FloatDistribution(0.0, 1.0)}, math.inf),
    ],
)
def test_configurations_are_counted(scales, number):
    assert configurations(space_of(scales)) == number


def test_it_is_said_once_all_are_measured(write_study):
    few = ("low = 0, high = 1 ", "low = 0, high = 1, step = 1 ")
    path = write_study(few, ("low = 512, high = 65536, log = true", "low = 1, high = 2"))
    trials = trials_of(path, rounds=11)
    for size, share, mode in itertools.product((1, 2), (0.0, 1.0), ("OFF", "NORMAL", "FULL")):
        trials.opened.study.enqueue_trial({"size": size, "share": share, "mode": mode})
    tune(trials, Scripted(), Stop())
    assert exhausted_note(trials.opened.state()) == ""
    tune(trials_of(path, rounds=12, run="another run"), Scripted(), Stop())
    note = exhausted_note(open_study(path).state())
    assert note.startswith("all 12 configurations have been measured")
    assert "nothing new" not in note


def test_a_display_says_it_in_place_of_the_sampler(write_study, recwarn):
    trials = trials_of(write_study())
    with display_of(trials, console_of(quiet=False), False, Stop()):
        warn("all 6 configurations have been measured", ExhaustedSpace)
    assert not recwarn.list
    with display_of(trials, console_of(quiet=True), True, Stop()):
        warn("all 6 configurations have been measured", ExhaustedSpace)
    assert len(recwarn.list) == 1
