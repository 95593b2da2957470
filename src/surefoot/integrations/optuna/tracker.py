"""Synchronisation of an optimizer with the trials of an Optuna study."""

from __future__ import annotations

import weakref
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial, TrialState
from torch import Tensor

from surefoot.integrations.optuna.encoding import Encoding
from surefoot.integrations.optuna.environment import ENVIRONMENT, StudyEnvironment
from surefoot.types import InvalidInput

if TYPE_CHECKING:
    from optuna.study import Study

    from surefoot.optimizer import Optimizer
    from surefoot.types import Query

INTERRUPTED = "surefoot:interrupted"
"""User attribute of a failed trial whose run was interrupted, so that the failure is ignored."""
BLAMELESS = "surefoot:blameless"
"""User attribute of a failed trial that completed, but whose configuration is not the cause."""


class StudyTracker:
    """Keeps an optimizer up to date with a study; each trial is read once.

    Args:
        study: The study; only a weak reference is kept.
        encoding: Encoding of its search space.
        optimizer: Optimizer on the encoded space, without observations.
        sign: 1 to maximise, -1 to minimise.
        environment: Random environment of the study, if any.
    """

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
        self.numbers: list[int] = []  # of the trials whose values were told to the optimizer
        self._read_below = 0
        self._read: set[int] = set()  # numbers of read trials from `_read_below` on
        self._pending: dict[int, Query] = {}

    def matches(self, study: Study, search_space: Mapping[str, BaseDistribution]) -> bool:
        """Whether this tracks that study on that search space."""
        return self.is_of(study) and dict(search_space) == dict(self.encoding.distributions)

    def is_of(self, study: Study) -> bool:
        """Whether this tracks that study; after unpickling it is recognised by its name."""
        if self._study is None and self.study_name == study.study_name:
            self._study = weakref.ref(study)
        return self._study is not None and self._study() is study

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_study": None}

    def read(self, trials: Sequence[FrozenTrial]) -> None:
        """Tell the optimizer about finished trials, and register running ones as pending.

        Args:
            trials: All trials of the study, in order.

        Raises:
            InvalidInput: If a trial has a value but no environment; nothing is changed then.
        """
        fresh = [t for t in trials[self._read_below :] if t.number not in self._read]
        located = [(t, self.encoding.encode(t.params), self._environment(t)) for t in fresh]
        points, values, environments = [], [], []
        for trial, point, z in located:
            if trial.state.is_finished():
                self._read.add(trial.number)
                self._release(trial.number)
                if point is None:
                    continue
                if _has_value(trial):
                    points.append(point)
                    values.append(self.sign * float(trial.value or 0.0))
                    environments.append(z)
                    self.numbers.append(trial.number)
                elif trial.state != TrialState.PRUNED and not _is_ignored_failure(trial):
                    self.optimizer.forget(point, z)
            elif (
                point is not None
                and trial.number not in self._pending
                and self._environment_is_known(trial)
            ):
                self._pending[trial.number] = self.optimizer.expect(point, z)
        while self._read_below in self._read:
            self._read.remove(self._read_below)
            self._read_below += 1
        if points:
            known = [z for z in environments if z is not None]
            self.optimizer.tell_all(
                torch.stack(points), torch.tensor(values), torch.stack(known) if known else None
            )

    def propose(self, number: int) -> dict[str, Any]:
        """Next configuration, pending under the number of its trial."""
        self._release(number)
        query = self.optimizer.ask()
        self._pending[number] = query
        return self.encoding.decode(query.point)

    def environment_for(
        self, number: int, params: Mapping[str, Any], environment: StudyEnvironment, seed: int
    ) -> Tensor:
        """Environment (dz,) to measure a running trial under.

        It is the one proposed with the configuration; for a configuration that was not proposed,
        the most informative one about its risk.

        Args:
            number: Number of the trial.
            params: Its configuration.
            environment: Environment of the study.
            seed: Seed of a random draw, where there is nothing to go by.

        Returns:
            The environment z (dz,).
        """
        point, query = self.encoding.encode(params), self._pending.get(number)
        if query is not None and query.environment is not None:
            proposed = self.encoding.encode(self.encoding.decode(query.point))
            if point is None or (proposed is not None and torch.equal(point, proposed)):
                return query.environment.cpu()
        if point is None:
            return environment.draw(seed)
        self._release(number)
        if len(self.optimizer.history):
            query = self.optimizer.ask(arms=point.unsqueeze(0))
        else:
            query = self.optimizer.expect(point, environment.draw(seed))
        self._pending[number] = query
        return query.environment.cpu()  # type: ignore[union-attr]

    def _environment(self, trial: FrozenTrial) -> Tensor | None:
        """Environment of a trial, None in a study without one.

        A random one is substituted for a trial that has neither a value nor an environment.
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
                how = "measure under the one of `environment_of(trial)`, which sets it"
            raise InvalidInput(
                f"trial {trial.number} has a value, but its user attribute {ENVIRONMENT!r} does "
                f"not state its environment: {how} ({error})"
            ) from error

    def _environment_is_known(self, trial: FrozenTrial) -> bool:
        """Whether the point at which a running trial is measured is known completely."""
        environment = self.environment
        return environment is None or environment.observed or ENVIRONMENT in trial.user_attrs

    def _release(self, number: int) -> None:
        """Remove the pending query of a trial, without a failure."""
        query = self._pending.pop(number, None)
        if query is not None:
            self.optimizer.forget(query, failed=False)


def _is_ignored_failure(trial: FrozenTrial) -> bool:
    """Whether a failed trial did not fail because of its configuration."""
    return any(trial.user_attrs.get(mark) for mark in (INTERRUPTED, BLAMELESS))


def _has_value(trial: FrozenTrial) -> bool:
    complete = trial.state == TrialState.COMPLETE and trial.value is not None
    return complete and bool(np.isfinite(trial.value))
