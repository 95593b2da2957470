"""Malformed study files: a valid one in which random keys have random wrong values."""

from __future__ import annotations

import copy
from collections.abc import Callable
from random import Random
from typing import Any

PASSWORD = "hunter2hunter2"


class Raw(str):
    """TOML source of a value, as it stands."""

    __slots__ = ()


Value = Any
Tables = dict[str, Any]


def valid(random: Random) -> Tables:
    """A valid study file of one of several kinds."""
    tables: Tables = {
        "study": {"name": "fuzz", "direction": "minimize", "rounds": 5},
        "objective": {"command": "echo {x} {n} {mode}", "timeout": 30},
        "parameters": {
            "x": {"type": "float", "low": 0.5, "high": 2.0, "log": random.random() < 0.5},
            "n": {"type": "int", "low": 1, "high": 64},
            "mode": {"type": "categorical", "choices": ["a", "b", 3]},
        },
    }
    if random.random() < 0.3:
        tables["objective"] = {"function": "bench:measure", "keep": True}
    if random.random() < 0.2:
        tables["objective"] |= {"setup": "true", "teardown": "echo {{done}}"}
    if random.random() < 0.4:
        tables["environment"] = {
            "load": {"distribution": "normal", "mean": 0.5, "std": 0.1, "low": 0.0, "high": 1.0},
            "kind": {"values": [1, 2], "weights": [0.25, 0.75]},
            "heat": {"distribution": "uniform", "low": 0.0, "high": 1.0},
        }
        tables["risk"] = {"measure": "var", "level": 0.1}
        if "command" in tables["objective"]:
            tables["objective"]["command"] += " {load} {kind} {heat:.3f}"
    if random.random() < 0.3:
        tables["study"]["storage"] = random.choice(STORAGES)
    return tables


STORAGES = (
    "sqlite:///other.db",
    "journal:///other.log",
    f"postgresql://me:{PASSWORD}@localhost/db",
    f"mysql://me:{PASSWORD}@localhost/db?x=1",
    f"nosuch://me:{PASSWORD}@host",
    f"postgresql:/me:{PASSWORD}@host",
    f"postgresql://host/db?password={PASSWORD}",
    f"postgresql://me:{PASSWORD}@host:port/db",
    f"sqlite://me:{PASSWORD}@host/x.db",
    "sqlite:///x.db?mode=ro&nothing=1",
    "sqlite:///\x00.db",
    "sqlite:///",
    "sqlite:////",
    "sqlite:///.",
    "sqlite:///" + "y" * 300 + ".db",
    "://",
    "sqlite:///{SCHEMA}.db",
    "sqlite+aiosqlite:///x.db",
    "journal://",
)


def malformed(random: Random) -> str:
    """The text of a malformed study file; a few are valid."""
    tables = valid(random)
    for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
        _mutate(tables, random)
    text = write(tables)
    return _damage(text, random) if random.random() < 0.15 else text


def _mutate(tables: Tables, random: Random) -> None:
    path = random.choice(_paths(tables))
    *way, last = path
    table: Any = tables
    for key in way:
        table = table[key]
    action = random.random()
    if action < 0.12:
        del table[last]
    elif action < 0.24 and isinstance(table, dict):
        table[random.choice(KEYS)] = wrong(random)
    elif action < 0.3 and isinstance(table, dict):
        table[random.choice(NAMES)] = table.pop(last)
    else:
        table[last] = wrong(random)


def _paths(node: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    items = node.items() if isinstance(node, dict) else enumerate(node)
    found: list[tuple[Any, ...]] = []
    for key, value in items:
        found.append((*before, key))
        if isinstance(value, dict | list):
            found += _paths(value, (*before, key))
    return found


KEYS = (
    *("name", "low", "high", "log", "type", "choices", "values", "weights", "distribution"),
    *("mean", "std", "seed", "storage", "setup", "teardown", "keep", "control", "measure"),
    *("level", "command", "function", "timeout", "__class__", "", "a.b", "x", "load"),
)
NAMES = (
    *("x", "n", "load", "", " ", "a b", "é", "x-y", "1x", "class", "self", "_", "__init__"),
    *("p" * 256, "p" * 100_000, "\u202e", "x\n", "{x}", "control", "\x1b[31m"),
)
STRINGS: tuple[str, ...] = (
    *("", " ", "x", "\n", "\t", "\x00", "\x1b[2J", "\x7f", "\u202eabc", "\ufeff", "=1+1", "'", '"'),
    *("minimize", "float", "normal", "uniform", "observed", "chosen", "worst-case", "cvar"),
    *(
        "{",
        "}",
        "{}",
        "{x",
        "{x!r}",
        "{x.__class__}",
        "{x[0]}",
        "{0}",
        "{nothing}",
        "{x} {n} {mode}",
    ),
    *("{x:10000000d} {n} {mode}", "{x} {n:99999} {mode}", "{x:.99999f} {n} {mode}"),
    *("{x:{n}} {mode}", "{x:%Y} {n} {mode}", "{x:,.3e} {n:c} {mode:>10}", "{x:s} {n} {mode}"),
    *("echo '{x} {n} {mode}", "echo \\", "/ {x} {n} {mode}", "~/x {x} {n} {mode}", "bench:", ":b"),
    *(
        "a" * 256,
        "a" * 131_071,
        "a" * 131_072,
        "é" * 70_000,
        "a:" * 5_000,
        "sqlite:///" + "a" * 9_000,
    ),
    *STORAGES,
)
NUMBERS: tuple[Value, ...] = (
    *(0, 1, -1, 2, 255, 10_000, 2**31, 2**32, 2**53, 2**53 + 1, 2**63, -(2**63), 2**64),
    *(10**17, 10**308, 10**309, 10**400, -(10**400), 10**4299),
    *(Raw("1" + "0" * 4_300), Raw("-" + "9" * 5_000), Raw("0x" + "f" * 20_000), Raw("1_000")),
    *(
        0.0,
        -0.0,
        0.5,
        1.5,
        1e-9,
        1e300,
        -1e300,
        1.7e308,
        5e-324,
        2.3e-308,
        1e-300,
        1.0000000000000002,
    ),
    *(Raw("inf"), Raw("-inf"), Raw("nan"), Raw("1e400"), Raw("0x"), Raw("01")),
)
OTHERS: tuple[Value, ...] = (
    *(True, False, [], {}, [[]], [{}], [1, "a"], [0, 1], [1, 1.0], [True, 1], ["a", "a"]),
    *([5e-324, 0.0], [10**400, 1], [1e308, -1e308], [0.5, 0.5], [0.1] * 10, [Raw("nan"), 1]),
    *(list(range(1_000)), ["b" * 140_000, "a"], [[1], [2]], {"a": {"b": {}}}),
    *(Raw("1979-05-27"), Raw("1979-05-27T07:32:00Z"), Raw("07:32:00"), Raw("'''\n'''"), Raw("?")),
    *(
        Raw("[" * 3_000 + "]" * 3_000),
        Raw("{a=" * 3_000 + "1" + "}" * 3_000),
        Raw("[" * 50 + "]" * 50),
    ),
    *({"type": "float"}, {"type": "float", "low": 0, "high": 5e-324}, {"type": []}, {"type": {}}),
    *({"type": "int", "low": -(2**53), "high": 2**53}, {"type": "int", "low": 1, "high": 10**400}),
    *({"distribution": "uniform", "low": 0, "high": 5e-324}, {"distribution": []}, {"values": {}}),
    {"distribution": "normal", "mean": 0, "std": 5e-324, "low": -1, "high": 1},
    {"distribution": "normal", "mean": 1e300, "std": 1e-300, "low": -1, "high": 1},
    {"distribution": "normal", "mean": 0, "std": 1e300, "low": -1e-300, "high": 1e-300},
    {"values": [0, 1], "weights": [1, 0]},
    {"values": [0, 5e-324]},
    {"type": "categorical", "choices": ["c" * 131_072, "d"]},
)


def wrong(random: Random) -> Value:
    """A value that most keys do not take."""
    return copy.deepcopy(random.choice(random.choice((STRINGS, NUMBERS, OTHERS))))


def write(tables: Tables) -> str:
    """The tables in TOML, which `tomllib` reads but does not write."""
    return "".join(f"{_string(key)} = {_value(value)}\n" for key, value in tables.items())


def _value(value: Value) -> str:
    kinds: tuple[tuple[type, Callable[[Any], str]], ...] = (
        (Raw, str),
        (str, _string),
        (bool, lambda flag: str(flag).lower()),
        (int, str),
        (float, repr),
        (list, lambda many: "[" + ", ".join(map(_value, many)) + "]"),
        (
            dict,
            lambda table: (
                "{" + ", ".join(f"{_string(k)} = {_value(v)}" for k, v in table.items()) + "}"
            ),
        ),
    )
    return next(form(value) for kind, form in kinds if isinstance(value, kind))


def _string(text: str) -> str:
    if isinstance(text, Raw):
        return str(text)
    escaped = (c if c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}" for c in text)
    return '"' + "".join(escaped) + '"'


def _damage(text: str, random: Random) -> str:
    """Some characters removed, replaced or repeated."""
    for _ in range(random.choice((1, 1, 3))):
        start = random.randrange(len(text))
        stop = min(len(text), start + random.choice((1, 1, 5, 50)))
        middle = random.choice(
            ("", text[start:stop] * 2, chr(random.choice((0, 10, 34, 44, 61, 91, 0x1F600))))
        )
        text = text[:start] + middle + text[stop:] or " "
    return text
