"""Search spaces of Optuna distributions, with conditions, special values, orders and rules."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from surefoot._internal import checks
from surefoot.parameters import Choice, Float, Int, Parameter, ParameterConstraint, Space
from surefoot.parameters.parameter import (
    InvalidConstraint,
    InvalidParameter,
    contains,
    special_values,
)
from surefoot.types import InvalidInput


class InvalidSpace(InvalidInput):
    """A search space that cannot be used; `name` is the parameter to correct, in `table`."""

    def __init__(self, name: str, table: str, message: str) -> None:
        super().__init__(f"`{table}` of {name!r}: {message}")
        self.name, self.table, self.message = name, table, message


class ExhaustedSpace(UserWarning):
    """Every configuration of a small space has been measured, of which a display tells too."""


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
        require: Rules that every configuration satisfies, such as `"a + b <= 10"`, or functions of
            columns; see `surefoot.parameters.Space`. They are known before anything is measured,
            unlike the constraints of a sampler.

    Raises:
        InvalidInput: If a condition cannot be read, compares with an unknown parameter or a value
            of another kind, depends on itself, or cannot hold, if a special value is not a number,
            if ordered choices are not increasing numbers, if a range is too wide or too narrow
            for float64, or if a rule cannot be read or no configuration satisfies all of them.

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
    require: Sequence[ParameterConstraint] = ()

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
            if not isinstance(self.scales[name], CategoricalDistribution):
                wrong = "given to a number, expected it of categories only"
                raise InvalidSpace(name, "ordered", wrong)
        for name in self.scales if self.when or self.special or self.require else ():
            if self.scale(name).single():
                raise InvalidSpace(
                    name, "scales", "has one value on its scale, expected 2 or more: leave it out"
                )
        if self.varying_names:
            self._check_named()

    def __getstate__(self) -> dict[str, Any]:
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @classmethod
    def of(cls, space: Mapping[str, BaseDistribution] | SearchSpace) -> SearchSpace:
        """A space from distributions by name, or as it is."""
        return space if isinstance(space, SearchSpace) else cls(space)

    @property
    def varying_names(self) -> list[str]:
        """Names of the parameters that have more than one value."""
        return [name for name, one in self.scales.items() if not one.single()]

    @property
    def varying(self) -> SearchSpace:
        """The space of the parameters that have more than one value."""
        names = self.varying_names
        if len(names) == len(self.scales):
            return self
        scales = {name: self.scales[name] for name in names}
        return replace(
            self, scales=scales, ordered=[name for name in self.ordered if name in names]
        )

    @cached_property
    def named(self) -> Space:
        """The varying parameters, as the library knows them."""
        parameters = {name: self._parameter(name) for name in self.varying_names}
        return Space(parameters, self.require)

    def limited_to(self, names: Collection[str]) -> SearchSpace:
        """The space of some of its parameters, without those under conditions on others.

        Rules that read other parameters are left out.
        """
        kept: dict[str, BaseDistribution] = {}
        for name in self.order:
            parents = self.named.conditions[name].names if name in self.when else ()
            if name in names and all(parent in kept for parent in parents):
                kept[name] = self.scales[name]
        rules = self.named.encoding.rules if self.require else ()
        return SearchSpace(
            {name: one for name, one in self.scales.items() if name in kept},
            {name: text for name, text in self.when.items() if name in kept},
            {name: values for name, values in self.special.items() if name in kept},
            [name for name in self.ordered if name in kept],
            [
                written
                for written, rule in zip(self.require, rules, strict=True)
                if {*rule.names} <= {*kept}
            ],
        )

    @property
    def order(self) -> tuple[str, ...]:
        """The parameters, each after those that decide whether it is active."""
        return self.named.order if self.when else tuple(self.scales)

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
        return name not in self.when or self.named.is_active(name, params)

    def active(self, params: Mapping[str, Any]) -> list[str]:
        """The active parameters, in the order of the space.

        Args:
            params: Values by parameter name; those of inactive parameters are ignored.

        Returns:
            Their names.
        """
        return self.named.active(params) if self.when else list(self.scales)

    def restricted(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the active parameters, in the order of the space."""
        if self.when:
            return self.named.restricted(params)
        return {name: params[name] for name in self.scales if name in params}

    def violated(self, params: Mapping[str, Any]) -> tuple[str, ...]:
        """The rules that a configuration violates, as they were written.

        Args:
            params: Values of all active parameters, by name.

        Returns:
            The rules.
        """
        return self.named.encoding.violated(self.restricted(params)) if self.require else ()

    def is_complete(self, params: Mapping[str, Any]) -> bool:
        """Whether values are those of a whole configuration, which satisfies the rules.

        Args:
            params: Values by parameter name.

        Returns:
            The truth; values of other names do not count.
        """
        known = self.named.parameters if self.varying_names else {}
        given = {
            name: value
            for name, value in params.items()
            if name not in known or known[name].contains(value)
        }
        active = self.active(given)
        return all(name in given for name in active) and not self.violated(given)

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
        if isinstance(distribution, CategoricalDistribution) or not special:
            return distribution
        beyond = [v for v in special if not contains(distribution, v)]
        if not beyond:
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

        if isinstance(self.require, str) or not isinstance(self.require, Collection):
            raise InvalidInput(
                f"`require` is {checks.shown(self.require)}, expected a list of rules such as "
                '"a + b <= 10".'
            )
        object.__setattr__(self, "require", tuple(self.require))

    def _check_special(self, name: str, values: Sequence[float]) -> None:
        distribution = self.scales[name]
        if isinstance(distribution, CategoricalDistribution):
            raise InvalidSpace(name, "special", "given to a category, expected it in its choices")
        try:
            if not special_values(values, whole=isinstance(distribution, IntDistribution)):
                kind = "whole" if isinstance(distribution, IntDistribution) else "finite"
                wanted = f"got {checks.shown(values)}, expected a list of different {kind} numbers"
                raise InvalidSpace(name, "special", wanted)
        except InvalidParameter as error:
            raise InvalidSpace(name, "special", error.message) from None

    def _check_named(self) -> None:
        """Raise `InvalidSpace` or `InvalidConstraint` for what the library refuses."""
        try:
            _ = self.named
        except InvalidParameter as error:
            raise InvalidSpace(error.name, error.field, error.message) from None
        except InvalidConstraint as error:
            raise InvalidConstraint(error.indices, error.message, "require") from error

    def _parameter(self, name: str) -> Parameter:
        """A parameter, as the library knows it; `InvalidSpace` if it cannot be used."""
        distribution, when = self.scales[name], self.when.get(name, "")
        special: Sequence[Any] = self.special.get(name, ())
        try:
            if isinstance(distribution, CategoricalDistribution):
                return Choice(distribution.choices, ordered=name in self.ordered, when=when)
            if not isinstance(distribution, FloatDistribution | IntDistribution):
                raise InvalidInput(
                    f"{distribution!r} came, expected a float, an integer or a categorical "
                    "distribution."
                )
            low, high, log = distribution.low, distribution.high, distribution.log
            if isinstance(distribution, IntDistribution):
                return Int(low, high, log, distribution.step, special, when)
            return Float(low, high, log, distribution.step, special, when)
        except InvalidParameter as error:
            raise InvalidSpace(name, error.field, error.message) from None
