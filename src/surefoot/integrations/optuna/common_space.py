"""Parameters of the trials of a study, where ranges may have been changed."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
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
from surefoot.integrations.optuna.reservation import read_reservation
from surefoot.integrations.optuna.search_space import distributions, space_of
from surefoot.parameters import Space
from surefoot.parameters.parameter import apart, shared_name
from surefoot.types import InvalidInput


def inferred_conditions(
    trials: Sequence[FrozenTrial | _Asked],
    common: Mapping[str, BaseDistribution],
    names: Collection[str],
) -> dict[str, str]:
    """Conditions under which the trials have some parameters.

    Each follows from one other parameter, which may be conditional itself: a choice, or an integer
    from which on and up to which trials have it.

    Args:
        trials: Completed trials.
        common: Distributions by name of the parameters that all of them have.
        names: Names of the others, to be explained.

    Returns:
        Conditions by name, which hold in all trials, of those that are explained.
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
                        present, absent = (
                            set[Any]().union(*(values[g] for g in values if (name in g) is has))
                            for has in (True, False)
                        )
                        conditions[name] = _comparison(parent, distribution, present, absent)
        explained = {name: text for name, text in conditions.items() if text}
        if not explained:
            break
        found |= explained
        left = [name for name in left if name not in explained]
        for name in explained:
            known[name] = next(one.distributions[name] for one in trials if name in one.params)
    return found


def _comparison(parent: str, distribution: Any, present: set[Any], absent: set[Any]) -> str:
    """A comparison that holds for some values and for none of others; empty if there is none."""
    if not absent or present & absent:
        return ""
    if isinstance(distribution, IntDistribution):
        low, high = min(present), max(present)
        sides = [f"{parent} >= {low}"] * (min(absent) < low)
        sides += [f"{parent} <= {high}"] * (max(absent) > high)
        return "" if any(low < one < high for one in absent) else " and ".join(sides)
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
        finished: The trials that it was found from.
        missing: Names of parameters asked for last of which nothing explains which trials have
            them, or of which kind.
        unclear: Names of numbers of which nothing explains which trials have which range.
    """

    space: Space
    ranges: Ranges
    finished: Sequence[FrozenTrial] = ()
    missing: frozenset[str] = frozenset()
    unclear: frozenset[str] = frozenset()

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "finished": ()}  # a copy would find other trials

    @classmethod
    def declared(cls, space: Space) -> CommonSpace:
        """A space that was declared."""
        return cls(space, distributions(space))

    def after(self, trials: Sequence[FrozenTrial]) -> CommonSpace:
        """The varying parameters of trials, by name; this space if they are the same.

        They are those that all have in common, and those of the others of which conditions explain
        which trials have them.

        Args:
            trials: Trials of a study, in order.

        Returns:
            The space; of a number whose range was changed, the widest range. One with several
            ranges, of which conditions explain which trials have them, is a parameter for each.
        """
        finished = [trial for trial in trials if trial.state.is_finished()]
        if 0 < len(finished) == len(self.finished) and all(map(is_, finished, self.finished)):
            return self
        asked = _asking(finished)
        found = _found(asked, self.space)
        known = configuration_distributions(found.space)
        ranges = {
            name: one
            for each in _kinds(asked)
            for name, one in each.items()
            if type(one) is type(known.get(name))
        }
        # Of a parameter for each range all of these are asked for, of any other one the last.
        now = {n: ranges[n] if n in found.space.parameters else one for n, one in known.items()}
        missing = found.missing.intersection(*(trial.params for trial in asked[-1:]))
        return replace(found, ranges=now, finished=finished, missing=missing)

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


def _asking(finished: Sequence[FrozenTrial]) -> list[FrozenTrial]:
    """Complete trials, and the failed and pruned ones that asked for what none of these did.

    Those say nothing that may have ended before they had asked for all.
    """
    complete = [trial for trial in finished if trial.state == TrialState.COMPLETE]
    whole, known = {frozenset(one.params) for one in complete}, _items(complete)
    return [
        one
        for one in finished
        if one.state == TrialState.COMPLETE
        or (any(names <= one.params.keys() for names in whole) and not _items([one]) <= known)
    ]


def _items(trials: Sequence[FrozenTrial]) -> set[tuple[str, float | None, float | None]]:
    """Names of the parameters of trials, with the ends of their ranges."""
    return {
        (name, getattr(one, "low", None), getattr(one, "high", None))
        for distributions in _kinds(trials)
        for name, one in distributions.items()
    }


def _kinds(trials: Sequence[FrozenTrial | _Asked]) -> list[Mapping[str, BaseDistribution]]:
    """Distributions of trials by name, once of those that follow each other and have the same."""
    every = [trial.distributions for trial in trials]
    return every[:1] + [after for one, after in pairwise(every) if one != after]


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


def _found(asked: Sequence[FrozenTrial], before: Space) -> CommonSpace:
    """The space of trials, that of before if it is the same, and what nothing explains.

    Where something is unexplained, the objective function may have been changed. The space is that
    of the trials since, if these explain all of it and are no fewer than the trials before that
    have no value of it. It was not changed where a number explains as much. What most trials have
    is otherwise asked for in all: the others may have ended before. It is unclear where, unless it
    was chosen for all of them.
    """
    found = _explained(asked, before)
    if left := found.unclear.union(n for n in found.missing if not _follows_a_number(n, asked)):
        first = {
            (name, repr(trial.distributions[name])): number
            for number, trial in reversed([*enumerate(asked)])
            for name in left & trial.distributions.keys()
        }
        number = max(first.values())
        since, lacking = asked[number:], sum(not left <= {*t.params} for t in asked[:number])
        if number and len(since) >= max(2 * LEAST, lacking):
            now = _explained(since, before)
            several = {shared_name(name) for name in now.space.parameters} - {*now.space.parameters}
            if not (now.missing or now.unclear) and found.unclear <= several:
                return now
    often = frozenset(n for n in found.missing if _is_usual([n in one.params for one in asked]))
    if not often:
        return found
    found = _explained(asked, before, often)
    known = configuration_distributions(found.space)
    whole = all(often <= one.keys() for one in chosen_for(asked, known))
    return found if whole else replace(found, unclear=found.unclear | often)


def _is_usual(has: Sequence[bool]) -> bool:
    """Whether half of the trials have something, and two thirds of four or more had once."""
    return 2 * sum(has) >= len(has) and any(
        3 * count >= 2 * number for number, count in enumerate(accumulate(has), 1) if number > 3
    )


def _follows_a_number(name: str, asked: Sequence[FrozenTrial]) -> bool:
    """Whether some number is larger, or smaller, in all trials with a parameter than elsewhere."""
    values: dict[tuple[str, bool], list[float]] = {}
    for trial in asked:
        for parent, one in trial.distributions.items():
            if isinstance(one, FloatDistribution):
                values.setdefault((parent, name in trial.params), []).append(trial.params[parent])
    return any(
        max(values[parent, has]) < min(values[parent, not has])
        for parent, has in values
        if (parent, not has) in values
    )


def _explained(
    asked: Sequence[FrozenTrial], before: Space, often: Collection[str] = ()
) -> CommonSpace:
    """The space of trials, that of before if it is the same, and what nothing explains.

    A number of which conditions explain which trials have which range is a parameter for each, if
    there are two trials for each range as a rule. Of any other one the last range holds, and unless
    none was asked for since that came it is unclear where.
    """
    space = _space(asked, before, often)
    several, unclear = dict[str, list[BaseDistribution]](), set()
    kinds = _kinds(asked)
    for name, widest in distributions(space).items() if len(kinds) > 1 else ():
        of_name = [one.distributions[name] for one in asked if name in one.distributions]
        if all(one == widest for one in of_name):
            continue
        ranges = sorted({*of_name}, key=lambda one: (one.low, one.high))
        unclear |= set() if _is_changed(of_name) else {name}
        if 2 * len(ranges) <= len(of_name) + 1:
            several[name] = ranges
    found = _apart(asked, several, before, often) if several else space
    if found is None:
        several = {n: one for n, one in several.items() if _apart(asked, {n: one}, before, often)}
        found = _apart(asked, several, before, often)
    if found:
        space, unclear = found, unclear - {*several}
    varying = {name for each in kinds for name, one in each.items() if not one.single()}
    missing = varying - {*map(shared_name, space.parameters)}
    return CommonSpace(space, {}, (), frozenset(missing), frozenset(unclear))


def _is_changed(asked: Sequence[BaseDistribution]) -> bool:
    """Whether a distribution was changed now and then, and no other asked for since the last came.

    If it was another one more often than the same as before, it follows something.
    """
    changes = sum(one != after for one, after in pairwise(asked))
    return (
        changes <= max(1, len(asked) - 1 - changes) and len({*asked[asked.index(asked[-1]) :]}) == 1
    )


def _apart(
    complete: Sequence[FrozenTrial],
    ranges: Mapping[str, Sequence[BaseDistribution]],
    before: Space,
    often: Collection[str],
) -> Space | None:
    """The space where each range has a parameter of its own; None if nothing explains which."""
    space = _space([_Asked.of(trial, ranges) for trial in complete], before, often)
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


def chosen_for(trials: Sequence[FrozenTrial], known: Ranges) -> list[dict[str, Any]]:
    """Configurations of trials, with what was chosen for them and they have not asked for."""
    return [one.params and read_reservation(one, known)[0] | one.params for one in trials]


def _space(
    complete: Sequence[FrozenTrial | _Asked], before: Space, often: Collection[str]
) -> Space:
    """The space of trials, that of before if it is the same; without conditions to be left out.

    The parameters `often` are those of all trials, too.
    """
    kinds, unions = _kinds(complete), dict[str, BaseDistribution | None]()
    for name, one in (item for each in kinds for item in each.items()):
        known = unions.get(name, one)
        unions[name] = known and _union(known, one)
    every = {name: one for name, one in unions.items() if one is not None}
    widest = {n: one for n, one in every.items() if n in often or all(n in each for each in kinds)}
    partly = {n: one for n, one in every.items() if n not in widest and not one.single()}
    when = inferred_conditions(complete, widest, partly)
    widest |= {name: partly[name] for name in when}
    scales = {name: widest[name] for name in sorted(widest) if not widest[name].single()}
    try:
        space = space_of(scales, when)
    except InvalidInput:
        space = space_of({name: one for name, one in scales.items() if name not in when})
    return before if before == space else space


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
