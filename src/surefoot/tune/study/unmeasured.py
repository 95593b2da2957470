"""Constraints and further objectives that no trial of a study has measured."""

from __future__ import annotations

from collections.abc import Sequence

from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna.predictions import unmeasured_text
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.trial_attributes import trial_constraints


def unmeasured(study_file: StudyFile, trials: Sequence[FrozenTrial]) -> tuple[str, ...]:
    """Names of the constraints and further objectives without a value.

    Args:
        study_file: The study file.
        trials: The trials of its study. Before the first one with a value nothing is missing yet.
    """
    complete = [trial_constraints(one) for one in trials if one.state == TrialState.COMPLETE]
    known = {name for one in complete for name in one}
    return tuple(name for name in study_file.reported if complete and name not in known)


def unmeasured_objectives_note(study_file: StudyFile, trials: Sequence[FrozenTrial]) -> str:
    """A sentence on the objectives that the front is without; empty if it has all of them.

    Of constraints the recommendation itself says it (`constraint_lines`).

    Args:
        study_file: The study file.
        trials: The trials of its study.
    """
    names = [one for one in unmeasured(study_file, trials) if one in study_file.scheme.further]
    if not names:
        return ""
    return f"{unmeasured_text(names)}: the front and the recommendation leave it open."
