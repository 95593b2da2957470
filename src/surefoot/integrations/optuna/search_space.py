"""Search spaces with conditional parameters, special values and ordered choices."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from surefoot._internal import checks
from surefoot.integrations.optuna.conditions import ORDERED, Comparison, Condition
from surefoot.integrations.optuna.satisfiable import is_satisfiable
from surefoot.types import InvalidInput


class InvalidSpace(InvalidInput):
    """A search space that cannot be used; `name` is the parameter to correct."""

    def __init__(self, name: str, table: str, message: str) -> None:
        super().__init__(f"`{table}` of {name!r}: {message}")
        self.name, self.table, self.message = name, table, message


@dataclass(frozen=True)
class SearchSpace:
    """Parameters with conditions under which they are active, special values, or ordered choices.

    An inactive parameter has no value. A special value, such as 0 for "off", lies apart from the
    scale of its parameter: the model learns nothing of it from the values on the scale.

    Args:
        scales: Distributions by parameter name, without the special values.
        when: Conditions by name of the parameter that is active under them. They compare other
            parameters, which may be conditional themselves, with constants.
        special: Special values by name of a number; one that is on an integer scale is taken out
            of it.
        ordered: Names of categorical parameters whose choices are numbers in increasing order, such
            as powers of two: neighbours are alike, at whatever distance.

    Raises:
        InvalidInput: If a condition cannot be read, compares with an unknown parameter or a value
            of another kind, depends on itself, or cannot hold, if a special value is not a number,
            if ordered choices are not increasing numbers, or if a range is too wide or too narrow
            for float64.

    Example:
        >>> from optuna.distributions import CategoricalDistribution, IntDistribution
        >>> space = SearchSpace(
        ...     {
        ...         "journal": CategoricalDistribution(["OFF", "WAL"]),
        ...         "checkpoint": IntDistribution(100, 10000, log=True),
        ...     },
        ...     when={"checkpoint": "journal == 'WAL'"},
        ...     special={"checkpoint": [0]},
        ... )
        >>> space.active({"journal": "OFF"})
        ['journal']
        >>> space.distributions["checkpoint"]
        IntDistribution(high=10000, log=False, low=0, step=1)
    """

    scales: Mapping[str, BaseDistribution]
    when: Mapping[str, str] = field(default_factory=dict)
    special: Mapping[str, Sequence[float]] = field(default_factory=dict)
    ordered: Collection[str] = ()

    def __post_init__(self) -> None:
        self._check_tables()
        for table in ("when", "special", "ordered"):
            for name in getattr(self, table):
                if name not in self.scales:
                    wanted = ", ".join(self.scales)
                    raise InvalidSpace(name, table, f"unknown parameter, expected one of {wanted}")
        for name, values in self.special.items():
            self._check_special(name, values)
        for name in self.ordered:
            self._check_ordered(name)
        for name, condition in self.conditions.items():
            for comparison in condition.comparisons:
                self._check_comparison(name, condition, comparison)
        self._check_conditions_together()
        for name, scale in self.scales.items():
            self._check_span(name, scale)
        for name in self.scales if self.when or self.special else ():
            if self.scale(name).single():
                raise InvalidSpace(
                    name, "scales", "has one value on its scale, expected 2 or more: leave it out"
                )

    @classmethod
    def of(cls, space: Mapping[str, BaseDistribution] | SearchSpace) -> SearchSpace:
        """A space from distributions by name, or as it is."""
        return space if isinstance(space, SearchSpace) else cls(space)

    @property
    def varying(self) -> SearchSpace:
        """The space of the parameters that have more than one value."""
        scales = {name: one for name, one in self.scales.items() if not one.single()}
        ordered = [name for name in self.ordered if name in scales]
        return replace(self, scales=scales, ordered=ordered)

    def limited_to(self, names: Collection[str]) -> SearchSpace:
        """The space of some of its parameters, without those under conditions on others."""
        kept: dict[str, BaseDistribution] = {}
        for name in self.order:
            parents = self.conditions[name].names if name in self.conditions else ()
            if name in names and all(parent in kept for parent in parents):
                kept[name] = self.scales[name]
        return SearchSpace(
            {name: one for name, one in self.scales.items() if name in kept},
            {name: text for name, text in self.when.items() if name in kept},
            {name: values for name, values in self.special.items() if name in kept},
            [name for name in self.ordered if name in kept],
        )

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """The conditions by parameter name."""
        found = {}
        for name, text in self.when.items():
            try:
                found[name] = Condition.parse(text)
            except InvalidInput as error:
                raise InvalidSpace(name, "when", str(error)) from None
        return found

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The parameters, each after those that decide whether it is active."""
        parents = {
            name: self.conditions[name].names if name in self.conditions else ()
            for name in self.scales
        }
        try:
            return tuple(TopologicalSorter(parents).static_order())
        except CycleError as error:
            circle = " -> ".join(reversed(error.args[1]))
            raise InvalidSpace(
                error.args[1][-1],
                "when",
                f"depends on itself ({circle}), expected conditions without a cycle: remove one",
            ) from None

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions by parameter name as Optuna stores them: they include special values."""
        return {name: self._with_special(name) for name in self.scales}

    def scale(self, name: str) -> BaseDistribution:
        """The distribution of a parameter without special values at its ends."""
        distribution = self.scales[name]
        if not isinstance(distribution, IntDistribution):
            return distribution
        low, high, step = distribution.low, distribution.high, distribution.step
        special = self.special.get(name, ())
        while low in special and low < high:
            low += step
        while high in special and low < high:
            high -= step
        return IntDistribution(low, high, log=distribution.log, step=step)

    def is_active(self, name: str, params: Mapping[str, Any]) -> bool:
        """Whether a parameter is active.

        Args:
            name: The parameter.
            params: Values of the active parameters that come before it in `order`.

        Returns:
            The truth; an inactive parameter fulfils no condition.
        """
        return name not in self.conditions or self.conditions[name].holds(params)

    def active(self, params: Mapping[str, Any]) -> list[str]:
        """The active parameters, in the order of the space.

        Args:
            params: Values by parameter name; those of inactive parameters are ignored.

        Returns:
            Their names.
        """
        known = self.restricted(params)
        return [name for name in self.scales if self.is_active(name, known)]

    def restricted(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the active parameters, in the order of the space."""
        known: dict[str, Any] = {}
        for name in self.order:
            if name in params and self.is_active(name, known):
                known[name] = params[name]
        return {name: known[name] for name in self.scales if name in known}

    def completed(self, params: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
        """A configuration with a value for each of its active parameters, and for no other.

        Args:
            params: Values by parameter name.
            others: Values of active parameters that `params` lacks, for all parameters.

        Returns:
            The configuration.
        """
        return self.restricted({**others, **params})

    def _with_special(self, name: str) -> BaseDistribution:
        distribution, special = self.scales[name], self.special.get(name, ())
        beyond = [v for v in special if not _is_within(v, distribution)]
        if not beyond or not isinstance(distribution, FloatDistribution | IntDistribution):
            return distribution
        low, high = min(distribution.low, *beyond), max(distribution.high, *beyond)
        if isinstance(distribution, IntDistribution):
            return IntDistribution(int(low), int(high))
        return FloatDistribution(low, high)

    def _check_tables(self) -> None:
        """Raise `InvalidInput` unless each argument is of its kind."""
        scales = self.scales.values() if isinstance(self.scales, Mapping) else [self.scales]
        if not all(isinstance(one, BaseDistribution) for one in scales):
            raise InvalidInput(
                f"`scales` is {checks.shown(self.scales)}, expected distributions by name, such as "
                '{"x": optuna.distributions.FloatDistribution(0, 1)}.'
            )
        for table in ("when", "special"):
            if not isinstance(getattr(self, table), Mapping):
                raise InvalidInput(
                    f"`{table}` is {checks.shown(getattr(self, table))}, expected a dict by "
                    "parameter name."
                )
        wrong = isinstance(self.ordered, str) or not isinstance(self.ordered, Collection)
        if wrong or not all(isinstance(name, str) for name in self.ordered):
            raise InvalidInput(
                f"`ordered` is {checks.shown(self.ordered)}, expected a list of parameter names."
            )

    def _check_special(self, name: str, values: Sequence[float]) -> None:
        distribution = self.scales[name]
        if isinstance(distribution, CategoricalDistribution):
            raise InvalidSpace(name, "special", "given to a category, expected it in its choices")
        whole = isinstance(distribution, IntDistribution)
        wanted = f"a list of different {'whole' if whole else 'finite'} numbers"
        right = isinstance(values, Sequence) and not isinstance(values, str) and len(values) > 0
        kinds: tuple[type, ...] = (int,) if whole else (int, float)
        if (
            not right
            or not all(isinstance(v, kinds) and not isinstance(v, bool) for v in values)
            or not all(abs(v) <= checks.LARGEST and math.isfinite(v) for v in values)
            or len(set(values)) < len(values)
        ):
            raise InvalidSpace(name, "special", f"got {checks.shown(values)}, expected {wanted}")

    def _check_ordered(self, name: str) -> None:
        """Raise `InvalidSpace` unless the choices of a parameter are increasing numbers."""
        distribution = self.scales[name]
        if not isinstance(distribution, CategoricalDistribution):
            raise InvalidSpace(name, "ordered", "given to a number, expected it of categories only")
        choices = distribution.choices
        if not all(map(_is_number, choices)) or any(b <= a for a, b in pairwise(choices)):
            raise InvalidSpace(
                name,
                "ordered",
                f"got the choices {checks.shown(list(choices))}, expected increasing numbers",
            )

    def _check_comparison(self, name: str, condition: Condition, one: Comparison) -> None:
        """Raise `InvalidSpace` unless a comparison can hold for some values of its parameter."""
        shown, other = checks.shown(condition.text), self.scales.get(one.name)
        if other is None:
            known = ", ".join(each for each in self.scales if each != name)
            wrong = f"where {one.name!r} is no parameter; expected {known}"
        elif isinstance(other, CategoricalDistribution):
            wrong = self._mismatch_of_category(one, other.choices)
        else:
            wrong = self._mismatch_of_number(one, other)
        if wrong:
            raise InvalidSpace(name, "when", f"got {shown}, {wrong}")

    def _check_conditions_together(self) -> None:
        """Raise `InvalidSpace` for a parameter that cannot be active, whatever the others are.

        It is active if its condition holds and so do those of the parameters in it, all of which
        are comparisons of one parameter with constants.
        """
        needed: dict[str, list[tuple[str, Comparison]]] = {}  # with the parameter that needs it
        for name in self.order:
            if name not in self.conditions:
                needed[name] = []
                continue
            condition = self.conditions[name]
            needed[name] = [(name, one) for one in condition.comparisons]
            needed[name] += [each for parent in condition.names for each in needed[parent]]
            for other in dict.fromkeys(one.name for _, one in needed[name]):
                about = [(owner, one) for owner, one in needed[name] if one.name == other]
                comparisons = [one for _, one in about]
                if is_satisfiable(comparisons, self.scales[other], self.special.get(other, ())):
                    continue
                since = "".join(
                    f", and {owner} is active only when {checks.shown(self.when[owner])}"
                    for owner in dict.fromkeys(owner for owner, _ in about if owner != name)
                )
                raise InvalidSpace(
                    name,
                    "when",
                    f"got {checks.shown(condition.text)}{since}, which holds for no {other}; "
                    "expected a condition that can hold",
                )

    def _check_span(self, name: str, scale: BaseDistribution) -> None:
        """Raise `InvalidSpace` for a range whose width no float64 holds, or is 0 in float64."""
        if isinstance(scale, FloatDistribution) and not math.isfinite(scale.high - scale.low):
            raise InvalidSpace(
                name,
                "scales",
                f"low = {scale.low:g} is too far from high = {scale.high:g} for float64, expected "
                "high - low below 1.8e308: narrow the range",
            )
        if isinstance(scale, FloatDistribution | IntDistribution) and not scale.single():
            low, high = float(scale.low), float(scale.high)
            if scale.log:
                low, high = math.log(low), math.log(high)
            if low == high:
                raise InvalidSpace(
                    name,
                    "scales",
                    f"{'the logarithms of ' if scale.log else ''}low = {scale.low!r} and high = "
                    f"{scale.high!r} are the same in float64, expected a wider range: subtract an "
                    "offset in the objective function",
                )

    def _mismatch_of_category(self, one: Comparison, choices: Sequence[Any]) -> str:
        """What is wrong with a comparison of a category, empty if nothing is."""
        if one.operator in ORDERED:
            if not all(map(_is_number, (*choices, *one.values))):
                return f"expected ==, != or in, since {one.name} has no order"
            return "" if any(map(one.holds, choices)) else f"which holds for no {one.name}"
        for value in one.values:
            if not any(_is_same(value, choice) for choice in choices):
                listed = ", ".join(map(repr, choices))
                return f"where {value!r} is no choice of {one.name}; expected one of {listed}"
        return ""

    def _mismatch_of_number(self, one: Comparison, scale: BaseDistribution) -> str:
        """What is wrong with a comparison of a number, empty if nothing is."""
        low, high, special = scale.low, scale.high, self.special.get(one.name, ())
        for value in one.values:
            if not _is_number(value):
                return f"where {value!r} is no number, as {one.name} is; expected {low} to {high}"
            known = value in special or _is_within(value, scale)
            if one.operator not in ORDERED and not known:
                return f"where {one.name} cannot be {value!r}; expected {low} to {high}"
        if one.operator in ORDERED and not any(map(one.holds, (low, high, *special))):
            return f"which holds for no {one.name} from {low} to {high}"
        return ""


def _is_same(value: Any, choice: Any) -> bool:
    """Whether a constant is a choice; true and 1 differ, 1 and 1.0 do not."""
    both = _is_number(value) and _is_number(choice)
    return (both or type(value) is type(choice)) and value == choice


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_within(value: float, distribution: BaseDistribution) -> bool:
    low, high = getattr(distribution, "low", 0.0), getattr(distribution, "high", 0.0)
    step = getattr(distribution, "step", None)
    if not low <= value <= high:
        return False
    return step is None or abs((value - low) / step - round((value - low) / step)) < 1e-8
