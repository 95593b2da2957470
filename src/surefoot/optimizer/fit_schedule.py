"""When hyperparameters are fitted, whether rewards are told one by one or at once."""

from __future__ import annotations

from collections.abc import Callable

_LEFT_OUT = 0.1  # of the rewards, by a first fit at most


def latest_fit(next_due: Callable[[int], float], number: int, before: int = 0) -> int:
    """Number of the rewards of the latest fit, as if they had been told one by one.

    So what follows from the same rewards is the same, however they were told. But a first fit to
    many rewards is to all of them where that would leave out more than 10 %, as with fits that are
    rarer than by default.

    Args:
        next_due: Number of rewards at which the next fit is due, given that at the last one.
        number: Number of rewards.
        before: Number at a fit before, 0 if there was none.

    Example:
        >>> latest_fit(lambda before: before + 1 + before // 100, 107)
        106
        >>> latest_fit(lambda before: before + 50, 70)
        70
    """
    latest = before
    while (due := next_due(latest)) <= number:
        latest = int(due)
    return number if before == 0 and number - latest > _LEFT_OUT * number else latest
