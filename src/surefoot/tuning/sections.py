"""The tables of a study file and what may stand in them."""

from __future__ import annotations

import keyword
import math
import re
from typing import Annotated, Any, Literal, Self

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from pydantic import BaseModel, ConfigDict, Field, model_validator

from surefoot.tuning.command_line import CommandTemplate

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class WrongKey(ValueError):
    """A value that is wrong beside another one; `key` is relative to the section that raises it."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Section(BaseModel):
    """A table of the study file. Field descriptions are what its errors say was expected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class StudySection(Section):
    """`[study]`: what is sought and for how long."""

    name: str = Field(description="a name of letters, digits, spaces, '.', '_' and '-'")
    direction: Literal["minimize", "maximize"] = Field(description="'minimize' or 'maximize'")
    rounds: int = Field(ge=1, description="a whole number of at least 1")
    seed: int = Field(default=0, ge=0, lt=2**32, description="a whole number from 0 to 2**32 - 1")
    storage: str | None = Field(
        default=None, description="an Optuna storage URL such as 'sqlite:///NAME.db'"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9 ._-]*", self.name):
            raise WrongKey("name", _expected(type(self), "name", self.name))
        if self.storage is not None and "://" not in self.storage:
            raise WrongKey("storage", _expected(type(self), "storage", self.storage))
        if self.storage is not None and re.fullmatch(
            r"sqlite(\+\w+)?://(/:memory:)?(\?.*)?", self.storage
        ):
            raise WrongKey(
                "storage",
                f"got {self.storage!r}, which is forgotten when the run ends; "
                "expected a file, such as 'sqlite:///NAME.db'",
            )
        return self


class ObjectiveSection(Section):
    """`[objective]`: what is measured, by a command or by a Python function."""

    command: str | None = Field(default=None, description="a command line")
    function: str | None = Field(
        default=None, description="'module:name' of a function beside the study file"
    )
    timeout: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="a number of seconds above 0"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.command is None and self.function is None:
            raise WrongKey("command", "missing; expected a command line (or `function` instead)")
        if self.command is not None and self.function is not None:
            raise WrongKey("function", "given beside `command`; expected one of the two")
        if self.function is not None and not re.fullmatch(
            r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", self.function
        ):
            raise WrongKey("function", _expected(type(self), "function", self.function))
        return self


class IntParameter(Section):
    """A whole number between `low` and `high`, both included."""

    type: Literal["int"]
    low: int = Field(description="a whole number")
    high: int = Field(description="a whole number")
    log: bool = Field(default=False, description="true or false")

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_range(self.low, self.high, self.log)
        return self

    def distribution(self) -> BaseDistribution:
        return IntDistribution(self.low, self.high, log=self.log)

    def examples(self) -> list[Any]:
        return [self.low, self.high]


class FloatParameter(Section):
    """A number between `low` and `high`, both included."""

    type: Literal["float"]
    low: float = Field(allow_inf_nan=False, description="a finite number")
    high: float = Field(allow_inf_nan=False, description="a finite number")
    log: bool = Field(default=False, description="true or false")

    @model_validator(mode="after")
    def _check(self) -> Self:
        _check_range(self.low, self.high, self.log)
        return self

    def distribution(self) -> BaseDistribution:
        return FloatDistribution(self.low, self.high, log=self.log)

    def examples(self) -> list[Any]:
        return [self.low, self.high]


class CategoricalParameter(Section):
    """One of a list of values that have no order."""

    type: Literal["categorical"]
    choices: list[str | bool | int | float] = Field(
        description="a list of at least 2 different strings, numbers or booleans"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        # 1, 1.0 and true are one dictionary key, and one choice to Optuna.
        finite = all(math.isfinite(c) for c in self.choices if isinstance(c, float))
        if len(self.choices) < 2 or len(set(self.choices)) < len(self.choices) or not finite:
            raise WrongKey("choices", _expected(type(self), "choices", self.choices))
        return self

    def distribution(self) -> BaseDistribution:
        return CategoricalDistribution(self.choices)

    def examples(self) -> list[Any]:
        return list(self.choices)


Parameter = Annotated[
    IntParameter | FloatParameter | CategoricalParameter, Field(discriminator="type")
]
PARAMETER_TYPES: dict[str, type[Section]] = {
    "int": IntParameter,
    "float": FloatParameter,
    "categorical": CategoricalParameter,
}


class Contents(Section):
    """The whole file."""

    study: StudySection = Field(description="a table [study] with name, direction and rounds")
    objective: ObjectiveSection = Field(description="a table [objective] with command or function")
    parameters: dict[str, Parameter] = Field(
        description="a table [parameters] with a line for each parameter"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.parameters:
            raise WrongKey("parameters", "got none, expected at least one parameter")
        for name in self.parameters:
            if not NAME.fullmatch(name):
                raise WrongKey(
                    f"parameters.{name}",
                    "got this name, expected letters, digits, '_' and '-', not beginning "
                    "with a digit",
                )
            if self.objective.function and (not name.isidentifier() or keyword.iskeyword(name)):
                raise WrongKey(
                    f"parameters.{name}",
                    "got this name, expected one that Python takes as a keyword argument",
                )
        if self.objective.command is not None:
            examples = {name: one.examples() for name, one in self.parameters.items()}
            CommandTemplate.parse(self.objective.command).check(examples)
        return self


def _check_range(low: float, high: float, log: bool) -> None:
    if low >= high:
        raise WrongKey("low", f"got {low!r}, expected less than high = {high!r}")
    if log and low <= 0:
        raise WrongKey("low", f"got {low!r}, expected more than 0, since log = true")


def _expected(section: type[Section], field: str, got: object) -> str:
    return f"got {got!r}, expected {section.model_fields[field].description}"
