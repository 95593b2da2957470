"""Text from outside, made fit for a storage, a terminal or a file."""

from __future__ import annotations

import re

from surefoot.tune.passwords import storage_without_password, without_any_password

# Control sequences of terminals (ECMA-48), those that set titles and the like included.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]?+|\x1b[\]PX^_][^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)?+|"
    r"\x9b[0-?]*+[ -/]*+[@-~]?+|\x1b[ -/]*+[0-~]?+"
)
# Beside C0 and C1 control characters: marks that reverse the direction of text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SHOWN = 100  # characters of a value in an error message
_SURROGATES = re.compile(r"[\ud800-\udfff]")


def storable(text: str) -> str:
    """The text with what UTF-8 and databases cannot hold replaced by U+FFFD.

    These are lone surrogates, which Python puts into file names that are not UTF-8, and null
    characters.

    Example:
        >>> storable("caf\\udce9")
        'caf�'
    """
    return _SURROGATES.sub("\ufffd", text).replace("\0", "\ufffd")


def without_escapes(text: str) -> str:
    """The text without the control sequences of terminals, such as colours."""
    return _ESCAPES.sub("", text)


def printable(text: str) -> str:
    """The text for a terminal: without control sequences and characters, but for line breaks.

    Example:
        >>> printable("\\x1b[31mhot\\x1b[0m\\x07 \\x1b]0;title\\x07stuff")
        'hot stuff'
    """
    return _CONTROL.sub("", without_escapes(storable(text)))


def escaped(text: str) -> str:
    """The text for a file: control characters, but for tabs and line breaks, as escapes.

    Example:
        >>> print(escaped("\\x1b[31mhot"))
        \\x1b[31mhot
    """

    def escape(match: re.Match[str]) -> str:
        code = ord(match[0])
        return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"

    return _CONTROL.sub(escape, storable(text.replace("\r\n", "\n")))


def shortened(text: str) -> str:
    """The text, without its middle if it is too long for a message."""
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 43]}...{text[-40:]}"


def shown(value: object) -> str:
    """A value of any size for an error message: its `repr`, without passwords and shortened.

    Example:
        >>> shown("a" * 1000)
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"
    """
    try:
        text = storable(without_any_password(repr(value)))
    except (ValueError, RecursionError):
        # Python prints no integers of more than 4,300 digits.
        bits = f" of {value.bit_length()} bits" if isinstance(value, int) else ""
        return f"a value{bits} that is too large to print"
    return shortened(text)


def shown_storage(value: object) -> str:
    """A value that came for a storage: nothing of it that might be a password.

    Example:
        >>> shown_storage("x.db"), shown_storage("mysql://me:se@cret@host"), shown_storage(["x"])
        ("'x.db'", "'mysql://***'", 'a list')
    """
    if isinstance(value, str):
        return storable(shortened(repr(storage_without_password(value))))
    if isinstance(value, list | dict):
        return "a list" if isinstance(value, list) else "a table"
    return shown(value)
