"""The tables of a study file and the values that they may hold, except for `[environment]`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from pydantic import BaseModel, ConfigDict, Field, model_validator

from surefoot.tune.definition.grid import contains, is_on_grid, range_text
from surefoot.tune.plain_text import shown, shown_storage
from surefoot.types import Constraint

if TYPE_CHECKING:
    from surefoot.risks import Risk

LONGEST_NAME = 200  # characters; a file system allows 255 bytes, and SQLite adds to the name
LARGEST_INTEGER = 2**53  # of a parameter: float64 has all integers up to it
NARROWEST = 1e-300  # of a range: below it, float64 loses digits
UNIT = "a text such as 'MB', of at most 20 characters"


class InvalidKey(ValueError):
    """A value that its own type allows, but not its table; `key` is relative to that table."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key = key


class Section(BaseModel):
    """A table of the study file. A field's description is what error messages say was expected."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    @classmethod
    def invalid(cls, field: str, got: object) -> InvalidKey:
        """The error for a field's value that its description rules out."""
        wanted = cls.model_fields[field].description
        return InvalidKey(field, f"got {shown(got)}, expected {wanted}")


def check_range(low: float, high: float, log: bool = False) -> None:
    """Raise `InvalidKey` unless `low` < `high`, and 0 < `low` on a log scale."""
    if low >= high:
        raise InvalidKey("low", f"got {shown(low)}, expected less than high = {shown(high)}")
    if not (is_finite(high) and is_finite(low) and is_finite(high - low)):
        raise InvalidKey("low", f"got {shown(low)}, too far from high = {shown(high)} for float64")
    if high - low < NARROWEST:
        raise InvalidKey("low", f"got {shown(low)}, too near to high = {shown(high)} for float64")
    if log and low <= 0:
        raise InvalidKey("low", f"got {shown(low)}, expected more than 0, since log = true")


def check_step(low: float, high: float, log: bool, step: float | None) -> None:
    """Raise `InvalidKey` unless a step divides the range, which has no log scale."""
    if step is None:
        return
    if log:
        raise InvalidKey("step", "given together with log = true; expected one of the two")
    if step > high - low or not is_on_grid(high, low, step):
        raise InvalidKey(
            "step", f"got {shown(step)}, expected one that divides high - low = {high - low:g}"
        )


def check_default(
    default: float | None,
    distribution: FloatDistribution | IntDistribution,
    special: Sequence[float],
) -> None:
    """Raise `InvalidKey` unless a default value is on the scale or special."""
    if default is not None and default not in special and not contains(distribution, default):
        wanted = (
            range_text(distribution, special)
            if distribution.step or special
            else "a finite number from low to high"
        )
        raise InvalidKey("default", f"got {shown(default)}, expected {wanted}")


def check_unit(unit: str | None) -> None:
    """Raise `InvalidKey` unless a unit can be shown in a line."""
    if unit is not None and not (unit.strip() and unit.isprintable() and len(unit) <= 20):
        raise InvalidKey("unit", f"got {shown(unit)}, expected {UNIT}")


def is_finite(value: float) -> bool:
    """Whether a number is finite as a float64."""
    try:
        return math.isfinite(value)
    except OverflowError:
        return False


class StudySection(Section):
    """`[study]`: name, direction, number of rounds, seed and storage."""

    name: str = Field(
        description="a name of letters, digits, spaces, '.', '_' and '-', of at most 200 characters"
    )
    direction: Literal["minimize", "maximize"] = Field(description="'minimize' or 'maximize'")
    rounds: int = Field(ge=1, le=LARGEST_INTEGER, description="a whole number of at least 1")
    seed: int = Field(default=0, ge=0, lt=2**32, description="a whole number from 0 to 2**32 - 1")
    storage: str | None = Field(
        default=None, description="an Optuna storage URL such as 'sqlite:///NAME.db'"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        valid = re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9 ._-]*", self.name)
        if not valid or len(self.name) > LONGEST_NAME:
            raise self.invalid("name", self.name)
        if self.storage is not None and not ("://" in self.storage and self.storage.isprintable()):
            wanted = type(self).model_fields["storage"].description
            raise InvalidKey("storage", f"got {shown_storage(self.storage)}, expected {wanted}")
        if self.storage is not None and re.fullmatch(
            r"sqlite(\+\w+)?://(/:memory:)?(\?.*)?", self.storage
        ):
            raise InvalidKey(
                "storage",
                f"got {shown_storage(self.storage)}, which is lost when the run ends; "
                "expected a file, such as 'sqlite:///NAME.db'",
            )
        return self


class ObjectiveSection(Section):
    """`[objective]`: a command or a Python function, its timeout, and what surrounds the run."""

    command: str | None = Field(default=None, description="a command line")
    function: str | None = Field(
        default=None, description="'module:name' of a function beside the study file"
    )
    timeout: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="a number of seconds above 0"
    )
    setup: str | None = Field(
        default=None, description="a command line that runs once, before the first trial"
    )
    teardown: str | None = Field(
        default=None, description="a command line that runs once, at the end of the run"
    )
    keep: bool = Field(default=False, description="true or false")
    unit: str | None = Field(default=None, description=UNIT)
    log: bool = Field(default=False, description="true or false")
    effects: list[Literal["worker", "drift"]] = Field(
        default=["worker", "drift"], description="a list of 'worker' and 'drift', or of neither"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.command is None and self.function is None:
            raise InvalidKey("command", "missing; expected a command line (or `function` instead)")
        if self.command is not None and self.function is not None:
            raise InvalidKey("function", "given together with `command`; expected one of the two")
        if self.function is not None and not re.fullmatch(
            r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", self.function
        ):
            raise self.invalid("function", self.function)
        check_unit(self.unit)
        return self


class ParameterSection(Section):
    """What all parameters may have."""

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


class IntParameter(ParameterSection):
    """An integer from `low` to `high`, both included."""

    type: Literal["int"]
    low: int = Field(
        ge=-LARGEST_INTEGER, le=LARGEST_INTEGER, description="a whole number from -2**53 to 2**53"
    )
    high: int = Field(
        ge=-LARGEST_INTEGER, le=LARGEST_INTEGER, description="a whole number from -2**53 to 2**53"
    )
    log: bool = Field(default=False, description="true or false")
    step: int | None = Field(default=None, ge=1, description="a whole number of at least 1")
    default: int | None = Field(
        default=None, description="a whole number from low to high, or special"
    )
    special: list[Annotated[int, Field(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER)]] = Field(
        default_factory=list, description="a list of whole numbers that are apart from the scale"
    )
    unit: str | None = Field(default=None, description=UNIT)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range(self.low, self.high, self.log)
        check_step(self.low, self.high, self.log, self.step)
        check_default(self.default, self.distribution(), self.special)
        check_unit(self.unit)
        return self

    def distribution(self) -> FloatDistribution | IntDistribution:
        return IntDistribution(self.low, self.high, log=self.log, step=self.step or 1)

    def examples(self) -> list[Any]:
        return [self.low, self.high, *self.special]


class FloatParameter(ParameterSection):
    """A number from `low` to `high`, both included."""

    type: Literal["float"]
    low: float = Field(allow_inf_nan=False, description="a finite number")
    high: float = Field(allow_inf_nan=False, description="a finite number")
    log: bool = Field(default=False, description="true or false")
    step: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, description="a finite number above 0"
    )
    default: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="a finite number from low to high, or special",
    )
    special: list[Annotated[float, Field(allow_inf_nan=False)]] = Field(
        default_factory=list, description="a list of finite numbers that are apart from the scale"
    )
    unit: str | None = Field(default=None, description=UNIT)

    @model_validator(mode="after")
    def _check(self) -> Self:
        check_range(self.low, self.high, self.log)
        check_step(self.low, self.high, self.log, self.step)
        check_default(self.default, self.distribution(), self.special)
        check_unit(self.unit)
        return self

    def distribution(self) -> FloatDistribution | IntDistribution:
        return FloatDistribution(self.low, self.high, log=self.log, step=self.step)

    def examples(self) -> list[Any]:
        return [self.low, self.high, *self.special]


class CategoricalParameter(ParameterSection):
    """One of a list of unordered values."""

    type: Literal["categorical"]
    choices: list[str | bool | int | float] = Field(
        description="a list of at least 2 different strings, numbers or booleans"
    )
    default: str | bool | int | float | None = Field(default=None, description="one of the choices")

    @model_validator(mode="after")
    def _check(self) -> Self:
        # 1, 1.0 and true are equal, and one choice to Optuna.
        finite = all(is_finite(c) for c in self.choices if isinstance(c, int | float))
        if len(self.choices) < 2 or len(set(self.choices)) < len(self.choices) or not finite:
            raise self.invalid("choices", self.choices)
        same = [one for one in self.choices if one == self.default]
        if self.default is not None and [type(one) for one in same] != [type(self.default)]:
            raise self.invalid("default", self.default)
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
        return CategoricalDistribution(self.choices)

    def examples(self) -> list[Any]:
        return list(self.choices)


class ConfirmSection(Section):
    """`[confirm]`: measurements that check what the search has found."""

    share: float = Field(
        default=0.15, ge=0, le=0.5, description="a share of the rounds, a number from 0 to 0.5"
    )
    candidates: int = Field(default=3, ge=1, le=20, description="a whole number from 1 to 20")
    every: int = Field(
        default=20,
        ge=0,
        le=LARGEST_INTEGER,
        description="a whole number of at least 2, or 0 for never",
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.every == 1:
            raise self.invalid("every", self.every)
        return self


class RepeatsSection(Section):
    """`[repeats]`: measurements of the best known configurations again during the search."""

    most: int = Field(
        default=10, ge=1, le=LARGEST_INTEGER, description="a whole number of at least 1"
    )
    unstable: float | bool = Field(
        default=0.2, description="a share above 0, such as 0.2, or false"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        given = self.unstable
        if given is True or (given is not False and not 0.0 < given < math.inf):
            raise self.invalid("unstable", given)
        return self


class StopSection(Section):
    """`[stop]`: when the search ends before its last round."""

    gain: float = Field(default=0.01, gt=0, lt=1, description="a number strictly between 0 and 1")
    confidence: float = Field(
        default=0.95, gt=0, lt=1, description="a number strictly between 0 and 1"
    )


class ConstraintSection(Section):
    """A limit of a quantity that the objective reports beside its measurement."""

    max: float | None = Field(
        default=None, allow_inf_nan=False, description="a finite number (or `min` instead)"
    )
    min: float | None = Field(
        default=None, allow_inf_nan=False, description="a finite number (or `max` instead)"
    )
    confidence: float = Field(
        default=0.95, gt=0, lt=1, description="a number strictly between 0 and 1"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max is None and self.min is None:
            raise InvalidKey("max", "missing; expected a finite number (or `min` instead)")
        if self.max is not None and self.min is not None:
            raise InvalidKey("min", "given together with `max`; expected one of the two")
        return self

    def limit(self) -> Constraint:
        """The constraint for the model."""
        return Constraint(self.max, self.min, self.confidence)


Parameter = Annotated[
    IntParameter | FloatParameter | CategoricalParameter, Field(discriminator="type")
]
PARAMETER_TYPES: dict[str, type[Section]] = {
    "int": IntParameter,
    "float": FloatParameter,
    "categorical": CategoricalParameter,
}


@dataclass(frozen=True)
class RiskDescription:
    """What a recommended value means in a study with an environment.

    `tail` is "upper" where the study minimises, "lower" where it maximises, None for the mean.
    `name` names the number, `meaning` explains it in a sentence.
    """

    measure: str
    level: float | None
    tail: str | None
    name: str
    meaning: str


class RiskSection(Section):
    """`[risk]`: the risk measure, and its level where it has one."""

    measure: Literal["mean", "var", "cvar", "worst-case"] = Field(
        description="'mean', 'var', 'cvar' or 'worst-case'"
    )
    level: float | None = Field(
        default=None, gt=0, lt=1, description="a number strictly between 0 and 1"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        needed = self.measure in ("var", "cvar")
        if needed and self.level is None:
            raise InvalidKey(
                "level",
                f"missing; expected a number strictly between 0 and 1 for {self.measure!r}, the "
                "probability of the tail",
            )
        if not needed and self.level is not None:
            raise InvalidKey(
                "level",
                f"given with measure = {self.measure!r}, expected for 'var' and 'cvar' only",
            )
        return self

    def functional(self) -> Risk:
        """The risk as a functional of values to maximise."""
        from surefoot.risks import CVaR, Mean, VaR, WorstCase

        if self.level is None:
            return Mean() if self.measure == "mean" else WorstCase()
        return VaR(self.level) if self.measure == "var" else CVaR(self.level)

    def describe(self, direction: str) -> RiskDescription:
        """The risk in words, for a study of this direction."""
        level = self.level or 0.0
        bad, good = f"{100 * level:g} %", f"{100 * (1 - level):g} %"
        name, meaning = {
            "mean": ("mean", "its mean over the environment"),
            "var": (
                f"value at risk {level:g}",
                f"in at least {bad} of environments it is this bad or worse, in at least {good} "
                "this good or better",
            ),
            "cvar": (
                f"conditional value at risk {level:g}",
                f"its mean over the worst {bad} of environments",
            ),
            "worst-case": ("worst case", "in no environment is it worse"),
        }[self.measure]
        tail = "upper" if direction == "minimize" else "lower"
        return RiskDescription(
            self.measure, self.level, None if self.measure == "mean" else tail, name, meaning
        )
