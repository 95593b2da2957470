"""Constants of truncation by leverage, fixed for each phase of a run."""

from __future__ import annotations

import math
from dataclasses import dataclass

from surefoot.tails import Moment

_ETA, _KAPPA = 1.25, 1.0  # of the exponential supermartingales; any are allowed, these are narrow
_LINEAR = 2.0 / _ETA
_VARIANCE = 2.0 * (math.exp(_ETA) - 1.0 - _ETA) / _ETA + 1.0  # and the bias


@dataclass(frozen=True)
class Phase:
    """Threshold and deviation of one phase.

    Args:
        threshold: b, on the reward times the root of its leverage.
        deviation: A + sqrt(Q) + v b^(-a) H, the width less the norm, times the root of the ridge.
    """

    threshold: float
    deviation: float

    @classmethod
    def of(cls, moment: Moment, delta: float, spent: float) -> Phase:
        """The phase of a sum H_t of powers 1 + a of roots of leverages.

        Args:
            moment: Bound v on the moment of order 1 + a.
            delta: Probability that the bounds fail in some phase.
            spent: H_t.

        References:
            notes/guarantees.md, Proposition 4.
        """
        index = max(math.ceil(math.log2(spent)), 0) if spent > 0.0 else 0
        logarithm = math.log(2.0 * (index + 1) * (index + 2) / delta)  # L_j
        share = _LINEAR / (moment.alpha * _VARIANCE)  # v b^(-a) H_j = share b L_j
        power = 1.0 / (1.0 + moment.alpha)
        threshold = (moment.bound * 2.0**index / (logarithm * share)) ** power
        quadratic = 4.0 / _KAPPA + (math.exp(_KAPPA) - 1.0) / _KAPPA * share
        linear = logarithm * (_LINEAR + _VARIANCE * share)
        return cls(threshold, threshold * (linear + math.sqrt(logarithm * quadratic)))
