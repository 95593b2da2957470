"""`[environment]`: variables that are not chosen freely, random ones with their distribution."""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from surefoot._internal.numbers import ROUNDING, SAMPLES
from surefoot.tune.definition.parameters import (
    CategoricalParameter,
    FloatParameter,
    IntParameter,
    Parameter,
    ParameterSection,
)
from surefoot.tune.definition.section import (
    MOST_LISTED,
    InvalidKey,
    Section,
    check_range,
    is_finite,
)
from surefoot.tune.plain_text import listed, shown
from surefoot.types import InvalidInput

# Modules that load torch are imported where they are used: most study files have no environment.
if TYPE_CHECKING:
    from torch.distributions import Distribution

    from surefoot.integrations.optuna import StudyEnvironment

PRINTED = 1e-5  # relative error of a number that was printed with six digits

_HALF = (  # quantile levels between cells, up to the median; the rest are their mirror image
    *(0.0, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1),
    *(0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
)
CELLS = 2 * len(_HALF)  # values that stand for a continuous variable: cell means and both ends


class ContinuousVariable(Section):
    """A variable with a density between `low` and `high`."""

    low: float = Field(allow_inf_nan=False, description="a finite number")
    high: float = Field(allow_inf_nan=False, description="a finite number")

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range(self.low, self.high)
        return self

    def examples(self) -> list[Any]:
        return [self.low, self.high]

    def mismatch(self, value: float) -> str | None:
        """Expected values, where an observed one is invalid; None if it is valid."""
        inside = self.low <= value <= self.high
        return None if inside else f"a number from {self.low:g} to {self.high:g}"

    def nearest(self, value: float) -> float:
        """The value to record for a valid observed one."""
        return value

    @abstractmethod
    def density(self) -> Distribution:
        """The distribution, with batch shape (1,)."""

    def support(self) -> tuple[list[float], list[float]]:
        """Values and weights that stand for the density: the means of its cells, and its ends.

        So their mean is the distribution's, and the mean of a tail nearly so; cells are finer
        towards the ends, for the sake of small levels.
        """
        import torch

        half = torch.tensor(_HALF, dtype=torch.float64)
        edges = torch.cat([half, 1.0 - half[:-1].flip(0)])
        weights = edges.diff()
        within = (torch.arange(SAMPLES, dtype=torch.float64) + 0.5) / SAMPLES
        levels = edges[:-1, None] + weights[:, None] * within
        means = self.density().icdf(levels.reshape(-1, 1)).reshape(levels.shape).mean(-1)
        # The ends are for the worst case only.
        return [self.low, *means.tolist(), self.high], [ROUNDING, *weights.tolist(), ROUNDING]


class NormalVariable(ContinuousVariable):
    """A normal distribution, truncated to [`low`, `high`]."""

    distribution: Literal["normal"]
    mean: float = Field(allow_inf_nan=False, description="a finite number")
    std: float = Field(gt=0, allow_inf_nan=False, description="a number above 0")

    @model_validator(mode="after")
    def _check_mass(self) -> Self:
        try:
            self.density()
        except InvalidInput:
            raise InvalidKey(
                "mean",
                f"got {self.mean!r} with std = {self.std!r}, which is practically never between "
                f"low = {self.low!r} and high = {self.high!r}; expected a mean nearer to them",
            ) from None
        return self

    def density(self) -> Distribution:
        from torch.distributions import Independent

        from surefoot.spaces.environments import truncated_normal

        truncated = truncated_normal(self.mean, self.std, self.low, self.high)
        return truncated.base_dist if isinstance(truncated, Independent) else truncated


class UniformVariable(ContinuousVariable):
    """A uniform distribution on [`low`, `high`]."""

    distribution: Literal["uniform"]

    def density(self) -> Distribution:
        import torch
        from torch.distributions import Uniform

        low, high = torch.tensor([[self.low], [self.high]], dtype=torch.float64)
        return Uniform(low, high)


class DiscreteVariable(Section):
    """One of a list of numbers, equally likely or with `weights`."""

    values: list[int | float] = Field(description="a list of at least 2 different finite numbers")
    weights: list[float] | None = Field(
        default=None, description="a list of probabilities, one for each value"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        finite = all(is_finite(value) for value in self.values)
        if finite and self.values and not math.isfinite(max(self.values) - min(self.values)):
            raise InvalidKey("values", f"got {shown(self.values)}, too far apart for float64")
        if len(self.values) < 2 or len(set(self.values)) < len(self.values) or not finite:
            raise self.invalid("values", self.values)
        if self.weights is None:
            return self
        if len(self.weights) != len(self.values):
            raise InvalidKey(
                "weights",
                f"got {len(self.weights)} of them for {len(self.values)} values, expected one for "
                "each",
            )
        if not all(0 <= weight <= 1 for weight in self.weights):  # false for NaN
            raise InvalidKey("weights", f"got {shown(self.weights)}, expected numbers from 0 to 1")
        if abs(math.fsum(self.weights) - 1) > 1e-6:
            raise InvalidKey(
                "weights", f"they sum to {math.fsum(self.weights):.7g}, expected a sum of 1"
            )
        return self

    @property
    def integer(self) -> bool:
        """Whether the study file lists integers only."""
        return all(type(value) is int for value in self.values)

    def examples(self) -> list[Any]:
        return list(self.values)

    def mismatch(self, value: float) -> str | None:
        """Expected values, where an observed one is invalid; None if it is valid."""
        closest = min(b - a for a, b in itertools.pairwise(sorted(self.values)))
        nearest = self.nearest(value)
        if abs(value - nearest) <= min(PRINTED * abs(nearest), closest / 3):
            return None
        return f"one of {listed(self.values)}"

    def nearest(self, value: float) -> float:
        """The value to record for a valid observed one: the listed one that it stands for."""
        return min(self.values, key=lambda listed: abs(listed - value))

    def support(self) -> tuple[list[float], list[float]]:
        """The values and their probabilities."""
        equal = [1 / len(self.values)] * len(self.values)
        return [float(value) for value in self.values], self.weights or equal


def _kind(raw: Any) -> str | None:
    """Kind of variable that a table, or a parsed one, describes."""
    if isinstance(raw, ParameterSection):
        return str(getattr(raw, "type", None))
    if isinstance(raw, Section):
        return str(getattr(raw, "distribution", "values"))
    if not isinstance(raw, dict):
        return None
    named = raw.get("distribution", raw.get("type", "values" if "values" in raw else None))
    return None if named is None else str(named)


VARIABLE_TYPES: dict[str, type[Section]] = {
    "normal": NormalVariable,
    "uniform": UniformVariable,
    "values": DiscreteVariable,
    "int": IntParameter,
    "float": FloatParameter,
    "categorical": CategoricalParameter,
}
Variable = NormalVariable | UniformVariable | DiscreteVariable
_Tagged = Annotated[
    Annotated[NormalVariable, Tag("normal")]
    | Annotated[UniformVariable, Tag("uniform")]
    | Annotated[DiscreteVariable, Tag("values")]
    | Annotated[IntParameter, Tag("int")]
    | Annotated[FloatParameter, Tag("float")]
    | Annotated[CategoricalParameter, Tag("categorical")],
    Discriminator(_kind),
]
_OF_PARAMETERS_ONLY = ("default", "guess", "when", "inactive")  # keys


def variable_type(raw: Any) -> type[Section] | None:
    """The model of a variable's table."""
    return VARIABLE_TYPES.get(_kind(raw) or "")


class EnvironmentSection(Section):
    """All variables, and whether measurements choose, observe or are given their values."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, _Tagged]

    control: Literal["chosen", "observed", "given"] = Field(
        default="chosen", description="'chosen', 'observed' or 'given'"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.__pydantic_extra__:
            raise InvalidKey("", "got no variable, expected at least one")
        self._check_kinds()
        if self.given:
            return self
        discrete = self._discrete
        number = math.prod(len(one.values) for one in discrete.values())
        number *= CELLS ** (len(self.variables) - len(discrete))
        if discrete and number > MOST_LISTED:
            raise InvalidKey(
                "",
                f"got {number} combinations of values, expected at most {MOST_LISTED}: list "
                f"fewer values (a distribution beside a list counts as {CELLS})",
            )
        return self

    def _check_kinds(self) -> None:
        """Raise `InvalidKey` unless all variables are described as `control` needs it."""
        is_given = self.control == "given"
        for name, one in self.__pydantic_extra__.items():
            if isinstance(one, ParameterSection) is is_given:
                wrong = [key for key in _OF_PARAMETERS_ONLY if getattr(one, key, None) is not None]
                if wrong:
                    raise InvalidKey(
                        f"{name}.{wrong[0]}",
                        f"given, expected only of parameters: {name} is known before each choice",
                    )
            elif is_given:
                raise InvalidKey(
                    name,
                    "got a distribution beside control = 'given', expected a type and a range, as "
                    'of a parameter, such as { type = "float", low = 0, high = 200 }',
                )
            else:
                raise InvalidKey(
                    name,
                    f"got a `type` beside control = {self.control!r}, expected a `distribution` or "
                    "`values`, or control = 'given'",
                )

    @property
    def variables(self) -> dict[str, Variable]:
        """The random variables by name, in the order of the file."""
        every = self.__pydantic_extra__.items()
        return {n: one for n, one in every if not isinstance(one, ParameterSection)}

    @property
    def given(self) -> dict[str, Parameter]:
        """The variables by name that are known before each choice; all of them, or none."""
        every = self.__pydantic_extra__.items()
        return {n: one for n, one in every if isinstance(one, ParameterSection)}

    @property
    def observed(self) -> bool:
        """Whether the objective reports the values, rather than being told them."""
        return self.control == "observed"

    def joint(self) -> StudyEnvironment:
        """The joint distribution of the variables, which are independent.

        Discrete variables give the grid of their combinations. Continuous ones keep their
        densities, unless there is a discrete one: then each is replaced by its `support`.
        """
        from surefoot.integrations.optuna import StudyEnvironment
        from surefoot.spaces import ContinuousEnvironment, FiniteEnvironment
        from surefoot.tune.definition.product_distribution import ProductDistribution

        variables, discrete = self.variables, self._discrete
        if not discrete:
            densities = [
                one.density() for one in variables.values() if isinstance(one, ContinuousVariable)
            ]
            continuous = ContinuousEnvironment(
                densities[0] if len(densities) == 1 else ProductDistribution(densities),
                [one.examples()[0] for one in variables.values()],
                [one.examples()[1] for one in variables.values()],
            )
            return StudyEnvironment(list(variables), continuous, self.observed)
        supports = [one.support() for one in variables.values()]
        points = list(itertools.product(*(values for values, _ in supports)))
        weights = [math.prod(each) for each in itertools.product(*(w for _, w in supports))]
        return StudyEnvironment(
            list(variables),
            FiniteEnvironment(points, weights),
            self.observed,
            integer=[name for name, one in discrete.items() if one.integer],
            rounded=[name for name in variables if name not in discrete],
        )

    @property
    def _discrete(self) -> dict[str, DiscreteVariable]:
        return {n: one for n, one in self.variables.items() if isinstance(one, DiscreteVariable)}
