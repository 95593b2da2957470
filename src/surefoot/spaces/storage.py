"""Storage of the features of all arms: in memory or in a file, in double or single precision."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO, ClassVar, Literal

import numpy as np
import torch
from torch import Tensor

from surefoot._internal import checks
from surefoot._internal.numbers import rows_at_once
from surefoot.types import InvalidInput

Precision = Literal["float64", "float32"]
_DTYPES = {"float64": np.float64, "float32": np.float32}


@dataclass(frozen=True)
class InMemory:
    """The table in main memory.

    Args:
        precision: "float64", or "float32" for half the memory: features are rounded to seven
            digits, and computations remain in float64.

    Raises:
        InvalidInput: If `precision` is neither.

    Example:
        >>> import surefoot as sf
        >>> arms = sf.Arms([[0.0], [0.5]], storage=sf.spaces.InMemory("float32"))
    """

    precision: Precision = "float64"
    is_elsewhere: ClassVar[bool] = False

    def __post_init__(self) -> None:
        checks.choice("precision", self.precision, *_DTYPES)

    def scratch(self) -> BinaryIO:
        """Memory that can grow without a copy, where the system has it, else a temporary file."""
        if hasattr(os, "memfd_create"):
            return os.fdopen(os.memfd_create("surefoot"), "r+b")
        return tempfile.TemporaryFile()


@dataclass(frozen=True)
class InFile:
    """The table in a temporary file that is mapped into memory, for tables larger than that.

    The system keeps as much of it in memory as there is room for. The file has no name, and its
    space is free again when the optimizer is.

    Args:
        folder: Folder of the file, on a disk; by default that for temporary files.
        precision: "float64", or "float32" for half the size.

    Raises:
        InvalidInput: If there is no such folder, or `precision` is neither.

    Example:
        >>> import surefoot as sf
        >>> arms = sf.Arms([[0.0], [0.5]], storage=sf.spaces.InFile())
    """

    folder: str = ""
    precision: Precision = "float64"
    is_elsewhere: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", str(self.folder))
        checks.choice("precision", self.precision, *_DTYPES)
        if self.folder and not Path(self.folder).is_dir():
            raise InvalidInput(f"`folder` is {self.folder!r}, expected a folder that exists.")

    def scratch(self) -> BinaryIO:
        """A temporary file."""
        return tempfile.TemporaryFile(dir=self.folder or None)


@dataclass(frozen=True)
class Sharded:
    """The table in parts, each held by a worker process, on one machine or on several.

    Workers answer the best arm of their part, and take in rank-one updates; posterior and
    dictionary remain in this process. A worker that is lost is replaced, and its part computed
    again from kernel and points. Queries are those of a single process, up to rounding.

    It is for a kernel that is given, `Exact()`, `Nystrom(LeverageSampling())`, Fourier features or
    a given `Dictionary`, and the upper confidence bound of a width without others beside it; no
    constraints, no failed points.

    Args:
        workers: Number of workers.
        executors: Function of a worker's number that returns its `concurrent.futures.Executor`,
            whose tasks all run in one process, such as `lambda number: ProcessPoolExecutor(1)`.
            By default all parts are in this process, to try it out.
        storage: Where each worker keeps its part.

    Raises:
        InvalidInput: If an argument is out of range.

    Example:
        >>> import surefoot as sf
        >>> arms = sf.Arms([[0.0], [0.5], [1.0]], storage=sf.spaces.Sharded(2))
        >>> kernel = sf.kernels.squared_exponential(0.2)
        >>> optimizer = sf.algorithms.bbkb(arms, kernel, noise=0.1, oversampling=5.0)
        >>> optimizer.tell(optimizer.ask(), 0.3).round
        1
    """

    workers: int
    executors: Callable[[int], Executor] | None = None
    storage: InMemory | InFile = InMemory()
    is_elsewhere: ClassVar[bool] = True

    def __post_init__(self) -> None:
        checks.count("workers", self.workers)
        checks.instance("storage", self.storage, InMemory | InFile)  # type: ignore[arg-type]
        if self.executors is not None and not callable(self.executors):
            raise InvalidInput(
                f"`executors` is {checks.shown(self.executors)}, expected a function of a worker's "
                "number that returns its executor, such as `lambda number: ProcessPoolExecutor(1)`."
            )

    @property
    def precision(self) -> Precision:
        """Precision of the parts."""
        return self.storage.precision

    def scratch(self) -> BinaryIO:
        """A file of a worker."""
        return self.storage.scratch()


Storage = InMemory | InFile | Sharded
"""Where the table of the features of all arms is kept."""


class Rows:
    """Rows of numbers in a storage, which grow in number without a copy.

    Args:
        storage: Where they are kept.
        length: Numbers in a row.
        device: Device of the rows; on any but a CPU they are in its memory.
    """

    def __init__(self, storage: Storage, length: int, device: torch.device) -> None:
        self._storage = storage
        dtype = np.dtype(_DTYPES[storage.precision])
        self._rows = torch.from_numpy(np.zeros((0, length), dtype)).to(device)

    @cached_property
    def _file(self) -> BinaryIO:
        return self._storage.scratch()

    def __getstate__(self) -> dict[str, Any]:
        """The rows themselves: a copy has a file of its own."""
        return {"_storage": self._storage, "_rows": self._rows.clone()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._storage, rows = state["_storage"], state["_rows"]
        self._rows = rows[:0]
        self.first(len(rows))[: len(rows)] = rows

    def first(self, number: int) -> Tensor:
        """The first rows (number, length), which are there from now on."""
        if number > len(self._rows):
            self._grow(max(number, len(self._rows) * 3 // 2, 8))
        return self._rows[:number]

    def _grow(self, number: int) -> None:
        before, length = self._rows.shape
        if self._rows.device.type != "cpu":
            wider = self._rows.new_zeros(number, length)
            wider[:before] = self._rows
            self._rows = wider
            return
        dtype = np.dtype(_DTYPES[self._storage.precision])
        self._file.truncate(number * length * dtype.itemsize)
        self._rows = torch.from_numpy(np.memmap(self._file, dtype, "r+", 0, (number, length)))


def mapped_points(name: str, source: Any) -> Tensor | None:
    """A float64 matrix (n, d) that stays in its file; None for anything but a path or a map.

    Args:
        name: Name of the argument.
        source: Path of a NumPy (.npy) or safetensors file with one matrix, or an array that NumPy
            has mapped. One of another type than float64 is copied to a temporary file.

    Raises:
        InvalidInput: If the file cannot be read or holds no such matrix.
    """
    if isinstance(source, str | os.PathLike):
        found = _opened(name, Path(source))
    elif isinstance(source, np.memmap):
        found = source
    else:
        return None
    if found.ndim != 2 or 0 in found.shape or found.dtype.kind not in "fiu":
        raise InvalidInput(
            f"`{name}` is mapped from a file with a {found.dtype} array of shape {found.shape}, "
            "expected real numbers of shape (n, d) with n, d >= 1."
        )
    if found.dtype != np.float64 or not found.flags.c_contiguous or not found.dtype.isnative:
        with tempfile.TemporaryFile() as file:
            copy = np.memmap(file, np.float64, "w+", 0, found.shape)
        step = rows_at_once(found.shape[1])
        for start in range(0, len(found), step):
            copy[start : start + step] = found[start : start + step]
        found = copy
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=".*not writable")  # nothing is ever written
        return torch.from_numpy(found)


def _opened(name: str, path: Path) -> np.memmap:
    """The array of a file, mapped."""
    if path.suffix not in (".npy", ".safetensors"):
        raise InvalidInput(
            f"`{name}` is the file {str(path)!r}, expected one that ends in .npy or .safetensors."
        )
    try:
        if path.suffix == ".npy":
            return np.lib.format.open_memmap(path, mode="r")
        return _opened_safetensors(name, path)
    except (OSError, ValueError, KeyError) as error:
        raise InvalidInput(f"`{name}`, the file {str(path)!r}, cannot be read: {error}.") from error


def _opened_safetensors(name: str, path: Path) -> np.memmap:
    import json

    with path.open("rb") as file:
        size = int.from_bytes(file.read(8), "little")
        if size > path.stat().st_size:
            raise InvalidInput(f"`{name}`, the file {str(path)!r}, is no whole safetensors file.")
        header = json.loads(file.read(size))
    tensors = [one for key, one in header.items() if key != "__metadata__"]
    if len(tensors) != 1:
        raise InvalidInput(
            f"`{name}`, the file {str(path)!r}, holds {len(tensors)} tensors, expected one: the "
            "coordinates of the arms."
        )
    (one,) = tensors
    dtype = {"F64": np.float64, "F32": np.float32}[one["dtype"]]
    return np.memmap(path, dtype, "r", 8 + size + one["data_offsets"][0], tuple(one["shape"]))
