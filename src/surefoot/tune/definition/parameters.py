"""The parameters of a study file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from surefoot.parameters import Choice, Float, Int
from surefoot.parameters import Parameter as SpaceParameter
from surefoot.parameters.parameter import InvalidParameter, Number, contains, described
from surefoot.tune.definition.section import (
    LARGEST_INTEGER,
    Finite,
    InvalidKey,
    Section,
    UnitText,
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
_OF_RANGE = "from low to high, or special"
_Whole = Annotated[int | None, Field(description=f"a whole number {_OF_RANGE}")]
_Real = Annotated[
    float | None, Field(allow_inf_nan=False, description=f"a finite number {_OF_RANGE}")
]
_Choice = Annotated[str | bool | int | float | None, Field(description="one of the choices")]


def texts_of(choice: Any) -> set[str]:
    """The texts that stand for a choice in a table or on a command line, such as True or true."""
    return {str(choice).strip(" ").rstrip(), json.dumps(choice)}  # as a cell is read


def value_of(text: str, parameter: SpaceParameter) -> Any:
    """The value of a parameter that a text stands for; None for a text of none.

    Numbers are those of `plain_number`, and not those of Python, such as 1_0.
    """
    number = plain_number(text)
    if isinstance(parameter, Choice):
        same = [one for one in parameter.choices if text in texts_of(one)]
        # As a column of 1 and 2.5, or with gaps, is written: 1.0.
        same += [one for one in parameter.choices if type(one) in (int, float) and one == number]
        # As spreadsheets write truth values.
        same += [one for one in parameter.choices if type(one) is bool and text == f"{one}".upper()]
        return same[0] if same else None
    if number is None or number in parameter.special:
        return None if number is None else parameter.cast(number)
    value = _unrounded(parameter, number)
    return None if value is None else parameter.cast(value)


def _unrounded(parameter: Number, value: float) -> float | None:
    """The value that a number is, or that float32 has rounded to it; None for one of none."""
    if contains(parameter, value):
        return value
    near = [parameter.low, parameter.high]
    if parameter.low <= value <= parameter.high and parameter.levels:
        near.append(parameter.nth(parameter.index(value)))
    return next((one for one in near if float(np.float32(one)) == value), None)


def written(parameter: SpaceParameter) -> str:
    """The values of a parameter in words, as they are written in a table or a command."""
    if isinstance(parameter, Choice):
        return f"one of {', '.join(map(str, parameter.choices))}"
    return parameter.describe()


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


def _check_parameter(parameter: Callable[[], SpaceParameter]) -> None:
    """Raise `InvalidKey` for what the library refuses."""
    try:
        parameter()
    except InvalidParameter as error:
        raise InvalidKey(error.field, error.message) from None


class NumberParameter(ParameterSection):
    """A number from `low` to `high`, both included."""

    ordered: ClassVar[bool] = False
    whole: ClassVar[bool] = False

    low: float
    high: float
    log: bool = Field(default=False, description="true or false")
    step: float | None
    default: float | None
    guess: float | None
    special: Sequence[float]
    unit: UnitText = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_parameter(self.parameter)
        self._check_value("default", self.default)
        self._check_value("guess", self.guess)
        return self

    def _check_value(self, key: str, value: float | None) -> None:
        if value is None or value in self.special or contains(self, value):
            return
        raise InvalidKey(key, f"got {shown(value)}, expected {described(self, self.whole)}")

    def parameter(self) -> Number:
        """The parameter, as the library knows it."""
        return Float(self.low, self.high, self.log, self.step, self.special, self.when or "")

    def examples(self) -> list[Any]:
        """Values that a command must be able to take."""
        return [self.low, self.high, *self.special]


class IntParameter(NumberParameter):
    """An integer from `low` to `high`, both included."""

    whole: ClassVar[bool] = True

    type: Literal["int"]
    low: _Integer
    high: _Integer
    step: int | None = Field(default=None, ge=1, description="a whole number of at least 1")
    default: _Whole = None
    guess: _Whole = None
    special: list[_Integer] = Field(
        default_factory=list, description="a list of whole numbers that are apart from the scale"
    )

    def parameter(self) -> Number:
        """The parameter, as the library knows it."""
        low, high = int(self.low), int(self.high)
        special = [int(one) for one in self.special]
        return Int(low, high, self.log, int(self.step or 1), special, self.when or "")


class FloatParameter(NumberParameter):
    """A real number from `low` to `high`, both included."""

    type: Literal["float"]
    low: Finite
    high: Finite
    step: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="a finite number above 0"
    )
    default: _Real = None
    guess: _Real = None
    special: list[Finite] = Field(
        default_factory=list, description="a list of finite numbers that are apart from the scale"
    )


class CategoricalParameter(ParameterSection):
    """One of a list of values, unordered unless said otherwise."""

    special: ClassVar[Sequence[float]] = ()  # every choice is apart from the others
    unit: ClassVar[None] = None

    type: Literal["categorical"]
    choices: list[str | bool | int | float] = Field(
        description="a list of at least 2 different strings, numbers or booleans (1, 1.0 and true "
        "are not different)"
    )
    default: _Choice = None
    guess: _Choice = None
    ordered: bool = Field(default=False, description="true or false")

    @model_validator(mode="after")
    def _check(self) -> Self:
        # 1, 1.0 and true are equal, and one choice to Optuna.
        finite = all(is_finite(c) for c in self.choices if isinstance(c, int | float))
        if len(self.choices) < 2 or len(set(self.choices)) < len(self.choices) or not finite:
            raise self.invalid("choices", self.choices)
        owners: dict[str, Any] = {}
        for choice, text in ((one, text) for one in self.choices for text in texts_of(one)):
            other = owners.setdefault(text, choice)
            if other is not choice:
                raise InvalidKey(
                    "choices",
                    f"got {shown(other)} and {shown(choice)}, which cannot be told apart in a "
                    "command or a table; expected choices that differ as texts",
                )
        for key, value in (("default", self.default), ("guess", self.guess)):
            same = [one for one in self.choices if one == value]
            if value is not None and [type(one) for one in same] != [type(value)]:
                raise self.invalid(key, value)
        _check_parameter(self.parameter)
        return self

    def parameter(self) -> Choice:
        """The parameter, as the library knows it."""
        return Choice(self.choices, self.ordered, self.when or "")

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
