"""Finished trials and complete results on disk, which appear as a whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import filelock
import pandas as pd
from pydantic import BaseModel, ConfigDict, NonNegativeFloat, NonNegativeInt, ValidationError
from pydantic_core import to_json

from surefoot import InvalidInput
from surefoot_experiments.harness.manifest import Manifest

MANIFEST = "manifest.json"
_TABLE = ".parquet"
_UNSAFE = re.compile(r"[^\w.-]+")  # in a file name
Key = tuple[str, int]  # case and number of a trial
Model = TypeVar("Model", bound=BaseModel)


class Record(BaseModel):
    """The rows of one finished trial, by table, with how long it took and what ran it."""

    model_config = ConfigDict(strict=True)

    case: str
    trial: NonNegativeInt
    seconds: NonNegativeFloat
    sources: list[str]
    tables: dict[str, list[dict[str, Any]]]

    @property
    def key(self) -> Key:
        """Case and number."""
        return self.case, self.trial


class TrialStore:
    """A folder with a JSON file for each finished trial.

    The files are written by the process that collects results, so workers need no shared disk.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def read(self) -> dict[Key, Record]:
        """All trials; `InvalidInput` with the file's name if one cannot be read."""
        records = (
            _parsed(Record, path, f"delete {path} to run it again")
            for path in sorted(self.folder.glob("*.json"))
        )
        return {record.key: record for record in records}

    def write(self, record: Record) -> None:
        """Keep a finished trial."""
        content = to_json(record, inf_nan_mode="constants", fallback=lambda number: number.item())
        write(self._path(record.key), content)

    def discard(self, keys: Iterable[Key]) -> None:
        """Remove trials, and the folder if none is left."""
        for key in keys:
            self._path(key).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self.folder.rmdir()

    def _path(self, key: Key) -> Path:
        case, number = key
        name = "-".join([*_UNSAFE.sub("_", case).split(), f"{number:05d}"])
        return self.folder / f"{name}.json"


class Result:
    """A complete result: a folder with a manifest and the files that it lists."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder = folder
        self.manifest = manifest

    @classmethod
    def at(cls, folder: Path) -> Result | None:
        """The result in a folder, or None if there is no such folder.

        Raises:
            InvalidInput: The folder has no manifest, or one that is malformed.
        """
        if not folder.exists():
            return None
        if not (folder / MANIFEST).exists():
            raise InvalidInput(f"{folder} exists and is not a result: choose another --out")
        return cls(folder, _parsed(Manifest, folder / MANIFEST, _restore(folder)))

    def require_complete(self) -> None:
        """`InvalidInput` unless every file is there with the content that was written."""
        for name, digest in self.manifest.files.items():
            path = self.folder / name
            if not path.is_file():
                raise InvalidInput(f"{path}: is missing: {_restore(self.folder)}")
            if digest_of(path) != digest:
                raise InvalidInput(f"{path}: has been changed: {_restore(self.folder)}")

    def records(self) -> dict[Key, Record]:
        """Its trials; the time of each is the mean."""
        names = [name for name in self.manifest.files if name.endswith(_TABLE)]
        kept = records_of((self.folder / name for name in names), self.manifest.sources)
        each = self.manifest.seconds / max(len(kept), 1)
        return {key: one.model_copy(update={"seconds": each}) for key, one in kept.items()}


def records_of(paths: Iterable[Path], sources: Sequence[str] = ()) -> dict[Key, Record]:
    """The trials of the tables in Parquet files, without the time that they took.

    Args:
        paths: The files, each with the name of a table.
        sources: The states of the code that ran them.
    """
    trials: dict[Key, dict[str, Any]] = {}
    for path in paths:
        table = pd.read_parquet(path)
        case = table["case"] if "case" in table else pd.Series("", table.index)
        rows = table.drop(columns=["experiment", "case"], errors="ignore")
        for (own, number), part in rows.groupby([case, "trial"], sort=False):
            kept = part.drop(columns="trial").to_dict("records")
            trials.setdefault((own, number), {})[path.stem] = kept
    return {
        (case, number): Record(
            case=case, trial=number, seconds=0.0, sources=list(sources), tables=tables
        )
        for (case, number), tables in trials.items()
    }


def tables_of(records: Iterable[Record], experiment: str) -> dict[str, pd.DataFrame]:
    """The tables of several trials, one below the other."""
    parts: dict[str, list[pd.DataFrame]] = {}
    for record in records:
        for name, rows in record.tables.items():
            table = pd.DataFrame(rows)
            case = {"case": record.case} if record.case else {}
            table = table.assign(experiment=experiment, **case, trial=record.trial)
            names = ("experiment", "case", "task", "algorithm", "trial")
            first = [each for each in names if each in table]
            rest = table.columns.difference(first, sort=False)
            parts.setdefault(name, []).append(table[[*first, *rest]])
    return {name: pd.concat(tables, ignore_index=True) for name, tables in parts.items()}


@contextmanager
def published(target: Path) -> Iterator[Path]:
    """A folder to fill, which replaces `target` once everything has been written.

    What was at `target` before stays until then, and files in it that are no part of the former
    result are kept. One process at a time may write to a target.
    """
    partial, former = _beside(target)
    with explained(target):
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        try:
            yield partial
            if target.exists():
                target.rename(former)
            partial.rename(target)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
            recover(target)


def recover(target: Path) -> None:
    """Complete the replacement of a folder, also one in which a process was killed.

    The former folder comes back if there is no new one; otherwise files that are no part of its
    result move to the new one.
    """
    _, former = _beside(target)
    if former.exists() and not target.exists():
        former.rename(target)
    elif (result := Result.at(former)) is not None:
        for path in former.iterdir():
            if path.name not in {*result.manifest.files, MANIFEST}:
                path.rename(target / path.name)
        shutil.rmtree(former)


def _beside(target: Path) -> tuple[Path, Path]:
    """Where a folder is filled, and where the one that it replaces is meanwhile."""
    return target.with_name(f".{target.name}.partial"), target.with_name(f".{target.name}.former")


@contextmanager
def locked(path: Path, refusal: str) -> Iterator[None]:
    """Hold a lock file; `InvalidInput` with `refusal` if another process holds it.

    The operating system releases the lock when its process ends, also by kill -9.
    """
    folders = [each for each in path.parents if not each.exists()]
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(path)
        try:
            lock.acquire(blocking=False)
        except filelock.Timeout:
            raise InvalidInput(refusal) from None
    try:
        yield
    finally:
        path.unlink(missing_ok=True)  # while it is held, else it might be another process's
        lock.release()
        with contextlib.suppress(OSError):  # folders that are not empty stay
            for folder in dict.fromkeys((path.parent, *folders)):
                folder.rmdir()


def write(path: Path, content: bytes) -> None:
    """Write a file that appears at once; `InvalidInput` if it cannot be written."""
    partial = path.with_name(f".{path.name}.{os.getpid()}.partial")
    with explained(path):
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            partial.write_bytes(content)
            partial.replace(path)
        finally:
            partial.unlink(missing_ok=True)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn errors of the file system into `InvalidInput`."""
    try:
        yield
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be written: {error.strerror or error}") from None


def digest_of(path: Path) -> str:
    """The SHA-256 digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


@cache
def source_fingerprint() -> str:
    """A fingerprint of this package's files, which tells two states of one version apart."""
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).parts):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]


def _parsed(model: type[Model], path: Path, remedy: str) -> Model:
    try:
        return model.model_validate_json(path.read_bytes())
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"]))
        said = f"`{where}`: {first['msg']}" if where else first["msg"]
        raise InvalidInput(f"{path}: {said}: {remedy}") from None
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}: {remedy}") from None


def _restore(folder: Path) -> str:
    return f"restore it, or delete {folder} to run it again"
