"""Fitted hyperparameters in files, so that the next process need not fit to the same data."""

from __future__ import annotations

import contextlib
import hashlib
import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import torch

from surefoot.hyperparameters import Fitted
from surefoot.hyperparameters.training_data import TrainingData
from surefoot.models.model import Hyperparameters
from surefoot.optimizer.serialization import Decoder, Encoder, is_whole, read, write
from surefoot.types import InvalidInput

_MOST_FILES = 64
_FITTING = ("_internal", "estimators", "hyperparameters", "kernels", "regression")


@dataclass(frozen=True)
class FitFiles:
    """A folder with a file for each of the latest fits, named by what the fit follows from.

    A file is of the same observations, bounds and rule, by the same code and version of PyTorch, or
    it is not found. One that cannot be read or written is passed over: nothing but time
    depends on it, and the folder may be deleted at any time.

    Args:
        folder: The folder, which is created with its first file.

    Example:
        >>> import pathlib, tempfile
        >>> import surefoot as sf
        >>> folder = pathlib.Path(tempfile.mkdtemp()) / "fits"
        >>> def optimizer():
        ...     made = sf.algorithms.robust_ucb(sf.Box([0.0], [1.0]), seed=0)
        ...     made.keep_fits(FitFiles(folder))
        ...     made.tell_all([[0.1], [0.5], [0.8]], [1.0, 3.0, 2.0])
        ...     return made
        >>> first, again = optimizer().recommend(), optimizer().recommend()
        >>> len(list(folder.iterdir())), float(first.value) == float(again.value)
        (1, True)
    """

    folder: Path

    def read(self, rule: Hyperparameters, data: TrainingData) -> Fitted | None:
        """The fit to observations, None where there is none."""
        file = self._file(rule, data)
        if file is None or not file.exists():
            return None
        with contextlib.suppress(InvalidInput, OSError, LookupError, TypeError, ValueError):
            tensors, values = read(file)
            found = Decoder(tensors, torch.device("cpu")).decode(values["fitted"])
            return found if isinstance(found, Fitted) else None
        return None

    def write(self, rule: Hyperparameters, data: TrainingData, fitted: Fitted) -> None:
        """Keep a fit, in place of the oldest one where there are many."""
        file, encoder = self._file(rule, data), Encoder()
        saved = encoder.encode(fitted)
        if file is None or not is_whole(saved):
            return
        with contextlib.suppress(OSError):
            self.folder.mkdir(exist_ok=True)
            write(file, encoder.tensors, {"fitted": saved})
            known = sorted(self.folder.glob("*.safetensors"), key=lambda one: one.stat().st_mtime)
            for old in known[:-_MOST_FILES]:
                old.unlink(missing_ok=True)

    def _file(self, rule: Hyperparameters, data: TrainingData) -> Path | None:
        """The file of a fit; None where a part of the rule, such as a function, has no content."""
        encoder = Encoder()
        parts = encoder.encode([rule, data])
        if not is_whole(parts):
            return None
        digest = hashlib.sha256(json.dumps([parts, _code(), torch.__version__]).encode())
        for tensor in encoder.tensors.values():
            digest.update(tensor.numpy().tobytes())
        return self.folder / f"{digest.hexdigest()[:32]}.safetensors"


@cache
def _code() -> str:
    """Digest of the modules that a fit depends on."""
    digest, package = hashlib.sha256(), Path(__file__).parents[1]
    for file in sorted(one for name in _FITTING for one in (package / name).rglob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
