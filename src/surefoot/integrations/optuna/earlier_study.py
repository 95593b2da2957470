"""An older study of a related system, in the search space of a new one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import islice
from typing import TYPE_CHECKING, Any

from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna.common_space import LEAST
from surefoot.integrations.optuna.endings import trials_of
from surefoot.types import OBJECTIVE, InvalidInput, Measurement

if TYPE_CHECKING:
    from surefoot.beliefs import Belief
    from surefoot.parameters.encoding import Encoding


@dataclass(frozen=True)
class OlderStudy:
    """An older study of a related system.

    Args:
        name: Its name.
        direction: Its direction.
        trials: Its completed trials.
    """

    name: str
    direction: StudyDirection
    trials: Sequence[FrozenTrial]

    @classmethod
    def of(cls, study: Study | OlderStudy) -> OlderStudy:
        """An older study, as it is now; one that is known already is itself.

        Raises:
            InvalidInput: If it is no study, or has several objectives.
        """
        if isinstance(study, OlderStudy):
            return study
        if not isinstance(study, Study):
            raise InvalidInput(
                f"`prior` is {study!r}, expected a study: pass `optuna.load_study(...)`."
            )
        if len(study.directions) > 1:
            raise InvalidInput("`prior` has several objectives, expected one.")
        trials = [one for one in trials_of(study) if one.state == TrialState.COMPLETE]
        return cls(study.study_name, study.direction, trials)

    def with_params(self, converted: Callable[[Mapping[str, Any]], dict[str, Any]]) -> OlderStudy:
        """The study with the parameters of its trials converted, as to other units.

        Args:
            converted: Function that returns new values by name from those of a trial.
        """
        trials = [copy(trial) for trial in self.trials]
        for trial in trials:
            trial.params = converted(trial.params)
        return replace(self, trials=trials)

    def belief(self, encoding: Encoding, direction: StudyDirection, log: bool) -> Belief:
        """Belief of the values of its trials.

        Args:
            encoding: Encoding of the new search space.
            direction: Direction of the new study.
            log: Whether logarithms are modelled.

        Raises:
            InvalidInput: If the new study has another direction, or fewer than two trials have
                values in its search space.
        """
        from surefoot.algorithms import robust_ucb

        self.check(encoding, direction, log)
        optimizer = robust_ucb(encoding.box, effects=())
        optimizer.record([*self.measured(encoding, direction, log)])
        return optimizer.belief()

    def check(self, encoding: Encoding, direction: StudyDirection, log: bool) -> None:
        """Refuse a study of which a new one learns nothing; see `belief`."""
        number = len([*islice(self.measured(encoding, direction, log), LEAST)])
        if number < LEAST:
            names = ", ".join(encoding.space.parameters)
            raise InvalidInput(
                f"`prior`, the study {self.name!r}, has {number} finished trials with values of "
                f"{names} in their ranges{' and a value above 0, as `log` needs' * log}, expected "
                f"at least {LEAST}: take a study of the same parameters."
            )

    def measured(
        self, encoding: Encoding, direction: StudyDirection, log: bool
    ) -> Iterator[Measurement]:
        """The values of its trials in a new search space, as rewards.

        Args:
            encoding: Encoding of the new search space.
            direction: Direction of the new study.
            log: Whether logarithms are modelled.

        Raises:
            InvalidInput: If the new study has another direction.
        """
        if direction != self.direction:
            raise InvalidInput(
                f"`prior` is to {self.direction.name.lower()}, expected the direction of the "
                f"study, {direction.name.lower()}."
            )
        sign = 1.0 if direction == StudyDirection.MAXIMIZE else -1.0
        for trial in self.trials:
            point, value = encoding.encode(trial.params), trial.value
            if point is None or value is None or not math.isfinite(value) or (log and value <= 0.0):
                continue
            yield Measurement(point, {OBJECTIVE: sign * (math.log(value) if log else value)})
