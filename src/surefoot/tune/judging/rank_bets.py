r"""Evidence that runs of a proposal are better than those of the incumbent, at any stopping time.

Let there be :math:`m` runs of the incumbent; the runs of a proposal come one at a time. If the
proposal changes nothing, all :math:`N` runs so far and the next one are exchangeable, so that its
rank among them is uniform on :math:`N + 1` slots and independent of all earlier ranks, whatever the
noise is. For any probabilities :math:`p_k` of the slots that follow from earlier ranks,

.. math:: E_n = \prod_{j \le n} (N_j + 1)\, p_{k_j}

is a non-negative martingale that starts at 1, and by Ville's inequality it ever reaches
:math:`M / \alpha` with probability :math:`\alpha / M` at most. With this threshold for each of
:math:`M` proposals, a session keeps any that changes nothing with probability :math:`\alpha` at
most, however the proposals depend on what was measured before.

The probabilities are those of Student-t noise with 2 degrees of freedom, moved by an improvement
and averaged over its size: that of a gap between two runs of the incumbent is divided evenly among
the slots in it, since the runs of a proposal are exchangeable, too. They decide how soon a change
is found, not how often a false one is kept. (Probabilities that follow from the values, and not
from ranks, would be no martingale: the slots of an outlier's neighbours are not equally likely
given its value.)

References:
    - Ville, Étude critique de la notion de collectif (1939).
    - Vovk, Gammerman, Shafer, Algorithmic learning in a random world (2005): sequential ranks of
      exchangeable observations are independent and uniform.
    - Ramdas, Grünwald, Vovk, Shafer, Game-theoretic statistics and safe anytime-valid inference,
      Statistical Science 38 (2023).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from surefoot._internal.numbers import MAD_TO_SD

Floats = NDArray[np.float64]

_DEVIATION = MAD_TO_SD * math.sqrt(2.0 / 3.0)  # robust, of Student-t with 2 dof and scale 1
IMPROVEMENTS: Floats = _DEVIATION * np.array([0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 5.0])


@dataclass(frozen=True)
class Evidence:
    """Evidence about one proposal after one of its runs.

    Args:
        log_capital: Logarithm of the martingale: evidence that it is an improvement.
        log_ratio: Logarithm of the likelihood of an improvement by the size that is looked for over
            that of none.
    """

    log_capital: float
    log_ratio: float


def evidence(
    pool: Sequence[float], runs: Sequence[float], looked_for: float = 1.0, seed: int = 0
) -> Iterator[Evidence]:
    """Evidence after each run of a proposal.

    Args:
        pool: Runs of the incumbent, smaller ones being better; infinite ones have failed.
        runs: Runs of the proposal in their order.
        looked_for: Size of the improvement to look for, in robust deviations of the noise.
        seed: Seed of the order of equal runs, which is drawn.

    Yields:
        Evidence after each run.

    References:
        See the module.

    Example:
        >>> *_, last = evidence([10.0, 10.3, 9.8, 10.1, 9.9, 10.2], [9.0, 9.1, 8.9])
        >>> last.log_capital > 2.0
        True
    """
    known = np.sort(np.asarray(pool, dtype=float))
    is_pool = np.ones(len(known), dtype=bool)
    center, scale = center_and_scale(known)
    sought, random = looked_for * _DEVIATION, np.random.default_rng(seed)
    # The largest improvement is beyond the best run, which is the further out the more there are.
    improvements = np.append(IMPROVEMENTS, 4.0 * math.sqrt(len(known) / 2.0))
    capitals, ratio = np.zeros(len(improvements)), 0.0
    for run in runs:
        below = int(np.searchsorted(known, run, "left"))
        slot = int(random.integers(below, int(np.searchsorted(known, run, "right")) + 1))
        gap, slots = _gap(is_pool, slot)
        ends = _moved(gap, improvements)
        capitals += np.log((len(known) + 1) / slots * (ends[1] - ends[0]))
        known, is_pool = np.insert(known, slot, run), np.insert(is_pool, slot, False)
        if math.isfinite(center):  # otherwise half of the runs of the incumbent have failed
            at = _deviation(run, center, scale)
            gain = 3.0 * math.log(math.hypot(2.0**0.5, at) / math.hypot(2.0**0.5, at + sought))
            ratio += gain if math.isfinite(run) else -math.inf  # a failure is no improvement
        top = float(capitals.max())
        yield Evidence(top + math.log(float(np.exp(capitals - top).mean())), ratio)


def center_and_scale(pool: Floats) -> tuple[float, float]:
    """Median, and the scale of Student-t noise with 2 degrees of freedom.

    Failures are infinite and count as the worst runs: they make both larger, and the median
    infinite where half of the runs have failed. The scale is 0 where all others are equal.
    """
    center = float(np.median(pool))
    if not math.isfinite(center):
        return center, 0.0
    deviations = np.abs(pool - center)
    scale = float(np.median(deviations)) / math.sqrt(2.0 / 3.0)
    return center, scale or float(deviations[np.isfinite(deviations)].max())


def _deviation(run: float, center: float, scale: float) -> float:
    """A run in scales of the noise; one scale if it differs from runs that are all equal."""
    difference = run - center
    if scale or not math.isfinite(difference):
        return difference / (scale or 1.0)
    return float(np.sign(difference))


def _gap(is_pool: NDArray[np.bool_], slot: int) -> tuple[Floats, int]:
    """Ends (2,) of the gap between two runs of the incumbent that has a slot, as its quantiles,
    and the number of slots in that gap.
    """
    places = np.flatnonzero(is_pool)
    number = int(np.searchsorted(places, slot))  # runs of the incumbent below
    first = int(places[number - 1]) + 1 if number else 0
    last = int(places[number]) if number < len(places) else len(is_pool)
    return (number + np.array([0.0, 1.0])) / (len(places) + 1), last - first + 1


def _moved(quantiles: Floats, shifts: Floats) -> Floats:
    """Distribution function (n, k) of moved noise at quantiles (n,) of the noise."""
    with np.errstate(divide="ignore", invalid="ignore"):
        at = (2.0 * quantiles - 1.0) / np.sqrt(2.0 * quantiles * (1.0 - quantiles))
        moved = at[:, None] + shifts
        inner = np.where(np.isfinite(moved), moved / np.sqrt(2.0 + moved**2), np.sign(moved))
    return 0.5 + 0.5 * inner
