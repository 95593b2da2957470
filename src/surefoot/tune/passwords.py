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
