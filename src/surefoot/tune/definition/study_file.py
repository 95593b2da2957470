"""The study file: TOML in, checked values out, with error messages that name the key."""

from __future__ import annotations

import difflib
import keyword
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any, Self, get_args

from optuna.distributions import BaseDistribution
from pydantic import Field, ValidationError, model_validator

from surefoot.integrations.optuna import SearchSpace
from surefoot.integrations.optuna.search_space import InvalidSpace
from surefoot.parameters.parameter import InvalidConstraint
from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.environment import VARIABLE_TYPES, EnvironmentSection, variable_type
from surefoot.tune.definition.fidelity import FidelitySection, LevelsSection
from surefoot.tune.definition.parameters import PARAMETER_TYPES, Parameter
from surefoot.tune.definition.schema import (
    LONGEST_NAME,
    ConfirmSection,
    ConstraintSection,
    ObjectiveSection,
    ObjectivesSection,
    PairingSection,
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
    beside,
    of_several,
    over_environment,
    under_given,
)
from surefoot.tune.definition.section import InvalidKey, Section
from surefoot.tune.passwords import secrets_of, without_any_password, without_passwords
from surefoot.tune.plain_text import printable, shown, shown_storage
from surefoot.tune.units import Units
from surefoot.types import InvalidInput

LONGEST_MESSAGE = 500  # characters, without the file's name
_WORDS = {  # keys of other tools, and those to use here
    **dict.fromkeys(("n_trials", "trials", "max_trials", "iterations"), ("rounds",)),
    **dict.fromkeys(("max_time", "duration", "time_limit", "time_budget"), ("budget",)),
    **dict.fromkeys(("min", "minimum", "lower", "from", "start"), ("low", "min")),
    **dict.fromkeys(("max", "maximum", "upper", "to", "end", "stop"), ("high", "max")),
    **dict.fromkeys(("options", "categories", "levels", "enum", "values"), ("choices", "values")),
    **dict.fromkeys(("n_initial", "n_startup_trials", "startup", "init"), ("initial",)),
    **dict.fromkeys(("random_state", "random_seed"), ("seed",)),
    **dict.fromkeys(("goal", "mode", "sense", "minimize", "minimise"), ("direction",)),
    **dict.fromkeys(("maximize", "maximise"), ("direction",)),
    **dict.fromkeys(("high", "below", "at_most", "limit"), ("max",)),
    **dict.fromkeys(("low", "above", "at_least"), ("min",)),
    **dict.fromkeys(("cmd", "run", "script", "shell"), ("command",)),
    **dict.fromkeys(("metric", "key", "pattern", "regex"), ("value",)),
    **dict.fromkeys(("log_scale", "logscale"), ("log",)),
    **dict.fromkeys(("condition", "conditions", "if"), ("when",)),
    **dict.fromkeys(("params", "space", "search_space"), ("parameters",)),
    **dict.fromkeys(("limits", "constraint"), ("constraints",)),
    **dict.fromkeys(("db", "database", "url"), ("storage",)),
    "scale": ("log",),
    "initial": ("default",),
    "q": ("step",),
}
_ELSEWHERE = {
    **dict.fromkeys(("n_jobs", "jobs", "workers"), "use `surefoot tune --workers N` instead"),
}
_UNQUOTED = re.compile(r"\s*([\w\"'.-]+)\s*=\s*([A-Za-z./][^#\"'=\[\]]*?)\s*(?:#.*)?")
_UNQUOTED_INSIDE = re.compile(r"[{,]\s*([\w-]+)\s*=\s*([A-Za-z][\w.-]*)\s*(?=[,}])")
_TOML_WORDS = ("true", "false", "inf", "nan")
_TABLES = ("study", "objective", "confirm", "repeats", "pairing", "stop")  # whose keys are mixed up
NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


class StudyFileError(InvalidInput):
    """A study file that cannot be used: one line with the file, the key and what was expected."""


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
    pairing: PairingSection | None = Field(
        default=None, description="a table [pairing] with `with`"
    )
    prior: PriorSection | None = Field(
        default=None, description="a table [prior] with from, such as from = 'old.db'"
    )
    stop: StopSection | None = Field(
        default=None, description="a table [stop] with gain and confidence"
    )

    @model_validator(mode="after")
    def _check(self) -> Self:
        if not self.parameters:
            raise InvalidKey("parameters", "got none, expected at least one parameter")
        self._check_objectives()
        self._check_defaults(self._checked_space())
        self._check_scheme()
        if self.objective.race and self.constraints:
            raise InvalidKey("objective.race", "true beside [constraints], expected one of the two")
        safe = [key for key, one in self._at("study.safe", "constraints.*.safe") if one]
        if safe and self.study.initial is not None:
            raise InvalidKey(
                "study.initial",
                f"given beside {safe[0]} = true, where the search begins around the defaults; "
                "expected one of the two",
            )
        scheme = self.scheme
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
        if self.objective.command is not None:
            CommandTemplate.parse(self.objective.command).check(
                {name: one.examples() for name, one in self.parameters.items()},
                {name: one.examples() for name, one in variables.items()},
                observed=scheme.observed,
                given={name: one.examples() for name, one in given.items()},
                home=table,
            )
        for key, line in (("setup", self.objective.setup), ("teardown", self.objective.teardown)):
            if line is not None:
                CommandTemplate.parse(line, f"objective.{key}").check_fixed()
        return self

    @cached_property
    def scheme(self) -> Scheme:
        """What a trial measures."""
        direction = self.study.direction
        if self.objectives:
            return of_several(self.objectives)
        if self.fidelity is not None:
            return at_levels(direction, self.fidelity)
        if self.environment is not None and self.environment.given:
            return under_given(direction, self.environment)
        if self.environment is not None and self.risk is not None:
            return over_environment(direction, self.environment, self.risk)
        return Scheme(direction) if self.pairing is None else beside(direction, self.pairing)

    def _at(self, *keys: str) -> Iterator[tuple[str, Any]]:
        """What the file has at some keys, each of which may be one of every line of a table."""
        for key in keys:
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
        """Raise `InvalidKey` for what does not go together with the measurement scheme."""
        for key, wanted in self.scheme.excluded.items():
            for found, value in self._at(key):
                if value is not None and value is not False:
                    state = "true" if value is True else "given"
                    raise InvalidKey(found, f"{state} beside {self.scheme.table}, {wanted}")
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
        has_defaults = any(one.default is not None for one in self.parameters.values())
        if self.scheme.companion in ("auto", "defaults") and not has_defaults:
            raise InvalidKey(
                "pairing.with",
                f"got {shown(self.scheme.companion)}, but no parameter has a default; expected "
                "a `default` of each parameter, or 'incumbent'",
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

    def space(self) -> SearchSpace:
        """Parameters and given variables, with their conditions, special values and orders."""
        named = {**self.parameters, **self.scheme.given}.items()
        return SearchSpace(
            {name: one.distribution() for name, one in named},
            {name: one.when for name, one in named if one.when is not None},
            {name: one.special for name, one in named if one.special},
            [name for name, one in named if one.ordered],
            [one.rule for one in self.require],
        )

    def _checked_space(self) -> SearchSpace:
        try:
            return self.space()
        except InvalidSpace as error:
            key = "" if error.table == "scales" else f".{error.table}"
            table = "environment" if error.name in self.scheme.given else "parameters"
            raise InvalidKey(f"{table}.{error.name}{key}", error.message) from None
        except InvalidConstraint as error:
            raise InvalidKey(f"require.{error.indices[0]}.rule", error.message) from None

    def _check_defaults(self, space: SearchSpace) -> None:
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
        if given and (violated := space.violated(given)):
            shown_defaults = ", ".join(f"{name} = {shown(one)}" for name, one in given.items())
            raise InvalidKey(
                f"require.{space.require.index(violated[0])}.rule",
                f"got {shown(violated[0])}, which the defaults violate ({shown_defaults}); "
                "expected defaults that satisfy every rule",
            )

    def _check_name(self, key: str, name: str, *, keyword_argument: bool = True) -> None:
        if not NAME.fullmatch(name) or len(name) > LONGEST_NAME:
            raise InvalidKey(
                key,
                "got this name, expected letters, digits, '_' and '-', not beginning with a digit, "
                "at most 200",
            )
        if not keyword_argument or not self.objective.function:
            return
        if not name.isidentifier() or keyword.iskeyword(name):
            raise InvalidKey(
                key, "got this name, expected one that Python takes as a keyword argument"
            )


class StudyFile:
    """A checked study file.

    Args:
        path: The file's absolute path.
        contents: All tables of the file.

    Attributes:
        path: The file's absolute path.
        contents: All tables of the file.
        folder: Its folder, where commands run and relative paths start.
        study: `[study]`: name, direction, rounds, initial design, seed and storage.
        objective: `[objective]`: command or function, and timeout in seconds.
        scheme: What a trial measures: `[environment]` and `[risk]`, `[fidelity]`, `[objectives]`
            or `[pairing]`.
        parameters: `[parameters]` by name, in the order of the file, and the given variables.
        constraints: `[constraints]` by name, in the order of the file.
        confirm: `[confirm]`, with its defaults if the file has none.
        repeats: `[repeats]`, by default without repeats.
        stop: `[stop]`, or None.
        prior: `[prior]`, or None.
        space: The parameters with their conditions and special values.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "demo.toml"
        >>> _ = path.write_text('''
        ... study = { name = "demo", direction = "minimize", rounds = 20 }
        ... objective = { command = "sh bench.sh {threads}" }
        ... parameters = { threads = { type = "int", low = 1, high = 32 } }
        ... ''')
        >>> StudyFile.load(path).distributions
        {'threads': IntDistribution(high=32, log=False, low=1, step=1)}
    """

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self.contents = contents
        self.folder = path.parent
        self.study = contents.study
        self.objective = contents.objective
        self.scheme = contents.scheme
        for first in [*self.scheme.objectives.values()][:1]:  # whose value is that of the trials
            self.study = self.study.model_copy(update={"direction": first.direction})
            measured = {"value": first.value, "unit": first.unit}
            self.objective = self.objective.model_copy(update=measured)
        self.parameters = {**contents.parameters, **self.scheme.given}
        self.confirm = contents.confirm or ConfirmSection(
            share=0.0 if self.scheme.objectives else 0.15
        )
        self.repeats = contents.repeats or RepeatsSection(most=1, unstable=False)
        self.stop = contents.stop
        self.prior = contents.prior
        self.constraints = {name: one.limit() for name, one in contents.constraints.items()}
        self.space = contents.space()

    @classmethod
    def load(cls, path: Path | str) -> StudyFile:
        """Read and check a study file.

        Args:
            path: A TOML file.

        Returns:
            The checked file.

        Raises:
            StudyFileError: If the file cannot be read or anything in it is invalid; the message is
                one line.
        """
        path, text = Path(path), ""
        try:
            text = path.read_text(encoding="utf-8-sig")
            raw = tomllib.loads(text)
        except FileNotFoundError:
            raise StudyFileError(f"{path}: no such file, expected a study file in TOML") from None
        except OSError as error:
            raise StudyFileError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise StudyFileError(f"{path}: not a text file in UTF-8, expected TOML") from None
        except tomllib.TOMLDecodeError as error:
            what, at, where = str(error).rpartition(" (at ")  # it may quote a key
            message = _one_line(without_any_password(what) + at + where)
            raise StudyFileError(
                f"{path}: not valid TOML: {message}{_without_quotes(text, where)}"
            ) from None
        except RecursionError:
            raise StudyFileError(
                f"{path}: nested too deeply, expected tables and lists of a study file"
            ) from None
        except ValueError as error:  # an integer of more than 4,300 digits; a path with a null
            raise StudyFileError(f"{path}: cannot be read: {_one_line(str(error))}") from None
        if key := _too_large(raw):
            key = _one_line(without_any_password(key))
            raise StudyFileError(
                f"{path}: {key}: got an integer beyond float64, expected at most 1e308"
            )
        try:
            contents = Contents.model_validate(raw)
        except ValidationError as error:
            table = raw.get("study")
            secrets = secrets_of(table.get("storage") if isinstance(table, dict) else None)
            message = without_passwords(explained(error, raw), secrets)
            raise StudyFileError(f"{path}: {message}") from None
        return cls(path.absolute(), contents)

    @property
    def reported(self) -> dict[str, ObjectivesSection | ConstraintSection]:
        """What is measured beside the value, by name: further objectives and constraints."""
        return {
            **{name: self.scheme.objectives[name] for name in self.scheme.further},
            **self.contents.constraints,
        }

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The parameters as Optuna distributions, in the order of the file."""
        return self.space.distributions

    @property
    def defaults(self) -> dict[str, Any] | None:
        """The default configuration, in the order of the file; None if the file has none.

        It has the parameters that are active in it.
        """
        return self.defaults_under({})

    def defaults_under(self, given: Mapping[str, Any]) -> dict[str, Any] | None:
        """The default configuration under values of the given variables, with these.

        Args:
            given: Values by name.
        """
        values = {name: one.default for name, one in self.contents.parameters.items()}
        known = {name: value for name, value in values.items() if value is not None}
        return self.space.restricted({**known, **given}) if known else None

    @property
    def guess(self) -> dict[str, Any]:
        """Where the best configuration is thought to be: values of some parameters by name."""
        named = self.contents.parameters.items()
        return {name: one.guess for name, one in named if one.guess is not None}

    @property
    def is_safe(self) -> bool:
        """Whether no trial is proposed that may break a limit, or fail."""
        return self.study.safe or any(one.safe for one in self.constraints.values())

    @property
    def units(self) -> Units:
        """Units of the objective and of the parameters."""
        named = self.parameters.items()
        return Units(
            self.objective.unit or "",
            {name: one.unit for name, one in named if one.unit is not None},
            self.space.special,
        )

    @property
    def inactive(self) -> dict[str, str | None]:
        """Text of the command for each conditional parameter where it is inactive."""
        return {n: one.inactive for n, one in self.parameters.items() if one.when is not None}

    def error(self, key: str, message: str) -> StudyFileError:
        """An error about a key whose value turned out to be invalid only when it was used."""
        return StudyFileError(f"{self.path.name}: {key}: {_one_line(self.hide_passwords(message))}")

    def hide_passwords(self, text: str) -> str:
        """`text` without the passwords of `study.storage` and of all URLs."""
        return without_passwords(text, secrets_of(self.study.storage))


def _without_quotes(text: str, where: str) -> str:
    """What to write if the line of an error has wrong quotes; empty if it has not."""
    line = re.match(r"line (\d+)", where)
    lines = text.splitlines()
    there = lines[int(line[1]) - 1] if line and int(line[1]) <= len(lines) else ""
    if re.search("[\u201c\u201d\u2018\u2019]", there):
        return "; quotes are straight, \" or ', not curly"
    found = [_UNQUOTED.fullmatch(there), *_UNQUOTED_INSIDE.finditer(there)]
    for one in found:
        if one is not None and one[2] not in _TOML_WORDS:
            return _one_line(without_any_password(f'; text has quotes: {one[1]} = "{one[2]}"'))
    if there.count('"') > 2 and "'" not in there and "[" not in there and "{" not in there[:20]:
        return '; a text with " in it is in single quotes, such as command = \'sh -c "a b"\''
    return ""


def _too_large(value: Any, key: str = "") -> str:
    """The key of an integer that float64 cannot hold, empty if there is none."""
    if isinstance(value, dict):
        found = (_too_large(one, f"{key}.{name}") for name, one in value.items())
    elif isinstance(value, list):
        found = (_too_large(one, key) for one in value)
    else:
        return key[1:] if isinstance(value, int) and value.bit_length() > 1023 else ""
    return next(filter(None, found), "")


def explained(error: ValidationError, raw: dict[str, Any]) -> str:
    """The first problem in one line, and the keys of the others."""
    problems = error.errors(include_url=False)
    # A misspelt key is both unknown and missing: only the first says what to correct.
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    key, message = _problem(dict(problems[0]), raw)
    others = {_problem(dict(problem), raw)[0] for problem in problems[1:]} - {key}
    also = without_any_password(f"; then also: {', '.join(sorted(others))}") if others else ""
    return _one_line(f"{without_any_password(key)}: {message}{also}")


def _problem(problem: dict[str, Any], raw: dict[str, Any]) -> tuple[str, str]:
    """The key and what is wrong with it, from one of pydantic's errors."""
    path = [part for part in problem["loc"] if part != "__root__"]
    if len(path) > 2 and path[0] in ("parameters", "environment"):
        del path[2]  # the tag that pydantic puts in for the type it tried
    kind, given = problem["type"], problem["input"]
    if kind == "value_error":
        cause = problem["ctx"]["error"]
        inner = getattr(cause, "key", "")
        return ".".join([*map(str, path), *([inner] if inner else [])]), str(cause)
    key = ".".join(map(str, path))
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        return _type_problem(str(path[0]), key, given)
    section = _section(path[:-1], raw)
    if kind == "extra_forbidden":
        known = list(section.keys()) if section else []
        return key, f"unknown key{_nearest(str(path[-1]), known)}"
    if kind in ("dict_type", "model_attributes_type", "model_type"):
        example = ' such as { type = "float", low = 0, high = 1 }'
        examples = {"parameters": example, "constraints": " such as { max = 20 }"}
        examples["objectives"] = " such as { direction = 'minimize' }"
        shown_example = examples.get(str(path[0]), "") if len(path) == 2 else ""
        return key, f"got {shown(given)}, expected a table{shown_example}"
    if section is None:
        section, path = Contents, path[:1]
    keys = section.keys()
    fields = [part for part in path if part in keys]
    field = str(fields[-1]) if fields else str(path[-1])
    if field in ("choices", "values", "weights", "special") and len(path) > 3:
        key = ".".join(map(str, path[: path.index(field, 2) + 1]))
    wanted = keys[field].description
    if kind == "missing":
        return key, f"missing; expected {wanted}"
    got = f"got {shown_storage(given)}" if key == "study.storage" else _got(given)
    return key, f"{got}, expected {wanted}"


def _type_problem(table: str, key: str, given: object) -> tuple[str, str]:
    """Key and message of a parameter or variable of no known type."""
    if table == "parameters":
        names = ", ".join(map(repr, PARAMETER_TYPES))
        found = given.get("type") if isinstance(given, dict) else None
        return f"{key}.type", f"{_got(found)}, expected one of {names}"
    if not isinstance(given, dict):
        example = '{ distribution = "uniform", low = 0, high = 1 }'
        return key, f"got {shown(given)}, expected a table such as {example}"
    random = (name for name in VARIABLE_TYPES if name not in ("values", *PARAMETER_TYPES))
    names, types = ", ".join(map(repr, random)), ", ".join(map(repr, PARAMETER_TYPES))
    wanted = (
        f"expected one of {names}, or `values` instead (with control = 'given' a `type`: {types})"
    )
    return f"{key}.distribution", f"{_got(given.get('distribution'))}; {wanted}"


def _section(path: list[Any], raw: dict[str, Any]) -> type[Section] | None:
    """The model of the table at `path`."""
    if not path:
        return Contents
    if path[0] in ("parameters", "environment") and len(path) > 1:
        table = raw[path[0]][path[1]]
        is_variable = path[0] == "environment"
        return variable_type(table) if is_variable else PARAMETER_TYPES[table["type"]]
    if path[0] == "fidelity" and len(path) > 1:
        return LevelsSection
    if path[0] in ("constraints", "objectives") and len(path) == 1:
        return None
    return _table(path[0])


def _table(name: str) -> type[Section] | None:
    """The model of a table, or of the lines of one; None where they are of several."""
    kind = Contents.keys()[name].annotation if name in Contents.keys() else None  # noqa: SIM118
    models = [one for one in (kind, *get_args(kind)) if isinstance(one, type)]
    return next((one for one in models if issubclass(one, Section)), None)


def _got(value: object) -> str:
    return "missing" if value is None else f"got {shown(value)}"


def _nearest(given: str, known: list[str]) -> str:
    word = given.lower().replace("-", "_")
    words, tables = (*_WORDS.get(word, ()), word), list(Contents.keys())
    sections = [(name, _table(name)) for name in _TABLES]
    keys = [(key, name) for name, section in sections if section for key in section.keys()]  # noqa: SIM118
    places = [(key, name) for key, name in keys if key in words]
    near = difflib.get_close_matches(given, known, n=1, cutoff=0.6)
    hint = ""
    if meant := [key for key in words if key in known]:
        hint = f"did you mean `{meant[0]}`? "
    elif word in _ELSEWHERE:
        hint = f"{_ELSEWHERE[word]}. "
    elif word in tables:
        hint = f"[{word}] is a table of its own. "
    elif places:
        hint = f"did you mean `{places[0][0]}` in [{places[0][1]}]? "
    elif near:
        hint = f"did you mean `{near[0]}`? "
    return f"; {hint}Expected one of {', '.join(known)}" if known else ""


def _one_line(text: str) -> str:
    line = " ".join(printable(text).split())
    return line if len(line) <= LONGEST_MESSAGE else f"{line[:300]} ... {line[-150:]}"
