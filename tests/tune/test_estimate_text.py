"""Estimates have as many digits as their intervals need."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.tune.estimate_text import estimate_text, estimate_texts, setting_text
from surefoot.tune.study.findings import AgainstDefaults


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        ((12.5, 12.0, 13.0), "12.5 (12 to 13)"),
        ((1e9 + 36.25, 1e9 + 36.0, 1e9 + 37.0), "1000000036.25 (1000000036 to 1000000037)"),
        ((0.0, 0.0, 0.0), "0"),
        ((7.0, -math.inf, math.inf), "7 (-inf to inf)"),
    ],
)
def test_an_offset_does_not_hide_the_estimate(estimate, text):
    assert estimate_text(*estimate) == text


@pytest.mark.long
@given(
    st.floats(-1e12, 1e12),
    st.floats(1e-6, 1e6),
)
def test_the_ends_are_told_apart(value, width):
    texts = estimate_texts(value, value - width, value + width)
    resolved = width > 1e-12 * abs(value)
    assert float(texts[1]) < float(texts[2]) or not resolved
    assert float(texts[0]) == pytest.approx(value, rel=1e-4)


def test_a_small_change_that_is_certain_is_not_shown_as_none():
    small = AgainstDefaults({}, 1e9, -36.0, -40.0, -30.0)
    assert str(small) == "a difference of -36 (-40 to -30)"
    assert str(AgainstDefaults({}, 1e9, -36.0, -90.0, 10.0)) == "a difference of -36 (-90 to +10)"
    assert str(AgainstDefaults({}, 1e3, -4.0, -90.0, 10.0)) == "+0 % (-9 to +1 %)"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0 / 3.0, "0.33333"),
        (1e9 + 1.0 / 3.0, "1000000000.3"),
        (6.06588530224484e-05, "6.0659e-05"),
        (7, "7"),
        (True, "true"),
        ("a b", '"a b"'),
    ],
)
def test_a_setting_has_as_many_digits_as_a_measured_value(value, text):
    assert setting_text(value) == text
