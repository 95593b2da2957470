"""Parameters of a study: those that vary, as the library knows them, and Optuna's distributions."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
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
from surefoot.parameters.parameter import InvalidParameter, contains
from surefoot.types import InvalidInput


class ExhaustedSpace(UserWarning):
    """Every configuration of a small space has been measured, of which a display tells too."""


@dataclass(frozen=True)
class SearchSpace:
    """Parameters of a study.

    Args:
        parameters: Those that vary by name.
        require: Rules that every configuration satisfies, see `surefoot.parameters.Space`.

    Raises:
        InvalidInput: If conditions or rules do not fit the parameters.
    """

    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    require: Sequence[ParameterConstraint] = ()

    def __post_init__(self) -> None:
        if self.parameters:
            _ = self.named

    @classmethod
    def of(
        cls,
        space: Mapping[str, BaseDistribution] | Space | SearchSpace,
        when: Mapping[str, str] | None = None,
    ) -> SearchSpace:
        """A space from named parameters, or from distributions by name.

        Args:
            space: The space.
            when: Conditions by name of the parameter that is active under them.
        """
        if isinstance(space, SearchSpace):
            return space
        if isinstance(space, Space):
            return cls(space.parameters, space.constraints)
        conditions, varying = when or {}, {n: d for n, d in space.items() if not d.single()}
        return cls({n: parameter_of(n, d, conditions.get(n, "")) for n, d in varying.items()})

    @property
    def names(self) -> list[str]:
        """Names of the parameters."""
        return [*self.parameters]

    @cached_property
    def named(self) -> Space:
        """The varying parameters, of which there is one at least."""
        return Space(self.parameters, self.require)

    @property
    def when(self) -> dict[str, str]:
        """Conditions by name of the parameter that is active under them."""
        return {name: one.when for name, one in self.parameters.items() if one.when}

    def limited_to(self, names: Collection[str]) -> SearchSpace:
        """The space of some of its parameters, without those under conditions on others.

        Rules that read other parameters are left out.
        """
        kept: set[str] = set()
        for name in self.named.order if self.parameters else ():
            condition = self.named.conditions.get(name)
            if name in names and all(one in kept for one in (condition.names if condition else ())):
                kept.add(name)
        rules = self.named.encoding.rules if self.require else ()
        return SearchSpace(
            {name: one for name, one in self.parameters.items() if name in kept},
            tuple(
                written
                for written, rule in zip(self.require, rules, strict=True)
                if {*rule.names} <= kept
            ),
        )

    @cached_property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Distributions by parameter name as Optuna stores them: they include special values."""
        return distributions(self.parameters)

    def active(self, params: Mapping[str, Any]) -> list[str]:
        """The active parameters, in the order of the space.

        Args:
            params: Values by parameter name; those of inactive parameters are ignored.

        Returns:
            Their names.
        """
        return self.named.active(params) if self.parameters else []

    def restricted(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """The values of the active parameters, in the order of the space."""
        return self.named.restricted(params) if self.parameters else {}

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
        known = self.parameters
        right = {n: v for n, v in params.items() if n not in known or known[n].contains(v)}
        return all(name in right for name in self.active(right)) and not self.violated(right)


def parameter_of(name: str, distribution: BaseDistribution, when: str = "") -> Parameter:
    """The parameter of a distribution of more than one value.

    Raises:
        InvalidInput: If it cannot be modelled.
    """
    try:
        if isinstance(distribution, CategoricalDistribution):
            return Choice(distribution.choices, when=when)
        if not isinstance(distribution, FloatDistribution | IntDistribution):
            raise InvalidInput(
                f"{distribution!r} came, expected a float, an integer or a categorical "
                "distribution."
            )
        low, high, log = distribution.low, distribution.high, distribution.log
        if isinstance(distribution, IntDistribution):
            return Int(low, high, log, distribution.step, (), when)
        return Float(low, high, log, distribution.step, (), when)
    except InvalidParameter as error:
        raise InvalidParameter(name, error.field, error.message) from None


def distributions(space: Mapping[str, Parameter] | Space) -> dict[str, BaseDistribution]:
    """Optuna's distributions of named parameters, which include special values.

    Args:
        space: Named parameters.

    Returns:
        Distributions by name, as which an objective function suggests them.

    Raises:
        InvalidInput: If it has no named parameters.

    Example:
        >>> import surefoot as sf
        >>> checkpoint = sf.parameters.Int(100, 10000, log=True, special=[0])
        >>> distributions(sf.parameters.Space({"checkpoint": checkpoint}))
        {'checkpoint': IntDistribution(high=10000, log=False, low=0, step=1)}
    """
    parameters = space.parameters if isinstance(space, Space) else space
    if not isinstance(parameters, Mapping):
        raise InvalidInput(f"`space` is {checks.shown(space)}, expected a `parameters.Space`.")
    return {name: _distribution(one) for name, one in parameters.items()}


def _distribution(one: Parameter) -> BaseDistribution:
    if isinstance(one, Choice):
        return CategoricalDistribution(one.choices)
    beyond = [value for value in one.special if not contains(one, value)]
    low, high = min(one.low, *beyond, one.low), max(one.high, *beyond, one.high)
    log, step = one.log and not beyond, None if beyond else one.step
    if isinstance(one, Int):
        return IntDistribution(int(low), int(high), log=log, step=step or 1)
    return FloatDistribution(low, high, log=log, step=step)
