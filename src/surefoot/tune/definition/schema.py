"""The tables of a study file, except for `[environment]` and the parameters."""

from __future__ import annotations

import math
import re
import shlex
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from surefoot._internal.estimands import Estimand
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.section import (
    LARGEST_INTEGER,
    MOST_LISTED,
    Direction,
    InvalidKey,
    PrintedName,
    Section,
    Share,
    UnitText,
)
from surefoot.tune.measuring.quantity import UNSURE, sole
from surefoot.tune.measuring.unit_scales import is_known, scale, seconds_in
from surefoot.tune.plain_text import LONGEST_NAME, shown, shown_storage
from surefoot.types import Constraint, Objective

if TYPE_CHECKING:
    from surefoot.risks import Risk

FEW_ROUNDS = 24  # of which the usual initial design takes a third or more


def _as_line(value: Any) -> Any:
    """A list of arguments as a command line; anything else as it is."""
    if isinstance(value, list) and value and all(isinstance(one, str) for one in value):
        return shlex.join(value)
    return value


def _as_text(value: Any) -> Any:
    """A number of seconds as a time in words; anything else as it is."""
    return f"{value}s" if isinstance(value, int | float) and not isinstance(value, bool) else value


def seconds_of(time: str) -> float:
    """The seconds of a time in words, 0 where it is none.

    Example:
        >>> seconds_of("1h 30min"), seconds_of("soon")
        (5400.0, 0.0)
    """
    one = r"(\d{1,9}(?:\.\d{1,9})?) ?(d|h|min|m|s)"
    if not re.fullmatch(rf"{one}(?: ?{one})*", time):
        return 0.0
    return sum(float(number) * seconds_in(unit) for number, unit in re.findall(one, time))


CommandLine = Annotated[str, BeforeValidator(_as_line)]


MANY = 1000  # rounds, where only a time is given, or that are asked for at once


class StudySection(Section):
    """`[study]`: name, direction, rounds, initial design, seed and storage."""

    name: str = Field(
        description="a name of ASCII letters, digits, spaces, '.', '_' and '-', of at most 200"
    )
    direction: Direction = "minimize"
    rounds: int = Field(
        default=MANY,
        ge=1,
        le=LARGEST_INTEGER,
        description="a whole number of at least 1",
    )
    budget: Annotated[str | None, BeforeValidator(_as_text)] = Field(
        default=None,
        description="a time such as '2h', '1h 30min', '45s' or '1d', or seconds above 0",
    )
    seed: int = Field(default=0, ge=0, lt=2**32, description="a whole number from 0 to 2**32 - 1")
    initial: int | None = Field(
        default=None,
        ge=1,
        le=MOST_LISTED,
        description=f"a whole number from 1 to {MOST_LISTED}",
    )
    storage: str | None = Field(
        default=None, description="an Optuna storage URL such as 'sqlite:///NAME.db'"
    )
    safe: bool = Field(default=False, description="true or false")

    @model_validator(mode="after")
    def _check(self) -> Self:
        valid = re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9 ._-]*", self.name)
        if not valid or len(self.name) > LONGEST_NAME:
            raise self.invalid("name", self.name)
        if self.budget is None and "rounds" not in self.model_fields_set:
            wanted = type(self).model_fields["rounds"].description
            raise InvalidKey("rounds", f"missing; expected {wanted} (or a time as `budget`)")
        if self.budget is not None and not self.seconds > 0.0:
            raise self.invalid("budget", self.budget)
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

    @property
    def seconds(self) -> float:
        """The budget in seconds, infinite if there is none, 0 if it is no time."""
        return math.inf if self.budget is None else seconds_of(self.budget)


class ObjectiveSection(Section):
    """`[objective]`: a command or a Python function, its timeout, and what surrounds the run.

    Without either, the study is measured from outside, by `surefoot ask` and `surefoot tell`.
    """

    command: CommandLine | None = Field(
        default=None, description="a command line, or a list of arguments"
    )
    function: str | None = Field(
        default=None, description="'module:name' of a function beside the study file"
    )
    timeout: Annotated[
        float | None,
        BeforeValidator(lambda value: (isinstance(value, str) and seconds_of(value)) or value),
    ] = Field(
        default=None,
        gt=0,
        allow_inf_nan=False,
        description="a number of seconds above 0, or a time such as '30s' or '2min'",
    )
    setup: CommandLine | None = Field(
        default=None, description="a command line that runs once, before the first trial"
    )
    teardown: CommandLine | None = Field(
        default=None, description="a command line that runs once, at the end of the run"
    )
    keep: bool = Field(default=False, description="true or false")
    value: PrintedName = None
    unit: UnitText = None
    log: bool = Field(default=False, description="true or false")
    effects: list[Literal["worker", "drift"]] = Field(
        default=["worker", "drift"], description="a list of 'worker' and 'drift', or of neither"
    )
    estimand: Estimand = Field(default="location", description="'location', 'median' or 'mean'")

    @property
    def measures(self) -> bool:
        """Whether a command or a function measures; values are told otherwise."""
        return self.command is not None or self.function is not None

    @property
    def commands(self) -> dict[str, str | None]:
        """Command lines by key of the study file, None where there is none."""
        names = ("command", "setup", "teardown")
        return {f"objective.{name}": getattr(self, name) for name in names}

    @cached_property
    def templates(self) -> dict[str, CommandTemplate]:
        """Command lines that there are, split into arguments, by key.

        Raises:
            InvalidCommand: If one cannot be split.
        """
        given = ((key, line) for key, line in self.commands.items() if line is not None)
        return {key: CommandTemplate.parse(line, key) for key, line in given}

    @model_validator(mode="after")
    def _check(self) -> Self:
        runs = self.timeout is not None or self.setup or self.teardown or self.keep
        if runs and not self.measures:
            raise InvalidKey("command", "missing; expected a command line (or `function` instead)")
        if self.command is not None and self.function is not None:
            raise InvalidKey("function", "given together with `command`; expected one of the two")
        if self.function is not None and not re.fullmatch(
            r"(?![^:]*\.py:)[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*", self.function
        ):
            module, _, name = self.function.partition(":")
            if module.endswith(".py") and name and "/" not in module:
                raise InvalidKey(
                    "function",
                    f"got {shown(self.function)}, expected the module without its ending: "
                    f"{shown(f'{module[:-3]}:{name}')}",
                )
            raise self.invalid("function", self.function)
        if self.value is not None and self.command is None:
            raise InvalidKey(
                "value", "given with `function`, expected with `command`: a function returns it"
            )
        return self


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
        if self.share == 0.0 and "candidates" in self.model_fields_set:
            raise InvalidKey(
                "candidates",
                "given beside share = 0, without which nothing is confirmed; expected one of the "
                "two",
            )
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

    gain: Share  # without a default: it is what ends a search
    confidence: Share = 0.95


class ConstraintSection(Section):
    """A limit of a quantity that the objective reports beside its measurement, in `unit`."""

    max: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="a finite number, its unit in `unit` (or `min`)",
    )
    min: float | None = Field(
        default=None,
        allow_inf_nan=False,
        description="a finite number, its unit in `unit` (or `max`)",
    )
    confidence: Share = 0.95
    safe: bool = Field(default=False, description="true or false")
    value: PrintedName = None
    unit: UnitText = None

    @model_validator(mode="before")
    @classmethod
    def _in_unit(cls, raw: Any) -> Any:
        """The table with a limit such as "15us" as a number in the unit of the table, which is that
        of the limit if the table has none.
        """
        found = dict(raw) if isinstance(raw, dict) else {}
        unit = found.get("unit")
        if unit is not None and not isinstance(unit, str):
            return raw  # which is what is wrong
        for key in ("max", "min"):
            number = sole(found[key]) if isinstance(found.get(key), str) else None
            if number is None or not number.unit or number.sem:
                continue
            own = number.unit.removesuffix(UNSURE)
            unit = found.setdefault("unit", own if is_known(own) and scale(own)[0] else None)
            limit = None if unit is None else number.limit_in(unit)
            if limit is None or not math.isfinite(limit):
                beside = "" if unit is None else f" beside unit = {shown(unit)}"
                raise InvalidKey(
                    key,
                    f"got {shown(found[key])}{beside}, expected a finite number and in `unit` what "
                    "it is in, or a number with a unit that can be converted to that",
                )
            found[key] = limit
        return found or raw

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.max is None and self.min is None:
            raise InvalidKey("max", "missing; expected a finite number (or `min` instead)")
        if self.max is not None and self.min is not None:
            raise InvalidKey("min", "given together with `max`; expected one of the two")
        return self

    def limit(self) -> Constraint:
        """The constraint for the model."""
        return Constraint(self.max, self.min, self.confidence, self.safe)


class PriorSection(Section):
    """`[prior]`: an older study of a related system."""

    source: str = Field(alias="from", description="the storage of an older study, such as 'old.db'")


class ObjectivesSection(Section):
    """One of several objectives, in `[objectives]`."""

    direction: Direction
    value: PrintedName = None
    unit: UnitText = None

    @property
    def goal(self) -> Objective:
        """The objective for the model."""
        return Objective(maximise=self.direction == "maximize")


class RequireSection(Section):
    """`[[require]]`: a rule between parameters that every configuration satisfies."""

    rule: str = Field(description="a rule such as 'a + b <= 10'")


@dataclass(frozen=True)
class RiskDescription:
    """Meaning of a recommended value in a study with an environment.

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
