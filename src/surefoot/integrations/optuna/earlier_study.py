"""Belief of an older study of a related system, in the search space of a new one."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optuna.trial import FrozenTrial

from surefoot.algorithms import robust_ucb
from surefoot.beliefs import Belief
from surefoot.integrations.optuna.encoding import Encoding
from surefoot.types import OBJECTIVE, InvalidInput, Measurement

_LEAST = 2  # trials


def earlier_belief(
    trials: Sequence[FrozenTrial], encoding: Encoding, sign: float, log: bool
) -> Belief:
    """Belief of the values of older trials.

    Args:
        trials: Completed trials of the older study.
        encoding: Encoding of the new search space.
        sign: 1 to maximise, -1 to minimise, in both studies.
        log: Whether logarithms are modelled.

    Raises:
        InvalidInput: If fewer than two trials have values in the search space.
    """
    rows = []
    for trial in trials:
        point, value = encoding.encode(trial.params), trial.value
        if point is None or value is None or not math.isfinite(value) or (log and value <= 0.0):
            continue
        reward = sign * (math.log(value) if log else value)
        rows.append(Measurement(point, {OBJECTIVE: reward}))
    if len(rows) < _LEAST:
        names = ", ".join(encoding.distributions)
        raise InvalidInput(
            f"`prior` has {len(rows)} finished trials with values of {names} in their ranges, "
            f"expected at least {_LEAST}: pass a study of the same parameters."
        )
    optimizer = robust_ucb(encoding.box, effects=())
    optimizer.record(rows)
    return optimizer.belief()
