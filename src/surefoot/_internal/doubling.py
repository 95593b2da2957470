"""Doubling of unknown constants of a theorem: the horizon and the norm."""

from __future__ import annotations

FIRST_HORIZON = 1024


def horizon(given: int | None, delta: float, rewards: int) -> tuple[int, float]:
    """Horizon and failure probability to use after a number of rewards.

    A given horizon is returned with all of delta. Otherwise epoch i = 0, 1, ... uses
    T_i = 1024 * 2^i while it covers the next round, with failure probability
    delta_i = delta / ((i + 1)(i + 2)); these sum to delta. If a theorem holds uniformly over [T_i]
    with probability 1 - delta_i for every i, then it holds in all rounds of all epochs with
    probability 1 - delta. The price is small: from t = 1024 rewards on,
    ln(T_i / delta_i) <= ln(2 t / delta) + 2 ln(log2(t)). A new epoch does not restart anything:
    the estimate from all rewards with the present T_i and delta_i is the one that the theorem for
    T_i concerns, however the points were chosen.

    Args:
        given: The horizon T, None if unknown.
        delta: Total failure probability, in (0, 1).
        rewards: Number of rewards so far.

    Returns:
        The horizon and the failure probability.

    References:
        Calandriello et al. 2019 (BKB), "Tuning q", increase their sampling rate for a new horizon
        in the same way.

    Example:
        >>> horizon(None, 0.1, rewards=1024)
        (2048, 0.016666666666666666)
    """
    if given is not None:
        return given, delta
    epoch = (rewards // FIRST_HORIZON).bit_length()  # rewards + 1 <= 1024 * 2^epoch
    return FIRST_HORIZON << epoch, delta / ((epoch + 1) * (epoch + 2))


def norm_bound(given: float | None, unit: float, rewards: int) -> float:
    """Bound on the RKHS norm ||f|| to use after a number of rewards.

    Without a given bound it is 2^j units from 2^(2^j) rewards on: 1, then 2 from the 4th, 4 from
    the 16th, 8 from the 256th, 16 from the 65536th; always above log2(t) / 2 and at most log2(t).
    It exceeds any ||f|| after at most 2^(2 ||f|| / unit) rewards, or from the start if ||f|| is at
    most one unit. A bound on the noise does not depend on ||f||, so a theorem that adds ||f|| to
    one holds with its probability in all rounds from then on simultaneously; before, there is no
    guarantee. The price is a factor of log2(t) on the term of the norm.

    Args:
        given: The bound, None if unknown.
        unit: Initial bound, in reward units.
        rewards: Number of rewards so far.

    Returns:
        The bound, in reward units.

    References:
        Calandriello et al. 2019 (BKB), section 4, name guess and double for an unknown norm.

    Example:
        >>> [norm_bound(None, 1.0, t) for t in (1, 4, 16, 256)]
        [1.0, 2.0, 4.0, 8.0]
    """
    if given is not None:
        return given
    exponent = max(rewards, 2).bit_length() - 1  # floor of log2(t)
    return unit * 2.0 ** (exponent.bit_length() - 1)
