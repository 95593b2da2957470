"""Reservations: what a running trial is about to measure, where other workers can read it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

RESERVATION = "surefoot:reservation"
"""System attribute of a trial: its configuration from the moment that it is chosen."""
MOVES = 8  # of a trial, until it shares a configuration with another one


def write_reservation(
    study: Study,
    trial: FrozenTrial,
    distributions: Mapping[str, BaseDistribution],
    params: Mapping[str, Any],
    environment: Mapping[str, Any] | None,
) -> None:
    """Record a configuration before the trial has it as parameters.

    A trial gets its parameters one by one as the objective function suggests them, which is too
    late for the other workers.

    Args:
        study: The study.
        trial: The running trial.
        distributions: Distributions of the parameters, by name.
        params: The configuration that was chosen, without inactive parameters.
        environment: The environment to measure under, where the sampler chooses it.
    """
    internal = {
        name: d.to_internal_repr(params[name])
        for name, d in distributions.items()
        if name in params
    }
    value = {"params": internal, "environment": environment}
    study._storage.set_trial_system_attr(trial._trial_id, RESERVATION, value)


def read_reservation(
    trial: FrozenTrial, distributions: Mapping[str, BaseDistribution]
) -> tuple[dict[str, Any], object]:
    """The reserved configuration of a trial and its environment.

    Args:
        trial: A trial.
        distributions: Distributions of the parameters, by name.

    Returns:
        Values by parameter name, of those that are in `distributions` and valid, and the
        environment as it was recorded.
    """
    value = trial.system_attrs.get(RESERVATION)
    internal = value.get("params") if isinstance(value, Mapping) else None
    if not isinstance(internal, Mapping):
        return {}, None
    known = {
        name: d.to_external_repr(internal[name])
        for name, d in distributions.items()
        if _is_internal(internal.get(name), d)
    }
    return known, value.get("environment")


def _is_internal(value: object, distribution: BaseDistribution) -> bool:
    """Whether a number from the storage stands for a value of the distribution."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    low, high = getattr(distribution, "low", 0), getattr(distribution, "high", None)
    if high is None:
        high = len(distribution.choices) - 1
    return low <= value <= high and math.isfinite(value)
