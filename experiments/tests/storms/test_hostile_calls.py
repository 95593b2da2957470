"""The calls whose arguments are replaced by wrong ones."""

from surefoot_experiments.storms import hostile_calls


def test_the_arguments_that_are_replaced_are_right() -> None:
    for make, right in hostile_calls.CALLS.values():
        make(**{name: value() for name, value in right.items()})
    for name, right in hostile_calls.METHODS.items():
        method = hostile_calls._method(hostile_calls._running(), name)
        method(**{key: value() for key, value in right.items()})
