"""The purpose of the next trial: the search, a re-measurement, or the confirm stage."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.trial import FrozenTrial, TrialState

from surefoot._internal.numbers import FEWEST
from surefoot.tune.definition.study_file import StudyFile
from surefoot.tune.study.confirm_stage import (
    CONFIRM,
    ConfirmStage,
    confirm_runs,
    is_worse,
    recommended,
)
from surefoot.tune.study.early_stop import (
    EndOfSearch,
    check_share,
    check_stop,
    earliest_stop,
    end_of_share,
    stored_stop,
)
from surefoot.tune.study.state import StudyState
from surefoot.tune.study.trial_attributes import ended_as, is_interrupted, is_round
from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.integrations.optuna import StudyBelief

REMEASURED = "surefoot:remeasured"
"""User attribute of a trial that measures a known configuration again: which one it is."""


def without_effect(study_file: StudyFile, rounds: int) -> str:
    """A sentence if the search of so many rounds is over before `[stop]` can end it; else empty."""
    earliest = earliest_stop(len(study_file.parameters))
    if study_file.stop is None or _searching(study_file, rounds) > earliest:
        return ""
    # The confirm stage begins with several rounds at once, so that more may leave fewer to search.
    late = [n for n in range(rounds, 100 * earliest) if _searching(study_file, n) <= earliest]
    wanted = 1 + max(late, default=rounds)
    before = ", before the confirm stage" if confirm_runs(study_file, wanted) else ""
    return (
        f"[stop] cannot end a search of {rounds} rounds: it is decided after {earliest} at the "
        f"earliest{before}; expected at least {wanted} rounds, or no [stop]"
    )


def _searching(study_file: StudyFile, rounds: int) -> int:
    """Rounds without those of the confirm stage."""
    return rounds - confirm_runs(study_file, rounds)


@dataclass(frozen=True)
class Planned:
    """A trial of a known configuration.

    Args:
        params: The configuration.
        attributes: User attributes of the trial, which say what it is for.
    """

    params: dict[str, Any]
    attributes: dict[str, Any]


@dataclass(frozen=True)
class Schedule:
    """The trials of a study in order of their beginning, up to its number of rounds.

    Args:
        state: The study.
        rounds: Rounds to reach unless the search stops early.
    """

    state: StudyState
    rounds: int

    def target(self) -> int:
        """Rounds to reach: fewer than those asked for once the search has stopped early."""
        return min(self.rounds, self._end_of_stage())

    def checked(self, begun: int, seconds_left: float = math.inf) -> Schedule:
        """The schedule once it is recorded whether the search ends.

        Args:
            begun: Rounds that have begun.
            seconds_left: Seconds that are left of the study's budget, infinite without one.
        """
        if self._is_confirming(begun):
            return self
        share, state = self.state.study_file.confirm.share, self.state
        runs, has_stage = int(share / (1.0 - share) * begun), self._has_stage
        state = check_stop(state, self.rounds, begun, max(FEWEST, runs) if has_stage else 0)
        if has_stage and runs >= FEWEST and seconds_left > 0.0:
            state = check_share(state, begun, runs, seconds_left)
        return replace(self, state=state)

    def planned(self, begun: int) -> Planned | None:
        """The known configuration to measure next, given the rounds begun; None for the search."""
        try:
            if self._is_confirming(begun):
                end = self._end_of_stage()
                return Planned(enter_stage(self.state, end).next(self.state.belief), {CONFIRM: end})
            return self._again(begun)
        except NotReady:
            return None

    def _again(self, begun: int) -> Planned | None:
        """At the end of a period the defaults, in its middle the recommendation.

        The latter only where the search measures no configuration again of its own accord; neither
        while it is measured.
        """
        study_file = self.state.study_file
        every, defaults = study_file.confirm.every, study_file.defaults
        if not every or not begun or not study_file.scheme.is_replayed:
            return None
        if begun % every == 0 and defaults is not None:
            again = Planned(defaults, {REMEASURED: "default"})
        elif begun % every == every // 2 and study_file.repeats.most == 1:
            again = Planned(self.state.recommendation.params, {REMEASURED: "recommended"})
        else:
            return None
        trials = self.state.trials
        since = [-1] * every + [one.number for one in trials if one.state.is_finished()]
        # What began before so many ended may never be told.
        waits = any(
            one.state == TrialState.RUNNING and one.params == again.params
            for one in trials
            if one.number > since[-every]
        )
        return None if waits else again

    @property
    def end(self) -> EndOfSearch | None:
        """The first decision to end the search before all rounds, if there was one."""
        ends = stored_stop(self.state, self.rounds), end_of_share(self.state)
        return min(
            (one for one in ends if one is not None), key=lambda one: one.begun, default=None
        )

    @property
    def _has_stage(self) -> bool:
        """Whether a confirm stage ends so many rounds."""
        return confirm_runs(self.state.study_file, self.rounds) > 0

    def _end_of_stage(self) -> int:
        """Rounds at the end of the confirm stage, which may be more than are asked for now."""
        return self.rounds if self.end is None else self.end.target

    def _is_confirming(self, begun: int) -> bool:
        if self.end is not None:
            return begun >= self.end.begun
        return self._has_stage and begun >= _searching(self.state.study_file, self.rounds)


def enter_stage(state: StudyState, rounds: int) -> ConfirmStage:
    """The stage that ends at so many rounds; its candidates are recorded when it begins."""
    stored = state.attributes.get(CONFIRM)
    if not isinstance(stored, dict) or stored.get("rounds") != rounds:
        left = rounds - sum(map(is_round, state.trials))
        stored = {"rounds": rounds, "candidates": _candidates(state, left)}
        state.with_attribute(CONFIRM, stored)
    trials = [one for one in state.trials if not is_interrupted(one)]
    return ConfirmStage.of(state.study_file, stored, trials)


def _candidates(state: StudyState, runs: int) -> list[dict[str, Any]]:
    """The recommendation, those with the largest expected improvement on it, and the defaults.

    They are no more than there are runs, so that each is measured.

    A configuration that is already known to be worse, is unstable or has failed in a third of its
    runs is no candidate.
    """
    study_file, model = state.study_file, state.belief
    space, measured = study_file.space, list[dict[str, Any]]()
    for trial in state.measured:
        params = space.restricted(trial.params)
        if (
            params not in measured
            and params not in model.unstable
            and not _often_fails(params, state.trials)
        ):
            measured.append(params)
    if study_file.repeats.most > 1 and measured:
        # The best known one has replicates, which another one would begin without.
        best = max(model.assess(measured), key=model.preference).params
    else:
        best = recommended(model).params
    chosen = [space.restricted(best)]
    measured = [params for params in measured if params not in chosen]
    gains = _expected_gains(model, measured, chosen[0])
    order = [int(index) for index in np.argsort(-gains, kind="stable")]
    # With repeats, as many again in reserve, for those that turn out to be unstable.
    reserves = study_file.confirm.candidates if study_file.repeats.most > 1 else 0
    wanted = min(study_file.confirm.candidates, runs - (study_file.defaults is not None)) - 1
    wanted = max(wanted, 0) + reserves
    challengers = [measured[index] for index in order if gains[index] > 0.0]
    chosen += itertools.islice(
        (params for params in challengers if not is_worse(model, params, chosen[0])), wanted
    )
    if study_file.defaults is not None and study_file.defaults not in chosen:
        chosen.append(study_file.defaults)
    return chosen


def _expected_gains(
    model: StudyBelief, settings: list[dict[str, Any]], params: dict[str, Any]
) -> np.ndarray:
    """Expected improvements (n,) of configurations on another one, without noise."""
    from surefoot.beliefs import gains  # loads torch

    if not settings:
        return np.zeros(0)
    return (
        gains.expected(model.belief, model.points(settings), model.points([params])[0])
        .cpu()
        .numpy()
    )


def _often_fails(params: dict[str, Any], trials: Sequence[FrozenTrial]) -> bool:
    """Whether a third of the runs of a configuration have failed, or more."""
    states = ended_as(params, trials)
    return 3 * states.count(TrialState.FAIL) >= max(len(states), 1)
