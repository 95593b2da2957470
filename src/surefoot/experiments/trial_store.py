"""Finished trials on disk, so that a run that was stopped can go on."""

from __future__ import annotations

import contextlib
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from surefoot.experiments.experiment import Rows
from surefoot.experiments.optional import optional
from surefoot.experiments.whole import whole_folder

if TYPE_CHECKING:
    from pandas import DataFrame

_SECONDS = "seconds"


class TrialStore:
    """A folder with a folder for each finished trial, with a Parquet file for each of its tables.

    They are written by the process that collects them, so that machines which play trials need
    not share a disk, and each appears whole or not at all.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def finished(self) -> dict[int, float]:
        """Numbers of the trials that are there, and the seconds each took."""
        found = {}
        for trial in sorted(self.folder.glob("trial-*")):
            number, _, seconds = trial.name.removeprefix("trial-").partition(f"-{_SECONDS}-")
            found[int(number)] = float(seconds)
        return found

    def save(self, number: int, rows: Rows, seconds: float) -> None:
        """Keep a trial."""
        frames = optional("pandas", "an experiment")
        self._write(
            number, {name: frames.DataFrame(table) for name, table in rows.items()}, seconds
        )

    def adopt(self, result: Path, seconds: float) -> None:
        """Keep the trials of a finished result, of so many seconds each."""
        frames = optional("pandas", "an experiment")
        parts: dict[int, dict[str, DataFrame]] = {}
        for file in sorted(result.glob("*.parquet")):
            for number, table in frames.read_parquet(file).groupby("trial"):
                own = table.drop(columns=["experiment", "trial"])
                parts.setdefault(int(number), {})[file.stem] = own
        for number in sorted(set(parts) - set(self.finished())):
            self._write(number, parts[number], seconds)

    def tables(self, trials: int, experiment: str) -> dict[str, DataFrame]:
        """The tables of the first `trials` trials together, in order."""
        frames = optional("pandas", "an experiment")
        seconds = self.finished()
        parts: dict[str, list[DataFrame]] = {}
        for number in range(trials):
            for file in sorted(self._path(number, seconds[number]).glob("*.parquet")):
                table = frames.read_parquet(file)
                first = ["experiment", *(name for name in ("task", "algorithm") if name in table)]
                table = table.assign(experiment=experiment, trial=number)
                others = [name for name in table if name not in (*first, "trial")]
                parts.setdefault(file.stem, []).append(table[[*first, "trial", *others]])
        return {name: frames.concat(each, ignore_index=True) for name, each in parts.items()}

    def clear(self) -> None:
        """Remove all, and the folder around it if that is empty then."""
        shutil.rmtree(self.folder, ignore_errors=True)
        with contextlib.suppress(OSError):  # those of other experiments may be there
            self.folder.parent.rmdir()

    def _write(self, number: int, tables: dict[str, DataFrame], seconds: float) -> None:
        with whole_folder(self._path(number, seconds)) as folder:
            for name, table in tables.items():
                table.to_parquet(folder / f"{name}.parquet", index=False)

    def _path(self, number: int, seconds: float) -> Path:
        return self.folder / f"trial-{number:04d}-{_SECONDS}-{seconds:.1f}"
