"""Diagnostics that are held but unread, found before the rewards that they are of change."""

from __future__ import annotations

import weakref

from surefoot.types import Info


class Unread:
    """The diagnostics of the last `tell`, as long as anyone holds them."""

    def __init__(self) -> None:
        self._held: weakref.ref[Info] | None = None

    def hold(self, info: Info) -> None:
        """Remember diagnostics in place of the last."""
        self._held = weakref.ref(info)

    def read(self) -> None:
        """Find the diagnostics now, if anyone can still ask for them."""
        info = None if self._held is None else self._held()
        if info is not None:
            _ = info.diagnostics
        self._held = None

    def __getstate__(self) -> dict[str, None]:
        """Nothing: a copy has told nothing yet."""
        return {"_held": None}
