"""What a command costs, as exact counts for a fixed study.

Whoever changes a count changes this table in the same commit and says why.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

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
    """Counts of one command.

    Args:
        fits: Fits of hyperparameters.
        beliefs: Beliefs of a study.
        statements: SQL statements, 0 for a journal.
    """

    fits: int
    beliefs: int
    statements: int = 0


RANGE = 3  # of statements: they depend on what Optuna has in memory
COMMANDS = (  # in this order; fits are kept from one command to the next
    ("tune", Cost(fits=27, beliefs=27, statements=2200)),  # a fit and a belief in each round
    ("recommend", Cost(fits=0, beliefs=3, statements=21)),  # compared with two earlier states
    ("status", Cost(fits=0, beliefs=0, statements=21)),
    ("ask", Cost(fits=0, beliefs=0, statements=81)),
    ("tell", "27", "0.5", Cost(fits=0, beliefs=0, statements=59)),
    ("recommend", Cost(fits=1, beliefs=3, statements=21)),  # to what was told
    ("recommend", Cost(fits=0, beliefs=3, statements=21)),
    ("predict", "trial 3", Cost(fits=0, beliefs=1, statements=42)),
    ("report", "-o", "{folder}/r.html", Cost(fits=0, beliefs=10, statements=21)),
    ("export", "-o", "{folder}/t.csv", Cost(fits=0, beliefs=1, statements=21)),
)
IMPORTED = {
    "status": set(),
    "tell": set(),
    "recommend": {"torch", "scipy", "gpytorch"},
    "export": {"torch", "scipy", "gpytorch"},
    "report": {"torch", "scipy", "gpytorch", "jinja2", "plotly"},
}


def always(*args: Any) -> bool:
    return True


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """Counts of what happens within the block."""
    counts: Counter[str] = Counter()

    def count(owner: object, name: str, what: str, of: Callable[..., bool] = always) -> None:
        function = getattr(owner, name)

        def counting(*args: Any, **kwargs: Any) -> Any:
            counts[what] += of(*args)
            return function(*args, **kwargs)

        monkeypatch.setattr(owner, name, counting)

    def statement(*args: object) -> None:
        counts["statements"] += 1

    count(HyperparameterFit, "fit", "fits", of=lambda rule, data: len(data.rewards) > 0)
    count(Modelling, "_belief_of", "beliefs")
    sqlalchemy.event.listen(sqlalchemy.Engine, "before_cursor_execute", statement)
    try:
        yield counts
    finally:
        sqlalchemy.event.remove(sqlalchemy.Engine, "before_cursor_execute", statement)
        monkeypatch.undo()


def cost(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> Cost:
    with counted(monkeypatch) as counts:
        surefoot(*arguments)
    return Cost(*(counts[name] for name in ("fits", "beliefs", "statements")))


def study(folder: Path, storage: str) -> Path:
    (folder / "bench.py").write_text(BENCH)
    path = folder / "counted.toml"
    path.write_text(STUDY.format(storage=STORAGES[storage]))
    return path


@pytest.mark.slow
@pytest.mark.parametrize("storage", STORAGES)
def test_counts(storage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = study(tmp_path, storage)
    for name, *rest, expected in COMMANDS:
        if name == "ask":  # beyond the rounds of the run
            path.write_text(path.read_text().replace("rounds = 27", "rounds = 40"))
        given = [one.format(folder=tmp_path) for one in rest]
        found = cost(monkeypatch, name, path, *given)
        statements = expected.statements if storage == "sqlite" else 0
        assert found.statements <= RANGE * statements, name
        assert found == replace(expected, statements=found.statements), name


@pytest.mark.slow
@pytest.mark.parametrize(("command", "expected"), IMPORTED.items())
def test_packages_that_are_imported(command: str, expected: set[str], tmp_path: Path) -> None:
    path = study(tmp_path, "journal")
    surefoot("tune", path, "--rounds", 3)
    rest = {"report": ["-o", "r.html"], "export": ["-o", "t.csv"], "tell": ["3", "1"]}
    if command == "tell":
        surefoot("ask", path)
    arguments = ["surefoot", command, str(path), *rest.get(command, [])]
    code = PROGRAM.format(arguments=arguments, heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert set(done.stderr.split()) == expected
