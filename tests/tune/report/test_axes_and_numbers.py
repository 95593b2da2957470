"""Axes and numbers that stay readable."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.report_examples import report_of
from surefoot.tune.report.contents import Checkpoint, Interval
from surefoot.tune.report.figures import convergence, log_ticks
from surefoot.tune.report.formatting import setting, within
from surefoot.tune.report.plotting import AxisRange

finite = st.floats(-1e12, 1e12)


@given(st.lists(finite), st.lists(finite))
def test_an_axis_has_length_and_holds_what_must_be_shown(values, shown):
    axis = AxisRange.of(values, shown)
    assert axis.low < axis.high
    for value in shown:
        assert axis.side(value) == 0
    for value in values:
        assert axis.low <= axis.clip(value) <= axis.high


def test_values_far_out_do_not_stretch_the_axis():
    axis = AxisRange.of([*range(20), 1e6, math.nan])
    assert axis.high < 25
    assert axis.side(1e6) == 1
    assert axis.side(-1e6) == -1


def test_a_value_is_given_to_the_precision_it_is_known_to():
    assert within(12.3456, 0.9) == "12.35"
    assert within(12.3456, 30) == "12"
    assert within(12.3456, 0) == "12.346"


def test_settings():
    assert setting(65536) == "65536"
    assert setting(12345.678) == "12346"
    assert setting(True) == "True"


@given(st.floats(1e-9, 1e9), st.floats(1.0001, 1e12))
def test_log_ticks_are_few_and_inside(low, ratio):
    ticks = log_ticks(low, low * ratio)
    assert 1 <= len(ticks) <= 5
    assert all(low <= tick <= low * ratio for tick in ticks)


@pytest.mark.parametrize("counts", [(3,), (1, 2), (3, 4, 7), (3, 20, 80), (3, 100, 800)])
def test_numbers_of_measurements_are_whole_on_their_axis(counts):
    points = tuple(Checkpoint(n, Interval(1.0, 0.0, 2.0), Interval(1.0, 0.0, 2.0)) for n in counts)
    axis = convergence(report_of(history=points)).layout.xaxis
    assert axis.nticks <= min(10, 1 + counts[-1] - counts[0])
