"""Foreign values in the storage of a study: it is read, or refused in one line."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import optuna

from surefoot_experiments.storms.storages import STUDY, new_study, raw_errors

LIMITS = "\n[constraints]\np99 = {{ max = 20 }}\n"
VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 7, 2**63 - 1, 10**30, 0.5, 1e300, -1e300, 5e-324, math.nan),
    *(math.inf, -math.inf, "", "a", "7", "NaN", "é\n\x1b[2J", "x" * 5000, b"\x00\xff"),
    *([], [1.0], ["a", None], {}, {"p99": "a"}, {"p99": math.inf}, {"p99": None}, {"a": {"b": 1}}),
    *("2024-01-01 00:00:00", "9999-12-31 23:59:59.999999", "0001-01-01 00:00:00.000000"),
    *("RUNNING", "WAITING", "PRUNED", "FAIL", "COMPLETE", "FINITE", "INF_POS", "INF_NEG"),
)
# Cells that may be changed, and whether they hold JSON.
CELLS = (
    *(("trials", "state", False), ("trials", "number", False), ("trials", "datetime_start", False)),
    *(("trials", "datetime_complete", False), ("trial_values", "value", False)),
    *(("trial_values", "value_type", False), ("trial_values", "objective", False)),
    *(("trial_params", "param_value", False), ("trial_params", "param_name", False)),
    *(("trial_params", "distribution_json", True), ("trial_user_attributes", "value_json", True)),
    *(("trial_user_attributes", "key", False), ("study_user_attributes", "value_json", True)),
    *(("study_system_attributes", "value_json", True), ("study_directions", "direction", False)),
)
_REPORTED = 5  # one storage in so many is also continued


def change(count: int, seed: int = 0) -> list[str]:
    """Open, summarise and export studies with a foreign value in them, and continue some.

    Args:
        count: Number of changed storages.
        seed: Seed of the changes.

    Returns:
        Descriptions of the errors that are not surefoot's.
    """
    random, wrong = np.random.default_rng(seed), []
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory(prefix="storm-") as name:
        text = STUDY.replace("echo 1$1", "echo p99=1$1; echo 1$1") + LIMITS
        study, content = new_study(Path(name) / "a", "sqlite:///storm.db", text)
        for index in range(count):
            storage = study.parent / "storm.db"
            storage.write_bytes(content)
            what = f"{_changed(storage, random)} ({seed} {index})"
            reported = index % _REPORTED == 0
            wrong += raw_errors(study, storage.read_bytes(), what, continued=reported)
    return wrong


def _changed(storage: Path, random: np.random.Generator) -> str:
    """Change a random cell, and say which."""
    with contextlib.closing(sqlite3.connect(storage)) as base, base:
        filled = [
            one for one in CELLS if base.execute(f"SELECT count(*) FROM {one[0]}").fetchone()[0]
        ]
        table, column, is_json = filled[int(random.integers(len(filled)))]
        rows = [row for (row,) in base.execute(f"SELECT rowid FROM {table} ORDER BY rowid")]
        row = rows[int(random.integers(len(rows)))]
        value = VALUES[int(random.integers(len(VALUES)))]
        stored = value
        if is_json:
            (old,) = base.execute(
                f"SELECT {column} FROM {table} WHERE rowid = ?", (row,)
            ).fetchone()
            stored = json.dumps(_inside(json.loads(old), value, random), default=str)
        elif isinstance(value, list | dict):
            stored = json.dumps(value)
        elif isinstance(value, int) and abs(value) > 2**63 - 1:
            stored = float(value)
        with contextlib.suppress(sqlite3.IntegrityError):  # then it is as before
            base.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = ?", (stored, row))
    return f"{table}.{column} = {value!r:.60}"


def _inside(old: Any, value: Any, random: np.random.Generator) -> Any:
    """The JSON value, or a random one inside it, replaced."""
    if not isinstance(old, dict) or not old or random.random() < 0.4:
        return value
    key = sorted(old)[int(random.integers(len(old)))]
    return {**old, key: _inside(old[key], value, random)}
