"""Parameters of a study as Optuna's distributions, and the space of distributions."""

from __future__ import annotations

from collections.abc import Mapping

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from surefoot._internal import checks
from surefoot.parameters import Choice, Float, Int, Parameter, Space
from surefoot.parameters.parameter import InvalidParameter, contains
from surefoot.types import InvalidInput


class ExhaustedSpace(UserWarning):
    """Every configuration of a small space has been measured, of which a display tells too."""


def space_of(
    space: Mapping[str, BaseDistribution] | Space, when: Mapping[str, str] | None = None
) -> Space:
    """The space of named parameters, or of the distributions by name that have several values.

    Args:
        space: The parameters or distributions.
        when: Conditions by name of the parameter that is active under them.
    """
    if isinstance(space, Space):
        return space
    conditions, varying = when or {}, {n: d for n, d in space.items() if not d.single()}
    return Space({n: parameter_of(n, d, conditions.get(n, "")) for n, d in varying.items()})


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
