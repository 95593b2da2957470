"""Kinds of studies: their files, and cheap functions with noise and outliers to measure."""

from __future__ import annotations

import csv
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BEST = {"x": 0.3, "y": 0.6}  # of every kind, the smallest true value within what is allowed
HEAD = """
[study]
name = "{name}"
{direction}
rounds = {rounds}
storage = "{storage}"

[objective]
function = "bench:measure"
"""
PARAMETERS = """
[parameters]
x = { type = "float", low = 0, high = 1 }
y = { type = "float", low = 0, high = 1 }
"""
BENCH = """
import random

NOISE = random.Random(7)

def bowl(x, y):
    value = 8 * (x - 0.3) ** 2 + 4 * (y - 0.6) ** 2 + NOISE.gauss(0, 0.1)
    return value + 20 * (NOISE.random() < 0.05)
"""


@dataclass(frozen=True)
class Kind:
    """One kind of study.

    Args:
        name: Its name, that of the study too.
        tables: Tables of the study file after [objective].
        bench: Source of `measure`.
        draw: Draws a random configuration.
        regret: How much worse a configuration is than the best one, without noise.
        directed: Whether the study has a direction.
        variable: Values of a variable that a table has beside the parameters.
    """

    name: str
    tables: str
    bench: str
    draw: Callable[[random.Random], dict[str, Any]]
    regret: Callable[[dict[str, Any]], float]
    directed: bool = True
    variable: tuple[float, ...] = ()

    def write(self, folder: Path, storage: str, rounds: int = 300, tables: str = "") -> Path:
        """The study file, with the module that measures beside it."""
        folder.mkdir(parents=True, exist_ok=True)
        direction = 'direction = "minimize"' if self.directed else ""
        head = HEAD.format(name=self.name, direction=direction, rounds=rounds, storage=storage)
        (folder / "bench.py").write_text(BENCH + self.bench)
        (folder / "study.toml").write_text(head + self.tables + tables)
        return folder / "study.toml"

    def table(self, path: Path, number: int, seed: int) -> None:
        """So many measurements of random configurations, as a table to import."""
        rng, scope = random.Random(seed), dict[str, Any]()
        exec(BENCH + self.bench, scope)
        scope["NOISE"].seed(seed)
        rows = [self._row(scope["measure"], rng) for _ in range(number)]
        names = sorted({name for row in rows for name in row})
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)

    def _row(self, measure: Callable[..., Any], rng: random.Random) -> dict[str, Any]:
        params = self.draw(rng)
        if self.variable:
            params = {**params, "load": rng.choice(self.variable)}
        try:
            found = measure(**params)
        except RuntimeError:
            return {**params, "failure": "it ended early"}
        if isinstance(found, dict):  # the first objective is the value
            return {**params, **dict(zip(("value", *[*found][1:]), found.values(), strict=True))}
        value, others = found if isinstance(found, tuple) else (found, {})
        return {**params, "value": value, **others}


def bowl(params: dict[str, Any]) -> float:
    """The true value of a configuration, the smallest of which is 0."""
    return float(8 * (params["x"] - 0.3) ** 2 + 4 * (params["y"] - 0.6) ** 2)


def pair(rng: random.Random) -> dict[str, Any]:
    return {"x": rng.random(), "y": rng.random()}


def either(rng: random.Random) -> dict[str, Any]:
    mode = rng.choice(["plain", "cached"])
    return {"mode": mode, **pair(rng), **({"size": rng.random()} if mode == "cached" else {})}


KINDS = {
    kind.name: kind
    for kind in (
        Kind("plain", PARAMETERS, "def measure(x, y): return bowl(x, y)", pair, bowl),
        Kind(
            "constraint",
            "[constraints]\nmemory = { max = 1.0 }\n" + PARAMETERS,
            """
def measure(x, y):
    return bowl(x, y), {"memory": 0.5 + 0.9 * x + NOISE.gauss(0, 0.02)}
""",
            pair,
            lambda one: bowl(one) + 10 * max(0.0, 0.9 * one["x"] - 0.5),
        ),
        Kind(
            "environment",
            '[environment]\nload = { values = [0.0, 0.5, 1.0] }\n[risk]\nmeasure = "worst-case"\n'
            + PARAMETERS,
            "def measure(x, y, load): return bowl(x, y) + load",
            pair,
            bowl,
            variable=(0.0, 0.5, 1.0),
        ),
        Kind(
            "objectives",
            '[objectives]\nlatency = { direction = "minimize" }\n'
            'rate = { direction = "maximize" }\n' + PARAMETERS,
            """
def measure(x, y):
    return {"latency": bowl(x, y), "rate": 2 + x + NOISE.gauss(0, 0.02)}
""",
            pair,
            # Of the front: y has its best value, and x is no less than the fastest one's.
            lambda one: 4 * (one["y"] - 0.6) ** 2 + 8 * min(0.0, one["x"] - 0.3) ** 2,
            directed=False,
        ),
        Kind(
            "conditional",
            PARAMETERS
            + 'mode = { type = "categorical", choices = ["plain", "cached"] }\n'
            + 'size = { type = "float", low = 0, high = 1, when = "mode == \'cached\'" }\n',
            """
def measure(x, y, mode, size=0.0):
    return bowl(x, y) + (1.0 if mode == "plain" else 2 * (size - 0.5) ** 2)
""",
            either,
            lambda one: (
                bowl(one) + (1.0 if one["mode"] == "plain" else 2 * (one["size"] - 0.5) ** 2)
            ),
        ),
        Kind(
            "failures",
            PARAMETERS,
            """
def measure(x, y):
    if x > 0.85 or NOISE.random() < 0.06:
        raise RuntimeError("it ended early")
    return bowl(x, y)
""",
            pair,
            bowl,
        ),
    )
}
