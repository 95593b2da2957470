"""Which parameters of a study are modelled: those that were declared, or those of its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from surefoot._internal import checks
from surefoot.integrations.optuna.common_space import NO_TRIALS, CommonSpace
from surefoot.integrations.optuna.search_space import SearchSpace
from surefoot.parameters import ParameterConstraint
from surefoot.types import InvalidInput


@dataclass(frozen=True, eq=False)
class Declared:
    """Parameters that were declared.

    Args:
        space: Space of those that vary, by name in order.
        names: Names of all of them.
    """

    space: SearchSpace
    names: frozenset[str]

    @property
    def has_branches(self) -> bool:
        """Whether trials with different parameters may need models of their own."""
        return not (self.space.when or self.space.require)

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
        if self.space.require and given and not self.space.is_complete(given):
            from surefoot.integrations.optuna.encoding import Encoding

            Encoding(self.space, self.space.named.encoding).part(given, {})

    def check_guess(self, guess: Mapping[str, Any]) -> None:
        """Raise `InvalidInput` if a guess is of other parameters, or out of their ranges."""
        if guess:
            known = self.space.named.encoding
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


def study_space(
    search_space: Mapping[str, BaseDistribution] | SearchSpace | None,
    require: Sequence[ParameterConstraint],
) -> StudySpace:
    """The parameters of a search space with its rules; those of the trials if it is None.

    Raises:
        InvalidInput: If it has no distributions by name, or there are rules without it.
    """
    if search_space is None:
        if require:
            raise InvalidInput(
                f"`require` is {checks.shown(require)} without a `search_space`, expected the "
                "distributions of the parameters that the rules are about: pass both."
            )
        return OfTrials()
    _check(search_space)
    space = SearchSpace.of(search_space)
    if space.require:
        require = [*space.require, *require]
    if require:
        space = replace(space, require=require)
    varying, ordered = space.varying, sorted(space.varying_names)
    if ordered != [*varying.scales]:
        varying = replace(varying, scales={name: varying.scales[name] for name in ordered})
    return Declared(varying, frozenset(space.scales))


def _check(search_space: object) -> None:
    """Refuse anything but distributions by name."""
    if isinstance(search_space, SearchSpace):
        return
    right = isinstance(search_space, Mapping) and all(
        isinstance(name, str) and isinstance(d, BaseDistribution)
        for name, d in search_space.items()
    )
    if not right:
        raise InvalidInput(
            f"`search_space` is {search_space!r}, expected distributions by name, such as "
            '{"x": optuna.distributions.FloatDistribution(0, 1)}.'
        )
