"""Histories of the outcomes beside the objective, and beliefs formed when they are asked for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import torch
from gpytorch.kernels import Kernel

from surefoot.beliefs.constraints import AT_ZERO, ConstraintBeliefs, goal_of
from surefoot.beliefs.outcome import OutcomeBelief
from surefoot.estimators import StudentT
from surefoot.features import Nystrom, PivotedCholesky
from surefoot.models.model import FIT_OF_OUTCOMES, Model
from surefoot.optimizer.history import latest_fit
from surefoot.optimizer.serialization import Decoder
from surefoot.regression.observations import Observations
from surefoot.spaces import Space
from surefoot.spaces.locations import Location
from surefoot.types import OBJECTIVE, Constraint, Measurement, Outcome
from surefoot.widths import srinivas

_TURNS = 2  # rewards between two fits of a further objective, which are most of the time of an ask


@dataclass(eq=False)
class _History:
    """Values of one outcome as goals, and how many of them its hyperparameters are fitted to.

    Args:
        model: Its own model, which knows its last fits.
        observations: The values.
        fitted_to: The number.
    """

    model: Model = field(metadata={"saved": False})
    observations: Observations
    fitted_to: int = 0

    @cached_property
    def belief(self) -> OutcomeBelief:
        """The belief from values to which none is added."""
        fitted = self.model.fit(self.observations.first(self.fitted_to))
        return self.model.belief(self.observations, fitted, torch.Generator().manual_seed(0))


@dataclass(eq=False)
class Outcomes:
    """Values of outcomes beside the objective, as they were told.

    Which hyperparameters a belief has depends on the values alone, not on when it was asked for.

    Args:
        space: Space of the inputs.
        declared: The outcomes by name. One that is not among them is a constraint that holds at
            zero or below.
        objective: Model of the objective, for further ones.
        histories: Values of each outcome that has any, as goals that are maximised.
    """

    space: Space
    declared: Mapping[str, Outcome]
    objective: Model
    histories: dict[str, _History] = field(default_factory=dict)
    _states: dict[str, _History] = field(default_factory=dict)  # to whose values none is added
    _beliefs: ConstraintBeliefs | None = None
    _current: Outcomes | None = None

    def record(self, location: Location, measured: Measurement) -> None:
        """Record the values of a measurement at a location, but for that of the objective."""
        for name, value in measured.values.items():
            if name == OBJECTIVE or not math.isfinite(value):
                continue
            if name not in self.histories:
                self.histories[name] = self._empty(name)
            history = self.histories[name]
            history.observations.append(
                location.point,
                float(goal_of(self._declared(name))(torch.tensor(value, dtype=torch.float64))),
                location.arm,
                measured.sems.get(name, 0.0),
                worker=measured.worker,  # type: ignore[arg-type]
                time=measured.time,
            )
            self._states.pop(name, None)
            self._beliefs = self._current = None

    @cached_property
    def _turns(self) -> dict[str, int]:
        """Places of the further objectives, which are fitted in turns."""
        objectives = [name for name, one in self.declared.items() if one.role == "objective"]
        return {name: place for place, name in enumerate(objectives, start=1)}

    def settle(self) -> None:
        """Decide which values hyperparameters are fitted to, after those told together."""
        for name, due in self._due.items():
            history = self.histories[name]
            number = len(history.observations)
            if (number + self._turns.get(name, -number)) % _TURNS == 0 or not history.fitted_to:
                history.fitted_to, self._current = due, None

    @property
    def _due(self) -> dict[str, int]:
        """How many values each outcome is due to be fitted to, by its name, if it is not yet."""
        latest = {
            name: latest_fit(
                one.model.hyperparameters.next_due, len(one.observations), one.fitted_to
            )
            for name, one in self.histories.items()
        }
        return {name: at for name, at in latest.items() if at > self.histories[name].fitted_to}

    @property
    def current(self) -> Outcomes:
        """The same with all hyperparameters fitted that are due, whoever's turn it is.

        A look at the beliefs does not depend on when the last fit was.
        """
        if not (due := self._due):
            return self
        if self._current is None:
            histories = {
                name: replace(one, fitted_to=due.get(name, one.fitted_to))
                for name, one in self.histories.items()
            }
            kept = {name: one for name, one in self._states.items() if name not in due}
            self._current = replace(self, histories=histories, _states=kept, _beliefs=None)
        return self._current

    @property
    def beliefs(self) -> ConstraintBeliefs:
        """Beliefs of the outcomes, formed when they are asked for."""
        if self._beliefs is None:
            states = self._now
            measured, objectives = (
                tuple(name for name in states if self._declared(name).role == role)
                for role in ("constraint", "objective")
            )
            self._beliefs = ConstraintBeliefs(
                self.limits, partial(_formed, states), measured, objectives
            )
        return self._beliefs

    def kernels_with(self, first: OutcomeBelief) -> list[Kernel]:
        """Kernels of all objectives, of which the first one's belief is not kept here."""
        others = (name for name, one in self.declared.items() if one.role == "objective")
        beliefs = [first, *(self._now[name].belief for name in others if name in self._now)]
        return [one.fitted.kernel for one in beliefs]

    @property
    def _now(self) -> dict[str, _History]:
        """The values so far of each outcome."""
        for name in sorted(self.histories):
            if name not in self._states:
                history = self.histories[name]
                self._states[name] = replace(history, observations=history.observations.frozen)
        return {name: self._states[name] for name in sorted(self._states)}

    @property
    def copy(self) -> Outcomes:
        """A copy to which values may be added."""
        histories = {
            name: replace(one, observations=one.observations.writable)
            for name, one in self.histories.items()
        }
        return replace(self, histories=histories, _states=dict(self._states), _current=None)

    def restore(self, saved: Any, decoder: Decoder) -> None:
        """Go on from saved values."""
        for key, value in saved["dict"]:
            history = self._empty(key)
            decoder.fill(history.observations, value["fields"]["observations"])
            history.fitted_to = value["fields"]["fitted_to"]
            self.histories[key] = history
        self._beliefs = self._current = None

    @cached_property
    def limits(self) -> Mapping[str, Constraint]:
        """The declared constraints by name."""
        return {name: one for name, one in self.declared.items() if isinstance(one, Constraint)}

    def _declared(self, name: str) -> Outcome:
        return self.declared.get(name, AT_ZERO)

    def _empty(self, name: str) -> _History:
        """The history of an outcome before its first value."""
        observations = Observations(self.space.dimension, self.space.lower.device)
        return _History(self._model_of(name), observations)

    def _model_of(self, name: str) -> Model:
        """Model of an outcome as a goal, its own: a model knows its last fits.

        Further objectives have the model of the first, unless its kernel is given, which may be in
        units of its rewards. Of all others the intervals are wide where little is known. A latency
        grows by orders of magnitude where a system is overloaded. Unless such values are
        compressed, they look like outliers of a function that is constant.
        """
        declared = self._declared(name)
        if declared.role == "objective" and not self.objective.hyperparameters.lasting:
            return replace(self.objective)
        fit = FIT_OF_OUTCOMES
        if declared.role == "constraint":  # of the margin
            fit = replace(fit, limit=0.0, of_zeros=abs(declared.center) or fit.of_zeros)
        parts = fit, Nystrom(PivotedCholesky()), StudentT(), srinivas()
        return Model(self.space, *parts, self.objective.stores)


def _formed(states: Mapping[str, _History]) -> dict[str, OutcomeBelief]:
    return {name: state.belief for name, state in states.items()}
