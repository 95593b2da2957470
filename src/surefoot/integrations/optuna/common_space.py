"""Parameters of the trials of a study, where ranges may have been changed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, TypeAlias

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from surefoot._internal.numbers import ROUNDING
from surefoot.integrations.optuna.inferred_conditions import inferred_conditions
from surefoot.integrations.optuna.search_space import SearchSpace
from surefoot.types import InvalidInput

LEAST = 2  # complete trials that tell what varies

Ranges: TypeAlias = Mapping[str, BaseDistribution]
"""Distributions by parameter name, of which the values of a trial are to be."""


@dataclass(frozen=True)
class CommonSpace:
    """Space of a study's parameters, and what can be chosen of it now.

    Args:
        space: The space that is modelled, in which all trials lie whose values were within their
            ranges.
        ranges: Distributions that the objective function has asked for last, by name.
        complete: The complete trials that it was found from.
    """

    space: SearchSpace
    ranges: Ranges
    complete: Sequence[FrozenTrial] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "complete": ()}  # a copy would find other trials

    @classmethod
    def declared(cls, space: SearchSpace) -> CommonSpace:
        """A space that was declared."""
        return cls(space, space.distributions)

    def after(self, trials: Sequence[FrozenTrial]) -> CommonSpace:
        """The varying parameters of complete trials, by name; this space if they are the same.

        They are those that all have in common, and the others too if conditions explain which
        trials have them.

        Args:
            trials: Trials of a study, in order.

        Returns:
            The space; of a number whose range was changed, the widest range.
        """
        complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        same = 0 < len(complete) == len(self.complete) and all(map(is_, complete, self.complete))
        space = self.space if same else _space(complete, self.space)
        ranges: dict[str, BaseDistribution] = {}
        for trial in reversed(trials):
            if len(ranges) == len(space.names):
                break
            for name, one in trial.distributions.items():
                if type(one) is type(space.distributions.get(name)):
                    ranges.setdefault(name, one)
        return CommonSpace(space, {name: ranges[name] for name in space.names}, complete)

    @property
    def not_in_common(self) -> str:
        """Parameters that vary and not all complete trials have alike; empty if a model has any."""
        if self.ranges or len(self.complete) < LEAST:
            return ""
        kinds: dict[str, set[str]] = {}
        for trial in self.complete:
            for name, one in trial.distributions.items():
                if not one.single():
                    kinds.setdefault(name, set()).add(type(one).__name__)
        return ", ".join(f"{name}: {' and '.join(sorted(of))}" for name, of in kinds.items())

    def limited_to(self, names: Sequence[str]) -> CommonSpace:
        """The space of some of its parameters."""
        if {*names} >= {*self.space.names}:
            return self
        space = self.space.limited_to(names)
        return CommonSpace(space, {name: self.ranges[name] for name in space.names})


NO_TRIALS = CommonSpace(SearchSpace(), {})
"""The space of a study without trials."""


def nearest_in(distribution: BaseDistribution, value: Any) -> Any:
    """The value of a distribution that is nearest to a value of a wider one."""
    if isinstance(distribution, CategoricalDistribution) or distribution._contains(value):
        return value
    low, high, step = distribution.low, distribution.high, distribution.step
    value = min(max(value, low), high)
    if step is not None:
        value = min(low + round((value - low) / step) * step, high)
    return value


def _of_some(
    complete: Sequence[FrozenTrial], common: Mapping[str, BaseDistribution]
) -> dict[str, BaseDistribution]:
    """Distributions of the parameters that not all trials have; none if one cannot be modelled."""
    found: dict[str, BaseDistribution] = {}
    for trial in complete:
        for name, one in trial.distributions.items():
            if name not in common:
                union = _union(found.get(name, one), one)
                if union is None or union.single():
                    return {}
                found[name] = union
    return found


def _space(complete: Sequence[FrozenTrial], before: SearchSpace) -> SearchSpace:
    """The space of trials, that of before if it is the same; without conditions to be left out."""
    widest = dict(complete[-1].distributions) if complete else {}
    for trial in complete:
        if trial.distributions != widest:
            widest = _widened(widest, trial.distributions)
    partly = _of_some(complete, widest)
    when = (inferred_conditions(complete, widest, partly) or {}) if partly else {}
    widest |= partly if when else {}
    scales = {name: widest[name] for name in sorted(widest) if not widest[name].single()}
    if (before.distributions, before.when) == (scales, when):
        return before
    try:
        return SearchSpace.of(scales, when)
    except InvalidInput:
        return SearchSpace.of({name: one for name, one in scales.items() if name not in when})


def _widened(
    known: Mapping[str, BaseDistribution], others: Mapping[str, BaseDistribution]
) -> dict[str, BaseDistribution]:
    """The distributions of common names, each of which includes both."""
    common = {name: _union(one, others[name]) for name, one in known.items() if name in others}
    return {name: one for name, one in common.items() if one is not None}


def _union(one: BaseDistribution, other: BaseDistribution) -> BaseDistribution | None:
    """The distribution that includes both; None if they are of different kinds."""
    if one == other:
        return one
    if type(one) is not type(other) or not isinstance(one, FloatDistribution | IntDistribution):
        return None
    if one.log != other.log:
        return None
    low, high = min(one.low, other.low), max(one.high, other.high)
    step = _common_step(one, other)
    if isinstance(one, IntDistribution):
        return IntDistribution(int(low), int(high), log=one.log, step=int(step or 1))
    return FloatDistribution(low, high, log=one.log, step=step)


def _common_step(
    one: FloatDistribution | IntDistribution, other: FloatDistribution | IntDistribution
) -> float | None:
    """The step of both grids, None unless both are of one grid."""
    if one.step is None or one.step != other.step:
        return None
    shift = (other.low - one.low) / one.step
    return one.step if math.isclose(shift, round(shift), abs_tol=ROUNDING) else None
