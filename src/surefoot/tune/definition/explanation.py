"""Faults of a study file, and what to write instead, in one line."""

from __future__ import annotations

import difflib
import re
from typing import Any, get_args

from pydantic import ValidationError

from surefoot.tune.definition.contents import Contents
from surefoot.tune.definition.environment import VARIABLE_TYPES, variable_type
from surefoot.tune.definition.fidelity import LevelsSection
from surefoot.tune.definition.parameters import PARAMETER_TYPES
from surefoot.tune.definition.section import Section
from surefoot.tune.plain_text import (
    LONGEST_REASON,
    printable,
    shortened,
    shown,
    shown_storage,
    without_any_password,
)

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
_TRUTHS = dict.fromkeys(("true", "yes", "on"), "true") | dict.fromkeys(
    ("false", "no", "off"), "false"
)
_TABLES = ("study", "objective", "confirm", "repeats", "stop")  # whose keys are mixed up


def without_quotes(text: str, where: str) -> str:
    """Correction of a line with wrong quotes; empty if it has none."""
    line = re.match(r"line (\d+)", where)
    lines = text.splitlines()
    there = lines[int(line[1]) - 1] if line and int(line[1]) <= len(lines) else ""
    if re.search("[\u201c\u201d\u2018\u2019]", there):
        return "; quotes are straight, \" or ', not curly"
    found = [_UNQUOTED.fullmatch(there), *_UNQUOTED_INSIDE.finditer(there)]
    for one in found:
        truth = None if one is None else _TRUTHS.get(one[2].lower())
        if one is not None and truth not in (None, one[2]) and f'"{one[2]}"' not in there:
            return f"; expected true or false: {one[1]} = {truth}"
        if one is not None and one[2] not in _TOML_WORDS:
            return one_line(without_any_password(f'; text has quotes: {one[1]} = "{one[2]}"'))
    if there.count('"') > 2 and "'" not in there and "[" not in there and "{" not in there[:20]:
        return '; a text with " in it is in single quotes, such as command = \'sh -c "a b"\''
    return ""


def too_large(value: Any, key: str = "") -> str:
    """The key of an integer that float64 cannot hold, empty if there is none."""
    if isinstance(value, dict):
        found = (too_large(one, f"{key}.{name}") for name, one in value.items())
    elif isinstance(value, list):
        found = (too_large(one, key) for one in value)
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
    return one_line(f"{without_any_password(key)}: {message}{also}")


def _problem(problem: dict[str, Any], raw: dict[str, Any]) -> tuple[str, str]:
    """The key and what is wrong with it, from one of pydantic's errors."""
    kind, given = problem["type"], problem["input"]
    path = _path(problem, raw)
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
        examples = {
            "parameters": example,
            "constraints": " such as { max = 20 }",
            "objectives": " such as { direction = 'minimize' }",
        }
        shown_example = examples.get(str(path[0]), "") if len(path) == 2 else ""
        return key, f"got {shown(given)}, expected a table{shown_example}"
    if section is None:
        section, path = Contents, path[:1]
    keys = section.keys()
    fields = [part for part in path if part in keys] or path
    wanted = keys[str(fields[-1])].description
    if kind == "missing":
        return key, f"missing; expected {wanted}"
    if isinstance(path[-1], int):
        return ".".join(map(str, path[:-1])), f"got {shown(given)} in the list, expected {wanted}"
    got = f"got {shown_storage(given)}" if key == "study.storage" else _got(given)
    return key, f"{got}, expected {wanted}"


def _path(problem: dict[str, Any], raw: dict[str, Any]) -> list[Any]:
    """Where a problem is in the file, without what pydantic adds for each type that it tried."""
    path: list[Any] = []
    at: Any = raw
    loc = list(problem["loc"])
    if len(loc) > 2 and loc[0] in ("parameters", "environment"):
        del loc[2]  # the type of a parameter may be the name of a key, too
    for part in loc:
        if part in (at if isinstance(at, dict) else range(len(at)) if isinstance(at, list) else ()):
            path.append(part)
            at = at[part]
    return [*path, loc[-1]] if problem["type"] == "missing" else path


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
        return variable_type(table) if path[0] == "environment" else PARAMETER_TYPES[table["type"]]
    if path[0] == "fidelity" and len(path) > 1:
        return LevelsSection
    return None if path[0] in ("constraints", "objectives") and len(path) == 1 else _table(path[0])


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


def one_line(text: str) -> str:
    return shortened(" ".join(printable(text).split()), LONGEST_REASON)
