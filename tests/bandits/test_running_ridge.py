"""Geometry of rows that are told, expected and given up in any order."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from surefoot.bandits.running_ridge import Anticipating, RunningRidge

ROWS = np.random.default_rng(0).standard_normal((40, 3))
STEPS = st.lists(
    st.sampled_from(["expect", "again", "fulfil", "withdraw", "learn", "foreign", "look"]),
    max_size=40,
)


@pytest.mark.long
@given(STEPS, st.randoms(use_true_random=False))
def test_both_geometries_are_those_of_their_rows(steps: list[str], random) -> None:  # type: ignore[no-untyped-def]
    found = Anticipating(RunningRidge(3, 0.5))
    rewarded: list[int] = []
    expected: list[int] = []
    for number, step in enumerate(steps):
        row = ROWS[number]
        if step == "expect":
            expected.append(number)
            found.expect(row)
        elif step == "again" and expected:
            expected.append(expected[0])
            found.expect(ROWS[expected[0]])
        elif step == "learn":
            rewarded.append(number)
            found.learn(row)
        elif step == "foreign":  # what another copy has expected
            rewarded.append(number)
            found.fulfil(row)
            found.withdraw(-row)
        elif step == "look":
            _ = found.every.deviation(ROWS)
        elif expected:
            one = expected.pop(random.randrange(len(expected)))
            if step == "fulfil":
                rewarded.append(one)
                found.fulfil(ROWS[one])
            else:
                found.withdraw(ROWS[one])
    for ridge, rows in ((found.rewarded, rewarded), (found.every, rewarded + expected)):
        gram = 0.5 * np.eye(3) + ROWS[rows].T @ ROWS[rows]
        assert ridge.gram == pytest.approx(gram)
        assert ridge.inverse == pytest.approx(np.linalg.inv(gram), abs=1e-9)
    if not expected:
        assert found.every is found.rewarded


@pytest.mark.parametrize("size", [1e5, 3e7, 1e8, 1e12])
def test_a_row_that_is_withdrawn_leaves_the_digits_of_all_others(size: float) -> None:
    found = Anticipating(RunningRidge(3, 0.5))
    for row in (ROWS[0], size * ROWS[1], ROWS[2]):
        found.expect(row)
    _ = found.every
    found.withdraw(size * ROWS[1])
    gram = 0.5 * np.eye(3) + ROWS[[0, 2]].T @ ROWS[[0, 2]]
    np.testing.assert_allclose(found.every.gram, gram, rtol=1e-9)
    np.testing.assert_allclose(found.every.inverse, np.linalg.inv(gram), rtol=1e-7)
    gain = 0.5 * (np.linalg.slogdet(gram)[1] - 3 * np.log(0.5))
    assert found.every.information_gain == pytest.approx(gain)
