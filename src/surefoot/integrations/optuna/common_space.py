"""Parameters of the trials of a study, where ranges may have been changed."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import is_
from typing import Any, NamedTuple, Self, TypeAlias

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import FrozenTrial, TrialState

from surefoot._internal.numbers import ROUNDING
from surefoot.integrations.optuna.search_space import distributions, space_of
from surefoot.parameters import Space
from surefoot.parameters.parameter import apart, shared_name
from surefoot.types import InvalidInput


def inferred_conditions(
    trials: Sequence[FrozenTrial | _Asked],
    common: Mapping[str, BaseDistribution],
    names: Collection[str],
) -> dict[str, str] | None:
    """Conditions under which the trials have some parameters.

    Each follows from one other parameter, which may be conditional itself: a choice, or an integer
    from which on and up to which trials have it.

    Args:
        trials: Completed trials.
        common: Distributions by name of the parameters that all of them have.
        names: Names of the others, to be explained.

    Returns:
        Conditions by name, which hold in all trials; None unless they explain every parameter.
    """
    known, found, left = dict(common), dict[str, str](), sorted(names)
    groups: dict[frozenset[str], list[FrozenTrial | _Asked]] = {}
    for trial in trials:
        groups.setdefault(frozenset(trial.params), []).append(trial)
    while left:
        conditions = dict.fromkeys(left, "")
        for parent, distribution in known.items():
            choices = getattr(distribution, "choices", ())
            if not isinstance(distribution, FloatDistribution) and all(
                isinstance(one, Hashable) for one in choices
            ):
                values = {
                    group: {one.params[parent] for one in some}
                    for group, some in groups.items()
                    if parent in group
                }
                for name in left:
                    if not conditions[name] and all(
                        parent in group for group in groups if name in group
                    ):
                        conditions[name] = _condition(parent, distribution, values, name)
        explained = {name: text for name, text in conditions.items() if text}
        if not explained:
            return None
        found |= explained
        left = [name for name in left if name not in explained]
        for name in explained:
            known[name] = next(one.distributions[name] for one in trials if name in one.params)
    return found


def _condition(
    parent: str,
    distribution: BaseDistribution,
    values: Mapping[frozenset[str], set[Any]],
    name: str,
) -> str:
    """Condition of a parameter by values of another one; empty if these do not explain it."""
    present = set[Any]().union(*(some for group, some in values.items() if name in group))
    absent = set[Any]().union(*(some for group, some in values.items() if name not in group))
    return _comparison(parent, distribution, present, absent)


def _comparison(
    parent: str, distribution: BaseDistribution, present: set[Any], absent: set[Any]
) -> str:
    """A comparison that holds for some values and for none of others; empty if there is none."""
    if not absent or present & absent:
        return ""
    if isinstance(distribution, IntDistribution):
        low, high = min(present), max(present)
        sides = [f"{parent} >= {low}"] * (min(absent) < low)
        sides += [f"{parent} <= {high}"] * (max(absent) > high)
        return "" if any(low < one < high for one in absent) else " and ".join(sides)
    if not isinstance(distribution, CategoricalDistribution):
        return ""
    written = [_written(one) for one in distribution.choices if one in present]
    if not all(written):
        return ""
    return (
        f"{parent} in [{', '.join(written)}]" if len(written) > 1 else f"{parent} == {written[0]}"
    )


def _written(choice: Any) -> str:
    """A choice in a condition; empty if it cannot be written."""
    if isinstance(choice, bool):
        return str(choice).lower()
    if isinstance(choice, int | float):
        return repr(choice) if math.isfinite(choice) else ""
    if not isinstance(choice, str):
        return ""
    quote = next((one for one in "'\"" if one not in choice), "")
    return f"{quote}{choice}{quote}" if quote else ""


LEAST = 2  # complete trials that tell what varies

Ranges: TypeAlias = Mapping[str, BaseDistribution]
"""Distributions by parameter name, of which the values of a trial are to be."""


@dataclass(frozen=True)
class CommonSpace:
    """Space of a study's parameters, and what can be chosen of it now.

    Args:
        space: The space that is modelled, in which all trials lie whose values were within their
            ranges.
        ranges: Distributions that the objective function asks for by now, by name.
        complete: The complete trials that it was found from.
        unclear: Whether nothing explains which trials have which range of some number.
    """

    space: Space
    ranges: Ranges
    complete: Sequence[FrozenTrial] = ()
    unclear: bool = False

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "complete": ()}  # a copy would find other trials

    @classmethod
    def declared(cls, space: Space) -> CommonSpace:
        """A space that was declared."""
        return cls(space, distributions(space))

    def after(self, trials: Sequence[FrozenTrial]) -> CommonSpace:
        """The varying parameters of complete trials, by name; this space if they are the same.

        They are those that all have in common, and the others too if conditions explain which
        trials have them.

        Args:
            trials: Trials of a study, in order.

        Returns:
            The space; of a number whose range was changed, the widest range. One with several
            ranges, of which conditions explain which trials have them, is a parameter for each.
        """
        complete = [trial for trial in trials if trial.state == TrialState.COMPLETE]
        same = 0 < len(complete) == len(self.complete) and all(map(is_, complete, self.complete))
        space, unclear = (self.space, self.unclear) if same else _found(complete, self.space)
        ranges, known = dict[str, BaseDistribution](), configuration_distributions(space)
        for trial in reversed(trials):
            if len(ranges) == len(known):
                break
            for name, one in trial.distributions.items():
                if type(one) is type(known.get(name)):
                    ranges.setdefault(name, one)
        # Of a parameter for each range all of these are asked for, of any other one the last.
        return CommonSpace(
            space,
            {n: ranges[n] if n in space.parameters else one for n, one in known.items()},
            complete,
            unclear,
        )

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
        if {*names} >= self.ranges.keys():
            return self
        space = self.space.limited_to([n for n in self.space.parameters if shared_name(n) in names])
        return CommonSpace(space, {n: self.ranges[n] for n in configuration_distributions(space)})


NO_TRIALS = CommonSpace(Space({}), {})
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
    complete: Sequence[FrozenTrial | _Asked], common: Mapping[str, BaseDistribution]
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


class _Asked(NamedTuple):
    """What was asked for in a trial, where each range of a number has a name of its own."""

    params: Mapping[str, Any]
    distributions: Mapping[str, BaseDistribution]

    @classmethod
    def of(cls, trial: FrozenTrial, ranges: Mapping[str, Sequence[BaseDistribution]]) -> Self:
        """What a trial asked for, of which some numbers have several ranges."""
        names = {
            name: apart(name, ranges[name].index(one)) if name in ranges else name
            for name, one in trial.distributions.items()
            if name not in ranges or not one.single()
        }
        return cls(
            {own: trial.params[name] for name, own in names.items()},
            {own: trial.distributions[name] for name, own in names.items()},
        )


def _found(complete: Sequence[FrozenTrial], before: Space) -> tuple[Space, bool]:
    """The space of trials, that of before if it is the same, and whether ranges are unclear.

    A number of which conditions explain which trials have which range is a parameter for each, if
    there are two trials for each range as a rule. Of any other one the last range holds, and unless
    none was asked for since that came it is unclear where.
    """
    space, each, unclear = _space(complete, before), dict[str, list[BaseDistribution]](), set()
    varied = any(one.distributions != complete[-1].distributions for one in complete)
    for name, widest in distributions(space).items() if varied else ():
        asked = [one.distributions[name] for one in complete if name in one.distributions]
        if all(one == widest for one in asked):
            continue
        ranges = [*dict.fromkeys(asked)]
        unclear |= set() if _is_changed(asked) else {name}
        if 2 * len(ranges) <= len(asked) + 1:
            each[name] = ranges
    found = _apart(complete, each, before) if each else space
    if found is None:
        each = {n: one for n, one in each.items() if _apart(complete, {n: one}, before)}
        found = _apart(complete, each, before)
    return found or space, not unclear <= ({*each} if found else set())


def _is_changed(asked: Sequence[BaseDistribution]) -> bool:
    """Whether a distribution was changed now and then, and no other asked for since the last came.

    If it was another one more often than the same as before, it follows something.
    """
    changes = sum(one != after for one, after in pairwise(asked))
    return (
        changes <= max(1, len(asked) - 1 - changes) and len({*asked[asked.index(asked[-1]) :]}) == 1
    )


def _apart(
    complete: Sequence[FrozenTrial], ranges: Mapping[str, Sequence[BaseDistribution]], before: Space
) -> Space | None:
    """The space where each range has a parameter of its own; None if nothing explains which."""
    space = _space([_Asked.of(trial, ranges) for trial in complete], before)
    wanted = {
        apart(name, index)
        for name, each in ranges.items()
        for index, one in enumerate(each)
        if not one.single()
    }
    return space if wanted <= space.parameters.keys() else None


def configuration_distributions(space: Space) -> dict[str, BaseDistribution]:
    """Distributions of the values in configurations of a space, by name."""
    found: dict[str, BaseDistribution] = {}
    for name, one in distributions(space).items():
        own = shared_name(name)
        found[own] = _union(found.get(own, one), one) or one
    return found


def _space(complete: Sequence[FrozenTrial | _Asked], before: Space) -> Space:
    """The space of trials, that of before if it is the same; without conditions to be left out."""
    widest = dict(complete[-1].distributions) if complete else {}
    for trial in complete:
        if trial.distributions != widest:
            widest = _widened(widest, trial.distributions)
    partly = _of_some(complete, widest)
    when = (inferred_conditions(complete, widest, partly) or {}) if partly else {}
    widest |= partly if when else {}
    scales = {name: widest[name] for name in sorted(widest) if not widest[name].single()}
    try:
        space = space_of(scales, when)
    except InvalidInput:
        space = space_of({name: one for name, one in scales.items() if name not in when})
    return before if before == space else space


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
    is_number = isinstance(one, FloatDistribution | IntDistribution)
    if type(one) is not type(other) or not is_number or one.log != other.log:
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
