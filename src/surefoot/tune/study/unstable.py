"""Unstable configurations: those whose own measurements differ more than those of others."""

from __future__ import annotations

from surefoot.tune.study.state import StudyState

_NAMED = 5  # trials


def unstable_trials(state: StudyState) -> list[int]:
    """Numbers of the first trials of the unstable configurations, in ascending order."""
    first: dict[int, int] = {}
    for trial in sorted(state.measured, key=lambda one: one.number):
        for index, one in enumerate(state.belief.unstable):
            if index not in first and all(trial.params.get(name) == one[name] for name in one):
                first[index] = trial.number
    return sorted(first.values())


def unstable_note(state: StudyState) -> str:
    """A sentence on the unstable configurations; empty where there are none."""
    trials = unstable_trials(state)
    if not trials:
        return ""
    named = ", ".join(map(str, trials[:_NAMED])) + (", ..." if len(trials) > _NAMED else "")
    what = "configuration is" if len(trials) == 1 else "configurations are"
    text = (
        f"{len(trials)} {what} unstable, measured first in trial {named}: the measurements differ "
        "more than those of other configurations"
    )
    if state.recommendation.params in state.belief.unstable:
        return f"{text}. The recommended one is among them, as no other is known to be better."
    return f"{text}, and the recommendation avoids them."
