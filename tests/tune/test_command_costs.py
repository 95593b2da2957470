"""What a command costs, as exact counts for a fixed study.

Whoever changes a count changes this table in the same commit and says why.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy

from support.commands import surefoot
from surefoot.hyperparameters.student_t_fit import HyperparameterFit
from surefoot.integrations.optuna.modelling import Modelling

STUDY = """
[study]
name = "counted"
direction = "minimize"
rounds = 27
seed = 1
storage = "{storage}"

[objective]
function = "bench:measure"
effects = [] # times are those of the machine, and what is found in them has a cost of its own

[parameters]
x = {{ type = "float", low = 0, high = 1 }}
y = {{ type = "float", low = 0, high = 1 }}
"""
BENCH = "def measure(x, y): return (x - 0.3) ** 2 + (y - 0.6) ** 2 + 0.01 * ((97 * x) % 1)\n"
STORAGES = {"sqlite": "sqlite:///counted.db", "journal": "journal:///counted.log"}
HEAVY = ("torch", "scipy", "gpytorch", "plotly", "jinja2", "pandas", "sqlalchemy", "botorch")
PROGRAM = """
import sys
sys.argv = {arguments}
import surefoot.__main__
try:
    surefoot.__main__.main()
except SystemExit as end:
    assert not end.code
print(*(name for name in {heavy} if name in sys.modules), file=sys.stderr)
"""


@dataclass(frozen=True)
class Cost:
    """Counts of one command in a process of its own.

    Args:
        fits: Fits of hyperparameters.
        beliefs: Beliefs of a study.
        statements: SQL statements, where the study is in SQLite.
        files: Files opened in the folder of the study, where it is in a journal.
    """

    fits: int
    beliefs: int
    statements: int = 0
    files: int = 0


COMMANDS = (  # in this order; fits are kept from one command to the next
    ("tune", Cost(fits=27, beliefs=27, statements=2200, files=1100)),  # one of each a round
    ("recommend", Cost(fits=0, beliefs=3, statements=25, files=14)),  # with two earlier states
    ("status", Cost(fits=0, beliefs=0, statements=19, files=11)),
    ("ask", Cost(fits=0, beliefs=0, statements=80, files=46)),
    ("tell", "27", "0.5", Cost(fits=0, beliefs=0, statements=57, files=31)),
    ("recommend", Cost(fits=1, beliefs=3, statements=25, files=15)),  # to what was told
    ("recommend", Cost(fits=0, beliefs=3, statements=25, files=14)),
    ("predict", "trial 3", Cost(fits=0, beliefs=1, statements=40, files=23)),
    ("report", "-o", "{folder}/r.html", Cost(fits=0, beliefs=10, statements=39, files=24)),
    ("export", "-o", "{folder}/t.csv", Cost(fits=0, beliefs=1, statements=21, files=14)),
)
IMPORTED = {
    "status": set(),
    "tell": set(),
    "recommend": {"torch", "scipy", "gpytorch"},
    "export": {"torch", "scipy", "gpytorch"},
    "report": {"torch", "scipy", "gpytorch", "jinja2", "plotly"},
}


def counting(function: Callable[..., Any], counts: Counter[str], what: str) -> Any:
    @functools.wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        counts[what] += what != "fits" or len(args[1].rewards) > 0
        return function(*args, **kwargs)

    return counted


def counts_of(arguments: Sequence[object], folder: Path) -> Counter[str]:
    """What happens in a command; only for a process that ends with it."""
    counts: Counter[str] = Counter()

    def heard(event: str, given: tuple[Any, ...]) -> None:
        if event == "open" and isinstance(given[0], str):
            counts["files"] += Path(given[0]).parent == folder

    def statement(*args: object) -> None:
        counts["statements"] += 1

    HyperparameterFit.fit = counting(HyperparameterFit.fit, counts, "fits")  # type: ignore[method-assign]
    Modelling._belief_of = counting(Modelling._belief_of, counts, "beliefs")  # type: ignore[method-assign]
    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", statement)
    sys.addaudithook(heard)
    surefoot(*arguments)
    return Counter(counts)


def cost(folder: Path, *arguments: object) -> Cost:
    """The counts of a command in a fork, which has nothing of another command in memory."""
    reading, writing = os.pipe()
    if (child := os.fork()) == 0:
        try:
            with os.fdopen(writing, "w") as pipe:
                json.dump(counts_of(arguments, folder), pipe)
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        found = pipe.read()
    os.waitpid(child, 0)
    counts = Counter(json.loads(found))
    return Cost(*(counts[one.name] for one in fields(Cost)))


def study(folder: Path, storage: str) -> Path:
    (folder / "bench.py").write_text(BENCH)
    path = folder / "counted.toml"
    path.write_text(STUDY.format(storage=STORAGES[storage]))
    return path


@pytest.mark.daily(1)
@pytest.mark.parametrize("storage", STORAGES)
def test_counts(storage: str, tmp_path: Path) -> None:
    optuna.create_study(storage="sqlite://")  # imports SQLAlchemy for all commands
    path = study(tmp_path, storage)
    for name, *rest, expected in COMMANDS:
        if name == "ask":  # beyond the rounds of the run
            path.write_text(path.read_text().replace("rounds = 27", "rounds = 40"))
        given = [one.format(folder=tmp_path) for one in rest]
        found = cost(tmp_path, name, path, *given)
        unused = {"statements": 0} if storage == "journal" else {"files": found.files}
        if name == "tune":  # a slow run says more often that it is alive
            assert found.statements <= expected.statements
            assert found.files <= expected.files
            unused = {"statements": found.statements, "files": found.files}
        assert found == replace(expected, **unused), name


@pytest.mark.long
def test_packages_that_are_imported(tmp_path: Path) -> None:
    path = study(tmp_path, "journal")
    surefoot("tune", path, "--rounds", 3)
    surefoot("ask", path)
    rest = {"report": ["-o", "r.html"], "export": ["-o", "t.csv"], "tell": ["3", "1"]}
    for command, expected in IMPORTED.items():
        arguments = ["surefoot", command, str(path), *rest.get(command, [])]
        code = PROGRAM.format(arguments=arguments, heavy=HEAVY)
        done = subprocess.run(
            [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
        )
        assert set(done.stderr.split()) == expected, command
