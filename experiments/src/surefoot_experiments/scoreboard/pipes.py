"""JSON lines on standard input and output, for processes that answer requests.

This module needs the standard library only.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from typing import Any, TextIO

Reply = dict[str, Any]


def connected() -> tuple[Iterator[Reply], TextIO]:
    """The requests on standard input, and where replies go; what is printed is not one of them."""
    replies = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    return lines(0), replies


def send(replies: TextIO, reply: Reply) -> None:
    replies.write(json.dumps(reply, default=lambda number: number.item()) + "\n")
    replies.flush()


def lines(descriptor: int) -> Iterator[Reply]:
    """Requests, read without taking in more than the next one, which may be another process's."""
    line = b""
    while chunk := os.read(descriptor, 65536):
        line += chunk
        if line.endswith(b"\n"):
            request, line = json.loads(line), b""
            yield request


def described(error: BaseException) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:500]
