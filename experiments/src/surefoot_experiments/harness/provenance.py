"""What a result was made with: settings, versions and machine."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from surefoot_experiments.harness.experiment import Experiment
from surefoot_experiments.harness.manifest import DataSource, Manifest
from surefoot_experiments.harness.trial import Scale
from surefoot_experiments.recorded_data import Data

_DECIDING = ("surefoot", "torch", "gpytorch", "botorch", "numpy", "scipy", "pymunk")  # numbers
_PACKAGES = (*_DECIDING, "surefoot-experiments", "pandas", "pyarrow", "matplotlib", "joblib")


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
        departures=None if experiment.departures is None else list(experiment.departures),
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
