"""Recorded results: CSV files of surefoot's last state and of the rivals, and their origin."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from surefoot import InvalidInput
from surefoot_experiments.answers.conditions import CONDITIONS, COST
from surefoot_experiments.answers.given import GIVEN
from surefoot_experiments.harness.store import write
from surefoot_experiments.scoreboard.task import COVERED, GAP
from surefoot_experiments.scoreboard.trials import CHECKPOINTS

BASE, RIVALS = "surefoot", "rivals"  # whose results a file has
_ORIGIN = "origin.json"
_KEY = ["task", "rival", "trial"]
_COLUMNS = {
    CHECKPOINTS: ["suite", "task", "kind", "half", "budget", "evaluations", "rival", "trial"],
    GIVEN: ["task", "kind", "half", "rival", "trial"],
    CONDITIONS: ["task", "kind", "half", "rival", "trial", "evaluations"],
}
_SCORES = {
    CHECKPOINTS: [GAP, COVERED],
    GIVEN: ["error", "random", "chosen", "dismissed", "kept", GAP],
    CONDITIONS: [GAP, COST],
}


@dataclass(frozen=True)
class Record:
    """The folder of recorded results.

    Args:
        folder: Has a CSV file for each table of surefoot and of the rivals, and `origin.json`.
    """

    folder: Path

    def read(self, whose: str) -> dict[str, pd.DataFrame]:
        """The tables of `BASE` or `RIVALS`.

        Raises:
            InvalidInput: A file is missing.
        """
        return {name: self._table(whose, name) for name in _COLUMNS}

    def add(
        self, whose: str, tables: Mapping[str, pd.DataFrame], origin: Mapping[str, str]
    ) -> None:
        """Keep results in place of earlier ones of the same tasks, rivals and seeds.

        Args:
            whose: `BASE` or `RIVALS`.
            tables: New results.
            origin: By rival, when it ran and with which versions.
        """
        for name, columns in _COLUMNS.items():
            path = self._path(whose, name)
            new = tables.get(name, pd.DataFrame(columns=columns))
            new = new.reindex(columns=[*columns, *_SCORES[name]])
            old = pd.read_csv(path) if path.exists() else new.head(0)
            kept = old[~old.set_index(_KEY).index.isin(new.set_index(_KEY).index)]
            rows = pd.concat([part for part in (kept, new) if len(part)] or [new])
            rows = rows.sort_values([*_KEY, *columns[5:6]])
            write(path, rows.to_csv(index=False).encode())
        known = {**self.origin(), **origin}
        write(self.folder / _ORIGIN, (json.dumps(known, indent=2, sort_keys=True) + "\n").encode())

    def origin(self) -> dict[str, str]:
        """By rival, when it ran and with which versions."""
        path = self.folder / _ORIGIN
        found: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
        return found

    def _table(self, whose: str, name: str) -> pd.DataFrame:
        path = self._path(whose, name)
        if not path.exists():
            raise InvalidInput(f"{path}: no results are recorded there: {how(whose)}")
        return pd.read_csv(path)

    def _path(self, whose: str, name: str) -> Path:
        return self.folder / f"{whose}-{name}.csv"


def how(whose: str) -> str:
    """The command that records results."""
    return "record them with " + (
        "`make answers RECORD=1`" if whose == BASE else "`surefoot-experiments answers rivals`"
    )
