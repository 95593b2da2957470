"""Finished trials of a study as the measurements that an optimizer is told."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from optuna.trial import FrozenTrial, TrialState
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import FEWEST, MAD_TO_SD, ROUNDING
from surefoot._internal.user_warnings import warn
from surefoot.integrations.optuna.attributes import (
    ENVIRONMENT,
    STANDARD_ERROR,
    STANDARD_ERRORS,
    TIME,
    WORKER,
)
from surefoot.integrations.optuna.common_space import chosen_for, configuration_distributions
from surefoot.integrations.optuna.constraints import constraints_of, warn_of_unusable
from surefoot.integrations.optuna.endings import is_ignored_failure
from surefoot.integrations.optuna.environment import StudyEnvironment
from surefoot.integrations.optuna.objectives import finite_values, names_of
from surefoot.integrations.optuna.search_space import distributions
from surefoot.parameters.encoding import Encoding
from surefoot.parameters.parameter import shared_name
from surefoot.types import OBJECTIVE, InvalidInput, Measurement, Query

if TYPE_CHECKING:
    from surefoot.optimizer import Optimizer


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
    time = trial.user_attrs.get(TIME, _start(trial)) if "drift" in effects else None
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


@dataclass(frozen=True)
class Place:
    """A place of a measurement: an encoded configuration (dx,) and an environment (dz,), if any."""

    point: Tensor
    z: Tensor | None

    @property
    def key(self) -> bytes:
        """Identity of the configuration."""
        return key_of(self.point)

    def is_near(self, other: Place) -> bool:
        """Whether it is the same but for rounding."""
        same = torch.allclose(self.point, other.point, rtol=0.0, atol=ROUNDING)
        if self.z is None or other.z is None:
            return same and self.z is other.z
        return same and torch.allclose(self.z, other.z, rtol=ROUNDING, atol=0.0)


@dataclass(frozen=True)
class Reading:
    """A finished trial, as the optimizer is told about it."""

    trial: FrozenTrial
    measurements: tuple[Measurement, ...]
    configuration: Mapping[bytes, dict[str, Any]]  # by its point, of a trial with a value

    @property
    def places(self) -> list[Place]:
        """Where it was measured."""
        return [
            Place(one.where.point, one.environment)  # type: ignore[union-attr, arg-type]
            for one in self.measurements
        ]

    @property
    def numbers(self) -> list[int]:
        """Number of the trial, for each of its values."""
        return [self.trial.number for one in self.measurements if OBJECTIVE in one.values]

    @property
    def has_value(self) -> bool:
        """Whether it has a value that can be modelled."""
        return bool(self.configuration)


class TrialReader:
    """Reads trials one by one; the optimizer stays as it is.

    Args:
        encoding: Encoding of the search space.
        optimizer: The optimizer, of which the declared outcomes and the effects are known.
        signs: Of each objective 1 to maximise it, -1 to minimise it.
        environment: Random environment of the study, if any.
        log: Whether the optimizer is told the logarithms of the values.
        penalty: Value that stands for a failure, NaN for none.
    """

    def __init__(
        self,
        encoding: Encoding,
        optimizer: Optimizer,
        signs: Sequence[float],
        environment: StudyEnvironment | None,
        log: bool,
        penalty: float,
    ) -> None:
        self._encoding, self._optimizer, self._signs = encoding, optimizer, signs
        self._environment, self._log, self._penalty = environment, log, penalty
        self._distributions = configuration_distributions(encoding.space)
        self._has_warned = False  # of environments that are ignored
        self._left_out: list[str] = []  # what is to be said of trials out of range
        self._curves: dict[int, Curve] = {}  # of the trials with values, by their numbers
        self._succeeded: set[bytes] = set()
        """Points of the trials with values; one that is pruned there repeats it."""

    def see(self, trial: FrozenTrial) -> None:
        """Take in the curve of a finished trial, by which pruned ones are compared."""
        if len(self._signs) == 1 and self._values_of(trial):
            self._curves[trial.number] = Curve.of(trial, self._log)

    def _values_of(self, trial: FrozenTrial) -> list[float]:
        """Values of a trial that can be modelled, none of one that stands for a failure."""
        values = finite_values(trial, self._log)
        return [] if values == [self._penalty] else values

    def read(self, trial: FrozenTrial) -> Reading:
        """A finished trial as the optimizer is told about it.

        One that ended before it asked for all parameters is of the values that had been chosen for
        the others.
        """
        (params,) = chosen_for([trial], self._distributions)
        point, z = self._encoding.encode(params), self.environment_of(trial)
        if point is None:
            self._leave_out(trial)
        if point is None or (z is None and self._environment is not None):
            return Reading(trial, (), {})
        declared, effects = self._optimizer.outcomes, self._optimizer.effects
        constraints = constraints_of(trial, declared)
        warn_of_unusable(trial, constraints, declared)
        worker, time = conditions_of(trial, effects)
        finite = {name: one for name, one in constraints.items() if math.isfinite(one)}
        failed, configuration = math.inf in constraints.values(), {}
        values, sem = dict(finite), 0.0
        told = self._values_of(trial)
        if told:
            sem = _standard_error(
                trial, trial.user_attrs.get(STANDARD_ERROR, 0.0), repr(STANDARD_ERROR)
            )
            sem = min(sem / told[0], checks.LARGEST) if self._log else sem
            goals = [math.log(one) for one in told] if self._log else told
            self._succeeded.add(key_of(point))
            goals[0] *= self._signs[0]  # further objectives have their own direction
            values |= zip(names_of(len(goals)), goals, strict=True)
            configuration = {key_of(point): params}
        elif reported := self._reported(trial):
            z, values[OBJECTIVE] = reported
            configuration = {key_of(point): params}
        elif predicted := self._predicted(trial):
            values[OBJECTIVE], sem = self._signs[0] * predicted.value, predicted.error
            configuration = {key_of(point): params}
        elif not is_ignored_failure(trial):
            failed |= trial.state == TrialState.FAIL or key_of(point) not in self._succeeded
        sems = _standard_errors(trial, finite)
        where = elsewhere_asked(point, z)
        measured = Measurement(where, values, z, sem, worker, time, failed, sems)
        return Reading(trial, (measured,) if values or failed else (), configuration)

    def _reported(self, trial: FrozenTrial) -> tuple[Tensor, float] | None:
        """The level of fidelity that a pruned trial has reached, and the reward there."""
        if self._environment is None or trial.state != TrialState.PRUNED:
            return None
        found = self._environment.reached(trial, 0.0 if self._log else -math.inf)
        if found is None:
            return None
        return found[0], self._signs[0] * (math.log(found[1]) if self._log else found[1])

    def warn_of_outside(self) -> None:
        """Say of trials that were left out since the last time which values are out of range."""
        more = len(self._left_out) - 1
        for text in self._left_out[:1]:
            warn(
                text
                + f" {more} other trial{'s are' if more > 1 else ' is'} left out, too." * (more > 0)
            )
        self._left_out = []

    def _leave_out(self, trial: FrozenTrial) -> None:
        """Keep what is to be said of a trial that is left out, as a value of it is out of range."""
        space, params = self._encoding.space, trial.params
        known = {
            n: one for n, one in self._encoding.parameters.items() if n in space.active(params)
        }
        outside = {
            n: params[own]
            for n, one in known.items()
            if (own := shared_name(n)) in params and one.encode(params[own]) is None
        }
        if outside and trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
            known = distributions(space)
            ranges = ", ".join(f"{shared_name(name)}: {known[name]}" for name in outside)
            wrong = checks.shown({shared_name(name): one for name, one in outside.items()})
            self._left_out.append(
                f"trial {trial.number} is left out of the model, since {wrong} is "
                f"out of range, expected {ranges}: enqueue values within the ranges, or widen them "
                "in the objective function."
            )

    def _predicted(self, trial: FrozenTrial) -> PredictedValue | None:
        """Value that a pruned trial would have had, None if no report of it can be compared."""
        known = self._environment is None or ENVIRONMENT in trial.user_attrs
        if trial.state != TrialState.PRUNED or not known:
            return None
        before = [one for number, one in self._curves.items() if number < trial.number]
        return predicted_value(Curve.of(trial, self._log), before, self._signs[0])

    def environment_of(self, trial: FrozenTrial) -> Tensor | None:
        """Environment of a trial, None in a study without one, and where none is known.

        A random one is substituted for a trial that has neither a value nor an environment. A value
        without one is left out with a warning: a finished trial cannot be corrected.
        """
        environment = self._environment
        if environment is None:
            if ENVIRONMENT in trial.user_attrs and not self._has_warned:
                self._has_warned = True
                warn(
                    f"trial {trial.number} was measured under an environment, by its user "
                    f"attribute {ENVIRONMENT!r}, of which the sampler knows nothing: pass "
                    "`Problem(environment=...)` or the fidelity to it."
                )
            return None
        recorded = trial.user_attrs.get(ENVIRONMENT, environment.unrecorded or None)
        try:
            return environment.encode(recorded)
        except InvalidInput as error:
            if not finite_values(trial):
                return environment.draw(trial.number)
            how = (
                "set it before the value is told"
                if environment.observed
                else "measure under the one of `environment_of(trial)`, which sets it"
            )
            warn(
                f"trial {trial.number} is left out of the model, since it has a value, but its "
                f"user attribute {ENVIRONMENT!r} does not state its environment: {how} ({error})"
            )
            return None


def elsewhere_asked(point: Tensor, z: Tensor | None) -> Query:
    """A query that stands for a place, and not for one that is pending there for another trial."""
    return Query(-1, point, None, 1, z)


def key_of(point: Tensor) -> bytes:
    """Identity of a point (d,), for which positive and negative zeros are the same."""
    return (point + 0.0).cpu().numpy().tobytes()


def _standard_error(trial: FrozenTrial, recorded: Any, where: str) -> float:
    """A standard error that a trial records.

    One that is no such number is left out with a warning: a finished trial cannot be corrected.
    """
    try:
        return checks.standard_error(recorded)
    except InvalidInput:
        warn(
            f"trial {trial.number} has the user attribute {where} = {checks.shown(recorded)}, "
            "expected a finite number of at least 0: its value is used without a standard error.",
        )
        return 0.0


def _standard_errors(trial: FrozenTrial, names: Container[str]) -> dict[str, float]:
    """Standard errors of what a trial records beside its value, by name."""
    recorded = trial.user_attrs.get(STANDARD_ERRORS, {})
    if not isinstance(recorded, Mapping):
        warn(
            f"trial {trial.number} has the user attribute {STANDARD_ERRORS!r} = "
            f"{checks.shown(recorded)}, expected a dictionary of numbers by name: it is not used.",
        )
        return {}
    return {
        name: _standard_error(trial, one, f"{STANDARD_ERRORS!r}[{name!r}]")
        for name, one in recorded.items()
        if name in names
    }


class PredictedValue(NamedTuple):
    """A value that was not measured, and its standard error."""

    value: float
    error: float


@dataclass(frozen=True)
class Curve:
    """Reports of a trial by step, and its value.

    Args:
        reports: Finite reports by step.
        value: The value; NaN for that of a pruned trial.
        branch: Names of its parameters, where these are conditional.
    """

    reports: Mapping[int, float]
    value: float = math.nan
    branch: frozenset[str] = frozenset()

    @property
    def steps(self) -> list[int]:
        """Steps of the reports, the latest first."""
        return sorted(self.reports, reverse=True)

    @classmethod
    def of(cls, trial: FrozenTrial, log: bool) -> Curve:
        """The curve of a finished trial, of logarithms where these are modelled."""
        known = {step: one for step, one in trial.intermediate_values.items() if math.isfinite(one)}
        value = trial.value if trial.state.name == "COMPLETE" else None
        if log:
            known = {step: math.log(one) for step, one in known.items() if one > 0.0}
            value = None if value is None else math.log(value)
        return cls(known, math.nan if value is None else value, frozenset(trial.params))


def predicted_value(pruned: Curve, others: Sequence[Curve], sign: float) -> PredictedValue | None:
    """Value that a pruned trial would have had.

    That is its last report, and what the values of the other trials differ from their reports at
    that step: of those with the same parameters if there are any, since branches of a conditional
    space may begin differently. It is not better than what half of those became that were no worse
    at that step, or than the best of all where it was better than they.

    Args:
        pruned: The pruned trial.
        others: Trials with values.
        sign: 1 if larger values are better, else -1.

    Returns:
        The value and its standard error; None where it has no report that any other trial has.
    """
    alike = [one for one in others if one.branch == pruned.branch]
    reported = [(group, step) for group in (alike, others) for step in pruned.steps]
    for group, step in reported:
        known = [one for one in group if step in one.reports]
        if known:
            shown, gains = pruned.reports[step], _gains(known, step)
            gain = float(np.median(gains))
            better = [
                sign * one.value for one in known if sign * (one.reports[step] - shown) >= 0.0
            ]
            most = float(np.median(better)) if better else max(sign * one.value for one in others)
            branches = {one.branch for one in others} if group is alike else ()
            parts = [_gains([o for o in others if o.branch == one], step) for one in branches]
            error = _spread(parts or [gains], abs(gain)) * math.sqrt(1.0 + 1.0 / len(gains))
            return PredictedValue(sign * min(sign * (shown + gain), most), error)
    return None


def _gains(curves: Sequence[Curve], step: int) -> list[float]:
    """What values of trials differ from their reports at a step, of those that have one."""
    return [one.value - one.reports[step] for one in curves if step in one.reports]


def _spread(parts: Sequence[Sequence[float]], unknown: float) -> float:
    """Standard deviation of numbers about the median of their part.

    It is at least `unknown` where they are too few to tell.
    """
    several = [part for part in parts if len(part) > 1]
    off = [abs(one - float(np.median(part))) for part in several for one in part]
    left = len(off) - len(several)
    spread = MAD_TO_SD * float(np.median(off)) * math.sqrt(len(off) / left) if off else 0.0
    return spread if left >= FEWEST - 1 else max(spread, unknown)
