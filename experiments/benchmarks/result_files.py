"""Results of runs, each a file of its own that is there only once it is whole."""

import csv
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO


def write_json(path: Path, value: Any) -> None:
    """A result that JSON can hold."""
    with _whole(path) as file:
        json.dump(value, file)


def write_csv(path: Path, fields: list[str], rows: Iterable[list[Any]]) -> None:
    """A row of names, then the rows."""
    with _whole(path) as file:
        csv.writer(file).writerows([fields, *rows])


@contextmanager
def _whole(path: Path) -> Iterator[TextIO]:
    """A file beside `path` that takes its place when all has been written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(f".{os.getpid()}.partial")
    with partial.open("w", newline="") as file:
        yield file
    partial.replace(path)
