"""Whether every configuration of a small search space has been measured."""

from __future__ import annotations

import math

from surefoot.integrations.optuna import SearchSpace
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
    space = state.study_file.space
    seen = {tuple(sorted(space.restricted(trial.params).items())) for trial in state.measured}
    if len(seen) < number:
        return ""
    return (
        f"all {number:g} configurations have been measured: further rounds measure them again, "
        "for narrower intervals"
    )
