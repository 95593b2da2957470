"""Calls one function for the process at the other ends of two pipes, as often as it asks.

A script, run by its path so that nothing of surefoot is imported beside the user's code. Usage:
`function_server.py REQUESTS REPLIES MODULE NAME REPORTED PARAMETER...`, the first two being file
descriptors, and a parameter that may be left out being followed by `?`. It imports the function,
replies whether it can be called with these parameters, and then answers each request, a line of
JSON with the keyword arguments, by a line of JSON with `value` or `error`. The value is a number,
or a list of numbers if the function returned a list or an array of replicates. Where REPORTED,
names with commas between them, is not empty, the function returns its value with a dictionary of
these, which goes into the answer as `reported`. The names `worker` and `sem` of a dictionary go
into the answer by themselves, unless they are in REPORTED.
"""

import importlib
import inspect
import json
import os
import sys
import traceback
from collections.abc import Callable
from operator import attrgetter
from typing import Any


def main() -> None:
    requests, replies = (int(number) for number in sys.argv[1:3])
    module, name, reported, *parameters = sys.argv[3:]
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
            _reply(out, _call(function, json.loads(line), reported))


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


def _call(function: Callable[..., Any], keywords: dict[str, Any], reported: str) -> dict[str, Any]:
    names = reported.split(",") if reported else []
    try:
        result = function(**keywords)
        try:
            return _reply_of(result, names)
        except (TypeError, ValueError, AttributeError):
            shown = ", ".join(f"{name!r}: number" for name in names)
            wanted = f"(number, {{{shown}}})" if reported else "a number"
            return {"error": f"returned {result!r:.200}, expected {wanted}"}
    except Exception as error:
        traceback.print_exc()
        return {"error": _describe(error)}


def _reply_of(result: Any, reported: list[str]) -> dict[str, Any]:
    """The answer with what a function returned: a value, or a pair of it and a dictionary."""
    pair = isinstance(result, tuple | list) and len(result) == 2 and hasattr(result[1], "items")
    value, others = (result[0], dict(result[1].items())) if pair else (result, {})
    reply: dict[str, Any] = {}
    if "worker" in others and "worker" not in reported:
        reply["worker"] = str(others.pop("worker"))
    if "sem" in others and "sem" not in reported:
        reply["sem"] = float(others.pop("sem"))
    if reported:
        if not pair:
            raise TypeError("no pair")
        reply["reported"] = {str(name): float(one) for name, one in others.items()}
    elif others:
        raise TypeError("names that were not asked for")
    return {"value": _numbers(value), **reply}


def _numbers(value: Any) -> float | list[float]:
    """A number, or several of a list or an array."""
    if not isinstance(value, list) and getattr(value, "ndim", 0):
        value = value.tolist()
    if isinstance(value, list) and value:
        return [float(one) for one in value]
    return float(value)


def _describe(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _reply(out: Any, message: dict[str, Any]) -> None:
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    out.write(json.dumps(message) + "\n")
    out.flush()


if __name__ == "__main__":
    main()
