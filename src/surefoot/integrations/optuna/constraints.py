"""Values of constraints that Optuna's trials record."""

from __future__ import annotations

import math
import sys
from collections.abc import Collection, Container, Mapping
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial

from surefoot._internal import checks
from surefoot._internal.user_warnings import warn
from surefoot.types import Constraint

CONSTRAINTS = "constraints"
"""User attribute of a trial: values by name of the constraints that its sampler was given."""

_OPTUNAS = "constraints"  # system attribute, and with a name behind it those of new studies


def constraints_of(trial: FrozenTrial, declared: Container[str] = ()) -> dict[str, float]:
    """Values of a trial's constraints by name.

    Args:
        trial: A finished trial.
        declared: Names of the constraints that the sampler was given, whose values are in the
            user attribute `CONSTRAINTS`; all others hold at zero or below.

    Returns:
        The values, without those that are not numbers.
    """
    try:
        given: dict[str, Any] = dict(trial.constraints)
    except (TypeError, AttributeError):  # an attribute that is not Optuna's
        given = {}
    recorded = trial.user_attrs.get(CONSTRAINTS)
    if declared and isinstance(recorded, Mapping):
        given |= {name: value for name, value in recorded.items() if name in declared}
    values = {}
    for name, value in given.items():
        if isinstance(value, int | float) and value == value:  # not NaN
            beyond = math.inf if value > 0 else -math.inf
            values[name] = float(value) if abs(value) <= sys.float_info.max else beyond
    return values


def warn_of_unusable(
    trial: FrozenTrial, used: Mapping[str, float], declared: Collection[str]
) -> None:
    """Warn where a trial records constraints, but no number of one that was declared.

    They are left out with a warning: a finished trial cannot be corrected.

    Args:
        trial: A finished trial.
        used: Its constraints, as `constraints_of` gives them.
        declared: Names of the constraints that the sampler was given.
    """
    recorded = trial.user_attrs.get(CONSTRAINTS)
    if not declared or recorded is None or not used.keys().isdisjoint(declared):
        return
    warn(
        f"trial {trial.number} has the user attribute {CONSTRAINTS!r} = {checks.shown(recorded)}, "
        f"expected numbers by name, of {', '.join(declared)}: it is used without constraints.",
    )


def write_limits(study: Study, trial: FrozenTrial, limits: Mapping[str, Constraint]) -> None:
    """Record declared constraints of a trial where Optuna reads them, as excess over their limits.

    So `study.best_trial` keeps to them. A constraint that the trial has set itself is kept.

    Args:
        study: The study.
        trial: The trial that ends.
        limits: Declared constraints by name.
    """
    recorded = trial.user_attrs.get(CONSTRAINTS)
    for name, value in recorded.items() if isinstance(recorded, Mapping) else ():
        key = f"{_OPTUNAS}:{name}"
        number = isinstance(value, int | float) and value == value
        if name in limits and number and key not in trial.system_attrs:
            excess = limits[name].excess(min(max(value, -sys.float_info.max), sys.float_info.max))
            study._storage.set_trial_system_attr(trial._trial_id, key, float(excess))
