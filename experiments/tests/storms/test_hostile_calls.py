"""Wrong arguments are refused, and change nothing."""

import pytest

from surefoot_experiments.storms import hostile_calls


def test_the_arguments_that_are_replaced_are_right() -> None:
    for make, right in hostile_calls.CALLS.values():
        make(**{name: value() for name, value in right.items()})
    for name, right in hostile_calls.METHODS.items():
        getattr(hostile_calls._running(), name)(**{key: value() for key, value in right.items()})


@pytest.mark.slow
def test_no_call_gives_an_error_that_is_not_ours() -> None:
    figures = hostile_calls.call(800, seed=1)
    assert figures.clean, figures
    assert figures.refused > 500
