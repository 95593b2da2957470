"""Passwords of storage URLs, kept out of messages, reports and logs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from urllib.parse import unquote, unquote_plus

HIDDEN = "***"
_IN_URL = re.compile(r"(:/{1,3}[^\s:/@\"']*:)[^\s\"']+@")
_IN_QUERY = re.compile(
    r"([?&;][^\s=&?;\"']*(?:pass|pwd|secret|token|credential)[^\s=&?;\"']*=)[^\s&;\"']+", re.I
)
_ANYTHING_IN_URL = re.compile(r"(:/*[^\s:@/]*:).*@", re.DOTALL)
_SECRETS = (
    re.compile(r"^[^:]*:(?:/+[^:@/]*:|(?!/))(.*)@", re.DOTALL),
    re.compile(r"[?&;][^=&?;]*(?:pass|pwd|secret|token|credential)[^=&?;]*=([^&;]+)", re.I),
)
_SHORTEST = 4  # characters of a secret that is searched by itself


def secrets_of(url: object) -> tuple[str, ...]:
    """The passwords in a storage URL, valid or not, as they may occur in messages."""
    if not isinstance(url, str):
        return ()
    found = [secret for pattern in _SECRETS for secret in pattern.findall(url)]
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
    return _IN_QUERY.sub(rf"\1{HIDDEN}", _IN_URL.sub(rf"\1{HIDDEN}@", text))


def without_any_password(text: str) -> str:
    """The same for the `repr` of a value that may hold a mistyped URL with any characters in it.

    Example:
        >>> without_any_password("'postgresql;me-secret@host/db'")
        "***@host/db'"
    """
    text = without_passwords(_ANYTHING_IN_URL.sub(rf"\1{HIDDEN}@", text))
    before, at, after = text.rpartition("@")
    return f"{HIDDEN}@{after}" if at and not before.endswith(HIDDEN) else text
