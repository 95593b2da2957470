"""Conditions under which a parameter is active, such as `journal == 'WAL' and threads > 1`."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from surefoot._internal import checks
from surefoot.types import InvalidInput

EXPECTED = (
    "a condition such as `journal == 'WAL'` (texts in quotes), `threads > 1` or "
    "`mode in ['a', 'b'] and size >= 10`"
)
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<name>[A-Za-z_][A-Za-z0-9_-]*)
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<text>'[^']*'|"[^"]*")
    | (?P<sign>==|!=|<=|>=|<|>|\[|\]|,)
    )""",
    re.VERBOSE,
)
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ORDERED = ("<", "<=", ">", ">=")
_END = ("", "")


@dataclass(frozen=True)
class Comparison:
    """A comparison of a parameter with a constant.

    Args:
        name: The parameter.
        operator: `==`, `!=`, `<`, `<=`, `>`, `>=` or `in`.
        values: What it is compared with: one value, or several after `in`.
    """

    name: str
    operator: str
    values: tuple[Any, ...]

    def holds(self, value: Any) -> Any:
        """Whether it holds.

        Args:
            value: A value of the parameter, or a tensor of numbers.

        Returns:
            The truth, or a tensor of truths.
        """
        if self.operator == "in":
            return reduce(operator.or_, [value == one for one in self.values])
        return _OPERATORS[self.operator](value, self.values[0])


@dataclass(frozen=True)
class Condition:
    """Comparisons that must all hold.

    Args:
        text: How it was written.
        comparisons: The comparisons.
    """

    text: str
    comparisons: tuple[Comparison, ...]

    @classmethod
    def parse(cls, text: str) -> Condition:
        """Parse a condition.

        Args:
            text: Comparisons of parameters with numbers, quoted texts, `true` or `false`, joined by
                `and`.

        Returns:
            The condition.

        Raises:
            InvalidInput: If the text is no such condition.

        Example:
            >>> condition = Condition.parse("journal == 'WAL' and threads in [1, 2]")
            >>> condition.holds({"journal": "WAL", "threads": 2})
            True
        """
        if not isinstance(text, str):
            raise InvalidInput(f"got {checks.shown(text)}, expected {EXPECTED}")
        return cls(text, _Parser(text).comparisons())

    @property
    def names(self) -> tuple[str, ...]:
        """The parameters that it compares."""
        return tuple(dict.fromkeys(one.name for one in self.comparisons))

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether all comparisons hold; one with a parameter that has no value does not.

        Args:
            values: Values by parameter name.

        Returns:
            The truth.
        """
        return all(
            one.name in values and bool(one.holds(values[one.name])) for one in self.comparisons
        )


class _Parser:
    """Recursive descent: comparison {"and" comparison}."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._tokens: list[tuple[str, str]] = []
        while text[self._at :].strip():
            found = _TOKEN.match(text, self._at)
            if found is None:
                raise self._wrong(text[self._at :].strip()[:1])
            self._at = found.end()
            self._tokens.append((str(found.lastgroup), found.group(str(found.lastgroup))))
        self._tokens.reverse()

    def comparisons(self) -> tuple[Comparison, ...]:
        found = [self._comparison()]
        while self._tokens:
            self._take("name", "and")
            found.append(self._comparison())
        return tuple(found)

    def _comparison(self) -> Comparison:
        name = self._take("name")
        kind, sign = self._next()
        if (kind, sign) == ("name", "in"):
            return Comparison(name, "in", self._list())
        if sign not in _OPERATORS:
            raise self._wrong(sign)
        return Comparison(name, sign, (self._constant(),))

    def _list(self) -> tuple[Any, ...]:
        self._take("sign", "[")
        values = [self._constant()]
        while (following := self._next()) == ("sign", ","):
            values.append(self._constant())
        if following != ("sign", "]"):
            raise self._wrong(following[1])
        return tuple(values)

    def _constant(self) -> Any:
        kind, token = self._next()
        if kind == "text":
            return token[1:-1]
        if kind == "number":
            return int(token) if re.fullmatch(r"[+-]?\d{1,300}", token) else float(token)
        if kind == "name" and token.lower() in ("true", "false"):
            return token.lower() == "true"
        raise self._wrong(token)

    def _take(self, kind: str, token: str | None = None) -> str:
        found = self._next()
        if found[0] != kind or (token is not None and found[1] != token):
            raise self._wrong(found[1])
        return found[1]

    def _next(self) -> tuple[str, str]:
        return self._tokens.pop() if self._tokens else _END

    def _wrong(self, token: str) -> InvalidInput:
        where = checks.shown(token) if token else "its end"
        return InvalidInput(
            f"got {checks.shown(self._text)}, which cannot be read at {where}; expected {EXPECTED}"
        )
