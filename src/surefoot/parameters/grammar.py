"""Python expressions over named parameters, read as data: nothing of a text is ever evaluated."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

from surefoot._internal.numbers import TINY

_TOKEN = re.compile(
    r"""(?P<text>'[^']*'|"[^"]*")"""
    r"""|(?P<number>\d[\w.]*)"""
    r"""|(?P<word>[^\W\d][\w-]*)"""
    r"""|(?P<space>\s+)"""
    r"""|(?P<other>.)"""
)
_NUMBER = re.compile(r"[\d_]+\.?[\d_]*([eE]\d*)?", re.ASCII)
_MOST = 10_000  # characters


class Unreadable(ValueError):
    """A text that is no expression, or a part of one that is not allowed."""


@dataclass(frozen=True)
class Words:
    """Names and quoted texts of an expression, behind the identifiers that stand for them.

    Args:
        tree: The expression, in which each of them is a placeholder.
        names: Names by placeholder.
        texts: Quoted texts by placeholder.
    """

    tree: ast.expr
    names: dict[str, str]
    texts: dict[str, str]

    def name_of(self, node: ast.expr) -> str | None:
        """The name that a node is, None if it is none."""
        return self.names.get(node.id) if isinstance(node, ast.Name) else None

    def constant_of(self, node: ast.expr) -> Any:
        """The number, text or truth value that a node is; `Unreadable` if it is none."""
        if isinstance(node, ast.Name) and node.id in self.texts:
            return self.texts[node.id]
        if (name := self.name_of(node)) is not None and name.lower() in ("true", "false"):
            return name.lower() == "true"
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub | ast.UAdd):
            sign, node = -1 if isinstance(node.op, ast.USub) else 1, node.operand
        value: Any = node.value if isinstance(node, ast.Constant) else None
        if type(value) not in (int, float):
            raise Unreadable(self.written(node))
        return sign * (value if abs(value) < 1.0 / TINY else math.inf)

    def written(self, node: ast.AST) -> str:
        """A node as it may have been written."""
        text = ast.unparse(node)
        known = self.names | {key: repr(value) for key, value in self.texts.items()}
        return re.sub(r"_[nt]\d+_", lambda match: known.get(match.group(), match.group()), text)


def read(text: str, reserved: Collection[str], names: Collection[str] | None = None) -> Words:
    """Read an expression.

    Names may have hyphens, and be words that Python reserves.

    Args:
        text: The expression.
        reserved: Words that are operators, such as `and`.
        names: All names there are, by which `a-b` is a name or a difference; None if it is always
            a name.

    Returns:
        The expression.

    Raises:
        Unreadable: If the text is none.
    """
    if len(text) > _MOST:
        raise Unreadable("more than 10,000 characters")
    found: dict[str, dict[str, str]] = {"n": {}, "t": {}}

    def placeholder(kind: str, value: str) -> str:
        known = found[kind]
        key = f"_{kind}{len(known)}_"
        known[key] = value
        return f" {key} "

    parts = []
    for kind, token in _tokens(text, names):
        if kind == "text":
            parts.append(placeholder("t", token[1:-1]))
        elif kind == "word" and token not in reserved:
            parts.append(placeholder("n", token))
        elif token in ("#", "\\", "'", '"') or (kind == "number" and not _NUMBER.fullmatch(token)):
            raise Unreadable(token)
        else:
            parts.append(" " if kind == "space" else token)
    try:
        tree = ast.parse("".join(parts).strip(), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable("") from error
    return Words(tree, found["n"], found["t"])


def _tokens(text: str, names: Collection[str] | None) -> Iterator[tuple[str, str]]:
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        kind = "other" if match is None else str(match.lastgroup)
        token = text[at] if match is None else match.group()
        if kind == "word" and names is not None:
            token = _longest(token, names)
        yield kind, token
        at += len(token)


def _longest(token: str, names: Collection[str]) -> str:
    """The longest beginning of a word with hyphens that is a name, else what precedes them."""
    parts = token.split("-")
    for number in range(len(parts), 0, -1):
        if "-".join(parts[:number]) in names:
            return "-".join(parts[:number])
    return parts[0]
