"""What a manifest must hold for a result to be read, shown and grown."""

from __future__ import annotations

from pathlib import Path
from typing import Any

# A key's kind, or what is within. What else a manifest says is for people, or came later.
_NEEDED: dict[str, Any] = {
    **dict.fromkeys(("experiment", "title", "paper", "figure"), str),
    **dict.fromkeys(("fingerprint", "says", "setting"), str),
    **dict.fromkeys(("seed", "trials", "rounds"), int),
    "published": {"trials": int, "rounds": int},
    "seconds": {"wall": float, "trials": float},
    "checks": [{"claim": str, "holds": bool, "measured": str}],
}
_OPTIONAL: dict[str, Any] = {"data": {"source": str}, "files": [str], "sources": [str]}
_EXPECTED = {
    str: "a text",
    int: "an integer of at least 1, or a seed of at least 0",
    float: "seconds",
    bool: "true or false",
}


def what_is_wrong(content: Any) -> str | None:
    """What is missing or of another kind, in words, or None."""
    if (wrong := _wrong(content, _NEEDED, "manifest")) is not None:
        return wrong
    for name, kind in _OPTIONAL.items():
        if content.get(name) is not None:
            wrong = wrong or _wrong(content[name], kind, name)
    if wrong is None:
        for name in content.get("files") or ():
            if name != Path(name).name:
                return f"`files` holds {name!r}, expected names without a folder"
    return wrong


def _wrong(content: Any, kind: Any, name: str) -> str | None:
    if isinstance(kind, dict):
        if not isinstance(content, dict):
            return f"`{name}` is {content!r}, expected an object"
        for key, within in kind.items():
            if key not in content:
                return f"`{key}` is missing"
            if (wrong := _wrong(content[key], within, key)) is not None:
                return wrong
        return None
    if isinstance(kind, list):
        if not isinstance(content, list):
            return f"`{name}` is {content!r}, expected a list"
        found = (_wrong(each, kind[0], name) for each in content)
        return next((wrong for wrong in found if wrong is not None), None)
    return (
        None if _is(content, kind, name) else f"`{name}` is {content!r}, expected {_EXPECTED[kind]}"
    )


def _is(content: Any, kind: type, name: str) -> bool:
    if kind is int:
        return type(content) is int and content >= (0 if name == "seed" else 1)
    if kind is float:
        return type(content) in (int, float) and 0 <= content < float("inf")
    return isinstance(content, kind)
