"""An optimiser kept up to date with the trials of an Optuna study."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState
from torch import Tensor

from surefoot.integrations._encoding import Encoding
from surefoot.integrations.study_environment import ENVIRONMENT, StudyEnvironment
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from optuna.study import Study

    from surefoot.optimizer import Optimizer
    from surefoot.types import Query

INTERRUPTED = "surefoot:interrupted"
"""User attribute of a failed trial that says nothing about its setting (its run was killed)."""
BLAMELESS = "surefoot:blameless"
"""The same, of a trial that did run to its end."""


class StudyModel:
    """An optimiser that has seen what the study has recorded, each trial once."""

    def __init__(
        self,
        study: Study,
        encoding: Encoding,
        optimizer: Optimizer,
        sign: float,
        environment: StudyEnvironment | None = None,
    ) -> None:
        self.study_name = study.study_name
        self._study: weakref.ref[Study] | None = weakref.ref(study)
        self.encoding = encoding
        self.optimizer = optimizer
        self.sign = sign
        self.environment = environment
        self.numbers: list[int] = []  # of the trials whose values the optimiser has
        self._all_read_below = 0
        self._read: set[int] = set()  # at or above that mark
        self._waiting: dict[int, Query] = {}

    def models(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> bool:
        """Whether this is the model of that study on that space; a pickled one knows its name."""
        return self.is_of(study) and dict(search_space) == dict(self.encoding.distributions)

    def is_of(self, study: Study) -> bool:
        """Whether this is a model of that study."""
        if self._study is None and self.study_name == study.study_name:
            self._study = weakref.ref(study)
        return self._study is not None and self._study() is study

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_study": None}

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Take in trials that finished, and hold those that run as pending.

        Raises `InvalidInput`, with nothing changed, for a value measured under an unknown
        environment.
        """
        fresh = [t for t in trials[self._all_read_below :] if t.number not in self._read]
        placed = [(t, self.encoding.encode(t.params), self._under(t)) for t in fresh]
        points, values, under = [], [], []
        for trial, point, z in placed:
            if trial.state.is_finished():
                self._read.add(trial.number)
                self._settle(trial.number)
                if point is None:
                    continue
                if _has_value(trial):
                    points.append(point)
                    values.append(self.sign * float(trial.value or 0.0))
                    under.append(z)
                    self.numbers.append(trial.number)
                elif trial.state != TrialState.PRUNED and not _says_nothing(trial):
                    self.optimizer.forget(point, z)
            elif point is not None and trial.number not in self._waiting and self._says(trial):
                self._waiting[trial.number] = self.optimizer.expect(point, z)
        while self._all_read_below in self._read:
            self._read.remove(self._all_read_below)
            self._all_read_below += 1
        if points:
            known = [z for z in under if z is not None]
            self.optimizer.tell_all(
                torch.stack(points), torch.tensor(values), torch.stack(known) if known else None
            )

    def propose(self, number: int) -> dict[str, Any]:
        self._settle(number)
        query = self.optimizer.ask()
        self._waiting[number] = query
        return self.encoding.decode(query.point)

    def environment_for(
        self, number: int, params: Mapping[str, Any], environment: StudyEnvironment, seed: int
    ) -> Tensor:
        """The z (dz,) to measure a running trial under.

        That which was proposed with its setting; where somebody else chose the setting, one that
        says most about the risk of it.
        """
        point, query = self.encoding.encode(params), self._waiting.get(number)
        if query is not None and query.environment is not None:
            proposed = self.encoding.encode(self.encoding.decode(query.point))
            if point is None or (proposed is not None and torch.equal(point, proposed)):
                return query.environment.cpu()
        if point is None:
            return environment.draw(seed)
        self._settle(number)
        if len(self.optimizer.history):
            query = self.optimizer.ask(arms=point.unsqueeze(0))
        else:
            query = self.optimizer.expect(point, environment.draw(seed))
        self._waiting[number] = query
        return query.environment.cpu()  # type: ignore[union-attr]

    def _under(self, trial: FrozenTrial) -> Tensor | None:
        """The environment of a trial, None if there is no such thing in this study.

        Where a trial without a value does not say, any value of Z stands for it.
        """
        environment = self.environment
        if environment is None:
            return None
        recorded = trial.user_attrs.get(ENVIRONMENT)
        if recorded is None and not _has_value(trial):
            return environment.draw(trial.number)
        try:
            return environment.encode(recorded)
        except InvalidInput as error:
            if not _has_value(trial):
                return environment.draw(trial.number)
            how = "set it before the value is told"
            if not environment.observed:
                how = "measure under what `environment_of(trial)` gives, which sets it"
            raise InvalidInput(
                f"trial {trial.number} has a value, but its user attribute {ENVIRONMENT!r} does "
                f"not say what it was measured under: {how} ({error})"
            ) from error

    def _says(self, trial: FrozenTrial) -> bool:
        """Whether a running trial says all that there is to say of where it is measured."""
        environment = self.environment
        return environment is None or environment.observed or ENVIRONMENT in trial.user_attrs

    def _settle(self, number: int) -> None:
        query = self._waiting.pop(number, None)
        if query is not None:
            self.optimizer.forget(query, failed=False)


def _says_nothing(trial: FrozenTrial) -> bool:
    """Whether a trial that failed did so for reasons other than its setting."""
    return any(trial.user_attrs.get(mark) for mark in (INTERRUPTED, BLAMELESS))


def _has_value(trial: FrozenTrial) -> bool:
    complete = trial.state == TrialState.COMPLETE and trial.value is not None
    return complete and bool(np.isfinite(trial.value))
