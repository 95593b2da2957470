"""The study file: what a person writes in TOML, read, with errors that name the key."""

from __future__ import annotations

import difflib
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Any

from optuna.distributions import BaseDistribution
from pydantic import ValidationError

from surefoot.integrations.optuna import StudyEnvironment
from surefoot.tune.environment import environment_of
from surefoot.tune.environment_section import VARIABLE_TYPES, EnvironmentSection, variable_type
from surefoot.tune.risk_section import RiskSection, StatedRisk
from surefoot.tune.section import Section
from surefoot.tune.sections import PARAMETER_TYPES, Contents, ObjectiveSection, StudySection
from surefoot.types import InvalidInput


class StudyFileError(InvalidInput):
    """A study file that cannot be used: one line with the file, the key and what was expected."""


class StudyFile:
    """A checked study file, with its place: relative names in it start from its folder."""

    def __init__(self, path: Path, contents: Contents) -> None:
        self.path = path
        self.folder = path.parent
        self.study = contents.study
        self.objective = contents.objective
        self.parameters = contents.parameters
        self.environment = contents.environment
        self.risk = contents.risk

    @classmethod
    def load(cls, path: Path | str) -> StudyFile:
        """Read and check a file.

        Raises `StudyFileError`, whose message is one line, for anything that is wrong with it.
        """
        path = Path(path)
        try:
            raw = tomllib.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise StudyFileError(f"{path}: no such file, expected a study file in TOML") from None
        except OSError as error:
            raise StudyFileError(f"{path}: cannot be read: {error.strerror}") from None
        except UnicodeDecodeError:
            raise StudyFileError(f"{path}: not a text file in UTF-8, expected TOML") from None
        except tomllib.TOMLDecodeError as error:
            raise StudyFileError(f"{path}: not valid TOML: {_one_line(str(error))}") from None
        try:
            contents = Contents.model_validate(raw)
        except ValidationError as error:
            raise StudyFileError(f"{path}: {_explain(error, raw)}") from None
        return cls(path.absolute(), contents)

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """The parameters as Optuna names them, in the order of the file."""
        return {name: one.distribution() for name, one in self.parameters.items()}

    @cached_property
    def study_environment(self) -> StudyEnvironment | None:
        """The environment as trials record it, None where there is none."""
        return None if self.environment is None else environment_of(self.environment)

    @property
    def stated_risk(self) -> StatedRisk | None:
        """What a recommended value is, in words; None without an environment."""
        return None if self.risk is None else self.risk.stated(self.study.direction)

    def error(self, key: str, message: str) -> StudyFileError:
        """An error about a key of this file, found only when its value was used."""
        return StudyFileError(f"{self.path.name}: {key}: {_one_line(message)}")


def _explain(error: ValidationError, raw: dict[str, Any]) -> str:
    """The first problem in one line, and how many more there are."""
    problems = error.errors(include_url=False)
    # A misspelt key is both unknown and missing: only the first says what to correct.
    problems.sort(key=lambda problem: problem["type"] != "extra_forbidden")
    key, message = _problem(dict(problems[0]), raw)
    more = len(problems) - 1
    return _one_line(f"{key}: {message}" + (f" (and {more} more)" if more else ""))


def _problem(problem: dict[str, Any], raw: dict[str, Any]) -> tuple[str, str]:
    """The key and what is wrong with it, of one of pydantic's errors."""
    path = [part for part in problem["loc"] if part != "__root__"]
    if len(path) > 2 and path[0] in ("parameters", "environment"):
        del path[2]  # the tag that pydantic puts in for the type it tried
    kind = problem["type"]
    if kind == "value_error":
        cause = problem["ctx"]["error"]
        inner = getattr(cause, "key", "")
        return ".".join([*map(str, path), *([inner] if inner else [])]), str(cause)
    key = ".".join(map(str, path))
    if kind in ("union_tag_not_found", "union_tag_invalid") and path[0] == "environment":
        return _variable_problem(key, problem["input"])
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        names = ", ".join(repr(name) for name in PARAMETER_TYPES)
        given = problem["input"].get("type") if isinstance(problem["input"], dict) else None
        return f"{key}.type", f"{_got(given)}, expected one of {names}"
    section = _section(path[:-1], raw)
    if kind == "extra_forbidden":
        known = list(section.model_fields) if section else []
        return key, f"unknown key{_nearest(str(path[-1]), known)}"
    if kind in ("dict_type", "model_attributes_type", "model_type"):
        if len(path) == 2 and path[0] == "parameters":
            example = '{ type = "float", low = 0, high = 1 }'
            return key, f"got {problem['input']!r}, expected a table such as {example}"
        return key, f"got {problem['input']!r}, expected a table"
    if section is None:
        section, path = Contents, path[:1]
    names_in_path = [part for part in path if part in section.model_fields]
    field = str(names_in_path[-1]) if names_in_path else str(path[-1])
    if field in ("choices", "values", "weights") and len(path) > 3:
        path = path[: path.index(field, 2) + 1]
        key = ".".join(map(str, path))
    wanted = section.model_fields[field].description
    if kind == "missing":
        return key, f"missing; expected {wanted}"
    return key, f"{_got(problem['input'])}, expected {wanted}"


def _variable_problem(key: str, given: object) -> tuple[str, str]:
    """What is wrong with a variable of the environment that is of no known kind."""
    if not isinstance(given, dict):
        example = '{ distribution = "uniform", low = 0, high = 1 }'
        return key, f"got {given!r}, expected a table such as {example}"
    named = ", ".join(repr(name) for name in VARIABLE_TYPES if name != "values")
    wanted = f"expected one of {named}, or `values` instead"
    return f"{key}.distribution", f"{_got(given.get('distribution'))}; {wanted}"


def _section(path: list[Any], raw: dict[str, Any]) -> type[Section] | None:
    """The model of the table at `path`."""
    if not path:
        return Contents
    if path[0] == "study":
        return StudySection
    if path[0] == "objective":
        return ObjectiveSection
    if path[0] == "risk":
        return RiskSection
    if path[0] == "environment":
        return EnvironmentSection if len(path) == 1 else variable_type(raw["environment"][path[1]])
    if path[0] == "parameters" and len(path) >= 2:
        return PARAMETER_TYPES.get(raw["parameters"][path[1]]["type"])
    return None


def _got(value: object) -> str:
    return "missing" if value is None else f"got {value!r}"


def _nearest(given: str, known: list[str]) -> str:
    close = difflib.get_close_matches(given, known, n=1, cutoff=0.5)
    hint = f"did you mean `{close[0]}`? " if close else ""
    return f"; {hint}Expected one of {', '.join(known)}" if known else ""


def _one_line(text: str) -> str:
    return " ".join(text.split())
