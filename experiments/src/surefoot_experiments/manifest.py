"""What a result was made with, and from what."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from surefoot.types import InvalidInput
from surefoot_experiments.data import Data
from surefoot_experiments.experiment import Experiment, Scale
from surefoot_experiments.manifest_shape import what_is_wrong

FILE = "manifest.json"
_PACKAGES = (
    "surefoot",
    "torch",
    "gpytorch",
    "botorch",
    "numpy",
    "scipy",
    "pandas",
    "pyarrow",
    "matplotlib",
    "joblib",
    "pymunk",
    "skfolio",
)
_DECIDING = ("surefoot", "torch", "gpytorch", "botorch", "numpy", "scipy", "pymunk")  # numbers


def fingerprint(experiment: Experiment, rounds: int, seed: int, data: Data | None) -> str:
    """Two trials of one number are the same if these are."""
    settings = {
        "experiment": experiment.name,
        "rounds": rounds,
        "seed": seed,
        "data": data.digest if data else None,
        "versions": {name: installed(name) for name in _DECIDING},
    }
    text = json.dumps(settings, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def describe(
    experiment: Experiment,
    scale: Scale,
    seed: int,
    data: Data | None,
    backend: str,
    folder: Path | None = None,
) -> dict[str, Any]:
    """All but the numbers themselves, and how long it took."""
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "paper": experiment.paper,
        "figure": experiment.figure,
        "measure": {"column": experiment.measure.column, "label": experiment.measure.label},
        "seed": seed,
        "trials": scale.trials,
        "rounds": scale.rounds,
        "published": {
            "trials": experiment.published.trials,
            "rounds": experiment.published.rounds,
        },
        "data": None
        if data is None
        else {"source": data.source, "digest": data.digest, "read": folder is not None},
        "backend": backend.partition("://")[0],  # an address would name a machine
        "fingerprint": fingerprint(experiment, scale.rounds, seed, data),
        "versions": {
            "python": platform.python_version(),
            **{name: installed(name) for name in _PACKAGES},
        },
        "machine": {
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
    }


def read(folder: Path) -> dict[str, Any] | None:
    """The manifest of a finished result, or None where there is none.

    Raises `InvalidInput` for one that lacks something it needs, or cannot be read.
    """
    path = folder / FILE
    remedy = f"bring it back, or delete {folder} to play it anew"
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{path}: cannot be read as JSON ({error}): {remedy}") from None
    if (wrong := what_is_wrong(content)) is not None:
        raise InvalidInput(f"{path}: {wrong}: {remedy}")
    return content


@cache
def sources() -> str:
    """A fingerprint of the package's own files.

    It tells two states of one version apart. Trials do not depend on it: most changes leave their
    numbers as they are.
    """
    package = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(
        package.rglob("*.py"), key=lambda path: path.relative_to(package).as_posix()
    ):
        digest.update(path.relative_to(package).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:12]


def installed(package: str) -> str:
    """Its version, or "none"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _processor() -> str:
    """The kind of processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
