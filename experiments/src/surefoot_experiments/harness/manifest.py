"""What a result was made with, and what it consists of."""

from __future__ import annotations

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

from surefoot_experiments.harness.departures import Departure
from surefoot_experiments.harness.trial import Check, Scale


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
    departures: list[Departure] | None
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
