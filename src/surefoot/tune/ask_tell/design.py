"""The initial design of a study that is asked for its configurations by many processes."""

from __future__ import annotations

from typing import Any

from optuna.trial import TrialState

from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import is_round


def left_of_design(state: StudyState) -> list[dict[str, Any]]:
    """Configurations of the initial design that are not in the study, as many as it lacks.

    The design follows from the seed of the study, so that every process draws the same. Where
    constraints or an environment are measured, or a variable is given, a model chooses during the
    initial design too, and there is none to be drawn ahead; nor is there where trials must not
    fail, or where a guess or an older study says where to begin.

    Args:
        state: The study.

    Returns:
        The configurations, none once the study has as many rounds as the design has points.
    """
    study_file = state.study_file
    known_before = bool(study_file.guess) or study_file.prior is not None
    measured = study_file.reported or not study_file.scheme.is_replayed
    if known_before or measured or study_file.study.safe:
        return []
    begun = sum(one.state == TrialState.RUNNING or is_round(one) for one in state.trials)
    known = [trial.params for trial in state.trials]
    design = initial_design(study_file)
    left = []
    for params in design[begun:] + design[:begun]:
        if params not in known:
            known.append(params)
            left.append(params)
    return left[: max(len(design) - begun, 0)]


def initial_design(study_file: StudyFile) -> list[dict[str, Any]]:
    """Evenly spread configurations to begin a study with, by its seed.

    Args:
        study_file: The study file.

    Returns:
        Configurations, in the order of the study file; some may be alike in a small space.
    """
    import torch

    from surefoot.algorithms._defaults import initial_design_size

    space = study_file.space
    encoding = space.named.encoding
    number = study_file.study.initial or initial_design_size(encoding.box)
    generator = torch.Generator().manual_seed(study_file.study.seed)
    return [
        space.restricted(encoding.decode(location.point))
        for location in encoding.box.spread(number, generator)
    ]
