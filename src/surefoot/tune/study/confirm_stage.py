"""The confirm stage: the last runs of a study go to its best configurations and the defaults."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from surefoot._internal.numbers import CONFIDENT, FEWEST, ROUNDING
from surefoot.integrations.optuna.endings import is_ignored_failure
from surefoot.tune.comparison.paired_test import medians_text
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.trial_attributes import is_interrupted

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief, StudyRecommendation

CONFIRM = "surefoot:confirm"
"""Attribute of a study: the candidates. Of a trial: the rounds of the stage that it belongs to."""


def confirm_runs(study_file: StudyFile, rounds: int) -> int:
    """Runs of the confirm stage of so many rounds in all; 0 where there is none."""
    if not study_file.scheme.is_replayed:
        return 0
    runs = int(study_file.confirm.share * rounds + ROUNDING)
    return runs if runs >= FEWEST else 0


@dataclass(frozen=True)
class ConfirmStage:
    """A stage with its candidates, which are measured in turn until one is clearly worse.

    Args:
        study_file: The study file.
        rounds: Rounds of the study at its end, by which it is recognised.
        candidates: The configurations, the defaults among them if there are any.
        trials: Its trials so far, without interrupted ones.
    """

    study_file: StudyFile
    rounds: int
    candidates: tuple[dict[str, Any], ...]
    trials: tuple[FrozenTrial, ...]

    @classmethod
    def current(
        cls, study_file: StudyFile, attributes: Mapping[str, Any], trials: Sequence[FrozenTrial]
    ) -> ConfirmStage | None:
        """The stage that the study is in or has ended with; None if the search went on after it.

        It begins with its first measurement.
        """
        stored = attributes.get(CONFIRM)
        if not isinstance(stored, dict):
            return None
        trials = [one for one in trials if not is_interrupted(one)]
        stage = cls.of(study_file, stored, trials)
        search = [t.number for t in trials if CONFIRM not in t.user_attrs and t.params]
        measured = [t.number for t in stage.trials if t.state == TrialState.COMPLETE]
        return stage if measured and max(search, default=-1) < min(measured) else None

    @classmethod
    def of(
        cls, study_file: StudyFile, stored: dict[str, Any], trials: Sequence[FrozenTrial]
    ) -> ConfirmStage:
        """The stage as it is recorded with a study, with its trials among some."""
        rounds = stored.get("rounds", 0)
        mine = tuple(one for one in trials if one.user_attrs.get(CONFIRM) == rounds)
        return cls(study_file, rounds, tuple(stored.get("candidates", ())), mine)

    def next(self, model: StudyBelief) -> dict[str, Any]:
        """The candidate to measure next: of those left the one with the fewest runs."""
        left = self._left(model)
        runs = [len(self._runs(self.candidates[index])) for index in left]
        fewest = [index for index, count in zip(left, runs, strict=True) if count == min(runs)]
        seed = [self.study_file.study.seed, self.rounds, len(self.trials)]
        return self.candidates[int(np.random.default_rng(seed).choice(fewest))]

    def recommend(self, model: StudyBelief) -> StudyRecommendation:
        """The best of the candidates that neither fail nor are unstable.

        Where the runs of the stage have left no candidate that satisfies the constraints and is not
        known to be worse than what the model prefers by now, it is the latter. If nothing satisfies
        them, that is the configuration of all measured that comes nearest.
        """
        best = max(self._assessed(model, 0.5).values(), key=model.preference)
        other = recommended(model)
        if not best.feasible or (other.feasible and is_worse(model, best.params, other.params)):
            return other
        return best

    def statement(self, params: dict[str, Any]) -> str:
        """The median of a candidate by its runs in the stage, against the defaults, in a sentence.

        It is true with probability 0.95 for whichever candidate is asked about, since the runs of
        the stage come after all have been chosen. Empty while there are too few.
        """
        study_file, defaults = self.study_file, self.study_file.defaults
        return medians_text(
            ("its median in the confirm stage", self._values(params)),
            ("that of the defaults", self._values(None if params == defaults else defaults)),
            study_file.study.direction == "minimize",
            study_file.units.value,
            number=len(self.candidates),
        )

    def _values(self, params: dict[str, Any] | None) -> np.ndarray:
        """The runs (n,) of a candidate before the first unfinished one; failed ones are infinite.

        Those after it would be a selection of the short ones.
        """
        worst = np.inf if self.study_file.study.direction == "minimize" else -np.inf
        ended = itertools.takewhile(lambda one: one.state.is_finished(), self._runs(params))
        return np.array([worst if one.value is None else one.value for one in ended])

    def _assessed(self, model: StudyBelief, failing: float) -> dict[int, StudyRecommendation]:
        """Predictions for the candidates that are not unstable and do not fail, or for all.

        Args:
            model: The model of the study.
            failing: Probability to fail in most runs, above which one counts as failing.
        """
        working = [
            index
            for index, one in enumerate(self.candidates)
            if self._failing(one) <= failing + ROUNDING and one not in model.unstable
        ]
        reserves = [i for i in working if self.candidates[i] != self.study_file.defaults]
        for index in reserves[self.study_file.confirm.candidates :]:
            working.remove(index)
        chosen = working or list(range(len(self.candidates)))
        assessed = model.assess([self.candidates[index] for index in chosen])
        return dict(zip(chosen, assessed, strict=True))

    def _left(self, model: StudyBelief) -> list[int]:
        """The defaults, and candidates not known to fail or to be worse than the best one."""
        assessed = self._assessed(model, CONFIDENT)
        best = max(assessed, key=lambda index: model.preference(assessed[index]))
        return [
            index
            for index in assessed
            if self.candidates[index] == self.study_file.defaults
            or index == best
            or not self._runs(self.candidates[index])
            or not is_worse(model, self.candidates[index], self.candidates[best])
        ]

    def _runs(self, params: dict[str, Any] | None) -> list[FrozenTrial]:
        """The runs of a candidate but for those that say nothing about it."""
        return [one for one in self.trials if one.params == params and not is_ignored_failure(one)]

    def _failing(self, params: dict[str, Any]) -> float:
        """Probability that it fails in most runs, by those in this stage and a uniform prior."""
        from scipy import special

        ended = [trial.state for trial in self._runs(params) if trial.state.is_finished()]
        failed = ended.count(TrialState.FAIL)
        return float(special.betainc(1 + len(ended) - failed, 1 + failed, 0.5))


def is_worse(model: StudyBelief, params: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether the interval of the difference says that a configuration is worse than another."""
    _, lower, upper = model.difference(params, other)
    return upper < 0.0 if model.is_maximised else lower > 0.0


def recommended(model: StudyBelief, given: Mapping[str, Any] | None = None) -> StudyRecommendation:
    """Recommendation of a model; its `feasible` says what would be a warning of the library.

    Args:
        model: The model of the study.
        given: Values of the given variables, by name.
    """
    with warnings.catch_warnings(action="ignore"):
        return model.recommend(given)
