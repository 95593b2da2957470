"""What a result was made with, and what it consists of."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    NonNegativeFloat,
    NonNegativeInt,
    PositiveInt,
)

from surefoot_experiments.harness.experiment import Check, Experiment, Scale
from surefoot_experiments.problems.recorded_data import Data

_DECIDING = ("surefoot", "torch", "gpytorch", "botorch", "numpy", "scipy", "pymunk")  # numbers
_PACKAGES = (*_DECIDING, "surefoot-experiments", "pandas", "pyarrow", "matplotlib", "joblib")


def _bare(name: str) -> str:
    if name != Path(name).name:
        raise ValueError(f"{name!r} is not a file name without a folder")
    return name


class DataSource(BaseModel):
    """Where the data of a result came from; `read` if from a folder that the user named."""

    source: str
    digest: str
    read: bool


class Manifest(BaseModel):
    """Settings, versions, claims and files of a result.

    Args:
        trials: Number of trials.
        rounds: Number of rounds of each.
        fingerprint: Equal for two results if their trials of the same number are equal.
        sources: Fingerprints of the package's files that ran the trials.
        seconds: Time of all trials together.
        files: SHA-256 digest of every file of the result but the manifest, by name.
    """

    model_config = ConfigDict(strict=True, frozen=True)

    experiment: str
    title: str
    paper: str
    figure: str
    says: str
    setting: str
    seed: NonNegativeInt
    trials: PositiveInt
    rounds: PositiveInt
    published: Scale
    data: DataSource | None
    backend: str
    fingerprint: str
    versions: dict[str, str]
    machine: dict[str, str | int | None]
    sources: list[str]
    seconds: NonNegativeFloat
    checks: list[Check]
    files: dict[Annotated[str, AfterValidator(_bare)], str]

    @property
    def scale(self) -> Scale:
        """Trials and rounds."""
        return Scale(self.trials, self.rounds)


def fingerprint(experiment: Experiment, rounds: int, seed: int, data: Data | None) -> str:
    """Equal for two runs if their trials of the same number are equal."""
    settings = {
        "experiment": experiment.name,
        "rounds": rounds,
        "seed": seed,
        "data": data.digest if data else None,
        "versions": {name: installed(name) for name in _DECIDING},
    }
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:12]


def describe(
    experiment: Experiment, scale: Scale, seed: int, data: Data | None, backend: str, read: bool
) -> Manifest:
    """The manifest of a run before its results are known.

    Args:
        experiment: The experiment.
        scale: Trials and rounds.
        seed: Seed of the run.
        data: Its data set, if it has one.
        backend: Where trials run.
        read: Whether the data are from a folder that the user named.
    """
    return Manifest(
        experiment=experiment.name,
        title=experiment.title,
        paper=experiment.paper,
        figure=experiment.figure,
        says=experiment.says,
        setting=experiment.setting,
        seed=seed,
        trials=scale.trials,
        rounds=scale.rounds,
        published=experiment.published,
        data=DataSource(source=data.source, digest=data.digest, read=read) if data else None,
        backend=backend.partition("://")[0],  # an address would name a machine
        fingerprint=fingerprint(experiment, scale.rounds, seed, data),
        versions={
            "python": platform.python_version(),
            **{name: installed(name) for name in _PACKAGES},
        },
        machine={
            "system": platform.system(),
            "architecture": platform.machine(),
            "processor": _processor(),
            "cores": os.cpu_count(),
        },
        sources=[],
        seconds=0.0,
        checks=[],
        files={},
    )


def installed(package: str) -> str:
    """The version of a package, or "none"."""
    try:
        return version(package)
    except PackageNotFoundError:
        return "none"


def _processor() -> str:
    """The model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
