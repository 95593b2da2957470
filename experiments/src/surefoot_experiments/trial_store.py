"""Finished trials on disk, so that a run that was stopped can go on."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.types import InvalidInput
from surefoot_experiments.experiment import NUMBERS, Rows
from surefoot_experiments.legs import Legs
from surefoot_experiments.optional import optional
from surefoot_experiments.result import Result
from surefoot_experiments.tables import read_table
from surefoot_experiments.whole import whole_folder

if TYPE_CHECKING:
    from pandas import DataFrame

_NAME = re.compile(r"trial-(\d+)-seconds-(\d+(?:\.\d+)?)")


class TrialStore:
    """A folder with a folder for each finished trial, with a Parquet file for each of its tables.

    They are written by the process that collects them, so that machines which play trials need
    not share a disk, and each appears whole or not at all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def finished(self) -> dict[int, float]:
        """Numbers of the trials that are there, and the seconds each took."""
        return {number: seconds for number, seconds, _ in self._found()}

    def legs(self) -> Legs:
        """The legs of the run, of which a new one begins."""
        return Legs(self.folder, begun=bool(self.finished()))

    def save(self, number: int, rows: Rows, seconds: float) -> None:
        """Keep a trial; `InvalidInput` if its tables do not go with those that are there."""
        frames = optional("pandas", "an experiment")
        self._require_alike({**self._names(), number: set(rows)})
        self._write(
            number, {name: frames.DataFrame(table) for name, table in rows.items()}, seconds
        )

    def adopt(self, result: Result) -> None:
        """Keep the trials of a finished result; `InvalidInput` unless that is whole."""
        result.require_whole()
        parts: dict[int, dict[str, DataFrame]] = {}
        for file in result.tables:
            for number, table in read_table(file, _remedy(result.folder)).groupby("trial"):
                own = table.drop(columns=["experiment", "trial"], errors="ignore")
                parts.setdefault(int(number), {})[file.stem] = own
        seconds = result.manifest["seconds"]["trials"] / result.trials
        for number in sorted(set(parts) - set(self.finished())):
            self._write(number, parts[number], seconds)

    def require_whole(self) -> None:
        """`InvalidInput` unless every trial can be read, and their tables go together."""
        self._require_alike(self._names())
        for _, _, folder in self._found():
            for name in sorted({f"{NUMBERS}.parquet", *(each.name for each in _files(folder))}):
                read_table(folder / name, _remedy(folder))

    def tables(self, trials: int, experiment: str) -> dict[str, DataFrame]:
        """The tables of the first `trials` trials together, in order."""
        frames = optional("pandas", "an experiment")
        folders = {number: folder for number, _, folder in self._found()}
        parts: dict[str, list[DataFrame]] = {}
        for number in range(trials):
            folder = folders[number]
            for file in _files(folder):
                table = read_table(file, _remedy(folder))
                first = ["experiment", *(name for name in ("task", "algorithm") if name in table)]
                table = table.assign(experiment=experiment, trial=number)
                others = [name for name in table if name not in (*first, "trial")]
                parts.setdefault(file.stem, []).append(table[[*first, "trial", *others]])
        return {name: frames.concat(each, ignore_index=True) for name, each in parts.items()}

    def clear(self, trials: int) -> None:
        """Remove the first `trials` trials, which are in a result now, and the folder if empty.

        Those beyond stay: a longer run played them, and they take time.
        """
        for number, _, folder in self._found():
            if number < trials:
                shutil.rmtree(folder, ignore_errors=True)
        if self.finished():
            self.legs().restart()
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _require_alike(self, tables: dict[int, set[str]]) -> None:
        """`InvalidInput` unless the trials, by number, have tables of the same names.

        The first may have more: those of a picture of one trial.
        """
        rest = [number for number in sorted(tables) if number > 0]
        for number, names in tables.items():
            common = tables[rest[0]] if rest else names
            lacks = common - names if number == 0 else common ^ names
            if lacks:
                odd = ", ".join(f"{name}.parquet" for name in sorted(lacks))
                raise InvalidInput(
                    f"{self.folder}: of the trials {number} and {rest[0]}, one alone has {odd}: "
                    "delete it, and a result it took trials from, to play them anew"
                )

    def _names(self) -> dict[int, set[str]]:
        """Names of the tables of each trial that is there."""
        return {
            number: {file.stem for file in _files(folder)} for number, _, folder in self._found()
        }

    def _found(self) -> list[tuple[int, float, Path]]:
        """Number, seconds and folder of each trial that is there, in order."""
        matches = [(_NAME.fullmatch(path.name), path) for path in self.folder.glob("trial-*")]
        return sorted((int(m[1]), float(m[2]), path) for m, path in matches if m)

    def _write(self, number: int, tables: dict[str, DataFrame], seconds: float) -> None:
        with whole_folder(self.folder / f"trial-{number:04d}-seconds-{seconds:.1f}") as folder:
            for name, table in tables.items():
                table.to_parquet(folder / f"{name}.parquet", index=False)


def _files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.parquet"))


def _remedy(folder: Path) -> str:
    return f"delete {folder} to play it anew"
