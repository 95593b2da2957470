"""Every key of a study file with values of every wrong type: messages are about the file."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from surefoot.tune.definition.contents import Contents
from surefoot.tune.definition.explanation import explained
from surefoot.tune.plain_text import LONGEST_REASON

STUDY = {"name": "a", "direction": "minimize", "rounds": 9}
PARAMETERS = {
    "i": {"type": "int", "low": 1, "high": 9, "log": False, "step": 1, "default": 2, "guess": 2},
    "f": {"type": "float", "low": 1.0, "high": 9.0, "step": 1.0, "default": 2.0, "guess": 2.0},
    "c": {
        "type": "categorical",
        "choices": ["a", 1],
        "default": "a",
        "guess": "a",
        "ordered": False,
    },
}
PARAMETERS["i"] |= {"special": [0], "unit": "s"}
PARAMETERS["f"] |= {"special": [0.0], "unit": "s", "when": "i > 2", "inactive": "x"}
PLAIN = {
    "study": {**STUDY, "budget": "1h", "seed": 1, "initial": 3, "storage": "sqlite:///a.db"},
    "objective": {"command": "sh a {i} {f} {c}", "timeout": 3.0, "setup": "a", "value": "x"},
    "parameters": PARAMETERS,
    "constraints": {"p": {"max": 3.0, "confidence": 0.9, "value": "p"}, "q": {"min": 3.0}},
    "confirm": {"share": 0.1, "candidates": 3, "every": 20},
    "repeats": {"most": 3, "unstable": 0.2},
    "stop": {"gain": 0.1, "confidence": 0.9},
    "prior": {"from": "old.db"},
    "require": [{"rule": "i <= f"}],
}
PLAIN["study"] |= {"safe": False}
PLAIN["objective"] |= {"teardown": "b", "keep": True, "unit": "ms", "log": False}
PLAIN["objective"] |= {"effects": ["worker"], "estimand": "mean"}
UNIFORM = {"distribution": "uniform", "low": 0, "high": 1}
NORMAL = {"distribution": "normal", "mean": 0, "std": 1, "low": -1, "high": 1}
LISTED = {"values": [1, 2], "weights": [0.5, 0.5]}
RANDOM = {"control": "observed", "u": UNIFORM, "n": NORMAL, "v": LISTED}
SCHEMES = {
    "plain": {},
    "environment": {"environment": RANDOM, "risk": {"measure": "var", "level": 0.1}},
    "given": {"environment": {"control": "given", "u": {"type": "float", "low": 0, "high": 1}}},
    "fidelity": {"fidelity": {"seconds": {"levels": [1, 2], "cost": [1, 2]}}},
    "objectives": {
        "objectives": {"a": {"direction": "minimize", "unit": "s"}, "b": {"value": "b"}}
    },
}
WRONG = (
    *("a", "", "10ms", True, 3, -1, 0, 1.5, float("nan"), float("inf")),
    *([], ["a"], ["a", "a"], [1, "a"], [1, 1], [2], [True], [{}], [[1]], [[]]),
    *({}, {"x": 1}, {"type": "float"}, {"type": 3}),
)
OF_PYDANTIC = re.compile(
    r"validation error|[Ii]nput should|type=|union|tagged|literal|pydantic|Section|dict\b|"
    r"\.(str|int|float|bool|list|function)\b"
)


def _places(table: Any, path: tuple = ()) -> Iterator[tuple]:
    """The path of every key and of every item of a list."""
    if not isinstance(table, dict | list):
        return
    for key, value in table.items() if isinstance(table, dict) else enumerate(table):
        yield (*path, key)
        yield from _places(value, (*path, key))


def _message(raw: dict[str, Any]) -> str:
    """The fault of a file, empty if there is none."""
    try:
        Contents.model_validate(raw)
    except ValidationError as error:
        return explained(error, raw)
    return ""


@pytest.mark.long
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_value_of_a_wrong_type_is_said_in_the_words_of_the_file(scheme):
    added = SCHEMES[scheme]
    base = PLAIN if scheme == "plain" else {k: PLAIN[k] for k in ("study", "parameters")} | added
    for path in _places(base):
        if scheme != "plain" and path[0] not in added:
            continue
        for wrong in WRONG:
            raw = copy.deepcopy(base)
            at: Any = raw
            for key in path[:-1]:
                at = at[key]
            at[path[-1]] = wrong
            if not (message := _message(raw)):
                continue
            said = (path, wrong, message)
            assert not OF_PYDANTIC.search(message), said
            assert re.search("expected|given beside|given together", message, re.IGNORECASE), said
            assert len(message) <= LONGEST_REASON, said
            known = {".".join(map(str, one)) for one in _places(raw)}
            where = message.partition(": ")[0]
            assert where in known or where.rpartition(".")[0] in {*known, ""}, said


@pytest.mark.parametrize(
    ("levels", "message"),
    [
        (["a"], "got 'a' in the list, expected a list of 2 or more increasing numbers"),
        ([1], r"got \[1\], expected a list of 2 or more increasing numbers"),
        ([], r"got \[\], expected a list of 2 or more increasing numbers"),
        ([1, 1], r"got \[1, 1\], expected a list of 2 or more increasing numbers"),
        ([1, "a"], "got 'a' in the list, expected a list of 2 or more increasing numbers"),
        ("a", "got 'a', expected a list of 2 or more increasing numbers"),
    ],
)
def test_levels_that_are_none(levels, message):
    raw = copy.deepcopy({k: PLAIN[k] for k in ("study", "parameters")} | SCHEMES["fidelity"])
    raw["fidelity"]["seconds"]["levels"] = levels
    assert re.match(rf"fidelity\.seconds\.levels: {message}", _message(raw))
