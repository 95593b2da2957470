"""Histories of the constraints, and beliefs of them that are formed when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import torch

from surefoot.beliefs.constraints import ConstraintBelief, ConstraintBeliefs, margin_of
from surefoot.beliefs.model import Model
from surefoot.estimators import StudentT
from surefoot.features import Nystrom, PivotedCholesky
from surefoot.hyperparameters import HyperparameterFit
from surefoot.optimizer.serialization import Decoder
from surefoot.regression.observations import Observations
from surefoot.spaces import Space
from surefoot.spaces.locations import Location
from surefoot.types import OBJECTIVE, Constraint, Measurement
from surefoot.widths import srinivas

_AT_ZERO = Constraint(maximum=0.0)  # of constraints that were not declared, as in Optuna


@dataclass(eq=False)
class _History:
    """Margins of one constraint, and the number of them that its hyperparameters are fitted to."""

    observations: Observations
    fitted_to: int = 0


@dataclass(frozen=True, eq=False)
class _State:
    """Margins of one constraint at some time, and the belief from them."""

    limit: Constraint
    model: Model
    observations: Observations
    fitted_to: int

    @cached_property
    def belief(self) -> ConstraintBelief:
        fitted = self.model.fit(self.observations.first(self.fitted_to))
        generator = torch.Generator().manual_seed(0)
        return ConstraintBelief(self.limit, self.model.belief(self.observations, fitted, generator))


@dataclass(eq=False)
class Constraints:
    """Values of constraints as they were told.

    Which hyperparameters a belief has depends on the values alone, not on when it was asked for.

    Args:
        space: Space of the inputs.
        limits: The constraints by name. One that is not among them holds at zero or below.
        histories: Values of each constraint that has any, as margins.
    """

    space: Space
    limits: Mapping[str, Constraint]
    histories: dict[str, _History] = field(default_factory=dict)
    _states: dict[str, _State] = field(default_factory=dict)
    _beliefs: ConstraintBeliefs | None = None

    def record(self, location: Location, measured: Measurement) -> None:
        """Record the values of constraints of a measurement at a location."""
        for name, value in measured.values.items():
            if name == OBJECTIVE or not math.isfinite(value):
                continue
            history = self.histories.setdefault(name, _History(self._empty))
            margin = float(margin_of(self._limit(name))(torch.tensor(value, dtype=torch.float64)))
            history.observations.append(
                location.point,
                margin,
                location.arm,
                worker=measured.worker,  # type: ignore[arg-type]
                time=measured.time,
            )
            self._states.pop(name, None)
            self._beliefs = None

    def settle(self) -> None:
        """Decide which values hyperparameters are fitted to, after those told together."""
        for history in self.histories.values():
            number = len(history.observations)
            if self._model.hyperparameters.is_due(number, history.fitted_to):
                history.fitted_to = number

    @property
    def beliefs(self) -> ConstraintBeliefs:
        """Beliefs of the constraints, formed when they are asked for."""
        if self._beliefs is None:
            states = self._now
            self._beliefs = ConstraintBeliefs(self.limits, partial(_formed, states), tuple(states))
        return self._beliefs

    @property
    def _now(self) -> dict[str, _State]:
        for name in sorted(self.histories):
            if name not in self._states:
                history = self.histories[name]
                self._states[name] = _State(
                    self._limit(name),
                    self._model,
                    history.observations.frozen,
                    history.fitted_to,
                )
        return {name: self._states[name] for name in sorted(self._states)}

    @property
    def copy(self) -> Constraints:
        """A copy to which values may be added."""
        histories = {
            name: replace(one, observations=one.observations.writable)
            for name, one in self.histories.items()
        }
        return replace(self, histories=histories, _states=dict(self._states))

    def restore(self, saved: Any, decoder: Decoder) -> None:
        """Go on from saved values."""
        for key, value in saved["dict"]:
            history = _History(self._empty)
            decoder.fill(history.observations, value["fields"]["observations"])
            history.fitted_to = value["fields"]["fitted_to"]
            self.histories[key] = history
        self._beliefs = None

    def _limit(self, name: str) -> Constraint:
        return self.limits.get(name, _AT_ZERO)

    @property
    def _empty(self) -> Observations:
        return Observations(self.space.dimension, self.space.lower.device)

    @cached_property
    def _model(self) -> Model:
        """Model of a margin, whose intervals are wide where little is known.

        A latency grows by orders of magnitude where a system is overloaded. Unless such values are
        compressed, they look like outliers of a function that is constant.
        """
        return Model(
            self.space,
            HyperparameterFit(lengthscales="short", warped=True),
            Nystrom(PivotedCholesky()),
            StudentT(),
            srinivas(),
        )


def _formed(states: Mapping[str, _State]) -> dict[str, ConstraintBelief]:
    return {name: state.belief for name, state in states.items()}
