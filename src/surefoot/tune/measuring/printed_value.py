"""The measurement that a command prints: a number, one with its standard error, or replicates."""

from __future__ import annotations

import csv
import itertools
import json
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from surefoot._internal.numbers import LAST_DIGITS, MAD_TO_SD
from surefoot.tune.definition.section import ValueName
from surefoot.tune.measuring.json_output import Document, Output, json_number
from surefoot.tune.measuring.quantity import (
    MOST,
    NEAR,
    Figure,
    Missing,
    Quantity,
    first_quantity,
    is_spread,
    plain,
    quantities,
    sole,
    unclear,
)
from surefoot.tune.measuring.unit_scales import seconds_in
from surefoot.tune.plain_text import LISTED, listed

NO_NUMBER = "no number on standard output"
_WORKER = re.compile(r"^[^\S\n]*+worker[^\S\n]*+=[^\S\n]*+(.*)$", re.MULTILINE)
_SAMPLES = re.compile(r"[^\S\n]*+samples?+[^\S\n]*+[:=]")
# Between a key and its number: a quote, a note in brackets, dots, one sign.
_BETWEEN = (
    r"[\"'`]?+(?:[^\S\n]*+(?:\([^)\n]{0,80}+\)|\[[^]\n]{0,80}+\]))?+(?P<before>[^\S\n]*+)(?:\.{2,}+[^\S\n]*+)?+"
    r"(?P<sign>->|=>|[=:|,;→])?+(?P<after>[^\S\n]*+)"
)
_GROUPS = re.compile(r"[-+]?[0-9]{1,3}")
_GROUP = re.compile(r" [0-9]{3}(?![0-9])")
_SEPARATORS = re.compile(r"(?:[\s,;|/\"'`]|\.{2,}+)*+")
_LABEL = re.compile(r"[^,;|(\[{=:]*+$")
_DURATION = re.compile(
    r"(?:(?:(?P<d>[0-9]++)-)?(?P<H>[0-9]++):(?=[0-9]{2}:))?(?P<M>[0-9]++):(?P<S>[0-9]{2}(?:\.[0-9]++)?)"
    r"|(?:(?P<h>[0-9]++)h)?(?P<m>[0-9]++)m(?P<s>[0-9]++(?:\.[0-9]++)?)s"
)
# A name whose number is missing; that there are no errors says nothing about one.
_MISSING = re.compile(
    r"(?!.*(?:error|warning|fail|exception|issue|problem|note))(?=[^=:]*[^\W\d])[^=:]++"
    r"(?:=|[=:][^\S\n]*+[\"']?(?:none|null|nil|undefined|missing|n/?a|[-+]?∞|-{1,3}|[–—?]))[\"']?"
    r"[^\S\n]*+[,;.]?[^\S\n]*+",
    re.IGNORECASE,
)


_K = 1.345  # robust deviations at which residuals are clipped: 95 % efficiency for Gaussian noise
_PASSES = 100


@dataclass(frozen=True)
class Keyed:
    """A number behind a key.

    Args:
        number: The number, or why it is unclear which it is; None where there is none.
        before: What stands before the key in its line.
        between: What stands between the key and the number.
        start: Where the key begins in the text.
        end: Where the number ends.
    """

    number: Quantity | Missing | None
    before: str
    between: str
    start: int
    end: int

    @property
    def assigned(self) -> bool:
        """Whether `=` or `:` stands behind the key."""
        return "=" in self.between or ":" in self.between

    @property
    def label(self) -> str:
        """The words before the key that belong to it."""
        words = _LABEL.search(self.before)
        text = "" if words is None else words[0]
        if numbers := quantities(text):
            text = text[numbers[-1].end :]
        return re.split(r"\s{2,}|\t", text.rstrip("\"'`- "))[-1].strip(" \"'`-*>|")


def printed_value(
    text: str | Output, name: ValueName | None = None, apart: Sequence[str] = ()
) -> Quantity | Missing | None:
    """The measurement in a text.

    With a name it is the number that this names. Without one it is the number in the last line that
    has any; if there are several, none is taken. The numbers behind `samples:`, in one
    line or in several with none of others between, are replicates of one run.

    Args:
        text: Output of the objective.
        name: Which number it is, as the study file says.
        apart: Names in JSON output that are not the measurement.

    Returns:
        The measurement, or why it is unclear; None if there is no number.

    Example:
        >>> printed_value("latency 12.5 ms +- 0.4 ms")
        Quantity(value=12.5, sem=0.4, unit='ms', text='12.5 ms +- 0.4 ms')
        >>> printed_value("avg=12.5, stdev=0.4", ValueName("avg")).value
        12.5
        >>> printed_value("avg=12.5, stdev=0.4").reason.partition(";")[0]
        'several numbers in the last line: avg=12.5, stdev=0.4'
    """
    output = Output.of(text) if isinstance(text, str) else text
    if name is not None:
        return named_value(output, name)
    if samples := printed_samples(output):
        return _replicates(samples)
    missing = ""
    for line, documents in output.lines():
        found: list[Quantity | Figure] = list(quantities(line))
        where = "the last line" if found else "the JSON output"
        for one in documents:
            if isinstance(one.value, Missing):
                return one.value
            found += _first_numbers(one, apart)
        if found and missing:
            return unclear(
                f"no number in `{missing:.80}`, only before it: {_shown(found)}; expected one, or "
                "`value` in [objective] that names one"
            )
        if found:
            return _only(found, where)
        empty = [str(one.value) for one in documents if next(one.numbers(), None) is None]
        empty += [line.strip()] * bool(_MISSING.fullmatch(line))
        missing = missing or "".join(empty[:1])
    return None


def printed_samples(text: str | Output) -> list[Quantity]:
    """The last samples in a text: those of all lines of samples after which no other number comes.

    Args:
        text: Output of the objective.

    Example:
        >>> [one.value for one in printed_samples("samples: 3 ms, 5 ms")]
        [3.0, 5.0]
    """
    output = Output.of(text) if isinstance(text, str) else text
    lines = []
    for line, documents in output.lines():
        found = samples_of(line)
        if found is None or documents:
            break
        lines.append(found)
    return [one for found in reversed(lines) for one in found]


def named_value(
    output: Output, name: ValueName, key: str = "objective.value"
) -> Quantity | Missing | None:
    """The number of a name in an output, the last one if it comes in several lines or documents.

    Args:
        output: The output.
        name: A key, a path or a pattern.
        key: The key of the study file that has the name, for messages.
    """
    if (pattern := name.pattern) is not None:
        return _by_pattern(output, pattern, name, key)
    if (column := name.column) is not None:
        return _by_column(output, plain(column), key)
    behind = keyed(output.text, name.text)
    behind = (one for one in behind if one.number is not None or one.assigned)
    there = list(itertools.islice(behind, MOST))
    for document in reversed(output.documents):
        if there and document.begin < there[0].start:
            break
        if isinstance(document.value, Missing):
            return document.value
        if found := document.find(name.text):
            return _of_json(found[1], name)
    labelled = {one.label: one for one in reversed(there)}
    with_number = {label: one for label, one in labelled.items() if one.number is not None}
    if "" in with_number:
        return _of_one_line(output.text, [one for one in there if not one.label], name, key)
    if len(with_number) > 1:
        labels = ", ".join(f"`{label} {name.text}`" for label in list(with_number)[:LISTED])
        return unclear(f"`{name.text}` is the end of {labels}; expected one of these in {key}")
    if with_number:
        return next(iter(with_number.values())).number
    if there:
        return unclear(f"nothing behind `{name.text}`, expected the number that {key} names")
    return _not_there(output, name, key)


def keyed(text: str, key: str) -> Iterator[Keyed]:
    """Where a key stands in a text, and the numbers behind it, the last one first.

    Args:
        text: `plain` text.
        key: What stands before the number, with `=`, `:`, `|`, dots or spaces between.
    """
    pattern = re.compile(rf"(?<![\w.\-]){re.escape(plain(key).strip())}(?![\w\-]){_BETWEEN}")
    for match in reversed(list(pattern.finditer(text))):
        end = text.find("\n", match.end())
        end = min(end if end >= 0 else len(text), match.end() + NEAR)
        rest = text[match.end() : end]
        attached = match["sign"] == "=" and not match["before"] + match["after"]
        number, length = _first(rest, attached)
        between = match["before"] + (match["sign"] or "") + match["after"]
        start = max(text.rfind("\n", 0, match.start()) + 1, match.start() - NEAR)
        before, stop = text[start : match.start()], match.end() + length
        if isinstance(number, Quantity) and is_spread(text[start:end]):
            number = replace(number, sem=0.0)
        yield Keyed(number, before, between, match.start(), stop)


def of_replicates(samples: Sequence[float]) -> Quantity:
    """The measurement by replicates of one run; the first that is not finite, if there is one.

    Args:
        samples: The replicates, at least one.

    Example:
        >>> of_replicates([12.0, 12.0])
        Quantity(value=12.0, sem=0.0, unit='', text='')
    """
    not_finite = [sample for sample in samples if not math.isfinite(sample)]
    return Quantity(*(not_finite[:1] or robust_location(samples)))


def split_worker(text: str) -> tuple[str | None, str]:
    """The name in the last line `worker=name`, None without one, and the text without such lines.

    Example:
        >>> split_worker("worker=3")
        ('3', '')
    """
    found = _WORKER.findall(text)
    return (found[-1] if found else None), _WORKER.sub("", text)


def samples_of(line: str) -> list[Quantity] | None:
    """The numbers of a line of samples, none of a line without numbers; None of any other line.

    Args:
        line: A line of `plain` text.
    """
    label = _SAMPLES.match(line)
    rest = "" if label is None else line[label.end() :]
    found = quantities(rest, len(rest)) if rest else []
    samples = [one for one in found if isinstance(one, Quantity) and not one.sem]
    others, position = [], 0
    for one in found:
        others.append(rest[position : one.start])
        position = one.end
    is_other = "".join([*others, rest[position:]]).strip(" \t,;[]()\"'`")
    if (
        is_other
        or len(samples) < len(found)
        or not all(one.into(samples[0].unit) for one in samples)
    ):
        samples = []
    return samples or (None if quantities(line) else [])


def _only(found: Sequence[Quantity | Figure], where: str) -> Quantity | Missing | None:
    """The only number, or why there is not one."""
    if not found:
        return None
    first = found[0]
    if len(found) == 1 and isinstance(first, Quantity):
        return first
    if len(found) == 1:
        duration = _duration(first.text)
        return duration if duration and "m" in first.text else _several_readings(first, where)
    names = [one.name for one in found if one.name]
    example = names[0] if names else "/mean ([0-9.]+)/"
    return unclear(
        f"several numbers in {where}: {_shown(found)}; expected one, or `value` in [objective] "
        f"that names one: a key, a path or a pattern, such as {_toml(example)}"
    )


def _several_readings(one: Quantity | Figure, where: str) -> Missing:
    return unclear(
        f"{one.text} in {where} has several readings, expected a number such as 1234.5, without "
        "separators"
    )


def _first(rest: str, attached: bool) -> tuple[Quantity | Missing | None, int]:
    """The number at the beginning of a text, and its length; None if there is none.

    Not if another number follows it, which makes it a table or a number with a space in it.
    """
    one = first_quantity(rest)
    if one is None:
        return None, 0
    if isinstance(one, Figure):
        return _duration(one.text) or _several_readings(one, "its line"), one.end
    grouped = _GROUPS.fullmatch(one.text) and _GROUP.match(rest, one.end)
    behind = _SEPARATORS.match(rest, one.end)
    second = None
    if behind and not attached and rest[behind.end() : behind.end() + 1] not in ("(", "["):
        second = first_quantity(rest[behind.end() :])
    if grouped or second is not None:
        end = max(behind.end() if behind else 0, one.end) + (second.end if second else 4)
        return unclear(f"several numbers behind it: {rest.strip()}; expected one"), end
    return one, one.end


def _by_pattern(
    output: Output, pattern: re.Pattern[str], name: ValueName, key: str
) -> Quantity | Missing | None:
    pattern = re.compile(plain(pattern.pattern), pattern.flags)
    found = [match[1] or "" for match in pattern.finditer(output.printed)]
    if not found:
        return _not_there(output, name, key)
    one = sole(found[-1])
    if one is not None:
        return one
    return _duration(found[-1].strip()) or unclear(
        f"the group of {key} is {found[-1]!r:.100}, expected one number"
    )


def _of_one_line(
    text: str, there: Sequence[Keyed], name: ValueName, key: str
) -> Quantity | Missing | None:
    """The last number behind a key, unless it stands in lines that begin with different names."""
    found: dict[str, Keyed] = {}
    for one in reversed([one for one in there if one.number is not None]):
        begin = text.rfind("\n", 0, one.start) + 1
        words = re.split(r"[:=,;|0-9]|\.{2,}", text[begin : one.start], maxsplit=1)[0]
        line = words.strip(" \t{}[]()<>\"'`*-")
        found["" if line == name.text else line] = one  # a line that begins with it has no other
    if len(found) > 1:
        names = [f"`{line}`" if line else "no name" for line in found]
        pattern = f"/{re.escape(next(filter(None, found)))}.*{re.escape(name.text)}[=: ]*(\\S+)/"
        return unclear(
            f"`{name.text}` stands in lines of {', '.join(names[:LISTED])}; expected in {key} a "
            f"pattern for one of them, such as {_toml(pattern)}"
        )
    return next(iter(found.values())).number


def _by_column(output: Output, column: str, key: str) -> Quantity | Missing | None:
    """The number in the last row of a table of cells that are separated by commas."""
    lines = [next(csv.reader([line]), []) for line in output.text.split("\n")]
    lines = [[cell.strip() for cell in line] for line in lines]
    first = max((n for n, line in enumerate(lines) if column in line), default=len(lines))
    rows = [one for one in lines[first + 1 :] if len(one) == len(lines[first]) > 1]
    if not rows:
        return _not_there(output, ValueName(f"column {column} with a row"), key)
    named = list(dict.fromkeys(row[0] for row in rows if sole(row[0]) is None))
    if len(named) > 1:
        return unclear(
            f"the column {column} has rows of {listed(named)}; expected one, or in {key} a pattern"
        )
    cell = rows[-1][lines[first].index(column)]
    return sole(cell) or unclear(f"{cell!r:.100} in the column {column}, expected a number")


def _of_json(value: Any, name: ValueName) -> Quantity | Missing:
    """The number that a JSON value is, or the list of replicates."""
    if isinstance(value, list) and value:
        samples = [found for one in value if (found := json_number(one)) is not None]
        if len(samples) == len(value):
            measured = _replicates(samples)
            return measured if isinstance(measured, Missing) else replace(measured, text=name.text)
    one = json_number(value)
    if one is None:
        return unclear(f"{name.text} in the JSON output is {value!r:.100}, expected a number")
    return one


def _not_there(output: Output, name: ValueName, key: str) -> Missing | None:
    for document in reversed(output.documents):
        if known := listed([one.name for one in _first_numbers(document) if one.name]):
            return unclear(f"no {name.text} in the JSON output, expected one of {known} in {key}")
    lines = itertools.islice(output.lines(), MOST)
    found = [one for line, _ in lines for one in reversed(quantities(line))]
    if not found:
        return None
    names = list(dict.fromkeys(one.name for one in reversed(found) if one.name))
    has = f"; there are {listed(names)}" if names else ""
    return unclear(f"no {name.text} on standard output, which {key} names{has}")


def _first_numbers(document: Document, apart: Sequence[str] = ()) -> list[Quantity]:
    """As many numbers of a document as a message needs, each named by its path."""
    others = {found[0] for name in apart if (found := document.find(name))}
    numbers = (found for found in document.numbers() if found[0] not in others)
    return [
        replace(one, name=document.path(steps))
        for steps, one in itertools.islice(numbers, LISTED + 1)
    ]


def _replicates(samples: Sequence[Quantity]) -> Quantity | Missing:
    """The measurement by samples, in the unit of the first."""
    unit, values = samples[0].unit, []
    for one in samples:
        if (same := one.into(unit)) is None:
            first = f"in {unit}" if unit else "without a unit"
            return unclear(f"samples {first} and in {one.unit}, expected one unit")
        values.append(same.value)
    text = " ".join(one.text for one in samples)
    return replace(of_replicates(values), unit=unit, text=f"samples: {text}")


def _duration(text: str) -> Quantity | None:
    """The seconds of `1m2.5s`, `12:34` or `1:02:03.5`, None for any other text."""
    match = _DURATION.fullmatch(text)
    if match is None:
        return None
    seconds = sum(seconds_in(part) * float(one) for part, one in match.groupdict().items() if one)
    return Quantity(seconds, unit="s", text=text)


def _shown(found: Sequence[Quantity | Figure]) -> str:
    return listed([f"{one.name}={one.text}" if one.name else one.text for one in found])


def _toml(text: str) -> str:
    literal = '"' in text or "\\" in text
    return f"'{text}'" if literal and "'" not in text else json.dumps(text, ensure_ascii=False)


@np.errstate(over="ignore", invalid="ignore")  # of the largest floats; the error is NaN then
def robust_location(values: Sequence[float]) -> tuple[float, float]:
    r"""Huber's M-estimate of location, and its standard error.

    With the scale s = 1.4826 MAD, the location m solves :math:`\sum_i \psi((y_i - m) / s) = 0` for
    :math:`\psi(u) = \max(-k, \min(k, u))`, and its variance is
    :math:`s^2 \sum_i \psi_i^2 / (n (n - 1) q^2)`, where q is the share of values that are not
    clipped. Without clipped values these are the mean and its usual standard error.

    Args:
        values: Finite replicates, at least one.

    Returns:
        Location and standard error; the latter is 0 for one value and for equal ones.

    References:
        Huber and Ronchetti 2009, "Robust statistics", Sections 3.2, 6.2 and 7.6.

    Example:
        >>> location, error = robust_location([12.1, 12.9, 48.0, 12.3])
        >>> round(location, 2), round(error, 2)
        (12.7, 0.42)
    """
    y = np.asarray(values, dtype=np.float64)
    location = float(np.median(y))
    deviations = np.abs(y - location)
    scale = MAD_TO_SD * float(np.median(deviations))
    if scale == 0.0 and deviations.any():  # most are equal, as with a coarse clock
        scale = MAD_TO_SD * float(np.median(deviations[deviations > 0.0]))
    if scale == 0.0:
        return location, 0.0
    for _ in range(_PASSES):
        clipped = np.clip(y - location, -_K * scale, _K * scale)
        step = float(clipped.mean())
        location += step
        if abs(step) <= LAST_DIGITS * scale:
            break
    inside = np.abs(y - location) <= _K * scale
    clipped = np.clip(y - location, -_K * scale, _K * scale)
    variance = float(np.square(clipped).sum()) / (len(y) * (len(y) - 1) * float(inside.mean()) ** 2)
    return location, variance**0.5
