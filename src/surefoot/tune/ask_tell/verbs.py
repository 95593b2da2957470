"""Requests to a study as JSON values: the verbs of the command line, for programs, line by line."""

from __future__ import annotations

import inspect
import json
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from surefoot.tune.ask_tell.ask_tell import AskTell
from surefoot.tune.ask_tell.told_values import Given
from surefoot.tune.plain_text import (
    LONGEST_INPUT,
    STOPPED,
    error_line,
    exit_code,
    shown,
    without_passwords,
)
from surefoot.types import InvalidInput, SurefootError

_BYTE_ORDER = "\ufeff"  # with which some shells begin what they send


@dataclass(frozen=True)
class Verbs:
    """The verbs of a study, with JSON values as arguments and results.

    Args:
        study: The study.
    """

    study: AskTell

    def ask(self, count: int = 1, given: dict[str, Any] | None = None) -> dict[str, Any]:
        """Get configurations to measure; each stays asked for until it is told or forgotten.

        `given` has the value of each given variable of the study, by name.
        """
        _check_given(given)
        return {"configurations": [one.as_dict() for one in self.study.ask(count, given)]}

    def tell(
        self,
        id: int,
        value: Given = None,
        sem: Given = 0.0,
        values: dict[str, Given] | None = None,
        worker: str = "",
        failed: str = "",
    ) -> dict[str, Any]:
        """Record the measurement of a configuration that was asked for, or why it failed.

        `sem` is its standard error in the unit of the value, `values` are those of the constraints,
        further objectives and observed variables by name, `worker` names who measured.
        """
        if values is not None and not isinstance(values, Mapping):
            raise InvalidInput(f"values: got {shown(values)}, expected numbers by name")
        told = self.study.tell(id, value, sem=sem, values=values, worker=worker, failed=failed)
        return told.as_dict()

    def predict(
        self, configurations: list[str | dict[str, Any]], given: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        """Predict the values of configurations, with 95 % credible intervals.

        Each is "recommended", "default", "trial N", or values by parameter name. `given` has the
        value of each given variable of the study, by name, where a configuration has none.
        """
        if isinstance(configurations, str) or not isinstance(configurations, Sequence):
            raise InvalidInput(
                f"configurations: got {shown(configurations)}, expected a list of them"
            )
        _check_given(given)
        return {"predictions": [one.as_dict for one in self.study.predict(configurations, given)]}

    def recommend(
        self, given: dict[str, Any] | None = None, prefer: list[str] | None = None
    ) -> dict[str, Any]:
        """The recommended configuration, with its predicted value, interval and warnings.

        `given` has the value of each given variable of the study, by name; `prefer` limits of some
        of several objectives, such as "latency<=20".
        """
        _check_given(given)
        if not isinstance(prefer, list | None) or not all(isinstance(n, str) for n in prefer or ()):
            raise InvalidInput(f"prefer: got {shown(prefer)}, expected a list such as ['a<=20']")
        return self.study.recommend(given, prefer or ())

    def status(self) -> dict[str, Any]:
        """The progress of the study and the configurations that wait to be told."""
        return self.study.status().as_dict()

    def forget(
        self, ids: list[int] | None = None, measured: str = "", id: int | None = None
    ) -> dict[str, Any]:
        """Give up configurations that were asked for.

        `ids` has theirs, `id` that of one. `measured` says why the outcomes of finished ones are
        wrong, which discards them.
        """
        if (ids is None) is (id is None):
            raise InvalidInput("forget: expected `ids`, or `id` of one")
        ids = [id] if ids is None else ids  # type: ignore[list-item]
        if not isinstance(ids, Sequence) or isinstance(ids, str):
            raise InvalidInput(f"ids: got {shown(ids)}, expected a list of ids")
        return {"forgotten": [one.as_dict() for one in self.study.forget(ids, measured)]}

    @property
    def by_name(self) -> Mapping[str, Callable[..., dict[str, Any]]]:
        """The verbs by name."""
        return {
            "ask": self.ask,
            "tell": self.tell,
            "predict": self.predict,
            "recommend": self.recommend,
            "status": self.status,
            "forget": self.forget,
        }

    def answer(self, request: object) -> dict[str, Any]:
        """The answer to a request with a `verb` and its arguments.

        Raises:
            InvalidInput: If it has no verb, or an argument that the verb does not take.
            SurefootError: As the verb raises.
        """
        known = self.by_name
        verb = request.get("verb") if isinstance(request, dict) else None
        if not isinstance(request, dict) or not isinstance(verb, str) or verb not in known:
            raise InvalidInput(
                f'got {shown(request)}, expected {{"verb": ...}} with one of {", ".join(known)}'
            )
        given = {name: one for name, one in request.items() if name != "verb"}
        self.check_arguments(verb, given)
        return known[verb](**given)

    def check_arguments(self, verb: str, given: Mapping[str, Any]) -> None:
        """Check that a verb takes these arguments, so that none is passed over.

        Args:
            verb: The name of a verb.
            given: Its arguments by name.

        Raises:
            InvalidInput: If it does not take one of them, or lacks one.
        """
        takes = inspect.signature(self.by_name[verb])
        try:
            takes.bind(**given)
        except TypeError as error:
            wanted = ", ".join(takes.parameters) or "none"
            raise InvalidInput(f"{verb}: {error}, expected {wanted}") from None


def _check_given(given: object) -> None:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInput(f"given: got {shown(given)}, expected values by name")


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
    """The lines, without what is beyond `LONGEST_INPUT` characters."""
    while line := requests.readline(LONGEST_INPUT + 1):
        rest = line
        while len(rest) > LONGEST_INPUT and not rest.endswith("\n"):
            rest = requests.readline(LONGEST_INPUT + 1)
        yield line.removeprefix(_BYTE_ORDER)


def _answer(verbs: Verbs, line: str) -> dict[str, Any]:
    try:
        if len(line) > LONGEST_INPUT:
            raise InvalidInput(f"got a line of more than {LONGEST_INPUT} characters")
        if not line.isascii() and (bad := re.search("[\udc80-\udcff]", line)) is not None:
            byte = f"0x{ord(bad[0]) - 0xDC00:x}"
            raise InvalidInput(f"got the byte {byte} in a line, expected text in UTF-8")
        try:
            request = json.loads(
                line,
                # Infinite where Python refuses to read it, since it has too many digits.
                parse_int=lambda digits: int(digits) if len(digits) < 1000 else float(digits),
                object_pairs_hook=_object,
            )
        except (json.JSONDecodeError, RecursionError):
            raise InvalidInput("got a line that is no JSON, expected an object") from None
        return verbs.answer(request)
    except SurefootError as error:
        return {"error": error_line(error), "code": exit_code(error)}
    except Exception as error:  # a fault of surefoot's own, after which others are answered
        print(without_passwords(traceback.format_exc()), file=sys.stderr)
        found = error_line(SurefootError(f"surefoot failed: {type(error).__name__}: {error}"))
        return {"error": f"{found} (traceback on standard error)", "code": STOPPED}


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, whose names differ."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise InvalidInput(f"got {shown(name)} twice in an object, expected it once")
        found[name] = value
    return found
