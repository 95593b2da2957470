"""The measurement that a command prints: a number, one with its standard error, or replicates."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass

from surefoot.tune.measuring.replicates import robust_location
from surefoot.tune.plain_text import without_escapes

# A number that is not part of a word (`p95`, `0x1F`), though a unit may follow it (`12.5ms`).
# Possessive quantifiers (`++`) keep the search linear: giving digits back never helps.
NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d++)?(?=[^\W\d_]*+(?!\w))"
    r"|(?i:inf(?:inity)?|nan)(?!\w))"
)
_PLUS_MINUS = re.compile(r"\+/?-")
_UNIT = re.compile(r"[^\S\n]*+[^\W\d_]*+%?[^\S\n]*+")  # after a number, on its line
_WORKER = re.compile(r"^[^\S\n]*+worker[^\S\n]*+=[^\S\n]*+(.*)$", re.MULTILINE)
_SAMPLES = re.compile(r"[^\S\n]*+samples[^\S\n]*+[:=]")
# 1,234.5 is a number with thousands separators; 12,5 is one with a decimal comma, or two numbers.
_COMMA = re.compile(r"(?:\d{1,3}(?:,\d{3})++(?:\.\d*+)?|\d++,\d++)(?:[eE][-+]?\d++)?")
_SAMPLE = re.compile(NUMBER.pattern + r"[^\W\d_]*+%?")


@dataclass(frozen=True)
class PrintedValue:
    """A measurement as it was printed.

    Args:
        value: The number; the robust location of replicates.
        sem: Its standard error, 0 where none was printed.
    """

    value: float
    sem: float = 0.0


def printed_value(text: str) -> PrintedValue | str:
    """The measurement in a text, or the reason of a failure if there is none.

    It is the last number; one with thousands separators or a decimal comma is refused. If it
    follows `+-`, `+/-` or `±`, it is the standard error of the number before. If its line is
    `samples:` and numbers, these are replicates of one run.

    Args:
        text: Output of the objective.

    Returns:
        The measurement or the reason.

    Example:
        >>> printed_value("latency 12.5 ms +- 0.4 ms")
        PrintedValue(value=12.5, sem=0.4)
    """
    text = _PLUS_MINUS.sub("±", without_escapes(text).replace("\N{MINUS SIGN}", "-"))
    last = before = None
    for found in NUMBER.finditer(text):
        before, last = last, found
    if last is None:
        return "no number on standard output"
    start = text.rfind("\n", 0, last.start()) + 1
    samples = _replicates(text[start:].partition("\n")[0])
    if samples:
        return of_replicates(samples)
    lead = text[start : last.start()].rstrip()
    if with_comma := _with_comma(text, last):
        return with_comma
    if not lead.endswith("±"):
        return PrintedValue(float(last[0]))
    end = start + len(lead) - 1
    if before is None or before.end() > end or not _UNIT.fullmatch(text, before.end(), end):
        return f"no number before the standard error {last[0]} on standard output"
    return _with_comma(text, before) or PrintedValue(float(before[0]), float(last[0]))


def of_replicates(samples: Sequence[float]) -> PrintedValue:
    """The measurement by replicates of one run; the first that is not finite, if there is one.

    Args:
        samples: The replicates, at least one.

    Example:
        >>> of_replicates([12.0, 12.0])
        PrintedValue(value=12.0, sem=0.0)
    """
    not_finite = [sample for sample in samples if not math.isfinite(sample)]
    return PrintedValue(*(not_finite[:1] or robust_location(samples)))


def split_worker(text: str) -> tuple[str | None, str]:
    """The name in the last line `worker=name`, None without one, and the text without such lines.

    Example:
        >>> split_worker("worker=3")
        ('3', '')
    """
    found = _WORKER.findall(text)
    return (found[-1] if found else None), _WORKER.sub("", text)


def _with_comma(text: str, number: re.Match[str]) -> str:
    """Why a number cannot be read that follows a digit and a comma; empty if it can."""
    start = number.start()
    while start and text[start - 1] in "0123456789.,":
        start -= 1
    whole = text[start : number.end()]
    if "," not in whole or not _COMMA.fullmatch(whole):
        return ""
    return f"{whole} on standard output, expected a number without separators, such as 1234.5"


def _replicates(line: str) -> list[float]:
    """The numbers of a line of samples; none for a line that has anything else."""
    label = _SAMPLES.match(line)
    rest = "" if label is None else line[label.end() :]
    if _SAMPLE.sub("", rest).strip(" \t\r,;[]()"):
        return []
    return [float(number) for number in NUMBER.findall(rest)]
