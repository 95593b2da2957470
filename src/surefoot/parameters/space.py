"""Search spaces of named parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING, Any, TypeAlias

from surefoot._internal import checks
from surefoot.parameters.conditions import ORDERED, Comparison, Condition
from surefoot.parameters.decimal_grid import value_on_grid
from surefoot.parameters.parameter import (
    Choice,
    Float,
    Int,
    InvalidParameter,
    Number,
    Parameter,
    is_number,
    is_same,
    shared_name,
)
from surefoot.types import InvalidInput

# Modules that load torch are imported where they are used: a program that only declares a space
# starts at once.
if TYPE_CHECKING:
    from surefoot.parameters.encoding import Encoding
    from surefoot.spaces import Box


ParameterConstraint: TypeAlias = str | Callable[[Mapping[str, Any]], Any]
"""A rule that configurations must satisfy: an expression, or a function of columns."""


@dataclass(frozen=True)
class Space:
    """Search space of named parameters, with known constraints between them.

    A configuration is a dict with a value for each parameter that is active in it. An optimizer on
    such a space asks for configurations and is told them.

    Args:
        parameters: `Float`, `Int` and `Choice` by name.
        constraints: Rules that every configuration must satisfy, known before anything is measured.
            An expression such as `"a + b <= 10"` compares parameters: with `+ - * / // % **`,
            `abs`, `min`, `max`, `exp`, `log`, `log2`, `log10`, `sqrt`, joined by `and`, `or` and
            `not`; a category with `==`, `!=` and `in`. A function gets a mapping from names to
            columns of many configurations, tensors (n,) of numbers (a category can only be compared
            with its choices), and returns truth values (n,), or numbers (n,) that are at least 0
            where the rule holds. A rule over a parameter that is inactive holds. The search,
            initial designs and recommendations satisfy all rules; a configuration that does not is
            refused.

    Raises:
        InvalidInput: If a parameter is none of these, a condition or a rule cannot be read, names
            an unknown parameter or does not fit it, a condition depends on itself or cannot hold,
            or no configuration satisfies the rules.

    References:
        Hutter et al. 2009, "ParamILS: an automatic algorithm configuration framework", for
        conditional parameters and forbidden combinations.

    Example:
        >>> import surefoot as sf
        >>> space = sf.parameters.Space(
        ...     {
        ...         "readers": sf.parameters.Int(1, 16),
        ...         "writers": sf.parameters.Int(1, 16),
        ...         "journal": sf.parameters.Choice(["OFF", "WAL"]),
        ...         "checkpoint": sf.parameters.Int(100, 10000, log=True, when="journal == 'WAL'"),
        ...     },
        ...     constraints=["readers + writers <= 16"],
        ... )
        >>> optimizer = sf.algorithms.robust_ucb(space, seed=0)
        >>> query = optimizer.ask()
        >>> query.params["readers"] + query.params["writers"] <= 16
        True
        >>> info = optimizer.tell({"readers": 4, "writers": 12, "journal": "OFF"}, 0.7)
        >>> space.violated({"readers": 9, "writers": 8, "journal": "OFF"})
        ('readers + writers <= 16',)
    """

    parameters: Mapping[str, Parameter]
    constraints: Sequence[ParameterConstraint] = ()

    def __post_init__(self) -> None:
        self._check_arguments()
        object.__setattr__(self, "constraints", tuple(self.constraints))
        for name, condition in self.conditions.items():
            for comparison in condition.comparisons:
                self._check_comparison(name, condition, comparison)
        self._check_conditions_together()
        if self.constraints:
            _ = self.encoding.examples  # which refuses rules that exclude each other

    def __getstate__(self) -> dict[str, Any]:
        return {"parameters": self.parameters, "constraints": self.constraints}

    @cached_property
    def conditions(self) -> dict[str, Condition]:
        """Conditions under which parameters are active, by name."""
        found = {}
        for name, parameter in self.parameters.items():
            if parameter.when == "":
                continue
            try:
                found[name] = Condition.parse(parameter.when)
            except InvalidInput as error:
                raise InvalidParameter(name, "when", str(error)) from None
        return found

    @cached_property
    def order(self) -> tuple[str, ...]:
        """Names of the parameters, each after those that decide whether it is active."""
        parents = {
            name: self.conditions[name].names if name in self.conditions else ()
            for name in self.parameters
        }
        try:
            return tuple(TopologicalSorter(parents).static_order())
        except CycleError as error:
            circle = " -> ".join(reversed(error.args[1]))
            raise InvalidParameter(
                error.args[1][-1],
                "when",
                f"depends on itself ({circle}), expected conditions without a cycle: remove one",
            ) from None

    @cached_property
    def encoding(self) -> Encoding:
        """Encoding of configurations as points, of a space with parameters."""
        from surefoot.parameters.encoding import Encoding

        if not self.parameters:
            raise InvalidInput("the space has no parameters, expected `Float`, `Int` or `Choice`.")
        return Encoding(self)

    @cached_property
    def box(self) -> Box:
        """Encoded space, a unit cube whose points have configurations as names."""
        return replace(self.encoding.box, names=self.encoding)

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
        """Names of the active parameters, in the order of the space.

        Args:
            params: Values by parameter name; those of inactive parameters are ignored.

        Returns:
            The names.
        """
        known = self.restricted(params)
        return [name for name in self.parameters if self.is_active(name, known)]

    def restricted(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the active parameters, in the order of the space.

        Args:
            params: Values by parameter name.

        Returns:
            Those of them that are active.
        """
        known: dict[str, Any] = {}
        for name in self.order:
            if (own := shared_name(name)) in params and self.is_active(name, known):
                known[name] = params[own]
        return {name: known[name] for name in self.parameters if name in known}

    def excluded(self, params: Mapping[str, Any]) -> list[str]:
        """Names of the parameters that are inactive whatever values the others have.

        Args:
            params: Values of some parameters by name.

        Returns:
            The names, in the order of the space.
        """
        found: set[str] = set()
        for name in self.order:
            condition = self.conditions.get(name)
            for one in condition.comparisons if condition else ():
                fails = one.name in params and not bool(one.holds(params[one.name]))
                if fails or one.name in found:
                    found.add(name)
        return [name for name in self.parameters if name in found]

    def violated(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Constraints that a configuration does not satisfy, as they were written.

        Args:
            params: Values by parameter name, of all parameters that are active.

        Returns:
            The constraints; a function by its name.

        Raises:
            InvalidInput: If a value is missing, or is none of its parameter.
        """
        return self.violated_by(self.checked(params))

    def violated_by(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """Constraints that values do not satisfy, which are not checked first; see `violated`.

        Args:
            params: Values by parameter name, of all parameters that are active.

        Returns:
            The constraints.
        """
        return self.encoding.violated(self.restricted(params)) if self.constraints else ()

    def is_complete(self, params: Mapping[str, Any]) -> bool:
        """Whether values are those of a whole configuration, which satisfies the constraints.

        Args:
            params: Values by parameter name.

        Returns:
            The truth; values of other names do not count.
        """
        known = self.parameters
        right = {n: v for n, v in params.items() if n not in known or known[n].contains(v)}
        return all(name in right for name in self.active(right)) and not self.violated_by(right)

    def limited_to(self, names: Collection[str]) -> Space:
        """The space of some of its parameters, without those under conditions on others.

        Args:
            names: Their names.

        Returns:
            The space, without constraints that read other parameters.
        """
        kept: set[str] = set()
        for name in self.order:
            parents = self.conditions[name].names if name in self.conditions else ()
            if name in names and all(one in kept for one in parents):
                kept.add(name)
        rules = self.encoding.rules if self.constraints else ()
        each = zip(self.constraints, rules, strict=True)
        return Space(
            {name: one for name, one in self.parameters.items() if name in kept},
            [written for written, rule in each if {*rule.names} <= kept],
        )

    def parameter(self, name: str) -> Parameter:
        """A parameter.

        Args:
            name: Its name.

        Returns:
            The parameter.

        Raises:
            InvalidInput: If the space has none of that name.
        """
        if name not in self._by_name:
            known = ", ".join(map(repr, self._by_name))
            raise InvalidInput(f"{name!r} is no parameter of the space, expected {known}.")
        return self._by_name[name][0]

    def has(self, name: str, value: Any) -> bool:
        """Whether a value is one of a parameter.

        Args:
            name: Its name, of which several parameters may be.
            value: The value.

        Returns:
            The truth.
        """
        return any(one.contains(value) for one in self._by_name.get(name, ()))

    @cached_property
    def _by_name(self) -> dict[str, list[Parameter]]:
        """The parameters of each name in configurations."""
        found: dict[str, list[Parameter]] = {}
        for name, one in self.parameters.items():
            found.setdefault(shared_name(name), []).append(one)
        return found

    def checked(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Values of the active parameters, if they are values of the space; rules aside.

        Args:
            params: Values by parameter name; those of inactive parameters are ignored.

        Returns:
            The configuration, in the order of the space.

        Raises:
            InvalidInput: If a name is unknown, a value is missing, or is none of its parameter.
        """
        if not isinstance(params, Mapping):
            example = ", ".join(f"{name!r}: ..." for name in self.parameters)
            raise InvalidInput(
                f"the configuration is {checks.shown(params)}, expected a dict: {{{example}}}."
            )
        for name in params:
            self.parameter(name)
        found = self.restricted(params)
        for name in self.active(params):
            if name not in found:
                raise InvalidInput(
                    f"the configuration {checks.shown(dict(params))} has no value of "
                    f"{shared_name(name)!r}, "
                    f"expected {self.parameters[name].describe()}."
                )
        for name, value in found.items():
            if not self.parameters[name].contains(value):
                raise InvalidInput(
                    f"{shared_name(name)!r} is {checks.shown(value)}, expected "
                    f"{self.parameters[name].describe()}."
                )
        return found

    def _check_arguments(self) -> None:
        """Raise `InvalidInput` unless each argument is of its kind."""
        given = self.parameters
        if (
            not isinstance(given, Mapping)
            or not all(isinstance(name, str) for name in given)
            or not all(isinstance(one, Float | Int | Choice) for one in given.values())
        ):
            raise InvalidInput(
                f"`parameters` is {checks.shown(given)}, expected `Float`, `Int` and `Choice` by "
                'name, such as {"x": Float(0, 1)}.'
            )
        rules = self.constraints
        single = isinstance(rules, str) or not isinstance(rules, Collection)
        if single or not all(isinstance(r, str) or callable(r) for r in rules):
            raise InvalidInput(
                f"`constraints` is {checks.shown(rules)}, expected a list of expressions such as "
                '"a + b <= 10" and of functions.'
            )

    def _check_comparison(self, name: str, condition: Condition, one: Comparison) -> None:
        """Raise `InvalidParameter` unless a comparison can hold for some values."""
        shown, other = checks.shown(condition.text), self.parameters.get(one.name)
        if other is None:
            others = [each for each in self.parameters if each != name]
            known = ", ".join(others) if others else "no condition, as there is no other one"
            wrong = f"where {one.name!r} is no parameter; expected {known}"
        elif isinstance(other, Choice):
            wrong = _mismatch_of_choice(one, other)
        else:
            wrong = _mismatch_of_number(one, other)
        if wrong:
            raise InvalidParameter(name, "when", f"got {shown}, {wrong}")

    def _check_conditions_together(self) -> None:
        """Raise `InvalidParameter` for a parameter that cannot be active, whatever the others are.

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
                if is_satisfiable([one for _, one in about], self.parameters[other]):
                    continue
                since = "".join(
                    f", and {owner} is active only when {checks.shown(self.conditions[owner].text)}"
                    for owner in dict.fromkeys(owner for owner, _ in about if owner != name)
                )
                raise InvalidParameter(
                    name,
                    "when",
                    f"got {checks.shown(condition.text)}{since}, which holds for no {other}; "
                    "expected a condition that can hold",
                )


def _mismatch_of_choice(one: Comparison, parameter: Choice) -> str:
    """The fault of a comparison of a category, empty if there is none."""
    choices = parameter.choices
    if one.operator in ORDERED:
        if not all(map(is_number, (*choices, *one.values))):
            return f"expected ==, != or in, since {one.name} has no order"
        return "" if any(map(one.holds, choices)) else f"which holds for no {one.name}"
    for value in one.values:
        if not any(is_same(value, choice) for choice in choices):
            listed = ", ".join(map(repr, choices))
            return f"where {value!r} is no choice of {one.name}; expected one of {listed}"
    return ""


def _mismatch_of_number(one: Comparison, number: Number) -> str:
    """The fault of a comparison of a number, empty if there is none."""
    low, high = number.low, number.high
    for value in one.values:
        if not is_number(value):
            return f"where {value!r} is no number, as {one.name} is; expected {low} to {high}"
        if one.operator not in ORDERED and not number.contains(value):
            return f"where {one.name} cannot be {value!r}; expected {low} to {high}"
    if one.operator in ORDERED and not any(map(one.holds, (low, high, *number.special))):
        return f"which holds for no {one.name} from {low} to {high}"
    return ""


def is_satisfiable(comparisons: Sequence[Comparison], parameter: Parameter) -> bool:
    """Whether some value of a parameter fulfils all comparisons.

    Args:
        comparisons: Comparisons of the parameter with constants of its kind.
        parameter: The parameter.
    """
    constants = [constant for one in comparisons for constant in one.values]
    if isinstance(parameter, Choice):
        values: Sequence[Any] = parameter.choices
    else:
        # Values that fulfil all comparisons form intervals, each of which begins at the lowest
        # value, at a constant or next to one.
        near = [value for constant in constants for value in _near(constant, parameter)]
        low, high = parameter.low, parameter.high
        values = [*parameter.special, low, *(value for value in near if low <= value <= high)]
    return any(all(one.holds(value) for one in comparisons) for value in values)


def _near(constant: float, number: Number) -> Iterator[float]:
    """A constant and its neighbours among the values of a number, which may be beyond its ends."""
    low, high, step = number.low, number.high, number.step
    if step is None:
        yield constant
        yield math.nextafter(constant, math.inf)
        return
    first = math.floor((min(max(constant, low), high) - low) // step)
    for index in range(first - 1, first + 3):
        yield low + index * step if isinstance(number, Int) else value_on_grid(low, step, index)
