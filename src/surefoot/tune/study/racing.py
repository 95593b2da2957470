"""`objective.race`: the limit beyond which a measurement ends before its last sample."""

from __future__ import annotations

from typing import TYPE_CHECKING

from surefoot.tune.measuring.measurement import VALUE
from surefoot.tune.measuring.race import NO_RACE, Race
from surefoot.tune.study.trial_attributes import study_units
from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.tune.study.state import StudyState

LEAST = 8  # measurements before the first race: fewer do not tell the noise of a run


def race_of(state: StudyState) -> Race:
    """The race of the next measurement against the best measured configuration.

    Its limit is the bad end of the central 95 % interval of a run of that configuration, so that
    this is ended in 2.5 % of its runs for being out of it, and in as many by chance. (A better one
    that was not measured is a prediction, which a race would keep from being corrected.)

    Args:
        state: The study.

    Returns:
        The race; `NO_RACE` while there are too few measurements.
    """
    try:
        model = state.belief
    except NotReady:
        return NO_RACE
    if len(model.trials) < LEAST:
        return NO_RACE
    measured = [trial.params for trial in state.measured]
    values, *_ = model.predict(measured)
    best = int(values.argmax() if model.is_maximised else values.argmin())
    lower, upper = model.interval_of_run(measured[best])
    limit = lower if model.is_maximised else upper
    return Race(limit, model.is_maximised, study_units(state.attributes).get(VALUE, ""))
