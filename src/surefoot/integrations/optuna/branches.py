"""Branches of a conditional search space: trials that have the same parameters."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any

from optuna.distributions import BaseDistribution
from optuna.trial import FrozenTrial

from surefoot.integrations.optuna.common_space import NO_TRIALS
from surefoot.integrations.optuna.search_space import SearchSpace

_MOST = 16  # branches that are modelled, those with the most trials


@dataclass(frozen=True)
class Branch:
    """Trials of the same parameters.

    Args:
        space: Distributions of the parameters that vary, by name.
        constant: Values of the parameters that do not.
        trials: The trials.
    """

    space: dict[str, BaseDistribution]
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
    largest = sorted(grouped.values(), key=len, reverse=True)[:_MOST]
    return [_branch(group) for group in largest]


def constants_of(branches: Sequence[Branch]) -> dict[str, Any]:
    """Values by name of the parameters that do not vary, in any of the branches."""
    first, *others = (one.constant for one in branches)
    return {
        name: value
        for name, value in first.items()
        if all(name in one and one[name] == value for one in others)
    }


def missing_parameters(trials: Sequence[FrozenTrial], space: SearchSpace) -> dict[str, int]:
    """How many of the trials have no value within the distribution, by name of the parameter."""
    counts = {}
    for name, distribution in space.distributions.items():
        lacking = sum(
            name in space.active(trial.params) and not _has(trial, name, distribution)
            for trial in trials
        )
        if lacking:
            counts[name] = lacking
    return counts


def _branch(trials: list[FrozenTrial]) -> Branch:
    space = NO_TRIALS.after(trials).space.distributions
    constant = {name: value for name, value in trials[0].params.items() if name not in space}
    return Branch(space, constant, trials)


def _has(trial: FrozenTrial, name: str, distribution: BaseDistribution) -> bool:
    if name not in trial.params:
        return False
    from surefoot.integrations.optuna.encoding import Encoding

    one = Encoding.of({name: distribution})
    return one is None or one.encode(trial.params) is not None
