r"""Quantities in text: a number with its unit and its standard error.

The grammar, of one line:

    quantity := number ["(" digits ")"] [unit] [("±" | "+-" | "+/-") number [unit]]
    number   := [sign] digits ["." digits] [exponent] | [sign] "inf" | [sign] "nan"
    exponent := ("e" | "E" | "d" | "D") [sign] digits | ("×" | "x" | "*") "10^" [sign] digits

Words (`p95`, `0x1F`, `v1.2`), quoted text, dates, versions and addresses are no numbers. Anything
else with a digit is a figure that has several readings: `1,234`, `12:34`, `1/2`, `12-13`, `<5`.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field, replace
from functools import cache
from typing import ClassVar

from surefoot.tune.measuring.unit_scales import (
    COUNTS,
    KNOWN,
    PREFIXES,
    factor,
    is_known,
    scale,
    scaled,
    uncounted,
)
from surefoot.tune.plain_text import without_escapes

# Possessive quantifiers (`++`) keep the search linear: giving digits back never helps.
_PLUS_MINUS = r"(?:±|\+/?-)"
_DIGITS = r"(?:[0-9]++(?:\.[0-9]*+)?|\.[0-9]++)"
_TEN = r"[^\S\n]?[×x*·][^\S\n]?10(?:\^|\*\*)"
_NUMBER = (
    rf"(?P<sign>[-+]?)(?:(?P<digits>{_DIGITS})(?:\((?P<last>[0-9]++)\))?+"
    rf"(?:(?:[eE]|[dD](?![0-9]++[hms]))(?P<exponent>[-+]?[0-9]++)|{_TEN}(?P<power>[-+]?[0-9]++))?+"
    r"|(?P<special>(?i:inf(?:inity)?|nan))(?!\w))"
)
_ATTACHED = (
    r"(?:(?![eE](?![^\W\d_]))(?:[^\W\d_]|[%‰°$€£¥])++(?:\^-?[0-9])?+(?:/[^\W\d_]++)*+|/[^\W\d_]++)"
)
UNSURE = "?"
VALUE = "="  # in place of a name of a reading, which no constraint can have
"""Behind a unit that may be none: `2 min` is two minutes, or the least of several numbers."""
# In another case, too: `5 Mb` is no number without a unit, whatever the unit may be. Not those of
# two letters, as of them `Ha`, `Mm` and `US` are words.
_IN_ANY_CASE = re.compile(r"\w{3}|[kMGTP]B|ms|Hz|s$")
_EXACT = "|".join(map(re.escape, KNOWN))
_ANY_CASE = "|".join(re.escape(unit) for unit in KNOWN if _IN_ANY_CASE.match(unit))
_AFTER = (
    rf"(?:(?:(?i:{_ANY_CASE})|{_EXACT}|min(?=[^\S\n]*+[])\"'.;]*+[^\S\n]*+$))(?:/[^\W\d_]++)*+"
    r"|(?:[^\W\d_]++|#)?+/(?:s(?:ec)?|min|h)|1/[^\W\d_]++)(?![\w^])"
)
# A word that names what follows, and is no unit of the number before it: `0.5 h: 3`.
_NAMES = r"[^\S\n]*+(?:=(?!>)|:[^\S\n]*+(?:[^\w\s]|[0-9]|(?i:inf|nan|none|null)))"
_SPACED = (
    rf"[^\S\n]*+(?:(?P<prefix>{'|'.join(PREFIXES)})[^\S\n]++)?"
    rf"(?P<bracket>\[)?(?P<known>{_AFTER})(?(bracket)\]|(?!\(|{_NAMES}))"
)
_UNIT = rf"(?:{_SPACED}|(?P<attached>{_ATTACHED}))?+"
# What would make it another thing: an exponent, a group, a range, a ratio, a word, a file name.
_END = (
    r"(?![\w^*#⁄]|[^\S\n]++[eEdD][-+]?[0-9]++(?!\w)"
    r"|\+(?![/-])|(?!\+/?-)[.,:/+'×·\-]+[0-9]|[./'\-]+[\w#])"
)
_QUANTITY = rf"{_NUMBER}{_UNIT}{_END}"
_ERROR = rf"[^\S\n]*+(?P<open>\(?)[^\S\n]*+{_PLUS_MINUS}[^\S\n]*+{_QUANTITY}"
_CLOSE = rf"[^\S\n]*+\){_UNIT}"

_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*+"
_CLOCK = r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2}(?:[.,][0-9]++)?+)?+"
_ZONE = r"(?:[^\S\n]?(?:Z|UTC|GMT|[A-Z]{3,4}|[-+][0-9]{2}:?[0-9]{2})(?!\w))?+"
_DATE = (
    rf"[0-9]{{4}}(?P<dash>[-/.])[0-9]{{2}}(?P=dash)[0-9]{{2}}(?:[T ,]*+{_CLOCK}{_ZONE})?+(?!\w)"
    rf"|{_MONTH}[^\S\n]++[0-9]{{1,2}}(?:,?[^\S\n]++{_CLOCK}{_ZONE})?+(?:,?[^\S\n]++[12][0-9]{{3}})?+"
    rf"(?!\w|[.:]\w)|[0-9]{{1,2}}[-\s]{_MONTH}[-\s][0-9]{{4}}(?:[-T ,]*+{_CLOCK}{_ZONE})?+(?!\w)"
)
_WORD = r"[^\W\d](?:\w|[.^'\-](?=\w))*+"
_CODE = (
    r"0[xXbBoO][0-9a-fA-F][\w.]*+(?:[-+][0-9]++)?+"  # another base
    r"|[0-9]++(?:st|nd|rd|th)(?![a-z])\w*+"
    r"|(?![0-9]{1,3}(?:\.[0-9]{3})++(?![0-9.]))[0-9]++(?:\.[0-9]++){2,}+[\w:.\-]*+"  # a version
)
_QUOTED = r"(?<!\w)(?P<quote>[\"'`])(?P<content>[^\"'`\n]*+)(?P=quote)(?!\w)"
_PREFIX = (
    rf"(?<!\S)[<>≤≥]=?\s*+|{_PLUS_MINUS}\s*+|(?<![-+])[-+]{{2,}}+"
    r"|(?<=[=:])\s*+[-+]\s++|(?<=[=:]\s)[-+]\s++"
)
_FIGURE = rf"(?:{_PREFIX})?+[-+]?\.?[0-9](?:[\w%°^*×·'/⁄+#\-]|[.,:](?=[0-9]))*+"
_TOKEN = (
    rf"(?P<text>^[^\S\n]*+\[1\](?=\s)|{_DATE}|{_CODE})|{_QUOTED}"
    rf"|(?P<number>(?<![\w.]){_QUANTITY})|(?P<word>{_WORD})|(?P<figure>{_FIGURE})"
)
_USUAL = re.compile(rf"[-+]?{_DIGITS}(?:[eE][-+]?[0-9]++)?+")
_NAME = re.compile(r"((?!\s)(?:[^,;|()\[\]{}=:]|\([^()]*+\))++)[=:][^\S\n]*+$")
_ANY = re.compile(r"[0-9]|(?i:inf|nan)")
_OPENING = " \t\"'`[("
NEAR = 80  # characters before a number or its key, and behind it, that say what it is
_APART = re.compile(r"\s{2,}|\t")  # columns of a line
MOST = 200  # numbers of a line, or last lines, that are read: enough to know that there are several
_SPREAD = re.compile(rf"{_PLUS_MINUS}\s*+(?:σ|std|s\.?d\.?(?!\w)|dev)", re.IGNORECASE)
# Minus sign, hyphens, figure and en dash; an em dash may be a dash or a sign, as two hyphens may.
_DASHES = str.maketrans(dict.fromkeys("−‐﹣‒–", "-") | dict.fromkeys("—―", "--"))
_INVISIBLE = re.compile("[\u200b-\u200f\u2060\ufeff]")
_SUPERSCRIPT = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]+")


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled where it is first used: it takes longer than to start Python."""
    return re.compile(pattern)


@dataclass(frozen=True)
class Quantity:
    """A number with its unit, as it was printed.

    Args:
        value: The number, in its unit; the robust location of replicates.
        sem: Its standard error, 0 where none was printed.
        unit: Its unit, empty where none was printed.
        text: What was printed, empty where it did not come as text.
        name: What stands before it and `=` or `:`, empty if nothing does.
        start: Where it begins in its line.
        end: Where it ends in its line.
    """

    value: float
    sem: float = 0.0
    unit: str = ""
    text: str = ""
    name: str = field(default="", repr=False, compare=False)
    start: int = field(default=0, repr=False, compare=False)
    end: int = field(default=0, repr=False, compare=False)

    def __str__(self) -> str:
        """The number with its error and its unit, in six digits.

        Example:
            >>> str(Quantity(12.5, 0.4, "ms")), str(Quantity(3.0))
            ('12.5 ± 0.4 ms', '3')
        """
        error = f" ± {self.sem:g}" if self.sem else ""
        return f"{self.value:g}{error} {self.unit}".rstrip()

    def times(self, size: float) -> Quantity:
        """The same number in a unit of which it has `size` times as many."""
        return replace(self, value=scaled(self.value, size), sem=scaled(self.sem, size))

    def into(self, unit: str) -> Quantity | None:
        """The same in another unit, which is its own if it has none; None if it has no such one.

        Example:
            >>> Quantity(1.5, unit="s").into("ms").value, Quantity(1.5, unit="s").into("MB")
            (1500.0, None)
        """
        if unit == self.unit:
            return self
        size = factor(self.unit or unit, unit)
        return None if size is None else replace(self.times(size), unit=unit)

    def limit_in(self, declared: str) -> float | None:
        """The number of a limit in the unit of what it limits; None if it cannot be converted.

        Example:
            >>> Quantity(15, unit="us").limit_in("ms"), Quantity(15, unit="us").limit_in("points")
            (0.015, None)
        """
        if not self.unit:
            return self.value
        size, unit = into_declared(self.unit.removesuffix(UNSURE), declared)
        return None if size is None or unit != declared else scaled(self.value, size)


@dataclass(frozen=True)
class Missing:
    """Why there is no number.

    Args:
        reason: The reason, in one line.
        blameless: Whether it says nothing about the configuration.
        unclear: Whether numbers came, and the study file does not say which is meant, or how it is
            converted to the study's unit.
    """

    reason: str
    blameless: bool = False
    unclear: bool = False

    def of(self, what: str) -> Missing:
        """The same, of what the number would be."""
        return replace(self, reason=f"{what}: {self.reason}")


def unclear(reason: str) -> Missing:
    """Why a number that was printed cannot be told from others, and what decides it."""
    return Missing(reason, blameless=True, unclear=True)


@dataclass(frozen=True)
class Figure:
    """Text with digits that has several readings, or none.

    Args:
        text: What was printed.
        start: Where it begins in its line.
        end: Where it ends in its line.
    """

    text: str
    start: int = 0
    end: int = 0
    name: ClassVar[str] = ""
    """It has no number to name."""


def plain(text: str) -> str:
    """The text with one character for each that means the same, and without terminal codes.

    Minus signs, micro signs, spaces, full-width characters and superscripts have many forms. A
    carriage return ends a line: what follows it overwrites a progress bar.

    Example:
        >>> plain("\N{MINUS SIGN}1.5 \N{MULTIPLICATION SIGN} 10⁻³ \N{MICRO SIGN}s")
        '-1.5 × 10^-3 μs'
    """
    text = without_escapes(text)
    if not text.isascii():
        text = _SUPERSCRIPT.sub(lambda found: f"^{found[0]}", text)
        text = unicodedata.normalize("NFKC", _INVISIBLE.sub("", text)).translate(_DASHES)
    return "\n".join(text.splitlines())


def quantities(line: str, most: int = MOST) -> list[Quantity | Figure]:
    """The quantities of a line, and its figures with several readings, in order.

    Args:
        line: A line of `plain` text.
        most: How many to look for.

    Example:
        >>> [one.text for one in quantities("p95: 12.5 ms ± 0.4 ms (7 runs of 12:30)")]
        ['12.5 ms ± 0.4 ms', '7', '12:30']
    """
    found: list[Quantity | Figure] = []
    if not _ANY.search(line):
        return found
    position, named = 0, 0
    while len(found) < most and (match := _compiled(_TOKEN).search(line, position)):
        one, position = _read(line, match, named)
        found += [] if one is None else [one]
        named = one.end if one is not None and one.name else named
    if not is_spread(line):
        return found
    return [replace(one, sem=0.0) if isinstance(one, Quantity) else one for one in found]


def is_spread(line: str) -> bool:
    """Whether a line says that what follows `±` is a standard deviation, not a standard error.

    Example:
        >>> is_spread("12.5 ms ± 0.4 ms per loop (mean ± std. dev. of 7 runs)")
        True
    """
    return _SPREAD.search(line) is not None


def first_quantity(line: str) -> Quantity | Figure | None:
    """The quantity or figure that a text begins with, after quotes and brackets, if any."""
    match = _compiled(_TOKEN).match(line, len(line) - len(line.lstrip(_OPENING)))
    return None if match is None else _read(line, match)[0]


def sole(text: str) -> Quantity | None:
    """The quantity that a text is, in any form of its characters; None if it is anything else.

    Example:
        >>> sole("18.3ms").value, sole("18,3"), sole("about 18")
        (18.3, None, None)
    """
    text = plain(text)
    found = quantities(text, 2)
    if len(found) != 1 or not isinstance(one := found[0], Quantity):
        return None
    return one if one.text == text.strip() else None


def plain_number(text: str) -> float | None:
    """The number that a text is, without a unit; None if it is anything else.

    Stricter than `float`, which takes `1_0` for 10 and digits of other scripts.

    Example:
        >>> plain_number("1e3"), plain_number("1_0"), plain_number("3 ms")
        (1000.0, None, None)
    """
    if _USUAL.fullmatch(text):
        return float(text)
    one = sole(text)
    return None if one is None or one.unit or one.sem else one.value


def into_declared(unit: str, declared: str) -> tuple[float | None, str]:
    """Factor of a number in a unit, None if it cannot be converted, and its unit then.

    A number without a unit is in the declared one.
    """
    if unit in ("", declared, f"{declared}{UNSURE}"):
        return 1.0, declared
    converted = factor(uncounted(unit), declared)
    if converted is not None or (is_known(declared) and scale(declared) != ("/second", 1.0)):
        return converted, declared
    dimension, size = scale(unit)
    if dimension:  # of what has another size, it is no other name
        is_name = size == 1.0 and (dimension in COUNTS or not is_known(unit))
        return (1.0, unit) if is_name else (None, declared)
    # Thousands of them; but `300 K` of kelvin are none.
    is_abbreviation = unit.isupper() and declared[:1].casefold() == unit.casefold()
    return None if is_abbreviation else size, declared


def _read(line: str, match: re.Match[str], named: int = 0) -> tuple[Quantity | Figure | None, int]:
    """Quantity or figure of a token, None for a word, and where the next one may begin.

    Args:
        line: The line.
        match: The token.
        named: Where the last quantity with a name ends: its text is in no other name.
    """
    if match["content"] is not None:
        inner = sole(match["content"])
        return inner and _at(inner, match.start("content"), line, named), match.end()
    if match["number"]:
        one = _with_error(line, match, named)
        return one, one.end
    if match["figure"]:
        return Figure(match["figure"].strip(), match.start(), match.end()), match.end()
    return None, match.end()


def _with_error(line: str, match: re.Match[str], named: int) -> Quantity | Figure:
    """A quantity with the standard error behind it; a figure if that is in another unit."""
    start, end = match.start(), match.end()
    value, unit, sem = _value(match), _unit(match), _of_last_digits(match)
    if error := _compiled(_ERROR).match(line, end):
        end, printed, its_unit = error.end(), _value(error), _unit(error)
        if (error["open"] or line[:start].endswith("(")) and (
            closed := _compiled(_CLOSE).match(line, end)
        ):
            end, its_unit = closed.end(), its_unit or _unit(closed)
        unit = unit or its_unit
        same = Quantity(printed, unit=its_unit).into(unit)
        if its_unit == "%" != unit:
            same = Quantity(printed * abs(value) / 100.0)  # relative
        if same is None:
            return Figure(line[start:end].strip(), start, end)
        sem = same.value
    one = Quantity(value, sem, unit, line[start:end].strip(), "", start, end)
    return _at(one, start, line, named)


def _at(one: Quantity, start: int, line: str, named: int) -> Quantity:
    before = line[max(named, start - NEAR) : start].rstrip("\"'` [(")
    name = _NAME.search(before) if before.endswith(("=", ":")) else None
    label = "" if name is None else _APART.split(name[1].strip())[-1].strip(" \"'`-.")
    return replace(one, name=label, start=start, end=start + one.end - one.start)


def _value(match: re.Match[str]) -> float:
    if match["special"]:
        return float(match["sign"] + match["special"])
    exponent = match["exponent"] or match["power"] or "0"
    return float(f"{match['sign']}{match['digits']}e{exponent}")


def _of_last_digits(match: re.Match[str]) -> float:
    """The standard error in `12.5(4)`, of the last digits; 0 where there is none."""
    if not match["last"]:
        return 0.0
    exponent = int(match["exponent"] or match["power"] or "0")
    decimals = len(match["digits"].partition(".")[2])
    return float(f"{match['last']}e{exponent - decimals}")


def _unit(match: re.Match[str]) -> str:
    known, prefix = match["known"] or "", match["prefix"] or ""
    if prefix and not is_known(prefix + known):  # as in `1.2 M requests/s`, of which the size is
        return prefix
    if known == "min" and match.string[match.start("known") - 1].isspace():
        return f"{known}{UNSURE}"
    return prefix + known or match["attached"] or ""
