"""A command line with `{parameter}` placeholders, turned into arguments without a shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from surefoot.types import InvalidInput


class InvalidCommand(InvalidInput):
    """A command line that cannot be used; `key` is the key of the study file to correct."""

    def __init__(self, message: str, key: str = "objective.command") -> None:
        super().__init__(message)
        self.key = key


@dataclass(frozen=True)
class Piece:
    """Literal text, then the value of a parameter in a format such as `.3f`."""

    text: str
    parameter: str | None
    format: str

    def fill(self, values: Mapping[str, Any]) -> str:
        if self.parameter is None:
            return self.text
        value = values[self.parameter]
        return self.text + (format(value, self.format) if self.format else str(value))


@dataclass(frozen=True)
class CommandTemplate:
    """A command line, split into arguments before any value is put in.

    So a value is always one argument, or part of one, whatever spaces, quotes, semicolons or
    dollar signs it contains.
    """

    arguments: tuple[tuple[Piece, ...], ...]

    @classmethod
    def parse(cls, line: str) -> CommandTemplate:
        """Split by the rules of a POSIX shell; `{{` and `}}` stand for braces.

        Raises `InvalidCommand`.
        """
        try:
            words = shlex.split(line)
        except ValueError as error:
            raise InvalidCommand(f"got {line!r}, expected closed quotes ({error})") from None
        if not words:
            raise InvalidCommand("got an empty command, expected a program and its arguments")
        return cls(tuple(_pieces(word) for word in words))

    @property
    def program(self) -> str | None:
        """The program to run, None if a parameter decides it."""
        first = self.arguments[0]
        if any(piece.parameter is not None for piece in first):
            return None
        return "".join(piece.text for piece in first)

    def check(
        self,
        parameters: Mapping[str, Sequence[Any]],
        environment: Mapping[str, Sequence[Any]] | None = None,
        *,
        observed: bool = False,
    ) -> None:
        """Check that the placeholders are the parameters and variables, and that formats fit.

        Args:
            parameters: Example values of each parameter.
            environment: Example values of each variable of the environment.
            observed: Whether the environment is observed; then it must not occur.

        Raises:
            InvalidCommand: If one is unknown or missing, or a format does not fit its values.
        """
        variables = environment or {}
        pieces = [p for word in self.arguments for p in word if p.parameter is not None]
        used = {str(piece.parameter) for piece in pieces}
        if observed:
            for name in sorted(used & set(variables)):
                raise InvalidCommand(
                    f"{{{name}}} is observed; expected a line {name}=NUMBER in the output, or "
                    'environment.control = "chosen"'
                )
            variables = {}
        examples = {**parameters, **variables}
        for name in sorted(used - set(examples)):
            kind = "a parameter or of the environment" if variables else "a parameter"
            raise InvalidCommand(
                f"{{{name}}} is not {kind}, expected one of {', '.join(examples)} "
                "(write {{ and }} for plain braces)"
            )
        for name in examples:
            if name not in used:
                otherwise = "no such parameter"
                if name in variables:
                    otherwise = 'environment.control = "observed"'
                raise InvalidCommand(
                    f"not used in objective.command; expected {{{name}}} in it, or {otherwise}",
                    key=f"{'environment' if name in variables else 'parameters'}.{name}",
                )
        for piece in pieces:
            for value in examples[str(piece.parameter)]:
                _check_format(piece, value)

    def fill(self, values: Mapping[str, Any]) -> list[str]:
        """The arguments for these values of the parameters."""
        return ["".join(piece.fill(values) for piece in word) for word in self.arguments]


def _pieces(word: str) -> tuple[Piece, ...]:
    pieces = []
    try:
        for text, field, spec, conversion in Formatter().parse(word):
            if field == "" or conversion is not None or (spec and "{" in spec):
                raise ValueError("a placeholder is {name} or {name:format}")
            pieces.append(Piece(text, field, spec or ""))
    except ValueError as error:
        raise InvalidCommand(
            f"got {word!r}: {error}; write {{{{ and }}}} for plain braces"
        ) from None
    return tuple(pieces)


def _check_format(piece: Piece, value: object) -> None:
    try:
        text = piece.fill({str(piece.parameter): value})
    except (ValueError, TypeError) as error:
        raise InvalidCommand(
            f"the format {piece.format!r} does not fit {value!r}, a value of {piece.parameter} "
            f"({error})"
        ) from None
    if "\0" in text:
        raise InvalidCommand(f"got {text!r}, with a null character, which no command can take")
