"""A study behind standard input and output: one JSON object a line."""

from __future__ import annotations

import json
from typing import Any, TextIO

from surefoot.tune.ask_tell.ask_tell import AskTell
from surefoot.tune.ask_tell.verbs import Verbs
from surefoot.tune.errors import error_line, exit_code
from surefoot.types import InvalidInput, SurefootError

LONGEST = 1_000_000  # characters of a request


def serve_lines(study: AskTell, requests: TextIO, answers: TextIO) -> None:
    """Answer each line of requests with a line, until there are no more.

    Args:
        study: The study.
        requests: Lines with a JSON object each; empty lines are ignored.
        answers: Where to write the answers, each at once.
    """
    verbs = Verbs(study)
    while line := requests.readline(LONGEST):
        if not line.strip():
            continue
        answers.write(json.dumps(_answer(verbs, line), ensure_ascii=True) + "\n")
        answers.flush()


def _answer(verbs: Verbs, line: str) -> dict[str, Any]:
    try:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            raise InvalidInput("got a line that is no JSON, expected an object") from None
        return verbs.answer(request)
    except SurefootError as error:
        return {"error": error_line(error), "code": exit_code(error)}
