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
    while left:
        conditions = {name: _condition(trials, known, name) for name in left}
        explained = {name: text for name, text in conditions.items() if text}
        if not explained:
            return None
        found |= explained
        left = [name for name in left if name not in explained]
        for name in explained:
            known[name] = next(one.distributions[name] for one in trials if name in one.params)
    return found


def _condition(
    trials: Sequence[FrozenTrial], known: Mapping[str, BaseDistribution], name: str
) -> str:
    """Condition of a parameter, by one of the known ones; empty if none explains it."""
    for parent, distribution in known.items():
        values: dict[bool, list[Any]] = {True: [], False: []}
        for trial in trials:
            if parent in trial.params:
                values[name in trial.params].append(trial.params[parent])
        explains = len(values[True]) == sum(name in trial.params for trial in trials)
        if explains and (text := _comparison(parent, distribution, values[True], values[False])):
            return text
    return ""


def _comparison(
    parent: str, distribution: BaseDistribution, present: Sequence[Any], absent: Sequence[Any]
) -> str:
    """A comparison that holds for some values and for none of others; empty if there is none."""
    if not absent or any(one in absent for one in present):
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
