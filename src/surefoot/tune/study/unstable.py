"""Unstable configurations: those whose own measurements differ more than those of others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import optuna

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief

_NAMED = 5  # trials


def unstable_trials(study: optuna.Study, model: StudyBelief) -> list[int]:
    """Numbers of the first trials of the unstable configurations.

    Args:
        study: The study.
        model: Its model.

    Returns:
        A number for each configuration, in ascending order.
    """
    by_number = {trial.number: trial for trial in study.get_trials(deepcopy=False)}
    first: dict[int, int] = {}
    for number in sorted(model.trials):
        params = by_number[number].params
        for index, one in enumerate(model.unstable):
            if index not in first and all(params.get(name) == one[name] for name in one):
                first[index] = number
    return sorted(first.values())


def unstable_note(study: optuna.Study, model: StudyBelief, best: Mapping[str, Any]) -> str:
    """What is to be said of unstable configurations; empty where there are none.

    Args:
        study: The study.
        model: Its model.
        best: The recommended configuration.
    """
    trials = unstable_trials(study, model)
    if not trials:
        return ""
    named = ", ".join(map(str, trials[:_NAMED])) + (", ..." if len(trials) > _NAMED else "")
    what = "configuration is" if len(trials) == 1 else "configurations are"
    text = (
        f"{len(trials)} {what} unstable, measured first in trial {named}: the measurements differ "
        "more than those of other configurations"
    )
    if dict(best) in model.unstable:
        return f"{text}. The recommended one is among them, as no other is known to be better."
    return f"{text}, and the recommendation avoids them."
