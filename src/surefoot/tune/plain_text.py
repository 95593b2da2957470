"""Text from outside, made fit for a storage, a terminal or a file, and kept free of passwords."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote, unquote_plus

from surefoot.types import InvalidInput, NotReady, SurefootError

HIDDEN = "***"
_IN_URL = re.compile(r"(:/{1,3}[^\s:/@\"']*:)([^\s\"']++)")
_IN_QUERY = re.compile(
    r"([?&;][^\s=&?;\"']*(?:pass|pwd|secret|token|credential)[^\s=&?;\"']*=)[^\s&;\"']+", re.I
)
_SECRETS = (
    re.compile(r"^[^:]*:(?:/+[^:@/]*:|(?!/))(.*)@", re.DOTALL),
    re.compile(r"[?&;][^=&?;]*=([^&;]+)"),
    re.compile(r"://([^/?@]*[^\w.:/?@\[\]-][^/?@]*)"),  # no host, so something mistyped
)
_DATABASES = r"(?:sqlite|journal|postgresql|mysql|mariadb|oracle|mssql|redis)"
# A host with a port and a path, or a path: nothing that holds a password.
_PLAIN = r"(?:[\w.-]*:\d{1,5})?(?:[\w.~/+-]*|:memory:)"
_HARMLESS = re.compile(
    rf"(?<![^\s'\",=(\[{{:])(?:(?:https?|ftp|file|sqlite|journal)://{_PLAIN}|"
    rf"(?!\S*{_DATABASES})[\w./~-]*:/[\w./~-]*)(?=['\"]?[,;)\]}}]*(?:\s|$))"  # paths, as of volumes
)
_SUSPECT = re.compile(rf"@|:[^\w\s]{{0,2}}/|{_DATABASES}\W?:")  # a part of a URL, maybe mistyped
_SCHEME = re.compile(rf"{_DATABASES}(?:\+\w+)?://")
_HARMLESS_STORAGE = re.compile(
    rf"(?:sqlite|journal)://{_PLAIN}|[\w .~/+-]*\.(?:db|sqlite3?|log|journal)|\s*"
)
_SHORTEST = 4  # characters of a secret that is searched by itself


# Control sequences of terminals (ECMA-48), those that set titles and the like included.
_ESCAPES = re.compile(
    r"\x1b\[[0-?]*+[ -/]*+[@-~]?+|\x1b[\]PX^_][^\x07\x1b\x9c]*+(?:\x07|\x1b\\|\x9c)?+|"
    r"\x9b[0-?]*+[ -/]*+[@-~]?+|\x1b[ -/]*+[0-~]?+"
)
# Beside C0 and C1 control characters: marks that reverse the direction of text.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
SHOWN = 100  # characters of a value in an error message
LISTED = 6  # values in a message
_SURROGATES = re.compile(r"[\ud800-\udfff]")
LONGEST_LINE = 2000  # characters of a message, and of a failed run's output
LONGEST_REASON = 500
LONGEST_NAME = 200  # characters; a file system allows 255 bytes, and SQLite adds to the name
LONGEST_INPUT = 1_000_000  # characters or bytes of a line that is read
STOPPED, INVALID, DISCARDED, INTERRUPTED = 1, 2, 3, 130  # exit codes; `judge` discards a change


def secrets_of(url: object) -> tuple[str, ...]:
    """The passwords in a storage URL, valid or not, as they may occur in messages."""
    if not isinstance(url, str):
        return ()
    found = [secret for pattern in _SECRETS for secret in pattern.findall(url)]
    # A parser ends such a password at its first `@`, and takes the rest for a host and a path.
    found += [part for secret in found if "@" in secret for part in re.split("[@/:]", secret)]
    forms = [form(secret) for secret in found for form in (str, unquote, unquote_plus)]
    forms += [repr(secret)[1:-1] for secret in forms]
    return tuple(dict.fromkeys(one for one in forms if len(one) >= _SHORTEST))


def without_passwords(text: str, secrets: Iterable[str] = ()) -> str:
    """`text` with the passwords of all URLs in it, and these secrets, replaced by stars.

    Example:
        >>> without_passwords("cannot connect to postgresql://me:pa:ss@host/db")
        'cannot connect to postgresql://me:***@host/db'
    """
    for secret in sorted(secrets, key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return _IN_QUERY.sub(rf"\1{HIDDEN}", _IN_URL.sub(_hidden, text))


def _hidden(url: re.Match[str]) -> str:
    """A URL from its `://` on, without a password before the last `@`."""
    password, _, after = url[2].rpartition("@")
    return f"{url[1]}{HIDDEN}@{after}" if password else url[0]


def without_any_password(text: str) -> str:
    """The `repr` of a value, hidden where it may hold a mistyped URL with any characters in it.

    Where the password of such a URL begins and ends is not known.

    Example:
        >>> without_any_password("'postgresql;me-secret@host/db'")
        '***'
        >>> without_any_password("'curl http://host:80/a {x}'")
        "'curl http://host:80/a {x}'"
    """
    return HIDDEN if _SUSPECT.search(_HARMLESS.sub("", text)) else text


def storage_without_password(value: str) -> str:
    """A value for a storage, hidden unless it is plainly a file.

    Example:
        >>> storage_without_password("sqlite:///x.db"), storage_without_password("x.db")
        ('sqlite:///x.db', 'x.db')
        >>> storage_without_password("mysql://me:secret"), storage_without_password("my secret")
        ('mysql://***', '***')
    """
    if _HARMLESS_STORAGE.fullmatch("".join(filter(str.isprintable, value))):
        return value
    scheme = _SCHEME.match(value)
    return f"{scheme[0] if scheme else ''}{HIDDEN}"


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


def shortened(text: str, most: int = SHOWN) -> str:
    """The text, without its middle if it is too long."""
    half = (most - 3) // 2
    return text if len(text) <= most else f"{text[:half]}...{text[-half:]}"


def listed(values: Iterable[object]) -> str:
    """The first of some values, for a message."""
    texts = [str(one) for one in values]
    return ", ".join([*texts[:LISTED], *(["..."] if len(texts) > LISTED else [])])


def shown(value: object) -> str:
    """A value of any size for an error message: its `repr`, without passwords and shortened.

    Example:
        >>> shown("a" * 1000)
        "'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'"
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


def finite_json(content: Any) -> Any:
    """JSON values, with null for what is infinite or no number, which JSON has not."""
    return json.loads(json.dumps(content), parse_constant=lambda _: None)


def error_line(error: SurefootError) -> str:
    """The message in one line, without passwords; of a very long one the beginning and the end."""
    return shortened(printable(without_passwords(" ".join(str(error).split()))), LONGEST_LINE)


def exit_code(error: SurefootError) -> int:
    """Whether the input was refused and nothing changed, or something stopped halfway."""
    return INVALID if isinstance(error, InvalidInput | NotReady) else STOPPED
