"""Conditions under which a parameter is active, such as `journal == 'WAL' and threads > 1`."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

from surefoot._internal import checks
from surefoot.parameters.grammar import Unreadable, Words, read
from surefoot.types import InvalidInput

EXPECTED = (
    "a condition such as `journal == 'WAL'` (texts in quotes), `threads > 1` or "
    "`mode in ['a', 'b'] and size >= 10`"
)
SIGNS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
}
_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
ORDERED = ("<", "<=", ">", ">=")


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
        try:
            return cls(text, _comparisons(read(text, ("and", "in"))))
        except Unreadable as error:
            where = f" at {checks.shown(str(error))}" if str(error) else ""
            raise InvalidInput(
                f"got {checks.shown(text)}, which cannot be read{where}; expected {EXPECTED}"
            ) from None

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


def _comparisons(words: Words) -> tuple[Comparison, ...]:
    tree = words.tree
    joined = isinstance(tree, ast.BoolOp) and isinstance(tree.op, ast.And)
    parts = tree.values if joined else [tree]  # type: ignore[attr-defined]
    return tuple(_comparison(words, part) for part in parts)


def _comparison(words: Words, node: ast.expr) -> Comparison:
    if not isinstance(node, ast.Compare) or len(node.ops) > 1:
        raise Unreadable(words.written(node))
    name, (right,) = words.name_of(node.left), node.comparators
    sign = SIGNS.get(type(node.ops[0]))
    if name is None or sign is None:
        raise Unreadable(words.written(node))
    if sign != "in":
        return Comparison(name, sign, (words.constant_of(right),))
    if not isinstance(right, ast.List) or not right.elts:
        raise Unreadable(words.written(right))
    return Comparison(name, sign, tuple(words.constant_of(one) for one in right.elts))
