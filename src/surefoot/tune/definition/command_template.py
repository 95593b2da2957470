"""A command line with `{parameter}` placeholders, turned into arguments without a shell."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Formatter
from typing import Any

from surefoot.tune.plain_text import shown
from surefoot.types import InvalidInput

MAX_ARGUMENT = 128 * 1024 - 1  # bytes of one argument on Linux
_SHELL = {"|", "||", "&", "&&", ";", ">", ">>", "<", "2>", "2>&1", "&>"}
_BUILT_IN = {"cd", "export", "source", ".", "ulimit", "umask", "alias", "eval", "set", "if", "for"}
# Variables, other commands' output, wildcards and home folders.
_EXPANDED = re.compile(r"\$[\w({]|`|^~[\w.-]*(?:/|$)|\*")
_QUOTED = re.compile(r"'[^']*'|\"[^\"$`]*\"|\\.")
FORMAT_DIGITS = 5  # of a width or a precision


class InvalidCommand(InvalidInput):
    """A command line that cannot be used; `key` is the key of the study file to correct."""

    def __init__(self, message: str, key: str = "objective.command") -> None:
        super().__init__(message)
        self.key = key


def shell_notes(lines: Mapping[str, str | None]) -> list[str]:
    """The warnings about the commands of a study file.

    Args:
        lines: The command lines by key of the study file, None where there is none.
    """
    notes = (shell_note(line, key) for key, line in lines.items() if line is not None)
    return [note for note in notes if note]


def shell_note(line: str, key: str = "objective.command") -> str:
    """A warning if a command has what only a shell understands, outside of quotes; else empty.

    Args:
        line: The command line.
        key: Its key in the study file.
    """
    words = shlex.shlex(line, posix=False)
    words.whitespace_split, words.commenters = True, ""
    try:
        found = next((word for word in words if _is_of_shell(word)), "")
    except ValueError:
        return ""
    if not found:
        return ""
    return (
        f"{key} has `{found}`, which is passed as an argument, since no shell runs it; put the "
        "line in a script and run that, or put the argument in quotes"
    )


def _is_of_shell(word: str) -> bool:
    """Whether a shell would make something else of a word, as it is written."""
    plain = _QUOTED.sub("", word)
    return (
        plain in _SHELL or (plain[:-1] != "" and plain[-1] == ";") or bool(_EXPANDED.search(plain))
    )


def _not_run(program: str, found: str) -> str:
    """Why what is written as a program cannot be run, in words; empty where that is not known."""
    if os.path.isfile(found):
        return ": the file is not executable; `chmod +x` makes it so, or name its interpreter"
    if program in _BUILT_IN or "=" in program or _EXPANDED.search(program):
        return ", and no shell runs the command; put the line in a script and run that"
    return ""


def _interpreter(path: str) -> str:
    """The interpreter that the first line of a script names; of any other program itself."""
    try:
        with open(path, "rb") as file:
            first = file.readline(256).replace(b"\t", b" ")
    except OSError:  # which may be run and not read
        return path
    named = first[2:].strip(b" \n").partition(b" ")[0]
    return os.fsdecode(named) if first[:2] == b"#!" and named[:1] == b"/" else path


@dataclass(frozen=True)
class Piece:
    """Literal text, then the value of a parameter in a format such as `.3f`."""

    text: str
    parameter: str | None
    format: str

    def fill(self, values: Mapping[str, Any], inactive: str = "") -> str:
        """The text for these values, where a parameter without one has the text `inactive`."""
        if self.parameter is None:
            return self.text
        if self.parameter not in values:
            return self.text + inactive
        value = values[self.parameter]
        return self.text + (format(value, self.format) if self.format else str(value))


@dataclass(frozen=True)
class CommandTemplate:
    """A command line, split into arguments before any value is put in.

    So a value is always one argument, or part of one, whatever spaces, quotes, semicolons or
    dollar signs it contains. `key` is the command's key in the study file.
    """

    arguments: tuple[tuple[Piece, ...], ...]
    key: str = "objective.command"

    @classmethod
    def parse(cls, line: str, key: str = "objective.command") -> CommandTemplate:
        """Split by the rules of a POSIX shell; `{{` and `}}` stand for braces.

        Raises `InvalidCommand`.
        """
        try:
            words = shlex.split(line)
        except ValueError as error:
            message = f"got {shown(line)}, expected closed quotes ({error})"
            raise InvalidCommand(message, key) from None
        if not words:
            raise InvalidCommand("got an empty command, expected a program and its arguments", key)
        return cls(tuple(_pieces(word, key) for word in words), key)

    @property
    def program(self) -> str | None:
        """The program to run, None if a parameter decides it."""
        first = self.arguments[0]
        if any(piece.parameter is not None for piece in first):
            return None
        return "".join(piece.text for piece in first)

    def check_program(self, folder: Path) -> None:
        """Raise `InvalidCommand` unless its program exists; it runs in `folder`."""
        program = self.program
        if program is None:
            return
        # As in a shell, a name with a slash is a path, relative to the folder the command runs in.
        found = str(folder / program) if "/" in program else program
        if (path := shutil.which(found)) is None:
            where = f"in {folder}" if "/" in program else "on PATH"
            why = _not_run(program, str(folder / program))
            raise InvalidCommand(f"{shown(program)} is not a program {where}{why}", self.key)
        if not os.path.exists(named := _interpreter(path)):
            line = "; save it with Unix line ends" * named.endswith("\r")
            raise InvalidCommand(
                f"the first line of {shown(program)} names the interpreter {shown(named)}, which "
                f"is not there{line}",
                self.key,
            )

    def check_fixed(self) -> None:
        """Raise `InvalidCommand` if it has placeholders or is too long: it runs once in a run."""
        for piece in (piece for word in self.arguments for piece in word):
            if piece.parameter is not None:
                raise InvalidCommand(
                    f"{{{piece.parameter}}} has no value, since this command runs once in a run; "
                    "expected no placeholder (write {{ and }} for plain braces)",
                    self.key,
                )
        self._check_lengths({})

    def check(
        self,
        parameters: Mapping[str, Sequence[Any]],
        environment: Mapping[str, Sequence[Any]] | None = None,
        *,
        observed: bool = False,
        given: Mapping[str, Sequence[Any]] | None = None,
        home: str = "environment",
    ) -> None:
        """Check that the placeholders are the parameters and variables, and that formats fit.

        Args:
            parameters: Example values of each parameter.
            environment: Example values of each variable of the environment.
            observed: Whether the environment is observed; then it must not occur.
            given: Example values of each given variable, which may occur.
            home: Table of the study file that has the variables.

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
        required = {**parameters, **variables}
        examples = {**required, **(given or {})}
        for name in sorted(used - set(examples)):
            kind = "a parameter or of the environment" if variables or given else "a parameter"
            raise InvalidCommand(
                f"{{{name}}} is not {kind}, expected one of {', '.join(examples)} "
                "(write {{ and }} for plain braces)"
            )
        for name in required:
            if name not in used:
                otherwise = f"no table [{home}]" if name in variables else "no such parameter"
                if name in variables and home == "environment":
                    otherwise = 'environment.control = "observed"'
                raise InvalidCommand(
                    f"not used in objective.command; expected {{{name}}} in it, or {otherwise}",
                    key=f"{home if name in variables else 'parameters'}.{name}",
                )
        for piece in pieces:
            for value in examples[str(piece.parameter)]:
                _check_format(piece, value)
        self._check_lengths(examples)

    def fill(
        self, values: Mapping[str, Any], inactive: Mapping[str, str | None] | None = None
    ) -> list[str]:
        """The arguments for a configuration.

        The placeholder of an inactive parameter becomes the text for it. Without one it becomes
        empty, and an option such as `--sync={sync}` is left out.

        Args:
            values: Values of the active parameters and of the variables.
            inactive: Texts of parameters that may be inactive, None for those that have none.

        Returns:
            The arguments.
        """
        texts = inactive or {}
        filled = []
        for word in self.arguments:
            names = [piece.parameter for piece in word if piece.parameter is not None]
            absent = [name for name in names if name not in values]
            silent = all(texts.get(name) is None for name in absent)
            if absent and absent == names and silent and word[0].text.startswith("-"):
                continue
            filled.append(
                "".join(one.fill(values, texts.get(one.parameter or "") or "") for one in word)
            )
        return filled

    def _check_lengths(self, examples: Mapping[str, Sequence[Any]]) -> None:
        """Check that arguments are not longer than the system allows."""
        for word in self.arguments:
            longest = sum(_longest(piece, examples) for piece in word)
            if longest > MAX_ARGUMENT:
                raise InvalidCommand(
                    f"got an argument of {longest:,} bytes, expected at most {MAX_ARGUMENT:,}, "
                    "the system's limit; put long values in files and pass their names",
                    self.key,
                )


def _longest(piece: Piece, examples: Mapping[str, Sequence[Any]]) -> int:
    """The most bytes that a piece takes in an argument."""
    if piece.parameter is None:
        return _bytes(piece.text)
    return max(_bytes(piece.fill({piece.parameter: one})) for one in examples[piece.parameter])


def _bytes(text: str) -> int:
    """The bytes of a text in an argument."""
    try:
        return len(os.fsencode(text))
    except UnicodeEncodeError:
        raise InvalidCommand(
            f"got {ascii(text)[:80]}, which this locale's encoding, {sys.getfilesystemencoding()}, "
            "does not have; run with LC_ALL=C.UTF-8"
        ) from None


def _pieces(word: str, key: str) -> tuple[Piece, ...]:
    pieces = []
    try:
        for text, field, spec, conversion in Formatter().parse(word):
            if field == "" or conversion is not None or (spec and "{" in spec):
                raise ValueError("a placeholder is {name} or {name:format}")
            if max(map(len, re.findall(r"\d+", spec or "")), default=0) > FORMAT_DIGITS:
                raise ValueError(f"a format has numbers of at most {FORMAT_DIGITS} digits")
            pieces.append(Piece(text, field, spec or ""))
    except ValueError as error:
        raise InvalidCommand(
            f"got {shown(word)}: {error}; write {{{{ and }}}} for plain braces", key
        ) from None
    return tuple(pieces)


def _check_format(piece: Piece, value: object) -> None:
    try:
        text = piece.fill({str(piece.parameter): value})
    except (ValueError, TypeError, OverflowError) as error:
        raise InvalidCommand(
            f"the format {piece.format!r} does not fit {shown(value)}, a value of "
            f"{piece.parameter} ({error})"
        ) from None
    if "\0" in text:
        message = f"got {shown(text)}, with a null character, which no command can take"
        raise InvalidCommand(message)
