"""Passwords of storage URLs, kept out of messages, reports and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote, unquote_plus

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
_SCHEME = re.compile(rf"({_DATABASES}(?:\+\w+)?:/)")
_WORD = r"[^\s'\",=(\[{:]"
_BEGINS_URL = re.compile(
    rf"(?<!{_WORD}){_WORD}*+['\"]?:[^\w\s]{{0,2}}/|{_DATABASES}\W?:"
)  # A host with a port and a path, or a path: what cannot hold a password.
_PLAIN = r"(?:[\w.-]*:\d{1,5})?(?:[\w.~/+-]*|:memory:)"
_CLOSED = r"(?=['\"]?[,;)\]}]*"  # the end of a value in a list or a table
_HARMLESS_URL = re.compile(
    rf"(?:(?:https?|ftp|file|sqlite|journal)://{_PLAIN}{_CLOSED}(?:\s|$))|"
    rf"(?!\S*{_DATABASES})[\w./~-]*:/[\w./~-]*{_CLOSED}(?:\s|$))|"  # paths, as of volumes
    rf"[\w+.-]+:/{{1,4}}{_PLAIN}{_CLOSED}$))"
)
_HARMLESS_HOST = re.compile(r"[\w.-]*(?::\d{1,5})?(?:/[\w.~/+-]*)?['\",)\]}]*")
_DATABASE_FILE = re.compile(r"\s*|[\w .~/+-]*\.(?:db|sqlite3?|log|journal)")
_SHORTEST = 4  # characters of a secret that is searched by itself


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
    """The same for the `repr` of a value that may hold a mistyped URL with any characters in it.

    Where the password of such a URL begins and ends is not known, so that all that follows its
    scheme is left out, unless it is a plain host or path.

    Example:
        >>> without_any_password("'postgresql;me-secret@host/db'")
        "***@host/db'"
        >>> without_any_password("'mysql://me:secret host/db' and 'http://host:80/a'")
        "'mysql://***"
    """
    for found in _BEGINS_URL.finditer(text):
        if not _HARMLESS_URL.match(text, found.start()):
            text = text[: found.start()] + _scheme(found[0]) + HIDDEN
            break
    at = text.rfind("@")
    if at < 0:
        return text
    after = text[at + 1 :]
    return f"{HIDDEN}@{after}" if _HARMLESS_HOST.fullmatch(after) else HIDDEN


def storage_without_password(value: str) -> str:
    """A value for a storage, of which nothing but the scheme may be known to be no password.

    Example:
        >>> storage_without_password("sqlite:///x.db"), storage_without_password("x.db")
        ('sqlite:///x.db', 'x.db')
        >>> storage_without_password("mysql://me:secret"), storage_without_password("my secret")
        ('mysql://***', '***')
    """
    text = "".join(filter(str.isprintable, value))
    harmless = _HARMLESS_URL.fullmatch(text) or _DATABASE_FILE.fullmatch(text)
    return value if harmless else _scheme(value) + HIDDEN


def _scheme(text: str) -> str:
    """The scheme that a URL begins with if it is one of a database, otherwise nothing."""
    found = _SCHEME.match(text)
    return f"{found[0]}/" if found else ""
