"""Parameters of studies from tables by their names."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from optuna.distributions import BaseDistribution

from surefoot.integrations.optuna.search_space import parameter_of
from surefoot.parameters import Space


def space_of(
    scales: Mapping[str, BaseDistribution],
    when: Mapping[str, str] | None = None,
    special: Mapping[str, Sequence[float]] | None = None,
    ordered: Collection[str] = (),
    require: Sequence[Any] = (),
) -> Space:
    """Named parameters of distributions, with what these cannot say."""
    found = {}
    for name, distribution in scales.items():
        one = parameter_of(name, distribution, (when or {}).get(name, ""))
        if name in (special or {}):
            one = replace(one, special=special[name])
        found[name] = replace(one, ordered=True) if name in ordered else one
    return Space(found, require)


def conditions_of(space: Space) -> dict[str, str]:
    """Conditions as they were written, by name of the parameter that is active under them."""
    return {name: one.text for name, one in space.conditions.items()}
