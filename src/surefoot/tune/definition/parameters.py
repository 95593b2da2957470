"""The parameters of a study file."""

from __future__ import annotations

import json
from collections.abc import Sequence
from itertools import combinations
from typing import Annotated, Any, Literal, Self

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from pydantic import Field, model_validator

from surefoot.tune.definition.grid import contains, is_on_grid, range_text, unrounded
from surefoot.tune.definition.section import (
    LARGEST_INTEGER,
    UNIT,
    InvalidKey,
    Section,
    check_range,
    check_unit,
    is_finite,
)
from surefoot.tune.measuring.quantity import plain_number
from surefoot.tune.plain_text import shown

_Integer = Annotated[
    int,
    Field(
        ge=-LARGEST_INTEGER, le=LARGEST_INTEGER, description="a whole number from -2**53 to 2**53"
    ),
]
_Finite = Annotated[float, Field(allow_inf_nan=False, description="a finite number")]


def texts_of(choice: Any) -> set[str]:
    """The texts that stand for a choice in a table or on a command line, such as True or true."""
    written = str(choice).strip(" ").rstrip()  # a cell is read without what surrounds it
    return {written, json.dumps(choice)}


def choice_of(text: str, choices: Sequence[Any]) -> Any:
    """The choice that a text stands for; None for a text of no choice."""
    return next((one for one in choices if text in texts_of(one)), None)


def value_of(text: str, distribution: BaseDistribution, special: Sequence[float] = ()) -> Any:
    """The value of a parameter that a text stands for; None for a text of none.

    Numbers are those of `plain_number`, and not those of Python, such as 1_0.

    Args:
        text: The text.
        distribution: The values that the parameter may have.
        special: Special values of the parameter beside them.
    """
    if isinstance(distribution, CategoricalDistribution):
        return choice_of(text, distribution.choices)
    number = plain_number(text)
    if number is None:
        return None
    value = number if number in special else unrounded(distribution, number)
    return int(value) if value is not None and isinstance(distribution, IntDistribution) else value


class ParameterSection(Section):
    """Keys that any parameter may have."""

    when: str | None = Field(
        default=None,
        description="a condition on other parameters, such as \"journal == 'WAL'\"",
    )
    inactive: str | None = Field(
        default=None, description="a text for the command where the parameter is inactive"
    )

    @model_validator(mode="after")
    def _check_condition(self) -> Self:
        if self.inactive is not None and self.when is None:
            raise InvalidKey("inactive", "given without `when`; expected both, or neither of them")
        return self


class NumberParameter(ParameterSection):
    """A number from `low` to `high`, both included."""

    low: float
    high: float
    log: bool = Field(default=False, description="true or false")
    step: float | None
    default: float | None
    guess: float | None
    special: Sequence[float]
    unit: str | None = Field(default=None, description=UNIT)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range(self.low, self.high, self.log)
        self._check_step()
        self._check_value("default", self.default)
        self._check_value("guess", self.guess)
        check_unit(self.unit)
        return self

    @property
    def ordered(self) -> bool:
        """Whether it has ordered choices: no, since it has none."""
        return False

    def _check_step(self) -> None:
        if self.step is None:
            return
        if self.log:
            raise InvalidKey("step", "given together with log = true; expected one of the two")
        width = self.high - self.low
        if self.step > width or not is_on_grid(self.high, self.low, self.step):
            raise InvalidKey(
                "step", f"got {shown(self.step)}, expected one that divides high - low = {width:g}"
            )

    def _check_value(self, key: str, value: float | None) -> None:
        scale = self.distribution()
        if value is None or value in self.special or contains(scale, value):
            return
        wanted = (
            range_text(scale, self.special)
            if scale.step or self.special
            else "a finite number from low to high"
        )
        raise InvalidKey(key, f"got {shown(value)}, expected {wanted}")

    def distribution(self) -> FloatDistribution | IntDistribution:
        """Its scale, without the special values."""
        return FloatDistribution(self.low, self.high, log=self.log, step=self.step)

    def examples(self) -> list[Any]:
        """Values that a command must be able to take."""
        return [self.low, self.high, *self.special]


class IntParameter(NumberParameter):
    """An integer from `low` to `high`, both included."""

    type: Literal["int"]
    low: _Integer
    high: _Integer
    step: int | None = Field(default=None, ge=1, description="a whole number of at least 1")
    default: int | None = Field(
        default=None, description="a whole number from low to high, or special"
    )
    guess: int | None = Field(
        default=None, description="a whole number from low to high, or special"
    )
    special: list[_Integer] = Field(
        default_factory=list, description="a list of whole numbers that are apart from the scale"
    )

    def distribution(self) -> FloatDistribution | IntDistribution:
        """Its scale, without the special values."""
        return IntDistribution(self.low, self.high, log=self.log, step=self.step or 1)


class FloatParameter(NumberParameter):
    """A real number from `low` to `high`, both included."""

    type: Literal["float"]
    low: _Finite
    high: _Finite
    step: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="a finite number above 0"
    )
    default: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="a finite number from low to high, or special",
    )
    guess: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="a finite number from low to high, or special",
    )
    special: list[_Finite] = Field(
        default_factory=list, description="a list of finite numbers that are apart from the scale"
    )


class CategoricalParameter(ParameterSection):
    """One of a list of values, unordered unless said otherwise."""

    type: Literal["categorical"]
    choices: list[str | bool | int | float] = Field(
        description="a list of at least 2 different strings, numbers or booleans"
    )
    default: str | bool | int | float | None = Field(default=None, description="one of the choices")
    guess: str | bool | int | float | None = Field(default=None, description="one of the choices")
    ordered: bool = Field(default=False, description="true or false")

    @model_validator(mode="after")
    def _check(self) -> Self:
        # 1, 1.0 and true are equal, and one choice to Optuna.
        finite = all(is_finite(c) for c in self.choices if isinstance(c, int | float))
        if len(self.choices) < 2 or len(set(self.choices)) < len(self.choices) or not finite:
            raise self.invalid("choices", self.choices)
        for one, other in combinations(self.choices, 2):
            if texts_of(one) & texts_of(other):
                raise InvalidKey(
                    "choices",
                    f"got {shown(one)} and {shown(other)}, which cannot be told apart in a command "
                    "or a table; expected choices that differ as texts",
                )
        for key, value in (("default", self.default), ("guess", self.guess)):
            same = [one for one in self.choices if one == value]
            if value is not None and [type(one) for one in same] != [type(value)]:
                raise self.invalid(key, value)
        return self

    @property
    def special(self) -> list[float]:
        """Its special values: none, since every choice is apart from the others."""
        return []

    @property
    def unit(self) -> None:
        """Its unit: none."""
        return None

    def distribution(self) -> BaseDistribution:
        """Its choices."""
        return CategoricalDistribution(self.choices)

    def examples(self) -> list[Any]:
        """Values that a command must be able to take."""
        return list(self.choices)


Parameter = Annotated[
    IntParameter | FloatParameter | CategoricalParameter, Field(discriminator="type")
]
PARAMETER_TYPES: dict[str, type[Section]] = {
    "int": IntParameter,
    "float": FloatParameter,
    "categorical": CategoricalParameter,
}
