"""JSON documents in an output, and the numbers in them by their paths."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

from surefoot.tune.definition.section import ValueName, wrong_value_name
from surefoot.tune.measuring.quantity import Quantity, plain, sole, unclear

Steps = tuple[str | int, ...]

_STRING = r"\"(?:[^\"\\\n]|\\(?:[\"\\/bfnrt]|u[0-9a-fA-F]{4}))*+\""
_BEGIN = re.compile(rf"(\[\s*+)?+\{{(?=\s*+{_STRING}\s*+:)|\[(?=\s*+\[)")
_QUOTED = re.compile(rf"\.?\[(?:({_STRING})|'([^']*+)')\]")
_POSITION = re.compile(r"(?:\[(-?[0-9]+)\]|\.?(-?[0-9]+))(?=[.\[]|$)")


@dataclass(frozen=True)
class Document:
    """A JSON document in a text.

    Args:
        value: What it is; why it cannot be read if it is none.
        begin: Where it begins in the text.
    """

    value: Any
    begin: int

    def find(self, path: str) -> tuple[Steps, Any] | None:
        """Keys and positions of a path, and the value there; None if there is none.

        A key may have dots; of several that a path may begin with, the longest is tried first.

        Example:
            >>> Document({"p": {"99.0": [7, 8]}}, 0).find("p.99.0[1]")
            (('p', '99.0', 1), 8)
        """
        path = plain(path)
        left: list[tuple[Any, str, Steps]] = [(self.value, path.removeprefix("$"), ())]
        left += [(self.value, path, ())] * path.startswith("$")
        while left:
            value, rest, steps = left.pop()
            if not rest:
                return steps, value
            found = sorted(_steps(value, rest), key=lambda one: -len(one[1]))
            left += [(value[step], further, (*steps, step)) for step, further in found]
        return None

    def numbers(self) -> Iterator[tuple[Steps, Quantity]]:
        """The numbers in it in their order, each with its keys and positions."""
        left: list[tuple[Steps, Any]] = [((), self.value)]
        while left:
            steps, value = left.pop()
            if isinstance(value, dict):
                left += [((*steps, name), one) for name, one in reversed(value.items())]
            elif isinstance(value, list):
                left += [((*steps, n), value[n]) for n in reversed(range(len(value)))]
            elif (one := json_number(value)) is not None:
                yield steps, one

    def path(self, steps: Steps) -> str:
        """The path by which `find` finds these keys and positions; empty if a file can have none.

        Example:
            >>> Document({"p": {"99.0": 7}, "a.b": 1, "a": {"b": 2}}, 0).path(("a", "b"))
            "['a']['b']"
        """
        for quoted in ("", ".[]'\"", None):
            text = _joined(steps, quoted)
            if wrong_value_name(text) or ValueName(text).pattern or ValueName(text).column:
                continue
            if (found := self.find(text)) and found[0] == steps:
                return text
        return ""


@dataclass(frozen=True)
class Output:
    """An output, of which the JSON documents are known.

    Args:
        printed: The output as `plain` text.
        text: The same, with spaces in place of the documents.
        documents: The documents in their order.
    """

    printed: str
    text: str
    documents: tuple[Document, ...] = ()

    @classmethod
    def of(cls, text: str) -> Self:
        """Find the documents, each of which is one wherever it begins in its line.

        What begins as a document and is none, such as the beginning of one, is not read as text:
        the numbers in it cannot be told from each other.
        """
        printed = plain(text)
        documents, kept, position = [], [], 0
        for found in _BEGIN.finditer(printed):
            begin, is_named = found.start(), found[0].endswith("{")
            if begin < position or (read := _decoded(printed, begin, is_named)) is None:
                continue
            documents.append(Document(read[0], begin))
            kept += [printed[position:begin], " " * (read[1] - begin)]
            position = read[1]
        return cls(printed, "".join([*kept, printed[position:]]), tuple(documents))

    def lines(self) -> Iterator[tuple[str, list[Document]]]:
        """The lines of the text, the last one first, each with the documents that begin in it."""
        left, end = list(self.documents), len(self.text)
        while end >= 0:
            begin = self.text.rfind("\n", 0, end) + 1
            inside: list[Document] = []
            while left and left[-1].begin >= begin:
                inside.insert(0, left.pop())
            yield self.text[begin:end], inside
            end = begin - 1


def json_number(value: Any) -> Quantity | None:
    """The quantity that a JSON value is, None if it is none."""
    if isinstance(value, str):
        return sole(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return Quantity(float(value), text=str(value))
    except OverflowError:
        return Quantity(math.inf, text=str(value))


def _decoded(text: str, begin: int, is_named: bool) -> tuple[Any, int] | None:
    """The JSON value at a place and its end; why there is none, where it begins with a name."""
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, begin)
    except (ValueError, RecursionError) as error:
        if not is_named:
            return None
        at, why = getattr(error, "pos", len(text)), getattr(error, "msg", "nested too deep")
        line_end = text.find("\n", begin)
        inside = begin + len(text[begin:at].rstrip())
        near = text[max(begin, at - 20) : at + 20]
        missing = unclear(f"a JSON document on standard output cannot be read: {why} near {near!r}")
        return missing, line_end if inside <= line_end else len(text)


def _steps(value: Any, rest: str) -> Iterator[tuple[Any, str]]:
    """Keys or positions of a value that a path begins with, and the rest of the path."""
    if isinstance(value, list) and (match := _POSITION.match(rest)):
        index = int(match[1] or match[2])
        if -len(value) <= index < len(value):
            yield index, rest[match.end() :]
    if not isinstance(value, dict):
        return
    if quoted := _QUOTED.match(rest):
        key = json.loads(quoted[1]) if quoted[1] else quoted[2]
        same = [key] if key in value else [one for one in value if plain(one) == key]
        yield from ((one, rest[quoted.end() :]) for one in same)
    bare = rest.removeprefix(".")
    for key in value:
        shown = plain(key)
        if bare.startswith(shown) and bare[len(shown) : len(shown) + 1] in ("", ".", "["):
            yield key, bare[len(shown) :]


def _joined(steps: Steps, special: str | None) -> str:
    """A path, with those keys in quotes that have a special character; with all if it is None."""
    text = ""
    for one in steps:
        if isinstance(one, int):
            text += f"[{one}]"
        elif special is None or set(special) & set(one):
            text += f"[{_quoted(one)}]"
        else:
            text += f".{one}" if text else one
    return text


def _quoted(key: str) -> str:
    text = json.dumps(key, ensure_ascii=not key.isprintable())
    return text if set("\"'\\") & set(text[1:-1]) else f"'{key}'"
