"""The threshold of truncation by leverage solves its equation."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from surefoot_experiments.off_policy import leverage_threshold

sizes = st.lists(st.one_of(st.just(0.0), st.floats(1e-70, 1e70)), min_size=1, max_size=60).filter(
    any
)


@pytest.mark.long
@given(sizes=sizes, logarithm=st.floats(1.0, 40.0))
def test_the_threshold_solves_its_equation(sizes: list[float], logarithm: float) -> None:
    c = np.array(sizes)
    positive = np.count_nonzero(c)
    b = leverage_threshold(c, logarithm)
    level = min(logarithm, len(c) / 2)
    if positive > level:
        assert np.minimum((c / b) ** 2, 1.0).sum() == pytest.approx(level, rel=1e-9)
    assert (c > b * (1 + 1e-12)).sum() < level or positive <= level


@settings(max_examples=30)
@given(sizes=sizes, logarithm=st.floats(1.0, 40.0), alpha=st.floats(0.01, 1.0))
def test_it_is_no_larger_than_that_of_any_moment(
    sizes: list[float], logarithm: float, alpha: float
) -> None:
    """b^(1+a) <= sum c^(1+a) / L for every a, as for the threshold of a known moment."""
    c = np.array(sizes) / max(sizes)
    level = min(logarithm, len(c) / 2)
    b = leverage_threshold(c, logarithm)
    if np.count_nonzero(c) > level:
        assert b ** (1 + alpha) <= (c ** (1 + alpha)).sum() / level * (1 + 1e-9)
