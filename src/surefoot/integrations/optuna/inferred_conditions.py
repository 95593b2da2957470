"""Conditions of the parameters that only some trials of a study have, inferred from the trials."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution, IntDistribution
from optuna.trial import FrozenTrial


def inferred_conditions(
    trials: Sequence[FrozenTrial], common: Mapping[str, BaseDistribution], names: Collection[str]
) -> dict[str, str] | None:
    """Conditions under which the trials have some parameters.

    Each follows from one other parameter, which may be conditional itself: a choice, or an integer
    from which on or up to which trials have it.

    Args:
        trials: Completed trials.
        common: Distributions by name of the parameters that all of them have.
        names: Names of the others, to be explained.

    Returns:
        Conditions by name, which hold in all trials; None unless they explain every parameter.
    """
    known, found, left = dict(common), dict[str, str](), sorted(names)
    groups: dict[frozenset[str], list[FrozenTrial]] = {}
    for trial in trials:
        groups.setdefault(frozenset(trial.params), []).append(trial)
    while left:
        conditions = dict.fromkeys(left, "")
        for parent, distribution in known.items():
            if isinstance(distribution, CategoricalDistribution | IntDistribution):
                values = {
                    group: {one.params[parent] for one in some}
                    for group, some in groups.items()
                    if parent in group
                }
                for name in left:
                    if not conditions[name] and _always_has(groups, name, parent):
                        conditions[name] = _condition(parent, distribution, values, name)
        explained = {name: text for name, text in conditions.items() if text}
        if not explained:
            return None
        found |= explained
        left = [name for name in left if name not in explained]
        for name in explained:
            known[name] = next(one.distributions[name] for one in trials if name in one.params)
    return found


def _always_has(groups: Collection[frozenset[str]], name: str, parent: str) -> bool:
    """Whether all trials that have a parameter have another one."""
    return all(parent in group for group in groups if name in group)


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
        if max(absent) < min(present):
            return f"{parent} >= {min(present)}"
        return f"{parent} <= {max(present)}" if max(present) < min(absent) else ""
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
