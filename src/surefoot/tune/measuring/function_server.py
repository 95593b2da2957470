"""Calls one function for the process at the other ends of two pipes, as often as it asks.

A script, run by its path so that nothing of surefoot is imported beside the user's code. Usage:
`function_server.py REQUESTS REPLIES MODULE NAME FIRST REPORTED PARAMETER...`, the first two being
file descriptors, FIRST the first of several objectives or empty, and a parameter that may be left
out being followed by `?`. It imports the function,
replies whether it can be called with these parameters, and then answers each request, a line of
JSON with the keyword arguments, by a line of JSON with `value`, `samples` or `error`. The function
may return a pair of its value and a dictionary: of the names in REPORTED, which has commas between
them, that go into the answer as `reported`, and of `worker` and `sem`, which stand beside. Where
only these are missing or invalid, `blameless` stands beside `error`.
"""

import importlib
import inspect
import json
import math
import os
import sys
import traceback
from collections.abc import Callable
from operator import attrgetter
from typing import Any

_PROCESS = os.getpid()


def main() -> None:
    requests, replies = (int(number) for number in sys.argv[1:3])
    module, name, first, reported, *parameters = sys.argv[3:]
    # Processes that the function starts must not inherit these.
    for descriptor in (requests, replies):
        os.set_inheritable(descriptor, False)
    sys.path.insert(0, os.getcwd())
    sys.argv = [module]
    with open(requests, encoding="utf-8") as incoming, open(replies, "w", encoding="utf-8") as out:
        try:
            function = _load(module, name, parameters)
        except Exception as error:
            traceback.print_exc()
            _reply(out, {"error": _describe(error)})
            return
        _reply(out, {"value": 0.0})
        for line in incoming:
            _reply(out, _call(function, json.loads(line), reported, first))


def _load(module: str, name: str, parameters: list[str]) -> Callable[..., Any]:
    function: Callable[..., Any] = attrgetter(name)(importlib.import_module(module))
    try:
        signature = inspect.signature(function)
    except ValueError:
        return function  # a builtin without a signature
    signature.bind(**{name.rstrip("?"): None for name in parameters})
    always = {name: None for name in parameters if not name.endswith("?")}
    try:
        signature.bind(**always)
    except TypeError as error:
        raise TypeError(f"{error}: it is conditional, so it needs a default") from None
    return function


def _call(
    function: Callable[..., Any], keywords: dict[str, Any], reported: str, first: str = ""
) -> dict[str, Any]:
    """The reply to a call; of several objectives, a dictionary may have the first one, too."""
    names = reported.split(",") if reported else []
    try:
        result = function(**keywords)
        if first and isinstance(result, dict) and first in result:
            result = result[first], {name: one for name, one in result.items() if name != first}
        pair = isinstance(result, tuple) and len(result) == 2 and isinstance(result[1], dict)
        value = result[0] if pair else result
        told = result[1].items() if pair else ()
        others = {str(name): one for name, one in told if name != "worker" or one is not None}
        try:
            if names and not pair:
                raise TypeError
            return _reply_of(value, others, names)
        except (TypeError, ValueError):
            named = [*names, *(["sem"] if "sem" in others and "sem" not in names else [])]
            shown = ", ".join(f"{name!r}: number" for name in named)
            pairs = f"{{{first!r}: number, {shown}}}" if first else f"(number, {{{shown}}})"
            wanted = pairs if named else "a number or a list of numbers"
            if isinstance(result, tuple) and len(result) == 2 and not pair and not names:
                wanted += "; a number with its standard error is (number, {'sem': number})"
            if undeclared := [name for name in others if name not in (*names, "sem", "worker")]:
                wanted += f"; {', '.join(map(repr, undeclared))}: not declared in [constraints]"
            reply = {"error": f"returned {result!r:.200}, expected {wanted}"}
            return reply | ({"blameless": True} if _is_finite(value) else {})
    except Exception as error:
        traceback.print_exc()
        return {"error": _describe(error)}


def _reply_of(value: Any, others: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """The reply; `TypeError` or `ValueError` if something is not a number or not expected."""
    optional: dict[str, Callable[[Any], Any]] = {"worker": str, "sem": _number}
    beside = {name: kind for name, kind in optional.items() if name not in names}
    rest = {name: _number(one) for name, one in others.items() if name not in beside}
    if rest and not names:
        raise TypeError
    reply = _measured(value)
    reply |= {name: kind(others[name]) for name, kind in beside.items() if name in others}
    return reply | ({"reported": rest} if names else {})


def _measured(result: Any) -> dict[str, Any]:
    """The part of a reply for a number, or for replicates."""
    if hasattr(result, "tolist"):  # of NumPy, pandas or torch
        result = result.tolist()
    if not isinstance(result, list):
        return {"value": _number(result)}
    samples = [_number(sample) for sample in result]
    if not samples:
        raise ValueError
    return {"samples": samples}


def _number(value: Any) -> float:
    """A number; `TypeError` for truth values, as wherever a value is told."""
    if isinstance(value, bool):
        raise TypeError
    return float(value)


def _is_finite(value: Any) -> bool:
    """Whether this is a measurement."""
    try:
        reply = _measured(value)
    except (TypeError, ValueError, OverflowError):
        return False
    return all(map(math.isfinite, reply.get("samples", [reply.get("value", 0.0)])))


def _describe(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _reply(out: Any, message: dict[str, Any]) -> None:
    if os.getpid() != _PROCESS:  # forked by the function or its module, and came back
        os._exit(1)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
