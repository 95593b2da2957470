"""When hyperparameters are fitted, whether rewards are told one by one or at once."""

from __future__ import annotations

from collections.abc import Callable

_LEFT_OUT = 0.1  # of the rewards, by a first fit at most


def latest_fit(is_due: Callable[[int, int], bool], number: int, before: int = 0) -> int:
    """Number of the rewards of the latest fit, as if they had been told one by one.

    So what follows from the same rewards is the same, however they were told. But a first fit to
    many rewards is to all of them where that would leave out more than 10 %, as with fits that are
    rarer than by default.

    Args:
        is_due: Whether to fit to so many rewards, given the number at the last fit.
        number: Number of rewards.
        before: Number at a fit before, 0 if there was none.

    Example:
        >>> latest_fit(lambda number, before: number > 1.01 * before, 107)
        106
        >>> latest_fit(lambda number, before: number >= before + 50, 70)
        70
    """
    latest = before
    for now in range(before + 1, number + 1):
        if is_due(now, latest):
            latest = now
    return number if before == 0 and number - latest > _LEFT_OUT * number else latest
