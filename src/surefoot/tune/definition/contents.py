"""All tables of a study file, and what goes together in it."""

from __future__ import annotations

import itertools
import keyword
import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from functools import cached_property
from typing import Any, Self

from pydantic import Field, model_validator

from surefoot.parameters import Space
from surefoot.parameters.parameter import InvalidConstraint, InvalidParameter
from surefoot.problem import conflicts_of
from surefoot.tune.definition.environment import EnvironmentSection
from surefoot.tune.definition.fidelity import FidelitySection
from surefoot.tune.definition.parameters import Parameter
from surefoot.tune.definition.schema import (
    ConfirmSection,
    ConstraintSection,
    ObjectiveSection,
    ObjectivesSection,
    PriorSection,
    RepeatsSection,
    RequireSection,
    RiskSection,
    StopSection,
    StudySection,
)
from surefoot.tune.definition.schemes import (
    Scheme,
    at_levels,
    of_several,
    over_environment,
    under_given,
)
from surefoot.tune.definition.section import InvalidKey, Section
from surefoot.tune.plain_text import LONGEST_NAME, shown
from surefoot.types import Assumptions, InvalidInput

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
_TABLES = (
    *("environment", "fidelity", "objectives", "risk", "constraints"),
    *("confirm", "repeats", "stop", "prior", "assume"),
)
_KEYS = {  # of the options that may not go together
    **{name: (name,) for name in _TABLES},
    "log": ("objective.log",),
    "safe": ("study.safe", "constraints.*.safe"),
    "initial": ("study.initial",),
}
_ABSENT: tuple[Any, ...] = (None, False, {})
_OF_ONE = ("study.direction", "objective.value", "objective.unit", "objective.log")
_LINES = {  # tables that say nothing without a line
    "parameters": "parameter",
    "objectives": "objective",
    "constraints": "constraint",
    "require": "rule",
    "assume": "assumption",
}


class Contents(Section):
    """All tables of the file."""

    study: StudySection = Field(description="a table [study] with name, direction and rounds")
    objective: ObjectiveSection = Field(
        default_factory=ObjectiveSection,
        description="a table [objective] with command or function",
    )
    objectives: dict[str, ObjectivesSection] = Field(
        default_factory=dict,
        description="a table [objectives] with a line for each of several objectives",
    )
    parameters: dict[str, Parameter] = Field(
        description="a table [parameters] with a line for each parameter"
    )
    require: list[RequireSection] = Field(
        default_factory=list,
        description="tables [[require]] with a rule each, such as rule = 'a + b <= 10'",
    )
    environment: EnvironmentSection | None = Field(
        default=None, description="a table [environment] with a line for each variable"
    )
    fidelity: FidelitySection | None = Field(
        default=None,
        description="a table [fidelity] with one line, such as "
        "seconds = { levels = [5, 30, 120], cost = [5, 30, 120] }",
    )
    risk: RiskSection | None = Field(
        default=None, description="a table [risk] with measure and, for var and cvar, level"
    )
    constraints: dict[str, ConstraintSection] = Field(
        default_factory=dict, description="a table [constraints] with a line for each constraint"
    )
    confirm: ConfirmSection | None = Field(
        default=None, description="a table [confirm] with share, candidates and every"
    )
    repeats: RepeatsSection | None = Field(
        default=None, description="a table [repeats] with most and unstable"
    )
    prior: PriorSection | None = Field(
        default=None, description="a table [prior] with from, such as from = 'old.db'"
    )
    stop: StopSection | None = Field(
        default=None, description="a table [stop] with gain and confidence"
    )
    assume: dict[str, float | list[float]] = Field(
        default_factory=dict, description="a table [assume] with norm, lengthscale and noise"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        for name, line in _LINES.items():
            if name in self.model_fields_set and not getattr(self, name):
                optional = "" if name == "parameters" else ", or no such table"
                raise InvalidKey(name, f"got none, expected at least one {line}{optional}")
        self._check_objectives()
        self._check_defaults(self._checked_space())
        self._check_scheme()
        scheme, _ = self.scheme, self.assumed
        variables, given, table = scheme.variables, scheme.given, scheme.home
        for name in self.parameters:
            self._check_name(f"parameters.{name}", name)
        for name in (*variables, *given):
            self._check_name(f"{table}.{name}", name)
            if name in self.parameters:
                raise InvalidKey(
                    f"{table}.{name}", "is a parameter, too; expected a name of its own"
                )
        for name in self.constraints:
            self._check_name(f"constraints.{name}", name, keyword_argument=False)
            if name in self.parameters or name in variables or name in given:
                what = "a parameter" if name in self.parameters else "a variable"
                raise InvalidKey(
                    f"constraints.{name}", f"is {what}, too; expected a name of its own"
                )
        for name, one in self.parameters.items():
            if one.inactive is not None and self.objective.function is not None:
                raise InvalidKey(
                    f"parameters.{name}.inactive",
                    "given with objective.function, which does not get an inactive parameter; "
                    "expected it with a command",
                )
        for key, template in self.objective.templates.items():
            if key != "objective.command":
                template.check_fixed()
                continue
            template.check(
                {name: one.examples() for name, one in self.parameters.items()},
                {name: one.examples() for name, one in variables.items()},
                observed=scheme.observed,
                given={name: one.examples() for name, one in given.items()},
                home=table,
            )
        return self

    @cached_property
    def scheme(self) -> Scheme:
        """The subject of a trial's measurement."""
        direction = self.study.direction
        if self.objectives:
            return of_several(self.objectives)
        if self.fidelity is not None:
            return at_levels(direction, self.fidelity)
        if self.environment is not None and self.environment.given:
            return under_given(direction, self.environment)
        if self.environment is not None and self.risk is not None:
            return over_environment(direction, self.environment, self.risk)
        return Scheme(direction)

    @cached_property
    def assumed(self) -> Assumptions | None:
        """What certificates rest on."""
        known = {one.name: one.default is MISSING for one in fields(Assumptions)}
        lacking = [name for name, needed in known.items() if needed and name not in self.assume]
        unknown = [*self.assume.keys() - known.keys()]
        if self.assume and (lacking or unknown):
            said = f"no {' and no '.join(lacking)}" if lacking else f"unknown key {unknown[0]}"
            raise InvalidKey("assume", f"{said}, expected some of {', '.join(known)}")
        try:
            return Assumptions(**self.assume) if self.assume else None  # type: ignore[arg-type]
        except InvalidInput as error:
            raise InvalidKey("assume", str(error)) from None

    @property
    def _options(self) -> dict[str, tuple[str, Any]]:
        """Key and value of each option that is there, by its name in the table of conflicts."""
        return {
            name: found[0]
            for name, keys in _KEYS.items()
            if (found := [one for key in keys for one in self._at(key) if one[1] not in _ABSENT])
        }

    def _at(self, key: str) -> Iterator[tuple[str, Any]]:
        """Contents of the file at a key, which may be one of every line of a table."""
        table, _, name = key.partition(".")
        part = getattr(self, table)
        if name.startswith("*."):
            last = name.removeprefix("*.")
            yield from ((f"{table}.{n}.{last}", getattr(one, last)) for n, one in part.items())
        elif not name:
            yield key, part
        elif name in part.model_fields_set:
            yield key, getattr(part, name)

    def _check_scheme(self) -> None:
        """Raise `InvalidKey` for what does not go together."""
        options, scheme = self._options, self.scheme
        if self.environment is not None and self.environment.given:
            options["given"] = options.pop("environment")
        for first in conflicts_of(options):
            others = [one.option for one in conflicts_of(options) if one.other == first.other]
            found, value = options[first.option]
            key, other = options[first.other]
            beside = f"{key} = true" if other is True else key
            beside = scheme.table if first.other == scheme.option else beside
            also = [options[one][0] for one in others if one != first.option]
            verb = "is" if len(also) == 1 else "are"
            end = f" (and so {verb} {', '.join(also)})" if also else ""
            raise InvalidKey(found, f"{_state(value)} beside {beside}, {first.why}{end}")
        if self.risk is not None and self.environment is None:
            raise InvalidKey(
                "environment",
                "missing beside [risk]; expected a table [environment] with a line for each "
                'variable, such as load = { distribution = "uniform", low = 0, high = 1 }',
            )
        if self.environment is not None and not self.scheme.given and self.risk is None:
            raise InvalidKey(
                "risk",
                "missing beside [environment]; expected a table [risk], such as "
                'measure = "var" and level = 0.1 (or environment.control = "given", for what is '
                "known before each choice)",
            )

    def _check_objectives(self) -> None:
        """Raise `InvalidKey` for what does not go together with one objective, or several."""
        has_direction = "direction" in self.study.model_fields_set
        if not self.objectives:
            if not has_direction:
                wanted = type(self.study).model_fields["direction"].description
                raise InvalidKey(
                    "study.direction",
                    f"missing; expected {wanted} (or a table [objectives] with several)",
                )
            return
        for found, value in itertools.chain(*map(self._at, _OF_ONE)):
            if value not in _ABSENT:
                each = "which have a direction, a value and a unit each, and no more; leave it out"
                raise InvalidKey(found, f"{_state(value)} beside [objectives], {each}")
        if len(self.objectives) == 1:
            raise InvalidKey(
                "objectives",
                f"got one ({next(iter(self.objectives))}), expected at least two; of one objective "
                "study.direction is the direction",
            )
        for name in self.objectives:
            self._check_name(f"objectives.{name}", name, keyword_argument=False)
            if name in self.parameters or name in self.constraints:
                what = "a parameter" if name in self.parameters else "a constraint"
                raise InvalidKey(
                    f"objectives.{name}", f"is {what}, too; expected a name of its own"
                )

    @cached_property
    def space(self) -> Space:
        """Parameters and given variables, with their conditions, special values and orders."""
        named = {**self.parameters, **self.scheme.given}.items()
        parameters = {name: one.parameter() for name, one in named}
        return Space(parameters, [one.rule for one in self.require])

    def _checked_space(self) -> Space:
        try:
            return self.space
        except InvalidParameter as error:
            table = "environment" if error.name in self.scheme.given else "parameters"
            raise InvalidKey(f"{table}.{error.name}.{error.field}", error.message) from None
        except InvalidConstraint as error:
            raise InvalidKey(f"require.{error.indices[0]}.rule", error.message) from None

    def _check_defaults(self, space: Space) -> None:
        """Raise `InvalidKey` if some parameters that are active by default have no default."""
        given = {name: one.default for name, one in self.parameters.items()}
        given = {name: value for name, value in given.items() if value is not None}
        if self.scheme.given:
            space = space.limited_to(self.parameters)
        without = [name for name in space.active(given) if name not in given]
        if given and without:
            raise InvalidKey(
                f"parameters.{without[0]}.default",
                "missing; other parameters have one: give every parameter a default, or none",
            )
        if given and (violated := space.violated_by(given)):
            shown_defaults = ", ".join(f"{name} = {shown(one)}" for name, one in given.items())
            raise InvalidKey(
                f"require.{space.constraints.index(violated[0])}.rule",
                f"got {shown(violated[0])}, which the defaults violate ({shown_defaults}); "
                "expected defaults that satisfy every rule",
            )

    def _check_name(self, key: str, name: str, *, keyword_argument: bool = True) -> None:
        if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            raise InvalidKey(
                key,
                "got this name, expected ASCII letters, digits, '_' and '-', not beginning with a "
                "digit, at most 200",
            )
        if not keyword_argument or not self.objective.function:
            return
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InvalidKey(
                key, "got this name, expected one that Python takes as a keyword argument"
            )


def _state(value: Any) -> str:
    return "true" if value is True else "given"
