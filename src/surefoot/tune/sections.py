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
from pydantic import Field, model_validator

from surefoot.tune.command_line import CommandTemplate
from surefoot.tune.environment_section import EnvironmentSection
from surefoot.tune.risk_section import RiskSection
from surefoot.tune.section import NAME, Section, WrongKey, check_range, expected


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
            raise WrongKey("name", expected(type(self), "name", self.name))
        if self.storage is not None and "://" not in self.storage:
            raise WrongKey("storage", expected(type(self), "storage", self.storage))
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
            raise WrongKey("function", expected(type(self), "function", self.function))
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
            raise WrongKey("choices", expected(type(self), "choices", self.choices))
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

    environment: EnvironmentSection | None = Field(
        default=None, description="a table [environment] with a line for each variable"
    )
    risk: RiskSection | None = Field(
        default=None, description="a table [risk] with measure and, for var and cvar, level"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.parameters:
            raise WrongKey("parameters", "got none, expected at least one parameter")
        if self.environment is not None and self.risk is None:
            raise WrongKey(
                "risk",
                "missing beside [environment]; expected a table [risk], such as "
                'measure = "var" and level = 0.1',
            )
        if self.risk is not None and self.environment is None:
            raise WrongKey(
                "environment",
                "missing beside [risk]; expected a table [environment] with a line for each "
                'variable, such as load = { distribution = "uniform", low = 0, high = 1 }',
            )
        variables = {} if self.environment is None else self.environment.variables
        for key in (
            *(f"parameters.{name}" for name in self.parameters),
            *(f"environment.{name}" for name in variables),
        ):
            self._check_name(key)
        for name in variables:
            if name in self.parameters:
                raise WrongKey(
                    f"environment.{name}", "is a parameter, too; expected a name of its own"
                )
        if self.objective.command is not None:
            CommandTemplate.parse(self.objective.command).check(
                {name: one.examples() for name, one in self.parameters.items()},
                {name: one.examples() for name, one in variables.items()},
                observed=self.environment is not None and self.environment.observed,
            )
        return self

    def _check_name(self, key: str) -> None:
        name = key.partition(".")[2]
        if not NAME.fullmatch(name):
            raise WrongKey(
                key,
                "got this name, expected letters, digits, '_' and '-', not beginning with a digit",
            )
        if self.objective.function and (not name.isidentifier() or keyword.iskeyword(name)):
            raise WrongKey(
                key, "got this name, expected one that Python takes as a keyword argument"
            )


def _check_range(low: float, high: float, log: bool) -> None:
    check_range(low, high)
    if log and low <= 0:
        raise WrongKey("low", f"got {low!r}, expected more than 0, since log = true")
