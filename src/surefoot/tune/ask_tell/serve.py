"""A study behind standard input and output: one JSON object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from surefoot.tune.ask_tell.ask_tell import AskTell
from surefoot.tune.ask_tell.verbs import Verbs
from surefoot.tune.errors import error_line, exit_code
from surefoot.tune.plain_text import shown
from surefoot.types import InvalidInput, SurefootError

LONGEST = 1_000_000  # characters of a request
_BYTE_ORDER = "\ufeff"  # with which some shells begin what they send


def serve_lines(study: AskTell, requests: TextIO, answers: TextIO) -> None:
    """Answer each line of requests with a line, until there are no more.

    Args:
        study: The study.
        requests: Lines with a JSON object each. Bytes that are not text
            are surrogates.
        answers: Where to write the answers, each at once.
    """
    verbs = Verbs(study)
    for line in _lines(requests):
        answers.write(json.dumps(_answer(verbs, line), ensure_ascii=True) + "\n")
        answers.flush()


def _lines(requests: TextIO) -> Iterator[str]:
    """The lines, without what is beyond `LONGEST` characters."""
    while line := requests.readline(LONGEST + 1):
        rest = line
        while len(rest) > LONGEST and not rest.endswith("\n"):
            rest = requests.readline(LONGEST + 1)
        yield line.removeprefix(_BYTE_ORDER)


def _answer(verbs: Verbs, line: str) -> dict[str, Any]:
    try:
        if len(line) > LONGEST:
            raise InvalidInput(f"got a line of more than {LONGEST} characters, expected fewer")
        if not line.isascii() and (bad := re.search("[\udc80-\udcff]", line)) is not None:
            byte = f"0x{ord(bad[0]) - 0xDC00:x}"
            raise InvalidInput(f"got the byte {byte} in a line, expected text in UTF-8")
        try:
            request = json.loads(line, parse_int=_integer, object_pairs_hook=_object)
        except (json.JSONDecodeError, RecursionError):
            raise InvalidInput("got a line that is no JSON, expected an object") from None
        return verbs.answer(request)
    except SurefootError as error:
        return {"error": error_line(error), "code": exit_code(error)}


def _integer(digits: str) -> int | float:
    """A whole number; infinite where Python refuses to read it, since it has too many digits."""
    return int(digits) if len(digits) < 1000 else float(digits)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose names differ."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f"got {shown(name)} twice in an object, expected it once")
        found[name] = value
    return found
