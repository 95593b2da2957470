"""Worker and time of the measurement of a trial."""

from __future__ import annotations

import math
from collections.abc import Sequence

from optuna.trial import FrozenTrial

from surefoot._internal import checks
from surefoot._internal.user_warnings import warn
from surefoot.integrations.optuna.attributes import TIME, WORKER
from surefoot.types import InvalidInput


def conditions_of(trial: FrozenTrial, effects: Sequence[str]) -> tuple[str | None, float | None]:
    """Worker and time of a trial, as far as the model includes effects of them.

    Those that are recorded wrongly are left out with a warning: a finished trial cannot be
    corrected.

    Args:
        trial: A finished trial.
        effects: Names of the effects.

    Returns:
        Its worker, from the user attribute `WORKER`, and the time of its start, unless the user
        attribute `TIME` has another.
    """
    worker = trial.user_attrs.get(WORKER) if "worker" in effects else None
    time = None
    if "drift" in effects:
        time = trial.user_attrs.get(TIME, _start(trial))
    try:
        return checks.worker(worker), checks.time(time)
    except InvalidInput as error:
        recorded = {WORKER: worker, TIME: time}
        warn(
            f"trial {trial.number} has wrong conditions, {checks.shown(recorded)}: its value is "
            f"used without them ({error})",
        )
        return None, None


def _start(trial: FrozenTrial) -> float | None:
    """When a trial began, in seconds; NaN for a time that no clock of this machine shows."""
    if trial.datetime_start is None:
        return None
    try:
        return trial.datetime_start.timestamp()
    except (ValueError, OverflowError, OSError):  # before the year 2, or after 9998
        return math.nan
