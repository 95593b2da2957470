"""`[environment]`: what the world does beside the setting, one line for each variable."""

from __future__ import annotations

import itertools
import math
from typing import Annotated, Any, Literal, Self

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator
from torch import tensor
from torch.distributions import Distribution, Independent, Uniform

from surefoot.spaces.environments import truncated_normal
from surefoot.tune.section import Section, WrongKey, check_range, expected
from surefoot.types import InvalidInput

MOST_VALUES = 10_000  # of the whole environment, where it is finite
_PRINTED = 1e-5  # of a number that was printed with six digits
CELLS = 32  # values that stand for a continuous variable beside a finite one


class Between(Section):
    """A variable between `low` and `high`."""

    low: float = Field(allow_inf_nan=False, description="a finite number")
    high: float = Field(allow_inf_nan=False, description="a finite number")

    def examples(self) -> list[Any]:
        return [self.low, self.high]

    def wrong(self, value: float) -> str | None:
        """What was expected instead of an observed value, None if it is right."""
        inside = self.low <= value <= self.high
        return None if inside else f"a number from {self.low:g} to {self.high:g}"

    def taken(self, value: float) -> float:
        """What is recorded of an observed value."""
        return value


class NormalVariable(Between):
    """A normal distribution, cut off below `low` and above `high`."""

    distribution: Literal["normal"]
    mean: float = Field(allow_inf_nan=False, description="a finite number")
    std: float = Field(gt=0, allow_inf_nan=False, description="a number above 0")

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range(self.low, self.high)
        try:
            self.density()
        except InvalidInput:
            raise WrongKey(
                "mean",
                f"got {self.mean!r} with std = {self.std!r}, which is practically never between "
                f"low = {self.low!r} and high = {self.high!r}; expected a mean nearer to them",
            ) from None
        return self

    def density(self) -> Distribution:
        """Its distribution, with batch shape (1,)."""
        cut = truncated_normal(self.mean, self.std, self.low, self.high)
        return cut.base_dist if isinstance(cut, Independent) else cut


class UniformVariable(Between):
    """Any number from `low` to `high`, all equally likely."""

    distribution: Literal["uniform"]

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range(self.low, self.high)
        return self

    def density(self) -> Distribution:
        """Its distribution, with batch shape (1,)."""
        return Uniform(tensor([self.low]).double(), tensor([self.high]).double())


class ListedVariable(Section):
    """One of a list of numbers, equally likely or with `weights`."""

    values: list[int | float] = Field(description="a list of at least 2 different finite numbers")
    weights: list[float] | None = Field(
        default=None, description="a list of probabilities, one for each value"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        finite = all(math.isfinite(value) for value in self.values)
        if finite and self.values and not math.isfinite(max(self.values) - min(self.values)):
            raise WrongKey("values", f"got {self.values!r}, which are further apart than can be")
        if len(self.values) < 2 or len(set(self.values)) < len(self.values) or not finite:
            raise WrongKey("values", expected(type(self), "values", self.values))
        if self.weights is None:
            return self
        if len(self.weights) != len(self.values):
            raise WrongKey(
                "weights",
                f"got {len(self.weights)} of them for {len(self.values)} values, expected one for "
                "each",
            )
        if not all(0 <= weight <= 1 for weight in self.weights):  # NaN neither
            raise WrongKey("weights", f"got {self.weights!r}, expected numbers from 0 to 1")
        if abs(math.fsum(self.weights) - 1) > 1e-6:
            raise WrongKey(
                "weights", f"they sum to {math.fsum(self.weights):.7g}, expected a sum of 1"
            )
        return self

    @property
    def shares(self) -> list[float]:
        """The probability of each value."""
        return self.weights or [1 / len(self.values)] * len(self.values)

    def examples(self) -> list[Any]:
        return list(self.values)

    def wrong(self, value: float) -> str | None:
        """What was expected instead of an observed value, None if it is right."""
        ordered = sorted(self.values)
        closest = min(b - a for a, b in itertools.pairwise(ordered))
        nearest = self.taken(value)
        if abs(value - nearest) <= min(_PRINTED * abs(nearest), closest / 3):
            return None
        listed = ", ".join(map(str, self.values[:8])) + (", ..." if len(self.values) > 8 else "")
        return f"one of {listed}"

    def taken(self, value: float) -> float:
        """What is recorded of an observed value: the one of the list that it is."""
        return min(self.values, key=lambda listed: abs(listed - value))


def _kind(raw: Any) -> str | None:
    """Which kind of variable a table describes, or one that was made of it."""
    if isinstance(raw, Section):
        return str(getattr(raw, "distribution", "values"))
    if not isinstance(raw, dict):
        return None
    named = raw.get("distribution", "values" if "values" in raw else None)
    return None if named is None else str(named)


VARIABLE_TYPES: dict[str, type[Section]] = {
    "normal": NormalVariable,
    "uniform": UniformVariable,
    "values": ListedVariable,
}
Variable = NormalVariable | UniformVariable | ListedVariable
_Tagged = Annotated[
    Annotated[NormalVariable, Tag("normal")]
    | Annotated[UniformVariable, Tag("uniform")]
    | Annotated[ListedVariable, Tag("values")],
    Discriminator(_kind),
]


def variable_type(raw: Any) -> type[Section] | None:
    """The model of a variable's table."""
    return VARIABLE_TYPES.get(_kind(raw) or "")


class EnvironmentSection(Section):
    """All variables, and who chooses their values in a measurement."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, _Tagged]

    control: Literal["chosen", "observed"] = Field(
        default="chosen", description="'chosen' or 'observed'"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.variables:
            raise WrongKey("", "got no variable, expected at least one")
        listed = [one for one in self.variables.values() if isinstance(one, ListedVariable)]
        number = math.prod(len(one.values) for one in listed)
        number *= CELLS ** (len(self.variables) - len(listed))
        if listed and number > MOST_VALUES:
            raise WrongKey(
                "",
                f"got {number} combinations of values, expected at most {MOST_VALUES}: list fewer "
                f"values (a distribution beside a list counts as {CELLS})",
            )
        return self

    @property
    def variables(self) -> dict[str, Variable]:
        """The variables by name, in the order of the file."""
        return self.__pydantic_extra__

    @property
    def observed(self) -> bool:
        """Whether the world draws the values, and the objective reports them."""
        return self.control == "observed"
