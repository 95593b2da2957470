"""Guesses, doubled as rounds go by, at constants of a theorem that are not known."""

from __future__ import annotations

FIRST_HORIZON = 1024


def horizon(given: int | None, delta: float, rewards: int) -> tuple[int, float]:
    """The horizon and the probability of failure to use after so many rewards.

    A `given` horizon comes back as it is, with all of `delta`. Without one, epoch i = 0, 1, ...
    guesses T_i = 1024 * 2^i for as long as this covers the round to come, and may fail with
    probability delta / ((i + 1)(i + 2)). These sum to delta: if a theorem holds uniformly over
    [T_i] but with the probability of its epoch, then it holds in all rounds of all epochs but with
    probability delta. The price is small: from t = 1024 rewards on,
    ln(T_i / delta_i) <= ln(2 t / delta) + 2 ln(log2(t)). Nothing starts afresh at a new epoch:
    what is estimated from all rewards with the T_i and delta_i of today is what the theorem for
    T_i speaks of, however the points were chosen. Calandriello et al. 2019 (BKB), "Tuning q",
    raise their sampling rate to suit a new horizon in the same way.
    """
    if given is not None:
        return given, delta
    epoch = (rewards // FIRST_HORIZON).bit_length()  # rewards + 1 <= 1024 * 2^epoch
    return FIRST_HORIZON << epoch, delta / ((epoch + 1) * (epoch + 2))


def norm_bound(given: float | None, unit: float, rewards: int) -> float:
    """The bound on ||f|| to use after so many rewards; `unit` is in the unit of the rewards.

    Without a `given` one the guess is 2^j units once there are 2^(2^j) rewards: 1, then 2 from
    the 4th, 4 from the 16th, 8 from the 256th, 16 from the 65536th, in general above log2(t) / 2
    and at most log2(t). It reaches any ||f|| for good after at most 2^(2 ||f|| / unit) rewards, or
    from the start if ||f|| is at most a unit. A bound on noise does not depend on it, so a theorem
    that adds ||f|| to one holds, with the theorem's probability, in all rounds from then on at
    once; before, nothing is promised. The price is a factor of log2(t) on the norm's term.
    Calandriello et al. 2019 (BKB), section 4, name guess and double for an unknown norm.
    """
    if given is not None:
        return given
    exponent = max(rewards, 2).bit_length() - 1  # floor of log2(t)
    return unit * 2.0 ** (exponent.bit_length() - 1)
