"""Beliefs of a study's objectives, from its trials."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from surefoot.integrations.optuna.attributes import ENVIRONMENT
from surefoot.integrations.optuna.common_space import NO_TRIALS, CommonSpace
from surefoot.integrations.optuna.search import Search
from surefoot.integrations.optuna.search_space import distributions, space_of
from surefoot.integrations.optuna.study_space import StudySpace
from surefoot.parameters import Space
from surefoot.parameters.parameter import shared_name
from surefoot.types import NotReady

if TYPE_CHECKING:
    from surefoot.integrations.optuna.study_belief import StudyBelief
    from surefoot.integrations.optuna.tracker import StudyTracker
    from surefoot.parameters.encoding import Encoding


_MOST = 16  # branches that are modelled, those with the most trials


@dataclass(frozen=True)
class Branch:
    """Trials of the same parameters.

    Args:
        common: Space of the parameters that vary, and their ranges now.
        constant: Values of the parameters that do not.
        trials: The trials.
    """

    common: CommonSpace
    constant: dict[str, Any]
    trials: list[FrozenTrial]


def branches_of(trials: Sequence[FrozenTrial], numbers: Container[int]) -> list[Branch]:
    """Group trials by the names of their parameters.

    Args:
        trials: Trials of a study.
        numbers: Numbers of those to group.

    Returns:
        The branches with the most trials, largest first.
    """
    grouped: dict[frozenset[str], list[FrozenTrial]] = {}
    for trial in trials:
        if trial.number in numbers:
            grouped.setdefault(frozenset(trial.distributions), []).append(trial)
    return [_branch(group) for group in sorted(grouped.values(), key=len, reverse=True)[:_MOST]]


def constants_of(branches: Sequence[Branch]) -> dict[str, Any]:
    """Values by name of the parameters that do not vary, in any of the branches."""
    first, *others = (one.constant for one in branches)
    return {
        name: value
        for name, value in first.items()
        if all(name in one and one[name] == value for one in others)
    }


def missing_parameters(trials: Sequence[FrozenTrial], space: Space) -> dict[str, int]:
    """How many of the trials have no value within the distribution, by name of the parameter."""
    counts = {
        name: sum(
            name in space.active(trial.params) and not _has(trial, name, distribution)
            for trial in trials
        )
        for name, distribution in distributions(space).items()
    }
    return {name: count for name, count in counts.items() if count}


def _branch(trials: list[FrozenTrial]) -> Branch:
    common, first = NO_TRIALS.after(trials), trials[0].params
    constant = {
        name: one
        for name, one in first.items()
        if name not in common.ranges and all(trial.params[name] == one for trial in trials)
    }
    return Branch(common, constant, trials)


def _has(trial: FrozenTrial, name: str, distribution: BaseDistribution) -> bool:
    if (own := shared_name(name)) not in trial.params:
        return False
    one = space_of({own: distribution})
    return not one.parameters or one.encoding.encode(trial.params) is not None


@dataclass(frozen=True, eq=False)
class Modelling:
    """Forms beliefs of the objectives of a study.

    Args:
        search: The search.
        space: Which parameters are modelled.
    """

    search: Search
    space: StudySpace

    def encoding_of(self, study: Study, trials: Sequence[FrozenTrial]) -> Encoding:
        """The encoding of the space that is modelled.

        Raises:
            NotReady: If there is nothing to model.
        """
        space = self.space.common(trials).space
        complete = any(trial.state == TrialState.COMPLETE for trial in trials)
        if not space.parameters and complete:
            raise NotReady(
                f"the trials of study {study.study_name!r} have no varying parameter in "
                "common, so there is nothing to model: pass the `search_space`."
            )
        if not (space.parameters and complete):
            raise _no_value(study)
        return space.encoding

    def belief(
        self,
        study: Study,
        tracker: StudyTracker,
        trials: Sequence[FrozenTrial],
        objective: int = 0,
    ) -> StudyBelief:
        """Belief of an objective from the trials of a study, and from those of each branch."""
        space = tracker.encoding.space
        try:
            found = self._belief_of(tracker, trials, self.space.common(trials))
        except NotReady as error:
            complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
            raise _no_value(study, complete, space, self._wanted) from error
        if not self.space.has_branches:
            return found
        branches = branches_of(trials, {*found.trials})
        known = {*map(shared_name, space.parameters)}
        covered = all(one.common.ranges.keys() <= known for one in branches)
        if space.conditions and covered:
            return replace(found, constant=constants_of(branches))
        whole = max(branches, key=lambda one: len(one.trials[0].params))
        if (
            covered
            if len(branches) > 1
            else distributions(whole.common.space) == distributions(space)
        ):
            return replace(found, constant=whole.constant)
        return replace(found, branches=lambda: self._branch_models(study, branches, objective))

    @property
    def _wanted(self) -> str:
        """What a finished trial must have."""
        if self.search.log:
            return "a finite value above 0: leave out `log=True`"
        named = "" if self.search.environment is None else f" and its {ENVIRONMENT!r}"
        return f"a finite value{named}"

    def _belief_of(
        self, tracker: StudyTracker, trials: Sequence[FrozenTrial], common: CommonSpace
    ) -> StudyBelief:
        """Belief from the trials of a study, in its units."""
        from surefoot.integrations.optuna.study_belief import StudyBelief

        found = tracker.belief(trials)
        return StudyBelief(
            found.belief,
            tracker.encoding,
            found.numbers,
            found.configuration,
            tracker.optimizer.method.reporting.by,
            common,
            self.search.predicted,
            declared=self.search.problem.objectives,
        )

    def _branch_models(
        self, study: Study, branches: list[Branch], objective: int
    ) -> list[StudyBelief]:
        """A model of each branch with all its parameters, from its own trials."""
        models = []
        for branch in branches:
            common = branch.common
            if common.space.parameters:
                tracker = self.search.tracker(study, common.space.encoding, 0, [objective])
                found = self._belief_of(tracker, branch.trials, common)
                models.append(replace(found, constant=branch.constant))
        return models


def _no_value(
    study: Study,
    complete: Sequence[FrozenTrial] = (),
    space: Space | None = None,
    wanted: str = "",
) -> NotReady:
    """Why no finished trial can be modelled, and what to do."""
    missing = {} if space is None else missing_parameters(complete, space)
    number = len(complete)
    if not number:
        return NotReady(
            f"study {study.study_name!r} has no finished trial with a value yet: run some trials "
            "first."
        )
    if not missing:
        return NotReady(
            f"none of the {number} finished trials of study {study.study_name!r} has {wanted}."
        )
    counts = ", ".join(f"{name!r} in {count}" for name, count in missing.items())
    return NotReady(
        f"none of the {number} finished trials of study {study.study_name!r} has a value for every "
        f"parameter of `search_space`; missing or out of range: {counts}. Pass only parameters "
        "that every trial has as `search_space`, or leave it out."
    )
