"""A study file from a command line in which the parameters have their ranges."""

from __future__ import annotations

import csv
import json
import re
import shlex
import tomllib
from dataclasses import dataclass
from pathlib import PurePath

from pydantic import ValidationError

from surefoot.tune.definition.command_template import CommandTemplate
from surefoot.tune.definition.contents import NAME, Contents
from surefoot.tune.definition.explanation import explained
from surefoot.tune.plain_text import shown
from surefoot.types import InvalidInput

WIDE = 100.0  # ratio of the ends of a range, from which on its scale is logarithmic
_PLACEHOLDER = re.compile(r"(?<!\{)\{([^{}:]*)(?::([^{}]*))?\}(?!\})")
_QUANTITY = re.compile(r"([+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)([A-Za-z%]*)")
_MULTIPLES = "kmgt"  # each 1024 times the one before
_INTERPRETERS = ("python", "python3", "sh", "bash", "node", "ruby", "perl", "Rscript")
_FORMS = "{name:1..16}, {name:0.1..0.9}, {name:1k..1m} or {name:a,b,c}"


@dataclass(frozen=True)
class _Described:
    """A parameter: its table in the study file, a comment, and the suffix of its values."""

    table: str
    comment: str = ""
    suffix: str = ""


def new_study(command: str, maximize: bool = False) -> tuple[str, str]:
    """A study file for a command line whose placeholders have ranges or choices.

    Args:
        command: The command line, with `{name:low..high}` or `{name:a,b,c}` for each parameter.
        maximize: Whether larger measurements are better.

    Returns:
        Name of the study, after the program, and the text of the study file.

    Raises:
        InvalidInput: If the command has no parameter, or one that cannot be read.

    Example:
        >>> name, text = new_study("nginx-bench --workers {workers:1..16}")
        >>> name, 'command = "nginx-bench --workers {workers}"' in text
        ('nginx-bench', True)
    """
    found: dict[str, _Described] = {}
    for name, described in _PLACEHOLDER.findall(command):
        if described and name in found:
            raise InvalidInput(f"{name}: has two ranges, expected one, and {{{name}}} elsewhere")
        if described:
            found[name] = _described(name, described)

    def without_range(match: re.Match[str]) -> str:
        if match[1] not in found:
            raise InvalidInput(f"{{{match[1]}}}: has no range, expected {_FORMS}")
        return f"{{{match[1]}}}{found[match[1]].suffix}"

    line = _PLACEHOLDER.sub(without_range, command)
    CommandTemplate.parse(line)  # refuses what has no words, or an open brace
    if not found:
        raise InvalidInput(f"got {shown(command)} without a parameter, expected {_FORMS}")
    study = _name_of(shlex.split(line))
    direction = "maximize" if maximize else "minimize"
    other = "smaller" if maximize else "larger"
    lines = [
        "[study]",
        f"name = {json.dumps(study)}",
        f'direction = "{direction}"  # "{"minimize" if maximize else "maximize"}" if {other} '
        "measurements are better",
        f"rounds = {max(30, 15 * len(found))}  # trials; more for a long search, and `budget = "
        '"2h"` limits the time',
        "",
        "[objective]",
        "# The measurement is the number in the last line printed; `surefoot check` shows it.",
        f"command = {json.dumps(line, ensure_ascii=False)}",
        '# timeout = "30s"  # a run that takes longer has failed',
        "",
        "# [constraints]",
        '# p99 = { max = "20ms" }  # a limit of another number, printed as p99=12.5ms',
        "",
        "[parameters]",
        "# With `default = ...` in each, the search begins there and is compared with it.",
    ]
    for name, one in found.items():
        lines += [f"# {one.comment}"] * bool(one.comment) + [f"{name} = {one.table}"]
    text = "\n".join(lines) + "\n"
    raw = tomllib.loads(text)
    try:
        Contents.model_validate(raw)
    except ValidationError as error:
        raise InvalidInput(explained(error, raw)) from None
    return study, text


def _name_of(words: list[str]) -> str:
    """Name of the program, or of the script that an interpreter runs."""
    names = [re.sub(r"[^A-Za-z0-9_-]+", "-", PurePath(one).stem).strip("-") for one in words[:2]]
    is_script = names[0] in _INTERPRETERS and len(words) > 1 and not words[1].startswith("-")
    return (names[1] if is_script else names[0]) or "study"


def _described(name: str, text: str) -> _Described:
    """The table of a parameter, from its range or its choices."""
    if not NAME.fullmatch(name):
        raise InvalidInput(
            f"got the name {shown(name)}, expected ASCII letters, digits, '_' and '-', not "
            "beginning with a digit"
        )
    low, dots, high = text.partition("..")
    if dots:
        return _range(name, low.strip(), high.strip())
    quote = '"' if '"' in text else "'"
    choices = [
        one.strip() for one in next(csv.reader([text], skipinitialspace=True, quotechar=quote))
    ]
    if len(choices) < 2 or not all(choices):
        raise InvalidInput(f"{name}: got {shown(text)}, expected {_FORMS}")
    numbers = [_number(one) for one in choices]
    known = [one for one in numbers if one is not None]
    if len(known) < len(numbers):
        listed = json.dumps(choices, ensure_ascii=False)
        return _Described(f'{{ type = "categorical", choices = {listed} }}')
    ordered = ", ordered = true" if known == sorted(known) else ""
    return _Described(f'{{ type = "categorical", choices = {json.dumps(known)}{ordered} }}')


def _range(name: str, low: str, high: str) -> _Described:
    """The table of a number; its suffix is that of its lower end."""
    ends = [_QUANTITY.fullmatch(one) for one in (low, high)]
    if ends[0] is None or ends[1] is None:
        raise InvalidInput(f"{name}: got {shown(f'{low}..{high}')}, expected {_FORMS}")
    (first, suffix), (second, other) = ends[0].groups(), ends[1].groups()
    factor = _factor(suffix, other)
    if factor is None:
        raise InvalidInput(
            f"{name}: got {shown(f'{low}..{high}')}, whose ends have different suffixes; expected "
            "the same, or k, m, g or t (each 1024 times the one before), the smaller one first"
        )
    bottom, top = _number(first), _number(second)
    if bottom is None or top is None:
        raise InvalidInput(f"{name}: got {shown(f'{low}..{high}')}, expected finite ends")
    if not bottom < factor * top:
        found = f"{name}: got {shown(f'{low}..{high}')}, whose ends are"
        if bottom == factor * top:
            raise InvalidInput(f"{found} the same; expected a range, or the value without braces")
        raise InvalidInput(f"{found} in the wrong order; expected {{{name}:{high}..{low}}}")
    top = top if factor == 1 else top * factor
    top = int(top) if isinstance(bottom, int) and top == int(top) and factor > 1 else top
    whole = isinstance(bottom, int) and isinstance(top, int)
    if whole and (bottom, top) == (0, 1):
        raise InvalidInput(
            f"{name}: got '0..1', which may be all numbers in between, {{{name}:0.0..1.0}}, or one "
            f"of two, {{{name}:0,1}}; expected one of these"
        )
    log = bottom > 0 and top / bottom >= WIDE
    keys = [f'type = "{"int" if whole else "float"}"', f"low = {bottom}", f"high = {top}"]
    keys += ["log = true"] * log + [f"unit = {json.dumps(suffix)}"] * bool(suffix)
    comments = [f"a range of more than {WIDE:g} times is searched on a log scale"] * log
    if suffix:
        converted = f": {high} is {top}{suffix}" if factor > 1 else ""
        comments.append(f"in {suffix}, which the command adds{converted}")
    return _Described(f"{{ {', '.join(keys)} }}", "; ".join(comments), suffix)


def _factor(low: str, high: str) -> int | None:
    """By what to multiply the upper end, to have the suffix of the lower one."""
    if low == high:
        return 1
    places = [
        0 if not one else _MULTIPLES.find(one.lower()) + 1 if len(one) == 1 else 0
        for one in (low, high)
    ]
    if (low and not places[0]) or not places[1] or places[1] < places[0]:
        return None
    return int(1024 ** (places[1] - places[0]))


def _number(text: str) -> int | float | None:
    """A number, an integer if it is written as one; None for other texts."""
    for read in (int, float):
        try:
            number = read(text)
        except ValueError:
            continue
        return number if abs(number) < float("inf") else None
    return None
