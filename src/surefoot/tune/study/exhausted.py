"""Whether every configuration of a small search space has been measured."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from surefoot.integrations.optuna.search_space import SearchSpace
from surefoot.parameters import Choice
from surefoot.tune.study.state import StudyState


def configurations(space: SearchSpace) -> float:
    """The number of configurations; infinite with a continuous parameter.

    Conditions and rules make it smaller, so that it is an upper bound then.
    """
    count = 1.0
    for one in space.named.parameters.values():
        if isinstance(one, Choice):
            count *= len(one.choices)
        else:
            count *= one.levels + len(one.special) if one.levels else math.inf
    return count


def exhausted_note(state: StudyState) -> str:
    """A sentence once every configuration was measured; empty before."""
    number = configurations(state.study_file.space)
    if not 1.0 < number <= len(state.measured):
        return ""
    space, values = state.study_file.space, defaultdict[Any, list[tuple[float, ...]]](list)
    for trial in state.measured:
        values[tuple(sorted(space.restricted(trial.params).items()))].append(tuple(trial.values))
    if len(values) < number:
        return ""
    repeated = [one for one in values.values() if len(one) > 1]
    gain = "for narrower intervals"
    if repeated and all(len({*one}) == 1 for one in repeated):
        gain = "and tell nothing new where values have no noise; Ctrl-C ends the run"
    return f"all {number:g} configurations have been measured: further rounds repeat them, {gain}"
