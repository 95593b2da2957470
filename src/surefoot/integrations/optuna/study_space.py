"""Which parameters of a study are modelled: those that were declared, or those of its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from surefoot._internal import checks
from surefoot.integrations.optuna.common_space import NO_TRIALS, CommonSpace
from surefoot.integrations.optuna.search_space import space_of
from surefoot.parameters import Space
from surefoot.types import InvalidInput


@dataclass(frozen=True, eq=False)
class Declared:
    """Parameters that were declared.

    Args:
        space: Space of those that vary, by name in order.
        names: Names of all of them.
    """

    space: Space
    names: frozenset[str]

    @property
    def has_branches(self) -> bool:
        """Whether trials with different parameters may need models of their own."""
        return not (self.space.conditions or self.space.constraints)

    def of_study(self, study: Study) -> CommonSpace:
        """The space now; no trial is read."""
        return self.common(())

    def common(self, trials: Sequence[FrozenTrial]) -> CommonSpace:
        """The space, whatever the trials are."""
        return CommonSpace.declared(self.space)

    def completed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The configuration, where given values leave nothing to choose; else empty."""
        return self.space.restricted(given) if self.space.is_complete(given) else {}

    def check_given(self, given: Mapping[str, Any]) -> None:
        """Raise `InvalidInput` if no configuration with given values satisfies the rules."""
        if self.space.constraints and given and not self.space.is_complete(given):
            from surefoot.integrations.optuna.choosable import choosable

            choosable(self.space.encoding, given, {})

    def check_guess(self, guess: Mapping[str, Any]) -> None:
        """Raise `InvalidInput` if a guess is of other parameters, or out of their ranges."""
        if guess:
            known = self.space.encoding
            known.part(known.box, guess)


class OfTrials:
    """Parameters that finished trials have in common, or that conditions explain.

    The space of the last trials is kept where that of more trials is the same.
    """

    names: ClassVar[frozenset[str]] = frozenset()
    has_branches: ClassVar[bool] = True

    def __init__(self) -> None:
        self._last = NO_TRIALS

    def of_study(self, study: Study) -> CommonSpace:
        """The space of the trials of a study so far."""
        return self.common(study.get_trials(deepcopy=False))

    def common(self, trials: Sequence[FrozenTrial]) -> CommonSpace:
        """The space of trials."""
        self._last = self._last.after(trials)
        return self._last

    def completed(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing: the trial may ask for other parameters."""
        return {}

    def check_given(self, given: Mapping[str, Any]) -> None:
        """There are no rules."""

    def check_guess(self, guess: Mapping[str, Any]) -> None:
        """There is no space yet: names that no trial has are said by the search."""


StudySpace = Declared | OfTrials


def study_space(search_space: Mapping[str, BaseDistribution] | Space | None) -> StudySpace:
    """The parameters of a search space; those of the trials if it is None.

    Raises:
        InvalidInput: If it has neither named parameters nor distributions by name.
    """
    if search_space is None:
        return OfTrials()
    right = isinstance(search_space, Space) or (
        isinstance(search_space, Mapping)
        and all(
            isinstance(name, str) and isinstance(one, BaseDistribution)
            for name, one in search_space.items()
        )
    )
    if not right:
        raise InvalidInput(
            f"`search_space` is {checks.shown(search_space)}, expected a `parameters.Space`, or "
            'distributions by name, such as {"x": optuna.distributions.FloatDistribution(0, 1)}.'
        )
    space = space_of(search_space)
    in_order = {name: space.parameters[name] for name in sorted(space.parameters)}
    names = search_space if isinstance(search_space, Mapping) else in_order
    return Declared(Space(in_order, space.constraints), frozenset(names))
